"""Both readings of PI-ELM beside Table 1 as a whole: which one the paper has.

All printed fan-outs of Table 1 together, which tell more than each alone. Ours come from the same
networks in the nested design, so they are correlated; the paper drew new ones for each fan-out, but
trained both methods on them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from elmlda import paper
from elmlda.core.arrays import FloatArray
from elmlda.experiments.sweep import SweepRecord
from elmlda.reports.claims.rule import MINIMUM_REPEATS, Reading
from elmlda.reports.estimates import (
    DIFFERENCE_ROUNDING,
    LEVEL,
    RATE_ROUNDING,
    normal_quantile,
    take_means,
)
from elmlda.reports.model import Column, Section, make_table
from elmlda.reports.rates import PRINTED, pivot_by_repeat
from elmlda.reports.records import RunRecords
from elmlda.text import format_number

READINGS = {"pi": Reading.EQ5, "pi_constant": Reading.CONSTANT}
"""Method, as records name it -> the reading of PI-ELM."""
COLUMNS = [
    Column("PI-ELM", "reading"),
    Column("Repeats", "repeats", ".0f", extra=True),
    Column("ours − paper, points", "excess", "+.3f", "excess_interval"),
    Column("z", "excess_distance", "+.1f"),
    Column("PI − LDA, points", "gap", ".3f", "gap_interval"),
    Column("paper", "paper_gap", ".3f"),
    Column("z", "gap_distance", "+.1f"),
]
NOTE = (
    "Means over the 13 printed fan-outs. PI − LDA varies little, since both methods have the same "
    "networks, in the paper too. This was not fixed in advance, and no verdict depends on it."
)


def tabulate_readings(records: Sequence[SweepRecord]) -> pd.DataFrame:
    """readings.csv: a row for each reading; none before three networks have all printed fan-outs.

    Columns
    -------
    excess : PI-ELM's error rate minus the paper's, in points
    gap : PI-ELM's error rate minus LDA-ELM's
    …_interval : half the width of the 95 % interval
    …_distance : from the paper's, in standard errors of that difference
    """
    tables = pivot_by_repeat(records)
    rates = {m: t.reindex(columns=list(paper.FANOUTS)).dropna().to_numpy() for m, t in tables.items()}
    if len(rates["lda"]) < MINIMUM_REPEATS:
        return pd.DataFrame()
    return pd.DataFrame([_compare(method, rates[method], rates["lda"]) for method in READINGS])


def _compare(method: str, pi: FloatArray, lda: FloatArray) -> dict[str, Any]:
    n_fanouts = len(paper.FANOUTS)
    weights, of_mean = np.full(n_fanouts, 1 / n_fanouts), 1 / np.sqrt(n_fanouts)
    printed_pi, printed_lda = (np.array(list(PRINTED[m].values())) for m in (method, "lda"))
    gap_printed = float((printed_pi - printed_lda).mean())
    excess = take_means(pi - printed_pi).combine(weights)
    gap = take_means(pi - lda).combine(weights)
    return {
        "reading": READINGS[method].value,
        "repeats": len(pi),
        **excess.estimate().columns("excess", "excess_interval"),
        "excess_distance": excess.distance(0.0, paper.REPEATS, of_mean * RATE_ROUNDING),
        **gap.estimate().columns("gap", "gap_interval"),
        "paper_gap": gap_printed,
        "gap_distance": gap.distance(gap_printed, paper.REPEATS, of_mean * DIFFERENCE_ROUNDING),
    }


def describe_readings(table: pd.DataFrame) -> str:
    """What the gap between the methods says."""
    distances = table.set_index("reading")["gap_distance"]
    eq5, constant = (format_number(distances[reading], "+.1f") for reading in READINGS.values())
    start = f"PI − LDA against the paper's: z {eq5} by Eq. (5), {constant} with a constant unit."
    likely = list(distances.index[distances.abs() <= normal_quantile(LEVEL)])
    if len(likely) == len(READINGS):
        return f"{start} Chance explains both: the rates do not tell which PI-ELM the paper has."
    if not likely:
        return f"{start} Chance explains neither."
    unit = "a constant unit" if likely == [Reading.CONSTANT] else "no constant unit"
    return f"{start} Chance explains only one of the two: the paper's PI-ELM probably had {unit}."


def make_sections(_: RunRecords, table: pd.DataFrame) -> Iterator[Section]:
    """Both readings beside Table 1 as a whole."""
    caption = "Ours against the paper's, means over the printed fan-outs"
    yield Section(
        "readings",
        "Which PI-ELM does the paper have?",
        describe_readings(table),
        tables=[make_table(caption, table, COLUMNS)],
        note=NOTE,
    )
