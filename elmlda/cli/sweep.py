"""elmlda sweep: Table 1's records."""

from __future__ import annotations

from typing import Any

import click

from elmlda.cli.command import MACHINE, OUTPUT, Command, option
from elmlda.cli.conduct import build, conduct
from elmlda.cli.options import experiment_options, fanouts_option, hiddens_option, repeats_option
from elmlda.cli.values import COUNT


@click.command(cls=Command)
@fanouts_option("1-20")
@hiddens_option
@repeats_option(200, "Networks with new random weights; the paper has 200")
@experiment_options
@option(
    "--split-rows",
    "Divide each network's training samples into P blocks, one for each worker: for networks or data "
    "that are too large for one. Networks are then trained one after the other.",
    COUNT,
    1,
    metavar="P",
    group=MACHINE,
)
@option(
    "--posteriors/--no-posteriors",
    "Keep each network's test posteriors at the largest size, for elmlda ensemble.",
    default=True,
    group=OUTPUT,
)
def sweep(**options: Any) -> None:
    """Train PI-ELM and LDA-ELM on the same random input weights and count test errors (Table 1).

    Writes sweep.csv and manifest.json into the run's folder, each network's records as soon as it is
    tested. The same command again continues the run; --repeats and --fanout may grow. Sizes at which
    LDA has no solution are written to singular.csv and named at the end.
    """
    from elmlda.experiments.sweep import Sweep

    conduct(build(Sweep, options), options)
