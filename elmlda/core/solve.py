"""Output weights of PI-ELM and LDA-ELM at every hidden size from one factorisation.

The first m units of a network are a network themselves. Its Gram matrix is the leading block of G, its
Cholesky factor is the leading block of L, and its Z = L⁻¹S is the first m rows of Z. One triangular
solve with Lᵀ of [Z cut off after m₁ rows | … after m₂ rows | …] gives PI's weights at every size.

LDA-ELM follows from PI-ELM by a map between classes. With P = G⁻¹S (PI's weights), Q = SᵀP and
D = diag(n), Eq. (12) reads KΣ = G - S D⁻¹ Sᵀ, which is G changed by rank N, and the Woodbury identity
turns Eq. (16) into

    Σ⁻¹μ     = K P (D - Q)⁻¹
    constant = log π - ½ diag(K D⁻¹ Q (D - Q)⁻¹)

LDA's scores are PI's scores times an N × N matrix, plus a constant.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh

from elmlda.core import FloatArray, IntArray
from elmlda.core.blas import cholesky, multiply, solve_lower
from elmlda.core.sums import Sums
from elmlda.errors import ElmldaValueError

COLUMNS_PER_COPY = 256
UNITS_PER_SOLVE = 1024
"""Columns of the Cholesky factor that are cast to the hidden outputs' dtype at a time."""


class RankWarning(UserWarning):
    """The Gram matrix is singular; PI-ELM is the Moore-Penrose solution of lower rank."""


class SingularCovarianceError(ElmldaValueError):
    """LDA's Σ has no inverse."""

    n_hidden = 0
    """Smallest hidden size with a singular covariance; all larger sizes have one, too."""


class LostPrecisionError(ElmldaValueError):
    """float32 is not precise enough, for example to factorise a Gram matrix."""

    def __init__(self, fact: str, advice: str = "Use {precision}.", **settings: object) -> None:
        super().__init__(fact, advice, **settings or {"precision": "double"})


class Rounding(NamedTuple):
    """Rounding error of a Gram matrix, which decides whether a covariance KΣ counts as singular."""

    square_sum: float
    """Largest diagonal element of the Gram matrix, including the ridge."""
    dtype: np.dtype[Any]
    """Precision of the Gram matrix."""
    n_samples: int | None
    """Number of samples, which bounds the rank of Σ; None with a ridge."""


@dataclass(frozen=True)
class PiOutputs:
    """PI-ELM's output weights at every hidden size, Eq. (5).

    In scores of shape n_samples × n_sizes × n_classes, entry [:, i] belongs to `sizes[i]`.
    """

    sizes: tuple[int, ...]
    weights: FloatArray
    """max(sizes) × (n_sizes · n_classes): the sizes side by side, zero below each size's last unit."""
    explained: FloatArray
    """Q = SᵀP, n_sizes × n_classes × n_classes: the part of TᵀT that the network explains."""
    class_counts: FloatArray
    ranks: tuple[int, ...]
    """Rank of the Gram matrix at each size, below the size where hidden units are dependent."""
    rounding: Rounding
    leverages: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    """Leverages aᵀG⁻¹a of the rows given to `solve_pi`, n_rows × n_sizes without the singular sizes."""

    def at(self, size: int) -> FloatArray:
        """Return the weights at one of the sizes, W of Eq. (5) transposed: size × n_classes."""
        n_classes = len(self.class_counts)
        first = self.sizes.index(size) * n_classes
        return np.asarray(self.weights[:size, first : first + n_classes])

    def scores(self, hidden: FloatArray) -> FloatArray:
        """Compute PI's scores of hidden outputs (n_samples × max(sizes)) in float64."""
        scores: FloatArray = np.zeros((len(hidden), self.weights.shape[1]))
        n_classes = len(self.class_counts)
        for i, (start, stop) in enumerate(pairwise((0, *self.sizes))):
            # Smaller networks do not have the units from `start` to `stop`.
            larger = slice(i * n_classes, None)
            multiply(
                hidden[:, start:stop].astype(np.float64, copy=False),  # unnamed, to be freed at once
                self.weights[start:stop, larger],
                scores[:, larger],
                add=True,
            )
        return scores.reshape(len(hidden), len(self.sizes), n_classes)

    def add_constant_unit(self, scores: FloatArray) -> FloatArray:
        """Compute the scores of PI-ELM with a constant hidden unit, Y + (1 - Y1) c, from PI's scores Y.

        The constant unit's weights c = (n - 1ᵀQ) / (K - 1ᵀQ1) follow from the block inverse of G with a
        column of ones added to A. Where the network can express the constant without it, c is 0.
        """
        unexplained = self.class_counts - self.explained.sum(axis=1)
        total = unexplained.sum(axis=1, keepdims=True)
        expressed = total <= 1e-9 * self.class_counts.sum()
        constant_weights = np.where(expressed, 0.0, unexplained / np.where(expressed, 1.0, total))
        return np.asarray(scores + (1 - scores.sum(axis=2, keepdims=True)) * constant_weights)


