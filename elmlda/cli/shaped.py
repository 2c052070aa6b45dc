"""elmlda shaped: kinds of input weights, with PI-ELM and LDA-ELM each at its own best setting."""

from __future__ import annotations

from typing import Any

import click

from elmlda.cli.command import Command, option
from elmlda.cli.conduct import build, conduct
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
@repeats_option(5)
@option("--tune-fanout", "Fan-out at which norm and ridge are chosen.", COUNT, 5)
@option("--tune-repeats", "Networks for each setting that is tried.", REPEATS, 3)
@tuned_values_options
@option(
    "--widen",
    "How often values may be added where the best one is the smallest or largest.",
    click.IntRange(0, 5),
    2,
)
@option("--n", "Networks in an ensemble.", REPEATS, 10)
@option("--ensembles", "Ensembles of each method, of its best kind of input weights.", REPEATS, 3)
@data_options
@unit_options
@output_options
@study_options("results/shaped", "kind")
def shaped(**options: Any) -> None:
    """Compare PI-ELM and LDA-ELM on four kinds of input weights, each at its own best setting.

    For each kind and method, norm and ridge are chosen by the method's errors on held-out training
    samples (elmlda tune); where the best lies on the edge of the grid, the grid is widened. Then
    networks are trained on the whole training part and tested: a few of every kind first, then
    ensembles of each method's best kind. The same command again goes on where it stopped.
    """
    from elmlda.experiments.shaped import Shaped

    conduct(build(Shaped, options), options)
