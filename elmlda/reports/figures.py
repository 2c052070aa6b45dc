"""Figures: functions that draw a DataFrame's rows on an empty matplotlib figure, in one style.

A figure is one SVG for light and dark: its colours become CSS variables, see `render`. matplotlib is
imported only when something is drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from elmlda.reports.load import METHODS, split

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, told apart by colour-blind readers; markers differ too.
INK, GRID, PAPER, BLUE, RED, GREEN, PINK, YELLOW = (
    "#1b1b1b", "#d9d9d9", "#ffffff", "#0072b2", "#d55e00", "#009e73", "#b8578a", "#b87a00",
)  # fmt: skip
DARK = {
    INK: "#e6e6e6", GRID: "#3a3f47", PAPER: "#16181c", BLUE: "#56b4e9", RED: "#e8803a",
    GREEN: "#2fc49b", PINK: "#e3a1c6", YELLOW: "#f0c04a",
}  # fmt: skip
"""Colour -> what a dark page has in its place."""
LOOKS: dict[str, dict[str, Any]] = {
    "lda": {"color": BLUE, "marker": "o"},
    "pi": {"color": RED, "marker": "s"},
    "pi_constant": {"color": RED, "marker": "s", "mfc": "none"},
    "other": {"color": GREEN, "marker": "D"},
    "tempered": {"color": PINK, "marker": "^"},
    "ink": {"color": INK, "marker": "D"},
}
CURVES = ((BLUE, "o"), (RED, "s"), (GREEN, "D"), (PINK, "^"), (YELLOW, "v"), (INK, "P"))
WIDTH = 5.2
"""Inches: letters are as large as the page's small print at 1280 pixels, and readable at 390."""
FANOUT_LABEL, HIDDEN_LABEL = "Fan-out (hidden units for each input)", "Hidden units"
RATE_LABEL = "Test error rate (%)"
PAPERS = ", the paper"


def plot_fig1(figure: Figure, table: pd.DataFrame, beside_paper: bool) -> None:
    """Fig. 1: error rates, and below them the difference of the methods on the same networks."""
    figure.set_size_inches(WIDTH, 5.0)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[3, 2])
    x = place_sizes(below, table, beside_paper)
    n, is_wide = _name_range(table["repeats"]), table["pi_interval"].notna().any()
    title = f"Mean error rates, {n} networks{', 95 % intervals' if is_wide else ''}"
    for method in ("pi", "lda"):
        rates, look = table[f"{method}_error_percent"], LOOKS[method]
        plot_band(above, x, rates, table[f"{method}_interval"], label=METHODS[method], **look)
        mark_paper(above, x, table[f"paper_{method}_error_percent"], METHODS[method], look)
    above.set(ylabel=RATE_LABEL, ylim=(0, None), title=title)
    below.axhline(0, color=INK, lw=0.8)
    look = LOOKS["other"]
    points, half = table["difference"], table["difference_interval"]
    plot_points(below, x, points, half, label="PI − LDA", **look)
    papers = table["paper_pi_error_percent"] - table["paper_lda_error_percent"]
    mark_paper(below, x, papers, "PI − LDA", look)
    below.set_ylabel("PI − LDA (points)")
    legend_below(figure, n_columns=3)


def plot_improvement(figure: Figure, table: pd.DataFrame) -> None:
    """What LDA-ELM's error rate is lower by, over both readings of PI-ELM."""
    axes = figure.subplots()
    x = place_sizes(axes, table, by_fanout=True)
    axes.axhline(0, color=INK, lw=0.8)
    names = {"improvement": ("pi", -0.2), "constant_improvement": ("pi_constant", 0.2)}
    for name, (method, shift) in names.items():
        look = {"label": f"over {METHODS[method]}", **LOOKS[method]}
        percent, half = table[f"{name}_percent"], table[f"{name}_interval"]
        plot_points(axes, x + shift, percent, half, **look)
    mark_paper(axes, x, table["paper_improvement_percent"], "", LOOKS["ink"])
    axes.set(ylabel="LDA-ELM better by (%)", title="100·(PI − LDA)/PI of the mean rates")
    legend_below(figure)


def plot_fig2(figure: Figure, table: pd.DataFrame) -> None:
    """Fig. 2: error rate over the number of networks."""
    axes = figure.subplots()
    x = table["size"]
    n = _name_range(table["ensembles"].fillna(0))
    for name, label, look in (
        ("error", "mean over random subsets of the networks", LOOKS["lda"]),
        ("ensembles", f"mean of {n} separate ensembles", LOOKS["other"]),
        ("tempered", "the same ensembles from tempered posteriors", LOOKS["tempered"]),
    ):
        if (rates := table[f"{name}_percent"]).notna().any():
            plot_points(axes, x, rates, table[f"{name}_interval"], label=label, **look)
    mark_paper(axes, x, table["paper_error_percent"], "", LOOKS["ink"])
    whole_numbers(axes)
    axes.set(xlabel="Networks combined by the mean of their posteriors", ylabel=RATE_LABEL)
    axes.set_title("LDA-ELM, 95 % intervals")
    legend_below(figure, n_columns=1)


