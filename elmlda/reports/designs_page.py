"""Nested against independent, as a section of a run's report."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

from elmlda.reports.cells import show_half, show_interval, show_number
from elmlda.reports.designs import describe_correlations, describe_designs
from elmlda.reports.figures import COLORS, LDA_STYLE, PI_STYLE
from elmlda.reports.page import Cell, Column, PageFigure, Section, Table
from elmlda.reports.rates import METHOD_NAMES, SHORT_NAMES
from elmlda.reports.records import RunRecords

STYLES: dict[str, dict[str, Any]] = {
    "pi": PI_STYLE,
    "pi_constant": {"color": COLORS[2], "marker": "D"},
    "lda": LDA_STYLE,
}
RATIO_TICKS = (0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 2, 3, 5)


def make_designs_sections(table: pd.DataFrame, run: RunRecords) -> Iterator[Section]:
    """Figure, tables and sentences; `table` is `tabulate_designs`'s."""
    yield Section(
        "designs",
        "Nested against independent",
        _make_table(table),
        [
            PageFigure(
                "designs",
                "Differences of means and ratios of standard deviations of the two designs",
                "Nested minus independent: difference of the mean error rates (left) and ratio of the "
                "standard deviations over repeats (right), with 95 % intervals.",
                partial(plot_designs, table=table),
            )
        ],
        " ".join([*describe_designs(table), NOTE]),
    )
    correlations = " ".join(describe_correlations(table, run))
    if correlations:
        yield Section(
            "correlations",
            "Nested against independent: correlation of fan-outs",
            _make_correlations(table.dropna(subset=["next_fanout"])),
            [],
            f"{correlations} Intervals are Fisher's.",
        )


NOTE = (
    "Intervals: Welch's of the difference of means, the F distribution's of the ratio of standard "
    "deviations."
)


def _make_table(table: pd.DataFrame) -> Table:
    columns = [
        Column("Method"),
        Column("Fan-out"),
        Column("Repeats", extra=True),
        Column("Nested, %"),
        Column("Independent, %"),
        Column("Difference, points"),
        Column("p, Holm", extra=True),
        Column("SD, nested", extra=True),
        Column("SD, independent", extra=True),
        Column("Ratio of SD"),
        Column("p, Holm", extra=True),
    ]
    rows = [_make_row(row) for row in table.to_dict("records")]
    return Table("Error rates in per cent over repeats, with 95 % intervals", columns, rows)


def _make_row(row: dict[Any, Any]) -> list[Cell]:
    repeats = row["nested_repeats"], row["independent_repeats"]
    return [
        Cell(SHORT_NAMES[row["method"]], row["method"]),
        show_number(row["fanout"], "{:.3g}"),
        Cell(f"{repeats[0]}, {repeats[1]}", float(repeats[0])),
        show_number(row["nested_error_percent"], "{:.3f}"),
        show_number(row["independent_error_percent"], "{:.3f}"),
        show_half(row["difference"], row["difference_high"] - row["difference"], "{:+.3f}"),
        show_number(row["difference_p_holm"], "{:.2g}"),
        show_number(row["nested_sd"], "{:.3f}"),
        show_number(row["independent_sd"], "{:.3f}"),
        _show(row, "sd_ratio", "{:.2f}"),
        show_number(row["sd_ratio_p_holm"], "{:.2g}"),
    ]


def _make_correlations(table: pd.DataFrame) -> Table:
    titles = ("Method", "Fan-outs", "Nested", "Independent")
    rows = [
        [
            Cell(SHORT_NAMES[row["method"]], row["method"]),
            Cell(f"{row['fanout']:g} and {row['next_fanout']:g}", float(row["fanout"])),
            _show(row, "nested_correlation", "{:+.2f}"),
            _show(row, "independent_correlation", "{:+.2f}"),
        ]
        for row in table.to_dict("records")
    ]
    caption = "Correlation of the error rates at two fan-outs over repeats, with 95 % intervals"
    return Table(caption, [Column(title) for title in titles], rows)


def _show(row: dict[Any, Any], name: str, form: str) -> Cell:
    return show_interval(row[name], row[f"{name}_low"], row[f"{name}_high"], form)


def plot_designs(figure: Figure, table: pd.DataFrame) -> None:
    """Differences of means and ratios of standard deviations over fan-out."""
    figure.set_size_inches(6.8, 3.4)
    left, right = figure.subplots(1, 2)
    right.set_yscale("log")
    for axes, name, equal, label in (
        (left, "difference", 0, "Difference of means (points)"),
        (right, "sd_ratio", 1, "Ratio of standard deviations"),
    ):
        axes.axhline(equal, color=mpl.rcParams["axes.edgecolor"], lw=0.8)
        _plot_intervals(axes, table, name)
        axes.set_xlabel("Fan-out")
        axes.set_ylabel(label)
    right.yaxis.set_major_locator(FixedLocator(RATIO_TICKS))
    right.yaxis.set_minor_locator(NullLocator())
    right.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    figure.suptitle("Nested against independent, with 95 % intervals", fontsize=9)


def _plot_intervals(axes: Axes, table: pd.DataFrame, name: str) -> None:
    """A point with its interval for each method and fan-out, methods side by side."""
    fanouts = list(dict.fromkeys(table["fanout"]))
    for i, (method, rows) in enumerate(table.groupby("method", sort=False)):
        places = [fanouts.index(fanout) + 0.2 * (i - 1) for fanout in rows["fanout"]]
        below, above = rows[name] - rows[f"{name}_low"], rows[f"{name}_high"] - rows[name]
        axes.errorbar(
            places, rows[name], [below.fillna(0), above.fillna(0)], ls="", ms=4, lw=1.2, capsize=2.5,
            label=METHOD_NAMES[str(method)], **STYLES[str(method)],
        )  # fmt: skip
    axes.set_xticks(range(len(fanouts)), [f"{fanout:g}" for fanout in fanouts])
    axes.set_xlim(-0.5, len(fanouts) - 0.5)
    axes.grid(visible=False, axis="x")
