"""The commands that make and use models: train and predict."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from elmlda.cli.options import (
    DATA,
    Command,
    build,
    config_option,
    options_of,
    out_option,
    quiet_option,
    rare_options,
)
from elmlda.cli.terminal import say, shorten
from elmlda.errors import ElmldaError, printable
from elmlda.experiments.pool import Machine
from elmlda.experiments.training import Classifier

if TYPE_CHECKING:
    from collections.abc import Iterator

    from elmlda.networks.classify import Answers
    from elmlda.networks.model import Model

PATH = click.Path(path_type=Path)


@click.command(cls=Command)
@options_of(Classifier, f"fanout hidden output n test ridge temperature {DATA}")
@options_of(Machine, "jobs threads")
@out_option("The model's file.  [default: NAME-model.npz]", metavar="FILE")
@click.option("--force", is_flag=True, help="Replace the file if it is there.")
@config_option
@quiet_option
@rare_options(Classifier)
def train(**given: Any) -> None:
    """Train a network or an ensemble, and keep it in a file for elmlda predict.

    On images, network i is network i of elmlda sweep with the same --seed. Other data have the
    defaults of the scikit-learn estimator: a bias, more hidden units, a smaller weight range.
    """
    from elmlda.experiments.experiment import open_bar
    from elmlda.networks.model_file import write_model

    wanted, machine = build(Classifier, given), build(Machine, given)
    path = given["out"] or Path(f"{wanted.data.name}-model.npz")
    _refuse_path(path, wanted.dataset, given["force"])
    wanted.check()
    networks = []
    with open_bar(wanted.n, not given["quiet"] and wanted.n > 1) as bar:
        for network in wanted.train(machine):
            networks.append(network)
            bar.update()
    model = wanted.make_model(networks)
    write_model(path, model, replace=given["force"])
    if not given["quiet"]:
        say(f"{path}: {_describe(model)}{_describe_errors(wanted, model)}")
        scale = f" (inputs up to {model.largest_input:g})" if model.largest_input else ""
        say(f"Next: elmlda predict {quote(str(path))} FILE{scale}")


def _refuse_path(path: Path, dataset: Any, force: bool) -> None:
    """Before the training, not after it."""
    if isinstance(dataset, str) and path.exists() and Path(dataset).exists() and path.samefile(dataset):
        raise ElmldaError(f"{path}: the data themselves, expected another file for the model.")
    if path.is_dir():
        raise ElmldaError(f"{path}: a folder, expected the name of a file for the model.")
    if path.exists() and not force:
        raise ElmldaError(
            f"{path} is there already.", "Use {force} to replace it, or {out}.", force=None, out=None
        )
    if not path.parent.is_dir():
        raise ElmldaError(f"{path.parent}: no such folder for the model's file.")


def _describe(model: Model) -> str:
    """What it is."""
    kind = "LDA-ELM" if model.has_posteriors else "PI-ELM"
    several = f"{len(model.networks)} × " if len(model.networks) > 1 else ""
    ridges = sorted({float(f"{network.ridge:.3g}") for network in model.networks})
    ridge = f"{ridges[0]:g}" if len(ridges) == 1 else f"{ridges[0]:g} to {ridges[-1]:g}"
    return f"{several}{kind}, {model.recipe.n_hidden:,} hidden units, ridge {ridge}"


def _describe_errors(wanted: Classifier, model: Model) -> str:
    if wanted.data.test is None:
        return f", trained on all {len(wanted.data.train.labels):,} samples"
    errors, n_test = wanted.count_errors(model)
    return f", {100 * errors / n_test:.2f} % test errors ({errors:,} of {n_test:,})"


@click.command(cls=Command)
@click.argument("model_file", type=PATH, metavar="MODEL")
@click.argument("files", nargs=-1, required=True, type=PATH, metavar="FILE...")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV, with the posterior of every class.")
def predict(model_file: Path, files: tuple[Path, ...], as_csv: bool) -> None:
    """Classify the samples in each FILE with a MODEL of elmlda train.

    FILE is a table (.csv, .tsv, .txt) with the columns that the model was trained on, an .npz file
    with x, an .npy or IDX file, a folder of four IDX files (its test part), or an image (.png, .jpg)
    of one clean digit, which is brought to MNIST's form.

    Errors are counted where a table has the column of labels, an .npz file y, or a folder labels.
    Samples of tables are counted by lines of the file, all others from 0. A file that can't be
    classified does not stop those after it; the exit code is 1 then.
    """
    from elmlda.networks.classify import UNKNOWN, classify, is_table
    from elmlda.networks.model_file import read_model

    model = read_model(model_file)
    if as_csv:
        kinds = {"line" if is_table(path) else "index" for path in files}
        values = [f"{_kind(model)}_{label}" for label in model.classes]
        say(_as_csv(["file", "_or_".join(sorted(kinds)), "label", "true", *values]))
    n_failed = n_labelled = n_errors = n_unknown = 0
    for path in files:
        try:
            answers = classify(path, model)
        except ElmldaError as error:
            say(f"Error: {shorten(error.for_command_line())}", err=True)
            n_failed += 1
            continue
        for line in (as_csv_lines if as_csv else as_lines)(answers, model):
            say(line)
        if answers.truth is not None:
            known = answers.truth != UNKNOWN
            n_labelled += int(known.sum())
            n_unknown += int((~known).sum())
            n_errors += int((answers.values.argmax(axis=1) != answers.truth)[known].sum())
    if n_labelled or n_unknown:
        rate = f" ({100 * n_errors / n_labelled:.2f} %)" if n_labelled else ""
        others = f"; {n_unknown:,} without a label that the model knows" if n_unknown else ""
        say(f"Errors: {n_errors:,} of {n_labelled:,}{rate}{others}", err=as_csv)
    if n_failed and len(files) > 1:
        say(f"{n_failed} of {len(files)} files were not classified.", err=True)
    click.get_current_context().exit(bool(n_failed))


def _kind(model: Model) -> str:
    return "posterior" if model.has_posteriors else "score"


def as_lines(answers: Answers, model: Model) -> Iterator[str]:
    """A line for each sample: its label, the second guess, and the true label if that is another."""
    show = _round if model.has_posteriors else "{:.4f}".format
    labels = [printable(label) for label in model.classes]
    for i, row in enumerate(answers.values):
        second, first = row.argsort(kind="stable")[-2:]
        name = printable(answers.name(i))
        guess = f"{_kind(model)} {show(row[first])}, second {labels[second]} {show(row[second])}"
        true = first if answers.truth is None else answers.truth[i]
        wrong = "" if true in (first, -1) else f", wrong: it is {labels[true]}"
        yield f"{name}  {labels[first]}  {guess}{wrong}"


def _round(posterior: float) -> str:
    """Four decimals; what is nearly 1 or 0 does not become 1 or 0."""
    if posterior >= 0.99995:
        return "> 0.9999"
    return f"{posterior:.4f}" if posterior >= 0.00005 else "< 0.0001"


def as_csv_lines(answers: Answers, model: Model) -> Iterator[str]:
    """A line for each sample, with the values of every class."""
    for i, row in enumerate(answers.values):
        true = "" if answers.truth is None or answers.truth[i] < 0 else model.classes[answers.truth[i]]
        values = (f"{value:.6g}" for value in row)
        first = model.classes[row.argmax()]
        yield _as_csv([answers.path, answers.numbers[i], first, true, *values])


def _as_csv(values: list[object]) -> str:
    """One line, whatever the values have in them."""
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow(map(printable, values))
    return out.getvalue()
