"""The Cholesky factor of a Gram matrix, in float64, and how far it can be trusted."""

from __future__ import annotations

from typing import Any

import numpy as np

from elmlda.core import FloatArray
from elmlda.core.blas import cholesky, solve_lower

COLUMNS_PER_COPY = 256


def copy_in_double(gram: FloatArray, ridge: float) -> FloatArray:
    """G + ridge·I in float64, the lower triangle alone."""
    copied = np.empty(gram.shape, np.float64, order="F")
    for start in range(0, len(gram), COLUMNS_PER_COPY):
        columns = slice(start, start + COLUMNS_PER_COPY)
        copied[start:, columns] = gram[start:, columns]
    diagonal = np.einsum("ii->i", copied)
    diagonal += ridge
    return copied


def factorise(matrix: FloatArray, square_sums: FloatArray, dtype: np.dtype[Any]) -> int:
    """Replace `matrix` by its lower Cholesky factor; how many leading units are soundly independent.

    A pivot is what remains of a unit's square sum when the units before it have explained their
    part. Below `tolerance` it is rounding error of `dtype`. The `square_sums` are the diagonal of
    the rounded matrix.
    """
    n_factored = cholesky(matrix)
    pivots = np.einsum("ii->i", matrix)[:n_factored] ** 2
    tolerance = 100 * np.finfo(dtype).eps
    unsound = np.flatnonzero(pivots <= tolerance * square_sums[:n_factored])
    return int(unsound[0]) if len(unsound) else n_factored


def is_nearly_singular(factor: FloatArray, size: int, dtype: np.dtype[Any]) -> bool:
    """Whether the first units have an eigenvalue that is rounding error.

    Rounding is relative to the largest pivot, at most G's largest eigenvalue.
    """
    leading = factor[:size, :size]
    largest = float(np.einsum("ii->i", leading).max()) ** 2
    return bound_inverse(leading) * rounding_tolerance(size, dtype) * largest >= 1


def bound_inverse(factor: FloatArray) -> float:
    """A lower bound of the largest eigenvalue of (LLᵀ)⁻¹, and close to it: inverse iteration.

    A pivot's own rounding grows as the units before it come close to dependence, so that no pivot
    need be small; G⁻¹eⱼ for the smallest one is large all the same.
    """
    column = np.zeros((len(factor), 1), order="F")
    column[np.einsum("ii->i", factor).argmin()] = 1
    solve_lower(factor, column)
    solve_lower(factor, column, transposed=True)
    return float(np.linalg.norm(column))


def rounding_tolerance(size: int, dtype: np.dtype[Any]) -> float:
    """Relative size of an eigenvalue that is rounding error in a Gram matrix of that dtype."""
    # A float32 matrix is doubted early, since it can be had in float64 instead.
    multiple = 100 if dtype == np.float32 else max(size, 100)
    return float(multiple * np.finfo(dtype).eps)
