"""What both methods need of the training data: sums over samples, so they stream and merge."""

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
    statistics of two parts of the data with `merge`: in any order, to the same result.
    """

    gram: FloatArray
    """n_hidden × n_hidden, Fortran-ordered; only the lower triangle is kept."""
    class_sums: FloatArray
    """n_hidden × n_classes, float64."""
    class_counts: IntArray
    """n_classes."""

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
    def n_samples(self) -> int:
        return int(self.class_counts.sum())

    def leading(self, n_hidden: int) -> Statistics:
        """Those of the first hidden units alone, which are a network too; nothing is copied."""
        if n_hidden == self.n_hidden:
            return self
        return Statistics(
            self.gram[:n_hidden, :n_hidden], self.class_sums[:n_hidden], self.class_counts
        )

    def add(self, hidden: FloatArray, labels: IntArray) -> None:
        """Add a batch: hidden outputs (n_samples × n_hidden, C-ordered) and their class indices."""
        add_gram(hidden.T, self.gram)
        targets = np.equal.outer(np.arange(self.n_classes), labels).astype(hidden.dtype)
        sums = np.empty((self.n_classes, self.n_hidden), hidden.dtype)
        multiply(targets, hidden, sums)
        self.class_sums += sums.T
        self.class_counts += np.bincount(labels, minlength=self.n_classes)

    def merge(self, other: Statistics) -> None:
        """Add the statistics of other samples of the same network."""
        self.gram += other.gram
        self.class_sums += other.class_sums
        self.class_counts += other.class_counts

    def plus(self, other: Statistics) -> Statistics:
        """The statistics of both; neither is changed, since others may have them too."""
        return Statistics(
            self.gram + other.gram,
            self.class_sums + other.class_sums,
            self.class_counts + other.class_counts,
        )
