"""Plot a table on an empty matplotlib figure.

`render` replaces the colours by CSS variables, so that one SVG fits light and dark pages. matplotlib is
imported only when something is drawn.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from elmlda.core.evaluate import N_BINS
from elmlda.reports.load import METHODS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The palette of Okabe and Ito, which colour-blind readers can tell apart; markers differ too.
INK, GRID, PAPER, BLUE, RED, GREEN, PINK, YELLOW = (
    "#1b1b1b", "#d9d9d9", "#ffffff", "#0072b2", "#d55e00", "#009e73", "#b8578a", "#b87a00",
)  # fmt: skip
DARK = {
    INK: "#e6e6e6", GRID: "#3a3f47", PAPER: "#16181c", BLUE: "#56b4e9", RED: "#e8803a",
    GREEN: "#2fc49b", PINK: "#e3a1c6", YELLOW: "#f0c04a",
}  # fmt: skip
"""Colour -> its replacement on a dark page."""
LOOKS: list[dict[str, Any]] = [
    {"color": color, "marker": marker}
    for color, marker in zip((BLUE, RED, GREEN, PINK, YELLOW, INK), "osD^vP", strict=True)
]
LDA, PI, OTHER, TEMPERED, _, BLACK = LOOKS
HOLLOW, LINE = {"markerfacecolor": "none"}, {"linestyle": "-"}
WIDTH = 5.2
"""Inches. Text is as large as the page's small print at 1,280 pixels, and readable at 390."""
FANOUT_LABEL, HIDDEN_LABEL = "Fan-out (hidden units per input)", "Hidden units"
RATE_LABEL = "Test error rate (%)"


def plot_fig1(figure: Figure, table: pd.DataFrame, by_fanout: bool) -> None:
    """Plot error rates, and below them the difference between the methods on the same networks."""
    above, below = add_panels(figure, 5.0, [3, 2])
    x = label_sizes(below, table, by_fanout)
    for method, look in (("pi", PI), ("lda", LDA)):
        plot_estimates(above, x, table, f"{method}_error_percent", METHODS[method], look | LINE)
        plot_paper(above, x, table[f"paper_{method}_error_percent"], METHODS[method], look)
    above.set(ylabel=RATE_LABEL, ylim=(0, None), title="Mean error rates")
    plot_estimates(below, x, table, "difference", "PI − LDA", OTHER)
    printed = table["paper_pi_error_percent"] - table["paper_lda_error_percent"]
    plot_paper(below, x, printed, "PI − LDA", OTHER)
    below.axhline(0, color=INK, lw=0.8)
    below.set_ylabel("PI − LDA (points)")
    add_legend(figure, n_columns=3)


def plot_fig2(figure: Figure, table: pd.DataFrame) -> None:
    """Plot the error rate against the number of networks."""
    axes, x = figure.subplots(), table["size"]
    plot_estimates(axes, x, table, "error_percent", "random subsets of the networks", LDA)
    plot_estimates(axes, x, table, "ensembles_percent", "separate ensembles", OTHER)
    label = "separate ensembles, tempered posteriors"
    plot_estimates(axes, x, table, "tempered_percent", label, TEMPERED)
    plot_paper(axes, x, table["paper_error_percent"], "ensembles", BLACK)
    use_whole_numbers(axes)
    axes.set(xlabel="Number of networks", ylabel=RATE_LABEL, title="LDA-ELM, averaged posteriors")
    add_legend(figure, n_columns=1)


def plot_times(figure: Figure, table: pd.DataFrame) -> None:
    """Plot seconds against fan-out, and below them LDA-ELM's overhead."""
    above, below = add_panels(figure, 5.2, [3, 2])
    x = table["fanout"]
    clock = "cpu" if table["pi_cpu_seconds"].notna().any() else "elapsed"
    for method, look in (("pi", PI), ("lda", LDA)):
        above.plot(x, table[f"{method}_{clock}_seconds"], label=METHODS[method], **look)
        plot_paper(above, x, table[f"paper_{method}_seconds"], METHODS[method], look)
    above.plot(x, table[f"both_{clock}_seconds"], label="both in one pass", **OTHER)
    above.set(yscale="log", ylabel="Seconds", title="Training and testing one network")
    above.yaxis.set_major_formatter("{x:g}")
    plot_estimates(below, x - 0.15, table, "overhead_percent", "LDA overhead, processor time", TEMPERED)
    label, look = "LDA overhead, elapsed time", TEMPERED | HOLLOW
    plot_estimates(below, x + 0.15, table, "elapsed_overhead_percent", label, look)
    plot_paper(below, x, table["paper_overhead_percent"], "LDA overhead", BLACK)
    below.axhline(0, color=INK, lw=0.8)
    below.set(ylabel="LDA overhead (%)", xlabel=FANOUT_LABEL)
    use_whole_numbers(below)
    add_legend(figure)


def plot_posteriors(figure: Figure, table: pd.DataFrame, by_fanout: bool) -> None:
    """Plot the quality of one network's posteriors (lower is better) and the temperature."""
    figure.set_size_inches(WIDTH, 4.8)
    titles = {
        "log_loss": "Log-loss", "brier": "Brier score", "calibration_error": "Calibration error",
        "temperature": "Temperature",
    }  # fmt: skip
    for axes, (name, title) in zip(figure.subplots(2, 2).flat, titles.items(), strict=True):
        x = label_sizes(axes, table, by_fanout)
        plot_estimates(axes, x, table, name, "by Eq. (14)", LDA | LINE)
        if name != "temperature":
            plot_estimates(axes, x, table, f"tempered_{name}", "tempered", TEMPERED | LINE)
        axes.set(ylim=(0, None), title=title)
        axes.set_visible(table[name].notna().any())
    add_legend(figure)


