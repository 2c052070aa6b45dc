"""Plot a table on an empty matplotlib figure.

`render` replaces the colours by CSS variables, so that one SVG fits light and dark pages. matplotlib is
imported only when something is drawn.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from elmlda.core.evaluate import N_BINS
from elmlda.reports.load import METHODS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
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
WIDTH = 3.5
"""Inches: one column of a journal. Text of 9 points stays readable on a page of 390 pixels."""
FANOUT_LABEL, HIDDEN_LABEL = "Fan-out (hidden units per input)", "Hidden units"
RATE_LABEL = "Test error rate (%)"
MOST_MARKERS = 12
"""A line of more points has no markers, which would hide the paper's."""
MOST_NUMBERED_CLASSES = 12
"""A confusion matrix of more classes has no room for numbers in its cells."""


def plot_fig1(figure: Figure, table: pd.DataFrame, by_fanout: bool) -> None:
    """Plot both methods' error rates, and LDA-ELM's improvement over both readings of PI-ELM."""
    if figure.get_figwidth() > WIDTH:  # two columns
        figure.set_figheight(3.4)
        rates, gains = figure.subplots(1, 2)
    else:
        figure.set_figheight(5.4)
        rates, gains = figure.subplots(2, 1, height_ratios=[3, 2.2])
    for axes in (rates, gains):
        x = label_sizes(axes, table, by_fanout)
    for method, look in (("pi", PI), ("lda", LDA)):
        plot_line(rates, x, table, f"{method}_error_percent", METHODS[method], look)
        plot_paper(rates, x, table[f"paper_{method}_error_percent"], METHODS[method], look)
    use_log_scale(rates, "y", table[["pi_error_percent", "lda_error_percent"]])
    if rates.get_yscale() == "log":  # a wide interval may reach 0
        rates.set_ylim(bottom=0.85 * np.nanmin(table[["pi_error_percent", "lda_error_percent"]]))
    rates.set(ylabel=RATE_LABEL)
    for name, label, look in (
        ("improvement", "over PI-ELM", OTHER),
        ("constant_improvement", "over PI-ELM with a constant unit", TEMPERED | {"linestyle": "--"}),
    ):
        plot_line(gains, x, table, f"{name}_percent", label, look)
    plot_paper(gains, x, table["paper_improvement_percent"], "over PI-ELM", BLACK)
    gains.set(ylabel="LDA-ELM's improvement (%)")
    add_legends(rates, gains)


def plot_fig2(figure: Figure, table: pd.DataFrame) -> None:
    """Plot the error rate against the number of networks."""
    axes, x = figure.subplots(), table["size"]
    column = "error_percent" if table["error_percent"].notna().any() else "ensembles_percent"
    plot_line(axes, x, table, column, "LDA-ELM", LDA)
    plot_paper(axes, x, table["paper_error_percent"], "LDA-ELM", BLACK)
    use_whole_numbers(axes, x)
    axes.set(xlabel="Number of networks", ylabel=RATE_LABEL)
    add_legends(axes)


def plot_posteriors(figure: Figure, table: pd.DataFrame, by_fanout: bool) -> None:
    """Plot the quality of one network's posteriors (lower is better) and the temperature."""
    figure.set_size_inches(WIDTH, 4.2)
    table = table[table["networks"] == 1]
    titles = {
        "log_loss": "Log-loss", "brier": "Brier score", "calibration_error": "Calibration error",
        "temperature": "Temperature",
    }  # fmt: skip
    for axes, (name, title) in zip(figure.subplots(2, 2).flat, titles.items(), strict=True):
        x = label_sizes(axes, table, by_fanout)
        axes.set_xlabel("Fan-out" if by_fanout else HIDDEN_LABEL)
        plot_line(axes, x, table, name, "LDA-ELM", LDA)
        if name != "temperature":
            plot_line(axes, x, table, f"tempered_{name}", "with temperature", TEMPERED)
        axes.set(ylim=(0, None), title=title)
        axes.set_visible(table[name].notna().any())
    add_legend(figure)


