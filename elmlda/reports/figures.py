"""Figures from tables and records: those of the paper, and more. The same input, the same bytes.

A `plot_…` function draws one figure; `render` chooses the theme and the format.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator, StrMethodFormatter

from elmlda import paper
from elmlda.core.arrays import FloatArray
from elmlda.reports.literature import MCDONNELL_ERROR_PERCENT

# Okabe and Ito's colours, told apart by colour-blind readers; markers differ too.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00")
MARKERS = ("o", "s", "D", "^", "v")
PI_STYLE: dict[str, Any] = {"color": COLORS[1], "marker": "s"}
LDA_STYLE: dict[str, Any] = {"color": COLORS[0], "marker": "o"}
STYLE: Any = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "legend.frameon": False,
    "svg.hashsalt": "elmlda",
    "svg.fonttype": "none",
    "text.parse_math": False,  # a data set's name may have a dollar in it
}
LIGHT_INK, DARK_INK = "#e6e6e6", "#000000"
DARK_STYLE: Any = {
    **STYLE,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "grid.color": "#444444",
    **dict.fromkeys(
        ["text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"], LIGHT_INK
    ),
}
THEMES = {"light": STYLE, "dark": DARK_STYLE}
METADATA: dict[str, Any] = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}
SPREAD_FANOUTS = (1, 2, 5, 10, 20)
RULE_NAMES = {"none": "no ridge", "gcv": "ridge by GCV"}

Plot = Callable[[Figure], None]


def render(
    plot: Plot, suffixes: Iterable[str] = ("png", "svg"), theme: str = "light"
) -> dict[str, bytes]:
    """Suffix -> the file's content; `plot` draws on an empty figure and may change its size."""
    contents = {}
    with mpl.rc_context(THEMES[theme]):
        figure = Figure(figsize=(6.0, 3.6), layout="constrained")
        plot(figure)
        for suffix in suffixes:
            content = io.BytesIO()
            figure.savefig(content, format=suffix, dpi=200, metadata=METADATA[suffix])
            figure.set_layout_engine("none")  # it has its layout now, which takes as long as to draw
            contents[suffix] = content.getvalue()
    return contents


def plot_sweep(figure: Figure, table: pd.DataFrame, beside_paper: bool) -> None:
    """Fig. 1: error rate over fan-out, both methods; `table` is `tabulate_sweep`'s."""
    axes = _axes_over_fanout(figure)
    for method, style in (("pi", PI_STYLE), ("lda", LDA_STYLE)):
        label = f"{method.upper()}-ELM"
        rates, half = table[f"{method}_error_percent"], table[f"{method}_interval"]
        _plot_band(axes, table["fanout"], rates, half, style, label)
        if beside_paper:
            theirs = table[f"paper_{method}_error_percent"]
            _plot_papers(axes, table["fanout"], theirs, style, f"{label}, the paper")
    axes.set(ylabel="Test error rate (%)", title=_title("Error rate over fan-out", table["repeats"]))
    axes.set_ylim(bottom=0)
    axes.legend(loc="upper right")


def plot_ensemble(figure: Figure, table: pd.DataFrame, beside_paper: bool) -> None:
    """Fig. 2: error rate over ensemble number; `table` is `tabulate_ensemble`'s."""
    axes = figure.subplots()
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    ordered = sorted(table.groupby("combine"), key=lambda group: group[0] != "mean")
    for i, (scheme, rows) in enumerate(ordered):
        style = {"color": COLORS[i % len(COLORS)], "marker": "o"}
        half = rows["interval"] if i == 0 else 0 * rows["interval"]  # bands would hide each other
        _plot_band(axes, rows["size"], rows["error_percent"], half, style, str(scheme))
    if beside_paper:
        stated = pd.Series(paper.ENSEMBLE_ERROR_PERCENT)
        style = {"color": mpl.rcParams["text.color"], "marker": "D"}
        _plot_papers(axes, pd.Series(stated.index), stated, style, "mean, the paper")
    axes.set(xlabel="Networks in the ensemble", ylabel="Test error rate (%)")
    axes.set_title(_title("Combining LDA-ELM networks", table["repeats"]))
    axes.legend(loc="upper right")


