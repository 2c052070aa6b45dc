"""Sums over training samples, and a random sample of the rows that were added up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from elmlda.core import FloatArray, IntArray
from elmlda.core.blas import add_gram, multiply

FEWEST_ROWS, MOST_OUTPUTS = 2000, 1 << 21
"""A row sample has at least `FEWEST_ROWS` rows, and more as long as its hidden outputs are fewer than
`MOST_OUTPUTS`."""


@dataclass
class Sums:
    """G = AᵀA, S = AᵀT and the class counts n of hidden outputs A and one-hot targets T.

    Both methods need nothing else. Samples are rows here; the paper has them as columns. Batches may be
    added in any order.
    """

    gram: FloatArray
    """n_hidden × n_hidden, Fortran-ordered; only the lower triangle is computed."""
    class_sums: FloatArray
    """n_hidden × n_classes, float64."""
    class_counts: FloatArray
    """Samples of each class, or sums of weights, n_classes."""
    n_samples: int

    @classmethod
    def zeros(cls, n_hidden: int, n_classes: int, dtype: type[np.floating] = np.float64) -> Self:
        """Return the sums over no samples; `dtype` is the precision of the Gram matrix."""
        return cls(
            gram=np.zeros((n_hidden, n_hidden), dtype, order="F"),
            class_sums=np.zeros((n_hidden, n_classes)),
            class_counts=np.zeros(n_classes),
            n_samples=0,
        )

    def of_classes(self, classes: IntArray) -> Sums:
        """Return the sums for those classes that have samples."""
        class_sums, class_counts = self.class_sums[:, classes], self.class_counts[classes]
        return Sums(self.gram, class_sums, class_counts, self.n_samples)

    def add(self, hidden: FloatArray, labels: IntArray, weights: FloatArray | None = None) -> None:
        """Add a batch of hidden outputs (n_samples × n_hidden, C-ordered) and class indices.

        A sample of weight w counts as w samples. With weights, `hidden` is overwritten.
        """
        n_classes, roots = len(self.class_counts), None
        if weights is not None:
            roots = np.sqrt(weights).astype(hidden.dtype)
            hidden *= roots[:, None]
        self.class_sums += sum_classes(hidden, labels, n_classes, roots).T
        add_gram(hidden.T, self.gram)
        self.class_counts += np.bincount(labels, weights, n_classes)
        self.n_samples += len(labels)


def sum_classes(
    hidden: FloatArray, labels: IntArray, n_classes: int, factors: FloatArray | None = None
) -> FloatArray:
    """Compute Sᵀ = TᵀA, the sum of hidden outputs of each class: n_classes × n_hidden.

    `factors` multiply the samples' targets.
    """
    targets = np.equal.outer(np.arange(n_classes), labels).astype(hidden.dtype)
    if factors is not None:
        targets *= factors
    sums = np.empty((n_classes, hidden.shape[1]), hidden.dtype)
    multiply(targets, hidden, sums)
    return sums


def count_rows(n_hidden: int) -> int:
    """Return the largest number of rows that a `RowSample` of this width holds."""
    return max(FEWEST_ROWS, MOST_OUTPUTS // n_hidden)


class RowSample:
    """A uniform random sample of at most `most_rows` rows of a stream, `count_rows` by default.

    Every row gets a random key, and the rows with the smallest keys stay. The sample does not depend on
    how the rows are split into batches.
    """

    def __init__(
        self,
        rng: np.random.Generator,
        n_hidden: int,
        dtype: np.dtype[Any],
        most_rows: int | None = None,
    ) -> None:
        self._rng, self._most_rows = rng, most_rows or count_rows(n_hidden)
        self.hidden: FloatArray = np.empty((0, n_hidden), dtype)
        """Hidden outputs, n_rows × n_hidden."""
        self._facts = np.empty((0, 3))
        """Key, class index and weight of each row."""

    @property
    def labels(self) -> IntArray:
        """Class indices, n_rows."""
        return self._facts[:, 1].astype(np.int64)

    @property
    def weights(self) -> FloatArray:
        """Weights of the rows, n_rows; 1 where samples have no weights."""
        return self._facts[:, 2]

    def add(self, hidden: FloatArray, labels: IntArray, weights: FloatArray | None = None) -> None:
        """Draw from a batch: hidden outputs (n_samples × n_hidden), class indices and weights."""
        keys = self._rng.random(len(hidden))
        new = np.column_stack([keys, labels, np.ones(len(keys)) if weights is None else weights])
        facts, n_old = np.concatenate([self._facts, new]), len(self._facts)
        n_rows = min(self._most_rows, len(facts))
        stays = np.zeros(len(facts), np.bool_)
        stays[np.argpartition(facts[:, 0], n_rows - 1)[:n_rows]] = True
        if stays[n_old:].any():
            kept = self.hidden if stays[:n_old].all() else self.hidden[stays[:n_old]]
            self.hidden = np.concatenate([kept, hidden[stays[n_old:]]])
            self._facts = facts[stays]
