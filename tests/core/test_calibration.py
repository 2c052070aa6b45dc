"""Log-loss, Brier score and calibration error against scikit-learn and against their definitions."""

import numpy as np
import pytest
import sklearn.metrics
from hypothesis import given, settings
from hypothesis import strategies as st

from elmlda.core.calibration import (
    N_BINS,
    SMALLEST,
    Reliability,
    brier_score,
    count_floored,
    log_loss,
    measure_reliability,
)

properties = settings(derandomize=True, deadline=None, max_examples=50)


def draw(seed, n_samples=300, n_classes=4, sharpness=0.5):
    rng = np.random.default_rng(seed)
    posteriors = rng.dirichlet(np.full(n_classes, sharpness), n_samples)
    return posteriors, rng.integers(0, n_classes, n_samples)


def draw_calibrated(seed, n_samples, n_classes=3):
    """Labels that are drawn by the posteriors."""
    posteriors, _ = draw(seed, n_samples, n_classes)
    chance = np.random.default_rng(seed + 1).random((n_samples, 1))
    return posteriors, (posteriors.cumsum(axis=1)[:, :-1] < chance).sum(axis=1)


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


@properties
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
    found = measure_reliability(posteriors, labels)
    assert found.ece == pytest.approx(literal_ece(posteriors, labels), rel=1e-9)
    chosen = posteriors.argmax(axis=1)
    assert found.accuracy == pytest.approx(sklearn.metrics.accuracy_score(labels, chosen))
    assert found.confidence == pytest.approx(posteriors.max(axis=1).mean())


def test_float32_gives_what_its_float64_gives():
    posteriors, labels = draw(0)
    rounded = posteriors.astype(np.float32)
    assert log_loss(rounded, labels) == log_loss(rounded.astype(float), labels)
    assert brier_score(rounded, labels) == brier_score(rounded.astype(float), labels)
    assert (
        measure_reliability(rounded, labels).ece
        == measure_reliability(rounded.astype(float), labels).ece
    )


def test_a_posterior_of_zero_counts_as_the_smallest_float32():
    posteriors = np.array([[1, 0], [0, 1], [1 - SMALLEST / 2, SMALLEST / 2]])
    labels = np.array([0, 0, 1])
    assert log_loss(posteriors, labels) == pytest.approx(-2 / 3 * np.log(1.1754944e-38))
    assert count_floored(posteriors, labels) == 2
    assert count_floored(posteriors[:1], labels[:1]) == 0
    assert log_loss(posteriors.astype(np.float32), labels) == log_loss(posteriors, labels)


def test_extremes_of_brier():
    assert brier_score(np.eye(3), np.arange(3)) == 0
    assert brier_score(np.eye(3), np.array([1, 2, 0])) == 2
    assert brier_score(np.full((1, 2), 0.5), np.array([0])) == 0.5


def test_upper_edges_belong_to_their_bins():
    sure = np.array([8 / 15, np.nextafter(8 / 15, 1), 14 / 15, 1.0])
    found = measure_reliability(np.stack([sure, 1 - sure], axis=1), np.array([0, 1, 0, 0]))
    assert found.counts.tolist() == [0] * 7 + [1, 1, 0, 0, 0, 0, 1, 1]
    assert found.correct.tolist() == [0] * 7 + [1, 0, 0, 0, 0, 0, 1, 1]
    np.testing.assert_allclose(found.confidence_sums[[7, 8, 13, 14]], sure)
    np.testing.assert_allclose(found.mean_confidences[[7, 8, 13, 14]], sure)
    assert len(found.counts) == N_BINS


def test_two_together_are_as_of_one():
    posteriors, labels = draw(1)
    parts = [
        measure_reliability(posteriors[rows], labels[rows]) for rows in (slice(100), slice(100, None))
    ]
    found, whole = parts[0].plus(parts[1]), measure_reliability(posteriors, labels)
    assert (found.counts == whole.counts).all()
    assert (found.correct == whole.correct).all()
    assert found.ece == pytest.approx(whole.ece)


def test_the_ece_of_calibrated_posteriors_is_that_of_chance():
    """Over 200 draws of labels, also in bins with a few samples, where it is approximate."""
    found = [measure_reliability(*draw_calibrated(seed, 1000)) for seed in range(200)]
    mean = np.mean([one.ece for one in found])
    assert mean == pytest.approx(np.mean([one.ece_by_chance for one in found]), rel=0.05)
    assert mean > 0.02


def test_the_error_of_samples_is_the_spread_over_draws():
    found = [measure_reliability(*draw_calibrated(seed, 1000)) for seed in range(400)]
    spread = np.std([one.confidence - one.accuracy for one in found])
    assert np.mean([one.sample_error for one in found]) == pytest.approx(spread, rel=0.1)


def test_certainty_has_no_spread():
    certain = Reliability(np.array([0, 4]), np.array([0.0, 4.0]), np.array([0, 4]))
    assert (certain.ece, certain.ece_by_chance, certain.sample_error) == (0, 0, 0)