@dataclass(frozen=True)
class LdaOutputs:
    """LDA-ELM at every hidden size as a map of PI's scores Y: Y U + constant."""

    maps: FloatArray
    """U = K (D - Q)⁻¹, n_sizes × n_classes × n_classes."""
    constants: FloatArray
    """The first row of W in Eq. (16), n_sizes × n_classes."""

    def scores(self, pi_scores: FloatArray) -> FloatArray:
        """Compute LDA's scores, Eq. (15), from PI's: n_samples × n_sizes × n_classes."""
        with np.errstate(over="ignore", invalid="ignore"):
            by_size: FloatArray = np.matmul(pi_scores.swapaxes(0, 1), self.maps).swapaxes(0, 1)
        require_finite(by_size, "sample {index} has scores", by_size.dtype)
        return by_size + self.constants


def require_finite(rows: FloatArray, fact: str, dtype: np.dtype[Any]) -> None:
    """Refuse infinite or NaN values, which come from too large hidden outputs of precision `dtype`.

    The `fact` may name the first such row as {index}, or as {number} if rows are counted from one.
    """
    bad = np.flatnonzero(~np.isfinite(rows).reshape(len(rows), -1).all(axis=1))
    if not len(bad):
        return
    problem = f"{fact.format(index=bad[0], number=bad[0] + 1)} too large for {dtype}."
    if dtype == np.float32:
        raise LostPrecisionError(problem)
    raise ElmldaValueError(
        problem,
        "Use smaller inputs, or a hidden layer with a smaller {weight_range}.",
        weight_range=None,
    )


def require_finite_gram(gram: FloatArray) -> None:
    """Refuse a Gram matrix with infinite or NaN square sums."""
    fact = f"hidden unit or feature {{number}} of {len(gram)} is"
    require_finite(np.diagonal(gram), fact, gram.dtype)


def solve_pi(
    sums: Sums,
    sizes: Sequence[int],
    ridge: float = 0.0,
    rows: FloatArray | None = None,
) -> PiOutputs:
    """Solve (G + ridge·I) P = S, Eq. (5), for the leading `sizes` hidden units, in float64.

    Sizes at which G is not positive definite (dead or repeated hidden units, fewer samples than units)
    get the Moore-Penrose solution and a RankWarning. A float32 Gram matrix raises LostPrecisionError
    instead, because dependent units cannot be told from rounding.

    `rows` are hidden outputs whose leverages are computed (`elmlda.core.leave_one_out`).
    """
    sizes = tuple(sizes)
    n_hidden, n_classes = sizes[-1], len(sums.class_counts)
    if list(sizes) != sorted(set(sizes)) or n_hidden > len(sums.gram):
        raise ValueError(f"sizes must ascend to at most {len(sums.gram)}: {sizes}")
    gram, class_sums = sums.gram[:n_hidden, :n_hidden], sums.class_sums[:n_hidden]
    require_finite_gram(gram)
    factor, n_sound = factorise(gram, ridge)
    if not ridge:
        n_sound = min(n_sound, sums.n_samples)
    n_sound_sizes = sum(size <= n_sound for size in sizes)
    while n_sound_sizes and is_nearly_singular(factor, sizes[n_sound_sizes - 1], gram.dtype):
        n_sound_sizes -= 1
    if n_sound_sizes < len(sizes) and gram.dtype == np.float32:
        raise LostPrecisionError(
            f"some of {n_hidden} hidden units depend on the units before them to within float32's "
            "rounding."
        )
    ranks = list(sizes)
    weights = np.zeros((n_hidden, len(sizes) * n_classes), order="F")
    explained = np.empty((len(sizes), n_classes, n_classes))
    leverages: FloatArray = np.empty((0, 0))
    if n_sound_sizes:
        _substitute(factor, class_sums, sizes[:n_sound_sizes], weights, explained)
        if rows is not None:
            leverages = compute_leverages(factor, rows, sizes[:n_sound_sizes])
    del factor
    for i in range(n_sound_sizes, len(sizes)):
        solution, ranks[i] = _solve_by_eigenvalues(sums, sizes[i], ridge)
        weights[: sizes[i], i * n_classes : (i + 1) * n_classes] = solution
        explained[i] = class_sums[: sizes[i]].T @ solution
    square_sum = float(np.diagonal(gram).max())
    is_without_ridge = ridge <= rounding_tolerance(1, gram.dtype) * square_sum
    rounding = Rounding(square_sum + ridge, gram.dtype, sums.n_samples if is_without_ridge else None)
    counts = sums.class_counts.copy()
    return PiOutputs(sizes, weights, explained, counts, tuple(ranks), rounding, leverages)


