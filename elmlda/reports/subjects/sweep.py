"""Table 1 and Fig. 1: error rate over fan-out, beside the paper's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from elmlda import paper
from elmlda.core.arrays import IntArray
from elmlda.experiments.sweep import SweepRecord
from elmlda.reports import plots
from elmlda.reports.estimates import (
    IMPROVEMENT_ROUNDING,
    LEVEL,
    NAN,
    RATE_ROUNDING,
    estimate_mean,
    improvement_percent,
    jackknife,
    normal_quantile,
    sample_mean,
)
from elmlda.reports.model import Column, Drawing, Section, Table, make_table
from elmlda.reports.rates import METHOD_NAMES, METHOD_PLACES, PRINTED, pivot_by_repeat
from elmlda.reports.records import RunRecords


def tabulate_sweep(records: Sequence[SweepRecord]) -> pd.DataFrame:
    """Table 1: a row for each hidden size, error rates in per cent, the paper's beside ours.

    Columns
    -------
    …_interval : half the width of the 95 % interval of the mean, empty for a single repeat
    …_sd : standard deviation over repeats
    pi_constant_… : PI-ELM with a constant hidden unit, which Eq. (5) does not have
    improvement_percent : 100·(PI - LDA)/PI of the means, as the paper computes it
    constant_improvement_… : the same over PI-ELM with a constant unit
    difference : PI - LDA in percentage points, mean of the repeats' own differences
    wilcoxon_p : two-sided p of Wilcoxon's signed-rank test of those differences
    paper_… : the paper's, empty at sizes that it does not have
    …_distance : ours minus the paper's in standard errors of that difference. The paper gives no
        spread: its 200 repeats are taken to vary like ours, and its rounding counts.
    """
    frame = pd.DataFrame([vars(record) for record in records])
    return pd.DataFrame([_sweep_row(rows) for _, rows in frame.groupby("n_hidden")])


def _sweep_row(rows: pd.DataFrame) -> dict[str, Any]:
    fanout = rows["fanout"].iloc[0]
    rates = {m: (100 * rows[f"{m}_errors"] / rows["n_test"]).to_numpy() for m in METHOD_NAMES}
    numbers = {
        m: (f"{m}_error_percent", sample_mean(rates[m]), PRINTED[m].get(fanout, NAN), RATE_ROUNDING)
        for m in rates
    }
    for name, pi in (("improvement", "pi"), ("constant_improvement", "pi_constant")):
        both = np.column_stack([rates[pi], rates["lda"]])
        sample = jackknife(improvement_percent, both[:, None]).combine(np.ones(1))
        printed = paper.IMPROVEMENT_PERCENT.get(fanout, NAN)
        numbers[name] = f"{name}_percent", sample, printed, IMPROVEMENT_ROUNDING
    row = {"fanout": fanout, "n_hidden": rows["n_hidden"].iloc[0], "repeats": len(rows)}
    for name, (column, sample, _, _) in numbers.items():
        row |= sample.estimate().columns(column, f"{name}_interval")
        row |= {f"{name}_sd": pd.Series(rates[name]).std()} if name in rates else {}
    difference = rates["pi"] - rates["lda"]
    row |= estimate_mean(difference).columns("difference", "difference_interval")
    row["wilcoxon_p"] = _signed_rank_p((rows["pi_errors"] - rows["lda_errors"]).to_numpy())
    for name in ("pi", "lda", "improvement"):
        column, _, printed, _ = numbers[name]
        row[f"paper_{column}"] = printed
    for name, (_, sample, printed, rounding) in numbers.items():
        row[f"{name}_distance"] = sample.distance(printed, paper.REPEATS, rounding)
    return row


def _signed_rank_p(differences: IntArray) -> float:
    """Of counts, whose ties are exact; NaN if all differences are zero, or there is only one."""
    if len(differences) < 2 or not differences.any():
        return NAN
    # Zeros don't count in this test; with them scipy would leave the exact distribution.
    return float(stats.wilcoxon(differences[differences != 0]).pvalue)


def tabulate_as_printed(table: pd.DataFrame, rows: dict[str, str]) -> pd.DataFrame:
    """A table in the paper's layout: its thirteen fan-outs as columns, ours and the paper's as rows.

    Parameters
    ----------
    table : `tabulate_sweep`'s, or `tabulate_timing`'s of `elmlda.reports.subjects.timing`
    rows : name of the row -> column of the table
    """
    by_fanout = table.set_index("fanout").reindex(list(paper.FANOUTS))
    printed = by_fanout[list(rows.values())].T
    printed.index = pd.Index(list(rows), name="fan-out")
    return printed.reset_index()


AS_PRINTED = {
    "PI-ELM": "pi_error_percent",
    "PI-ELM, the paper": "paper_pi_error_percent",
    "PI-ELM with a constant unit": "pi_constant_error_percent",
    "LDA-ELM": "lda_error_percent",
    "LDA-ELM, the paper": "paper_lda_error_percent",
    "% improvement": "improvement_percent",
    "% improvement, the paper": "paper_improvement_percent",
    "% improvement over PI-ELM with a constant unit": "constant_improvement_percent",
}
"""Rows of Table 1 in the paper's layout -> columns of ours."""
SPREAD_FANOUTS = (1, 2, 5, 10, 20)
RATE_NAMES = {"pi": "PI-ELM", "lda": "LDA-ELM"}
FANOUT, REPEATS = Column("Fan-out", "fanout", ".3g"), Column("Repeats", "repeats", ".0f", extra=True)
COLUMNS = [
    FANOUT,
    Column("Hidden units", "n_hidden", ",.0f", extra=True),
    REPEATS,
    Column("PI-ELM, %", "pi_error_percent", ".2f", "pi_interval"),
    Column("paper", "paper_pi_error_percent", ".2f"),
    Column("z", "pi_distance", "+.1f", extra=True),
    Column("LDA-ELM, %", "lda_error_percent", ".2f", "lda_interval"),
    Column("paper", "paper_lda_error_percent", ".2f"),
    Column("z", "lda_distance", "+.1f", extra=True),
    Column("better by, %", "improvement_percent", ".1f", "improvement_interval"),
    Column("paper", "paper_improvement_percent", ".1f"),
    Column("z", "improvement_distance", "+.1f", extra=True),
    Column("PI − LDA, points", "difference", ".3f", "difference_interval", extra=True),
    Column("Wilcoxon p", "wilcoxon_p", ".1g", extra=True),
]
CONSTANT_COLUMNS = [
    FANOUT,
    REPEATS,
    Column("PI-ELM, %", "pi_constant_error_percent", ".2f", "pi_constant_interval"),
    Column("paper", "paper_pi_error_percent", ".2f"),
    Column("z", "pi_constant_distance", "+.1f"),
    Column("better by, %", "constant_improvement_percent", ".1f", "constant_improvement_interval"),
    Column("paper", "paper_improvement_percent", ".1f"),
    Column("z", "constant_improvement_distance", "+.1f", extra=True),
]
NOTE = (
    "± is half the 95 % interval of the mean. Better by: 100·(PI − LDA)/PI of the means. "
    "PI − LDA: mean of the repeats' own differences, with Wilcoxon's signed-rank test."
)
PAPER_NOTE = (
    " z: ours minus the paper's in standard errors of that difference; the paper gives no spread, so "
    "its 200 repeats are taken to vary like ours."
)
CONSTANT_NOTE = (
    "Eq. (16) gives LDA-ELM a constant; Eq. (5) gives PI-ELM none. Here PI-ELM has one, a hidden unit "
    "that is always 1. LDA-ELM's rates are those of the table above."
)


