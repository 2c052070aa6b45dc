"""Standardised inputs: by the training part alone, and never NaN."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.preprocessing import StandardScaler

from elmlda.datasets import scaling
from elmlda.datasets.scaling import standardise

properties = settings(derandomize=True, deadline=None)

RNG = np.random.default_rng(0)


def test_the_same_as_scikit_learns():
    train, test = RNG.normal(5, 3, (50, 4)), RNG.normal(5, 3, (20, 4))
    scaler = StandardScaler().fit(train)
    ours = standardise(train, test)[:2]
    np.testing.assert_allclose(ours[0], scaler.transform(train), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(ours[1], scaler.transform(test), rtol=1e-12, atol=1e-12)


def test_a_constant_column_is_zero_in_both_parts():
    train, test = RNG.normal(size=(10, 2)), RNG.normal(size=(5, 2))
    train[:, 1] = 0.1  # its mean of ten is not 0.1
    ours = standardise(train, test)[:2]
    assert (ours[0][:, 1] == 0).all()
    assert (ours[1][:, 1] == 0).all()
    assert ours[0][:, 0].std() == pytest.approx(1)


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        (np.uint8, np.float32),
        (np.float32, np.float32),
        (np.int32, np.float64),
        (np.float64, np.float64),
    ],
)
def test_types(stored, expected):
    values = RNG.integers(0, 100, (20, 3)).astype(stored)
    train, test = standardise(values, values[:5])[:2]
    assert train.dtype == test.dtype == expected
    assert train.flags.c_contiguous


def test_a_few_columns_at_a_time_give_the_same(monkeypatch):
    train, test = RNG.normal(size=(20, 7)), RNG.normal(size=(10, 7))
    whole = standardise(train, test)[:2]
    monkeypatch.setattr(scaling, "ELEMENTS_AT_A_TIME", 90)
    for a, b in zip(whole, standardise(train, test)[:2], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13)


@properties
@given(
    train=hnp.arrays(
        np.float64,
        hnp.array_shapes(min_dims=2, max_dims=2, max_side=6),
        elements=st.floats(allow_nan=False, allow_infinity=False),
    )
)
def test_whatever_the_numbers_mean_is_0_and_variance_1_or_0(train):
    ours, same = standardise(train, train)[:2]
    np.testing.assert_array_equal(ours, same)
    assert np.isfinite(ours).all()
    np.testing.assert_allclose(ours.mean(axis=0), 0, atol=1e-9)
    for deviation in ours.std(axis=0):
        assert deviation == 0 or deviation == pytest.approx(1)


def test_later_inputs_are_scaled_alike():
    train = RNG.normal(size=(50, 4)) * [1, 1e-9, 1e9, 0] + [0, 5, -1e12, 7]
    later = RNG.normal(size=(20, 4)) * [1, 1e-9, 1e9, 3] + [0, 5, -1e12, 7]
    ours, test, scaling = standardise(train, later)
    np.testing.assert_allclose(scaling.apply(train), ours, atol=1e-5)
    np.testing.assert_allclose(scaling.apply(later), test, atol=1e-5)
    assert (scaling.apply(later)[:, 3] == 0).all()


def test_missing_values_are_the_mean_now_and_later():
    train = RNG.normal(5, 2, (40, 3))
    train[[1, 5], [0, 2]] = np.nan
    test = np.full((2, 3), np.nan)
    ours, filled, scaling = standardise(train, test)
    np.testing.assert_allclose(filled, 0, atol=1e-12)
    full = np.where(np.isnan(train), np.nanmean(train, axis=0), train)
    np.testing.assert_allclose(ours, standardise(full, full)[0], atol=1e-12)
    np.testing.assert_array_equal(scaling.apply(test), 0)


def test_two_scalings_as_one():
    values = RNG.normal(5, 2, (40, 3)) * [1, 0, 1e6]
    once, _, first = standardise(values[:20], values)
    _, _, second = standardise(once[:10], once)
    both = first.then(second)
    np.testing.assert_allclose(both.apply(values), second.apply(first.apply(values)), atol=1e-9)
