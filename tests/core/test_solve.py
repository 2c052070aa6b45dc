"""Oracles: numpy's lstsq and pinv, scikit-learn's LDA, and the paper's equations taken literally."""

import warnings

import numpy as np
import pytest
from equations import accumulate, draw_samples, literal_lda
from hypothesis import example, given, settings
from hypothesis import strategies as st

from elmlda.core import blas, solve
from elmlda.core.solve import (
    LostPrecisionError,
    RankWarning,
    SingularCovarianceError,
    derive_lda,
    solve_pi,
)
from elmlda.core.sums import Sums
from elmlda.errors import ElmldaError

properties = settings(derandomize=True, deadline=None, max_examples=60)
seeds = st.integers(0, 2**32)
ridges = st.sampled_from([0.0, 1e-3, 2.0])


def least_squares(hidden, labels, n_classes, ridge=0.0, constant=False):
    """Eq. (5) by lstsq; a ridge as rows √λ I with targets 0; a constant unit, without ridge, last."""
    n_samples, n_hidden = hidden.shape
    rows = np.vstack([hidden, np.sqrt(ridge) * np.eye(n_hidden)])
    if constant:
        ones = np.concatenate([np.ones(n_samples), np.zeros(n_hidden)])
        rows = np.column_stack([rows, ones])
    targets = np.vstack([np.eye(n_classes)[labels], np.zeros((n_hidden, n_classes))])
    return np.linalg.lstsq(rows, targets, rcond=1e-10)[0]


@st.composite
def problems(draw):
    """Samples enough for both methods, and ascending sizes."""
    n_hidden, n_classes = draw(st.integers(1, 12)), draw(st.integers(2, 5))
    n_samples = draw(st.integers(4 * n_hidden + 25, 120))
    sizes = {*draw(st.sets(st.integers(1, n_hidden))), n_hidden}
    return *draw_samples(draw(seeds), n_samples, n_hidden, n_classes), n_classes, tuple(sorted(sizes))


# PI


