"""Means over repeats with their intervals: what every table and every verdict is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import stats

from elmlda.core.arrays import FloatArray

LEVEL = 0.95


@dataclass(frozen=True)
class Estimate:
    """A number that repeats give, and the interval that it lies in; NaN where it is not known."""

    value: float
    low: float
    high: float
    repeats: int

    @property
    def half(self) -> float:
        """Half the width of the interval."""
        return (self.high - self.low) / 2


UNKNOWN = Estimate(float("nan"), float("nan"), float("nan"), 0)


def estimate_mean(values: FloatArray, level: float = LEVEL) -> Estimate:
    """Mean and its interval by Student's t; a single value has no interval."""
    n = len(values)
    if n < 2:
        return Estimate(float(np.mean(values)), float("nan"), float("nan"), n) if n else UNKNOWN
    mean, error = float(np.mean(values)), float(stats.sem(values))
    low, high = stats.t.interval(level, n - 1, mean, error) if error > 0 else (mean, mean)
    return Estimate(mean, float(low), float(high), n)


def estimate_statistic(
    statistic: Callable[[FloatArray], float], repeats: FloatArray, level: float = LEVEL
) -> Estimate:
    """A function of all repeats, such as a ratio of means, and its interval by the jackknife.

    Tukey's pseudo-values n·θ - (n - 1)·θ₍₋ᵣ₎, θ₍₋ᵣ₎ being the statistic without repeat r, are
    treated like a sample. The value itself stays θ of all repeats.

    Parameters
    ----------
    statistic : takes an array like `repeats`, of any length
    repeats : n_repeats × …; what belongs to one repeat stays together
    """
    n = len(repeats)
    if n == 0:
        return UNKNOWN
    value = float(statistic(repeats))
    if n < 2:
        return Estimate(value, float("nan"), float("nan"), n)
    without = [statistic(np.delete(repeats, i, axis=0)) for i in range(n)]
    around = estimate_mean(n * value - (n - 1) * np.array(without), level)
    return Estimate(value, value - around.half, value + around.half, n)
