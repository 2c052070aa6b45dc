"""Whether the nested design gives the statistics of the independent one, the paper's protocol.

A run keeps a sweep of the independent design in a folder inside its own. Both have networks of the
same kind at every fan-out, so means and standard deviations should agree. What differs by
construction: in the nested design one network gives all fan-outs of a repeat, so they are correlated.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from elmlda.core.arrays import FloatArray
from elmlda.reports import plots
from elmlda.reports.estimates import LEVEL
from elmlda.reports.model import Column, Drawing, Section, make_table
from elmlda.reports.rates import (
    METHOD_NAMES,
    METHOD_PLACES,
    SHORT_NAMES,
    adjust_holm,
    brown_forsythe_p,
    compare_means,
    compare_spreads,
    pivot_by_repeat,
)
from elmlda.reports.records import RunRecords
from elmlda.text import format_number

ALPHA = 1 - LEVEL
TESTS = {"difference": compare_means, "sd_ratio": compare_spreads}
"""Column -> what it is of the rates of the two designs."""
RATIO_TICKS = (0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 2, 3, 5)
COLUMNS = [
    Column("Method", "name"),
    Column("Fan-out", "fanout", ".3g"),
    Column("Repeats", "repeats", extra=True),
    Column("Nested, %", "nested_error_percent", ".3f"),
    Column("Independent, %", "independent_error_percent", ".3f"),
    Column("Difference, points", "difference", "+.3f", "difference_half"),
    Column("p, Holm", "difference_p_holm", ".2g", extra=True),
    Column("SD, nested", "nested_sd", ".3f", extra=True),
    Column("SD, independent", "independent_sd", ".3f", extra=True),
    Column("Ratio of SD", "sd_ratio", ".2f", bounds=True),
    Column("p, Holm", "sd_ratio_p_holm", ".2g", extra=True),
]
NOTE = (
    "Intervals: Welch's of the difference of means, the F distribution's of the ratio of standard "
    "deviations."
)


def find_independent(run: RunRecords) -> RunRecords | None:
    """The independent sweep inside the run's folder, if the two can be compared."""
    other = run.independent
    return other if other and not explain_obstacle(run, other) else None


def explain_obstacle(run: RunRecords, other: RunRecords) -> str:
    """Why the two can't be compared; empty if they can."""
    ours, theirs = run.settings, other.settings
    if theirs.get("design") != "independent":
        return f"its design is {theirs.get('design')}"
    if ours.get("sha256") != theirs.get("sha256"):
        return "it has other data"
    differing = [
        f"{name} {theirs.get(name)} there, {ours.get(name)} here"
        for name in run.list_differing(other, ("design",))
    ]
    if not differing and not _common_fanouts(run, other):
        return "they have no fan-out in common"
    return "; ".join(differing)


def _common_fanouts(run: RunRecords, other: RunRecords) -> list[float]:
    return sorted(set.intersection(*({record.fanout for record in r.sweep} for r in (run, other))))


def tabulate_designs(run: RunRecords, independent: RunRecords) -> pd.DataFrame:
    """designs.csv: a row for each method and fan-out that both designs have.

    Columns
    -------
    difference : nested minus independent, of the mean rates in percentage points; Welch's interval
    sd_ratio : standard deviation of the nested over that of the independent; F interval
    …_p : two-sided; …_p_holm : corrected for the number of rows
    brown_forsythe_p : of equal spreads, for rates that need not be normal
    """
    fanouts = _common_fanouts(run, independent)
    sizes = {record.fanout: record.n_hidden for record in independent.sweep}
    both = [pivot_by_repeat(one.sweep) for one in (run, independent)]
    rows = [
        {
            "method": method,
            "fanout": fanout,
            "n_hidden": sizes[fanout],
            **_compare(*(rates[method][fanout].dropna().to_numpy() for rates in both)),
        }
        for method in METHOD_NAMES
        for fanout in fanouts
    ]
    table = pd.DataFrame(rows)
    for test in TESTS:
        table[f"{test}_p_holm"] = adjust_holm(table[f"{test}_p"])
    return table


def _compare(nested: FloatArray, independent: FloatArray) -> dict[str, Any]:
    both = {"nested": nested, "independent": independent}
    row: dict[str, Any] = {f"{name}_repeats": len(rates) for name, rates in both.items()}
    row |= {f"{name}_error_percent": rates.mean() for name, rates in both.items()}
    row |= {f"{name}_sd": pd.Series(rates).std() for name, rates in both.items()}
    for name, compare in TESTS.items():
        found = compare(nested, independent)
        row |= {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high}
        row |= {f"{name}_p": found.p, f"{name}_p_holm": np.nan}  # filled in when all rows are known
    return row | {"brown_forsythe_p": brown_forsythe_p(nested, independent)}