@properties
@given(problems(), ridges)
def test_pi_is_least_squares_at_every_size(problem, ridge):
    hidden, labels, n_classes, sizes = problem
    sums = accumulate(hidden, labels, n_classes)
    gram = sums.gram.copy()
    pi = solve_pi(sums, sizes, ridge)
    np.testing.assert_array_equal(sums.gram, gram)
    assert pi.ranks == pi.sizes == sizes
    scores = pi.scores(hidden)
    for i, size in enumerate(sizes):
        expected = least_squares(hidden[:, :size], labels, n_classes, ridge)
        np.testing.assert_allclose(pi.at(size), expected, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(scores[:, i], hidden[:, :size] @ expected, rtol=1e-7, atol=1e-9)


def test_pi_beyond_one_block_of_columns_and_of_the_factor(monkeypatch):
    monkeypatch.setattr(blas, "CHOLESKY_BLOCK", 64)
    monkeypatch.setattr(solve, "COLUMNS_PER_COPY", 50)
    hidden, labels = draw_samples(0, 600, 170, 4)
    sums = accumulate(hidden, labels, 4)
    sums.gram[np.triu_indices(170, 1)] = np.nan  # The upper triangle is nobody's.
    pi = solve_pi(sums, (49, 64, 128, 170), ridge=0.5)
    for size in pi.sizes:
        expected = least_squares(hidden[:, :size], labels, 4, 0.5)
        np.testing.assert_allclose(pi.at(size), expected, rtol=1e-7, atol=1e-9)


def test_scores_of_float32_hidden_outputs_are_computed_in_float64():
    hidden, labels = draw_samples(3, 200, 10, 3)
    single = hidden.astype(np.float32)
    pi = solve_pi(accumulate(single, labels, 3), (4, 10))
    scores = pi.scores(single)
    assert scores.dtype == np.float64
    np.testing.assert_allclose(scores[:, 1], single.astype(np.float64) @ pi.at(10), rtol=1e-11)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_ridge_is_added_to_the_gram_matrix_in_float64(dtype):
    """One unit and one sample of each class: (2 + λ) w = 1, by hand."""
    sums = accumulate(np.ones((2, 1)), np.array([0, 1]), 2, dtype)
    pi = solve_pi(sums, (1,), ridge=1e-10)
    np.testing.assert_allclose(pi.at(1), [[1 / (2 + 1e-10)] * 2], rtol=1e-15)


@pytest.mark.parametrize("sizes", [(3, 2), (2, 2, 4), (2, 5)])
def test_sizes_must_ascend_to_all_units(sizes):
    sums = accumulate(*draw_samples(0, 30, 4, 2), 2)
    with pytest.raises(ValueError, match="at most 4"):
        solve_pi(sums, sizes)


# PI with a constant unit


@properties
@given(problems(), ridges)
def test_a_constant_unit_is_least_squares_with_a_column_of_ones(problem, ridge):
    hidden, labels, n_classes, sizes = problem
    pi = solve_pi(accumulate(hidden, labels, n_classes), sizes, ridge)
    fresh = np.random.default_rng(1).normal(size=(20, hidden.shape[1]))
    scores = pi.add_constant_unit(pi.scores(fresh))
    for i, size in enumerate(sizes):
        weights = least_squares(hidden[:, :size], labels, n_classes, ridge, constant=True)
        expected = fresh[:, :size] @ weights[:-1] + weights[-1]
        np.testing.assert_allclose(scores[:, i], expected, rtol=1e-6, atol=1e-8)


def test_a_constant_unit_that_the_network_has_already_changes_nothing():
    hidden, labels = draw_samples(0, 200, 6, 3)
    hidden[:, 1] = 1 - hidden[:, 0]
    pi = solve_pi(accumulate(hidden, labels, 3), (1, 2, 6))
    fresh = np.random.default_rng(1).normal(size=(20, 6))
    plain = pi.scores(fresh)
    with_constant = pi.add_constant_unit(plain)
    np.testing.assert_array_equal(with_constant[:, 1:], plain[:, 1:])
    weights = least_squares(hidden[:, :1], labels, 3, constant=True)
    np.testing.assert_allclose(with_constant[:, 0], fresh[:, :1] @ weights[:-1] + weights[-1])


# LDA


def weights_at(i, lda, pi):
    """W of Eq. (16) at size i, the constant first."""
    return np.vstack([lda.constants[i], pi.at(pi.sizes[i]) @ lda.maps[i]])


@properties
@given(problems(), ridges, seeds)
def test_lda_is_the_papers_equations(problem, ridge, seed):
    hidden, labels, n_classes, sizes = problem
    priors = np.random.default_rng(seed).dirichlet(np.full(n_classes, 5.0))
    pi = solve_pi(accumulate(hidden, labels, n_classes), sizes, ridge)
    lda = derive_lda(pi, priors)
    fresh = np.random.default_rng(1).normal(size=(20, hidden.shape[1]))
    scores = lda.scores(pi.scores(fresh))
    for i, size in enumerate(sizes):
        expected = literal_lda(hidden[:, :size], labels, priors, ridge)
        np.testing.assert_allclose(weights_at(i, lda, pi), expected, rtol=1e-6, atol=1e-8)
        with_one = np.column_stack([np.ones(20), fresh[:, :size]])
        np.testing.assert_allclose(scores[:, i], with_one @ expected, rtol=1e-6, atol=1e-7)


# Dependent hidden units


def spoil(hidden, how, rng):
    """Make some of the second half of the units dependent; the rank that remains."""
    n_hidden = hidden.shape[1]
    unit = rng.integers(n_hidden // 2, n_hidden)
    if how == "dead":
        hidden[:, unit] = 0
    elif how == "repeated":
        hidden[:, unit] = hidden[:, rng.integers(0, n_hidden // 2)]
    elif how == "combined":
        hidden[:, unit] = hidden[:, 0] - 0.3 * hidden[:, 1]
    return n_hidden - 1


def assert_moore_penrose(pi, hidden, labels, n_classes):
    fresh = np.random.default_rng(1).normal(size=(20, hidden.shape[1]))
    scores = pi.scores(fresh)
    for i, size in enumerate(pi.sizes):
        expected = np.linalg.pinv(hidden[:, :size], rcond=1e-9) @ np.eye(n_classes)[labels]
        np.testing.assert_allclose(pi.at(size), expected, rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(scores[:, i], fresh[:, :size] @ expected, rtol=1e-5, atol=1e-6)


def test_pi_of_units_that_are_all_dead_is_zero():
    with pytest.warns(RankWarning, match="5 hidden units have rank 0"):
        pi = solve_pi(accumulate(np.zeros((30, 5)), np.arange(30) % 3, 3), (5,))
    assert pi.ranks == (0,)
    assert not pi.weights.any()


def test_pi_of_fewer_samples_than_units_is_the_moore_penrose_solution():
    hidden, labels = draw_samples(0, 20, 40, 3)
    with pytest.warns(RankWarning, match="40 hidden units have rank 20"):
        pi = solve_pi(accumulate(hidden, labels, 3), (10, 15, 40))
    assert pi.ranks == (10, 15, 20)
    assert_moore_penrose(pi, hidden, labels, 3)
    np.testing.assert_allclose(pi.scores(hidden)[:, -1], np.eye(3)[labels], atol=1e-9)


@properties
@given(
    st.integers(4, 12),
    st.integers(40, 3000),
    st.sampled_from(["dead", "repeated", "combined"]),
    seeds,
)
@example(5, 519, "repeated", 19)
@example(5, 501, "combined", 1)
@example(5, 510, "combined", 10)
def test_the_rank_of_few_dependent_units(n_hidden, n_samples, how, seed):
    hidden, labels = draw_samples(seed, n_samples, n_hidden, 3)
    rank = spoil(hidden, how, np.random.default_rng(seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankWarning)
        pi = solve_pi(accumulate(hidden, labels, 3), (n_hidden,))
    assert pi.ranks == (rank,)
    assert_moore_penrose(pi, hidden, labels, 3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@properties
@given(n_samples=st.integers(2, 60), n_more=st.integers(1, 3), seed=seeds)
@example(n_samples=2, n_more=1, seed=0)
@example(n_samples=26, n_more=1, seed=24)
@example(n_samples=36, n_more=1, seed=34)
def test_the_rank_of_hardly_fewer_samples_than_units(dtype, n_samples, n_more, seed):
    n_hidden = n_samples + n_more
    sums = accumulate(*draw_samples(seed, n_samples, n_hidden, 2), 2, dtype)
    if dtype == np.float32:
        with pytest.raises(LostPrecisionError):
            solve_pi(sums, (n_hidden,))
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RankWarning)
            pi = solve_pi(sums, (n_hidden,))
        assert pi.ranks[0] <= n_samples


@properties
@given(st.integers(5, 30), st.integers(1, 5), seeds)
def test_the_rank_of_units_that_are_linear_in_the_inputs(n_inputs, n_more, seed):
    """What a tiny input scale does: more units than inputs, all of them linear."""
    rng = np.random.default_rng(seed)
    weights = rng.uniform(-0.5, 0.5, (n_inputs, n_inputs + n_more))
    hidden = np.tanh(1e-9 * rng.uniform(size=(400, n_inputs)) @ weights)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankWarning)
        pi = solve_pi(accumulate(hidden, np.arange(400) % 2, 2), (n_inputs + n_more,))
    assert pi.ranks == (n_inputs,)


@pytest.mark.parametrize(("rest", "enough"), [(2**-18, False), (2**-14, True)])
def test_what_remains_of_a_unit_must_stand_out_from_float32s_rounding(rest, enough):
    """A Gram matrix that float32 holds exactly; `rest` is what unit 1 leaves of unit 2."""
    gram = np.array([[1, 1], [1, 1 + rest]], np.float32, order="F")
    sums = Sums(gram, np.array([[0.5, 0.5], [0.5, 0.25]]), np.ones(2), 2)
    if enough:
        np.testing.assert_allclose(
            solve_pi(sums, (2,)).at(2), [[0.5, 0.5 + 0.25 / rest], [0, -0.25 / rest]]
        )
    else:
        with pytest.raises(LostPrecisionError, match="some of 2 hidden units"):
            solve_pi(sums, (2,))
    double = Sums(gram.astype(np.float64, order="F"), sums.class_sums, np.ones(2), 2)
    assert solve_pi(double, (2,)).ranks == (2,)


# LDA's covariance without an inverse

UNIFORM = np.full(3, 1 / 3)


def few_samples():
    return draw_samples(0, 20, 40, 3)


def repeated_units():
    hidden, labels = draw_samples(7, 300, 40, 3)
    hidden[:, 30] = hidden[:, 3]
    return hidden, labels


def exactly_fitted():
    """Class 1 has a hidden unit of its own; the others are not fitted."""
    hidden, labels = draw_samples(0, 300, 10, 3)
    hidden[:, 4] = labels == 1
    return hidden, labels


def as_many_samples_as_units():
    """An orthogonal matrix, so that nothing but the targets is singular."""
    return np.linalg.qr(np.random.default_rng(0).normal(size=(12, 12)))[0], np.arange(12) % 3


WITHOUT_INVERSE = {
    few_samples: "20 samples in 3 classes can carry at most 17 hidden units",
    repeated_units: "40 hidden units .* constant or repeated",
    exactly_fitted: "10 hidden units .* combination of them is the same for all samples of a class",
    as_many_samples_as_units: "12 samples in 3 classes can carry at most 9 hidden units",
}


@pytest.mark.filterwarnings("ignore::elmlda.core.solve.RankWarning")
@pytest.mark.parametrize("make", WITHOUT_INVERSE, ids=lambda make: make.__name__)
def test_a_covariance_without_inverse_is_refused(make):
    hidden, labels = make()
    pi = solve_pi(accumulate(hidden, labels, 3), (2, hidden.shape[1]))
    with pytest.raises(SingularCovarianceError, match=WITHOUT_INVERSE[make]):
        derive_lda(pi, UNIFORM)


@pytest.mark.parametrize("ridge", [1e-3, 1.0])
@pytest.mark.parametrize("make", WITHOUT_INVERSE, ids=lambda make: make.__name__)
def test_a_ridge_gives_the_covariance_an_inverse(make, ridge):
    hidden, labels = make()
    pi = solve_pi(accumulate(hidden, labels, 3), (2, hidden.shape[1]), ridge)
    lda = derive_lda(pi, UNIFORM)
    for i, size in enumerate(pi.sizes):
        expected = literal_lda(hidden[:, :size], labels, UNIFORM, ridge)
        found = weights_at(i, lda, pi)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("ridge", [0.0, 1.0])
def test_a_class_without_samples_has_no_mean(ridge):
    hidden, labels = draw_samples(0, 100, 5, 2)
    pi = solve_pi(accumulate(hidden, 2 * labels, 4), (5,), ridge)
    with pytest.raises(ElmldaError, match=r"^no training sample of class 1, 3:"):
        derive_lda(pi, np.full(4, 0.25))


def derive_from_pi(sums, ridge):
    pi = solve_pi(sums, (len(sums.gram),), ridge)
    return weights_at(0, derive_lda(pi, uniform(sums)), pi)


def uniform(sums):
    return np.full(len(sums.class_counts), 1 / len(sums.class_counts))


@st.composite
def ill_conditioned(draw):
    """Hidden outputs whose within-class covariance has singular values over many powers of ten."""
    n_hidden, n_classes, seed = draw(st.integers(2, 20)), draw(st.integers(2, 5)), draw(seeds)
    n_samples = max(n_classes, n_hidden + n_classes + draw(st.integers(-4, 12)))
    hidden, labels = draw_samples(seed, n_samples, n_hidden, n_classes)
    rng = np.random.default_rng(seed)
    means = rng.normal(size=(n_classes, n_hidden))[labels]
    means -= draw(st.sampled_from([0.0, 1.0, 100.0]))  # far from the origin: G is worse than Σ
    decades = draw(st.integers(0, 12))
    mix = np.linalg.qr(rng.normal(size=(n_hidden, n_hidden)))[0]
    return means + hidden * np.logspace(0, -decades, n_hidden) @ mix, labels


@pytest.mark.filterwarnings("ignore::elmlda.core.solve.RankWarning")
@properties
@given(ill_conditioned(), st.sampled_from([0.0, 0.0, 1e-300, 1e-3]))
def test_lda_is_right_or_refused(problem, ridge):
    """Beyond the rank of Σ there is no answer, and near it none but a right one."""
    hidden, labels = problem
    sums = accumulate(hidden, labels, labels.max() + 1)
    n_samples, n_hidden = hidden.shape
    try:
        found = derive_from_pi(sums, ridge)
    except SingularCovarianceError:
        centred = hidden - (sums.class_sums / sums.class_counts).T[labels]
        spread = np.linalg.svd(centred, compute_uv=False)[-1] ** 2 if n_samples >= n_hidden else 0.0
        assert spread + ridge <= 1e-11 * (hidden**2).sum(axis=0).max(), "it could be solved"
        return
    assert ridge > 1e-300 or n_hidden <= n_samples - len(sums.class_counts)
    expected = literal_lda(hidden, labels, uniform(sums), ridge)
    # Each sample's scores, which is what errors are counted by, relative to their spread.
    scores = hidden @ (found - expected)[1:] + (found - expected)[0]
    size = np.abs(hidden @ expected[1:] + expected[0]).max()
    assert np.abs(scores - scores.mean(axis=1, keepdims=True)).max() <= 0.05 * size
