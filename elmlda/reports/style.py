"""The one style of all figures: colours for light and dark pages, files, axes, intervals, legends.

A figure is one SVG for light and dark: its colours are CSS variables. Nothing here depends on the
user's matplotlibrc, backend or locale, and the same numbers give the same bytes. matplotlib is imported
only when something is drawn.
"""

from __future__ import annotations

import io
import os
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

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
    "ink": {"color": INK, "marker": "D"},
}
CURVES = ((BLUE, "o"), (RED, "s"), (GREEN, "D"), (PINK, "^"), (YELLOW, "v"), (INK, "P"))
WIDTH = 5.2
"""Inches: letters are as large as the page's small print at 1280 pixels, and readable at 390."""
METADATA: dict[str, Any] = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}
FANOUT_LABEL, HIDDEN_LABEL = "Fan-out (hidden units for each input)", "Hidden units"
RATE_LABEL = "Test error rate (%)"
PAPERS = ", the paper"


def draw(plot: Callable[..., None], *args: Any, suffix: str = "svg", **options: Any) -> bytes:
    """The file's content; `plot` draws on an empty figure and may change its size."""
    with _plain_environment():
        import matplotlib
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        with matplotlib.rc_context(), warnings.catch_warnings():
            matplotlib.rcdefaults()
            sheet = Path(__file__).with_name("templates") / "elmlda.mplstyle"
            matplotlib.rcParams.update(
                matplotlib.rc_params_from_file(sheet, use_default_template=False)
            )
            # A name may have letters that the font lacks: the page's font may have them.
            warnings.filterwarnings("ignore", "Glyph .* missing|Matplotlib currently does not support")
            figure = Figure(figsize=(WIDTH, 3.4), layout="constrained")
            FigureCanvasAgg(figure)
            plot(figure, *args, **options)
            content = io.BytesIO()
            figure.savefig(content, format=suffix, dpi=200, metadata=METADATA[suffix])
    return _theme(content.getvalue().decode()).encode() if suffix == "svg" else content.getvalue()


def theme_css(selector: str) -> str:
    """The variables that figures take their colours from."""
    light = "".join(f"--{color[1:]}:{color};" for color in DARK)
    dark = "".join(f"--{color[1:]}:{other};" for color, other in DARK.items())
    media = "@media screen and (prefers-color-scheme:dark)"
    return f"{selector}{{{light}}}{media}{{{selector}{{{dark}}}}}"


def _theme(svg: str) -> str:
    """Variables for colours, and no more digits or names than are needed."""
    for color in DARK:
        svg = svg.replace(color, f"var(--{color[1:]})")
    in_quotes, number = re.compile(r'"[^"]*"'), re.compile(r"-?\d+\.\d+")
    svg = in_quotes.sub(lambda text: number.sub(lambda n: f"{float(n[0]):.5g}", text[0]), svg)
    svg = re.sub(r'<g id="[^"]*">', "<g>", svg)
    return re.sub(r"(<svg [^>]*>)", rf"\1<style>{theme_css('svg')}</style>", svg, count=1)


@contextmanager
def _plain_environment() -> Iterator[None]:
    """Without variables that make matplotlib fail: an unknown backend or locale, an invalid date."""
    names = ("MPLBACKEND", "SOURCE_DATE_EPOCH", "LC_ALL")
    kept = {name: os.environ.pop(name) for name in names if name in os.environ}
    os.environ["LC_ALL"] = "C"
    try:
        yield
    finally:
        del os.environ["LC_ALL"]
        os.environ.update(kept)


def place_sizes(axes: Axes, table: pd.DataFrame, by_fanout: bool) -> pd.Series[float]:
    """Label the axis; the sizes to draw at."""
    whole_numbers(axes)
    axes.set_xlabel(FANOUT_LABEL if by_fanout else HIDDEN_LABEL)
    return table["fanout" if by_fanout else "n_hidden"].astype(float)


def mark_zero(axes: Axes) -> None:
    """A line where nothing differs."""
    axes.axhline(0, color=INK, lw=0.8)


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


def count_range(repeats: pd.Series[Any]) -> str:
    """As in: 3 to 200."""
    low, high = int(repeats.min()), int(repeats.max())
    return f"{low}" if low == high else f"{low} to {high}"


def plot_dots(axes: Axes, x: Any, y: Any, color: str) -> None:
    """All points as one path, a fraction of the size of as many markers."""
    from matplotlib import path
    from matplotlib.patches import PathPatch

    known = ~np.isnan(y)
    ends = np.repeat(np.column_stack([x[known], y[known]]), 2, axis=0)
    ends[1::2, 0] += 1e-3
    codes = np.tile([path.Path.MOVETO, path.Path.LINETO], known.sum())
    look = {"ec": color, "fc": "none", "lw": 2.2, "alpha": 0.6, "capstyle": "round"}
    axes.add_patch(PathPatch(path.Path(ends, codes), **look))
    axes.autoscale_view()
