"""Intervals and tests against scipy, leaving out one by one, and simulation."""

import math
from itertools import combinations

import numpy as np
import pytest
from made_runs import draw_posteriors, draws_table
from scipy import stats as sp

from elmlda.core.subsets import count_subset_errors
from elmlda.reports import stats

RNG = np.random.default_rng


def test_the_interval_of_a_mean_is_students():
    values = RNG(0).normal(3, 1, 20)
    expected = sp.ttest_1samp(values, 0).confidence_interval(0.95)
    assert stats.estimate_mean(values).interval() == pytest.approx(tuple(expected))
    wide = sp.ttest_1samp(values, 0).confidence_interval(0.99)
    assert stats.estimate_mean(values).interval(0.99) == pytest.approx(tuple(wide))


@pytest.mark.parametrize("n", [0, 1, 2])
def test_fewer_than_three_repeats_have_no_interval_z_or_p(n):
    values = np.arange(n, dtype=float)
    mean = stats.estimate_mean(values)
    assert mean.n == n
    assert math.isnan(mean.half())
    assert math.isnan(mean.z(1.0, 200, 0.01))
    assert math.isnan(stats.estimate_mean(values).p())


def test_z_adds_three_variances():
    values = RNG(1).normal(5, 0.3, 50)
    error = math.sqrt(values.var(ddof=1) / 50 + values.var(ddof=1) / 200 + 0.003**2)
    assert stats.estimate_mean(values).z(4.9, 200, 0.003) == pytest.approx(
        (values.mean() - 4.9) / error
    )


def test_z_without_any_spread_is_all_or_nothing():
    same = stats.estimate_mean(np.full(5, 2.0))
    assert same.z(2.0, 200, 0.0) == 0
    assert same.z(1.0, 200, 0.0) == math.inf


@pytest.mark.parametrize("overlap", [0, 1 / 9])
def test_folds_widen_the_interval_as_nadeau_and_bengio_say(overlap):
    values = RNG(3).normal(0.5, 1, 100)
    error = math.sqrt((1 / 100 + overlap) * values.var(ddof=1))
    p = 2 * sp.t.sf(abs(values.mean() / error), 99)
    assert stats.estimate_mean(values, overlap).p() == pytest.approx(p)
    half = sp.t.ppf(0.975, 99) * error
    assert stats.estimate_mean(values, overlap).half() == pytest.approx(half)


def test_nothing_that_differs_is_p_one_and_a_constant_difference_none():
    assert stats.estimate_mean(np.zeros(5)).p() == 1
    assert math.isnan(stats.estimate_mean(np.full(5, 2.0)).p())


def test_holm_steps_down():
    assert stats.holm([0.01, 0.04, 0.03, np.nan, 0.5]) == pytest.approx(
        [0.04, 0.09, 0.09, np.nan, 0.5], nan_ok=True
    )


def test_the_jackknife_leaves_out_one_by_one():
    rates = RNG(5).uniform(2, 3, (12, 1, 2))
    found = stats.jackknife(stats.improvement, rates).combine(np.ones(1))
    left_out = [stats.improvement(np.delete(rates, i, 0).mean(axis=0))[0] for i in range(12)]
    error = math.sqrt(11 / 12 * ((left_out - np.mean(left_out)) ** 2).sum())
    assert found.value == pytest.approx(stats.improvement(rates.mean(axis=0))[0])
    assert found.se == pytest.approx(error)


def test_an_improvement_over_no_errors_is_unknown():
    assert np.isnan(stats.improvement(np.array([0.0, 1.0])))


def test_draws_give_the_jackknife_of_all_subsets():
    """Many draws give the mean over all subsets, also without a network."""
    posteriors, labels = draw_posteriors(RNG(11), 7)
    sample = stats.sample_draws(draws_table(posteriors, labels, 40_000, 2))

    def exact(networks):
        pairs = np.array(list(combinations(networks, 2)))
        return count_subset_errors(posteriors, labels, pairs)[:, 1].mean()

    whole = exact(range(7))
    left_out = [exact([k for k in range(7) if k != i]) for i in range(7)]
    error = math.sqrt(6 / 7 * ((left_out - np.mean(left_out)) ** 2).sum())
    found = sample.combine(np.array([0.0, 1.0]))
    assert found.value == pytest.approx(whole, abs=0.2)
    assert found.se == pytest.approx(error, rel=0.05)
    assert found.n == 7


def test_few_draws_have_the_same_variance_once_theirs_is_subtracted():
    posteriors, labels = draw_posteriors(RNG(12), 12)
    weights = np.array([0.0, 1.0, 0.0, -1.0])
    true = stats.sample_draws(draws_table(posteriors, labels, 60_000, 4)).combine(weights).se ** 2
    with_noise, without = [], []
    for seed in range(40):
        sample = stats.sample_draws(draws_table(posteriors, labels, 400, 4, seed))
        with_noise.append(np.var(sample.units @ weights, ddof=1) / 12)
        without.append(with_noise[-1] - weights @ sample.noise @ weights)
    assert np.mean(with_noise) > 1.1 * true
    assert np.mean(without) == pytest.approx(true, rel=0.1)


def test_the_spread_of_draws_is_that_of_ensembles():
    posteriors, labels = draw_posteriors(RNG(13), 10)
    sample = stats.sample_draws(draws_table(posteriors, labels, 20_000, 3))
    orders = np.array([RNG(i).permutation(10)[:3] for i in range(3_000)])
    spread = count_subset_errors(posteriors, labels, orders).var(axis=0)
    assert sample.spread == pytest.approx(spread, rel=0.25)


def test_neighbouring_numbers_of_networks_keep_an_interval():
    """The subtraction can leave a negative variance; a share of the noise is the floor."""
    posteriors, labels = draw_posteriors(RNG(15), 30)
    weights, bitten = np.array([0.0] * 8 + [-1.0, 1.0]), 0
    for seed in range(20):
        sample = stats.sample_draws(draws_table(posteriors, labels, 300, 10, seed))
        noise = weights @ sample.noise @ weights
        least = noise * (30 - 10) / (29 * 10)
        left = np.var(sample.units @ weights, ddof=1) / 30 - noise
        bitten += left < least
        assert sample.combine(weights).se ** 2 == pytest.approx(max(left, least))
    assert bitten
