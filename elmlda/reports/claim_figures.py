"""How far ours are from the paper's numbers, as a figure."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator

from elmlda import paper
from elmlda.reports.estimates import LEVEL, normal_quantile
from elmlda.reports.figures import LDA_STYLE, PI_STYLE

SERIES: dict[str, tuple[str, float, dict[str, Any]]] = {
    "pi": ("PI-ELM, Eq. (5)", -0.22, PI_STYLE),
    "pi_constant": ("PI-ELM with a constant unit", 0.0, {**PI_STYLE, "mfc": "none"}),
    "lda": ("LDA-ELM", 0.22, LDA_STYLE),
}
"""Method -> its name, its shift beside the others, its style."""


def plot_distance(figure: Figure, table: pd.DataFrame) -> None:
    """Distance (z) of every rate of Table 1, both readings of PI-ELM; `table` is `tabulate_sweep`'s.

    At least one rate needs a spread: two repeats at a printed fan-out.
    """
    axes = figure.subplots()
    rows = table[table["fanout"].isin(paper.FANOUTS)]
    ink, limit = mpl.rcParams["axes.edgecolor"], normal_quantile(LEVEL)
    axes.axhspan(-limit, limit, color=ink, alpha=0.1, lw=0, label=f"within ± {limit:.2f}")
    axes.axhline(0, color=ink, lw=0.8)
    for method, (label, shift, style) in SERIES.items():
        places, z = rows["fanout"] + shift, rows[f"{method}_distance"]
        axes.vlines(places, 0, z, color=style["color"], lw=0.8, alpha=0.6)
        axes.plot(places, z, ls="", ms=5, label=label, **style)
    axes.xaxis.set_major_locator(FixedLocator(list(paper.FANOUTS)))
    axes.grid(visible=False, axis="x")
    distances = rows[[f"{method}_distance" for method in SERIES]].to_numpy(float)
    largest = float(np.nanmax(np.abs(distances)))
    reach = max(1.35 * limit, 1.08 * largest)
    axes.set_ylim(-reach, reach)
    axes.set(xlabel="Fan-out (hidden units for each input)", ylabel="z: ours − the paper's, in SE")
    count = " to ".join(str(n) for n in sorted({rows["repeats"].min(), rows["repeats"].max()}))
    axes.set_title(f"Distance from Table 1, {count} repeats against the paper's {paper.REPEATS}")
    figure.legend(loc="outside lower center", ncols=4, columnspacing=1.2, handlelength=1.2)
