"""Standardised inputs: by the training part alone, and never NaN."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.preprocessing import StandardScaler

from elmlda.datasets import scaling
from elmlda.datasets.scaling import standardise
from elmlda.errors import ElmldaError

properties = settings(derandomize=True, deadline=None)

RNG = np.random.default_rng(0)


def test_the_same_as_scikit_learns():
    train, test = RNG.normal(5, 3, (50, 4)), RNG.normal(5, 3, (20, 4))
    scaler = StandardScaler().fit(train)
    ours = standardise(train, test)[:2]
    np.testing.assert_allclose(ours[0], scaler.transform(train), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(ours[1], scaler.transform(test), rtol=1e-12, atol=1e-12)


def test_the_test_part_does_not_matter_to_the_training_part():
    train = RNG.normal(size=(30, 3))
    first, _ = standardise(train, RNG.normal(size=(10, 3)))[:2]
    second, _ = standardise(train, 1e6 + RNG.normal(size=(7, 3)))[:2]
    np.testing.assert_array_equal(first, second)


def test_a_constant_column_is_zero_in_both_parts():
    train, test = RNG.normal(size=(10, 2)), RNG.normal(size=(5, 2))
    train[:, 1] = 0.1  # its mean of ten is not 0.1
    ours = standardise(train, test)[:2]
    assert (ours[0][:, 1] == 0).all()
    assert (ours[1][:, 1] == 0).all()
    assert ours[0][:, 0].std() == pytest.approx(1)


def test_a_small_spread_about_a_large_mean():
    train = 1e9 + np.arange(8.0)[:, None]
    ours, _ = standardise(train, train)[:2]
    np.testing.assert_allclose(ours, standardise(train - 1e9, train)[0], rtol=1e-12)


def test_standardising_twice_changes_nothing():
    train, test = RNG.normal(5, 3, (50, 4)), RNG.normal(5, 3, (20, 4))
    rows = np.arange(30)
    direct = standardise(train[rows], test)[:2]
    once = standardise(train, test)[:2]
    again = standardise(once[0][rows], once[1])[:2]
    for a, b in zip(direct, again, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10)


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
        np.testing.assert_array_equal(a, b)


def test_a_test_value_that_is_out_of_reach():
    train, test = np.array([[0.0, 1.0], [1.0, 2.0]]), np.array([[0.0, 1e300]])
    with pytest.raises(
        ElmldaError, match=r"^mine: column 'b' has test values that are more than 1e\+30 "
    ):
        standardise(train, test, "mine", ("a", "b"))
    with pytest.raises(ElmldaError, match="column 2"):
        standardise(train, test)


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
