"""Plot the figures that only the article has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.special import ndtri

from elmlda import paper
from elmlda.core import FloatArray
from elmlda.reports import figures
from elmlda.reports.load import METHODS
from elmlda.reports.stats import LEVEL
from elmlda.reports.tables import IMPROVEMENT_ROUNDING, RATE_ROUNDING

WIDTH = 5.2
"""Inches, of all figures in the article."""


def plot_minus(figure: Figure, table: pd.DataFrame) -> None:
    """Plot our rates and improvements minus the printed ones, with the intervals of both.

    Parameters
    ----------
    table : table1_details.csv at the printed fan-outs
    """
    figure.set_size_inches(WIDTH, 4.4)
    above, below = figure.subplots(2, 1, sharex=True)
    x, z = np.arange(len(table)), ndtri(0.5 + LEVEL / 2)
    sd = table[["pi_sd", "pi_constant_sd", "lda_sd"]].max(axis=1)
    errors = np.hypot(sd / np.sqrt(paper.REPEATS), RATE_ROUNDING)
    # Ours are 200 networks too, so the paper's sampling error is ours.
    halves = np.hypot(table["improvement_interval"], z * IMPROVEMENT_ROUNDING)
    for axes, half in ((above, z * errors), (below, halves)):
        axes.bar(x, 2 * half, 0.8, -half, color=figures.GRID, label="the printed number")
        axes.axhline(0, color=figures.INK, lw=0.8)
        axes.grid(visible=False, axis="x")
    looks = {"pi": figures.PI, "pi_constant": figures.PI | figures.HOLLOW, "lda": figures.LDA}
    for shift, method in zip((-0.22, 0, 0.22), looks, strict=True):
        printed = table[f"paper_{method.removesuffix('_constant')}_error_percent"]
        plot_difference(above, x + shift, table, f"{method}_error_percent", printed, looks[method])
    gains = {"improvement": "pi", "constant_improvement": "pi_constant"}
    for shift, (name, method) in zip((-0.11, 0.11), gains.items(), strict=True):
        printed = table["paper_improvement_percent"]
        plot_difference(below, x + shift, table, f"{name}_percent", printed, looks[method])
    for axes, method in ((above, "pi"), (above, "pi_constant"), (above, "lda")):
        axes.plot([], [], label=METHODS[method], linestyle="", **looks[method])
    above.set(ylabel="Error rate (points)", title="Ours minus printed")
    below.set(ylabel="Improvement (points)", xlabel="Fan-out")
    below.set_xticks(x, [str(fanout) for fanout in table["fanout"]])
    figures.add_legend(figure)


def plot_difference(
    axes: Axes,
    x: FloatArray,
    table: pd.DataFrame,
    column: str,
    printed: pd.Series,
    look: dict[str, Any],
) -> None:
    """Plot a column minus the printed numbers, with the column's intervals."""
    half = table[f"{column.removesuffix('_percent').removesuffix('_error')}_interval"]
    axes.errorbar(x, table[column] - printed, half, linestyle="", capsize=2, **look)
