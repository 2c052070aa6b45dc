"""Oracles: the equations by sample, lstsq, scikit-learn's LDA, and the one-pass solution."""

import tracemalloc

import numpy as np
import pytest
from equations import accumulate, draw_samples, literal_lda
from hypothesis import given, settings
from hypothesis import strategies as st

from elmlda.core import literal
from elmlda.core.literal import solve_lda_literally, solve_pi_literally
from elmlda.core.solve import LostPrecisionError, derive_lda, solve_pi
from elmlda.errors import ElmldaError

properties = settings(derandomize=True, deadline=None, max_examples=60)
seeds = st.integers(0, 2**32)
ridges = st.sampled_from([0.0, 1e-3, 2.0])
UNIFORM = np.full(3, 1 / 3)


@pytest.fixture(autouse=True)
def _several_chunks(monkeypatch):
    """Not a divisor of the samples' number."""
    monkeypatch.setattr(literal, "ROWS", 37)


@st.composite
def problems(draw):
    """Samples enough for a covariance, their labels and priors."""
    n_hidden, n_classes, seed = draw(st.integers(1, 12)), draw(st.integers(2, 5)), draw(seeds)
    n_samples = draw(st.integers(4 * n_hidden + 25, 120))
    priors = np.random.default_rng(seed).dirichlet(np.full(n_classes, 5.0))
    return *draw_samples(seed, n_samples, n_hidden, n_classes), priors


def fresh_outputs(n_hidden, n_samples=60):
    return np.random.default_rng(1).normal(size=(n_samples, n_hidden))


def stack(lda):
    return np.vstack([lda.constants, lda.weights])


@properties
@given(problems(), ridges)
def test_lda_is_the_papers_equations(problem, ridge):
    hidden, labels, priors = problem
    lda = solve_lda_literally(hidden, labels, priors, ridge)
    expected = literal_lda(hidden, labels, priors, ridge)
    np.testing.assert_allclose(stack(lda), expected, rtol=1e-6, atol=1e-8)
    fresh = fresh_outputs(hidden.shape[1])
    expected_scores = fresh @ expected[1:] + expected[0]
    np.testing.assert_allclose(lda.scores(fresh), expected_scores, rtol=1e-6, atol=1e-7)


@properties
@given(problems(), ridges)
def test_both_are_the_one_pass_solution(problem, ridge):
    hidden, labels, priors = problem
    n_hidden = hidden.shape[1]
    before = hidden.copy()
    pi = solve_pi_literally(hidden, labels, len(priors), ridge)
    lda = solve_lda_literally(hidden, labels, priors, ridge)
    np.testing.assert_array_equal(hidden, before)
    one_pass = solve_pi(accumulate(hidden, labels, len(priors)), (n_hidden,), ridge)
    fresh = fresh_outputs(n_hidden)
    scores = one_pass.scores(fresh)
    np.testing.assert_allclose(pi.scores(fresh), scores[:, 0], rtol=1e-6, atol=1e-8)
    derived = derive_lda(one_pass, priors).scores(scores)[:, 0]
    np.testing.assert_allclose(lda.scores(fresh), derived, rtol=1e-6, atol=1e-7)


def test_float32_outputs_are_rounded_once_and_solved_in_float64():
    hidden, labels = draw_samples(3, 300, 10, 3)
    single = hidden.astype(np.float32)
    lda = solve_lda_literally(single, labels, UNIFORM)
    expected = literal_lda(single.astype(np.float64), labels, UNIFORM)
    np.testing.assert_allclose(stack(lda), expected, rtol=1e-3, atol=1e-4)
    assert lda.weights.dtype == np.float64
    scores = lda.scores(single)
    exact = single.astype(np.float64) @ lda.weights + lda.constants
    np.testing.assert_allclose(scores, exact, rtol=1e-11)
    targets = np.eye(3)[labels]
    pi = solve_pi_literally(single, labels, 3)
    np.testing.assert_allclose(pi.weights, np.linalg.lstsq(single, targets)[0], rtol=1e-3, atol=1e-4)


def test_far_from_the_origin_centred_outputs_keep_what_a_downdate_loses():
    """G - S D⁻¹ Sᵀ in float32 would be all rounding: Eq. (12) as it is written is not."""
    hidden, labels = draw_samples(0, 300, 6, 3)
    far = (hidden + 1000).astype(np.float32)
    lda = solve_lda_literally(far, labels, UNIFORM)
    expected = literal_lda(far.astype(np.float64), labels, UNIFORM)
    np.testing.assert_allclose(lda.weights, expected[1:], rtol=1e-2, atol=1e-2)


def test_lda_holds_no_second_copy_of_the_outputs():
    """A buffer of centred outputs beyond what PI-ELM takes, and vectors."""
    hidden, labels = draw_samples(0, 4000, 60, 3)
    hidden = hidden.astype(np.float32)

    def measure(solve):
        tracemalloc.start()
        solve()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    pi = measure(lambda: solve_pi_literally(hidden, labels, 3))
    lda = measure(lambda: solve_lda_literally(hidden, labels, UNIFORM))
    buffer, vectors = 4 * 60 * literal.ROWS, 8 * 60 * 3
    assert lda < pi + buffer + 8 * vectors < hidden.nbytes / 4


# What has no inverse


def dependent(how):
    """Hidden outputs, labels: a covariance without an inverse, a Gram matrix with one or without."""
    hidden, labels = draw_samples(0, 200, 12, 3)
    if how == "dead":
        hidden[:, 7] = 0
    elif how == "constant":
        hidden[:, 7] = 1
    else:
        hidden, labels = hidden[:10], np.arange(10) % 3
    return hidden, labels


HOWS = ["dead", "constant", "10 samples of 12 units"]


@pytest.mark.parametrize("how", HOWS)
def test_a_singular_covariance_is_refused(how):
    expected = r"^the covariance of 12 hidden units has no inverse: unit \d+ depends .* \(ridge=0.001\)"
    with pytest.raises(ElmldaError, match=expected):
        solve_lda_literally(*dependent(how), UNIFORM)


@pytest.mark.parametrize("how", ["dead", "10 samples of 12 units"])
def test_a_singular_gram_matrix_is_refused(how):
    with pytest.raises(ElmldaError, match=r"^the Gram matrix of 12 hidden units has no inverse"):
        solve_pi_literally(*dependent(how), 3)


def test_a_class_without_samples_is_refused():
    hidden, labels = draw_samples(0, 100, 5, 2)
    with pytest.raises(ElmldaError, match="no training sample of class 2: LDA needs"):
        solve_lda_literally(hidden, labels, UNIFORM)


@pytest.mark.parametrize("solve", [solve_pi_literally, solve_lda_literally])
def test_outputs_that_are_not_finite_are_refused(solve):
    hidden, labels = draw_samples(0, 100, 5, 3)
    hidden = hidden.astype(np.float32)
    hidden[3, 2] = np.inf
    with (
        np.errstate(invalid="ignore"),
        pytest.raises(LostPrecisionError, match=r"hidden unit .* of 5 is too large"),
    ):
        solve(hidden, labels, 3 if solve is solve_pi_literally else UNIFORM)
