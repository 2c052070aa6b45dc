"""elmlda predict: what a trained model says of new samples."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from elmlda.cli.answers import as_csv_lines, as_lines
from elmlda.cli.command import Command, flag, option
from elmlda.cli.options import field_options
from elmlda.cli.terminal import say
from elmlda.cli.values import NAME_OR_PATH, PATH
from elmlda.errors import ElmldaError
from elmlda.experiments.options import OUTPUT, SourceOptions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from elmlda.datasets.samples import Reading
    from elmlda.networks.classify import Answers, TrueLabels
    from elmlda.networks.model import Model

MOST_SHOWN = 40


@click.command(cls=Command)
@click.argument("model_file", type=PATH, metavar="MODEL")
@click.argument("files", nargs=-1, required=True, type=PATH, metavar="FILE...")
@field_options(SourceOptions, "drop")
@option("--key", "NPZ files: the array to read, if there are several.", metavar="NAME")
@flag("--as-is", "Images: they are already as in the training data, so only read them.")
@option(
    "--labels",
    "Count errors; labels are the names of the files' folders (folder), the beginnings of the files' "
    "names, as in 7-anna.jpg (name), or in a CSV file with the columns file and label, and sample "
    "where a file has several.",
    NAME_OR_PATH,
    metavar="folder|name|FILE",
)
@flag("--csv as_csv", "Print CSV, with the posterior of every class.", group=OUTPUT)
@option(
    "--show",
    "Images: draw each (the first 40) beside what was classified, with the posteriors as bars.",
    PATH,
    metavar="FILE.png",
    group=OUTPUT,
)
def predict(model_file: Path, files: tuple[Path, ...], as_csv: bool, **options: Any) -> None:
    """Classify the samples in each FILE with a MODEL of elmlda train.

    FILE is an IDX file (raw or .gz), .npz or .npy, .csv with a sample in each line, or an image
    (.png, .jpg) of one digit, drawn or photographed. The digit is found and brought to MNIST's form:
    light on dark, scaled to fit 20 × 20 and centred by mass in 28 × 28. A file that can't be
    classified does not stop those after it; the exit code is 1 then.
    """
    from elmlda.datasets.samples import Reading
    from elmlda.networks.classify import find_labels
    from elmlda.networks.model_file import read_model

    show, labels = options.pop("show"), options.pop("labels")
    model, truth = read_model(model_file), find_labels(labels)
    names = None if model.feature_names is None else tuple(model.feature_names)
    reading = Reading(model.recipe.n_inputs, model.image_shape, names, **options)
    n_classified, right = 0, list[bool]()
    images: list[Answers] = []
    for answers in _classify(files, model, reading, truth):
        csv_lines = as_csv_lines(answers, model, n_classified == 0, bool(labels))
        for line in csv_lines if as_csv else as_lines(answers, model):
            say(line)
        n_classified += 1
        right += answers.right(model.classes)
        if show and answers.digit is not None and len(images) < MOST_SHOWN:
            images.append(answers)
    if labels:
        say(_describe_errors(right), err=as_csv)
    if show:
        _write_picture(show, images, model)
    if n_classified < len(files):
        if len(files) > 1:
            say(f"{len(files) - n_classified} of {len(files)} files were not classified.", err=True)
        click.get_current_context().exit(1)


def _classify(
    files: tuple[Path, ...], model: Model, reading: Reading, truth: TrueLabels
) -> Iterator[Answers]:
    """Classify each file; those that can't be are a line on stderr."""
    from elmlda.networks.classify import classify

    for path in files:
        try:
            answers = classify(path, model, reading, truth)
        except ElmldaError as error:
            say(f"Error: {' '.join(error.for_command_line().split())}", err=True)
            continue
        if answers.digit is not None and answers.digit.touches_border:
            say(f"Warning: {path}: the ink touches the border: the digit may be cut off.", err=True)
        yield answers


def _describe_errors(right: list[bool]) -> str:
    if not right:
        return "Errors: none of the samples has a label."
    n_errors = len(right) - sum(right)
    return f"Errors: {n_errors:,} of {len(right):,} ({100 * n_errors / len(right):.2f} %)"


def _write_picture(path: Path, images: list[Answers], model: Model) -> None:
    from elmlda.reports.answers import draw_answers
    from elmlda.runs.files import write_atomically

    if not images:
        raise ElmldaError(f"{path}: nothing to draw, no image was classified.")
    write_atomically(path, draw_answers(images, model), "Name another file with --show.")
