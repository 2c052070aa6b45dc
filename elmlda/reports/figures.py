"""Figures: functions that draw a DataFrame's rows on an empty matplotlib figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy.special import ndtri

from elmlda import paper
from elmlda.reports import style
from elmlda.reports.load import METHODS, split
from elmlda.reports.stats import LEVEL

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PANELS = 5


def plot_fig1(figure: Figure, table: pd.DataFrame, beside_paper: bool) -> None:
    """Fig. 1: error rates, and below them the difference of the methods on the same networks."""
    figure.set_size_inches(style.WIDTH, 5.0)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[3, 2])
    x = style.place_sizes(below, table, beside_paper)
    n, is_wide = style.count_range(table["repeats"]), table["pi_interval"].notna().any()
    title = f"Mean error rates, {n} networks{', 95 % intervals' if is_wide else ''}"
    for method in ("pi", "lda"):
        rates, look = table[f"{method}_error_percent"], style.LOOKS[method]
        style.plot_band(above, x, rates, table[f"{method}_interval"], label=METHODS[method], **look)
        style.mark_paper(above, x, table[f"paper_{method}_error_percent"], METHODS[method], look)
    above.set(ylabel=style.RATE_LABEL, ylim=(0, None), title=title)
    style.mark_zero(below)
    look = style.LOOKS["other"]
    points, half = table["difference"], table["difference_interval"]
    style.plot_points(below, x, points, half, label="PI − LDA", **look)
    papers = table["paper_pi_error_percent"] - table["paper_lda_error_percent"]
    style.mark_paper(below, x, papers, "PI − LDA", look)
    below.set_ylabel("PI − LDA (points)")
    style.legend_below(figure, n_columns=3)


def plot_improvement(figure: Figure, table: pd.DataFrame) -> None:
    """What LDA-ELM's error rate is lower by, over both readings of PI-ELM."""
    axes = figure.subplots()
    x = style.place_sizes(axes, table, by_fanout=True)
    style.mark_zero(axes)
    for name, method, shift in (
        ("improvement", "pi", -0.2),
        ("constant_improvement", "pi_constant", 0.2),
    ):
        look = {"label": f"over {METHODS[method]}", **style.LOOKS[method]}
        percent, half = table[f"{name}_percent"], table[f"{name}_interval"]
        style.plot_points(axes, x + shift, percent, half, **look)
    style.mark_paper(axes, x, table["paper_improvement_percent"], "", style.LOOKS["ink"])
    axes.set(ylabel="LDA-ELM better by (%)", title="100·(PI − LDA)/PI of the mean rates")
    style.legend_below(figure)


def plot_distance(figure: Figure, table: pd.DataFrame) -> None:
    """The z of every rate of Table 1, both readings of PI-ELM."""
    axes = figure.subplots()
    rows = table[table["fanout"].isin(paper.FANOUTS)]
    limit = float(ndtri(0.5 + LEVEL / 2))
    axes.axhspan(-limit, limit, color=style.INK, alpha=0.1, lw=0, label=f"within ± {limit:.2f}")
    style.mark_zero(axes)
    for shift, method in zip((-0.22, 0, 0.22), METHODS, strict=True):
        places, z, look = rows["fanout"] + shift, rows[f"{method}_z"], style.LOOKS[method]
        axes.vlines(places, 0, z, color=look["color"], lw=0.8, alpha=0.6)
        axes.plot(places, z, ls="", ms=5, label=METHODS[method], **look)
    axes.set_xticks(list(paper.FANOUTS), [str(f) for f in paper.FANOUTS])
    axes.grid(visible=False, axis="x")
    ours = style.count_range(rows["repeats"])
    title = f"Distance from Table 1: {ours} networks against the paper's {paper.REPEATS}"
    axes.set(xlabel=style.FANOUT_LABEL, ylabel="z: ours − the paper's, in SE", title=title)
    style.legend_below(figure)


