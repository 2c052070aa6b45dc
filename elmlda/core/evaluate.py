"""Scores in; error counts and posteriors out, and how well these are calibrated."""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from elmlda.core import FloatArray, IntArray

N_BINS = 15
"""Confidence, the posterior of the chosen class, has this many bins of equal width. A value on an edge
belongs to the lower bin, as in Guo et al. (2017)."""
SMALLEST = float(np.finfo(np.float32).tiny)
"""Smaller posteriors of the true class count as this in the log-loss."""


def count_errors(scores: FloatArray, labels: IntArray) -> IntArray:
    """How many samples have their highest score at another class than their own.

    Scores of shape n_samples × … × n_classes give counts of the shape in the middle: one for each
    hidden size, say.
    """
    chosen = scores.argmax(axis=-1)
    truth = labels.reshape(-1, *[1] * (chosen.ndim - 1))
    return np.asarray(np.count_nonzero(chosen != truth, axis=0), np.int64)


def posteriors(scores: FloatArray) -> FloatArray:
    """Posterior probabilities, Eq. (14), of LDA's scores; no score is too large."""
    return np.asarray(softmax(scores, axis=-1))


def round_posteriors(exact: FloatArray, dtype: type[np.floating] = np.float32) -> FloatArray:
    """Posteriors in fewer digits that choose the same classes, also where rounding makes a tie."""
    return _keep_choice(exact.astype(dtype), exact.argmax(axis=-1))


def posteriors_of_choice(scores: FloatArray) -> FloatArray:
    """Posteriors (n_samples × n_classes) that choose what the scores choose, also in near ties."""
    return _keep_choice(posteriors(scores), scores.argmax(axis=-1))


def _keep_choice(rounded: FloatArray, chosen: IntArray) -> FloatArray:
    """Give the chosen class back what rounding took: the smallest step above the others."""
    beaten = np.flatnonzero(rounded.argmax(axis=-1) != chosen)
    highest = rounded[beaten].max(axis=-1)
    rounded[beaten, chosen[beaten]] = np.nextafter(highest, rounded.dtype.type(2))
    return rounded


# Calibration: log-loss, Brier score, and confidence against accuracy


def measure_posteriors(posteriors: FloatArray, labels: IntArray) -> dict[str, float]:
    """Log-loss, Brier score and expected calibration error of posteriors, n_samples × n_classes."""
    return {
        "log_loss": log_loss(posteriors, labels),
        "brier": brier_score(posteriors, labels),
        "calibration_error": calibration_error(posteriors, labels),
    }


def log_loss(posteriors: FloatArray, labels: IntArray) -> float:
    """Mean of -log of the true class's posterior."""
    of_truth = np.asarray(posteriors[np.arange(len(labels)), labels], np.float64)
    return float(-np.log(np.maximum(of_truth, SMALLEST)).mean())


def brier_score(posteriors: FloatArray, labels: IntArray) -> float:
    """Mean over samples of Σ (posterior - truth)² over the classes: 0 at best, 2 at worst."""
    truth = labels[:, None] == np.arange(posteriors.shape[1])
    return float(np.square(np.subtract(posteriors, truth, dtype=np.float64)).sum(axis=1).mean())


def calibration_error(posteriors: FloatArray, labels: IntArray) -> float:
    """Mean |confidence - accuracy| over bins of confidence, weighted by their samples."""
    chosen = posteriors.argmax(axis=1)
    confidence = np.asarray(posteriors[np.arange(len(labels)), chosen], np.float64)
    bins = np.digitize(confidence, np.arange(1, N_BINS) / N_BINS, right=True)
    excess = np.bincount(bins, confidence - (chosen == labels), N_BINS)
    return float(np.abs(excess).sum() / len(labels))