def plot_improvement(figure: Figure, table: pd.DataFrame, beside_paper: bool) -> None:
    """What LDA-ELM's error rate is lower by, over fan-out; `table` is `tabulate_sweep`'s."""
    axes = _axes_over_fanout(figure)
    fanouts, half = table["fanout"], table["improvement_interval"].fillna(0)
    axes.axhline(0, color=mpl.rcParams["axes.edgecolor"], lw=0.8)
    axes.errorbar(
        fanouts, table["improvement_percent"], half, fmt="o", ms=4, lw=1.2, capsize=2.5,
        color=COLORS[0], label="elmlda",
    )  # fmt: skip
    if beside_paper:
        style = {"color": COLORS[1], "marker": "s"}
        _plot_papers(axes, fanouts, table["paper_improvement_percent"], style, "the paper")
        figure.legend(loc="outside lower center", ncols=4)
    axes.set(ylabel="LDA-ELM better by (%)")
    axes.set_title(_title("Improvement over PI-ELM", table["repeats"]))


def plot_spread(figure: Figure, rates: dict[int, FloatArray]) -> None:
    """Every repeat's error rates, at some fan-outs.

    Parameters
    ----------
    rates : fan-out -> n_repeats × 2 (PI, LDA) in per cent
    """
    all_axes = figure.subplots(1, len(rates), squeeze=False)[0]
    for axes, (fanout, both) in zip(all_axes, rates.items(), strict=True):
        # The same shift for both methods of a repeat, so that pairs can be found.
        shift = np.random.default_rng(0).uniform(-0.22, 0.22, len(both))
        for place, style in enumerate((PI_STYLE, LDA_STYLE)):
            axes.scatter(
                place + shift, both[:, place], s=7, alpha=0.6, linewidths=0, rasterized=True, **style
            )
            axes.hlines(
                both[:, place].mean(), place - 0.34, place + 0.34,
                color=mpl.rcParams["text.color"], lw=1.2,
            )  # fmt: skip
        axes.set_xticks([0, 1], ["PI", "LDA"])
        axes.set_xlim(-0.5, 1.5)
        axes.grid(visible=False, axis="x")
        axes.set_title(f"fan-out {fanout}")
    all_axes[0].set_ylabel("Test error rate (%)")
    figure.suptitle(f"Each of {_count(len(next(iter(rates.values()))))}, and the mean", fontsize=9)


def plot_compare(figure: Figure, table: pd.DataFrame, title: str) -> None:
    """One set: error rate over hidden units, a panel for each rule; `table` is `tabulate_compare`'s."""
    rules = [rule for rule in RULE_NAMES if rule in set(table["rule"])]
    all_axes = figure.subplots(1, len(rules), squeeze=False, sharey=True)[0]
    for axes, rule in zip(all_axes, rules, strict=True):
        rows = table[table["rule"] == rule]
        for method, style in (("pi", PI_STYLE), ("lda", LDA_STYLE)):
            rates, half = rows[f"{method}_error_percent"], rows[f"{method}_interval"]
            _plot_band(axes, rows["n_hidden"], rates, half, style, f"{method.upper()}-ELM")
        sizes = rows["n_hidden"].tolist()
        axes.set(xscale="log", xlabel="Hidden units", title=RULE_NAMES[rule])
        axes.xaxis.set_major_locator(FixedLocator(_spaced(sizes)))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    all_axes[0].set_ylabel("Test error rate (%)")
    all_axes[0].set_ylim(bottom=0)
    handles, labels = all_axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2)
    figure.suptitle(title, fontsize=9)


def plot_tune(figure: Figure, table: pd.DataFrame, input_weights: str) -> None:
    """Error rate of held-out samples over the ridge, a curve for each size of the weights."""
    axes = figure.subplots()
    name = "range" if input_weights == "uniform" else "norm"
    for i, (size, rows) in enumerate(table.groupby("weight_size")):
        style = {"color": COLORS[i % len(COLORS)], "marker": MARKERS[i % len(MARKERS)]}
        none = 0 * rows["ridge"]
        _plot_band(axes, rows["ridge"], rows["lda_error_percent"], none, style, f"{name} {size:g}")
    axes.set_xscale("symlog", linthresh=table.loc[table["ridge"] > 0, "ridge"].min())
    axes.set(xlabel="Ridge", ylabel="Error rate, held-out samples (%)")
    axes.set_title(f"LDA-ELM with {input_weights} input weights")
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))


