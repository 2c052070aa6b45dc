"""Sums over the training samples, all that both methods need: they stream and add up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from elmlda.core.arrays import FloatArray, IntArray
from elmlda.core.blas import add_gram, multiply


@dataclass
class Statistics:
    """G = AᵀA, S = AᵀT and the class counts n of hidden outputs A and one-hot targets T.

    Samples are rows here; the paper has them as columns. Batches are added with `add`, and the
    statistics of two parts of the data with `plus`: in any order, to the same result.
    """

    gram: FloatArray
    """n_hidden × n_hidden, Fortran-ordered; only the lower triangle is kept."""
    class_sums: FloatArray
    """n_hidden × n_classes, float64."""
    class_counts: IntArray | FloatArray
    """n_classes; sums of weights where samples have them."""

    @classmethod
    def zeros(cls, n_hidden: int, n_classes: int, dtype: type[np.floating] = np.float64) -> Self:
        """Statistics of no samples; `dtype` is the precision of the Gram matrix."""
        return cls(
            gram=np.zeros((n_hidden, n_hidden), dtype, order="F"),
            class_sums=np.zeros((n_hidden, n_classes)),
            class_counts=np.zeros(n_classes, np.int64),
        )

    @property
    def n_hidden(self) -> int:
        return int(self.gram.shape[0])

    @property
    def n_classes(self) -> int:
        return len(self.class_counts)

    @property
    def n_samples(self) -> float:
        """A whole number, unless samples have weights."""
        return float(self.class_counts.sum())

    @property
    def largest_rank(self) -> int:
        """Of the Gram matrix: samples bound it where their number, not a sum of weights, is known."""
        if self.class_counts.dtype.kind == "f":
            return self.n_hidden
        return min(self.n_hidden, int(self.n_samples))

    def leading(self, n_hidden: int) -> Statistics:
        """Statistics of the first hidden units, which are a network themselves; nothing is copied."""
        if n_hidden == self.n_hidden:
            return self
        return Statistics(
            self.gram[:n_hidden, :n_hidden], self.class_sums[:n_hidden], self.class_counts
        )

    def add(self, hidden: FloatArray, labels: IntArray, weights: FloatArray | None = None) -> None:
        """Add a batch: hidden outputs (n_samples × n_hidden, C-ordered) and their class indices.

        A sample of weight w counts as w samples. `hidden` is overwritten where there are weights.
        """
        targets = np.equal.outer(np.arange(self.n_classes), labels).astype(hidden.dtype)
        if weights is not None:
            roots = np.sqrt(weights).astype(hidden.dtype)
            hidden *= roots[:, None]
            targets *= roots
        sums = np.empty((self.n_classes, self.n_hidden), hidden.dtype)
        multiply(targets, hidden, sums)
        self.class_sums += sums.T
        add_gram(hidden.T, self.gram)
        # Not in place: integers become floats with the first weights.
        self.class_counts = self.class_counts + np.bincount(labels, weights, self.n_classes)

    def plus(self, other: Statistics) -> Statistics:
        """The statistics of both, of the same network; neither is changed."""
        return Statistics(
            self.gram + other.gram,
            self.class_sums + other.class_sums,
            self.class_counts + other.class_counts,
        )