def plot_times(figure: Figure, table: pd.DataFrame) -> None:
    """Seconds over fan-out, and below LDA-ELM's extra time."""
    figure.set_size_inches(WIDTH, 5.2)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[3, 2])
    clock = "cpu" if table["pi_cpu_seconds"].notna().any() else "elapsed"
    for method, label in (("pi", "PI-ELM"), ("lda", "LDA-ELM"), ("both", "both in one pass")):
        look = LOOKS.get(method, LOOKS["other"])
        above.plot(table["fanout"], table[f"{method}_{clock}_seconds"], label=label, **look)
        if method != "both":
            mark_paper(above, table["fanout"], table[f"paper_{method}_seconds"], label, look)
    above.set(yscale="log", ylabel="Seconds", title="Training and testing one network")
    above.yaxis.set_major_formatter("{x:g}")
    names = {"overhead": "processor time", "elapsed_overhead": "by the clock"}
    for place, (name, label) in enumerate(names.items()):
        if (percent := table[f"{name}_percent"]).notna().any():
            sides = [percent - table[f"{name}_low"], table[f"{name}_high"] - percent]
            look = {"label": f"LDA extra, {label}", **curve(2 * place)}
            plot_points(below, table["fanout"] + 0.3 * place - 0.15, percent, sides, **look)
    papers = table["paper_overhead_percent"]
    mark_paper(below, table["fanout"], papers, "LDA extra", LOOKS["ink"])
    below.axhline(0, color=INK, lw=0.8)
    below.set(ylabel="LDA extra (%)", xlabel=FANOUT_LABEL)
    whole_numbers(below)
    legend_below(figure)


def plot_posteriors(figure: Figure, table: pd.DataFrame, by_fanout: bool) -> None:
    """Scores of one network's posteriors over its size, of which lower is better; the temperature."""
    names = {"log_loss": "Log-loss", "brier": "Brier score", "calibration_error": "Calibration error"}
    curves = {"": ("by Eq. (14)", LOOKS["lda"]), "tempered_": ("tempered", LOOKS["tempered"])}
    if table["temperature"].notna().any():
        names["temperature"] = "Temperature"
        columns = {f"temperature{end}": f"tempered_temperature{end}" for end in ("", "_interval")}
        table = table.rename(columns=columns).assign(temperature=1.0, temperature_interval=0.0)
    figure.set_size_inches(WIDTH, 4.8)
    panels = figure.subplots(2, 2).ravel()
    panels[-1].set_visible(len(names) == len(panels))
    for axes, (column, name) in zip(panels, names.items(), strict=False):
        x = place_sizes(axes, table, by_fanout)
        for prefix, (label, look) in curves.items():
            values, half = table[f"{prefix}{column}"], table[f"{prefix}{column}_interval"]
            if values.notna().any():
                plot_band(axes, x, values, half, label=label, **look)
        axes.set(ylim=(0, None), title=name, xlabel="Fan-out" if by_fanout else HIDDEN_LABEL)
    legend_below(figure)


def plot_reliability(figure: Figure, bins: pd.DataFrame) -> None:
    """Accuracy over confidence, and below how many samples each bin has."""
    figure.set_size_inches(WIDTH, 4.6)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1.3])
    above.plot([0, 1], [0, 1], ls="--", lw=0.8, color=INK)
    kinds = split(bins, "posteriors")
    width = 1 / 15 / (len(kinds) + 0.5)
    for i, (kind, rows) in enumerate(kinds):
        look = LOOKS["tempered" if i else "lda"]
        above.plot(rows["confidence"], rows["accuracy"], label=kind, **look)
        places = (rows["bin"] + 0.5) / 15 + (i - (len(kinds) - 1) / 2) * width
        below.bar(places, rows["samples"], width, color=look["color"])
    above.set(ylabel="Share of right answers", ylim=(0, 1.02), title="LDA-ELM's posteriors in 15 bins")
    below.set(xlabel="Posterior of the chosen class", ylabel="Samples", yscale="log", xlim=(0, 1))
    below.yaxis.set_major_formatter("{x:g}")
    legend_below(figure)


def plot_confusion(figure: Figure, matrix: pd.DataFrame) -> None:
    """How often a class is taken for another; shades are of the row's mistakes."""
    from matplotlib.patches import Rectangle

    n = len(matrix)
    figure.set_size_inches(WIDTH, min(WIDTH, 1.6 + 0.36 * n))
    axes = figure.subplots()
    counts = matrix.to_numpy(float)
    mistakes = counts * (1 - np.eye(n))
    darkest = max(mistakes.max(), 1e-9)
    for row, column in zip(*np.nonzero(counts.round(1)), strict=True):
        is_right = row == column
        color, alpha = RED, 0.75 * counts[row, column] / darkest
        look = {"fc": GREEN, "alpha": 0.15} if is_right else {"fc": color, "alpha": alpha}
        axes.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, lw=0, **look))
        if n <= 12:
            text = f"{counts[row, column]:.0f}" if is_right else f"{counts[row, column]:.1f}"
            axes.text(column, row, text, ha="center", va="center", size=7)
    names = [name if len(name) <= 12 else f"{name[:11]}…" for name in map(str, matrix.index)]
    axes.set_xticks(range(n), names, rotation=45 if max(map(len, names)) > 3 else 0)
    axes.set_yticks(range(n), names)
    axes.set(xlim=(-0.5, n - 0.5), ylim=(n - 0.5, -0.5), xlabel="Taken for", ylabel="Class")
    axes.grid(visible=False)
    axes.set_title("Test samples by LDA-ELM of the largest size")


