"""elmlda train: a network or an ensemble to keep and use."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from elmlda import stop
from elmlda.cli.options import (
    DATA,
    NETWORK,
    Command,
    build,
    config_option,
    options_of,
    out_option,
    quiet_option,
)
from elmlda.cli.terminal import say
from elmlda.errors import ElmldaError
from elmlda.experiments.classifier import Classifier
from elmlda.experiments.pool import Machine

if TYPE_CHECKING:
    from elmlda.networks.model import Model


@click.command(cls=Command)
@options_of(Classifier, f"fanout hidden output n combine test {DATA}")
@options_of(Classifier, f"ridge {NETWORK}", "Network")
@options_of(Machine, "jobs threads", "Machine")
@out_option("The model's file.  [default: <data set>-model.npz]", metavar="FILE")
@click.option("--force", is_flag=True, help="Replace the file if it is there.")
@config_option
@quiet_option
def train(**given: Any) -> None:
    """Train a network, or an ensemble of them, and keep it in a file for elmlda predict.

    On images, network i is network i of elmlda sweep with the same --seed. Other data have the
    defaults of the scikit-learn estimator: a bias, more hidden units, a smaller weight range.
    """
    from elmlda.experiments.experiment import open_bar
    from elmlda.networks.model_file import write_model

    wanted, machine = build(Classifier, given), build(Machine, given)
    stop.expect_workers(machine.jobs)
    path = given["out"] or Path(f"{wanted.data.name}-model.npz")
    _refuse_path(path, wanted.dataset, given["force"])
    wanted.check()
    networks = []
    with open_bar(not given["quiet"] and wanted.n > 1, wanted.n) as bar:
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
    several = f"{len(model.networks)} × " if model.is_ensemble else ""
    ridges = sorted({float(f"{network.ridge:.3g}") for network in model.networks})
    ridge = f"{ridges[0]:g}" if len(ridges) == 1 else f"{ridges[0]:g} to {ridges[-1]:g}"
    return f"{several}{kind}, {model.recipe.n_hidden:,} hidden units, ridge {ridge}"


def _describe_errors(wanted: Classifier, model: Model) -> str:
    if wanted.data.test is None:
        return f", trained on all {len(wanted.data.train.labels):,} samples"
    errors, n_test = wanted.count_errors(model)
    return f", {100 * errors / n_test:.2f} % test errors ({errors:,} of {n_test:,})"
