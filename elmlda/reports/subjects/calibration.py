"""Whether LDA-ELM's outputs are posterior probabilities: table, reliability diagram and sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial, reduce
from itertools import groupby
from typing import Any

import numpy as np
import pandas as pd

from elmlda.core.calibration import N_BINS, SMALLEST, Reliability
from elmlda.experiments.calibration import CalibrationRecord
from elmlda.reports import plots
from elmlda.reports.estimates import LEVEL, estimate_mean, normal_quantile
from elmlda.reports.model import Column, Drawing, Section, Table, make_table
from elmlda.reports.records import RunRecords
from elmlda.text import format_number

FEWEST = 20
"""Bins with fewer samples are not shown: their accuracy is too uncertain."""
NOTE = (
    "Confidence is the posterior of the chosen class; overconfident: its mean is above the accuracy. "
    f"Log-loss: mean of −log of the true class's posterior; what is below {SMALLEST:.2g}, the range of "
    "float32, counts as that (below range: in so many samples). Brier score: squared differences from "
    "1 for the true class and from 0 for the others, summed over classes, mean over samples. ECE, the "
    f"expected calibration error: mean difference of confidence and accuracy in {N_BINS} bins of equal "
    "width; by chance: what calibrated posteriors would have. ± is half the 95 % interval of the mean "
    "over groups of networks; that of confidence − accuracy allows for other test samples too."
)


def tabulate_calibration(records: Sequence[CalibrationRecord]) -> pd.DataFrame:
    """A row for each hidden size and number of combined networks, means over groups.

    Columns
    -------
    …_interval : half the width of the 95 % interval of the mean, empty for a single group
    floored : samples whose class has a posterior too small for float32
    ece_by_chance : what calibrated posteriors would have on so many samples
    overconfidence : confidence - accuracy in percentage points; its interval is of the groups and of
        the test samples, both together
    """
    ordered = sorted(records, key=lambda record: record.key)
    kinds = groupby(ordered, key=lambda record: (record.n_hidden, record.size))
    return pd.DataFrame([_row(list(group)) for _, group in kinds])


def _row(records: Sequence[CalibrationRecord]) -> dict[str, Any]:
    first, bins = records[0], [record.reliability for record in records]
    confidence = np.array([100 * record.confidence for record in records])
    accuracy = np.array([100 * one.accuracy for one in bins])
    row: dict[str, Any] = {
        "fanout": first.fanout,
        "n_hidden": first.n_hidden,
        "size": first.size,
        "groups": len(records),
        "floored": np.mean([record.floored for record in records]),
        "ece_by_chance": np.mean([one.ece_by_chance for one in bins]),
        **estimate_mean(confidence).columns("confidence_percent", "confidence_interval"),
        **estimate_mean(accuracy).columns("accuracy_percent", "accuracy_interval"),
    }
    for name in ("log_loss", "brier", "ece"):
        values = np.array([getattr(record, name) for record in records])
        row |= estimate_mean(values).columns(name, f"{name}_interval")
    gap = estimate_mean(confidence - accuracy)
    of_samples = 100 * np.mean([one.sample_error for one in bins]) * normal_quantile(LEVEL)
    half = math.hypot(np.nan_to_num(gap.half), of_samples)
    return row | {"overconfidence": gap.value, "overconfidence_interval": half}


def merge_bins(records: Sequence[CalibrationRecord], n_hidden: int, size: int) -> Reliability:
    """The bins of all groups of one kind."""
    wanted = (r.reliability for r in records if (r.n_hidden, r.size) == (n_hidden, size))
    return reduce(Reliability.plus, wanted)


def explain_calibration(table: pd.DataFrame) -> str:
    """Sentences on over- and underconfidence; `table` is `tabulate_calibration`'s."""
    largest = table[table["n_hidden"] == table["n_hidden"].max()]
    single, combined = table[table["size"] == 1], largest[largest["size"] > 1]
    sentences = []
    if len(single):
        places = [f"at fan-out {fanout:g}" for fanout in single["fanout"]]
        sentences.append(f"Single networks are {_join_verdicts(single, places)}.")
    if len(combined):
        places = [f"with {size} combined" for size in combined["size"]]
        networks = f"Networks of fan-out {combined['fanout'].iloc[0]:g}"
        sentences.append(f"{networks} are {_join_verdicts(combined, places)}.")
    if len(largest) > 1:
        sentences.append(_compare(largest.iloc[0], largest.iloc[-1]))
    return " ".join(sentences)


def _join_verdicts(rows: pd.DataFrame, places: Sequence[str]) -> str:
    """As in: overconfident by 1.20 ± 0.30 points at fan-out 1 and 2.00 ± 0.30 at fan-out 5."""
    clauses = []
    shown = zip(rows["overconfidence"], rows["overconfidence_interval"], places, strict=True)
    for verdict, some in groupby(shown, key=lambda one: _verdict(*one[:2])):
        if verdict:
            words = [f"{abs(gap):.2f} ± {half:.2f} points {place}" for gap, half, place in some]
            others = [word.replace(" points", "") for word in words[1:]]
            clauses.append(f"{verdict} by {_and([words[0], *others])}")
        else:
            words = [
                f"{place} ({format_number(gap, '.2f')} ± {half:.2f} points)"
                for gap, half, place in some
            ]
            clauses.append(f"neither over- nor underconfident beyond chance {_and(words)}")
    return "; ".join(clauses)


