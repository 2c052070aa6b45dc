"""PI-ELM and LDA-ELM separately, as the paper writes them, to time both methods for Table 2.

`elmlda.core.solve` computes both from one factorisation. Here each method is computed alone. Both start
from hidden outputs A in memory, samples as rows, and process a few thousand samples at a time:

    PI-ELM, Eq. (5):          G = AᵀA,  S = AᵀT,                         W = G⁻¹S
    LDA-ELM, Eqs (12), (16):  μ = S D⁻¹,  KΣ = Σ (a - μₙ)(a - μₙ)ᵀ,      W = [log π - ½ μᵀΣ⁻¹μ; Σ⁻¹μ]

S and the matrix that is factorised have A's precision, everything else is float64. Both methods use the
same routines, so that times differ only where the methods differ: LDA-ELM passes over the outputs once
more for the means, centres every output, and computes constants and posteriors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from elmlda.core import FloatArray, IntArray
from elmlda.core.blas import add_gram, cholesky, multiply, solve_lower
from elmlda.core.solve import copy_in_double, require_every_class, require_finite_gram
from elmlda.core.sums import sum_classes
from elmlda.errors import ElmldaValueError

ROWS = 4000
"""Samples that are processed at a time."""


@dataclass(frozen=True, eq=False)
class LiteralOutputs:
    """Output weights of one method."""

    weights: FloatArray
    """W of Eq. (5), or the rows of Eq. (16)'s W below the first: n_hidden × n_classes, float64."""
    constants: FloatArray | None = None
    """The first row of Eq. (16)'s W; None for PI-ELM."""

    def scores(self, hidden: FloatArray) -> FloatArray:
        """Compute network outputs y, Eq. (3) or (15): n_samples × n_classes, float64."""
        scores = np.empty((len(hidden), self.weights.shape[1]))
        for rows in _slices(len(hidden)):
            multiply(hidden[rows].astype(np.float64, copy=False), self.weights, scores[rows])
        if self.constants is not None:
            scores += self.constants
        return scores


def solve_pi_literally(
    hidden: FloatArray, labels: IntArray, n_classes: int, ridge: float = 0.0
) -> LiteralOutputs:
    """Solve PI-ELM, Eq. (5).

    Parameters
    ----------
    hidden : n_samples × n_hidden, C-ordered; its dtype is the precision of the Gram matrix
    labels : n_samples class indices
    ridge : added to the Gram matrix's diagonal

    Raises
    ------
    ElmldaValueError
        If the Gram matrix has no inverse, so that A⁺ is not (AᵀA)⁻¹Aᵀ.
    """
    gram = _zeros(hidden)
    sums = np.zeros((n_classes, hidden.shape[1]))
    for rows in _slices(len(hidden)):
        sums += sum_classes(hidden[rows], labels[rows], n_classes)
        add_gram(hidden[rows].T, gram)
    weights = sums.T  # Fortran-ordered, for the solution in place
    _solve_in_place(gram, ridge, weights, "Gram matrix")
    return LiteralOutputs(weights)


def solve_lda_literally(
    hidden: FloatArray, labels: IntArray, priors: FloatArray, ridge: float = 0.0
) -> LiteralOutputs:
    """Solve LDA-ELM, Eqs (12) and (16).

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
        sums += sum_classes(hidden[rows], labels[rows], len(priors))
    means = sums / counts[:, None]
    weights = means.T.copy(order="F")
    _solve_in_place(_add_up_covariance(hidden, labels, means), ridge, weights, "covariance")
    weights *= len(hidden)  # from (KΣ)⁻¹μ to Σ⁻¹μ
    constants = np.log(priors) - np.einsum("nm,mn->n", means, weights) / 2
    return LiteralOutputs(weights, constants)


def _add_up_covariance(hidden: FloatArray, labels: IntArray, means: FloatArray) -> FloatArray:
    """Compute KΣ of Eq. (12) from centred outputs, not from AᵀA."""
    covariance = _zeros(hidden)
    rounded = means.astype(hidden.dtype)
    buffer = np.empty((min(ROWS, len(hidden)), hidden.shape[1]), hidden.dtype)
    for rows in _slices(len(hidden)):
        centred = buffer[: len(labels[rows])]
        # Every label is in range; mode "raise" would need a second buffer.
        np.take(rounded, labels[rows], axis=0, out=centred, mode="clip")
        np.subtract(hidden[rows], centred, out=centred)
        add_gram(centred.T, covariance)
    return covariance


def _solve_in_place(matrix: FloatArray, ridge: float, right: FloatArray, name: str) -> None:
    """Replace `right` by (matrix + ridge·I)⁻¹ · right, with a Cholesky factorisation in float64."""
    require_finite_gram(matrix)
    factor = copy_in_double(matrix, ridge)
    if (n_factored := cholesky(factor)) < len(factor):
        raise ElmldaValueError(
            f"the {name} of {len(factor):,} hidden units has no inverse: unit {n_factored + 1:,} "
            "depends on the units before it.",
            "Use fewer hidden units or add a ridge ({ridge}).",
            ridge=0.001,
        )
    solve_lower(factor, right)
    solve_lower(factor, right, transposed=True)


def _zeros(hidden: FloatArray) -> FloatArray:
    return np.zeros((hidden.shape[1], hidden.shape[1]), hidden.dtype, order="F")


def _slices(n_samples: int) -> Iterator[slice]:
    return (slice(start, start + ROWS) for start in range(0, n_samples, ROWS))
