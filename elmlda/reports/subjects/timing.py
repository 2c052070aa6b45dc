"""Table 2: training and test times, and LDA-ELM's extra time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from elmlda import paper
from elmlda.core.arrays import FloatArray
from elmlda.experiments.timing import METHODS, TimingRecord
from elmlda.reports import plots
from elmlda.reports.estimates import estimate_mean
from elmlda.reports.model import Column, Drawing, Section, Table, make_table
from elmlda.reports.records import RunRecords
from elmlda.text import printable


def tabulate_timing(records: Sequence[TimingRecord]) -> pd.DataFrame:
    """Table 2: a row for each hidden size, the paper's numbers beside ours.

    Repeats that lack a method (the run was stopped there) do not count.

    Columns
    -------
    …_seconds : elapsed, the fastest of the repeats
    overhead_percent : what LDA-ELM as the paper writes it takes beyond PI-ELM, the mean of
        `TimingRecord.overhead_percent`, which is from within its own runs: the claim is judged by this
    one_pass_overhead_percent : the same for LDA-ELM beside PI-ELM in one pass
    …_interval : half the width of the 95 % interval of the mean, empty for a single repeat
    elapsed_overhead_percent : from the seconds, 100·(LDA/PI - 1), which carries the machine's noise
    paper_… : the paper's, empty at sizes that it does not have
    """
    cells = pivot_timings(records)
    return pd.DataFrame([_row(rows) for _, rows in cells.groupby(level="n_hidden")])


def list_overheads(records: Sequence[TimingRecord]) -> dict[int, FloatArray]:
    """Fan-out -> extra time of LDA-ELM as the paper writes it, in per cent, one for each repeat."""
    percents = pivot_timings(records)["overhead_percent", "lda"]
    fanouts = percents.index.unique("fanout")
    return {int(fanout): percents.xs(fanout, level="fanout").to_numpy() for fanout in fanouts}


def pivot_timings(records: Sequence[TimingRecord]) -> pd.DataFrame:
    """Seconds and overheads of each method: a row for each repeat and size that has every method."""
    index, values = ["repeat", "fanout", "n_hidden"], ["seconds", "overhead_percent"]
    frame = pd.DataFrame(
        [[getattr(record, name) for name in (*index, "method", *values)] for record in records],
        columns=[*index, "method", *values],
    )
    columns = pd.MultiIndex.from_product([values, list(METHODS)])
    return frame.pivot(index=index, columns="method", values=values).reindex(columns=columns).dropna()


def _row(rows: pd.DataFrame) -> dict[str, Any]:
    _, fanout, n_hidden = rows.index[0]
    fastest = rows["seconds"].min()
    overheads = {m: estimate_mean(rows["overhead_percent", m].to_numpy()) for m in ("lda", "both")}
    paper_pi, paper_lda = (
        seconds.get(fanout, np.nan) for seconds in (paper.PI_SECONDS, paper.LDA_SECONDS)
    )
    return {
        "fanout": fanout,
        "n_hidden": n_hidden,
        "repeats": len(rows),
        **{f"{method}_seconds": fastest[method] for method in METHODS},
        **overheads["lda"].columns("overhead_percent", "overhead_interval"),
        **overheads["both"].columns("one_pass_overhead_percent", "one_pass_overhead_interval"),
        "elapsed_overhead_percent": 100 * (fastest["lda"] / fastest["pi"] - 1),
        "paper_pi_seconds": paper_pi,
        "paper_lda_seconds": paper_lda,
        "paper_overhead_percent": 100 * (paper_lda / paper_pi - 1),
    }


AS_PRINTED = {
    "PI-ELM": "pi_seconds",
    "PI-ELM, the paper": "paper_pi_seconds",
    "LDA-ELM": "lda_seconds",
    "LDA-ELM, the paper": "paper_lda_seconds",
    "both in one pass": "both_seconds",
    "% LDA-ELM extra": "overhead_percent",
    "% LDA-ELM extra, the paper": "paper_overhead_percent",
}
"""Rows of Table 2 in the paper's layout -> columns of ours."""
COLUMNS = [
    Column("Fan-out", "fanout", ".0f"),
    Column("Repeats", "repeats", ".0f", extra=True),
    Column("PI-ELM, s", "pi_seconds", "#.4g"),
    Column("paper", "paper_pi_seconds", ".1f"),
    Column("LDA-ELM, s", "lda_seconds", "#.4g"),
    Column("paper", "paper_lda_seconds", ".1f"),
    Column("LDA extra, %", "overhead_percent", ".3f", "overhead_interval"),
    Column("paper", "paper_overhead_percent", ".1f"),
    Column("by the clock, %", "elapsed_overhead_percent", "+.1f", extra=True),
    Column("both in one pass, s", "both_seconds", "#.4g", extra=True),
    Column(
        "one pass: LDA extra, %", "one_pass_overhead_percent", ".3f", "one_pass_overhead_interval",
        extra=True,
    ),
]  # fmt: skip
LONGEST_MACHINE = 200
NOTE = (
    "LDA-ELM is trained as the paper writes it: its own covariance (Eq. 12), factorisation, solution "
    "(Eq. 16) and posteriors (Eq. 14). LDA extra: what LDA-ELM does and PI-ELM does not, timed inside "
    "LDA-ELM's own runs, in per cent of the rest of the run; time that no part accounts for is charged "
    "to LDA-ELM. ± is half the 95 % interval of the mean; the claim is judged by its upper end. One "
    "pass: the same for LDA-ELM derived from PI-ELM's solution. By the clock: LDA-ELM's fastest repeat "
    "against PI-ELM's, which carries the machine's noise. The three take turns at being first, second "
    "and third."
)
PAPER_CAPTION = (
    " The paper's is a laptop of 2012: only the shape and LDA's extra time can be compared. Below: "
    "means and 95 % intervals."
)


