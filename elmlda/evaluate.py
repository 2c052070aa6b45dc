"""Scores in; error counts and posterior probabilities out."""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from elmlda.arrays import FloatArray, IntArray


def count_errors(scores: FloatArray, labels: IntArray) -> IntArray:
    """How many samples have their highest score at another class than their own.

    Parameters
    ----------
    scores : n_samples × … × n_classes
    labels : n_samples class indices

    Returns
    -------
    errors : counts, of the shape in the middle of `scores` (one for each hidden size, say)
    """
    chosen = scores.argmax(axis=-1)
    truth = labels.reshape(-1, *[1] * (chosen.ndim - 1))
    return np.asarray(np.count_nonzero(chosen != truth, axis=0), np.int64)


def posteriors(scores: FloatArray) -> FloatArray:
    """Posterior probabilities, Eq. (14), of LDA's scores; no score is too large."""
    return np.asarray(softmax(scores, axis=-1))