def plot_schemes(figure: Figure, tables: Mapping[str, pd.DataFrame], is_mnist: bool) -> None:
    """Error rate over fan-out, a curve for each kind of input weights.

    Parameters
    ----------
    tables : scheme -> `tabulate_sweep`'s table
    is_mnist : whether the paper's curve and McDonnell's points are for the same data
    """
    figure.set_size_inches(6.4, 4.6)
    axes = _axes_over_fanout(figure)
    for i, (scheme, table) in enumerate(tables.items()):
        style = {"color": COLORS[i], "marker": MARKERS[i]}
        rates = table["lda_error_percent"]
        half = table["lda_interval"].where(table["repeats"] > 2)  # of two it would hide the others
        _plot_band(axes, table["fanout"], rates, half, style, scheme)
        axes.plot(table["fanout"], table["pi_error_percent"], color=COLORS[i], ls=":", lw=1.0)
        stated = pd.Series(MCDONNELL_ERROR_PERCENT.get(scheme, {}), dtype=float)
        if is_mnist and not stated.empty:
            fanouts = pd.Series(stated.index) / paper.N_INPUTS
            axes.scatter(fanouts, stated, s=60, color=COLORS[i], marker="*", zorder=4)
    ink = mpl.rcParams["text.color"]
    axes.plot([], [], ls=":", lw=1.0, color=ink, label="PI-ELM of the same colour")
    if is_mnist:
        papers = pd.Series(paper.LDA_ERROR_PERCENT)
        _plot_papers(
            axes, pd.Series(papers.index), papers, {"color": ink, "marker": "o"}, "LDA-ELM, the paper"
        )
        axes.scatter([], [], s=60, marker="*", color=ink, label="PI-ELM, McDonnell et al.")
    repeats = pd.concat([table["repeats"] for table in tables.values()])
    axes.set(ylabel="Test error rate (%)", title=_title("LDA-ELM by input weights", repeats))
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(FixedLocator([0.5, 0.7, 1, 1.5, 2, 3, 4, 5, 7, 10, 15, 20, 30]))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    figure.legend(loc="outside lower center", ncols=2)


def _spaced(sizes: Sequence[float]) -> list[float]:
    """Those that leave room for their labels on a logarithmic axis."""
    kept: list[float] = []
    for size in sizes:
        if not kept or size >= 1.6 * kept[-1]:
            kept.append(size)
    return kept


def plot_summary(figure: Figure, rows: pd.DataFrame, title: str) -> None:
    """PI - LDA on every set, with its interval; `rows` are some of `tabulate_summary`'s."""
    names = list(dict.fromkeys(rows["dataset"]))
    figure.set_size_inches(6.0, 1.3 + 0.42 * len(names))
    axes = figure.subplots()
    axes.axvline(0, color=mpl.rcParams["axes.edgecolor"], lw=0.8)
    for shift, (rule, color, marker) in zip(
        (-0.13, 0.13), (("none", COLORS[0], "o"), ("gcv", COLORS[2], "D")), strict=True
    ):
        some = rows[rows["rule"] == rule]
        places = [names.index(name) + shift for name in some["dataset"]]
        half = some["difference_interval"].fillna(0)
        axes.errorbar(
            some["difference"], places, xerr=half, fmt=marker, ms=4, lw=1.2, capsize=2.5, color=color,
            label=RULE_NAMES[rule],
        )  # fmt: skip
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    axes.set(xlabel="PI-ELM − LDA-ELM, percentage points of error (right: LDA-ELM is better)")
    axes.set_title(title)
    figure.legend(loc="outside lower center", ncols=4)


def _axes_over_fanout(figure: Figure) -> Axes:
    axes = figure.subplots()
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    axes.set_xlabel("Fan-out (hidden units for each input)")
    return axes


def _plot_band(
    axes: Axes,
    x: pd.Series[Any],
    y: pd.Series[float],
    half: pd.Series[float],
    style: dict[str, Any],
    label: str,
) -> None:
    """A line with its interval; a half-width that is not known or zero has no band."""
    axes.plot(x, y, label=label, markersize=3, lw=1.2, **style)
    if half.fillna(0).any():
        half = half.fillna(0)
        axes.fill_between(x, y - half, y + half, color=style["color"], alpha=0.25, lw=0)


def _plot_papers(
    axes: Axes, x: pd.Series[Any], y: pd.Series[float], style: dict[str, Any], label: str
) -> None:
    """The paper's points: large, hollow."""
    axes.scatter(
        x, y, s=42, facecolors="none", edgecolors=style["color"], marker=style["marker"],
        label=label, zorder=3,
    )  # fmt: skip


def _title(what: str, repeats: pd.Series[int]) -> str:
    low, high = int(np.min(repeats)), int(np.max(repeats))
    if high == 1:
        return f"{what}, one repeat"
    count = f"{low}" if low == high else f"{low} to {high}"
    return f"{what}, mean of {count} repeats with 95 % interval"


def _count(n: int) -> str:
    return "one repeat" if n == 1 else f"{n} repeats"
