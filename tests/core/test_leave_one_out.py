"""Leave-one-out by its closed form: against networks that were really trained without the sample."""

import numpy as np
import pytest
from equations import accumulate, draw_samples, literal_lda
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from elmlda.core import leave_one_out, solve
from elmlda.core.leave_one_out import (
    DOUBT,
    RIDGES,
    SLACK,
    LeaveOneOut,
    RidgePath,
    SampleDecomposition,
    choose_ridge,
    fit_temperature,
    fit_temperatures,
)
from elmlda.core.solve import LostPrecisionError, derive_lda, solve_pi
from elmlda.core.sums import Sums
from elmlda.errors import ElmldaValueError

PRIORS = np.array([0.2, 0.3, 0.5])


def accumulate_weighted(hidden, labels, weights, n_classes=3):
    sums = Sums.zeros(hidden.shape[1], n_classes)
    sums.add(hidden.copy(), labels, weights)
    return sums


def leave_out(hidden, labels, counts=None, priors=None, weights=None, class_weights=None):
    counts = np.bincount(labels) if counts is None else counts
    weights = np.ones(len(labels)) if weights is None else weights
    whole = 1.0 if class_weights is None else class_weights[labels]
    portions = np.minimum(weights, whole)[:, None]
    return LeaveOneOut(hidden, labels, weights, portions, counts.astype(float), priors)


def choose(sums, left_out, *args, **kwargs):
    return choose_ridge(RidgePath.of(sums, left_out), left_out, *args, **kwargs)


def really_leave_out(hidden, labels, ridge, priors, weights=None, rows=None):
    """PI's and LDA's scores of each sample by networks trained on the others: weights as repeats."""
    n_classes = labels.max() + 1
    repeats = np.ones(len(labels), int) if weights is None else weights.astype(int)
    pi, lda = [], []
    for i in range(len(labels)) if rows is None else rows:
        rest = repeats - (np.arange(len(labels)) == i)
        a, kept = np.repeat(hidden, rest, axis=0), np.repeat(labels, rest)
        gram = a.T @ a + ridge * np.eye(a.shape[1])
        pi.append(hidden[i] @ np.linalg.solve(gram, a.T @ np.eye(n_classes)[kept]))
        counts = np.bincount(kept, minlength=n_classes)
        found = np.full(n_classes, np.nan)
        if counts.all():
            frequencies = counts / counts.sum() if priors is None else priors
            found = np.r_[1, hidden[i]] @ literal_lda(a, kept, frequencies, ridge)
        lda.append(found)
    return np.array(pi), np.array(lda)


def routes(hidden, labels, priors=None, weights=None):
    """Every way to the residuals, as functions of the ridge."""
    sums = (
        accumulate(hidden, labels, 3)
        if weights is None
        else accumulate_weighted(hidden, labels, weights)
    )
    left_out = leave_out(hidden, labels, sums.class_counts, priors, weights)
    rows = hidden if weights is None else hidden * np.sqrt(weights)[:, None]
    yield left_out, SampleDecomposition(rows @ rows.T, left_out).residuals_at
    yield left_out, leave_one_out._decompose_units(sums, left_out)
    yield left_out, leave_one_out._factorise_each(sums, left_out)


def add_constant(hidden):
    return np.hstack([hidden, np.ones((len(hidden), 1))])