def describe_designs(table: pd.DataFrame) -> list[str]:
    """What means and standard deviations say, in sentences that follow from the numbers."""
    known = table.dropna(subset=["difference_low", "sd_ratio_low"])
    if known.empty:
        return ["There are too few repeats to compare the designs."]
    surely = (known[[f"{test}_p_holm" for test in TESTS]] < ALPHA).any(axis=1)
    names = [
        f"{METHOD_NAMES[method]} at fan-out {fanout:g}"
        for method, fanout in known.loc[surely, ["method", "fanout"]].itertuples(index=False)
    ]
    largest = known[["difference_low", "difference_high"]].abs().to_numpy().max()
    low, high = known["sd_ratio_low"].min(), known["sd_ratio_high"].max()
    robust = pd.Series(adjust_holm(known["brown_forsythe_p"]))
    return [
        f"The designs differ beyond chance: {', '.join(names)}."
        if names
        else "No difference between the designs is found in any mean or standard deviation.",
        _describe_test(known, "difference", 0, "differences of means"),
        _describe_test(known, "sd_ratio", 1, "ratios of standard deviations"),
        "The F intervals assume normal rates; Brown and Forsythe's test, which does not, finds "
        f"{(robust < ALPHA).sum()} of {len(robust)} standard deviations to differ after Holm's "
        f"correction (smallest p {robust.min():.2g}).",
        f"Each by its own interval, means differ by at most {largest:.3f} points, and ratios of "
        f"standard deviations lie between {low:.2f} and {high:.2f}.",
    ]


def _describe_test(known: pd.DataFrame, test: str, equal: int, what: str) -> str:
    holding = known[f"{test}_low"].le(equal) & known[f"{test}_high"].ge(equal)
    corrected = known[f"{test}_p_holm"]
    return (
        f"Of {len(known)} {what}, {holding.sum()} have a 95 % interval that holds {equal} "
        f"({ALPHA * len(known):.1f} are expected to miss it by chance); after Holm's correction for "
        f"{len(known)} tests {(corrected < ALPHA).sum()} differ (smallest p {corrected.min():.2g})."
    )


def describe_correlations(nested: RunRecords, independent: RunRecords) -> Iterator[str]:
    """What the two designs differ in by construction; nothing if there are too few repeats."""
    neighbours = list(pairwise(_common_fanouts(nested, independent)))
    ranges = []
    for run in (nested, independent):
        tables = pivot_by_repeat(run.sweep).values()
        found = [rates[a].corr(rates[b], min_periods=4) for rates in tables for a, b in neighbours]
        if not found or not np.isfinite(found).all():
            return
        ranges.append(" to ".join(format_number(bound, ".2f") for bound in (min(found), max(found))))
    pairs = ", ".join(f"{a:g} and {b:g}" for a, b in neighbours)
    yield (
        "The joint distribution differs by construction: in the nested design a repeat's fan-outs "
        f"share their first hidden units, so that its rates at fan-outs {pairs} correlate by "
        f"{ranges[0]}, in the independent design by {ranges[1]}. What is said over several fan-outs "
        "must therefore keep a repeat's fan-outs together."
    )


def make_sections(run: RunRecords, table: pd.DataFrame) -> Iterator[Section]:
    """Figure, table and sentences; `run` has an independent sweep to compare with."""
    shown = table.assign(
        name=table["method"].map(SHORT_NAMES),
        repeats=table["nested_repeats"].astype(str) + ", " + table["independent_repeats"].astype(str),
        difference_half=table["difference_high"] - table["difference"],
    )
    caption = "Error rates in per cent over repeats, with 95 % intervals"
    figure = Drawing(
        "designs",
        "Differences of means and ratios of standard deviations of the two designs",
        "Nested minus independent on the left, nested over independent on the right.",
        partial(plot_designs, table=table),
    )
    assert run.independent
    correlations = describe_correlations(run, run.independent)
    yield Section(
        "designs",
        "Nested against independent",
        figures=[figure],
        tables=[make_table(caption, shown, COLUMNS)],
        note=" ".join([*describe_designs(table), NOTE, *correlations]),
    )


def plot_designs(figure: plots.Figure, table: pd.DataFrame) -> None:
    """Differences of means and ratios of standard deviations over fan-out."""
    figure.set_size_inches(plots.WIDTH, 3.4)
    left, right = figure.subplots(1, 2)
    right.set_yscale("log")
    for axes, name, equal, label in (
        (left, "difference", 0, "Difference of means (points)"),
        (right, "sd_ratio", 1, "Ratio of standard deviations"),
    ):
        plots.mark_zero(axes, equal)
        _plot_intervals(axes, table, name)
        axes.set(xlabel="Fan-out", ylabel=label)
    plots.place_ticks(right.yaxis, RATIO_TICKS)
    plots.legend_below(figure, left)
    figure.suptitle("Nested against independent, with 95 % intervals")


def _plot_intervals(axes: plots.Axes, table: pd.DataFrame, name: str) -> None:
    """A point with its interval for each method and fan-out, methods side by side."""
    fanouts = list(dict.fromkeys(table["fanout"]))
    for i, (method, rows) in enumerate(table.groupby("method", sort=False)):
        places = [fanouts.index(fanout) + 0.2 * (i - 1) for fanout in rows["fanout"]]
        sides = [rows[name] - rows[f"{name}_low"], rows[f"{name}_high"] - rows[name]]
        look = {"label": METHOD_NAMES[str(method)], **plots.style(METHOD_PLACES[str(method)])}
        plots.plot_points(axes, places, rows[name], sides, **look)
    axes.set_xticks(range(len(fanouts)), [f"{fanout:g}" for fanout in fanouts])
    axes.set_xlim(-0.5, len(fanouts) - 0.5)
    axes.grid(visible=False, axis="x")
