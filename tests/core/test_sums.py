import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elmlda.core import sums
from elmlda.core.sums import RowSample, Sums, count_rows

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
    found = Sums.zeros(hidden.shape[1], n_classes, hidden.dtype.type)
    for batch in batches:
        found.add(hidden[batch], labels[batch])
    return found


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
    expected = Sums(hidden.T @ hidden, hidden.T @ targets, targets.sum(axis=0), len(labels))
    assert_equal(found, expected)
    assert found.gram.dtype == hidden.dtype
    assert found.class_sums.dtype == np.float64
    assert found.n_samples == len(hidden)


@properties
@given(samples(), st.data())
def test_any_batches_in_any_order_give_the_same(data, more):
    hidden, labels, n_classes = data
    order = np.array(more.draw(st.permutations(range(len(labels)))))
    cuts = sorted(more.draw(st.sets(st.integers(1, len(labels)), max_size=6)))
    batches = [batch for batch in np.split(order, cuts) if len(batch)]
    whole = accumulate(hidden, labels, n_classes, [np.s_[:]])
    assert_equal(accumulate(hidden, labels, n_classes, batches), whole)


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
    found = Sums.zeros(2, 2, np.float32)
    with pytest.raises(ValueError, match="float32"):
        found.add(np.ones((3, 2)), np.array([0, 1, 0]))
    assert found.n_samples == 0
    assert not found.gram.any()


# The sample of rows: at random, whatever the batches, each row with its own label and weight


def pass_by(n_rows, cuts, seed=0, n_hidden=3):
    """Row i has the hidden outputs i, the label i % 5 and the weight i + 1."""
    numbers = np.arange(n_rows)
    sample = RowSample(np.random.default_rng(seed), n_hidden, np.dtype(np.float32))
    for part in np.split(numbers, sorted(cuts)):
        if len(part):
            hidden = np.repeat(part[:, None], n_hidden, axis=1).astype(np.float32)
            sample.add(hidden, part % 5, part + 1.0)
            hidden[:] = -1  # the caller's buffer is used again
    return sample


@settings(max_examples=100, deadline=None)
@given(
    n_rows=st.integers(1, 60), cuts=st.lists(st.integers(0, 60), max_size=12), most=st.integers(1, 30)
)
def test_batches_of_any_size_give_the_same_rows(n_rows, cuts, most):
    sums.FEWEST_ROWS, sums.MOST_OUTPUTS = most, 0
    try:
        whole, parts = pass_by(n_rows, []), pass_by(n_rows, [min(cut, n_rows) for cut in cuts])
    finally:
        sums.FEWEST_ROWS, sums.MOST_OUTPUTS = 2000, 1 << 21
    numbers = parts.hidden[:, 0].astype(int)
    assert sorted(numbers) == sorted(whole.hidden[:, 0].astype(int))
    assert len(set(numbers)) == min(n_rows, most)
    assert (parts.hidden == numbers[:, None]).all()
    assert parts.labels.tolist() == (numbers % 5).tolist()
    assert parts.weights.tolist() == (numbers + 1).tolist()


def test_every_row_is_as_likely_as_any_other(monkeypatch):
    monkeypatch.setattr(sums, "FEWEST_ROWS", 10)
    monkeypatch.setattr(sums, "MOST_OUTPUTS", 0)
    counts = np.zeros(40)
    for seed in range(2000):
        counts[pass_by(40, [3, 20, 21], seed).hidden[:, 0].astype(int)] += 1
    # 500 times each; the standard deviation is 19.
    assert abs(counts - 500).max() < 90


def test_how_many_rows():
    assert count_rows(15_680) == 2000
    assert count_rows(500) == 4194
