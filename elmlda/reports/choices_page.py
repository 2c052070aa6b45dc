"""The report of `elmlda choices`: its figure, tables and page."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

from elmlda.reports.cells import show_half, show_number
from elmlda.reports.choices import (
    NEAR,
    VARIED,
    describe_choices,
    find_choice_gaps,
    summarise_choices,
    tabulate_choices,
)
from elmlda.reports.designs_page import STYLES
from elmlda.reports.estimates import LEVEL
from elmlda.reports.figures import MARKERS
from elmlda.reports.files import write_report_files
from elmlda.reports.page import Cell, Column, PageFigure, Section, Table
from elmlda.reports.rates import METHOD_NAMES, SHORT_NAMES
from elmlda.reports.records import RunRecords
from elmlda.reports.together import build_joint_context

TICKS = (-300, -100, -30, -10, -5, -2, 0, 2, 5, 10, 30, 100, 300)


def write_choices(
    folder: Path, runs: Sequence[RunRecords], formats: Collection[str]
) -> tuple[str, list[Path]]:
    """Write what the combinations say together; returns the finding, and paths."""
    table = tabulate_choices(runs)
    findings = describe_choices(table)
    settings = {
        name.replace("_", " "): value
        for name, value in runs[0].settings.items()
        if name not in (*VARIED, "sha256")
    }
    context = build_joint_context(
        f"elmlda choices on {runs[0].settings.get('dataset')}",
        "Which activation and input scale agree with the paper?",
        findings,
        _make_sections(table),
        [run for run in runs if run.sweep],
        settings,
        runs[0].settings.get("sha256"),
        list(find_choice_gaps(runs)),
    )
    return findings[0], write_report_files(folder, formats, {"choices": table}, context)


def _make_sections(table: pd.DataFrame) -> list[Section]:
    every = Section("rates", "Every rate", _make_rates_table(table), [], RATES_NOTE)
    summary = summarise_choices(table)
    if summary.empty:
        return [every]
    figure = PageFigure(
        "choices",
        "Distance of each combination's error rates from Table 1, in standard errors",
        "Ours minus the paper's in standard errors of the difference; shaded: within "
        f"± {NEAR}. The axis is linear up to 2 and logarithmic beyond.",
        partial(plot_choices, table=table, labels=dict(summary[["choice", "label"]].to_numpy())),
    )
    both = pd.concat([summary, summarise_choices(table, "pi_constant")], keys=["pi", "pi_constant"])
    return [
        Section("distance", "Distance from Table 1", _make_summary(both), [figure], _explain(summary)),
        every,
    ]


def _explain(summary: pd.DataFrame) -> str:
    n_rates = int(summary["rates"].max())
    return (
        "Rates of PI-ELM and LDA-ELM count. Of the right combination, too, each rate is outside "
        f"± {NEAR} by chance in 5 of 100 studies, so that at least one of {n_rates} is in up to "
        f"{100 * (1 - LEVEL**n_rates):.0f} of 100."
    )


RATES_NOTE = (
    "± is half the 95 % interval of the mean. z: ours minus the paper's in standard errors of the "
    "difference: our sampling, that of the paper's 200 repeats, which are taken to vary like ours, and "
    "its rounding. Last column: mean of the repeats' own differences, on the same input weights and "
    "with the same scale of the inputs."
)


def _make_summary(summary: pd.DataFrame) -> Table:
    columns = [
        Column("Combination"),
        Column("PI-ELM is"),
        Column("Rates within"),
        Column("Largest |z|"),
        Column("Largest distance, points"),
        Column("Farthest off", extra=True),
    ]
    rows = [
        [
            Cell(row["label"], row["label"]),
            Cell(READINGS[pi], pi),
            Cell(f"{row['near']} of {row['rates']}", float(row["near"])),
            show_number(abs(row["largest_z"]), "{:.1f}"),
            show_number(row["largest_points"], "{:.2f}"),
            Cell(f"{SHORT_NAMES[row['at_method']]}, fan-out {row['at_fanout']:g}", row["at_method"]),
        ]
        for (pi, _), row in zip(summary.index, summary.to_dict("records"), strict=True)
    ]
    return Table("Combinations, the nearest to Table 1 first", columns, rows)


READINGS = {"pi": "Eq. (5)'s", "pi_constant": "with a constant unit"}


def _make_rates_table(table: pd.DataFrame) -> Table:
    columns = [
        Column("Combination"),
        Column("Method"),
        Column("Fan-out"),
        Column("Repeats", extra=True),
        Column("Error rate, %"),
        Column("SD", extra=True),
        Column("paper"),
        Column("difference, points", extra=True),
        Column("z"),
        Column(f"{table['activation'].iloc[0]} − this, points", extra=True),
    ]
    rows = [_make_row(row) for row in table.to_dict("records")]
    return Table("Error rates in per cent, means over repeats", columns, rows)


def _make_row(row: dict[Any, Any]) -> list[Cell]:
    return [
        Cell(row["choice"], row["choice"]),
        Cell(SHORT_NAMES[row["method"]], row["method"]),
        show_number(row["fanout"], "{:.3g}"),
        show_number(row["repeats"], "{:.0f}"),
        show_half(row["error_percent"], row["interval"], "{:.2f}"),
        show_number(row["sd"], "{:.3f}"),
        show_number(row["paper_error_percent"], "{:.2f}"),
        show_number(row["difference"], "{:+.2f}"),
        show_number(row["z"], "{:+.1f}"),
        show_half(row["paired_difference"], row["paired_interval"], "{:+.3f}"),
    ]


def plot_choices(figure: Figure, table: pd.DataFrame, labels: Mapping[str, str]) -> None:
    """Distance of every rate from the printed one, a line for each combination.

    Parameters
    ----------
    labels : name of the combination -> what people see, in order from the top
    """
    figure.set_size_inches(6.8, 1.9 + 0.45 * len(labels))
    axes = figure.subplots()
    axes.axvspan(-NEAR, NEAR, color=mpl.rcParams["grid.color"], alpha=0.5, lw=0)
    axes.axvline(0, color=mpl.rcParams["axes.edgecolor"], lw=0.8)
    known = table.dropna(subset=["z"])
    markers = dict(zip(sorted(set(known["fanout"])), cycle(MARKERS), strict=False))
    order = list(labels)
    for (method, fanout), rows in known.groupby(["method", "fanout"], sort=False):
        shift = 0.22 * (list(METHOD_NAMES).index(str(method)) - 1)
        places = [order.index(choice) + shift for choice in rows["choice"]]
        color = STYLES[str(method)]["color"]
        axes.scatter(rows["z"], places, s=20, marker=markers[fanout], color=color, linewidths=0)
    axes.set_yticks(range(len(order)), list(labels.values()))
    axes.set_ylim(len(order) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("Distance from Table 1 (standard errors)")
    _scale_distances(axes, known["z"])
    _add_legends(figure, markers)


def _scale_distances(axes: Axes, distances: pd.Series[float]) -> None:
    """Linear where chance may explain a distance, logarithmic beyond."""
    low, high = 1.5 * min(distances.min(), -NEAR), 1.5 * max(distances.max(), NEAR)
    axes.set_xscale("symlog", linthresh=2)
    axes.set_xlim(low, high)
    axes.xaxis.set_major_locator(FixedLocator([tick for tick in TICKS if low <= tick <= high]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))


def _add_legends(figure: Figure, markers: Mapping[float, str]) -> None:
    ink = mpl.rcParams["text.color"]
    sizes = [
        Line2D([], [], ls="", ms=4.5, marker=marker, color=ink, label=f"fan-out {fanout:g}")
        for fanout, marker in markers.items()
    ]
    methods = [
        Line2D([], [], lw=4, color=STYLES[method]["color"], label=name)
        for method, name in METHOD_NAMES.items()
    ]
    figure.legend(handles=sizes, loc="outside upper center", ncols=7)
    figure.legend(handles=methods, loc="outside lower center", ncols=3)