def show_table(table: pd.DataFrame, beside_paper: bool) -> Table:
    """For display."""
    return make_table("Elapsed seconds, the fastest of the repeats", table, COLUMNS, beside_paper)


def make_sections(run: RunRecords, table: pd.DataFrame) -> Iterator[Section]:
    """Table and figure."""
    machine, beside = name_timed_machine(run), run.is_papers_kind
    figure = Drawing(
        "times",
        "Seconds of PI-ELM, LDA-ELM and both from one pass, and LDA-ELM's extra time, over fan-out",
        f"Each network is trained and tested from scratch. {machine}{PAPER_CAPTION if beside else ''}",
        partial(plot_timing, table=table, beside_paper=beside),
    )
    title, shown = "Table 2: training and test times", show_table(table, beside)
    yield Section("table2", title, figures=[figure], tables=[shown], note=NOTE)


def name_timed_machine(run: RunRecords) -> str:
    """Where the times were measured, in a sentence."""
    planned, machines = run.planned("timing"), run.manifest["machines"]
    threads = planned.get("threads", 0)
    using = f", {threads} thread{'s' if threads > 1 else ''}" if threads else ""
    cpus = planned.get("cpus") or [machine.get("cpu", "") for machine in machines]
    if "cpus" in planned or len(cpus) == 1:
        return f"Timed on {printable(' and '.join(cpus), LONGEST_MACHINE)}{using}."
    return f"Timed on one of the machines that are listed below{using}."


def plot_timing(figure: plots.Figure, table: pd.DataFrame, beside_paper: bool) -> None:
    """Over fan-out, above seconds, below LDA's extra time."""
    figure.set_size_inches(plots.WIDTH, 5.2)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[3, 2])
    _plot_seconds(above, table, beside_paper)
    _plot_overhead(below, table, beside_paper)
    below.set(xscale="log", xlabel=plots.FANOUT_LABEL)
    last = table["fanout"].max()
    plots.place_ticks(below.xaxis, [n for n in (1, 2, 3, 5, 10, 20) if n <= last])
    plots.legend_below(figure, below)


def _plot_seconds(axes: plots.Axes, table: pd.DataFrame, beside_paper: bool) -> None:
    fanouts = table["fanout"]
    for place, method, label, size in (  # they nearly coincide: the last ones leave the first visible
        (plots.PI, "pi", "PI-ELM", 6),
        (plots.LDA, "lda", "LDA-ELM", 4),
        (plots.THIRD, "both", "both in one pass", 2),
    ):
        look = plots.style(place)
        axes.plot(fanouts, table[f"{method}_seconds"], ms=size, label=label, **look)
        if beside_paper and method != "both":
            papers = table[f"paper_{method}_seconds"]
            plots.plot_papers(axes, fanouts, papers, f"{label}, the paper", **look)
    axes.set(yscale="log", ylabel="Seconds")
    plots.log_ticks(axes.yaxis)
    most = int(table["repeats"].max())
    repeats = "one repeat" if most == 1 else f"the fastest of {most} repeats"
    axes.set_title(f"Training and testing one network, {repeats}")
    axes.legend(loc="upper left")


def _plot_overhead(axes: plots.Axes, table: pd.DataFrame, beside_paper: bool) -> None:
    for place, name, label in (
        (plots.LDA, "overhead", "LDA-ELM"),
        (plots.THIRD, "one_pass_overhead", "in one pass with PI-ELM"),
    ):
        percent, half = table[f"{name}_percent"], table[f"{name}_interval"]
        look = {"ls": "-", "ms": 3, "label": label, **plots.style(place)}
        plots.plot_points(axes, table["fanout"], percent, half, **look)
    if beside_paper:
        look, papers = plots.style(plots.LDA), table["paper_overhead_percent"]
        plots.plot_papers(axes, table["fanout"], papers, "LDA-ELM, the paper", **look)
        bound = paper.LARGEST_OVERHEAD_PERCENT
        label = f"the paper: less than {bound:.0f} %"
        axes.axhline(bound, color=plots.ink(), lw=0.8, ls="--", label=label)
    axes.set_ylabel("LDA-ELM's extra time (%)")
    axes.margins(y=0.1)
