"""Numbers from repeats, a row each: intervals (none from fewer than three), z, tests."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special, stats

from elmlda.core import FloatArray, IntArray
from elmlda.core.subsets import ALL_DRAWS

LEVEL = 0.95
FEWEST_REPEATS = 3
N_SIMULATED = 10_000
NAN = float("nan")


@dataclass(frozen=True)
class Estimate:
    """A number and its standard error.

    Attributes
    ----------
    n : repeats that it comes from
    spread : variance of one repeat of the paper's, which is taken to vary like ours
    """

    value: float = NAN
    se: float = NAN
    n: int = 0
    spread: float = NAN

    def half(self, level: float = LEVEL) -> float:
        """Half the width of Student's interval; NaN from fewer than three repeats."""
        return float(special.stdtrit(self.n - 1, 0.5 + level / 2)) * self.se if self.n > 1 else NAN

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        return self.value - self.half(level), self.value + self.half(level)

    def p(self) -> float:
        """Two-sided p of Student's t-test that the true number is 0; NaN without any spread."""
        if self.se > 0:
            return float(2 * special.stdtr(self.n - 1, -abs(self.value) / self.se))
        return 1.0 if self.se == 0 == self.value else NAN

    def z(self, printed: float, paper_repeats: int, rounding: float) -> float:
        """Ours minus a printed number, in standard errors of that difference.

        Three things make up that error: our sampling, the paper's, and the rounding of what it prints.
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
    units : n_repeats × n_numbers, whose means have the numbers' sampling errors: the repeats' own
        values, or the jackknife's pseudo-values
    spread : n_numbers, variance of one repeat of the paper's
    noise : n_numbers × n_numbers, a covariance that the units have too much; 0 if none
    floor : the share of it that the numbers themselves have: no variance is below
    """

    values: FloatArray
    units: FloatArray
    spread: FloatArray
    noise: FloatArray
    floor: float = 0.0

    def combine(self, weights: FloatArray, overlap: float = 0.0) -> Estimate:
        """Their weighted sum.

        Ours come from the same repeats, so what a repeat gives stays together. The paper drew new
        networks for each of its numbers: their variances add up.
        """
        n = len(self.units)
        if n == 0:
            return Estimate()
        se = NAN
        if n >= FEWEST_REPEATS:
            variance = float(np.var(self.units @ weights, ddof=1)) * (1 / n + overlap)
            noise = float(weights @ self.noise @ weights)
            se = math.sqrt(max(self.floor * noise, variance - noise))
        return Estimate(float(weights @ self.values), se, n, float(weights**2 @ self.spread))


def sample_means(repeats: FloatArray) -> Sample:
    """Means over repeats: n_repeats × n_numbers in."""
    n, k = repeats.shape
    values = repeats.mean(axis=0) if n else np.full(k, NAN)
    return Sample(values, repeats, _variances(repeats), np.zeros((k, k)))


def jackknife(statistic: Callable[[FloatArray], FloatArray], repeats: FloatArray) -> Sample:
    """Functions of means over repeats, such as a ratio of two, with Tukey's pseudo-values.

    Those are n·θ - (n - 1)·θ₍₋ᵣ₎, θ₍₋ᵣ₎ being the statistic without repeat r.

    Parameters
    ----------
    statistic : takes means over repeats, … × n_numbers × n_parts, and gives … × n_numbers
    repeats : n_repeats × n_numbers × n_parts
    """
    n = len(repeats)
    if n < 2:
        values = statistic(repeats.mean(axis=0)) if n else np.full(repeats.shape[1], NAN)
        return sample_means(np.tile(values, (n, 1)))
    total = repeats.sum(axis=0)
    values = statistic(total / n)
    units = n * values - (n - 1) * statistic((total - repeats) / (n - 1))
    return Sample(values, units, _variances(units), np.zeros((len(values), len(values))))


def sample_draws(draws: pd.DataFrame) -> Sample:
    """Mean errors of ensembles over random subsets, by size: `draws.csv`'s rows in.

    The jackknife leaves one network out: the mean over the draws that lack it. Each of those means is
    over finitely many draws; the scatter of batches of draws says by how much that inflates the
    jackknife's variance, (N - 1) m C / (R (N - m)) for R draws of m of N networks that have the
    covariance C, and this is subtracted.
    """
    means = draws.pivot(index="left_out", columns="size", values="errors").dropna()
    counts = draws.pivot(index="left_out", columns="size", values="draws")
    values = means.loc[ALL_DRAWS].to_numpy()
    without = means[means.index > ALL_DRAWS].to_numpy()
    batches = means[means.index < ALL_DRAWS]
    n, m = int((counts.index > ALL_DRAWS).sum()), len(values)
    units = n * values - (n - 1) * without
    if len(batches) < 2:
        return Sample(values, units, np.full(m, NAN), np.zeros((m, m)))
    batch_draws = float(counts.loc[batches.index].to_numpy().mean())
    covariance = batch_draws * np.atleast_2d(np.cov(batches.to_numpy(), rowvar=False))
    n_draws = float(counts.loc[ALL_DRAWS].to_numpy()[0])
    inflation = (n - 1) * m / max(n - m, 1)
    noise = covariance * inflation / n_draws
    return Sample(values, units, np.diag(covariance), noise, 1 / inflation)