def plot_spread(figure: Figure, rates: pd.DataFrame, name: str) -> None:
    """Every repeat's rates, columns (method, size), in panels of up to five sizes that were run."""
    sizes = list(rates["lda"].columns)
    kept = sorted({sizes[int(i)] for i in np.linspace(0, len(sizes) - 1, MOST_PANELS)})
    panels = figure.subplots(1, len(kept), squeeze=False)[0]
    shift = np.random.default_rng(0).uniform(-0.25, 0.25, len(rates))  # both methods' the same
    for axes, size in zip(panels, kept, strict=True):
        for place, method in enumerate(("pi", "lda")):
            found = rates[method][size]
            style.plot_dots(axes, place + shift, found.to_numpy(float), style.LOOKS[method]["color"])
            axes.hlines(found.mean(), place - 0.36, place + 0.36, color=style.INK)
        axes.set(xlim=(-0.5, 1.5), title=f"{name} {size:g}")
        axes.set_xticks([0, 1], ["PI", "LDA"])
        axes.grid(visible=False, axis="x")
    panels[0].set_ylabel(style.RATE_LABEL)
    figure.suptitle(f"Each of {len(rates)} networks, and the mean")


def plot_fig2(figure: Figure, table: pd.DataFrame) -> None:
    """Fig. 2: error rate over the number of networks."""
    axes = figure.subplots()
    x = table["size"]
    n = style.count_range(table["ensembles"].fillna(0))
    for name, label, look in (
        ("error", "mean over random subsets of the networks", style.LOOKS["lda"]),
        ("ensembles", f"mean of {n} separate ensembles", style.LOOKS["other"]),
    ):
        if (rates := table[f"{name}_percent"]).notna().any():
            style.plot_points(axes, x, rates, table[f"{name}_interval"], label=label, **look)
    style.mark_paper(axes, x, table["paper_error_percent"], "", style.LOOKS["ink"])
    style.whole_numbers(axes)
    axes.set(xlabel="Networks combined by the mean of their posteriors", ylabel=style.RATE_LABEL)
    axes.set_title("LDA-ELM, 95 % intervals")
    style.legend_below(figure, n_columns=1)


def plot_times(figure: Figure, table: pd.DataFrame) -> None:
    """Seconds over fan-out, and below LDA-ELM's extra time."""
    figure.set_size_inches(style.WIDTH, 5.2)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[3, 2])
    clock = "cpu" if table["pi_cpu_seconds"].notna().any() else "elapsed"
    for method, label in (("pi", "PI-ELM"), ("lda", "LDA-ELM"), ("both", "both in one pass")):
        look = style.LOOKS.get(method, style.LOOKS["other"])
        above.plot(table["fanout"], table[f"{method}_{clock}_seconds"], label=label, **look)
        if method != "both":
            style.mark_paper(above, table["fanout"], table[f"paper_{method}_seconds"], label, look)
    above.set(yscale="log", ylabel="Seconds", title="Training and testing one network")
    above.yaxis.set_major_formatter("{x:g}")
    names = {"overhead": "processor time", "elapsed_overhead": "by the clock"}
    for place, (name, label) in enumerate(names.items()):
        if (percent := table[f"{name}_percent"]).notna().any():
            sides = [percent - table[f"{name}_low"], table[f"{name}_high"] - percent]
            look = {"label": f"LDA extra, {label}", **style.curve(2 * place)}
            style.plot_points(below, table["fanout"], percent, sides, **look)
    papers = table["paper_overhead_percent"]
    style.mark_paper(below, table["fanout"], papers, "LDA extra", style.LOOKS["ink"])
    style.mark_zero(below)
    below.set(ylabel="LDA-ELM's extra time (%)", xlabel=style.FANOUT_LABEL)
    style.whole_numbers(below)
    style.legend_below(figure)


def plot_reliability(figure: Figure, bins: pd.DataFrame) -> None:
    """Accuracy over confidence, and below how many samples each bin has."""
    figure.set_size_inches(style.WIDTH, 4.6)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1.3])
    above.plot([0, 1], [0, 1], ls="--", lw=0.8, color=style.INK)
    kinds = split(bins, "posteriors")
    width = 1 / 15 / (len(kinds) + 0.5)
    for i, (kind, rows) in enumerate(kinds):
        above.plot(rows["confidence"], rows["accuracy"], label=kind, **style.curve(i))
        places = (rows["bin"] + 0.5) / 15 + (i - (len(kinds) - 1) / 2) * width
        below.bar(places, rows["samples"], width, color=style.curve(i)["color"])
    above.set(ylabel="Share of right answers", ylim=(0, 1.02), title="LDA-ELM's posteriors in 15 bins")
    below.set(xlabel="Posterior of the chosen class", ylabel="Samples", yscale="log", xlim=(0, 1))
    below.yaxis.set_major_formatter("{x:g}")
    style.legend_below(figure)