def show_table(table: pd.DataFrame, beside_paper: bool) -> Table:
    """For display."""
    return make_table("Error rates in per cent, means over repeats", table, COLUMNS, beside_paper)


def make_sections(run: RunRecords, table: pd.DataFrame) -> Iterator[Section]:
    """Rates and figures, beside the paper's if they can be compared."""
    beside = run.is_papers_kind
    yield Section(
        "table1",
        "Table 1 and Fig. 1: error rate over fan-out",
        figures=list(_draw(run.sweep, table, beside)),
        tables=[show_table(table, beside)],
        note=NOTE + (PAPER_NOTE if beside else ""),
    )
    if beside:
        caption = "Error rates in per cent, PI-ELM with a constant hidden unit"
        shown = make_table(caption, table, CONSTANT_COLUMNS)
        title = "Table 1 with a constant unit in PI-ELM"
        yield Section("constant", title, tables=[shown], note=CONSTANT_NOTE)


def _draw(records: Sequence[SweepRecord], table: pd.DataFrame, beside: bool) -> Iterator[Drawing]:
    papers = " Hollow markers are the paper's." if beside else ""
    yield Drawing(
        "fig1",
        "Test error rate over fan-out for PI-ELM and LDA-ELM, and their difference",
        f"Below, each network's own difference, averaged: above zero LDA-ELM is better.{papers}",
        partial(plot_sweep, table=table, beside_paper=beside),
    )
    yield Drawing(
        "improvement",
        "What LDA-ELM's error rate is lower by in per cent, over fan-out",
        f"100·(PI − LDA)/PI of the mean rates, as the paper computes it.{papers}",
        partial(plot_improvement, table=table, beside_paper=beside),
    )
    if beside and table["pi_distance"].notna().any():
        yield Drawing(
            "distance",
            "z of every rate of Table 1 over fan-out, for both readings of PI-ELM and for LDA-ELM",
            "Chance alone puts 19 of 20 into the shaded band. Fan-outs of a repeat share hidden units "
            "and move together.",
            partial(plot_distance, table=table),
        )
    tables = pivot_by_repeat(records)
    fanouts = [fanout for fanout in SPREAD_FANOUTS if fanout in tables["pi"]]
    if fanouts:
        yield Drawing(
            "spread",
            f"Error rates of every repeat at fan-outs {', '.join(map(str, fanouts))}",
            "A repeat's two points have the same place from left to right.",
            partial(plot_spread, tables=tables, fanouts=fanouts),
        )


