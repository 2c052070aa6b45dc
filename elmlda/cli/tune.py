"""elmlda tune: ridge and size of the input weights, chosen by held-out training samples."""

from __future__ import annotations

from typing import Any

import click

from elmlda.cli.command import Command
from elmlda.cli.conduct import build, conduct
from elmlda.cli.options import (
    cluster_option,
    data_options,
    fanout_option,
    hidden_option,
    output_options,
    repeats_option,
    resource_options,
    run_options,
    scheme_option,
    tuned_values_options,
    unit_options,
)


@click.command(cls=Command)
@fanout_option(5)
@hidden_option
@repeats_option(3, "Networks with new random weights for each setting")
@tuned_values_options
@data_options
@scheme_option
@unit_options
@output_options
@resource_options
@cluster_option
@run_options
def tune(**options: Any) -> None:
    """Choose the ridge and the size of the input weights without the test samples.

    The last training samples are held out, networks are trained on the others with every setting, and
    errors are counted on those held out. Writes tune.csv; the same command again goes on where it
    stopped, and more values may be tried.
    """
    from elmlda.experiments.tune import Tune

    conduct(build(Tune, options), options)
