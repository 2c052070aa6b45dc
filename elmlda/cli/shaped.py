"""elmlda shaped: four kinds of input weights beside each other, and an ensemble of the best."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from elmlda.cli.conduct import build, conduct_study
from elmlda.cli.ensemble import format_table as format_ensemble
from elmlda.cli.options import (
    Numbers,
    data_options,
    fanout_option,
    output_options,
    unit_options,
)
from elmlda.cli.study_options import study_options
from elmlda.cli.sweep import format_table as format_sweep
from elmlda.cli.tune import NORMS, RANGES, RIDGES, format_tuning
from elmlda.settings import INPUT_WEIGHTS

if TYPE_CHECKING:
    from elmlda.experiments.run_spec import RunSpec
    from elmlda.experiments.study import Part


@click.command()
@click.option(
    "--scheme",
    "schemes",
    type=click.Choice(INPUT_WEIGHTS),
    multiple=True,
    default=INPUT_WEIGHTS,
    show_default=True,
    help="Kind of input weights; may be given several times.",
)
@fanout_option
@click.option("--repeats", type=click.IntRange(1), default=3, show_default=True)
@click.option(
    "--tune-fanout",
    type=click.IntRange(1),
    default=5,
    show_default=True,
    help="Fan-out at which norm and ridge are chosen.",
)
@click.option("--tune-repeats", type=click.IntRange(1), default=3, show_default=True)
@click.option("--ridge", type=Numbers(), default=RIDGES, show_default=True, help="Values to try.")
@click.option(
    "--weight-norm",
    type=Numbers(),
    default=NORMS,
    show_default=True,
    help="Norms of each hidden unit's weights to try, where they are not uniform.",
)
@click.option(
    "--weight-range",
    type=Numbers(),
    default=RANGES,
    show_default=True,
    help="Ranges of uniform weights to try.",
)
@click.option(
    "--validation",
    type=click.IntRange(1),
    metavar="N",
    help="Training samples that are held out to choose by.  [default: a sixth]",
)
@click.option(
    "--n", type=click.IntRange(1), default=10, show_default=True, help="Networks of the ensemble."
)
@click.option(
    "--ensemble-fanout",
    type=click.IntRange(1),
    default=20,
    show_default=True,
    help="Fan-out of its networks.",
)
@data_options
@unit_options
@output_options
@study_options("results/shaped", "kind")
def shaped(**options: Any) -> None:
    """Study input weights that are shaped by images and training samples.

    For each kind: its norm and ridge are chosen on held-out training samples (elmlda tune), then
    networks are trained on the whole training part and tested (elmlda sweep). The kind that was best
    on the held-out samples makes an ensemble (elmlda ensemble); it is swept first, and with as many
    repeats as the ensemble has networks. Each part has its folder, and the same command again goes on
    where it stopped.
    """
    from elmlda.experiments.shaped import Shaped

    conduct_study(build(Shaped, options), options, _show)


def _show(records: list[Any], spec: RunSpec, part: Part) -> str:
    """The table of whichever experiment the part is."""
    experiment = part.experiment
    if experiment.name == "tune":
        return format_tuning(records, experiment.settings.input_weights)
    if experiment.name == "sweep":
        return f"{part.title}\n{format_sweep(records, spec.is_papers_data)}"
    return f"{part.title}\n{format_ensemble(records, {})}"
