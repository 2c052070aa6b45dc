"""elmlda predict: what a trained model says of new samples."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from elmlda.cli.options import Command
from elmlda.cli.terminal import say, shorten
from elmlda.errors import ElmldaError
from elmlda.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from elmlda.networks.classify import Answers
    from elmlda.networks.model import Model

PATH = click.Path(path_type=Path)


@click.command(cls=Command)
@click.argument("model_file", type=PATH, metavar="MODEL")
@click.argument("files", nargs=-1, required=True, type=PATH, metavar="FILE...")
@click.option("--drop", multiple=True, metavar="COLUMN", help="A column of a table that is no input.")
@click.option("--key", metavar="NAME", help="NPZ files: the array to read, if there are several.")
@click.option(
    "--labels",
    metavar="folder|name|FILE",
    help="Count errors; labels are the names of the files' folders (folder), the beginnings of the "
    "files' names, as in 7-anna.png (name), or in a CSV file with the columns file and label, and "
    "sample where a file has several.",
)
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV, with the posterior of every class.")
def predict(
    model_file: Path, files: tuple[Path, ...], labels: str | None, as_csv: bool, **given: Any
) -> None:
    """Classify the samples in each FILE with a MODEL of elmlda train.

    FILE is an IDX file (raw or .gz), .npz or .npy, .csv with a sample in each line, or an image
    (.png, .jpg) of one clean digit, which is brought to MNIST's form. A file that can't be classified
    does not stop those after it; the exit code is 1 then.
    """
    from elmlda.datasets.samples import SampleFormat
    from elmlda.networks.classify import classify, find_labels
    from elmlda.networks.model_file import read_model

    model, truth = read_model(model_file), find_labels(labels)
    form = SampleFormat(model.recipe.n_inputs, model.image_shape, model.columns, **given)
    n_classified, right = 0, list[bool]()
    for path in files:
        try:
            answers = classify(path, model, form, truth)
        except ElmldaError as error:
            say(f"Error: {shorten(error.for_command_line())}", err=True)
            continue
        lines = as_csv_lines(answers, model, not n_classified, bool(labels))
        for line in lines if as_csv else as_lines(answers, model):
            say(line)
        n_classified += 1
        right += answers.right(model.classes)
    if labels:
        say(_describe_errors(right), err=as_csv)
    if n_classified < len(files):
        if len(files) > 1:
            say(f"{len(files) - n_classified} of {len(files)} files were not classified.", err=True)
        click.get_current_context().exit(1)


def _describe_errors(right: list[bool]) -> str:
    if not right:
        return "Errors: none of the samples has a label."
    n_errors = len(right) - sum(right)
    return f"Errors: {n_errors:,} of {len(right):,} ({100 * n_errors / len(right):.2f} %)"


def as_lines(answers: Answers, model: Model) -> Iterator[str]:
    """A line for each sample: its label, the second guess, and the true label if that is another."""
    kind = "posterior" if model.has_posteriors else "score"
    for i, (row, true) in enumerate(zip(answers.values, answers.truth, strict=True)):
        second, first = row.argsort(kind="stable")[-2:]
        label, other = (printable(model.classes[each]) for each in (first, second))
        show = _round if model.has_posteriors else "{:.4f}".format
        values = [show(row[each]) for each in (first, second)]
        line = f"{printable(answers.name(i))}  {label}  {kind} {values[0]}, second {other} {values[1]}"
        yield line if true in (None, label) else f"{line}, wrong: it is {printable(true)}"


def _round(posterior: float) -> str:
    """Four decimals; what is nearly 1 or 0 does not become 1 or 0."""
    if posterior >= 0.99995:
        return "> 0.9999"
    return f"{posterior:.4f}" if posterior >= 0.00005 else "< 0.0001"


def as_csv_lines(answers: Answers, model: Model, with_header: bool, with_truth: bool) -> Iterator[str]:
    """A line for each sample, with the values of every class."""
    kind = "posterior" if model.has_posteriors else "score"
    true = ["true"] if with_truth else []
    if with_header:
        yield _as_csv(["file", "sample", "label", *true, *(f"{kind}_{c}" for c in model.classes)])
    for i, row in enumerate(answers.values):
        true = [answers.truth[i] or ""] if with_truth else []
        values = (f"{value:.6g}" for value in row)
        yield _as_csv([answers.path, i, model.classes[row.argmax()], *true, *values])


def _as_csv(values: list[object]) -> str:
    """One line, whatever the values have in them."""
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow(map(printable, values))
    return out.getvalue()
