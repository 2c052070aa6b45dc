"""How well posteriors are calibrated: log-loss, Brier score, and confidence against accuracy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from elmlda.core.arrays import FloatArray, IntArray

N_BINS = 15
"""Of confidence, the posterior of the chosen class. They have equal widths, and their upper edges are
theirs, as in Guo et al. (2017)."""
SMALLEST = float(np.finfo(np.float32).tiny)
"""Float32's smallest normal number: stored posteriors are float32, and smaller ones count as this."""


def log_loss(posteriors: FloatArray, labels: IntArray) -> float:
    """Mean of -log of the true class's posterior (n_samples × n_classes), at least `SMALLEST`."""
    return float(-np.log(np.maximum(_of_truth(posteriors, labels), SMALLEST)).mean())


def count_floored(posteriors: FloatArray, labels: IntArray) -> int:
    """Samples whose true class has a posterior below `SMALLEST`: there the log-loss is too low."""
    return int(np.count_nonzero(_of_truth(posteriors, labels) < SMALLEST))


def brier_score(posteriors: FloatArray, labels: IntArray) -> float:
    """Mean over samples of Σ (posterior - truth)² over the classes: 0 at best, 2 at worst."""
    truth = labels[:, None] == np.arange(posteriors.shape[1])
    return float(np.square(np.subtract(posteriors, truth, dtype=np.float64)).sum(axis=1).mean())


def measure_posteriors(posteriors: FloatArray, labels: IntArray) -> dict[str, float]:
    """Log-loss, Brier score and expected calibration error."""
    return {
        "log_loss": log_loss(posteriors, labels),
        "brier": brier_score(posteriors, labels),
        "calibration_error": measure_reliability(posteriors, labels).ece,
    }


def _of_truth(posteriors: FloatArray, labels: IntArray) -> FloatArray:
    return np.asarray(posteriors[np.arange(len(labels)), labels], np.float64)


@dataclass(frozen=True, eq=False)
class Reliability:
    """Samples in bins of confidence, which of them were right, and what that says."""

    counts: IntArray
    """Samples in each bin."""
    confidence_sums: FloatArray
    """Of their confidences."""
    correct: IntArray
    """How many of them have the chosen class."""

    def plus(self, other: Reliability) -> Reliability:
        """The samples of both, as if of one classifier."""
        return Reliability(
            self.counts + other.counts,
            self.confidence_sums + other.confidence_sums,
            self.correct + other.correct,
        )

    @property
    def n_samples(self) -> int:
        return int(self.counts.sum())

    @property
    def confidence(self) -> float:
        """Mean of all samples."""
        return float(self.confidence_sums.sum() / self.n_samples)

    @property
    def accuracy(self) -> float:
        """Share of the samples that are right."""
        return float(self.correct.sum() / self.n_samples)

    @property
    def ece(self) -> float:
        """Expected calibration error: mean |confidence - accuracy| of the bins, by their samples."""
        return float(np.abs(self.confidence_sums - self.correct).sum() / self.n_samples)

    @property
    def ece_by_chance(self) -> float:
        """What perfectly calibrated posteriors would have, as a bin's samples are right by chance.

        The mean absolute value of a normal variable with each bin's binomial variance.
        """
        variances = self.confidence_sums * (1 - self.mean_confidences)
        return float(np.sqrt(2 / np.pi * np.maximum(variances, 0)).sum() / self.n_samples)

    @property
    def sample_error(self) -> float:
        """Standard error of confidence - accuracy, from the test samples that happen to be there.

        A bin's samples count as having its mean confidence.
        """
        sure = self.mean_confidences
        squares = self.correct * (1 - sure) ** 2 + (self.counts - self.correct) * sure**2
        variance = squares.sum() / self.n_samples - (self.confidence - self.accuracy) ** 2
        return float(np.sqrt(max(variance, 0) / self.n_samples))

    @property
    def mean_confidences(self) -> FloatArray:
        """Of each bin, 0 where it is empty."""
        return np.asarray(self.confidence_sums / np.maximum(self.counts, 1))


def measure_reliability(posteriors: FloatArray, labels: IntArray) -> Reliability:
    """Bin the samples by the posterior (n_samples × n_classes) of the class that is chosen."""
    chosen = posteriors.argmax(axis=1)
    confidence = np.asarray(posteriors[np.arange(len(labels)), chosen], np.float64)
    bins = np.digitize(confidence, np.arange(1, N_BINS) / N_BINS, right=True)
    return Reliability(
        np.bincount(bins, minlength=N_BINS),
        np.bincount(bins, confidence, N_BINS).astype(np.float64),
        np.bincount(bins[chosen == labels], minlength=N_BINS),
    )
