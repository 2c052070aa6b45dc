"""elmlda timing: Table 2's records."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

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
    from elmlda.cli import run as runs
    from elmlda.experiments.timing import TimingPlan, TimingRecord, run_timing
    from elmlda.runs.records import RecordFile, unique

    setup = runs.prepare({**options, "jobs": 1})
    n_inputs = setup.dataset.n_inputs
    sizes = tuple(n_inputs * fanout for fanout in options["fanout"])
    runs.refuse_what_cannot_be(setup, sizes)
    plan = TimingPlan(
        setup.ref, n_inputs, sizes, options["repeats"], setup.seed, setup.settings, setup.resources
    )
    fixed = vars(setup.resources)  # what timings depend on: those of others must not mix with them
    if options["dry_run"]:
        setup.check_folder("timing", fixed)
        recorded = {
            record.key for record in RecordFile(setup.folder / TimingRecord.FILE, TimingRecord).read()
        }
        networks, n_all = [job.network for job in plan.jobs(recorded)], len(plan.jobs())
        independent = replace(setup, design="independent")
        click.echo("\n".join(runs.describe_plan(independent, networks, n_all - len(networks))))
        return
    quiet = options["quiet"]
    grown = {"repeats": plan.repeats, "n_hidden": list(sizes)}
    with setup.open_run("timing", fixed, grown) as run:
        file = run.records(TimingRecord.FILE, TimingRecord)
        recorded = set(unique(file.read(), lambda record: record.key, file.path))
        jobs, n_all = plan.jobs(recorded), len(plan.jobs())
        with runs.progress(n_all, n_all - len(jobs), "network", quiet) as bar:
            for result, record in run_timing(jobs, n_inputs):
                file.append([record])
                bar.update()
                if result.precision != setup.settings.precision and not quiet:
                    runs.note_double(bar, record.repeat)
        file.sort(key=lambda record: (record.repeat, record.n_hidden, record.turn))
        wanted = [r for r in file.read() if r.repeat < plan.repeats and r.n_hidden in sizes]
    if not quiet:
        click.echo(format_table(wanted, beside_paper=setup.is_papers_data))
        click.echo(f"\nRecords: {file.path}")


def format_table(records: Sequence[TimingRecord], beside_paper: bool) -> str:
    """Elapsed seconds and what LDA takes beyond PI, with its 95 % interval, beside the paper's."""
    from elmlda.report.timing_tables import tabulate_timing

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
