"""elmlda ensemble: Fig. 2's records."""

from __future__ import annotations

from typing import Any

import click

from elmlda.cli.command import Command, option
from elmlda.cli.conduct import build, conduct
from elmlda.cli.options import experiment_options, fanout_option, hidden_option, repeats_option
from elmlda.cli.values import REPEATS
from elmlda.settings import COMBINATIONS


@click.command(cls=Command)
@option("--n", "Networks in the largest ensemble; all sizes up to it are evaluated.", REPEATS, 20)
@fanout_option(20)
@hidden_option
@repeats_option(10, "Ensembles of new networks; the paper has 10")
@option(
    "--combine",
    "How posteriors are combined; may be given several times.",
    click.Choice(COMBINATIONS),
    ["mean"],
    multiple=True,
)
@experiment_options
def ensemble(**options: Any) -> None:
    """Combine LDA-ELM networks by their posterior probabilities and count test errors (Figure 2).

    Member i of repeat r is network r·n + i of the run. What a sweep at the same fan-out has kept in
    the run's folder is used; only the networks that are missing are trained. Writes ensemble.csv,
    mistakes.csv with the test samples that the whole ensembles get wrong, and pairs.csv with the
    errors of networks 0 and 1 combined, 2 and 3, and so on, as many as are kept.
    """
    from elmlda.experiments.ensemble import Ensemble

    conduct(build(Ensemble, options), options)
