"""elmlda sweep: Table 1's records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from elmlda.cli.conduct import build, conduct
from elmlda.cli.formats import or_blank, with_interval
from elmlda.cli.options import (
    Ranges,
    cluster_option,
    fanout_option,
    network_options,
    repeats_type,
    resource_options,
    run_options,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from elmlda.experiments.sweep import SweepRecord


@click.command()
@fanout_option
@click.option("--hidden", type=Ranges(), help="Hidden units instead: 100,500,1000-5000:1000.")
@click.option("--repeats", type=repeats_type, default=200, show_default=True)
@click.option(
    "--posteriors/--no-posteriors",
    default=True,
    show_default=True,
    help="Keep each network's test posteriors at the largest size, for elmlda ensemble.",
)
@network_options
@resource_options
@cluster_option
@click.option(
    "--split-rows",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    metavar="P",
    help="Share each network out by P blocks of training samples, for very large networks or data; "
    "networks then follow one another.",
)
@run_options
@click.pass_context
def sweep(ctx: click.Context, /, **options: Any) -> None:
    """Train PI-ELM and LDA-ELM on the same random input weights and count test errors.

    Writes sweep.csv and manifest.json into the run's folder, a record as soon as it is known. The
    same command again goes on where it stopped; --repeats and --fanout may grow.
    """
    from elmlda.experiments.sweep import Sweep

    hidden = options["hidden"] if _prefers_hidden(ctx) else None
    experiment = build(Sweep, {**options, "hidden": hidden})
    conduct(experiment, options, lambda records, spec: format_table(records, spec.is_papers_data))


def _prefers_hidden(ctx: click.Context) -> bool:
    """Whether --hidden counts: flags override the config file, and both at once are refused."""
    if ctx.params["hidden"] is None:
        return False
    sources = [ctx.get_parameter_source(name) for name in ("fanout", "hidden")]
    if sources[0] == sources[1]:
        raise click.UsageError("--fanout and --hidden exclude each other: give one of them.")
    return sources != [ParameterSource.COMMANDLINE, ParameterSource.DEFAULT_MAP]


def format_table(records: Sequence[SweepRecord], beside_paper: bool) -> str:
    """Error rates with the half-width of their 95 % interval, beside the paper's."""
    from elmlda.reports.subjects.sweep import tabulate_sweep

    whole = all(record.fanout == int(record.fanout) for record in records)
    column, name = ("fanout", "fan-out") if whole else ("n_hidden", "hidden")
    lines = [f"{'':7} {'':7} {'error rate, %':^27} {'LDA':>7}", ""]
    lines[1] = f"{name:>7} {'repeats':>7} {'PI-ELM':^13} {'LDA-ELM':^13} {'better':>7}"
    if beside_paper:
        lines[0] += f"   {'the paper':^22}"
        lines[1] += f"   {'PI':>6} {'LDA':>6} {'better':>8}"
    for row in tabulate_sweep(records).to_dict("records"):
        line = (
            f"{row[column]:7.0f} {row['repeats']:7d} "
            f"{with_interval(row['pi_error_percent'], row['pi_interval'])} "
            f"{with_interval(row['lda_error_percent'], row['lda_interval'])} "
            f"{or_blank(row['improvement_percent'], '{:6.1f}%', 7)}"
        )
        if beside_paper:
            line += (
                f"   {or_blank(row['paper_pi_error_percent'], '{:6.2f}', 6)} "
                f"{or_blank(row['paper_lda_error_percent'], '{:6.2f}', 6)} "
                f"{or_blank(row['paper_improvement_percent'], '{:7.1f}%', 8)}"
            )
        lines.append(line.rstrip())
    return "\n".join(lines)