def plot_reliability(figure: Figure, bins: pd.DataFrame) -> None:
    """Plot accuracy against confidence, and below it the number of samples in each bin."""
    figure.set_size_inches(WIDTH, 3.7)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1.2])
    above.plot([0, 1], [0, 1], ls="--", lw=0.8, color=INK, label="perfectly calibrated")
    kinds = bins.groupby("posteriors")
    width = 0.9 / N_BINS / len(kinds)
    for i, (kind, rows) in enumerate(kinds):
        look = (LDA, TEMPERED)[i]
        above.plot(rows["confidence"], rows["accuracy"], label=kind, **look)
        left = rows["bin"] / N_BINS + i * width
        below.bar(left, rows["samples"], width, color=look["color"], align="edge")
    above.set(ylabel="Share of right answers", ylim=(0, 1.02))
    below.set(xlabel="Probability of the predicted class", ylabel="Predictions", xlim=(0, 1))
    use_log_scale(below, "y", bins["samples"])
    add_legends(above)


def plot_confusion(figure: Figure, errors: pd.DataFrame) -> None:
    """Plot the mean errors of one network, true classes in rows and predicted ones in columns.

    The opacity of one colour stands for the number, because a page may be light or dark.
    """
    from matplotlib.patches import Rectangle

    figure.set_size_inches(WIDTH, 3.5)
    axes, bar = figure.subplots(1, 2, width_ratios=[14, 1])
    values, n = errors.to_numpy(float), len(errors)
    largest = max(np.nanmax(values, initial=0.0), 1e-9)

    def fill(where: Axes, x: float, y: float, height: float, value: float) -> None:
        alpha = 0.7 * value / largest
        where.add_patch(Rectangle((x, y), 1, height, facecolor=RED, lw=0, alpha=alpha))

    for row, column in zip(*np.nonzero(np.nan_to_num(values)), strict=True):
        value = values[row, column]
        fill(axes, column - 0.5, row - 0.5, 1, value)
        if n <= MOST_NUMBERED_CLASSES and value >= 0.05:
            text = f"{value:.0f}" if value >= 0.95 else f"{value:.1f}".lstrip("0")
            axes.text(column, row, text, ha="center", va="center")
    axes.set(xlim=(-0.5, n - 0.5), ylim=(n - 0.5, -0.5), xlabel="Predicted class", ylabel="True class")
    rotation = 90 if max(map(len, errors.columns)) > 2 else 0
    axes.set_xticks(range(n), errors.columns, rotation=rotation)
    axes.set_yticks(range(n), errors.columns)
    for value in np.linspace(0, largest, 50):
        fill(bar, 0, value, largest / 49, value)
    bar.set(xlim=(0, 1), ylim=(0, largest), xticks=[], ylabel="Errors of one network")
    bar.yaxis.set(label_position="right", ticks_position="right")
    for panel in (axes, bar):
        panel.grid(visible=False)


