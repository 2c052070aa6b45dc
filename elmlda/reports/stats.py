"""Estimates from repeats: intervals (none from fewer than three repeats), z and tests."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import special

from elmlda.core import FloatArray
from elmlda.core.subsets import ALL_DRAWS

LEVEL = 0.95
FEWEST_REPEATS = 3
NAN = float("nan")


@dataclass(frozen=True)
class Estimate:
    """A number with its standard error.

    Attributes
    ----------
    n : number of repeats behind it
    spread : variance of one repeat. The paper's repeats are assumed to vary like ours.
    """

    value: float = NAN
    se: float = NAN
    n: int = 0
    spread: float = NAN

    def half(self, level: float = LEVEL) -> float:
        """Return the half-width of Student's interval; NaN from fewer than three repeats."""
        return float(special.stdtrit(self.n - 1, 0.5 + level / 2)) * self.se if self.n > 1 else NAN

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        return self.value - self.half(level), self.value + self.half(level)

    def p(self) -> float:
        """Return the two-sided p of Student's t-test against 0; NaN without spread."""
        if self.se > 0:
            return float(2 * special.stdtr(self.n - 1, -abs(self.value) / self.se))
        return 1.0 if self.se == 0 == self.value else NAN

    def z(self, printed: float, paper_repeats: int, rounding: float) -> float:
        """Return our number minus a printed one in standard errors of the difference.

        The standard error has three parts: our sampling, the paper's sampling and its rounding.
        """
        error = math.sqrt(self.se**2 + self.spread / paper_repeats + rounding**2)
        difference = self.value - printed
        if error == 0:
            return math.copysign(math.inf, difference) if difference else 0.0
        return difference / error


@dataclass(frozen=True)
class Sample:
    """Several numbers from the same repeats, such as the error rate at each fan-out.

    Attributes
    ----------
    values : n_numbers
    units : n_repeats × n_numbers, measured values or the jackknife's pseudo-values. The standard errors
        of their means are the numbers' sampling errors.
    spread : n_numbers, variance of one repeat
    noise : n_numbers × n_numbers, covariance to be subtracted; it comes from finitely many draws
    noise_floor : share of the noise that is left at least
    """

    values: FloatArray
    units: FloatArray
    spread: FloatArray
    noise: FloatArray | float = 0.0
    noise_floor: float = 0.0

    def combine(self, weights: FloatArray, overlap: float = 0.0) -> Estimate:
        """Estimate the weighted sum of the numbers.

        Our numbers share their repeats, so each repeat is combined first. The paper drew new networks
        for each number, so the variances of its repeats add up.
        """
        n = len(self.units)
        if n == 0:
            return Estimate()
        se = NAN
        if n >= FEWEST_REPEATS:
            variance = float(np.var(self.units @ weights, ddof=1)) * (1 / n + overlap)
            noise = float(np.sum(self.noise * np.outer(weights, weights)))
            se = math.sqrt(max(self.noise_floor * noise, variance - noise))
        return Estimate(float(weights @ self.values), se, n, float(weights**2 @ self.spread))


def sample_means(repeats: FloatArray) -> Sample:
    """Return the means over repeats, n_repeats × n_numbers."""
    values = repeats.mean(axis=0) if len(repeats) else np.full(repeats.shape[1], NAN)
    return Sample(values, repeats, _variances(repeats))


def jackknife(statistic: Callable[[FloatArray], FloatArray], repeats: FloatArray) -> Sample:
    """Estimate functions of means over repeats, such as a ratio, by Tukey's pseudo-values.

    Pseudo-value r is n·θ - (n - 1)·θ₍₋ᵣ₎, where θ₍₋ᵣ₎ is the statistic without repeat r.

    Parameters
    ----------
    statistic : maps means over repeats, … × n_numbers × n_parts, to … × n_numbers
    repeats : n_repeats × n_numbers × n_parts
    """
    n = len(repeats)
    if n < 2:
        return sample_means(statistic(repeats))
    total = repeats.sum(axis=0)
    values = statistic(total / n)
    units = n * values - (n - 1) * statistic((total - repeats) / (n - 1))
    return Sample(values, units, _variances(units))


def sample_draws(draws: pd.DataFrame) -> Sample:
    """Estimate the mean errors of ensembles over random subsets, by ensemble size, from draws.csv.

    The jackknife leaves out one network at a time: the mean over the draws without that network. These
    means are over finitely many draws, which inflates the jackknife's variance by
    (N - 1) m C / (R (N - m)) for R draws of m of N networks. The covariance C of single draws is
    estimated from batches of draws.
    """
    means = draws.pivot(index="left_out", columns="size", values="errors").dropna()
    counts = draws.pivot(index="left_out", columns="size", values="draws")
    values = means.loc[ALL_DRAWS].to_numpy()
    without = means[means.index > ALL_DRAWS].to_numpy()
    batches = means[means.index < ALL_DRAWS]
    n, m = int((counts.index > ALL_DRAWS).sum()), len(values)
    units = n * values - (n - 1) * without
    if len(batches) < 2 or n < 2:
        return Sample(values, units, np.full(m, NAN))
    batch_draws = float(counts.loc[batches.index].to_numpy().mean())
    covariance = batch_draws * np.atleast_2d(np.cov(batches.to_numpy(), rowvar=False))
    inflation = (n - 1) * m / max(n - m, 1)
    n_draws = float(counts.loc[ALL_DRAWS].to_numpy()[0])
    return Sample(values, units, np.diag(covariance), covariance * inflation / n_draws, 1 / inflation)


def estimate_mean(values: FloatArray | pd.Series[float], overlap: float = 0.0) -> Estimate:
    """Estimate the mean of one value per repeat. Missing values are left out.

    Training sets of cross-validation overlap. With `overlap` = n_test/n_train, the variance of a mean
    of n values is (1/n + overlap) times that of one value (Nadeau and Bengio).
    """
    repeats = np.asarray(values, float)
    return sample_means(repeats[~np.isnan(repeats), None]).combine(np.ones(1), overlap)


def holm(p_values: Iterable[float]) -> list[float]:
    """Apply Holm's step-down correction; NaN stays NaN and does not count as a test."""
    p = pd.Series(p_values, dtype=float).reset_index(drop=True)
    ordered = p.dropna().sort_values(kind="stable")
    adjusted = (ordered * np.arange(len(ordered), 0, -1)).clip(upper=1).cummax()
    return list(adjusted.reindex(p.index))


def improvement(rates: FloatArray) -> FloatArray:
    """Return 100·(PI - LDA)/PI of mean rates, … × (PI, LDA); NaN where PI makes no error."""
    pi, lda = rates[..., 0], rates[..., 1]
    return np.asarray(100 * np.divide(pi - lda, pi, out=np.full(pi.shape, NAN), where=pi > 0))


def _variances(units: FloatArray) -> FloatArray:
    """Return the variance of each column; NaN for a single row."""
    return np.var(units, axis=0, ddof=1) if len(units) > 1 else np.full(units.shape[1], NAN)