def plot_differences(figure: Figure, table: pd.DataFrame) -> None:
    """Difference of each run from the reference, a panel for each method."""
    rows = table.dropna(subset=["difference"])
    panels = figure.subplots(1, 2, sharey=True)
    for axes, method in zip(panels, ("pi", "lda"), strict=True):
        _plot_by_fanout(axes, rows[rows["method"] == method], "run")
        axes.set(xlabel="Fan-out", title=METHODS[method])
    panels[0].set_ylabel(f"Difference from {rows['reference'].iloc[0]} (points)")
    legend_below(figure, n_columns=3)


def plot_compare(figure: Figure, table: pd.DataFrame) -> None:
    """PI − LDA on each data set with its first ridge."""
    axes = figure.subplots()
    firsts = [rows[rows["ridge"] == rows["ridge"].iloc[0]] for _, rows in split(table, "dataset")]
    _plot_by_fanout(axes, pd.concat(firsts), "dataset")
    axes.set_yscale("symlog", linthresh=1)
    axes.set_yticks([-10, -3, -1, 0, 1, 3, 10], ["−10", "−3", "−1", "0", "1", "3", "10"])
    axes.set(xlabel="Fan-out", ylabel="PI − LDA (points)", title="Above zero LDA-ELM is better")
    legend_below(figure, n_columns=4)


def _plot_by_fanout(axes: Axes, rows: pd.DataFrame, column: str) -> None:
    """Differences with their intervals, side by side at each fan-out."""
    fanouts, groups = sorted(set(rows["fanout"])), split(rows, column)
    axes.axhline(0, color=INK, lw=0.8)
    for i, (name, group) in enumerate(groups):
        shift = 0.7 / len(groups) * (i - (len(groups) - 1) / 2)
        x = [fanouts.index(fanout) + shift for fanout in group["fanout"]]
        look = {"label": name, **curve(i)}
        plot_points(axes, x, group["difference"], group["difference_interval"], **look)
    axes.set_xticks(range(len(fanouts)), [f"{fanout:.3g}" for fanout in fanouts])
    axes.grid(visible=False, axis="x")


# Axes, intervals, legends


def place_sizes(axes: Axes, table: pd.DataFrame, by_fanout: bool) -> pd.Series[float]:
    """Label the axis; the sizes to draw at."""
    whole_numbers(axes)
    axes.set_xlabel(FANOUT_LABEL if by_fanout else HIDDEN_LABEL)
    return table["fanout" if by_fanout else "n_hidden"].astype(float)


def curve(place: int) -> dict[str, Any]:
    """Colour and marker of one of any number of curves."""
    color, marker = CURVES[place % len(CURVES)]
    return {"color": color, "marker": marker, "mfc": color if place < len(CURVES) else "none"}


def whole_numbers(axes: Axes) -> None:
    """Ticks at whole numbers."""
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))


def plot_band(axes: Axes, x: Any, y: pd.Series[float], half: pd.Series[float], **line: Any) -> None:
    """A line with its interval; where half its width is not known there is none."""
    axes.plot(x, y, **{"markersize": 3, **line})
    half = half.fillna(0)
    if half.any():
        axes.fill_between(x, y - half, y + half, color=line["color"], alpha=0.25, lw=0)


def plot_points(axes: Axes, x: Any, y: Any, half: Any, **line: Any) -> None:
    """Points with error bars; `half` is the width on each side, or two widths; none where unknown."""
    axes.errorbar(x, y, np.nan_to_num(half), **{"capsize": 2.5, "ls": "", **line})


def mark_paper(axes: Axes, x: Any, y: pd.Series[float], name: str, look: dict[str, Any]) -> None:
    """The paper's points: large, hollow; none, also in the legend, if it has none."""
    if y.notna().any():
        label = f"{name}{PAPERS}" if name else "the paper"
        axes.plot(x, y, ls="", zorder=3, label=label, **{**look, "ms": 6.5, "mfc": "none"})


def legend_below(figure: Figure, n_columns: int = 2) -> None:
    """Under everything, each name once, with the paper's points after ours."""
    entries: dict[str, Any] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    names = [label.removesuffix(PAPERS) for label in entries]
    labels = sorted(entries, key=lambda label: (names.index(label.removesuffix(PAPERS)), label))
    look: Any = {"loc": "outside lower center", "ncols": n_columns, "columnspacing": 1.2}
    figure.legend([entries[label] for label in labels], labels, **look)


def _name_range(counts: pd.Series[Any]) -> str:
    """As in: 3 to 200."""
    return " to ".join(dict.fromkeys(f"{count:.0f}" for count in (counts.min(), counts.max())))