def plot_sweep(figure: plots.Figure, table: pd.DataFrame, beside_paper: bool) -> None:
    """Fig. 1: error rate over fan-out, and below it the paired difference of the methods."""
    figure.set_size_inches(plots.WIDTH, 4.8)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[3, 2])
    fanouts = table["fanout"]
    plot_rates(above, fanouts, table, beside_paper)
    above.set(ylabel=plots.RATE_LABEL, ylim=(0, None))
    means = plots.name_means(table["repeats"], table["lda_interval"])
    above.set_title(f"Error rate over fan-out, {means}")
    above.legend(loc="upper right")
    papers = None
    if beside_paper:
        papers = table["paper_pi_error_percent"] - table["paper_lda_error_percent"]
    plot_difference(below, fanouts, table, papers)
    plots.integer_axis(below.xaxis)


def plot_rates(
    axes: plots.Axes, x: pd.Series[Any], table: pd.DataFrame, beside_paper: bool = False
) -> None:
    """A curve for each method, with its interval."""
    for method, name in RATE_NAMES.items():
        look, rates = plots.style(METHOD_PLACES[method]), table[f"{method}_error_percent"]
        plots.plot_band(axes, x, rates, table[f"{method}_interval"], label=name, **look)
        if beside_paper:
            papers = table[f"paper_{method}_error_percent"]
            plots.plot_papers(axes, x, papers, f"{name}, the paper", **look)


def plot_difference(
    axes: plots.Axes, x: pd.Series[Any], table: pd.DataFrame, papers: pd.Series[float] | None = None
) -> None:
    """PI - LDA within each network, with its interval."""
    look = plots.style(plots.THIRD)
    plots.mark_zero(axes)
    plots.plot_points(axes, x, table["difference"], table["difference_interval"], **look)
    if papers is not None:
        plots.plot_papers(axes, x, papers, "", **look)
    axes.set_ylabel("PI − LDA (points)")


