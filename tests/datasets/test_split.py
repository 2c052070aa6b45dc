"""How data are divided: the fixed split, folds, what is held out, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refusal_of

from elmlda.datasets import Dataset, Split, draw_stratified_folds

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
        assert not part.has_own_split


def test_each_part_is_standardised_by_its_own_training_samples():
    data = make(np.arange(30) % 2)
    before = data.train.inputs.copy()
    for part in data.folds(3, np.random.default_rng(0)):
        np.testing.assert_allclose(part.train.inputs.mean(axis=0), 0, atol=1e-12)
        np.testing.assert_allclose(part.train.inputs.std(axis=0), 1)
        assert part.scaling is not None
    np.testing.assert_array_equal(data.train.inputs, before)
    assert data.scaling is None


def test_missing_values_are_filled_with_the_training_parts_mean():
    data = make(np.arange(30) % 2)
    data.train.inputs[[0, 7, 20], [0, 1, 0]] = np.nan
    data.train.inputs[:, 1] = np.nan
    split = data.split()
    assert np.isfinite(split.train.inputs).all()
    rows = [*split.train.inputs[:, 0], *split.test.inputs[:, 0]]
    assert np.isclose(rows, 0, atol=1e-12).sum() == 2
    assert (split.test.inputs[:, 1] == 0).all()  # a column without any value


def test_held_out_are_the_last_training_samples(mnist):
    held = mnist.hold_out(1000)
    np.testing.assert_array_equal(held.test.inputs, mnist.train.inputs[-1000:])
    np.testing.assert_array_equal(held.train.labels, mnist.train.labels[:-1000])
    assert held.input_scale == 1 / 255


def test_held_out_of_a_drawn_split_are_shuffled_first():
    whole = make(np.repeat([0, 1, 2], 30))
    held = whole.hold_out(12)
    assert len(held.train.labels) == 48  # none of the test part's
    assert len(set(held.test.labels.tolist())) == 3
    np.testing.assert_array_equal(held.test.inputs, whole.split().hold_out(12).test.inputs)
    np.testing.assert_allclose(held.train.inputs.mean(axis=0), 0, atol=1e-12)


@pytest.mark.parametrize("n", [0, -1, 60, 61])
def test_not_all_and_not_none_are_held_out(n):
    data = make(np.arange(90) % 2)
    assert f"{n} samples cannot be held out of 60: expected 1 to 59." in refusal_of(data.hold_out, n)


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


def test_sizes_in_memory(mnist):
    assert mnist.loading_bytes == mnist.nbytes == 70_000 * (784 + 8)
    data = make(np.arange(30) % 2)
    assert data.nbytes == data.split().nbytes == 30 * (2 * 8 + 8)
    assert data.loading_bytes == data.split().loading_bytes == 2 * data.nbytes
    space = mnist.input_space
    assert (space.n_inputs, space.image_shape) == (784, (28, 28))
    assert space.samples is mnist.train.inputs


# Joined again


def test_joined_are_all_samples_standardised_by_all():
    whole = make(np.arange(30) % 3)
    again = whole.split().join()
    assert again.test is None
    np.testing.assert_allclose(again.train.inputs.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(again.train.inputs.std(axis=0), 1)
    raw = whole.train.inputs
    expected = (raw - raw.mean(axis=0)) / raw.std(axis=0)
    np.testing.assert_allclose(again.scaling.apply(raw), expected, atol=1e-9)
    np.testing.assert_allclose(whole.join().train.inputs, expected, atol=1e-9)
    assert sorted(again.train.labels) == sorted(whole.train.labels)
