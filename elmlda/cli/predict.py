"""elmlda predict: what a trained model says of new samples."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from elmlda.cli.command import OUTPUT, Command, flag, option
from elmlda.cli.options import drop_option
from elmlda.cli.terminal import say
from elmlda.cli.values import UserPath
from elmlda.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from elmlda.core.arrays import FloatArray
    from elmlda.networks.model import Model


@click.command(cls=Command)
@click.argument("model_file", type=UserPath(), metavar="MODEL")
@click.argument("files", nargs=-1, required=True, type=UserPath(), metavar="FILE...")
@drop_option
@option("--key", "NPZ files: the array to read, if there are several.", metavar="NAME")
@flag(
    "--as-is",
    "Images: they are already as in the training data, so neither invert, scale nor centre them.",
)
@flag("--csv as_csv", "Print CSV, with the posterior of every class.", group=OUTPUT)
def predict(model_file: Path, files: tuple[Path, ...], as_csv: bool, **options: Any) -> None:
    """Classify the samples in each FILE with a MODEL of elmlda train: label and posterior.

    FILE is an IDX file (raw or .gz), .npz or .npy, .csv with a sample in each line, or an image
    (.png, .jpg). A drawn or photographed digit is brought to MNIST's form: grey, light on dark,
    scaled to fit 20 × 20 and centred by mass in 28 × 28.
    """
    from elmlda.datasets.samples import Reading, read_samples
    from elmlda.networks.model_file import read_model

    model = read_model(model_file)
    names = None if model.feature_names is None else tuple(model.feature_names)
    reading = Reading(model.recipe.n_inputs, model.image_shape, names, **options)
    for i, path in enumerate(files):
        values = model.values(read_samples(path, reading))
        lines = _csv_lines(path, model, values, i == 0) if as_csv else _lines(path, model, values)
        for line in lines:
            say(line)


def _lines(path: Path, model: Model, values: FloatArray) -> Iterator[str]:
    kind = "posterior" if model.has_posteriors else "score"
    for i, row in enumerate(values):
        name = path if len(values) == 1 else f"{path}:{i}"
        chosen = row.argmax()
        yield f"{printable(name)}  {printable(model.classes[chosen])}  {kind} {row[chosen]:.4f}"


def _csv_lines(path: Path, model: Model, values: FloatArray, with_header: bool) -> Iterator[str]:
    kind = "posterior" if model.has_posteriors else "score"
    if with_header:
        yield _as_csv(["file", "sample", "label", *(f"{kind}_{label}" for label in model.classes)])
    for i, row in enumerate(values):
        label = model.classes[row.argmax()]
        yield _as_csv([path, i, label, *(f"{value:.6g}" for value in row)])


def _as_csv(values: list[object]) -> str:
    """One line, whatever the values have in them."""
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow(map(printable, values))
    return out.getvalue()
