"""The ridge by generalised cross-validation: against the hat matrix itself."""

import numpy as np
import pytest

from elmlda.core.ridge import PENALTY, SMALLEST, Spectrum, choose_ridge
from elmlda.core.solve import LostPrecisionError
from elmlda.core.statistics import Statistics
from elmlda.errors import ElmldaValueError


def draw(n_samples, n_hidden, n_classes=3, seed=0, noise=0.5):
    """Hidden outputs whose first units know something of the class."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n_samples) % n_classes
    hidden = rng.normal(size=(n_samples, n_hidden)) * np.geomspace(1, 0.05, n_hidden)
    hidden[:, 0] += noise * labels
    return np.tanh(hidden), labels


def accumulate(hidden, labels, dtype=np.float64):
    statistics = Statistics.zeros(hidden.shape[1], labels.max() + 1, dtype)
    statistics.add(hidden.astype(dtype), labels)
    return statistics


def literal_gcv(hidden, labels, ridge, penalty=PENALTY):
    targets = np.eye(labels.max() + 1)[labels]
    gram = hidden.T @ hidden + ridge * np.eye(hidden.shape[1])
    hat = hidden @ np.linalg.solve(gram, hidden.T)
    residual = np.square(targets - hat @ targets).sum()
    freedom = len(labels) - penalty * np.trace(hat)
    return len(labels) * residual / freedom**2 if freedom > 0 else np.inf


SHAPES = [(200, 12), (40, 30), (30, 30), (20, 100), (60, 1)]


@pytest.mark.parametrize("penalty", [1.0, PENALTY])
@pytest.mark.parametrize(("n_samples", "n_hidden"), SHAPES)
def test_gcv_is_that_of_the_hat_matrix(n_samples, n_hidden, penalty):
    hidden, labels = draw(n_samples, n_hidden)
    spectrum = Spectrum.of(accumulate(hidden, labels))
    for ridge in np.geomspace(1e-4, 1e3, 15):
        expected = literal_gcv(hidden, labels, ridge, penalty)
        np.testing.assert_allclose(spectrum.gcv(ridge, penalty), expected, rtol=1e-6)


@pytest.mark.parametrize("penalty", [1.0, PENALTY])
def test_gcv_with_dependent_units(penalty):
    hidden, labels = draw(50, 8)
    hidden = np.hstack([hidden, hidden[:, :3], np.zeros((50, 2))])
    spectrum = Spectrum.of(accumulate(hidden, labels))
    assert len(spectrum.eigenvalues) == 8
    for ridge in (1e-3, 1.0, 100.0):
        expected = literal_gcv(hidden, labels, ridge, penalty)
        np.testing.assert_allclose(spectrum.gcv(ridge, penalty), expected, rtol=1e-7)


def test_gcv_without_penalty_is_leaving_one_out_where_all_samples_weigh_the_same():
    """Orthogonal columns of ±1: every sample has the same leverage, and GCV is exact."""
    hadamard = np.array([[1]])
    for _ in range(5):
        hadamard = np.block([[hadamard, hadamard], [hadamard, -hadamard]])
    hidden, labels = hadamard[:, 1:6].astype(float), np.arange(32) * 7 % 3
    targets = np.eye(3)[labels]
    for ridge in (0.1, 3.0, 40.0):
        errors = 0.0
        for left_out in range(32):
            rest = np.arange(32) != left_out
            gram = hidden[rest].T @ hidden[rest] + ridge * np.eye(5)
            weights = np.linalg.solve(gram, hidden[rest].T @ targets[rest])
            errors += np.square(targets[left_out] - hidden[left_out] @ weights).sum()
        found = Spectrum.of(accumulate(hidden, labels)).gcv(ridge, penalty=1.0)
        np.testing.assert_allclose(found, errors / 32, rtol=1e-9)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("n_samples", "n_hidden"), SHAPES)
def test_the_choice_is_the_best_of_a_fine_grid(n_samples, n_hidden, seed):
    hidden, labels = draw(n_samples, n_hidden, seed=seed)
    statistics = accumulate(hidden, labels)
    found = choose_ridge(statistics)
    smallest = SMALLEST * np.diagonal(statistics.gram).max()
    largest = 10 * np.linalg.eigvalsh(hidden.T @ hidden)[-1]
    assert smallest * 0.99 <= found <= largest * 1.01
    grid = [literal_gcv(hidden, labels, ridge) for ridge in np.geomspace(smallest, largest, 200)]
    assert literal_gcv(hidden, labels, found) <= min(grid) * (1 + 1e-6)


def test_noise_needs_more_ridge():
    clear, noise = (choose_ridge(accumulate(*draw(100, 60, noise=noise))) for noise in (3.0, 0.0))
    assert noise > 3 * clear


def test_targets_that_can_be_fitted_leave_a_ridge_for_lda():
    labels = np.arange(60) % 3
    statistics = accumulate(np.eye(3)[labels], labels)
    np.testing.assert_allclose(choose_ridge(statistics), 20 * SMALLEST, rtol=0.1)


def test_hidden_outputs_of_zero():
    assert choose_ridge(accumulate(np.zeros((9, 4)), np.arange(9) % 3)) == 1.0


def test_float32_gives_the_same_choice_or_says_that_it_cannot():
    hidden, labels = draw(200, 40)
    exact = choose_ridge(accumulate(hidden, labels))
    np.testing.assert_allclose(choose_ridge(accumulate(hidden, labels, np.float32)), exact, rtol=1e-3)
    fitted = np.eye(3)[labels]
    with pytest.raises(LostPrecisionError, match="below float32's rounding"):
        choose_ridge(accumulate(fitted, labels, np.float32))


@pytest.mark.parametrize("scale", [1e146, 1e160, 1e300])
def test_hidden_outputs_beyond_the_range_of_any_ridge(scale):
    statistics = Statistics.zeros(3, 2)
    with np.errstate(over="ignore", invalid="ignore"):
        statistics.add(scale * np.random.default_rng(0).random((20, 3)), np.arange(20) % 2)
    with pytest.raises(ElmldaValueError, match=r"too large for float64|square sums above 1e\+290"):
        choose_ridge(statistics)
