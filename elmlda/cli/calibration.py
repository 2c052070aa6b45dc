"""elmlda calibration: whether LDA-ELM's outputs are posterior probabilities."""

from __future__ import annotations

from typing import Any

import click

from elmlda.cli.command import Command, option
from elmlda.cli.conduct import build, conduct
from elmlda.cli.options import experiment_options, repeats_option
from elmlda.cli.values import Ranges


@click.command(cls=Command)
@option(
    "--fanout",
    "Hidden units for each input; networks of the largest are combined.",
    Ranges(),
    "1,5,20",
)
@option("--n", "How many networks are combined.", Ranges(), "1,2,5,20")
@repeats_option(10, "Groups of the most networks; single networks at smaller fan-outs")
@option(
    "--train/--no-train",
    "Train the networks whose posteriors are not kept, or leave them out.",
    default=True,
)
@experiment_options
def calibration(**options: Any) -> None:
    """Compare LDA-ELM's posterior probabilities with how often they are right on the test samples.

    Group g of n networks has networks g·n to g·n + n - 1 of the run. What sweep and ensemble have
    kept in the run's folder is used; only the networks that are missing are trained, and kept too.
    Writes calibration.csv: log-loss, Brier score, expected calibration error, and the bins of a
    reliability diagram. The same command again goes on where it stopped; --repeats, --fanout and --n
    may grow.
    """
    from elmlda.experiments.calibration import Calibration

    conduct(build(Calibration, options), options)
