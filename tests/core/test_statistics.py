import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elmlda.core.statistics import Statistics

properties = settings(derandomize=True, deadline=None, max_examples=80)
dtypes = st.sampled_from([np.float32, np.float64])


@st.composite
def samples(draw):
    """Hidden outputs that are small whole numbers: their sums are exact, in whatever order."""
    n_samples, n_hidden, n_classes = draw(st.tuples(*[st.integers(1, n) for n in (40, 8, 5)]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    hidden = rng.integers(-9, 10, (n_samples, n_hidden)).astype(draw(dtypes))
    return hidden, rng.integers(0, n_classes, n_samples), n_classes


def accumulate(hidden, labels, n_classes, batches):
    statistics = Statistics.zeros(hidden.shape[1], n_classes, hidden.dtype.type)
    for batch in batches:
        statistics.add(hidden[batch], labels[batch])
    return statistics


def assert_equal(found, expected):
    np.testing.assert_array_equal(np.tril(found.gram), np.tril(expected.gram))
    np.testing.assert_array_equal(found.class_sums, expected.class_sums)
    np.testing.assert_array_equal(found.class_counts, expected.class_counts)


@properties
@given(samples())
def test_against_the_definition(data):
    hidden, labels, n_classes = data
    found = accumulate(hidden, labels, n_classes, [np.s_[:]])
    targets = np.eye(n_classes)[labels]
    expected = Statistics(hidden.T @ hidden, hidden.T @ targets, targets.sum(axis=0).astype(int))
    assert_equal(found, expected)
    assert found.gram.dtype == hidden.dtype
    assert found.class_sums.dtype == np.float64
    assert (found.n_samples, found.n_hidden, found.n_classes) == (*hidden.shape, n_classes)


@properties
@given(samples(), st.data())
def test_any_batches_in_any_order_give_the_same(data, more):
    hidden, labels, n_classes = data
    order = np.array(more.draw(st.permutations(range(len(labels)))))
    cuts = sorted(more.draw(st.sets(st.integers(1, len(labels)), max_size=6)))
    batches = [batch for batch in np.split(order, cuts) if len(batch)]
    whole = accumulate(hidden, labels, n_classes, [np.s_[:]])
    assert_equal(accumulate(hidden, labels, n_classes, batches), whole)


@properties
@given(samples(), st.data())
def test_merged_parts_are_the_whole(data, more):
    hidden, labels, n_classes = data
    part = np.array(more.draw(st.lists(st.integers(0, 2), min_size=len(labels), max_size=len(labels))))
    whole = accumulate(hidden, labels, n_classes, [np.s_[:]])
    parts = [accumulate(hidden, labels, n_classes, [part == i] if i in part else []) for i in range(3)]
    kept = [np.copy(parts[1].gram), np.copy(parts[1].class_sums), np.copy(parts[1].class_counts)]
    merged = Statistics.zeros(hidden.shape[1], n_classes, hidden.dtype.type)
    for other in parts:
        merged = merged.plus(other)
    assert_equal(merged, whole)
    assert_equal(parts[1], Statistics(*kept))
    assert_equal(parts[1].plus(parts[2].plus(parts[0])), whole)


@pytest.mark.parametrize(("dtype", "rtol"), [(np.float32, 1e-5), (np.float64, 1e-13)])
def test_fractions_to_within_rounding(dtype, rtol):
    rng = np.random.default_rng(0)
    hidden, labels = np.tanh(rng.normal(size=(1000, 30))).astype(dtype), rng.integers(0, 4, 1000)
    found = accumulate(hidden, labels, 4, [np.s_[start : start + 77] for start in range(0, 1000, 77)])
    exact = hidden.astype(np.float64)
    np.testing.assert_allclose(np.tril(found.gram), np.tril(exact.T @ exact), atol=rtol * 1000)
    expected_sums = np.stack([exact[labels == n].sum(axis=0) for n in range(4)], axis=1)
    np.testing.assert_allclose(found.class_sums, expected_sums, atol=rtol * 1000)
    assert found.class_counts.tolist() == np.bincount(labels).tolist()


def test_a_class_without_samples_is_counted_as_none():
    found = accumulate(np.ones((3, 2)), np.array([0, 3, 0]), 5, [np.s_[:]])
    assert found.class_counts.tolist() == [2, 0, 0, 1, 0]
    assert found.class_sums.tolist() == [[2, 0, 0, 1, 0]] * 2


def test_batches_of_another_precision_than_the_gram_matrix_are_refused():
    statistics = Statistics.zeros(2, 2, np.float32)
    with pytest.raises(ValueError, match="float32"):
        statistics.add(np.ones((3, 2)), np.array([0, 1, 0]))
    assert statistics.n_samples == 0
    assert not statistics.gram.any()
