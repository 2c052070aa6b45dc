"""elmlda timing: Table 2's records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from elmlda.cli.conduct import build, conduct
from elmlda.cli.formats import or_blank
from elmlda.cli.options import (
    fanout_option,
    network_options,
    one_network_options,
    repeats_type,
    run_options,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from elmlda.experiments.run_spec import RunSpec
    from elmlda.experiments.timing import TimingRecord


@click.command()
@fanout_option
@click.option("--repeats", type=repeats_type, default=3, show_default=True)
@network_options
@one_network_options
@run_options
def timing(**options: Any) -> None:
    """Time training and testing of PI-ELM, of LDA-ELM, and of both from one pass.

    Each from scratch: random weights, hidden outputs, statistics, solution, test; LDA-ELM as the paper
    writes it, with its own covariance and factorisation, and posteriors. Every fan-out has weights of
    its own, as in the paper, also in the folder of a run whose --design is nested. Writes timing.csv;
    the table has the seconds of the fastest repeat, and LDA's extra time from within its own runs: what
    PI does not do, in per cent of the rest. Leave the machine alone meanwhile. The same command again
    goes on where it stopped; --repeats and --fanout may grow.
    """
    from elmlda.experiments.timing import Timing

    def show(records: list[TimingRecord], spec: RunSpec) -> str:
        return format_table(records, spec.is_papers_data)

    conduct(build(Timing, options), options, show)


def format_table(records: Sequence[TimingRecord], beside_paper: bool) -> str:
    """Elapsed seconds and what LDA takes beyond PI, with its 95 % interval, beside the paper's."""
    from elmlda.reports.subjects.timing import tabulate_timing

    lines = [f"{'':7} {'':7} {'seconds':^26} {'LDA extra, %':^29}", ""]
    lines[1] = (
        f"{'fan-out':>7} {'repeats':>7} {'PI-ELM':>8} {'LDA-ELM':>8} {'both':>8} {'alone':^14} "
        f"{'in one pass':^14}"
    )
    if beside_paper:
        lines[0] += f"   {'the paper':^22}"
        lines[1] += f"   {'PI':>6} {'LDA':>6} {'extra':>8}"
    for row in tabulate_timing(records).to_dict("records"):
        line = (
            f"{row['fanout']:7d} {row['repeats']:7d} {_seconds(row['pi_seconds'])} "
            f"{_seconds(row['lda_seconds'])} {_seconds(row['both_seconds'])} "
            f"{_overhead(row, 'overhead')} {_overhead(row, 'one_pass_overhead')}"
        )
        if beside_paper:
            line += (
                f"   {or_blank(row['paper_pi_seconds'], '{:6.4g}', 6)} "
                f"{or_blank(row['paper_lda_seconds'], '{:6.4g}', 6)} "
                f"{or_blank(row['paper_overhead_percent'], '{:7.1f}%', 8)}"
            )
        lines.append(line.rstrip())
    return "\n".join(lines)


def _overhead(row: dict[Any, Any], name: str) -> str:
    """With the half-width of its interval; of a single repeat alone."""
    half = or_blank(row[f"{name}_interval"], "±{:6.3f}", 7)
    return f"{row[f'{name}_percent']:6.3f} {half}"


def _seconds(value: float) -> str:
    """With two decimals, or four where a small data set takes milliseconds."""
    return f"{value:8.2f}" if value >= 1 else f"{value:8.4f}"