@pytest.mark.parametrize("priors", [None, PRIORS])
@pytest.mark.parametrize("ridge", [0.05, 3.0])
@pytest.mark.parametrize(("n_samples", "n_hidden"), [(60, 8), (40, 30), (30, 30), (20, 50)])
def test_scores_are_those_of_networks_without_the_sample(n_samples, n_hidden, ridge, priors):
    hidden, labels = draw_samples(1, n_samples, n_hidden, 3)
    hidden = add_constant(hidden)
    pi, lda = really_leave_out(hidden, labels, ridge, priors)
    for left_out, residuals_at in routes(hidden, labels, priors):
        residuals = residuals_at(ridge)
        np.testing.assert_allclose(left_out.pi_scores(residuals), pi, atol=1e-8)
        np.testing.assert_allclose(left_out.lda_scores(residuals), lda, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize(("n_samples", "n_hidden"), [(40, 8), (20, 50)])
def test_a_weight_counts_as_repeated_rows(n_samples, n_hidden):
    hidden, labels = draw_samples(2, n_samples, n_hidden, 3)
    weights = np.arange(n_samples) % 3 + 1.0
    pi, lda = really_leave_out(hidden, labels, 0.5, None, weights)
    repeated, of_repeated = (
        np.repeat(hidden, weights.astype(int), axis=0),
        np.repeat(labels, weights.astype(int)),
    )
    (plain, residuals_at), *_ = routes(repeated, of_repeated)
    expected = plain.fit_temperature(residuals_at(0.5))
    for left_out, residuals_at in routes(hidden, labels, weights=weights):
        residuals = residuals_at(0.5)
        np.testing.assert_allclose(left_out.pi_scores(residuals), pi, atol=1e-9)
        np.testing.assert_allclose(left_out.lda_scores(residuals), lda, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(left_out.fit_temperature(residuals), expected, rtol=1e-6)


def test_of_a_weight_below_one_all_is_left_out():
    hidden, labels = draw_samples(3, 30, 6, 3)
    weights = np.where(np.arange(30) == 4, 0.25, 1.0)
    rest = np.arange(30) != 4
    expected = np.r_[1, hidden[4]] @ literal_lda(hidden[rest], labels[rest], PRIORS, 0.5)
    for left_out, residuals_at in routes(hidden, labels, PRIORS, weights):
        np.testing.assert_allclose(left_out.lda_scores(residuals_at(0.5))[4], expected, rtol=1e-9)


def test_a_class_of_one_sample_is_left_out_of_the_loss():
    hidden, labels = draw_samples(4, 30, 6, 2)
    labels[7] = 2
    _, lda = really_leave_out(hidden, labels, 0.5, None)
    rest = labels < 2
    for left_out, residuals_at in routes(hidden, labels):
        scores = left_out.lda_scores(residuals_at(0.5))
        assert np.isnan(scores[7]).all()
        np.testing.assert_allclose(scores[rest], lda[rest], rtol=1e-9)
        found = left_out.fit_temperature(residuals_at(0.5))
        np.testing.assert_allclose(found, fit_temperature(lda[rest], labels[rest]), rtol=1e-6)


@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_temperatures_at_every_nested_size(ridge):
    hidden, labels = draw_samples(5, 90, 24, 3)
    if ridge:  # without one, a constant unit makes the covariance singular
        hidden = add_constant(hidden)
    sizes, rows = (3, 10, hidden.shape[1]), np.arange(0, 90, 2)
    sums = accumulate(hidden, labels, 3)
    pi = solve_pi(sums, sizes, ridge, hidden[rows])
    left_out = leave_out(hidden[rows], labels[rows], sums.class_counts, PRIORS)
    tempered = fit_temperatures(pi, left_out)
    for i, size in enumerate(sizes):
        a = hidden[:, :size]
        hat = a @ np.linalg.solve(a.T @ a + ridge * np.eye(size), a.T)
        np.testing.assert_allclose(pi.leverages[:, i], np.diag(hat)[rows], rtol=1e-9)
        _, lda = really_leave_out(a, labels, ridge, PRIORS, rows=rows)
        np.testing.assert_allclose(tempered[i], fit_temperature(lda, labels[rows]), rtol=1e-6)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-5)])
def test_leverages_are_the_same_in_parts(monkeypatch, dtype, tolerance):
    hidden, _ = draw_samples(5, 90, 10, 3)
    gram = hidden.T @ hidden + np.eye(10)
    factor = np.asfortranarray(np.linalg.cholesky(gram))
    exact = [np.diag(a @ np.linalg.inv(gram[:m, :m]) @ a.T) for m in (4, 10) for a in [hidden[:, :m]]]
    for units in (3, 1024):
        monkeypatch.setattr(solve, "UNITS_PER_SOLVE", units)
        found = solve.compute_leverages(factor, hidden.astype(dtype), (4, 10))
        np.testing.assert_allclose(found, np.transpose(exact), rtol=tolerance)


