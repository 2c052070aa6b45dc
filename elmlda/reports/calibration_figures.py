"""The reliability diagram: how often the chosen class is right, over its posterior."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from elmlda.core.calibration import Reliability
from elmlda.reports.figures import COLORS, MARKERS

FEWEST = 20
"""Samples of a bin that is shown: the accuracy of fewer says nothing."""


def plot_reliability(figure: Figure, bins: Mapping[tuple[float, int], Reliability]) -> None:
    """Single networks by fan-out on the left, the largest fan-out's combined on the right.

    Parameters
    ----------
    bins : fan-out and number of combined networks -> all their groups' bins
    """
    largest = max(fanout for fanout, _ in bins)
    single = [(f"fan-out {fanout:g}", found) for (fanout, size), found in bins.items() if size == 1]
    combined = [(_count(size), found) for (fanout, size), found in bins.items() if fanout == largest]
    # One network of the largest fan-out is in both: first, so that it looks the same.
    shown = {"Single networks": single[::-1]} if single else {}
    if any(size > 1 for _, size in bins):
        shown[f"Networks of fan-out {largest:g} combined"] = combined
    figure.set_size_inches(3.5 * len(shown), 3.7)
    all_axes = figure.subplots(1, len(shown), squeeze=False)[0]
    for axes, (title, curves) in zip(all_axes, shown.items(), strict=True):
        _plot_panel(axes, curves)
        axes.set_title(title)
    all_axes[0].set_ylabel("Accuracy")


def _plot_panel(axes: Axes, curves: Sequence[tuple[str, Reliability]]) -> None:
    axes.plot([0, 1], [0, 1], ls="--", lw=0.8, color=mpl.rcParams["text.color"])
    for i, (label, found) in enumerate(curves):
        kept = found.counts >= FEWEST
        accuracy = found.correct[kept] / found.counts[kept]
        axes.plot(
            found.mean_confidences[kept], accuracy, label=label, lw=1.2, markersize=4,
            color=COLORS[i % len(COLORS)], marker=MARKERS[i % len(MARKERS)],
        )  # fmt: skip
    axes.set(xlim=(0, 1.02), ylim=(0, 1.02), xlabel="Confidence", aspect="equal")
    axes.legend(loc="upper left")


def _count(size: int) -> str:
    return "one network" if size == 1 else f"{size} networks"
