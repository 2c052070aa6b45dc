"""Oracles: the paper's equations taken literally, scikit-learn's LDA, and what derives from PI-ELM."""

import tracemalloc

import numpy as np
import pytest
from equations import accumulate, draw_samples, literal_lda
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from elmlda.core import blas, factor
from elmlda.core.direct_lda import solve_lda
from elmlda.core.evaluate import posteriors
from elmlda.core.solve import LostPrecisionError, SingularCovarianceError, derive_lda, solve_pi
from elmlda.core.stopwatch import Stopwatch
from elmlda.errors import ElmldaError

properties = settings(derandomize=True, deadline=None, max_examples=60)
seeds = st.integers(0, 2**32)
UNIFORM = np.full(3, 1 / 3)


@st.composite
def problems(draw):
    """Samples enough for a covariance, their labels and priors."""
    n_hidden, n_classes, seed = draw(st.integers(1, 12)), draw(st.integers(2, 5)), draw(seeds)
    n_samples = draw(st.integers(4 * n_hidden + 25, 120))
    priors = np.random.default_rng(seed).dirichlet(np.full(n_classes, 5.0))
    return *draw_samples(seed, n_samples, n_hidden, n_classes), priors


def fresh_outputs(n_hidden):
    return np.random.default_rng(1).normal(size=(20, n_hidden))


