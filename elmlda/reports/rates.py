"""Error rates repeat by repeat, and how two samples of them compare."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from elmlda.core.arrays import FloatArray
from elmlda.experiments.sweep import SweepRecord
from elmlda.reports import plots
from elmlda.reports.estimates import LEVEL

METHOD_NAMES = {"pi": "PI-ELM", "pi_constant": "PI-ELM with a constant unit", "lda": "LDA-ELM"}
"""Method, as records name it -> what people see."""
SHORT_NAMES = {"pi": "PI", "pi_constant": "PI with constant", "lda": "LDA"}
"""The same in tables."""
METHOD_PLACES = {"pi": plots.PI, "pi_constant": plots.THIRD, "lda": plots.LDA}
"""Method -> its place among the colours and markers of figures."""


def pivot_by_repeat(records: Sequence[SweepRecord]) -> dict[str, pd.DataFrame]:
    """Method -> rates in per cent: a row for each repeat, a column for each fan-out, NaN if missing."""
    frame = pd.DataFrame([vars(record) for record in records])
    tables = {}
    for method in METHOD_NAMES:
        frame["percent"] = 100 * frame[f"{method}_errors"] / frame["n_test"]
        tables[method] = frame.pivot(index="repeat", columns="fanout", values="percent")
    return tables


@dataclass(frozen=True)
class Comparison:
    """How two samples compare: a number, its interval and the two-sided p; NaN where not known."""

    value: float
    low: float = math.nan
    high: float = math.nan
    p: float = math.nan


def compare_means(a: FloatArray, b: FloatArray) -> Comparison:
    """Mean of a minus mean of b, by Welch: the variances need not be equal."""
    difference = float(a.mean() - b.mean())
    if not _have_spread(a, b):
        return Comparison(difference)
    parts = [np.var(values, ddof=1) / len(values) for values in (a, b)]
    error = math.sqrt(sum(parts))
    # Welch and Satterthwaite's degrees of freedom.
    df = sum(parts) ** 2 / sum(v**2 / (len(x) - 1) for v, x in zip(parts, (a, b), strict=True))
    half = float(stats.t.ppf((1 + LEVEL) / 2, df)) * error
    p = float(2 * stats.t.sf(abs(difference) / error, df))
    return Comparison(difference, difference - half, difference + half, p)


def compare_spreads(a: FloatArray, b: FloatArray) -> Comparison:
    """Standard deviation of a over that of b, by the F distribution: exact for normal values."""
    if not _have_spread(a, b):
        return Comparison(math.nan)
    ratio = np.var(a, ddof=1) / np.var(b, ddof=1)
    dfs = len(a) - 1, len(b) - 1
    low, high = (math.sqrt(ratio / stats.f.ppf(q, *dfs)) for q in ((1 + LEVEL) / 2, (1 - LEVEL) / 2))
    p = 2 * min(stats.f.cdf(ratio, *dfs), stats.f.sf(ratio, *dfs))
    return Comparison(math.sqrt(ratio), low, high, float(p))


def brown_forsythe_p(a: FloatArray, b: FloatArray) -> float:
    """Whether the spreads differ, for values that need not be normal."""
    return float(stats.levene(a, b, center="median").pvalue) if _have_spread(a, b) else math.nan


def correlate(a: FloatArray, b: FloatArray) -> Comparison:
    """Pearson's correlation of pairs, with Fisher's interval; p of no correlation."""
    if len(a) < 4 or not _have_spread(a, b):
        return Comparison(math.nan)
    found = stats.pearsonr(a, b)
    interval = found.confidence_interval(LEVEL)
    return Comparison(
        float(found.statistic), float(interval.low), float(interval.high), float(found.pvalue)
    )


def _have_spread(a: FloatArray, b: FloatArray) -> bool:
    """Whether both have at least two values that are not all the same."""
    return all(len(values) > 1 and np.ptp(values) > 0 for values in (a, b))
