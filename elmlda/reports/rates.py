"""Error rates repeat by repeat, and how two samples of them compare."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from elmlda import paper
from elmlda.core.arrays import FloatArray
from elmlda.experiments.sweep import SweepRecord
from elmlda.reports import plots
from elmlda.reports.estimates import LEVEL

METHOD_NAMES = {"pi": "PI-ELM", "pi_constant": "PI-ELM with a constant unit", "lda": "LDA-ELM"}
"""Method, as records name it -> its name for display."""
SHORT_NAMES = {"pi": "PI", "pi_constant": "PI with constant", "lda": "LDA"}
"""The same in tables."""
METHOD_PLACES = {"pi": plots.PI, "pi_constant": plots.THIRD, "lda": plots.LDA}
"""Method -> its place among the colours and markers of figures."""

PRINTED: dict[str, Mapping[Any, float]] = {
    "pi": paper.PI_ERROR_PERCENT,
    "pi_constant": paper.PI_ERROR_PERCENT,
    "lda": paper.LDA_ERROR_PERCENT,
}
"""Method -> Table 1's rates by fan-out."""


def pivot_by_repeat(records: Sequence[SweepRecord]) -> dict[str, pd.DataFrame]:
    """Method -> rates in per cent: a row for each repeat, a column for each fan-out, NaN if missing."""
    return {method: pivot_percents(records, f"{method}_errors", "fanout") for method in METHOD_NAMES}


def pivot_percents(records: Sequence[Any], errors: str, columns: str) -> pd.DataFrame:
    """Error rates in per cent: a row for each repeat, a column for each value of a field."""
    rows = [
        (record.repeat, getattr(record, columns), 100 * getattr(record, errors) / record.n_test)
        for record in records
    ]
    frame = pd.DataFrame(rows, columns=["repeat", columns, "percent"])
    return frame.pivot(index="repeat", columns=columns, values="percent")


@dataclass(frozen=True)
class Comparison:
    """How two samples compare: a number, its interval and the two-sided p; NaN where not known."""

    value: float
    low: float = math.nan
    high: float = math.nan
    p: float = math.nan

    def columns(self, name: str) -> dict[str, float]:
        """For a row of a table: the number and its interval."""
        return {name: self.value, f"{name}_low": self.low, f"{name}_high": self.high}


NOT_KNOWN = Comparison(math.nan)


def compare_means(a: FloatArray, b: FloatArray) -> Comparison:
    """Mean of a minus mean of b, by Welch: the variances need not be equal."""
    difference = float(a.mean() - b.mean())
    if not _have_spread(a, b):
        return Comparison(difference)
    return _compare(difference, stats.ttest_ind(a, b, equal_var=False))


def compare_spreads(a: FloatArray, b: FloatArray) -> Comparison:
    """Standard deviation of a over that of b, by the F distribution: exact for normal values."""
    if not _have_spread(a, b):
        return NOT_KNOWN
    ratio = np.var(a, ddof=1) / np.var(b, ddof=1)
    dfs = len(a) - 1, len(b) - 1
    low, high = (math.sqrt(ratio / stats.f.ppf(q, *dfs)) for q in ((1 + LEVEL) / 2, (1 - LEVEL) / 2))
    p = 2 * min(stats.f.cdf(ratio, *dfs), stats.f.sf(ratio, *dfs))
    return Comparison(math.sqrt(ratio), low, high, float(p))


def brown_forsythe_p(a: FloatArray, b: FloatArray) -> float:
    """Whether the spreads differ, for values that need not be normal."""
    return float(stats.levene(a, b, center="median").pvalue) if _have_spread(a, b) else math.nan


def _compare(value: float, test: Any) -> Comparison:
    """A value with the interval and p of scipy's test."""
    interval = test.confidence_interval(LEVEL)
    return Comparison(value, float(interval.low), float(interval.high), float(test.pvalue))


def _have_spread(a: FloatArray, b: FloatArray) -> bool:
    """Whether both have at least two values that are not all the same."""
    return all(len(values) > 1 and np.ptp(values) > 0 for values in (a, b))