def plot_mistakes(figure: Figure, mistakes: pd.DataFrame) -> None:
    """Plot test images with their true class and the most frequent wrong answer."""
    n_columns = 5
    n_rows = -(-len(mistakes) // n_columns)
    figure.set_size_inches(WIDTH, 0.85 * n_rows)
    panels = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
    for axes in panels:
        axes.axis("off")
    for axes, row in zip(panels, mistakes.itertuples(), strict=False):
        axes.imshow(row.image, cmap="gray_r", interpolation="none")
        axes.set_title(f"{row.true} → {row.predicted}", pad=2)


def plot_compare(figure: Figure, table: pd.DataFrame) -> None:
    """Plot PI − LDA with its intervals on each data set, side by side at each fan-out."""
    figure.set_size_inches(WIDTH, 4.2)
    axes = figure.subplots()
    table = table[table["ridge"] == table.groupby("dataset")["ridge"].transform("first")]
    fanouts, groups = sorted(set(table["fanout"])), table.groupby("dataset", sort=False)
    axes.axhline(0, color=INK, lw=0.8)
    for i, (name, group) in enumerate(groups):
        look = LOOKS[i % len(LOOKS)] | {"linestyle": "", "capsize": 2}
        look |= HOLLOW if i >= len(LOOKS) else {}
        x = group["fanout"].map(fanouts.index) + 0.7 / len(groups) * (i - (len(groups) - 1) / 2)
        axes.errorbar(x, group["difference"], group["difference_interval"], label=name, **look)
    ticks = range(0, len(fanouts), math.ceil(len(fanouts) / 8))  # more labels would overprint
    axes.set_xticks(ticks, [f"{fanouts[i]:.3g}" for i in ticks])
    axes.grid(visible=False, axis="x")
    axes.set_yscale("symlog", linthresh=1)
    axes.set_yticks([-10, -3, -1, 0, 1, 3, 10], ["−10", "−3", "−1", "0", "1", "3", "10"])
    axes.set(xlabel="Fan-out", ylabel="PI − LDA (points)")
    add_legend(figure)


# Axes, intervals, legends


def label_sizes(axes: Axes, table: pd.DataFrame, by_fanout: bool) -> pd.Series[float]:
    """Label the x axis and return the network sizes to plot at; hidden units get a logarithmic axis."""
    axes.set_xlabel(FANOUT_LABEL if by_fanout else HIDDEN_LABEL)
    sizes = table["fanout" if by_fanout else "n_hidden"].astype(float)
    if by_fanout:
        use_whole_numbers(axes, sizes)
    else:
        use_log_scale(axes, "x", sizes)
        axes.set_xticks(sizes[:: math.ceil(len(sizes) / 4)])
    return sizes


def use_whole_numbers(axes: Axes, values: pd.Series[float]) -> None:
    """Set ticks of the x axis at whole numbers, among them 1."""
    largest = math.ceil(values.max())
    step = next((step for step in (1, 5, 20, 100) if largest <= 6 * step), 500)
    axes.set_xticks(sorted({1, *range(step, largest + 1, step)}))


def use_log_scale(axes: Axes, name: str, values: Any) -> None:
    """Make the x or y axis logarithmic for values that differ much, with plain numbers as labels."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    values = np.asarray(values, float)
    positive = values[values > 0]
    ratio = positive.max() / positive.min() if len(positive) else 1
    if ratio < 2:
        return
    steps = [(1, 2, 3, 4, 5, 6, 7, 8), (1, 2, 3, 5), (1,)][np.searchsorted([4, 60], ratio)]
    axes.set(**{f"{name}scale": "log"})
    axis: Axis = getattr(axes, f"{name}axis")
    axis.set_major_locator(LogLocator(subs=steps, numticks=20))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axis.set_minor_formatter(NullFormatter())


def plot_line(
    axes: Axes, x: Any, table: pd.DataFrame, column: str, label: str, look: dict[str, Any]
) -> None:
    """Plot a column that has any values as a line, in a band that is its interval."""
    y, half = table[column], table[f"{re.sub('(_error)?_percent$', '', column)}_interval"]
    if y.notna().any():
        size = 0 if len(y) > MOST_MARKERS else 3
        axes.plot(x, y, label=label, **{**LINE, **look, "markersize": size})
        axes.fill_between(x, y - half, y + half, color=look["color"], alpha=0.25, lw=0)


def plot_paper(axes: Axes, x: Any, y: pd.Series[float], name: str, look: dict[str, Any]) -> None:
    """Plot the paper's numbers as large, hollow points, if there are any."""
    if y.notna().any():
        look = {**look, **HOLLOW, "linestyle": "", "markersize": 5, "markeredgewidth": 0.8}
        axes.plot(x, y, label=f"{name}, the paper", **look)


def add_legends(*panels: Axes) -> None:
    """Add a legend to each panel that shows anything."""
    for axes in panels:
        if axes.get_legend_handles_labels()[0]:
            axes.legend()


def add_legend(figure: Figure) -> None:
    """Add one legend below all panels."""
    entries = {
        label: handle
        for axes in figure.axes
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    figure.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=2)