def test_sizes_that_are_singular_have_no_temperature():
    hidden, labels = draw_samples(6, 60, 6, 3)
    hidden = np.hstack([hidden, hidden[:, :2]])
    with pytest.warns(UserWarning, match="rank 6"):
        pi = solve_pi(accumulate(hidden, labels, 3), (4, 8), rows=hidden)
    small, large = fit_temperatures(pi, leave_out(hidden, labels))
    assert small.temperature > 0
    assert np.isnan(large.temperature)


def test_as_many_units_as_samples_have_no_temperature():
    """Without a sample the covariance is singular."""
    hidden, labels = draw_samples(6, 24, 20, 3)
    pi = solve_pi(accumulate(hidden, labels, 3), (20,), rows=hidden)
    assert fit_temperatures(pi, leave_out(hidden, labels))
    hidden, labels = hidden[:21], labels[:21]
    pi = solve_pi(accumulate(hidden, labels, 3), (20,), rows=hidden)
    (none,) = fit_temperatures(pi, leave_out(hidden, labels))
    assert np.isnan(none.temperature)


def loss_with_doubt(tau, scores, labels, weights):
    losses = logsumexp(tau * scores, axis=1) - tau * scores[np.arange(len(labels)), labels]
    unknown = logsumexp(tau * scores, axis=1) - tau * scores.mean(axis=1)
    mean_unknown = np.average(unknown - losses, weights=weights)
    return np.average(losses, weights=weights) + DOUBT / weights.sum() * mean_unknown


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    scale=st.sampled_from([1e-6, 1.0, 1e6]),
    signal=st.floats(0, 8),
    n_classes=st.integers(2, 5),
)
def test_the_temperature_is_the_minimum(seed, scale, signal, n_classes):
    rng = np.random.default_rng(seed)
    labels, weights = rng.integers(n_classes, size=50), rng.uniform(0.1, 3, 50)
    scores = rng.normal(size=(50, n_classes)) + signal * np.eye(n_classes)[labels]
    found = fit_temperature(scale * scores, labels, weights)
    expected = minimize_scalar(
        lambda log_tau: loss_with_doubt(np.exp(log_tau), scores, labels, weights),
        bounds=(-12, 12),
        method="bounded",
        options={"xatol": 1e-9},
    )
    assert found.temperature > 0
    np.testing.assert_allclose(found.log_loss, expected.fun, rtol=1e-4)
    again = fit_temperature(scale * scores * found.temperature, labels, weights)
    if expected.x > -5:  # not at the lower bound, where scores are worse than chance
        np.testing.assert_allclose(found.temperature * scale, np.exp(expected.x), rtol=1e-3)
        np.testing.assert_allclose(again.temperature, 1, rtol=1e-3)


def test_scores_without_a_mistake_and_without_a_difference():
    labels = np.arange(30) % 3
    sure = fit_temperature(1000 * np.eye(3)[labels], labels)
    assert 0 < sure.log_loss < 0.1
    assert 0.001 < sure.temperature < 0.1
    assert fit_temperature(np.zeros((30, 3)), labels).log_loss == pytest.approx(np.log(3), rel=1e-2)


@pytest.mark.parametrize(("n_samples", "n_hidden"), [(60, 40), (36, 40)])
@pytest.mark.parametrize("route", [2000, 0], ids=["decomposed", "factorised"])
def test_the_ridge_is_the_best_by_really_leaving_out(n_samples, n_hidden, route, monkeypatch):
    monkeypatch.setattr(leave_one_out, "MOST_DECOMPOSED", route)
    hidden, labels = draw_samples(7, n_samples, n_hidden, 3, spread=0.7)
    sums = accumulate(hidden, labels, 3)
    unit = np.trace(hidden.T @ hidden) / n_hidden
    found, tempered = choose(sums, leave_out(hidden, labels, priors=PRIORS))
    tried = {}
    for ridge in RIDGES[6:]:
        _, lda = really_leave_out(hidden, labels, ridge * unit, PRIORS)
        tried[ridge] = fit_temperature(lda, labels)
    least = min(loss for _, loss in tried.values())
    best = max(ridge for ridge in tried if tried[ridge].log_loss <= SLACK * least)
    assert RIDGES[6] < best < RIDGES[-1]
    np.testing.assert_allclose((found, *tempered), (best * unit, *tried[best]), rtol=1e-5)


