"""PI-ELM and LDA-ELM as the paper writes them, each by itself: for their times, Table 2.

`elmlda.core.solve` has both from one factorisation, LDA-ELM for next to nothing. Here neither knows of
the other. Both start from hidden outputs A that are held in memory, samples as rows, and go through
them a few thousand samples at a time:

    PI-ELM, Eq. (5):          G = AᵀA,  S = AᵀT,                         W = G⁻¹S
    LDA-ELM, Eqs (12), (16):  μ = S D⁻¹,  KΣ = Σ (a - μₙ)(a - μₙ)ᵀ,      W = [log π - ½ μᵀΣ⁻¹μ; Σ⁻¹μ]

S and the matrix to be factorised are products in A's precision, the rest is float64. The same routines
do the same steps of both, so that a difference in time is one between the methods: LDA-ELM has a
pass of its own for the means, centres every output, and has constants and posteriors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from elmlda.core import FloatArray, IntArray
from elmlda.core.blas import add_gram, cholesky, multiply, solve_lower
from elmlda.core.factor import copy_in_double
from elmlda.core.solve import require_every_class, require_finite_gram
from elmlda.errors import ElmldaValueError

ROWS = 4000
"""Samples at a time: in the product, and in the buffer of centred outputs."""


@dataclass(frozen=True, eq=False)
class LiteralOutputs:
    """Output weights of one method."""

    weights: FloatArray
    """W of Eq. (5), or the rows of Eq. (16)'s W below the first: n_hidden × n_classes, float64."""
    constants: FloatArray | None = None
    """The first row of Eq. (16)'s W; PI-ELM has none."""

    def scores(self, hidden: FloatArray) -> FloatArray:
        """Network outputs y, Eq. (3) or (15), of hidden outputs: n_samples × n_classes, float64."""
        scores = np.empty((len(hidden), self.weights.shape[1]))
        for rows in _slices(len(hidden)):
            multiply(hidden[rows].astype(np.float64, copy=False), self.weights, scores[rows])
        if self.constants is not None:
            scores += self.constants
        return scores


def solve_pi_literally(
    hidden: FloatArray, labels: IntArray, n_classes: int, ridge: float = 0.0
) -> LiteralOutputs:
    """PI-ELM, Eq. (5).

    Parameters
    ----------
    hidden : n_samples × n_hidden, C-ordered, float32 or float64: the precision of the Gram matrix
    labels : n_samples class indices
    ridge : added to the Gram matrix's diagonal

    Raises
    ------
    ElmldaValueError
        If the Gram matrix has no inverse: A⁺ has no such formula then.
    """
    gram = _zeros(hidden)
    sums = np.zeros((n_classes, hidden.shape[1]))
    for rows in _slices(len(hidden)):
        sums += _sum_classes(hidden[rows], labels[rows], n_classes)
        add_gram(hidden[rows].T, gram)
    weights = sums.T  # Fortran-ordered, as the solution in place wants it
    _solve_in_place(gram, ridge, weights, "Gram matrix")
    return LiteralOutputs(weights)


def solve_lda_literally(
    hidden: FloatArray, labels: IntArray, priors: FloatArray, ridge: float = 0.0
) -> LiteralOutputs:
    """LDA-ELM, Eqs (12) and (16).

    Parameters
    ----------
    hidden, labels : as in `solve_pi_literally`; `hidden` is not changed
    priors : n_classes probabilities π
    ridge : added to the diagonal of KΣ

    Raises
    ------
    ElmldaValueError
        If a class has no sample, or Σ has no inverse.
    """
    counts = np.bincount(labels, minlength=len(priors))
    require_every_class(counts)
    sums = np.zeros((len(priors), hidden.shape[1]))
    for rows in _slices(len(hidden)):
        sums += _sum_classes(hidden[rows], labels[rows], len(priors))
    means = sums / counts[:, None]
    weights = means.T.copy(order="F")
    _solve_in_place(_add_up_covariance(hidden, labels, means), ridge, weights, "covariance")
    weights *= len(hidden)  # from (KΣ)⁻¹μ to Σ⁻¹μ
    constants = np.log(priors) - np.einsum("nm,mn->n", means, weights) / 2
    return LiteralOutputs(weights, constants)


def _add_up_covariance(hidden: FloatArray, labels: IntArray, means: FloatArray) -> FloatArray:
    """KΣ of Eq. (12): the products of outputs less their class's mean, by themselves, not from AᵀA."""
    covariance = _zeros(hidden)
    rounded = means.astype(hidden.dtype)
    buffer = np.empty((min(ROWS, len(hidden)), hidden.shape[1]), hidden.dtype)
    for rows in _slices(len(hidden)):
        centred = buffer[: len(labels[rows])]
        # "clip" because every label is in range: "raise" would need a second buffer.
        np.take(rounded, labels[rows], axis=0, out=centred, mode="clip")
        np.subtract(hidden[rows], centred, out=centred)
        add_gram(centred.T, covariance)
    return covariance


def _sum_classes(hidden: FloatArray, labels: IntArray, n_classes: int) -> FloatArray:
    """Sᵀ = TᵀA: each class's sum of hidden outputs, n_classes × n_hidden."""
    targets = np.equal.outer(np.arange(n_classes), labels).astype(hidden.dtype)
    sums = np.empty((n_classes, hidden.shape[1]), hidden.dtype)
    multiply(targets, hidden, sums)
    return sums


def _solve_in_place(matrix: FloatArray, ridge: float, right: FloatArray, name: str) -> None:
    """Replace `right` by (matrix + ridge·I)⁻¹ · right, by Cholesky's factorisation in float64."""
    require_finite_gram(matrix)
    factor = copy_in_double(matrix, ridge)
    if (n_factored := cholesky(factor)) < len(factor):
        raise ElmldaValueError(
            f"the {name} of {len(factor):,} hidden units has no inverse: unit {n_factored + 1:,} "
            "depends on those before it.",
            "Use fewer hidden units or add a ridge ({ridge}).",
            ridge="1e-3",
        )
    solve_lower(factor, right)
    solve_lower(factor, right, transposed=True)


def _zeros(hidden: FloatArray) -> FloatArray:
    return np.zeros((hidden.shape[1], hidden.shape[1]), hidden.dtype, order="F")


def _slices(n_samples: int) -> Iterator[slice]:
    return (slice(start, start + ROWS) for start in range(0, n_samples, ROWS))
