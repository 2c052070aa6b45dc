"""elmlda choices: what the paper leaves open, activation and input scale, each tried."""

from __future__ import annotations

from typing import Any

import click

from elmlda.cli.conduct import build, conduct_study
from elmlda.cli.options import (
    Numbers,
    Ranges,
    data_options,
    output_options,
    repeats_type,
    ridge_option,
    seed_option,
)
from elmlda.cli.study_options import study_options
from elmlda.cli.sweep import format_table
from elmlda.settings import ACTIVATION_NAMES


@click.command()
@click.option(
    "--activation",
    "activations",
    type=click.Choice(ACTIVATION_NAMES),
    multiple=True,
    default=("tanh", "logistic", "softsign"),
    show_default=True,
    help="Hidden units' function; may be given several times.",
)
@click.option(
    "--divisor",
    "divisors",
    type=Numbers(),
    default="1,255",
    show_default=True,
    help="Inputs are divided by this, as they are stored; several with commas.",
)
@click.option(
    "--fanout", type=Ranges(), default="1-3", show_default=True, help="Hidden units for each input."
)
@click.option("--repeats", type=repeats_type, default=30, show_default=True)
@data_options
@seed_option
@ridge_option
@output_options
@study_options("results/choices", "combination")
def choices(**options: Any) -> None:
    """Sweep every combination of activation and input scale, which the paper does not state.

    Each combination is a sweep in a folder of its own, such as tanh-255, and has the same input weights
    as the others; the same command again goes on where it stopped. elmlda report tells how far each
    is from the paper's Table 1.
    """
    from elmlda.experiments.choices import Choices

    conduct_study(
        build(Choices, options),
        options,
        lambda records, spec, part: f"{part.title}\n{format_table(records, spec.is_papers_data)}",
    )
