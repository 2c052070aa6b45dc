"""Comparisons of two samples against scipy's, numpy's and simulations with a known truth."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from made_up import sweep_records
from scipy import stats

from elmlda.reports.rates import (
    brown_forsythe_p,
    compare_means,
    compare_spreads,
    pivot_by_repeat,
)

samples = st.lists(st.floats(-1e3, 1e3).map(lambda x: round(x, 3)), min_size=2, max_size=30).map(
    np.array
)
A, B = np.array([7.1, 7.3, 7.25, 7.0, 7.4, 7.2]), np.array([7.3, 7.2, 7.5, 7.1])


@given(samples, samples)
def test_means_are_compared_as_welch_does(a, b):
    assume(np.ptp(a) > 0)
    assume(np.ptp(b) > 0)
    found, expected = compare_means(a, b), stats.ttest_ind(a, b, equal_var=False)
    interval = expected.confidence_interval(0.95)
    assert found.value == pytest.approx(a.mean() - b.mean())
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high), rel=1e-6, abs=1e-9)
    assert found.p == pytest.approx(expected.pvalue, rel=1e-6)


def test_spreads_have_the_interval_of_the_f_distribution():
    """Quantiles of numpy's own F variates, drawn as ratios of chi-squares."""
    drawn = np.random.default_rng(0).f(5, 3, 4_000_000)
    ratio = A.std(ddof=1) / B.std(ddof=1)
    low, high = ratio / np.sqrt(np.quantile(drawn, [0.975, 0.025]))
    found = compare_spreads(A, B)
    assert found.value == pytest.approx(ratio)
    assert (found.low, found.high) == pytest.approx((low, high), rel=0.01)
    one_sided = min((drawn < ratio**2).mean(), (drawn > ratio**2).mean())
    assert found.p == pytest.approx(2 * one_sided, abs=0.003)


def test_exchanged_samples_give_the_inverse_ratio():
    one, other = compare_spreads(A, B), compare_spreads(B, A)
    assert (other.value, other.low, other.high) == pytest.approx(
        (1 / one.value, 1 / one.high, 1 / one.low)
    )
    assert other.p == pytest.approx(one.p)


def test_intervals_hold_the_truth_as_often_as_they_say():
    """Nested and independent samples as they are: 200 and 60 normal values, a ratio of 0.8."""
    rng = np.random.default_rng(1)
    held = np.zeros(2)
    for _ in range(1000):
        a, b = rng.normal(5, 0.08, 200), rng.normal(5.1, 0.1, 60)
        for i, (found, truth) in enumerate(((compare_means(a, b), -0.1), (compare_spreads(a, b), 0.8))):
            held[i] += found.low <= truth <= found.high
    assert np.all(np.abs(held / 1000 - 0.95) < 0.02)


def test_brown_and_forsythe_is_levenes_test_around_medians():
    """That is an analysis of variance of the distances from the medians."""
    distances = [np.abs(values - np.median(values)) for values in (A, B)]
    assert brown_forsythe_p(A, B) == pytest.approx(stats.f_oneway(*distances).pvalue)


@pytest.mark.parametrize("few", [np.array([1.0]), np.full(5, 2.0)])
def test_what_has_no_spread_has_no_interval(few):
    means = compare_means(few, B)
    assert means.value == pytest.approx(few.mean() - B.mean())
    for unknown in (means.low, means.p, compare_spreads(few, B).value, brown_forsythe_p(few, B)):
        assert math.isnan(unknown)


def test_rates_by_repeat_leave_gaps_where_records_are_missing():
    records = [
        r
        for r in sweep_records({1: [(7.2, 6.9), (7.1, 6.8)], 3: [(4.3, 4.2)] * 2})
        if r.key != (1, 2352)
    ]
    tables = pivot_by_repeat(records)
    assert tables["pi"].loc[0].to_dict() == {1: 7.2, 3: 4.3}
    assert tables["lda"].loc[1, 1] == 6.8
    assert math.isnan(tables["lda"].loc[1, 3])
