import math

import numpy as np
import pytest
import sklearn.metrics
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from elmlda.core.evaluate import (
    SMALLEST,
    brier_score,
    calibration_error,
    confidence_bins,
    count_errors,
    keep_choice,
    log_loss,
    posteriors,
)

properties = settings(derandomize=True, deadline=None, max_examples=150)

# Steps of a thousandth: scores that differ do so beyond rounding. Up to ±1e4.
scores_of_classes = st.tuples(st.integers(1, 6), st.integers(2, 5)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.integers(-(10**7), 10**7))
)


def eq_14(scores):
    """Literally, where exp(1e4) is infinite: p_n = 1 / Σ exp(y_a - y_n)."""

    def exp(x):
        return math.exp(x) if x < 700 else math.inf

    return [[1 / sum(exp(y_a - y_n) for y_a in row) for y_n in row] for row in scores.tolist()]


@properties
@given(scores_of_classes)
def test_posteriors_are_eq_14_and_agree_with_the_scores(thousandths):
    scores = thousandths / 1000
    found = posteriors(scores)
    np.testing.assert_allclose(found, eq_14(scores), rtol=1e-10, atol=1e-300)
    np.testing.assert_allclose(found.sum(axis=-1), 1, rtol=1e-14)
    np.testing.assert_array_equal(found.argmax(axis=-1), scores.argmax(axis=-1))


@pytest.mark.parametrize("size", [1e4, 1e300])
def test_no_score_is_too_large(size):
    scores = size * np.array([[1, -1, 0.5], [-1, -1, -1], [1, 1, -1]])
    expected = [[1, 0, 0], [1 / 3, 1 / 3, 1 / 3], [0.5, 0.5, 0]]
    np.testing.assert_allclose(posteriors(scores), expected, rtol=1e-15)


@properties
@given(scores_of_classes, st.integers(0, 2**32))
def test_posteriors_of_choice_choose_what_the_scores_choose(thousandths, seed):
    """Also where scores differ by so little that their posteriors are equal, or the wrong way round."""
    scores = thousandths / 1000
    rng = np.random.default_rng(seed)
    for _ in range(3):
        near = np.nextafter(scores.max(axis=1, keepdims=True), rng.choice([-np.inf, np.inf]))
        scores = np.where(rng.random(scores.shape) < 0.4, near, scores)
    found = keep_choice(posteriors(scores), scores)
    np.testing.assert_array_equal(found.argmax(axis=1), scores.argmax(axis=1))
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-14)
    np.testing.assert_allclose(found, posteriors(scores), rtol=1e-14)


@properties
@given(
    st.integers(1, 12),
    st.sampled_from([(), (1,), (4,), (2, 3)]),
    st.integers(2, 5),
    st.integers(0, 2**32),
)
def test_errors_are_counted_for_each_size(n_samples, middle, n_classes, seed):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n_samples, *middle, n_classes))
    labels = rng.integers(0, n_classes, n_samples)
    found = count_errors(scores, labels)
    assert found.shape == middle
    assert found.dtype == np.int64
    for index in np.ndindex(middle):
        chosen = scores[:, *index].argmax(axis=1)
        assert found[index] == sklearn.metrics.zero_one_loss(labels, chosen, normalize=False)


def test_errors_counted_by_hand():
    scores = np.array([[3, 1, 2], [0, 5, 5], [-3, -2, -1], [0, 0, 0]])
    assert count_errors(scores, np.array([0, 1, 2, 0])) == 0
    assert count_errors(scores, np.array([0, 2, 0, 0])) == 2
    assert count_errors(np.stack([scores, -scores], axis=1), np.array([0, 1, 2, 0])).tolist() == [0, 3]


def test_rounding_keeps_the_choice_where_float32_ties():
    exact = np.array([[0.5 - 1e-12, 0.5 + 1e-12], [0.5 + 1e-12, 0.5 - 1e-12], [0.25, 0.75]])
    assert exact.astype(np.float32).argmax(axis=1).tolist() == [0, 0, 1]
    rounded = keep_choice(exact.astype(np.float32), exact)
    assert rounded.dtype == np.float32
    assert rounded.argmax(axis=1).tolist() == [1, 0, 1]
    np.testing.assert_allclose(rounded, exact, rtol=2e-7)


# Calibration, against scikit-learn and the definitions


def draw(seed, n_samples=300, n_classes=4, sharpness=0.5):
    rng = np.random.default_rng(seed)
    posteriors = rng.dirichlet(np.full(n_classes, sharpness), n_samples)
    return posteriors, rng.integers(0, n_classes, n_samples)


def literal_ece(posteriors, labels):
    """A sample and a bin at a time: the m-th bin is ((m - 1)/15, m/15]."""
    total = 0.0
    for m in range(1, 16):
        members = [
            (max(row), list(row).index(max(row)) == label)
            for row, label in zip(posteriors.tolist(), labels, strict=True)
            if (m - 1) / 15 < max(row) <= m / 15
        ]
        if members:
            confidence = sum(sure for sure, _ in members) / len(members)
            accuracy = sum(right for _, right in members) / len(members)
            total += len(members) / len(labels) * abs(confidence - accuracy)
    return total


@settings(properties, max_examples=50)
@given(st.integers(0, 2**32), st.integers(2, 6), st.sampled_from([0.05, 0.5, 5.0]))
def test_against_scikit_learn_and_the_definitions(seed, n_classes, sharpness):
    posteriors, labels = draw(seed, 80, n_classes, sharpness)
    posteriors = np.maximum(posteriors, 1e-9)
    posteriors /= posteriors.sum(axis=1, keepdims=True)
    classes = np.arange(n_classes)
    expected = sklearn.metrics.log_loss(labels, posteriors, labels=classes)
    assert log_loss(posteriors, labels) == pytest.approx(expected, rel=1e-9)
    by_class = [sklearn.metrics.brier_score_loss(labels == c, posteriors[:, c]) for c in classes]
    assert brier_score(posteriors, labels) == pytest.approx(sum(by_class), rel=1e-9)
    expected = literal_ece(posteriors, labels)
    assert calibration_error(posteriors, labels) == pytest.approx(expected, rel=1e-9)


def test_a_posterior_of_zero_counts_as_the_smallest_float32():
    posteriors = np.array([[1, 0], [0, 1], [1 - SMALLEST / 2, SMALLEST / 2]])
    labels = np.array([0, 0, 1])
    assert log_loss(posteriors, labels) == pytest.approx(-2 / 3 * np.log(1.1754944e-38))
    assert log_loss(posteriors.astype(np.float32), labels) == log_loss(posteriors, labels)


def test_an_edge_belongs_to_the_lower_bin():
    edges = np.arange(1, 16) / 15
    np.testing.assert_array_equal(confidence_bins(edges), np.arange(15))
    np.testing.assert_array_equal(confidence_bins(np.nextafter(edges[:-1], 1)), np.arange(1, 15))
