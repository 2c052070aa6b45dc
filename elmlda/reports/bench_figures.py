"""Figures of `elmlda bench`, from its tables; the same table gives the same bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, LogLocator, NullLocator, StrMethodFormatter

from elmlda.reports.figures import COLORS

OURS, THEIRS, BARE = COLORS[0], COLORS[1], "#999999"
BAR_COLORS = {"nested": OURS, "independent": OURS, "limit": BARE}


def plot_race(figure: Figure, table: pd.DataFrame, title: str) -> None:
    """Bars of every contestant's seconds on a logarithmic scale; `table` is bench.csv's."""
    ordered = table.dropna(subset="seconds").sort_values("seconds", kind="stable")
    rows = ordered.to_dict("records")
    figure.set_size_inches(6.8, 0.8 + 0.38 * len(rows))
    axes = figure.subplots()
    seconds = ordered["seconds"].to_numpy()
    bars = axes.barh(
        [f"{row['contestant']} ({row['methods']})" for row in rows],
        seconds,
        color=[BAR_COLORS.get(row["contestant"], THEIRS) for row in rows],
        height=0.65,
    )
    for bar, row in zip(bars, rows, strict=True):
        if row["kind"] == "fitted":
            bar.set(hatch="///", edgecolor="white", linewidth=0)
    labels = [_label(row["seconds"], row["kind"], row["ratio_to_nested"]) for row in rows]
    axes.bar_label(bars, labels, padding=3)
    axes.set_xscale("log")
    # Room for the labels on the right; a bar of a logarithmic scale has no natural start.
    low, high = seconds.min() / 2, seconds.max()
    axes.set_xlim(low, high * (high / low) ** 0.6)
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.set_axisbelow(True)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("Seconds for all fan-outs, and times the nested network's")
    axes.set_title(title)


def _label(seconds: float, kind: str, ratio_to_nested: float) -> str:
    """As in `412 s (fitted), 14.72 ×`."""
    fitted = " (fitted)" if kind == "fitted" else ""
    return f"{seconds:,.{0 if seconds >= 100 else 1}f} s{fitted}, {ratio_to_nested:.2f} ×"


def plot_growth(figure: Figure, table: pd.DataFrame) -> None:
    """Seconds and memory over the largest fan-out, both logarithmic; `table` is growth.csv's."""
    figure.set_size_inches(6.8, 3.2)
    left, right = figure.subplots(1, 2)
    law = "a·K·M² + b·M³ + c·K·M, fitted"
    _plot_beside(left, table, table["seconds"], table["fitted_seconds"], law)
    left.set(ylabel="Seconds", title="Time")
    peak, predicted = (table[column] / 1e9 for column in ("peak_bytes", "predicted_bytes"))
    _plot_beside(right, table, peak, predicted, "predicted")
    right.set(ylabel="Peak memory (GB)", title="Memory")
    figure.suptitle("One nested network: fan-outs 1 to F, PI-ELM and LDA-ELM", fontsize=9)


def _plot_beside(
    axes: Axes, table: pd.DataFrame, measured: pd.Series[Any], law: pd.Series[Any], label: str
) -> None:
    fanouts = table["fanout"].to_numpy()
    if np.isfinite(law).all():
        axes.plot(fanouts, law, "-", color=THEIRS, lw=1.2, label=label)
    axes.plot(fanouts, measured, "o", color=OURS, ms=4, label="measured")
    axes.set(xscale="log", yscale="log", xlabel="Largest fan-out F")
    axes.xaxis.set_major_locator(FixedLocator(fanouts.tolist()))
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.legend(loc="upper left", fontsize=7)
