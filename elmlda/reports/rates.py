"""Error rates repeat by repeat, and tests of their differences."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from elmlda import paper
from elmlda.core.arrays import FloatArray
from elmlda.experiments.sweep import SweepRecord
from elmlda.reports import plots
from elmlda.reports.estimates import LEVEL, NAN, UNKNOWN, Estimate

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


def corrected_p(differences: FloatArray, overlap: float = 0.0) -> float:
    """Two-sided p of the t-test, corrected for folds that overlap as `Sample` says.

    NaN without any spread, 1 where nothing differs.
    """
    n = len(differences)
    if n > 1 and not differences.any():
        return 1.0
    error = math.sqrt(np.var(differences, ddof=1) * (1 / n + overlap)) if n > 1 else 0.0
    if n < 2 or error < 1e-12 * abs(differences).max():
        return NAN
    return float(2 * stats.t.sf(abs(differences.mean()) / error, n - 1))


def adjust_holm(p_values: Iterable[float]) -> list[float]:
    """Holm's step-down correction for the number of tests, which scipy lacks; NaN stays out of it."""
    given = pd.Series(p_values, dtype=float).reset_index(drop=True)
    ordered = given.dropna().sort_values(kind="stable")
    adjusted = (ordered * np.arange(len(ordered), 0, -1)).clip(upper=1).cummax()
    return list(adjusted.reindex(given.index))


def compare_means(a: FloatArray, b: FloatArray) -> Estimate:
    """Mean of a minus mean of b, by Welch: the variances need not be equal."""
    difference = float(a.mean() - b.mean())
    if not _have_spread(a, b):
        return Estimate(difference)
    test = stats.ttest_ind(a, b, equal_var=False)
    low, high = map(float, test.confidence_interval(LEVEL))
    return Estimate(difference, low, high, p=float(test.pvalue))


def compare_spreads(a: FloatArray, b: FloatArray) -> Estimate:
    """Standard deviation of a over that of b, by the F distribution: exact for normal values."""
    if not _have_spread(a, b):
        return UNKNOWN
    ratio = np.var(a, ddof=1) / np.var(b, ddof=1)
    dfs = len(a) - 1, len(b) - 1
    low, high = (math.sqrt(ratio / stats.f.ppf(q, *dfs)) for q in ((1 + LEVEL) / 2, (1 - LEVEL) / 2))
    p = 2 * min(stats.f.cdf(ratio, *dfs), stats.f.sf(ratio, *dfs))
    return Estimate(math.sqrt(ratio), low, high, p=float(p))


def brown_forsythe_p(a: FloatArray, b: FloatArray) -> float:
    """Whether the spreads differ, for values that need not be normal."""
    return float(stats.levene(a, b, center="median").pvalue) if _have_spread(a, b) else NAN


def _have_spread(a: FloatArray, b: FloatArray) -> bool:
    """Whether both have at least two values that are not all the same."""
    return all(len(values) > 1 and np.ptp(values) > 0 for values in (a, b))
