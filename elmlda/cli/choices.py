"""elmlda choices: what the paper leaves open, activation and input scale, each tried."""

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
    ridge_option,
    seed_option,
    study_options,
)
from elmlda.cli.values import Numbers
from elmlda.settings import ACTIVATION_NAMES


@click.command(cls=Command)
@option(
    "--activation activations",
    "Activation function of the hidden units; may be given several times.",
    click.Choice(ACTIVATION_NAMES),
    ("tanh", "logistic", "softsign"),
    multiple=True,
)
@option(
    "--divisor divisors",
    "Inputs are divided by this, as they are stored; several with commas.",
    Numbers(),
    "1,255",
)
@fanouts_option("1-3")
@repeats_option(30)
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

    conduct(build(Choices, options), options)
