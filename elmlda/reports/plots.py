"""What all figures share: theme, file formats, axes, intervals, legends.

A figure is drawn by a function that takes an empty matplotlib figure. Nothing here depends on the
user's matplotlibrc, backend or locale, and the same input gives the same bytes. matplotlib is imported
only when something is drawn.
"""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure as Figure

Plot = Callable[["Figure"], None]

# Okabe and Ito's colours, told apart by colour-blind readers; markers differ too.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00")
DARK_COLORS = ("#56B4E9", "#E8803A", "#2FC49B", "#E3A1C6", "#F0C04A")
MARKERS = ("o", "s", "D", "^", "v")
LDA, PI, THIRD = 0, 1, 2
"""Indices of colours and markers: the methods, and a third curve."""
FONT_SIZE = 9
WIDTH = 5.2
"""Inches: letters are as large as the page's small print at 1280 pixels, and readable at 360."""
STYLE: Any = {
    "font.size": FONT_SIZE,
    "axes.titlesize": FONT_SIZE,
    "figure.titlesize": FONT_SIZE,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "lines.linewidth": 1.2,
    "lines.markersize": 4,
    "legend.frameon": False,
    "svg.hashsalt": "elmlda",
    "svg.fonttype": "none",
    "text.parse_math": False,  # a data set's name may have a dollar in it
}
INKS = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
DARK_STYLE: Any = {
    **STYLE,
    **dict.fromkeys(["figure.facecolor", "savefig.facecolor", "axes.facecolor"], "#16181c"),
    "grid.color": "#3a3f47",
    **dict.fromkeys(INKS, "#e6e6e6"),
}
THEMES: Any = {"light": STYLE, "dark": DARK_STYLE}
METADATA: dict[str, Any] = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}
FANOUT_LABEL = "Fan-out (hidden units for each input)"
RATE_LABEL = "Test error rate (%)"


def draw(
    plot: Plot, suffixes: Iterable[str] = ("png", "svg"), theme: str = "light"
) -> dict[str, bytes]:
    """Suffix -> the file's content; `plot` draws on an empty figure and may change its size."""
    with _plain_environment():
        import matplotlib
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        with matplotlib.rc_context(), warnings.catch_warnings():
            matplotlib.rcdefaults()
            matplotlib.rcParams.update(THEMES[theme])
            # A name may have letters that the font lacks: the page's font may have them.
            warnings.filterwarnings("ignore", "Glyph .* missing|Matplotlib currently does not support")
            figure = Figure(figsize=(WIDTH, 3.4), layout="constrained")
            FigureCanvasAgg(figure)
            plot(figure)
            return {suffix: _save(figure, suffix) for suffix in suffixes}


def _save(figure: Figure, suffix: str) -> bytes:
    content = io.BytesIO()
    figure.savefig(content, format=suffix, dpi=200, metadata=METADATA[suffix])
    figure.set_layout_engine("none")  # it has its layout now, which takes as long as to draw
    return content.getvalue()


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


def ink() -> str:
    """The colour of text."""
    import matplotlib

    return str(matplotlib.rcParams["text.color"])


def color(place: int) -> str:
    """The theme's colour for something that is compared."""
    colors = COLORS if ink() == "black" else DARK_COLORS
    return colors[place % len(colors)]


def style(place: int) -> dict[str, Any]:
    """Colour and marker."""
    return {"color": color(place), "marker": MARKERS[place % len(MARKERS)]}


def shade(end: str) -> Any:
    """A colour map from the background to this colour."""
    import matplotlib
    from matplotlib.colors import LinearSegmentedColormap

    background = matplotlib.rcParams["figure.facecolor"]
    return LinearSegmentedColormap.from_list("shade", [background, end])


def integer_axis(axis: Axis, label: str = FANOUT_LABEL) -> None:
    """Ticks at whole numbers."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    axis.set_label_text(label)


def place_ticks(axis: Axis, ticks: Sequence[float]) -> None:
    """At these numbers, as they are, also on a logarithmic axis."""
    from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

    axis.set_major_locator(FixedLocator(list(ticks)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))


def log_ticks(axis: Axis) -> None:
    """Four round numbers or more; on a short axis, which is nearly linear, at even distances."""
    from matplotlib.ticker import MaxNLocator

    low, high = axis.get_view_interval()
    decades = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    for digits in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 5, 7)):
        candidates = np.outer(decades, digits).ravel()
        ticks = candidates[(candidates >= low) & (candidates <= high)]
        if len(ticks) >= 4:
            return place_ticks(axis, ticks.tolist())
    return place_ticks(axis, list(MaxNLocator(6).tick_values(low, high)[1:-1]))


def keep_apart(places: Iterable[float]) -> list[float]:
    """Those that leave room for their labels on a logarithmic axis."""
    kept: list[float] = []
    for place in places:
        if not kept or place >= 1.6 * kept[-1]:
            kept.append(place)
    return kept


def plot_band(
    axes: Axes, x: pd.Series[Any], y: pd.Series[float], half: pd.Series[float], **line: Any
) -> None:
    """A line with its interval; where half its width is not known there is none."""
    axes.plot(x, y, **{"markersize": 3, **line})
    half = half.fillna(0)
    if half.any():
        axes.fill_between(x, y - half, y + half, color=line["color"], alpha=0.25, lw=0)


def plot_points(axes: Axes, x: Any, y: Any, half: Any, **line: Any) -> None:
    """Points with error bars; `half` is the width on each side, or two widths, NaN where unknown."""
    axes.errorbar(x, y, np.nan_to_num(half), **{"capsize": 2.5, "ls": "", **line})


def plot_papers(axes: Axes, x: Any, y: Any, label: str, **point: Any) -> None:
    """The paper's points: large, hollow."""
    axes.plot(x, y, ls="", ms=6.5, mfc="none", zorder=3, label=label, **point)


def mark_papers(axes: Axes, printed: Mapping[Any, float], label: str, marker: str) -> None:
    """What the paper prints of something that has no colour of its own."""
    plot_papers(axes, list(printed), list(printed.values()), label, color=ink(), marker=marker)


def mark_zero(axes: Axes, at: float = 0.0) -> None:
    """A line where nothing differs."""
    axes.axhline(at, color=ink(), lw=0.8)


def name_rows(axes: Axes, names: Sequence[str]) -> None:
    """Names down the left side, the first on top."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")


def legend_below(figure: Figure, axes: Axes | None = None, n_columns: int = 2) -> None:
    """Under everything; of one of several panels, if they have the same entries."""
    entries = axes.get_legend_handles_labels() if axes else ()
    figure.legend(*entries, loc="outside lower center", ncols=n_columns, columnspacing=1.2)


def count_repeats(repeats: pd.Series[int]) -> str:
    """As in: mean of 3 to 200 repeats."""
    low, high = int(repeats.min()), int(repeats.max())
    if high == 1:
        return "one repeat"
    return f"mean of {low} repeats" if low == high else f"mean of {low} to {high} repeats"


def name_means(repeats: pd.Series[int], half: pd.Series[float]) -> str:
    """The same, with the intervals if they are drawn."""
    which = "95 % intervals" if half.notna().all() else "95 % intervals where drawn"
    return count_repeats(repeats) + (f", {which}" if half.notna().any() else "")
