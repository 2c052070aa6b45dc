"""Error counts, posteriors and their calibration."""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from elmlda.core import FloatArray, IntArray

N_BINS = 15
"""Number of equal-width bins of the confidence, the posterior of the predicted class."""
SMALLEST = float(np.finfo(np.float32).tiny)
"""Lower bound of the true class's posterior in the log-loss."""


def count_errors(scores: FloatArray, labels: IntArray) -> IntArray:
    """Count the samples whose highest score is not that of the true class.

    Scores of shape n_samples × … × n_classes give counts of the shape in the middle, for example one
    count for each hidden size.
    """
    chosen = scores.argmax(axis=-1)
    truth = labels.reshape(-1, *[1] * (chosen.ndim - 1))
    return np.asarray(np.count_nonzero(chosen != truth, axis=0), np.int64)


def posteriors(scores: FloatArray) -> FloatArray:
    """Compute posterior probabilities, Eq. (14), from LDA's scores; no score is too large."""
    return np.asarray(softmax(scores, axis=-1))


def keep_choice(rounded: FloatArray, scores: FloatArray) -> FloatArray:
    """Give posteriors or rounded scores (n_samples × n_classes) the scores' predicted classes.

    Where rounding made a tie, the predicted class is raised above the others by the smallest step, in
    place.
    """
    chosen = scores.argmax(axis=-1)
    tied = np.flatnonzero(rounded.argmax(axis=-1) != chosen)
    highest = rounded[tied].max(axis=-1)
    rounded[tied, chosen[tied]] = np.nextafter(highest, rounded.dtype.type(2))
    return rounded


def measure_posteriors(posteriors: FloatArray, labels: IntArray) -> dict[str, float]:
    """Compute log-loss, Brier score and calibration error of posteriors, n_samples × n_classes."""
    return {
        "log_loss": log_loss(posteriors, labels),
        "brier": brier_score(posteriors, labels),
        "calibration_error": calibration_error(posteriors, labels),
    }


def log_loss(posteriors: FloatArray, labels: IntArray) -> float:
    """Compute the mean of -log of the true class's posterior."""
    of_truth = np.asarray(posteriors[np.arange(len(labels)), labels], np.float64)
    return float(-np.log(np.maximum(of_truth, SMALLEST)).mean())


def brier_score(posteriors: FloatArray, labels: IntArray) -> float:
    """Compute the mean over samples of Σ (posterior - truth)² over the classes, from 0 to 2."""
    truth = labels[:, None] == np.arange(posteriors.shape[1])
    return float(np.square(np.subtract(posteriors, truth, dtype=np.float64)).sum(axis=1).mean())


def calibration_error(posteriors: FloatArray, labels: IntArray) -> float:
    """Compute the expected calibration error: mean |confidence - accuracy| over bins of confidence."""
    chosen = posteriors.argmax(axis=1)
    confidence = np.asarray(posteriors[np.arange(len(labels)), chosen], np.float64)
    excess = np.bincount(confidence_bins(confidence), confidence - (chosen == labels), N_BINS)
    return float(np.abs(excess).sum() / len(labels))


def confidence_bins(confidence: FloatArray) -> IntArray:
    """Return the bin of each confidence, 0 to N_BINS - 1; a value on an edge is in the lower bin."""
    return np.asarray(np.digitize(confidence, np.arange(1, N_BINS) / N_BINS, right=True), np.int64)