@properties
@given(problems(), st.sampled_from([0.0, 1e-3, 2.0]))
def test_it_is_the_papers_equations(problem, ridge):
    hidden, labels, priors = problem
    lda = solve_lda(accumulate(hidden, labels, len(priors)), priors, ridge)
    expected = literal_lda(hidden, labels, priors, ridge)
    np.testing.assert_allclose(lda.constants, expected[0], rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(lda.weights, expected[1:], rtol=1e-6, atol=1e-8)
    fresh = fresh_outputs(hidden.shape[1])
    found = lda.scores(lda.products(fresh))
    np.testing.assert_allclose(found, fresh @ expected[1:] + expected[0], rtol=1e-6, atol=1e-7)


@properties
@given(problems(), st.sampled_from([0.0, 1e-3, 2.0]))
def test_it_is_what_is_derived_from_pi(problem, ridge):
    hidden, labels, priors = problem
    statistics = accumulate(hidden, labels, len(priors))
    before = statistics.gram.copy()
    lda = solve_lda(statistics, priors, ridge)
    np.testing.assert_array_equal(statistics.gram, before)
    pi = solve_pi(statistics, (hidden.shape[1],), ridge)
    derived = derive_lda(pi, priors)
    fresh = fresh_outputs(hidden.shape[1])
    np.testing.assert_allclose(
        lda.scores(lda.products(fresh)), derived.scores(pi.scores(fresh))[:, 0], rtol=1e-6, atol=1e-7
    )


@properties
@given(problems())
def test_it_is_scikit_learns_with_frequencies_as_priors(problem):
    hidden, labels, priors = problem
    statistics = accumulate(hidden, labels, len(priors))
    frequencies = statistics.class_counts / len(labels)
    lda = solve_lda(statistics, frequencies)
    oracle = LinearDiscriminantAnalysis(solver="lsqr", priors=frequencies).fit(hidden, labels)
    fresh = fresh_outputs(hidden.shape[1])
    found = posteriors(lda.scores(lda.products(fresh)))
    np.testing.assert_allclose(found, oracle.predict_proba(fresh), rtol=1e-6, atol=1e-10)


def test_beyond_one_block_of_columns_and_of_the_factor(monkeypatch):
    monkeypatch.setattr(blas, "CHOLESKY_BLOCK", 64)
    monkeypatch.setattr(factor, "COLUMNS_PER_COPY", 50)
    hidden, labels = draw_samples(0, 600, 170, 3)
    statistics = accumulate(hidden, labels, 3)
    statistics.gram[np.triu_indices(170, 1)] = np.nan  # The upper triangle is nobody's.
    lda = solve_lda(statistics, UNIFORM, ridge=0.5)
    expected = literal_lda(hidden, labels, UNIFORM, ridge=0.5)
    np.testing.assert_allclose(np.vstack([lda.constants, lda.weights]), expected, rtol=1e-7, atol=1e-9)


def test_a_covariance_of_float32_sums_is_not_rounded_to_float32():
    """Outputs are multiples of 1/64, so that float32 has their sums exactly; but not Σ."""
    hidden, labels = draw_samples(0, 300, 8, 3)
    hidden = np.round(64 * (hidden + 1)) / 64
    statistics = accumulate(hidden, labels, 3, np.float32)
    lda = solve_lda(statistics, UNIFORM)
    expected = literal_lda(hidden, labels, UNIFORM)
    np.testing.assert_allclose(np.vstack([lda.constants, lda.weights]), expected, rtol=1e-10)


def test_scores_of_float32_hidden_outputs_are_computed_in_float64():
    hidden, labels = draw_samples(3, 200, 10, 3)
    single = hidden.astype(np.float32)
    lda = solve_lda(accumulate(single, labels, 3), UNIFORM)
    products = lda.products(single)
    assert products.dtype == np.float64
    np.testing.assert_allclose(products, single.astype(np.float64) @ lda.weights, rtol=1e-11)


def test_what_pi_has_not_is_timed_by_itself():
    watch = Stopwatch()
    solve_lda(accumulate(*draw_samples(0, 100, 10, 3), 3), UNIFORM, watch=watch)
    assert set(watch.parts) == {"factorisation", "solve", "lda"}
    assert min(watch.parts.values()) > 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_it_takes_no_more_memory_than_pi(dtype):
    statistics = accumulate(*draw_samples(0, 1200, 500, 3), 3, dtype)

    def measure(solve):
        tracemalloc.start()
        solve()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    factor_bytes, vectors_bytes = 8 * 500**2, 8 * 500 * 3
    pi = measure(lambda: solve_pi(statistics, (500,)))
    lda = measure(lambda: solve_lda(statistics, UNIFORM))
    assert factor_bytes < lda < pi + 4 * vectors_bytes < 1.1 * factor_bytes


# What has no inverse


def dependent(how):
    """Hidden outputs, labels: a covariance without an inverse, a Gram matrix with one or without."""
    hidden, labels = draw_samples(0, 200, 12, 3)
    if how == "repeated":
        hidden[:, 7] = hidden[:, 2]
    elif how == "dead":
        hidden[:, 7] = 0
    elif how == "constant":
        hidden[:, 7] = 1
    elif how == "the target":
        hidden[:, 7] = labels == 1
    else:
        hidden, labels = hidden[:14], np.arange(14) % 3
    return hidden, labels


HOWS = ["repeated", "dead", "constant", "the target", "14 samples of 3 classes"]


@pytest.mark.parametrize("how", HOWS)
def test_a_singular_covariance_is_refused(how):
    with pytest.raises(SingularCovarianceError, match=r"covariance is singular: .*\b12\b"):
        solve_lda(accumulate(*dependent(how), 3), UNIFORM)


@pytest.mark.parametrize("how", HOWS[:-1])
def test_float32_cannot_tell_and_says_so(how):
    with pytest.raises(LostPrecisionError, match="singular to within float32's rounding"):
        solve_lda(accumulate(*dependent(how), 3, np.float32), UNIFORM)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("how", HOWS)
def test_a_ridge_helps(how, dtype):
    hidden, labels = dependent(how)
    lda = solve_lda(accumulate(hidden, labels, 3, dtype), UNIFORM, ridge=0.5)
    expected = literal_lda(hidden, labels, UNIFORM, ridge=0.5)
    found = np.vstack([lda.constants, lda.weights])
    np.testing.assert_allclose(found, expected, rtol=1e-3 if dtype == np.float32 else 1e-7, atol=1e-4)


def test_a_class_without_samples_is_refused():
    hidden, labels = draw_samples(0, 100, 5, 2)
    with pytest.raises(ElmldaError, match="no training sample of class 2: LDA needs"):
        solve_lda(accumulate(hidden, labels, 3), UNIFORM)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_outputs_that_are_not_finite_are_refused(dtype):
    statistics = accumulate(*draw_samples(0, 100, 5, 3), 3, dtype)
    statistics.gram[2, 2] = np.inf
    with pytest.raises(ElmldaError, match="hidden unit 3 of 5 has outputs too large"):
        solve_lda(statistics, UNIFORM)