def _verdict(gap: float, half: float) -> str:
    """Nothing if the interval has 0 in it."""
    return "" if abs(gap) <= half else "overconfident" if gap > 0 else "underconfident"


def _and(words: Sequence[str]) -> str:
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last


def _compare(few: pd.Series[Any], many: pd.Series[Any]) -> str:
    first = "alone" if few["size"] == 1 else f"with {few['size']:.0f} combined"
    return (
        f"Their calibration error is {few['ece']:.4f} {first} and {many['ece']:.4f} with "
        f"{many['size']:.0f} combined, where calibrated posteriors would have "
        f"{many['ece_by_chance']:.4f} by chance; their log-loss is {few['log_loss']:.3f} and "
        f"{many['log_loss']:.3f}."
    )


COLUMNS = [
    Column("Fan-out", "fanout", ".3g"),
    Column("Networks combined", "size", ".0f"),
    Column("Groups", "groups", ".0f", extra=True),
    Column("Log-loss", "log_loss", ".3f", "log_loss_interval"),
    Column("below range", "floored", ".1f", extra=True),
    Column("Brier score", "brier", ".4f", "brier_interval", extra=True),
    Column("ECE", "ece", ".4f", "ece_interval"),
    Column("by chance", "ece_by_chance", ".4f", extra=True),
    Column("Confidence, %", "confidence_percent", ".2f", "confidence_interval", extra=True),
    Column("Accuracy, %", "accuracy_percent", ".2f", "accuracy_interval", extra=True),
    Column("confidence − accuracy, points", "overconfidence", "+.2f", "overconfidence_interval"),
]


def show_table(table: pd.DataFrame, beside_paper: bool = False) -> Table:
    """For display."""
    caption = "LDA-ELM's posteriors, means over groups of networks"
    return make_table(caption, table, COLUMNS, beside_paper)


def make_sections(run: RunRecords, table: pd.DataFrame) -> Iterator[Section]:
    """Table, figure and words."""
    bins = {
        (fanout, size): merge_bins(run.calibration, n_hidden, size)
        for fanout, n_hidden, size in table[["fanout", "n_hidden", "size"]].itertuples(index=False)
    }
    figure = Drawing(
        "reliability",
        "Accuracy over confidence, for single networks and for combined ones",
        "How often the chosen class is right, over its posterior. Calibrated posteriors lie on the "
        f"dashed line, overconfident ones below. Bins of fewer than {FEWEST} samples are left out.",
        partial(plot_reliability, bins=bins),
    )
    yield Section(
        "calibration",
        "Are they posteriors?",
        summary=explain_calibration(table),
        figures=[figure],
        tables=[show_table(table)],
        note=NOTE,
    )


def plot_reliability(figure: plots.Figure, bins: Mapping[tuple[float, int], Reliability]) -> None:
    """Single networks by fan-out on the left, the largest fan-out's combined on the right.

    Parameters
    ----------
    bins : fan-out and number of combined networks -> all their groups' bins
    """
    largest = max(fanout for fanout, _ in bins)
    single = [(f"fan-out {fanout:g}", found) for (fanout, size), found in bins.items() if size == 1]
    combined = [
        ("one network" if size == 1 else f"{size} networks", found)
        for (fanout, size), found in bins.items()
        if fanout == largest
    ]
    # One network of the largest fan-out is in both: first, so that it looks the same.
    shown = {"Single networks": single[::-1]} if single else {}
    if any(size > 1 for _, size in bins):
        shown[f"Networks of fan-out {largest:g} combined"] = combined
    figure.set_size_inches(plots.WIDTH / 2 * len(shown), 3.0)
    all_axes = figure.subplots(1, len(shown), squeeze=False)[0]
    for axes, (title, curves) in zip(all_axes, shown.items(), strict=True):
        _plot_panel(axes, curves)
        axes.set_title(title)
    all_axes[0].set_ylabel("Accuracy")


def _plot_panel(axes: plots.Axes, curves: Sequence[tuple[str, Reliability]]) -> None:
    axes.plot([0, 1], [0, 1], ls="--", lw=0.8, color=plots.ink())
    for i, (label, found) in enumerate(curves):
        kept = found.counts >= FEWEST
        accuracy = found.correct[kept] / found.counts[kept]
        axes.plot(found.mean_confidences[kept], accuracy, label=label, **plots.style(i))
    axes.set(xlim=(0, 1.02), ylim=(0, 1.02), xlabel="Confidence", aspect="equal")
    axes.legend(loc="upper left", labelspacing=0.2, handlelength=1.2, borderpad=0)
