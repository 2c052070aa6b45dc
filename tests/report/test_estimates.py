"""Estimates against scipy's own intervals and formulas with a known answer."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from elmlda.report.estimates import estimate_mean, estimate_statistic

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


@pytest.mark.parametrize("estimate", [estimate_mean, lambda v: estimate_statistic(np.mean, v)])
def test_one_value_has_no_interval_and_none_has_no_value(estimate):
    one, none = estimate(np.array([3.0])), estimate(np.array([]))
    assert (one.value, one.repeats) == (3, 1)
    assert math.isnan(one.half)
    assert math.isnan(none.value)
    assert none.repeats == 0


@given(values)
def test_the_jackknife_of_a_mean_is_students_interval(numbers):
    """Tukey's pseudo-values of a mean are the values themselves."""
    jackknifed, mean = estimate_statistic(np.mean, np.array(numbers)), estimate_mean(np.array(numbers))
    assert (jackknifed.low, jackknifed.high) == pytest.approx((mean.low, mean.high), abs=1e-6)


def test_the_jackknife_of_a_ratio_covers_it_as_often_as_it_says():
    """Known truth: improvement of 10 % with paired noise; 95 % of intervals hold it."""
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(400):
        common = rng.normal(0, 3, 20)
        pi, lda = 100 + common + rng.normal(0, 4, 20), 90 + common + rng.normal(0, 4, 20)
        rates = np.column_stack([pi, lda])
        found = estimate_statistic(lambda r: 100 * (1 - r[:, 1].mean() / r[:, 0].mean()), rates)
        covered += found.low <= 10 <= found.high
    assert 0.92 < covered / 400 < 0.98


def test_what_belongs_to_one_repeat_stays_together():
    pairs = np.array([[1.0, 2.0], [3.0, 5.0], [4.0, 1.0]])
    seen = []
    estimate_statistic(lambda rows: seen.append(rows.tolist()) or 0.0, pairs)
    assert seen[0] == pairs.tolist()
    assert seen[1:] == [pairs[[1, 2]].tolist(), pairs[[0, 2]].tolist(), pairs[[0, 1]].tolist()]
