"""Numbers from repeats, their intervals, and their distance from the paper's."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import special

from elmlda import paper
from elmlda.core.arrays import FloatArray

LEVEL = 0.95
NAN = float("nan")
RATE_ROUNDING, IMPROVEMENT_ROUNDING = (
    digit / math.sqrt(12) for digit in (paper.RATE_DIGIT, paper.IMPROVEMENT_DIGIT)
)
"""Standard deviation of what rounding takes away: evenly spread over one step of the last digit."""
DIFFERENCE = np.array([1.0, -1.0])
"""Weights of the first number minus the second."""
DIFFERENCE_ROUNDING = RATE_ROUNDING * math.sqrt(2)


@dataclass(frozen=True)
class Estimate:
    """A number from repeats, its interval, and p of the test that goes with it; NaN if not known."""

    value: float = NAN
    low: float = NAN
    high: float = NAN
    repeats: int = 0
    p: float = NAN

    @property
    def half(self) -> float:
        """Half the width of the interval."""
        return (self.high - self.low) / 2

    def columns(self, value: str, interval: str) -> dict[str, float]:
        """For a row of a table: the number, and half the width of its interval."""
        return {value: self.value, interval: self.half}


UNKNOWN = Estimate()


@dataclass(frozen=True)
class Sample:
    """One number, and the values that its sampling error follows from.

    Attributes
    ----------
    value : the number; NaN without repeats
    by_repeat : n_repeats values whose mean has the number's sampling error: the repeats' own, or the
        jackknife's pseudo-values
    paper_variance : variance of one repeat of the paper's, which is taken to vary like ours
    overlap : n_test/n_train of cross-validation, whose folds share training samples: Nadeau and
        Bengio's variance of a mean of n is (1/n + overlap) times that of one
    """

    value: float
    by_repeat: FloatArray
    paper_variance: float
    overlap: float = 0.0

    @property
    def repeats(self) -> int:
        return len(self.by_repeat)

    @cached_property
    def variance(self) -> float:
        """Of the mean over repeats, from their spread."""
        spread = _variance(self.by_repeat)
        return spread * (1 / self.repeats + self.overlap) if self.overlap else spread / self.repeats

    def estimate(self, level: float = LEVEL) -> Estimate:
        """The number with Student's interval; a single repeat has none."""
        n = self.repeats
        half = student_quantile(level, n - 1) * math.sqrt(self.variance) if n > 1 else NAN
        return Estimate(self.value, self.value - half, self.value + half, n)

    def distance(self, printed: float, paper_repeats: int, rounding: float) -> float:
        """z: this number minus a printed one, in standard errors of that difference.

        Three things make up that error: the sampling of ours, the paper's, and the rounding of what
        it prints.

        Parameters
        ----------
        rounding : standard deviation of what rounding takes away
        """
        if self.repeats < 2:
            return NAN
        error = math.sqrt(self.variance + self.paper_variance / paper_repeats + rounding**2)
        difference = self.value - printed
        if error == 0:
            return math.copysign(math.inf, difference) if difference else 0.0
        return difference / error


@dataclass(frozen=True)
class Numbers:
    """Several numbers from the same repeats, such as the error rate at each fan-out.

    Attributes
    ----------
    values : n_numbers
    by_repeat : n_repeats × n_numbers, see `Sample`
    """

    values: FloatArray
    by_repeat: FloatArray

    def combine(self, weights: FloatArray) -> Sample:
        """Their weighted sum.

        Ours come from the same repeats, so what a repeat gives stays together. The paper drew new
        networks for each of its numbers: their variances add up.
        """
        if len(self.by_repeat) == 0:
            return Sample(NAN, np.empty(0), NAN)
        spread = [_variance(column) for column in self.by_repeat.T]
        return Sample(
            float(weights @ self.values), self.by_repeat @ weights, float(weights**2 @ spread)
        )


def take_means(by_repeat: FloatArray) -> Numbers:
    """Means over repeats: n_repeats × n_numbers in."""
    missing = np.full(by_repeat.shape[1], NAN)
    return Numbers(by_repeat.mean(axis=0) if len(by_repeat) else missing, by_repeat)


def jackknife(statistic: Callable[[FloatArray], FloatArray], repeats: FloatArray) -> Numbers:
    """Functions of means over repeats, such as a ratio of two, with Tukey's pseudo-values.

    Those are n·θ - (n - 1)·θ₍₋ᵣ₎, θ₍₋ᵣ₎ being the statistic without repeat r. They are treated like a
    sample; the value itself stays θ of all repeats.

    Parameters
    ----------
    statistic : takes means over repeats, … × n_numbers × n_parts, and gives … × n_numbers
    repeats : n_repeats × n_numbers × n_parts; what belongs to one repeat stays together
    """
    n = len(repeats)
    if n == 0:
        return Numbers(np.full(repeats.shape[1], NAN), repeats[:, :, 0])
    total = repeats.sum(axis=0)
    values = statistic(total / n)
    if n == 1:
        return Numbers(values, values[None])
    without = statistic((total - repeats) / (n - 1))
    return Numbers(values, n * values - (n - 1) * without)


def sample_mean(by_repeat: FloatArray) -> Sample:
    """The mean of one value for each repeat."""
    return take_means(by_repeat[:, None]).combine(np.ones(1))


def estimate_mean(values: FloatArray, level: float = LEVEL, overlap: float = 0.0) -> Estimate:
    """Mean and its interval by Student's t; a single value has no interval."""
    return replace(sample_mean(values), overlap=overlap).estimate(level)


def slope_weights(places: FloatArray) -> FloatArray:
    """Least squares' slope as a weighted sum of what is measured at these places."""
    centered = places - places.mean()
    return np.asarray(centered / (centered @ centered))


def student_quantile(level: float, degrees: int) -> float:
    """Two-sided quantile: Student's t lies within ± it with probability `level`."""
    return float(special.stdtrit(degrees, 0.5 + level / 2))


def normal_quantile(level: float) -> float:
    """The same for the normal distribution: 1.96 for 95 %."""
    return float(special.ndtri(0.5 + level / 2))


def improvement_percent(rates: FloatArray) -> FloatArray:
    """100·(PI - LDA)/PI of mean rates: … × (PI, LDA) in, NaN where PI makes no error."""
    pi, lda = rates[..., 0], rates[..., 1]
    share = np.divide(pi - lda, pi, out=np.full(pi.shape, NAN), where=pi > 0)
    return np.asarray(100 * share)


def _variance(values: FloatArray) -> float:
    """Of a sample; zero for a single value, whose interval is not known anyway."""
    return float(np.var(values, ddof=1)) if len(values) > 1 else 0.0
