"""What is gathered while training samples go by: sums, and a random sample of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from elmlda.core import FloatArray, IntArray
from elmlda.core.blas import add_gram, multiply

FEWEST_ROWS, MOST_OUTPUTS = 2000, 1 << 21
"""The sample has as many rows as have that many hidden outputs together, but at least these."""


@dataclass
class Statistics:
    """G = AᵀA, S = AᵀT and the class counts n of hidden outputs A and one-hot targets T.

    They are all that both methods need. Samples are rows here; the paper has them as columns. Batches
    are added with `add`, in any order, to the same result.
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

    def of_classes(self, classes: IntArray) -> Statistics:
        """Statistics for some of the classes, which have all samples."""
        return Statistics(self.gram, self.class_sums[:, classes], self.class_counts[classes])

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


def count_rows(n_hidden: int) -> int:
    """How many training samples of a network are held, at most."""
    return max(FEWEST_ROWS, MOST_OUTPUTS // n_hidden)


class RowSample:
    """Training samples, drawn while all go by: each has a random key, and the smallest keys stay.

    So each is as likely as any other, and batches of any size give the same sample.
    """

    def __init__(self, rng: np.random.Generator, n_hidden: int, dtype: np.dtype[Any]) -> None:
        self._rng = rng
        self._buffer = np.empty((0, n_hidden), dtype)
        self._facts = np.empty((0, 3))
        """Key, class index and weight."""

    @property
    def hidden(self) -> FloatArray:
        """Hidden outputs, n_rows × n_hidden."""
        return self._buffer[: len(self._facts)]

    @property
    def labels(self) -> IntArray:
        """Class indices, n_rows."""
        return self._facts[:, 1].astype(np.int64)

    @property
    def weights(self) -> FloatArray:
        """n_rows; 1 unless samples have weights."""
        return self._facts[:, 2]

    def add(self, hidden: FloatArray, labels: IntArray, weights: FloatArray | None = None) -> None:
        """Let a batch go by: hidden outputs (n_samples × n_hidden), class indices and weights."""
        n_old, n_new, n_hidden = len(self._facts), *hidden.shape
        n_rows = min(count_rows(n_hidden), n_old + n_new)
        keys = self._rng.random(n_new)
        new = np.column_stack([keys, labels, np.ones(n_new) if weights is None else weights])
        facts = np.concatenate([self._facts, new])
        stays = np.zeros(len(facts), np.bool_)
        stays[np.argpartition(facts[:, 0], n_rows - 1)[:n_rows]] = True
        # Rows that stay keep their places, new ones take those that are free.
        entering = np.flatnonzero(stays[n_old:])
        places = np.r_[np.flatnonzero(~stays[:n_old]), n_old:n_rows]
        if n_rows > len(self._buffer):  # twice as large, so that small batches are not copied often
            buffer = np.empty(
                (min(count_rows(n_hidden), max(n_rows, 2 * n_old)), n_hidden), hidden.dtype
            )
            buffer[:n_old] = self.hidden
            self._buffer = buffer
        for place, row in zip(places, entering, strict=True):  # at once they would be copied twice
            self._buffer[place] = hidden[row]
        facts[places] = new[entering]
        self._facts = facts[:n_rows].copy()