def plot_improvement(figure: plots.Figure, table: pd.DataFrame, beside_paper: bool) -> None:
    """What LDA-ELM's error rate is lower by, over fan-out."""
    axes = figure.subplots()
    plots.integer_axis(axes.xaxis)
    plots.mark_zero(axes)
    half, look = table["improvement_interval"], plots.style(plots.LDA)
    plots.plot_points(axes, table["fanout"], table["improvement_percent"], half, label="elmlda", **look)
    if beside_paper:
        look, papers = plots.style(plots.PI), table["paper_improvement_percent"]
        plots.plot_papers(axes, table["fanout"], papers, "the paper", **look)
        plots.legend_below(figure)
    axes.set_ylabel("LDA-ELM better by (%)")
    axes.set_title(f"Improvement over PI-ELM, {plots.name_means(table['repeats'], half)}")


def plot_distance(figure: plots.Figure, table: pd.DataFrame) -> None:
    """Distance (z) of every rate of Table 1, both readings of PI-ELM.

    At least one rate needs a spread: two repeats at a printed fan-out.
    """
    axes = figure.subplots()
    rows = table[table["fanout"].isin(paper.FANOUTS)]
    limit = normal_quantile(LEVEL)
    axes.axhspan(-limit, limit, color=plots.ink(), alpha=0.1, lw=0, label=f"within ± {limit:.2f}")
    plots.mark_zero(axes)
    for method, label, shift, look in (
        ("pi", "PI-ELM, Eq. (5)", -0.22, plots.style(plots.PI)),
        ("pi_constant", "PI-ELM with a constant unit", 0, {**plots.style(plots.PI), "mfc": "none"}),
        ("lda", "LDA-ELM", 0.22, plots.style(plots.LDA)),
    ):
        places, z = rows["fanout"] + shift, rows[f"{method}_distance"]
        axes.vlines(places, 0, z, color=look["color"], lw=0.8, alpha=0.6)
        axes.plot(places, z, ls="", ms=5, label=label, **look)
    plots.place_ticks(axes.xaxis, paper.FANOUTS)
    axes.grid(visible=False, axis="x")
    distances = rows[[f"{method}_distance" for method in METHOD_NAMES]].to_numpy(float)
    reach = max(1.35 * limit, 1.08 * float(np.nanmax(np.abs(distances))))
    axes.set(xlabel=plots.FANOUT_LABEL, ylabel="z: ours − the paper's, in SE", ylim=(-reach, reach))
    ours = plots.count_repeats(rows["repeats"]).removeprefix("mean of ")
    axes.set_title(f"Distance from Table 1, {ours} against the paper's {paper.REPEATS}")
    plots.legend_below(figure)


def plot_spread(
    figure: plots.Figure, tables: Mapping[str, pd.DataFrame], fanouts: Sequence[int]
) -> None:
    """Every repeat's error rates, a panel for each fan-out; `tables` are `pivot_by_repeat`'s."""
    all_axes = figure.subplots(1, len(fanouts), squeeze=False)[0]
    for axes, fanout in zip(all_axes, fanouts, strict=True):
        for place, method in enumerate(RATE_NAMES):
            rates = tables[method][fanout].dropna()
            # The same shift for both methods of a repeat, so that pairs can be found.
            shift = np.random.default_rng(0).uniform(-0.22, 0.22, len(rates))
            look = plots.style(METHOD_PLACES[method])
            axes.scatter(place + shift, rates, s=7, alpha=0.6, linewidths=0, rasterized=True, **look)
            axes.hlines(rates.mean(), place - 0.34, place + 0.34, color=plots.ink())
        axes.set_xticks([0, 1], ["PI", "LDA"])
        axes.set_xlim(-0.5, 1.5)
        axes.grid(visible=False, axis="x")
        axes.set_title(f"fan-out {fanout:g}")
    all_axes[0].set_ylabel(plots.RATE_LABEL)
    n = tables["pi"][fanouts].count().max()
    figure.suptitle(f"Each of {n} repeats, and the mean" if n > 1 else "One repeat")
