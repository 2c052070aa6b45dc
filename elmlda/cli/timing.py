"""elmlda timing: Table 2's records."""

from __future__ import annotations

from typing import Any

import click

from elmlda.cli.command import Command
from elmlda.cli.conduct import build, conduct
from elmlda.cli.options import (
    fanouts_option,
    network_options,
    one_network_options,
    repeats_option,
    run_options,
)


@click.command(cls=Command)
@fanouts_option("1-20")
@repeats_option(3, "Times that each method is timed at each fan-out")
@network_options
@one_network_options
@run_options
def timing(**options: Any) -> None:
    """Time training and testing of PI-ELM, of LDA-ELM, and of both from one pass (Table 2).

    Each from scratch: random weights, hidden outputs, statistics, solution, test; LDA-ELM as the paper
    writes it, with its own covariance and factorisation, and posteriors. Every fan-out has weights of
    its own, as in the paper, also in the folder of a run whose --design is nested. Writes timing.csv;
    the table has the seconds of the fastest repeat, and LDA's extra time from within its own runs: what
    PI does not do, in per cent of the rest. Keep the machine idle meanwhile. The same command again
    goes on where it stopped; --repeats and --fanout may grow.
    """
    from elmlda.experiments.timing import Timing

    conduct(build(Timing, options), options)
