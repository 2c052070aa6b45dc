"""How data are divided and standardised: the fixed split, folds, what is held out or refused."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refusal_of
from sklearn.preprocessing import StandardScaler

from elmlda.datasets.split import Dataset, Split, draw_stratified_folds, standardise

properties = settings(derandomize=True, deadline=None)


def make(labels, n_inputs=2, standardised=True):
    """Undivided data with these class indices."""
    labels = np.asarray(labels)
    inputs = np.random.default_rng(0).normal(5, 3, (len(labels), n_inputs))
    classes = tuple(map(str, range(labels.max() + 1)))
    return Dataset("made", Split(inputs, labels), classes=classes, is_standardised=standardised)


@properties
@given(st.lists(st.integers(0, 4), min_size=1, max_size=60), st.integers(1, 8), st.integers(0, 99))
def test_folds_differ_by_at_most_one_sample(labels, n_folds, seed):
    labels = np.array(labels)
    folds = draw_stratified_folds(labels, n_folds, np.random.default_rng(seed))
    for kept in (labels >= 0, *(labels == c for c in range(5))):
        counts = np.bincount(folds[kept], minlength=n_folds)
        assert np.ptp(counts) <= 1


def test_the_split_is_two_thirds_and_one_whatever_is_done_before():
    data = make(np.arange(60) % 3)
    np.random.default_rng(5).random()
    split = data.split()
    assert split.train.count_classes(3).tolist() == [14, 13, 13] or len(split.train.labels) == 40
    assert len(split.test.labels) == 20
    np.testing.assert_array_equal(split.train.inputs, data.split().train.inputs)
    assert split.split() is split
    assert split.preparation["split"].startswith("stratified, two thirds")
    assert split.preparation["inputs"] == "standardised by the training part"


def test_folds_test_every_sample_once():
    data = make(np.arange(50) % 3, standardised=False)
    parts = list(data.folds(4, np.random.default_rng(1)))
    assert len(parts) == 4
    tested = np.concatenate([part.test.inputs for part in parts])
    assert sorted(tested.tolist()) == sorted(data.train.inputs.tolist())
    assert len({part.preparation["rows"] for part in parts}) == 4
    for part in parts:
        assert len(part.train.labels) + len(part.test.labels) == 50


def test_held_out_are_the_last_training_samples(mnist):
    held = mnist.split(1000)
    np.testing.assert_array_equal(held.test.inputs, mnist.train.inputs[-1000:])
    np.testing.assert_array_equal(held.train.labels, mnist.train.labels[:-1000])
    assert held.input_scale == 1 / 255


def test_held_out_of_a_drawn_split_are_shuffled_first():
    held = make(np.repeat([0, 1, 2], 30)).split(12)
    assert len(held.train.labels) == 48  # none of the test part's
    assert len(set(held.test.labels.tolist())) == 3
    np.testing.assert_allclose(held.train.inputs.mean(axis=0), 0, atol=1e-12)


@pytest.mark.parametrize("own_test", [False, True])
def test_means_that_fill_are_not_taken_over_held_out_samples(own_test):
    rng = np.random.default_rng(0)
    data = make(np.arange(90) % 2, n_inputs=3)
    inputs = data.train.inputs
    inputs[rng.random((90, 3)) < 0.2] = np.nan
    inputs[-30:] *= 1000  # held out of an own training part: must not be seen in any mean
    if own_test:
        data = replace(data, test=data.train)
    held = data.split(30)
    # Rows are found again by their standardised values: a filled one is exactly 0, the mean.
    is_filled = held.train.inputs == 0
    assert is_filled.any(axis=0).all()
    present = np.where(is_filled, np.nan, held.train.inputs)
    np.testing.assert_allclose(np.nanmean(present, axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(np.nanvar(present, axis=0), 1)
    assert np.isfinite(held.test.inputs).all()
    if own_test:
        known = StandardScaler().fit_transform(inputs[:60])
        np.testing.assert_allclose(held.train.inputs, np.nan_to_num(known), atol=1e-9)


@pytest.mark.parametrize("n", [-1, 60, 61])
def test_not_all_training_samples_are_held_out(n):
    data = make(np.arange(90) % 2)
    assert f"{n} samples cannot be held out of 60: expected 1 to 59." in refusal_of(data.split, n)


def test_what_cannot_be_divided():
    rng = np.random.default_rng(0)
    data = make([0, 0, 1, 1, 2, 2])
    assert refusal_of(data.folds, 7, rng).endswith(
        "cannot be divided into 7 folds. Use at most folds=6."
    )
    assert "into 1 folds" in refusal_of(data.folds, 1, rng)
    assert "has a test part of its own" in refusal_of(data.split().folds, 2, rng)
    rows = np.arange(6)
    assert refusal_of(data.divide, rows[:4], rows[4:]) == (
        "made: no sample of class 2 in the training part, expected one or more."
    )


def test_classes_of_a_single_sample():
    assert refusal_of(make([0, 0, 1, 1, 2]).split) == (
        "made: 1 of 3 classes have a single sample (2), expected two or more: one to train on and one "
        "to test on. Leave them out, or join classes."
    )
    quantity = replace(make(np.arange(20)), preparation={"label": "price"})
    assert refusal_of(quantity.split).endswith("Is 'price' a class at all?")


# Standardised inputs


RNG = np.random.default_rng(0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_same_as_scikit_learns(dtype):
    train, test = (RNG.normal(5, 3, (n, 4)).astype(dtype) for n in (50, 20))
    scaler = StandardScaler().fit(train.astype(np.float64))
    labels = [np.arange(len(part)) % 2 for part in (train, test)]
    parts = map(Split, (train, test), labels)
    data = Dataset("made", *parts, classes=("0", "1"), is_standardised=True).split()
    for ours, part in zip((data.train, data.test), (train, test), strict=True):
        assert ours.inputs.dtype == dtype
        atol = 1e-12 if dtype == np.float64 else 1e-6
        np.testing.assert_allclose(ours.inputs, scaler.transform(part.astype(np.float64)), atol=atol)


def test_a_constant_column_is_zero_in_both_parts():
    train, test = RNG.normal(size=(10, 2)), RNG.normal(size=(5, 2))
    train[:, 1] = 0.1  # its mean of ten is not 0.1
    ours, scaled = standardise(train, test)
    for part in (ours, scaled):
        assert (part[:, 1] == 0).all()
    assert ours[:, 0].std() == pytest.approx(1)


def test_missing_values_are_the_mean_in_both_parts():
    train = RNG.normal(5, 2, (40, 3))
    train[[1, 5], [0, 2]] = np.nan
    train[:, 1] = np.nan  # a column without any value
    ours, filled = standardise(train, np.full((2, 3), np.nan))
    known = StandardScaler().fit(train[:, ::2])  # which leaves missing values out
    np.testing.assert_allclose(ours[:, ::2], np.nan_to_num(known.transform(train[:, ::2])), atol=1e-12)
    assert (ours[:, 1] == 0).all()
    assert (filled == 0).all()


def test_bytes_are_standardised_in_float32():
    train, test = np.array([[0, 3], [255, 3], [0, 3]], np.uint8), np.array([[255, 9]], np.uint8)
    ours, scaled = standardise(train, test)
    assert ours.dtype == scaled.dtype == np.float32
    assert ours[:, 0] == pytest.approx([-(0.5**0.5), 2**0.5, -(0.5**0.5)])
    assert scaled[0] == pytest.approx([2**0.5, 0])


@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_what_float64_cannot_standardise_is_refused(size):
    data = make(np.arange(30) % 2)
    data.train.inputs[:] *= size
    assert "standard deviations" in refusal_of(data.split)
