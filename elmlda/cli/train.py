"""elmlda train: a network or an ensemble to keep and use."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from elmlda.cli.command import Command, flag
from elmlda.cli.conduct import build, open_counter
from elmlda.cli.options import config_option, field_options, out_option, quiet_option
from elmlda.cli.terminal import say
from elmlda.errors import ElmldaError
from elmlda.experiments.command_options import TrainOptions
from elmlda.experiments.options import OUTPUT, Share

if TYPE_CHECKING:
    from elmlda.datasets import Dataset
    from elmlda.networks.model import Model


@click.command(cls=Command)
@field_options(TrainOptions)
@field_options(Share, "jobs", "threads", "chunk")
@out_option("The model's file.  [default: <data set>-model.npz]", metavar="FILE")
@flag("--force", "Replace the file if it is there.", group=OUTPUT)
@config_option
@quiet_option
def train(**options: Any) -> None:
    """Train a network, or an ensemble of them, and keep it in a file for elmlda predict.

    On images, network i is network i of elmlda sweep with the same --seed. Other data have the
    defaults of the scikit-learn estimator: a bias, more hidden units, a smaller weight range. The file
    keeps its seed instead of its random input weights, and is small.
    """
    from elmlda.experiments.model import TrainModel
    from elmlda.networks.jobs import load_job_data
    from elmlda.networks.model_file import write_model
    from elmlda.networks.steps import find_multiplier

    if options["n"] > 1 and options["output"] == "pi":
        raise click.UsageError("an ensemble combines posteriors, PI-ELM has none: use --output lda.")
    wanted, share = build(TrainModel, options), build(Share, options)
    dataset = load_job_data(wanted.dataset_ref)
    wanted = wanted.suit(dataset)
    path = options["out"] or Path(f"{dataset.name}-model.npz")
    _refuse_path(path, options["dataset"], options["force"])
    wanted.check(dataset, share)
    if (multiplier := find_multiplier(options["precision"])) and not options["quiet"]:
        say(f"bfloat16 {multiplier}.", err=True)
    with open_counter(wanted.n, options["quiet"] or wanted.n == 1) as bar:
        model = wanted.train(dataset, share, bar)
    write_model(path, model, is_new=not options["force"])  # another process may have written it
    if not options["quiet"]:
        say(_describe(path, replace(model, scaling=None), dataset, share.chunk))
        scale = f" (inputs up to {model.largest_input:g})" if model.largest_input else ""
        say(f"Next: elmlda predict {quote(str(path))} FILE{scale}")


def _refuse_path(path: Path, dataset: str | None, force: bool) -> None:
    """Before the training, not after it."""
    if dataset and path.exists() and Path(dataset).exists() and path.samefile(dataset):
        raise ElmldaError(f"{path}: the data themselves, expected another file for the model.")
    if path.is_dir():
        raise ElmldaError(f"{path}: a folder, expected the name of a file for the model.")
    if path.exists() and not force:
        raise ElmldaError(f"{path} is there already. Use --force to replace it, or --out.")
    if not path.parent.is_dir():
        raise ElmldaError(f"{path.parent}: no such folder for the model's file.")


def _describe(path: Path, model: Model, dataset: Dataset, chunk: int) -> str:
    """One line: what it is, and its test errors; the test samples are scaled already."""
    test = dataset.test
    errors = int((model.choose(test.inputs, chunk) != test.labels).sum())
    kind = "LDA-ELM" if model.has_posteriors else "PI-ELM"
    several = f"{len(model.networks)} × " if model.is_ensemble else ""
    ridges = sorted({float(f"{network.ridge:.3g}") for network in model.networks})
    ridge = f"{ridges[0]:g}" if len(ridges) == 1 else f"{ridges[0]:g} to {ridges[-1]:g}"
    return (
        f"{path}: {several}{kind}, {model.recipe.n_hidden:,} hidden units, ridge {ridge}, "
        f"{100 * errors / len(test.labels):.2f} % test errors ({errors:,} of {len(test.labels):,})"
    )
