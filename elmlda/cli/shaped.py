"""elmlda shaped: four kinds of input weights beside each other, and an ensemble of the best."""

from __future__ import annotations

from typing import Any

import click

from elmlda.cli.command import Command, option
from elmlda.cli.conduct import build, conduct_study
from elmlda.cli.options import (
    data_options,
    fanouts_option,
    output_options,
    repeats_option,
    study_options,
    tuned_values_options,
    unit_options,
)
from elmlda.cli.values import COUNT, REPEATS
from elmlda.settings import INPUT_WEIGHTS


@click.command(cls=Command)
@option(
    "--scheme schemes",
    "Kind of input weights; may be given several times.",
    click.Choice(INPUT_WEIGHTS),
    INPUT_WEIGHTS,
    multiple=True,
)
@fanouts_option("1-20")
@repeats_option(3)
@option("--tune-fanout", "Fan-out at which norm and ridge are chosen.", COUNT, 5)
@option("--tune-repeats", "Networks for each setting that is tried.", REPEATS, 3)
@tuned_values_options
@option("--n", "Networks in the ensemble of the best kind.", REPEATS, 10)
@option("--ensemble-fanout", "Fan-out of the ensemble's networks.", COUNT, 20)
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

    conduct_study(build(Shaped, options), options)
