"""elmlda sweep: Table 1's records."""

from __future__ import annotations

from typing import Any

import click
from click.core import ParameterSource

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
@click.pass_context
def sweep(ctx: click.Context, /, **options: Any) -> None:
    """Train PI-ELM and LDA-ELM on the same random input weights and count test errors (Table 1).

    Writes sweep.csv and manifest.json into the run's folder, a record as soon as it is known. The
    same command again goes on where it stopped; --repeats and --fanout may grow.
    """
    from elmlda.experiments.sweep import Sweep

    hidden = options["hidden"] if _prefers_hidden(ctx) else None
    conduct(build(Sweep, {**options, "hidden": hidden}), options)


def _prefers_hidden(ctx: click.Context) -> bool:
    """Whether --hidden counts: flags override the config file, and both at once are refused."""
    if ctx.params["hidden"] is None:
        return False
    sources = [ctx.get_parameter_source(name) for name in ("fanout", "hidden")]
    if sources[0] == sources[1]:
        raise click.UsageError("--fanout and --hidden exclude each other: give one of them.")
    return sources != [ParameterSource.COMMANDLINE, ParameterSource.DEFAULT_MAP]