def estimate_mean(values: FloatArray, overlap: float = 0.0) -> Estimate:
    """The mean of one value for each repeat.

    `overlap` is n_test/n_train of cross-validation, whose folds share training samples: Nadeau and
    Bengio's variance of a mean of n is (1/n + overlap) times that of one.
    """
    return sample_means(np.asarray(values, float)[:, None]).combine(np.ones(1), overlap)


def wilcoxon(differences: IntArray) -> float:
    """Two-sided exact p of Wilcoxon's signed-rank test, given the ties; zeros are left out.

    scipy's exact distribution has no ties, which counts have: here it is the convolution of the ranks.
    """
    ranks = stats.rankdata(abs(differences[differences != 0]))
    doubled = np.rint(2 * ranks).astype(int)
    if len(ranks) == 0:
        return NAN
    chances = np.ones(1)
    for rank in doubled:
        chances = np.append(chances, np.zeros(rank)) / 2
        chances[rank:] += chances[: len(chances) - rank].copy()
    positive = doubled[differences[differences != 0] > 0].sum()
    smaller = min(positive, doubled.sum() - positive)
    return float(min(1.0, 2 * chances[: smaller + 1].sum()))


def holm(p_values: Iterable[float]) -> list[float]:
    """Holm's step-down correction for the number of tests; NaN stays out of it."""
    given = pd.Series(p_values, dtype=float).reset_index(drop=True)
    ordered = given.dropna().sort_values(kind="stable")
    adjusted = (ordered * np.arange(len(ordered), 0, -1)).clip(upper=1).cummax()
    return list(adjusted.reindex(given.index))


def image_errors(*parts: NDArray[np.int8]) -> tuple[float, float]:
    """Standard errors of the mean (n_networks × n_images in) over images, and over both.

    Variance over networks plus that over images minus that of their interaction, which is in both.
    Several parts have the same images and networks of their own; the number is the sum of their means.
    """
    if min(size for part in parts for size in part.shape) < FEWEST_REPEATS:
        return NAN, NAN
    n_images = parts[0].shape[1]
    by_image = np.sum([part.mean(axis=0) for part in parts], axis=0)
    images = float(np.var(by_image, ddof=1)) / n_images
    both = images
    for part in parts:
        n, by_network = len(part), part.mean(axis=1)
        residuals = part - by_network[:, None] - part.mean(axis=0) + part.mean()
        interaction = (residuals**2).sum() / ((n - 1) * (n_images - 1)) / n_images
        both += (float(np.var(by_network, ddof=1)) - interaction) / n
    return math.sqrt(images), math.sqrt(max(0.0, both))


def joint_agreement(
    rates: FloatArray, printed: FloatArray, blocks: IntArray, paper_repeats: int, digit: float
) -> tuple[float, float]:
    """T = dᵀC⁻¹d and its p: whether our mean rates and the printed ones differ by more than chance.

    d is ours minus printed, C = S/n + B/paper_repeats + I·digit²/12 with the covariance S of our rates
    and its blocks B. p is the share of simulated pairs of runs, with the same true rates on both sides
    and the paper's rounded, that have a T at least as large; S is estimated anew in each.

    Parameters
    ----------
    rates : n_networks × n_rates; NaN is returned if there are not more networks than rates
    blocks : n_rates, rates with the same number have the same networks in the paper
    """
    n, k = rates.shape
    if n < k + 2:
        return NAN, NAN
    rng, same = np.random.default_rng(0), blocks[:, None] == blocks
    covariance = np.atleast_2d(np.cov(rates, rowvar=False)) + 1e-12 * np.eye(k)

    def measure(difference: FloatArray, found: FloatArray) -> FloatArray:
        total = found / n + found * same / paper_repeats + np.eye(k) * digit**2 / 12
        solved = np.linalg.solve(total, difference[..., None])[..., 0]
        return np.asarray((difference * solved).sum(axis=-1))

    mean = rates.mean(axis=0)
    observed = float(measure(mean - printed, covariance))
    zero = np.zeros(k)
    ours = rng.multivariate_normal(zero, covariance / n, N_SIMULATED)
    theirs = rng.multivariate_normal(zero, covariance * same / paper_repeats, N_SIMULATED)
    rounded = np.round((mean + theirs) / digit) * digit
    found = stats.wishart(n - 1, covariance / (n - 1)).rvs(N_SIMULATED, rng).reshape(-1, k, k)
    return observed, float((measure(mean + ours - rounded, found) >= observed).mean())


def improvement(rates: FloatArray) -> FloatArray:
    """100·(PI - LDA)/PI of mean rates: … × (PI, LDA) in, NaN where PI makes no error."""
    pi, lda = rates[..., 0], rates[..., 1]
    return np.asarray(100 * np.divide(pi - lda, pi, out=np.full(pi.shape, NAN), where=pi > 0))


def _variances(units: FloatArray) -> FloatArray:
    """Of each column; zero for a single repeat, whose interval is not known anyway."""
    return np.var(units, axis=0, ddof=1) if len(units) > 1 else np.zeros(units.shape[1])
