import math

import numpy as np
import pytest
import sklearn.metrics
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import multivariate_normal

from elmlda.core.evaluate import count_errors, posteriors, posteriors_of_choice

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


def test_posteriors_are_bayes_rule_with_gaussian_densities():
    """Eq. (7) and (8) with scipy's densities; Eq. (15)'s scores from the same μ, Σ and π."""
    rng = np.random.default_rng(0)
    means, priors, a = rng.normal(size=(3, 4)), np.array([0.2, 0.5, 0.3]), rng.normal(size=(20, 4))
    covariance = np.cov(rng.normal(size=(4, 30)))
    densities = np.stack([multivariate_normal(mean, covariance).pdf(a) for mean in means], axis=1)
    expected = priors * densities / (densities @ priors)[:, None]
    directions = np.linalg.solve(covariance, means.T)
    scores = np.log(priors) + a @ directions - np.einsum("nm,mn->n", means, directions) / 2
    np.testing.assert_allclose(posteriors(scores), expected, rtol=1e-10)


def test_posteriors_of_every_size_at_once():
    scores = np.random.default_rng(0).normal(size=(4, 3, 5))
    found = posteriors(scores)
    for size in range(3):
        np.testing.assert_allclose(found[:, size], eq_14(scores[:, size]), rtol=1e-13)


@properties
@given(scores_of_classes, st.integers(0, 2**32))
def test_posteriors_of_choice_choose_what_the_scores_choose(thousandths, seed):
    """Also where scores differ by so little that their posteriors are equal, or the wrong way round."""
    scores = thousandths / 1000
    rng = np.random.default_rng(seed)
    for _ in range(3):
        near = np.nextafter(scores.max(axis=1, keepdims=True), rng.choice([-np.inf, np.inf]))
        scores = np.where(rng.random(scores.shape) < 0.4, near, scores)
    found = posteriors_of_choice(scores)
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
