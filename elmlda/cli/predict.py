"""elmlda predict: what a trained model says of new samples."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterator

    from elmlda.core.arrays import FloatArray
    from elmlda.networks.model import Model


@click.command()
@click.argument("model_file", type=click.Path(path_type=Path), metavar="MODEL")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@click.option("--csv", "as_csv", is_flag=True, help="CSV, with the posterior of every class.")
@click.option(
    "--drop",
    multiple=True,
    metavar="COLUMN",
    help="CSV input: a column, by name or number from 1, that is no input. May be repeated.",
)
@click.option("--key", metavar="NAME", help="NPZ input: the array to read, if there are several.")
@click.option(
    "--as-is",
    is_flag=True,
    help="Image input: already in the data's form, so neither inverted, scaled nor centred.",
)
def predict(
    model_file: Path,
    files: tuple[Path, ...],
    as_csv: bool,
    drop: tuple[str, ...],
    key: str | None,
    as_is: bool,
) -> None:
    """Classify the samples in each FILE with a MODEL of elmlda train: label and posterior.

    FILE is an IDX file (raw or .gz), .npz or .npy, .csv with a sample in each line, or an image
    (.png, .jpg). A drawn or photographed digit is brought to MNIST's form: grey, light on dark,
    scaled to fit 20 × 20 and centred by mass in 28 × 28.
    """
    from elmlda.datasets.samples import Reading, read_samples
    from elmlda.networks.model_file import read_model

    model = read_model(model_file)
    reading = Reading(
        model.recipe.n_inputs,
        model.image_shape,
        None if model.feature_names is None else tuple(model.feature_names),
        drop,
        key,
        as_is,
    )
    first = True
    for path in files:
        values = model.values(read_samples(path, reading))
        lines = _csv_lines(path, model, values, first) if as_csv else _lines(path, model, values)
        for line in lines:
            click.echo(line)
        first = False


def _lines(path: Path, model: Model, values: FloatArray) -> Iterator[str]:
    kind = "posterior" if model.has_posteriors else "score"
    for i, row in enumerate(values):
        name = path if len(values) == 1 else f"{path}:{i}"
        chosen = row.argmax()
        yield f"{name}  {model.classes[chosen]}  {kind} {row[chosen]:.4f}"


def _csv_lines(path: Path, model: Model, values: FloatArray, with_header: bool) -> Iterator[str]:
    kind = "posterior" if model.has_posteriors else "score"
    if with_header:
        yield _as_csv(["file", "sample", "label", *(f"{kind}_{label}" for label in model.classes)])
    for i, row in enumerate(values):
        label = model.classes[row.argmax()]
        yield _as_csv([path, i, label, *(f"{value:.6g}" for value in row)])


def _as_csv(values: list[object]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow(values)
    return out.getvalue()