def copy_in_double(gram: FloatArray, ridge: float) -> FloatArray:
    """Return the lower triangle of G + ridge·I in float64."""
    copied = np.empty(gram.shape, np.float64, order="F")
    for start in range(0, len(gram), COLUMNS_PER_COPY):
        columns = slice(start, start + COLUMNS_PER_COPY)
        copied[start:, columns] = gram[start:, columns]
    diagonal = np.einsum("ii->i", copied)
    diagonal += ridge
    return copied


def factorise(gram: FloatArray, ridge: float) -> tuple[FloatArray, int]:
    """Return the lower Cholesky factor of G + ridge·I, and the number of leading independent units.

    A pivot is the part of a unit's square sum that the preceding units do not explain. A pivot below
    the tolerance is rounding error of G.
    """
    factor = copy_in_double(gram, ridge)
    square_sums = np.diagonal(factor).copy()
    n_factored = cholesky(factor)
    pivots = np.diagonal(factor)[:n_factored] ** 2
    tolerance = 100 * np.finfo(gram.dtype).eps
    unsound = np.flatnonzero(pivots <= tolerance * square_sums[:n_factored])
    return factor, int(unsound[0]) if len(unsound) else n_factored


def is_nearly_singular(factor: FloatArray, size: int, dtype: np.dtype[Any]) -> bool:
    """Check whether G of the first units has an eigenvalue within rounding error.

    Pivots alone do not show near dependence, because their rounding error grows with it. G⁻¹eⱼ for the
    smallest pivot is large nevertheless: its norm is a close lower bound of G⁻¹'s largest eigenvalue.
    Rounding is relative to the largest pivot, which is at most G's largest eigenvalue.
    """
    leading = factor[:size, :size]
    pivots = np.diagonal(leading)
    column = np.zeros((size, 1), order="F")
    column[pivots.argmin()] = 1
    solve_lower(leading, column)
    solve_lower(leading, column, transposed=True)
    largest = float(pivots.max()) ** 2
    return float(np.linalg.norm(column)) * rounding_tolerance(size, dtype) * largest >= 1


def rounding_tolerance(size: int, dtype: np.dtype[Any]) -> float:
    """Return the relative size below which an eigenvalue of a Gram matrix is rounding error."""
    # Strict for float32, because float64 can be used instead.
    multiple = 100 if dtype == np.float32 else max(size, 100)
    return float(multiple * np.finfo(dtype).eps)


def _substitute(
    factor: FloatArray,
    class_sums: FloatArray,
    sizes: Sequence[int],
    weights: FloatArray,
    explained: FloatArray,
) -> None:
    """Compute the weights and Q of the leading `sizes` from the Cholesky factor."""
    n_hidden, n_classes = sizes[-1], class_sums.shape[1]
    leading = factor[:n_hidden, :n_hidden]
    z = np.array(class_sums[:n_hidden], order="F")
    solve_lower(leading, z)
    for i, size in enumerate(sizes):
        weights[:size, i * n_classes : (i + 1) * n_classes] = z[:size]
        explained[i] = z[:size].T @ z[:size]
    solve_lower(leading, weights[:n_hidden, : len(sizes) * n_classes], transposed=True)


def compute_leverages(factor: FloatArray, hidden: FloatArray, sizes: Sequence[int]) -> FloatArray:
    """Compute aᵀG⁻¹a of hidden outputs (n_rows × n_hidden) at every nested size: n_rows × n_sizes.

    The Cholesky factor of G is cast to the dtype of the hidden outputs, which is the precision of G:
    float32 takes half the time.
    """
    n_hidden, starts = sizes[-1], (0, *sizes[:-1])
    columns = np.array(hidden[:, :n_hidden], order="C").T
    for start in range(0, n_hidden, UNITS_PER_SOLVE):
        stop = min(start + UNITS_PER_SOLVE, n_hidden)
        corner = np.tril(factor[start:stop, start:stop]).astype(hidden.dtype, order="F")
        solve_lower(corner, columns[start:stop])
        if stop < n_hidden:
            below = factor[stop:n_hidden, start:stop].astype(hidden.dtype, order="F")
            multiply(below, columns[start:stop], columns[stop:], add=True, alpha=-1.0)
    squares = np.square(columns, out=columns)
    between = np.add.reduceat(squares, starts, axis=0, dtype=np.float64)
    return np.asarray(np.cumsum(between, axis=0).T)


