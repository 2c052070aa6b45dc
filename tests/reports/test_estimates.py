"""Estimates against scipy's own intervals and formulas with a known answer."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from elmlda.reports.estimates import (
    estimate_mean,
    improvement_percent,
    jackknife,
    normal_quantile,
    sample_mean,
    take_means,
)

values = st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=30)


@given(values)
def test_a_mean_has_students_interval(numbers):
    found = estimate_mean(np.array(numbers))
    expected = stats.ttest_1samp(numbers, 0).confidence_interval(0.95) if np.ptp(numbers) else None
    assert found.repeats == len(numbers)
    assert found.value == pytest.approx(np.mean(numbers))
    if expected is not None and math.isfinite(expected.low):
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-9)
        assert found.half == pytest.approx((expected.high - expected.low) / 2, abs=1e-9)


@pytest.mark.parametrize("level", [0.5, 0.95, 0.9975])
def test_the_level_counts(level):
    numbers = np.array([1.0, 2.0, 4.0, 8.0])
    found = estimate_mean(numbers, level)
    low, high = stats.t.interval(level, 3, numbers.mean(), stats.sem(numbers))
    assert (found.low, found.high) == pytest.approx((low, high))


def test_equal_values_have_an_interval_of_no_width():
    found = estimate_mean(np.full(5, 2.5))
    assert (found.value, found.low, found.high) == (2.5, 2.5, 2.5)


@pytest.mark.parametrize("estimate", [estimate_mean, lambda v: sample_mean(v).estimate()])
def test_one_value_has_no_interval_and_none_has_no_value(estimate):
    one, none = estimate(np.array([3.0])), estimate(np.array([]))
    assert (one.value, one.repeats) == (3, 1)
    assert math.isnan(one.half)
    assert math.isnan(none.value)
    assert none.repeats == 0


def test_normal_quantiles_are_scipys():
    for level in (0.95, 0.9975):
        assert normal_quantile(level) == pytest.approx(stats.norm.ppf(0.5 + level / 2))


def mean_of_first_part(means):
    return means[..., 0]


@given(values)
def test_the_jackknife_of_a_mean_is_the_mean(numbers):
    """Tukey's pseudo-values of a mean are the values themselves."""
    rates = np.array(numbers)
    jackknifed = jackknife(mean_of_first_part, rates[:, None, None]).combine(np.ones(1))
    np.testing.assert_allclose(jackknifed.by_repeat, rates, atol=1e-9)
    assert jackknifed.value == pytest.approx(rates.mean(), abs=1e-9)


@pytest.mark.parametrize("n", [2, 3, 50])
def test_pseudo_values_are_the_definitions(n):
    """n·θ - (n - 1)·θ without one repeat, each computed anew."""
    rates = np.random.default_rng(n).uniform(1, 2, (n, 4, 2))
    found = jackknife(improvement_percent, rates)
    whole = improvement_percent(rates.mean(axis=0))
    np.testing.assert_allclose(found.values, whole)
    for i in range(n):
        without = improvement_percent(np.delete(rates, i, axis=0).mean(axis=0))
        np.testing.assert_allclose(found.by_repeat[i], n * whole - (n - 1) * without)


def test_the_jackknife_of_one_or_no_repeat_has_no_interval():
    one = jackknife(improvement_percent, np.array([[[4.0, 3.0]]])).combine(np.ones(1))
    assert one.value == 25
    assert math.isnan(one.estimate().half)
    none = jackknife(improvement_percent, np.empty((0, 3, 2)))
    assert np.isnan(none.values).all()
    assert none.combine(np.ones(3)).repeats == 0


def test_the_jackknife_of_a_ratio_covers_it_as_often_as_it_says():
    """Known truth: improvement of 10 % with paired noise; 95 % of intervals hold it."""
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(400):
        common = rng.normal(0, 3, 20)
        pi, lda = 100 + common + rng.normal(0, 4, 20), 90 + common + rng.normal(0, 4, 20)
        rates = np.stack([pi, lda], axis=1)[:, None]
        found = jackknife(improvement_percent, rates).combine(np.ones(1)).estimate()
        covered += found.low <= 10 <= found.high
    assert 0.92 < covered / 400 < 0.98


def test_no_error_has_no_improvement():
    rates = np.array([[0.0, 0.0], [2.0, 1.0]])
    np.testing.assert_array_equal(improvement_percent(rates), [np.nan, 50])


def test_a_distance_by_hand():
    """Values 1, 2, 3 have a variance of 1; the paper has 1.5 of 4 repeats, rounded to 0.6."""
    sample = sample_mean(np.array([1.0, 2.0, 3.0]))
    z = sample.distance(1.5, 4, 0.6 / math.sqrt(12))
    assert z == pytest.approx(0.5 / math.sqrt(1 / 3 + 1 / 4 + 0.36 / 12))


def test_a_distance_needs_a_spread():
    assert math.isnan(sample_mean(np.array([1.0])).distance(1.0, 200, 0.1))
    assert math.isnan(sample_mean(np.array([])).distance(1.0, 200, 0.1))
    same = sample_mean(np.full(4, 2.0))
    assert same.distance(1.0, 200, 0) == math.inf
    assert same.distance(3.0, 200, 0) == -math.inf
    assert same.distance(2.0, 200, 0) == 0


def test_distances_are_as_large_as_chance_makes_them():
    """Both sides drawn from the same truth, the paper's rounded: 5 % beyond 1.96."""
    rng = np.random.default_rng(1)
    beyond = 0
    for _ in range(4000):
        printed = round(rng.normal(2, 0.1, 50).mean(), 2)
        z = sample_mean(rng.normal(2, 0.1, 50)).distance(printed, 50, 0.01 / math.sqrt(12))
        beyond += abs(z) > 1.96
    assert 0.04 < beyond / 4000 < 0.065


def test_ours_stay_together_and_the_papers_are_independent():
    """A difference of two columns that are the same: no error of ours, twice the variance of theirs."""
    column = np.array([1.0, 2.0, 4.0])
    sample = take_means(np.stack([column, column], axis=1)).combine(np.array([1.0, -1.0]))
    assert (sample.value, sample.estimate().half) == (0, 0)
    assert sample.paper_variance == pytest.approx(2 * np.var(column, ddof=1))