def plot_reliability(figure: Figure, bins: pd.DataFrame) -> None:
    """Plot accuracy against confidence, and below it the number of samples in each bin."""
    above, below = add_panels(figure, 4.6, [3, 1.3])
    above.plot([0, 1], [0, 1], ls="--", lw=0.8, color=INK)
    kinds = bins.groupby("posteriors")
    width = 0.9 / N_BINS / len(kinds)
    for i, (kind, rows) in enumerate(kinds):
        look = (LDA, TEMPERED)[i]
        above.plot(rows["confidence"], rows["accuracy"], label=kind, **look)
        left = rows["bin"] / N_BINS + i * width
        below.bar(left, rows["samples"], width, color=look["color"], align="edge")
    above.set(ylabel="Accuracy", ylim=(0, 1.02), title=f"LDA-ELM's posteriors in {N_BINS} bins")
    below.set(xlabel="Posterior of the predicted class", ylabel="Samples", yscale="log", xlim=(0, 1))
    below.yaxis.set_major_formatter("{x:g}")
    add_legend(figure)


def plot_differences(figure: Figure, table: pd.DataFrame) -> None:
    """Plot the difference of each run from the reference, a panel for each method."""
    rows = table.dropna(subset=["difference"])
    panels = figure.subplots(1, 2, sharey=True)
    for axes, method in zip(panels, ("pi", "lda"), strict=True):
        _plot_by_fanout(axes, rows[rows["method"] == method], "run")
        axes.set(xlabel="Fan-out", title=METHODS[method])
    panels[0].set_ylabel(f"Difference from {rows['reference'].iloc[0]} (points)")
    add_legend(figure, n_columns=3)


def plot_compare(figure: Figure, table: pd.DataFrame) -> None:
    """Plot PI − LDA on each dataset with its first ridge."""
    axes = figure.subplots()
    first_ridges = table.groupby("dataset")["ridge"].transform("first")
    _plot_by_fanout(axes, table[table["ridge"] == first_ridges], "dataset")
    axes.set_yscale("symlog", linthresh=1)
    axes.set_yticks([-10, -3, -1, 0, 1, 3, 10], ["−10", "−3", "−1", "0", "1", "3", "10"])
    axes.set(xlabel="Fan-out", ylabel="PI − LDA (points)", title="Above zero, LDA-ELM is better")
    add_legend(figure, n_columns=4)


def _plot_by_fanout(axes: Axes, rows: pd.DataFrame, column: str) -> None:
    """Plot differences with their intervals, the values of the column side by side at each fan-out."""
    fanouts, groups = sorted(set(rows["fanout"])), rows.groupby(column, sort=False)
    axes.axhline(0, color=INK, lw=0.8)
    for i, (name, group) in enumerate(groups):
        look = LOOKS[i % len(LOOKS)] | (HOLLOW if i >= len(LOOKS) else {})
        x = group["fanout"].map(fanouts.index) + 0.7 / len(groups) * (i - (len(groups) - 1) / 2)
        plot_estimates(axes, x, group, "difference", name, look)
    axes.set_xticks(range(len(fanouts)), [f"{fanout:.3g}" for fanout in fanouts])
    axes.grid(visible=False, axis="x")


# Axes, intervals, legends


def add_panels(figure: Figure, height: float, ratios: list[float]) -> tuple[Axes, Axes]:
    """Add two panels, one above the other, with a common x axis."""
    figure.set_size_inches(WIDTH, height)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=ratios)
    return above, below


def label_sizes(axes: Axes, table: pd.DataFrame, by_fanout: bool) -> pd.Series[float]:
    """Label the x axis and return the network sizes to plot at."""
    use_whole_numbers(axes)
    axes.set_xlabel(FANOUT_LABEL if by_fanout else HIDDEN_LABEL)
    return table["fanout" if by_fanout else "n_hidden"].astype(float)


def use_whole_numbers(axes: Axes) -> None:
    """Set ticks at whole numbers."""
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))


def plot_estimates(
    axes: Axes, x: Any, table: pd.DataFrame, column: str, label: Any, look: dict[str, Any]
) -> None:
    """Plot a column that has any values as points, with error bars from its interval."""
    y, name = table[column], re.sub("(_error)?_percent$", "", column)
    if y.notna().any():
        half = table.get(f"{name}_interval")
        sides = half if half is not None else [y - table[f"{name}_low"], table[f"{name}_high"] - y]
        axes.plot(x, y, label=label, **{"linestyle": "", **look})
        axes.errorbar(x, y, np.nan_to_num(sides), fmt="none", color=look["color"], capsize=2.5)


def plot_paper(axes: Axes, x: Any, y: pd.Series[float], name: str, look: dict[str, Any]) -> None:
    """Plot the paper's numbers as large, hollow points, if there are any."""
    if y.notna().any():
        look = {**look, **HOLLOW, "linestyle": "", "markersize": 6.5, "zorder": 3}
        axes.plot(x, y, label=f"{name}, the paper", **look)


def add_legend(figure: Figure, n_columns: int = 2) -> None:
    """Add one legend below all panels."""
    entries = {
        label: handle
        for axes in figure.axes
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        entries.values(), entries.keys(), loc="outside lower center", ncols=n_columns, columnspacing=1.2
    )