def plot_confusion(figure: Figure, matrix: pd.DataFrame) -> None:
    """How often a class is taken for another; shades are of the row's mistakes."""
    from matplotlib.patches import Rectangle

    n = len(matrix)
    figure.set_size_inches(style.WIDTH, min(style.WIDTH, 1.6 + 0.36 * n))
    axes = figure.subplots()
    counts = matrix.to_numpy(float)
    mistakes = counts * (1 - np.eye(n))
    darkest = max(mistakes.max(), 1e-9)
    for row, column in zip(*np.nonzero(counts.round(1)), strict=True):
        is_right = row == column
        color, alpha = style.RED, 0.75 * counts[row, column] / darkest
        look = {"fc": style.GREEN, "alpha": 0.15} if is_right else {"fc": color, "alpha": alpha}
        axes.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, lw=0, **look))
        if n <= 12:
            text = f"{counts[row, column]:.0f}" if is_right else f"{counts[row, column]:.1f}"
            axes.text(column, row, text, ha="center", va="center", size=7)
    names = [name if len(name) <= 12 else f"{name[:11]}…" for name in map(str, matrix.index)]
    axes.set_xticks(range(n), names, rotation=45 if max(map(len, names)) > 3 else 0)
    axes.set_yticks(range(n), names)
    axes.set(xlim=(-0.5, n - 0.5), ylim=(n - 0.5, -0.5), xlabel="Taken for", ylabel="Class")
    axes.grid(visible=False)
    axes.set_title("Test samples, mean over the kept networks")


def plot_differences(figure: Figure, table: pd.DataFrame) -> None:
    """Difference of each run from the reference, a panel for each method."""
    rows = table.dropna(subset=["difference"])
    panels = figure.subplots(1, 2, sharey=True)
    for axes, method in zip(panels, ("pi", "lda"), strict=True):
        _plot_by_fanout(axes, rows[rows["method"] == method], "run")
        axes.set(xlabel="Fan-out", title=METHODS[method])
    panels[0].set_ylabel(f"Difference from {rows['reference'].iloc[0]} (points)")
    style.legend_below(figure, n_columns=3)


def plot_compare(figure: Figure, table: pd.DataFrame) -> None:
    """PI − LDA on each data set with its first ridge."""
    axes = figure.subplots()
    firsts = [rows[rows["ridge"] == rows["ridge"].iloc[0]] for _, rows in split(table, "dataset")]
    _plot_by_fanout(axes, pd.concat(firsts), "dataset")
    axes.set_yscale("symlog", linthresh=1)
    axes.set_yticks([-10, -3, -1, 0, 1, 3, 10], ["−10", "−3", "−1", "0", "1", "3", "10"])
    axes.set(xlabel="Fan-out", ylabel="PI − LDA (points)", title="Above zero LDA-ELM is better")
    style.legend_below(figure, n_columns=4)


def _plot_by_fanout(axes: Axes, rows: pd.DataFrame, column: str) -> None:
    """Differences with their intervals, side by side at each fan-out."""
    fanouts, groups = sorted(set(rows["fanout"])), split(rows, column)
    style.mark_zero(axes)
    for i, (name, group) in enumerate(groups):
        shift = 0.7 / len(groups) * (i - (len(groups) - 1) / 2)
        x = [fanouts.index(fanout) + shift for fanout in group["fanout"]]
        look = {"label": name, **style.curve(i)}
        style.plot_points(axes, x, group["difference"], group["difference_interval"], **look)
    axes.set_xticks(range(len(fanouts)), [f"{fanout:.3g}" for fanout in fanouts])
    axes.grid(visible=False, axis="x")
