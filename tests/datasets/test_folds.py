"""Stratified folds, tables, and the split that sweep, ensemble and timing have."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elmlda.datasets import (
    Split,
    Table,
    draw_stratified_folds,
    load_dataset,
    load_source,
    require_two_of_each,
    split_table,
)
from elmlda.errors import ElmldaError

properties = settings(derandomize=True, deadline=None)


def make_table(labels, is_standardised=True, **more):
    labels = np.array(labels, np.int64)
    inputs = np.random.default_rng(0).normal(3, 2, (len(labels), 4))
    classes = tuple("abcdefghijklmnopqrstuvwxyz"[: labels.max() + 1])
    about = {"classes": classes, "is_standardised": is_standardised, "checksums": {"file": "0"}}
    return Table("mine", Split(inputs, labels), **about, **more)


# Folds


@properties
@given(
    labels=st.lists(st.integers(0, 4), min_size=1, max_size=60),
    n_folds=st.integers(2, 10),
    seed=st.integers(0, 99),
)
def test_every_class_is_dealt_out_evenly(labels, n_folds, seed):
    labels = np.array(labels, np.int64)
    folds = draw_stratified_folds(labels, n_folds, np.random.default_rng(seed))
    assert folds.shape == labels.shape
    assert np.ptp(np.bincount(folds, minlength=n_folds)) <= 1
    for label in np.unique(labels):
        counts = np.bincount(folds[labels == label], minlength=n_folds)
        assert np.ptp(counts) <= 1
        if counts.sum() >= 2:  # so that it can be trained on whichever fold is tested
            assert counts.max() < counts.sum()


def test_folds_depend_on_the_generator_alone():
    labels = np.arange(60) % 3
    draws = [draw_stratified_folds(labels, 5, np.random.default_rng(seed)) for seed in (1, 1, 2)]
    assert (draws[0] == draws[1]).all()
    assert (draws[0] != draws[2]).any()


def test_members_of_a_class_meet_others_in_each_draw():
    labels = np.repeat([0, 1], 50)
    together = np.zeros((100, 100))
    for seed in range(300):
        folds = draw_stratified_folds(labels, 2, np.random.default_rng(seed))
        together += folds[:, None] == folds
    shares = together[:50, :50][~np.eye(50, dtype=bool)] / 300
    assert shares.mean() == pytest.approx(24 / 49, abs=1e-9)
    assert 0.3 < shares.min() <= shares.max() < 0.7


# Tables


def test_divide_standardises_by_the_training_rows():
    table = make_table(np.arange(30) % 3)
    train, test = np.arange(20), np.arange(20, 30)
    dataset = table.divide(train, test)
    raw = table.samples.inputs
    mean, deviation = raw[:20].mean(axis=0), raw[:20].std(axis=0)
    np.testing.assert_allclose(dataset.train.inputs, (raw[:20] - mean) / deviation)
    np.testing.assert_allclose(dataset.test.inputs, (raw[20:] - mean) / deviation)
    assert dataset.train.labels.tolist() == table.samples.labels[:20].tolist()
    assert (dataset.is_standardised, dataset.has_own_split, dataset.input_scale) == (True, False, 1.0)
    assert dataset.preparation["inputs"] == "standardised by the training part"
    assert (table.n_samples, table.n_inputs, table.n_classes) == (30, 4, 3)


def test_divide_leaves_bytes_alone():
    table = make_table(np.arange(30) % 3, is_standardised=False, input_scale=1 / 255)
    dataset = table.divide(np.arange(20), np.arange(20, 30))
    np.testing.assert_array_equal(dataset.train.inputs, table.samples.inputs[:20])
    assert (dataset.is_standardised, dataset.input_scale) == (False, 1 / 255)


def test_other_rows_have_another_checksum():
    table = make_table(np.arange(30) % 3)
    rows = [(20, 30), (21, 30), (20, 29)]
    found = {table.divide(np.arange(a), np.arange(a, b)).preparation["rows"] for a, b in rows}
    assert len(found) == 3
    assert table.divide(np.arange(20), np.arange(20, 30)).checksums == {"file": "0"}


def test_a_class_without_training_samples():
    table = make_table([0, 0, 1, 1, 2])
    with pytest.raises(ElmldaError) as caught:
        table.divide(np.array([0, 1]), np.array([2, 3, 4]))
    assert str(caught.value) == (
        "mine: no sample of class b or c in the training part, expected one or more."
    )


def test_the_training_part_as_a_table_again():
    dataset = make_table(np.arange(60) % 3).divide(np.arange(40), np.arange(40, 60))
    inner = dataset.train_table().divide(np.arange(30), np.arange(30, 40))
    direct = make_table(np.arange(60) % 3).divide(np.arange(30), np.arange(30, 40))
    np.testing.assert_allclose(inner.train.inputs, direct.train.inputs, atol=1e-12)
    np.testing.assert_allclose(inner.test.inputs, direct.test.inputs, atol=1e-12)


def test_the_training_part_of_images_as_a_table(mnist):
    inner = mnist.train_table().divide(np.arange(1000), np.arange(1000, 1200))
    assert inner.train.inputs.dtype == np.uint8
    assert inner.input_scale == 1 / 255
    assert inner.image_shape == (28, 28)


# The default split


def test_the_default_split_is_always_the_same():
    table = make_table(np.arange(90) % 3)
    first, second = split_table(table), split_table(table)
    assert first.preparation == second.preparation
    np.testing.assert_array_equal(first.test.inputs, second.test.inputs)
    assert np.bincount(first.train.labels).tolist() == [20, 20, 20]
    assert np.bincount(first.test.labels).tolist() == [10, 10, 10]
    assert first.preparation["split"] == "stratified, two thirds to train on and one to test on, seed 0"


def test_the_default_split_of_iris_is_what_it_was():
    """Recorded runs go on only with the same rows: another draw would orphan them."""
    assert load_dataset("iris").preparation["rows"] == "b67019474de93825"


@pytest.mark.parametrize("n_of_last", [2, 3])
def test_classes_with_two_members_are_trained_on(n_of_last):
    table = make_table([0] * 7 + [1] * 8 + [2] * n_of_last)
    assert np.bincount(split_table(table).train.labels, minlength=3).min() >= 1


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (
            [0, 0, 1, 1, 2],
            "mine: class c has a single sample, expected two or more: one to train on and one to test "
            "on. Leave it out, or join it to another class.",
        ),
        (
            [0, 0, 1, 1, 2, 3],
            "mine: class c and d have a single sample each, expected two or more: one to train on and "
            "one to test on. Leave it out, or join it to another class.",
        ),
        (
            [0, 0, 1, 2, 3],
            "mine: 3 of 4 classes have a single sample: is what it has as labels a class at all? A "
            "training and a test part need two of each.",
        ),
    ],
)
def test_a_class_with_a_single_member(labels, message):
    for refuse in (split_table, require_two_of_each):
        with pytest.raises(ElmldaError) as caught:
            refuse(make_table(labels))
        assert str(caught.value) == message


def test_a_source_is_a_table_only_without_a_split():
    assert isinstance(load_source("iris"), Table)
    assert not isinstance(load_source("satimage"), Table)


# Holding samples out


def test_mnists_last_training_samples_are_held_out(mnist):
    held = mnist.hold_out(10_000)
    np.testing.assert_array_equal(held.train.inputs, mnist.train.inputs[:50_000])
    np.testing.assert_array_equal(held.test.inputs, mnist.train.inputs[50_000:])
    np.testing.assert_array_equal(held.test.labels, mnist.train.labels[50_000:])
    assert held.input_scale == mnist.input_scale
    assert held.image_shape == (28, 28)


def test_samples_of_a_table_are_shuffled_before_some_are_held_out_and_standardised_without_them():
    whole = load_dataset("iris")
    held = whole.hold_out(30)
    assert len(held.test.labels) == 30
    assert len(set(held.test.labels.tolist())) == 3
    np.testing.assert_allclose(held.train.inputs.mean(axis=0), 0, atol=1e-12)
    assert abs(held.test.inputs.mean(axis=0)).max() > 1e-3
    assert len(held.train.labels) + 30 == len(whole.train.labels)


@pytest.mark.parametrize("n", [0, 60_000, -1])
def test_not_all_and_not_none_are_held_out(mnist, n):
    with pytest.raises(ElmldaError, match="cannot be held out of 60,000: expected 1 to 59,999"):
        mnist.hold_out(n)