def _solve_by_eigenvalues(sums: Sums, size: int, ridge: float) -> tuple[FloatArray, int]:
    """Compute the Moore-Penrose solution G⁺S from the eigenvalues of G above rounding."""
    values, vectors = eigh(sums.gram[:size, :size], lower=True, driver="evd")
    values = values + ridge
    kept = values > rounding_tolerance(size, sums.gram.dtype) * values[-1]
    rank = int(kept.sum())
    if rank < size:
        warnings.warn(
            f"{size} hidden units have rank {rank}: dead or repeated units, or fewer than {size} "
            "different samples. PI-ELM is the Moore-Penrose solution of that rank.",
            RankWarning,
            stacklevel=3,
        )
    basis = vectors[:, kept]
    return basis @ ((basis.T @ sums.class_sums[:size]) / values[kept, None]), rank


def derive_lda(pi: PiOutputs, priors: FloatArray, n_sizes: int | None = None) -> LdaOutputs:
    """Derive LDA-ELM, Eq. (16), from PI-ELM's solution and n_classes prior probabilities π.

    The module's docstring has the derivation. The ridge is that of PI-ELM. `n_sizes` is the number of
    sizes, by default all.
    """
    require_every_class(pi.class_counts)
    counts, explained = pi.class_counts, pi.explained[:n_sizes]
    for i in range(len(explained)):
        _require_covariance(pi, i)
    maps = counts.sum() * np.linalg.inv(np.diag(counts) - explained)
    distances = np.einsum("snm,smn->sn", explained, maps) / counts
    return LdaOutputs(maps, np.log(priors) - distances / 2)


def _require_covariance(pi: PiOutputs, i: int) -> None:
    """Refuse a Σ that is singular to within rounding at size i.

    The largest eigenvalue of P (D - Q)⁻¹ Pᵀ = (KΣ)⁻¹ - G⁻¹ bounds that of (KΣ)⁻¹; `solve_pi` has
    checked G⁻¹ itself.
    """
    size, (square_sum, dtype, n_samples) = pi.sizes[i], pi.rounding
    if n_samples is not None:
        require_samples(n_samples, len(pi.class_counts), size)
    inverse = np.inf
    if pi.ranks[i] == size:
        weights, unfitted = pi.at(size), np.diag(pi.class_counts) - pi.explained[i]
        with suppress(np.linalg.LinAlgError):
            inverse = float(eigh(weights.T @ weights, unfitted, eigvals_only=True)[-1])
    if inverse * rounding_tolerance(size, dtype) * square_sum < 1:
        return
    if dtype == np.float32:
        raise LostPrecisionError(
            f"LDA's covariance of {size:,} hidden units or features is singular to within float32's "
            "rounding."
        )
    raise _singular_covariance(
        size,
        f"of {size:,} hidden units or features, some are constant or repeated, or a combination of "
        "them is the same for all samples of a class.",
    )


def require_samples(n_samples: int, n_classes: int, size: int) -> None:
    """Refuse so many hidden units or features that LDA's Σ is singular without a ridge."""
    most = max(0, n_samples - n_classes)
    if size > most:
        raise _singular_covariance(
            size,
            f"{n_samples:,} samples in {n_classes:,} classes can carry at most {most:,} hidden units "
            f"or features without a ridge, there are {size:,}.",
        )


def _singular_covariance(size: int, cause: str) -> SingularCovarianceError:
    fact, advice = f"LDA's covariance is singular: {cause}", "Use fewer or add a ridge ({ridge})."
    error = SingularCovarianceError(fact, advice, ridge=0.001)
    error.n_hidden = size
    return error


def require_every_class(class_counts: IntArray | FloatArray) -> None:
    """Refuse training data without samples of some class."""
    if not class_counts.all():
        empty = ", ".join(str(n) for n in np.flatnonzero(class_counts == 0))
        raise ElmldaValueError(
            f"no training sample of class {empty}: LDA needs the mean of every class."
        )
