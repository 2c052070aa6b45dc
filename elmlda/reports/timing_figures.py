"""Table 2 as a figure: seconds, and what LDA-ELM takes beyond PI-ELM."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, LogLocator, MaxNLocator, NullLocator, StrMethodFormatter

from elmlda import paper
from elmlda.reports.figures import COLORS, LDA_STYLE, PI_STYLE

BOTH_STYLE: dict[str, Any] = {"color": COLORS[2], "marker": "^"}


def plot_timing(figure: Figure, table: pd.DataFrame, beside_paper: bool) -> None:
    """Over fan-out, above seconds, below LDA's extra time; `table` is `tabulate_timing`'s."""
    figure.set_size_inches(6.0, 5.4)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[3, 2])
    _plot_seconds(above, table, beside_paper)
    _plot_overhead(below, table, beside_paper)
    last = table["fanout"].max()
    below.set(xscale="log", xlabel="Fan-out (hidden units for each input)")
    below.xaxis.set_major_locator(FixedLocator([n for n in (1, 2, 3, 5, 10, 20) if n <= last]))
    below.xaxis.set_minor_locator(NullLocator())
    below.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))


def _plot_seconds(axes: Axes, table: pd.DataFrame, beside_paper: bool) -> None:
    for method, style, label, size in (  # they nearly coincide: the last ones leave the first visible
        ("pi", PI_STYLE, "PI-ELM", 6),
        ("lda", LDA_STYLE, "LDA-ELM", 4),
        ("both", BOTH_STYLE, "both in one pass", 2),
    ):
        axes.plot(table["fanout"], table[f"{method}_seconds"], ms=size, lw=1.2, label=label, **style)
    if beside_paper:
        _plot_papers(axes, table, "paper_pi_seconds", PI_STYLE, "PI-ELM, the paper")
        _plot_papers(axes, table, "paper_lda_seconds", LDA_STYLE, "LDA-ELM, the paper")
    axes.set(yscale="log", ylabel="Seconds")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.set_title(f"Training and testing one network, {_describe_repeats(table['repeats'])}")
    axes.legend(loc="upper left")


def _plot_overhead(axes: Axes, table: pd.DataFrame, beside_paper: bool) -> None:
    for name, style, label in (
        ("overhead", LDA_STYLE, "LDA-ELM"),
        ("one_pass_overhead", BOTH_STYLE, "in one pass with PI-ELM"),
    ):
        half = table[f"{name}_interval"].fillna(0)
        axes.errorbar(
            table["fanout"], table[f"{name}_percent"], half, ms=3, lw=1.2, capsize=2.5, label=label,
            **style,
        )  # fmt: skip
    if beside_paper:
        _plot_papers(axes, table, "paper_overhead_percent", LDA_STYLE, "LDA-ELM, the paper")
        ink = mpl.rcParams["text.color"]
        bound = paper.LARGEST_OVERHEAD_PERCENT
        axes.axhline(bound, color=ink, lw=0.8, ls="--", label=f"the paper: less than {bound:.0f} %")
    axes.set(ylabel="LDA-ELM's extra time (%)")
    axes.margins(y=0.1)
    axes.yaxis.set_major_locator(MaxNLocator(steps=[1, 2, 5, 10]))
    axes.legend(loc="best")


def _plot_papers(
    axes: Axes, table: pd.DataFrame, column: str, style: dict[str, Any], label: str
) -> None:
    """The paper's points: large, hollow."""
    axes.plot(table["fanout"], table[column], ls="none", ms=6.5, mfc="none", label=label, **style)


def _describe_repeats(repeats: pd.Series[int]) -> str:
    most = int(repeats.max())
    return "one repeat" if most == 1 else f"the fastest of {most} repeats"
