"""Figures that mirror the paper's, from tables; the same table gives the same bytes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from elmlda import paper

# Okabe and Ito's colours, told apart by colour-blind readers; markers differ too.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00")
PI_STYLE: dict[str, Any] = {"color": COLORS[1], "marker": "s"}
LDA_STYLE: dict[str, Any] = {"color": COLORS[0], "marker": "o"}
STYLE: Any = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "legend.frameon": False,
    "svg.hashsalt": "elmlda",
    "svg.fonttype": "none",
}
FORMATS: dict[str, Any] = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}


def plot_sweep(table: pd.DataFrame, stem: Path, beside_paper: bool) -> list[Path]:
    """Fig. 1: error rate over fan-out, both methods; `table` is `tabulate_sweep`'s."""
    with _axes(stem) as (axes, paths):
        for method, style in (("pi", PI_STYLE), ("lda", LDA_STYLE)):
            x, y = table["fanout"], table[f"{method}_error_percent"]
            half = table[f"{method}_interval"].fillna(0)
            axes.plot(x, y, label=f"{method.upper()}-ELM", markersize=3, lw=1.2, **style)
            axes.fill_between(x, y - half, y + half, color=style["color"], alpha=0.25, lw=0)
            if beside_paper:
                theirs = table[f"paper_{method}_error_percent"]
                axes.scatter(
                    x, theirs, s=42, facecolors="none", edgecolors=style["color"],
                    marker=style["marker"], label=f"{method.upper()}-ELM, the paper", zorder=3,
                )  # fmt: skip
        axes.set(xlabel="Fan-out (hidden units for each input)", ylabel="Test error rate (%)")
        axes.set_title(_title("Error rate over fan-out", table["repeats"]), fontsize=9)
        axes.set_ylim(bottom=0)
        axes.legend()
    return paths


def plot_ensemble(table: pd.DataFrame, stem: Path, beside_paper: bool) -> list[Path]:
    """Fig. 2: error rate over ensemble number; `table` is `tabulate_ensemble`'s."""
    with _axes(stem) as (axes, paths):
        ordered = sorted(table.groupby("combine"), key=lambda group: group[0] != "mean")
        for (scheme, rows), color in zip(ordered, COLORS, strict=False):
            sizes, rates = rows["size"], rows["error_percent"]
            axes.plot(sizes, rates, "o-", ms=3, lw=1.2, color=color, label=scheme)
            if color == COLORS[0]:  # bands of several schemes would hide each other
                half = rows["interval"].fillna(0)
                axes.fill_between(sizes, rates - half, rates + half, color=color, alpha=0.25, lw=0)
        if beside_paper:
            stated = paper.ENSEMBLE_ERROR_PERCENT
            axes.scatter(
                list(stated), list(stated.values()), s=60, facecolors="none", edgecolors="black",
                marker="D", label="mean, the paper", zorder=3,
            )  # fmt: skip
        axes.set(xlabel="Networks in the ensemble", ylabel="Test error rate (%)")
        axes.set_title(_title("Combining LDA-ELM networks", table["repeats"]), fontsize=9)
        axes.legend()
    return paths


def _title(what: str, repeats: pd.Series[int]) -> str:
    low, high = int(np.min(repeats)), int(np.max(repeats))
    if high == 1:
        return f"{what}, one repeat"
    count = f"{low}" if low == high else f"{low} to {high}"
    return f"{what}, mean of {count} repeats with 95 % interval"


@contextmanager
def _axes(stem: Path) -> Iterator[tuple[Axes, list[Path]]]:
    """Axes to draw on; afterwards the figure is saved in every format."""
    paths = [stem.with_suffix(f".{suffix}") for suffix in FORMATS]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6.0, 3.6), layout="constrained")
        axes = figure.subplots()
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        yield axes, paths
        for path, metadata in zip(paths, FORMATS.values(), strict=True):
            figure.savefig(path, dpi=200, metadata=metadata)