def test_the_ridge_of_pi_is_the_best_by_really_leaving_out():
    hidden, labels = draw_samples(7, 60, 40, 3, spread=0.7)
    sums = accumulate(hidden, labels, 3)
    unit = np.trace(hidden.T @ hidden) / 40
    found, (_, loss) = choose(sums, leave_out(hidden, labels), "pi")
    tried = {}
    for ridge in RIDGES[6:]:
        pi, _ = really_leave_out(hidden, labels, ridge * unit, PRIORS)
        tried[ridge] = np.square(np.eye(3)[labels] - pi).sum(axis=1).mean()
    best = max(ridge for ridge in tried if tried[ridge] <= SLACK * min(tried.values()))
    np.testing.assert_allclose((found, loss), (best * unit, tried[best]), rtol=1e-6)


def test_of_a_weighted_class_the_whole_sample_is_left_out():
    hidden, labels = draw_samples(3, 30, 6, 3)
    class_weights = np.array([5.0, 1.0, 0.2])
    weights, rest = class_weights[labels], np.arange(30) != 4
    sums = accumulate_weighted(hidden, labels, weights)
    without = accumulate_weighted(hidden[rest], labels[rest], weights[rest])
    network = solve_pi(without, (6,), 0.5)
    scores = derive_lda(network, PRIORS).scores(network.scores(hidden[4:5]))[0, 0]
    left_out = leave_out(hidden, labels, sums.class_counts, PRIORS, weights, class_weights)
    residuals = leave_one_out._decompose_units(sums, left_out)(0.5)
    np.testing.assert_allclose(left_out.lda_scores(residuals)[4], scores, rtol=1e-9)


def test_some_rows_are_enough():
    hidden, labels = draw_samples(8, 3000, 20, 3, spread=0.3)
    sums = accumulate(hidden, labels, 3)
    rows = np.arange(0, 3000, 3)
    _, every = choose(sums, leave_out(hidden, labels))
    _, some = choose(sums, leave_out(hidden[rows], labels[rows], sums.class_counts))
    np.testing.assert_allclose(some.log_loss, every.log_loss, rtol=0.05)


def test_float32_gives_the_same_choice_or_says_that_it_cannot():
    hidden, labels = draw_samples(9, 200, 20, 3, spread=0.5)
    (exact, tempered), (rounded, of_rounded) = (
        choose(accumulate(hidden, labels, 3, dtype), leave_out(hidden.astype(dtype), labels))
        for dtype in (np.float64, np.float32)
    )
    np.testing.assert_allclose((rounded, *of_rounded), (exact, *tempered), rtol=1e-3)
    # Smooth functions of one input, of which the least variable separate the classes.
    inputs, rng = np.linspace(-1, 1, 300)[:, None], np.random.default_rng(0)
    smooth = np.tanh(inputs * rng.uniform(-1, 1, 60) + rng.uniform(-1, 1, 60))
    stripes = (np.arange(300) // 40) % 3
    with pytest.raises(LostPrecisionError, match="below float32's rounding"):
        choose(
            accumulate(smooth, stripes, 3, np.float32), leave_out(smooth.astype(np.float32), stripes)
        )


def test_no_class_with_two_samples():
    hidden, labels = draw_samples(10, 3, 5, 3)
    with pytest.raises(ElmldaValueError, match="no class has two samples"):
        choose(accumulate(hidden, labels, 3), leave_out(hidden, labels))


def test_hidden_outputs_of_zero_leave_the_frequencies():
    labels = np.arange(40) % 4 // 3  # 3 : 1
    sums = accumulate(np.zeros((40, 5)), labels, 2)
    _, found = choose(sums, leave_out(np.zeros((40, 5)), labels))
    assert found.log_loss == pytest.approx(0.5623, rel=0.05)
