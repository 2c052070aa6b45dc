"""Statistics in, output weights out: PI-ELM and LDA-ELM at every hidden size from one factorisation.

The first m units of a network are a network themselves. Its Gram matrix is the leading block of G, so
its Cholesky factor is the leading block of L and its Z = L⁻¹S the first m rows of Z. One triangular
solve with Lᵀ for [Z cut off after m₁ rows | … after m₂ rows | …] gives PI's weights at every size.

LDA-ELM follows from PI-ELM by a map between classes. With P = G⁻¹S (PI's weights), Q = SᵀP and
D = diag(n), Eq. (12) reads KΣ = G - S D⁻¹ Sᵀ, which is G changed by rank N, and the Woodbury identity
turns Eq. (16) into

    Σ⁻¹μ     = K P (D - Q)⁻¹
    constant = log π - ½ diag(K D⁻¹ Q (D - Q)⁻¹)

so LDA's scores are PI's scores times an N × N matrix, plus a constant.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
from scipy.linalg import eigh

from elmlda.core import FloatArray, IntArray
from elmlda.core.blas import multiply, solve_lower
from elmlda.core.factor import copy_in_double, factorise, is_nearly_singular, rounding_tolerance
from elmlda.core.statistics import Statistics
from elmlda.errors import ElmldaValueError

SMALLER = "Use a smaller {weight_range} or smaller inputs."


class RankWarning(UserWarning):
    """The Gram matrix is singular; PI-ELM is the Moore-Penrose solution of lower rank."""


class SingularCovarianceError(ElmldaValueError):
    """LDA's Σ has no inverse."""

    n_hidden = 0
    """The smallest hidden size at which that is so; it is at all larger ones too."""


class LostPrecisionError(ElmldaValueError):
    """Float32 is not enough: for a Gram matrix's factorisation, say."""

    def __init__(self, fact: str, advice: str = "Use {precision}.", **settings: object) -> None:
        super().__init__(fact, advice, **settings or {"precision": "double"})


@dataclass(frozen=True)
class Rounding:
    """What is needed to tell a singular covariance KΣ from a sound one."""

    square_sum: float
    """The largest square sum on the Gram matrix's diagonal, with the ridge."""
    dtype: np.dtype[Any]
    """Precision of the Gram matrix."""
    most_units: int | None
    """K samples in N classes give Σ a rank of K - N at most; None with a ridge, which has no such
    bound, and for weighted samples, whose number is not known."""

    @classmethod
    def of(cls, statistics: Statistics, ridge: float) -> Self:
        """A ridge that rounding swallows counts as none."""
        square_sum, dtype = float(np.diagonal(statistics.gram).max()), statistics.gram.dtype
        counts, most_units = statistics.class_counts, None
        if counts.dtype.kind != "f" and ridge <= rounding_tolerance(1, dtype) * square_sum:
            most_units = int(counts.sum()) - int(np.count_nonzero(counts))
        return cls(square_sum + ridge, dtype, most_units)

    def require_covariance(self, n_hidden: int, counts: IntArray | FloatArray, inverse: float) -> None:
        """Refuse a Σ that is singular, or that rounding can't tell from a singular one.

        Both ways to LDA-ELM ask here. `inverse` is the largest eigenvalue of (KΣ + ridge·I)⁻¹, or a
        lower bound of it; infinite where the factorisation failed.
        """
        if self.most_units is not None and n_hidden > self.most_units:
            raise _singular(
                n_hidden,
                f"{counts.sum():,} samples in {len(counts):,} classes can carry at most "
                f"{max(0, self.most_units):,} hidden units without a ridge, there are {n_hidden:,}.",
            )
        if inverse * rounding_tolerance(n_hidden, self.dtype) * self.square_sum < 1:
            return
        if self.dtype == np.float32:
            raise LostPrecisionError(
                f"LDA's covariance of {n_hidden:,} hidden units is singular to within float32's "
                "rounding."
            )
        raise _singular(
            n_hidden,
            f"among {n_hidden:,} hidden units some are dead or repeated, or some combination of them "
            "is the same for all samples of a class.",
        )


def _singular(n_hidden: int, cause: str) -> SingularCovarianceError:
    error = SingularCovarianceError(
        f"LDA's covariance is singular: {cause}",
        "Use fewer hidden units or add a ridge ({ridge}).",
        ridge="1e-3",
    )
    error.n_hidden = n_hidden
    return error


@dataclass(frozen=True)
class PiOutputs:
    """PI-ELM's output weights at every hidden size, Eq. (5).

    In scores of shape n_samples × n_sizes × n_classes, entry [:, i] belongs to `sizes[i]`.
    """

    sizes: tuple[int, ...]
    weights: FloatArray
    """max(sizes) × (n_sizes · n_classes): the sizes side by side, zero below each size's units."""
    explained: FloatArray
    """Q = SᵀP, n_sizes × n_classes × n_classes: the part of TᵀT that the network reproduces."""
    class_counts: IntArray | FloatArray
    ranks: tuple[int, ...]
    """Rank of the Gram matrix at each size: the size itself unless hidden units are dependent."""
    rounding: Rounding | None
    """None of a network from a file, for which LDA was solved before."""

    @property
    def n_classes(self) -> int:
        return len(self.class_counts)

    def at(self, size: int) -> FloatArray:
        """W of Eq. (5) at one of the sizes, transposed: size × n_classes."""
        first = self.sizes.index(size) * self.n_classes
        return np.asarray(self.weights[:size, first : first + self.n_classes])

    def of_sizes(self, n_sizes: int) -> PiOutputs:
        """PI-ELM at the first sizes alone."""
        sizes = self.sizes[:n_sizes]
        return PiOutputs(
            sizes,
            self.weights[: sizes[-1], : n_sizes * self.n_classes],
            self.explained[:n_sizes],
            self.class_counts,
            self.ranks[:n_sizes],
            self.rounding,
        )

    def of_classes(self, classes: IntArray) -> PiOutputs:
        """PI-ELM for some of the classes: each class's weights depend on no other class."""
        by_class = self.weights.reshape(-1, len(self.sizes), self.n_classes)[:, :, classes]
        return PiOutputs(
            self.sizes,
            by_class.reshape(len(by_class), -1),
            self.explained[:, classes[:, None], classes],
            self.class_counts[classes],
            self.ranks,
            self.rounding,
        )

    def scores(self, hidden: FloatArray) -> FloatArray:
        """PI's scores for hidden outputs (n_samples × max(sizes)), in float64."""
        scores: FloatArray = np.zeros((len(hidden), self.weights.shape[1]))
        for i, (start, stop) in enumerate(pairwise((0, *self.sizes))):
            # The units from one size to the next do not exist in the networks of smaller size.
            larger = slice(i * self.n_classes, None)
            multiply(
                hidden[:, start:stop].astype(np.float64, copy=False),  # without a name: gone at once
                self.weights[start:stop, larger],
                scores[:, larger],
                add=True,
            )
        return scores.reshape(len(hidden), len(self.sizes), self.n_classes)

    def add_constant_unit(self, scores: FloatArray) -> FloatArray:
        """Scores of PI-ELM with a constant hidden unit: Y + (1 - Y1) c, Y being PI's scores.

        c = (n - 1ᵀQ) / (K - 1ᵀQ1) are the constant unit's weights (the block inverse of G with a
        row of ones added to A). Where the network can express the constant already, c is 0.
        """
        unexplained = self.class_counts - self.explained.sum(axis=1)
        total = unexplained.sum(axis=1, keepdims=True)
        expressed = total <= 1e-9 * self.class_counts.sum()
        constant_weights = np.where(expressed, 0.0, unexplained / np.where(expressed, 1.0, total))
        return np.asarray(scores + (1 - scores.sum(axis=2, keepdims=True)) * constant_weights)


@dataclass(frozen=True)
class LdaOutputs:
    """LDA-ELM at every hidden size, as a map from PI's scores: Y U + constant."""

    maps: FloatArray
    """U = K (D - Q)⁻¹, n_sizes × n_classes × n_classes."""
    constants: FloatArray
    """The first row of W in Eq. (16), n_sizes × n_classes."""

    def weights_at(self, size: int, pi: PiOutputs) -> FloatArray:
        """W of Eq. (16) at one of the sizes: (1 + size) × n_classes, the constant first."""
        i = pi.sizes.index(size)
        return np.vstack([self.constants[i], pi.at(size) @ self.maps[i]])

    def scores(self, pi_scores: FloatArray) -> FloatArray:
        """LDA's scores, Eq. (15), from PI's: n_samples × n_sizes × n_classes."""
        with np.errstate(over="ignore", invalid="ignore"):
            by_size: FloatArray = np.matmul(pi_scores.swapaxes(0, 1), self.maps).swapaxes(0, 1)
        require_finite_scores(by_size)
        return by_size + self.constants


def require_finite_scores(scores: FloatArray) -> None:
    """Refuse scores (n_samples × …) among which the highest would be a matter of chance."""
    bad = np.flatnonzero(~np.isfinite(scores).reshape(len(scores), -1).all(axis=1))
    if len(bad):
        raise ElmldaValueError(
            f"sample {bad[0]} has inputs that give hidden outputs or scores too large for float64.",
            SMALLER,
            weight_range=None,
        )


def solve_pi(
    statistics: Statistics,
    sizes: Sequence[int],
    ridge: float = 0.0,
    inspect: Callable[[FloatArray, tuple[int, ...]], None] | None = None,
) -> PiOutputs:
    """Solve (G + ridge·I) P = S, Eq. (5), for the leading `sizes` hidden units, in float64.

    Where G is not positive definite (dead or repeated hidden units, fewer samples than units), the
    sizes concerned get the Moore-Penrose solution and a RankWarning. A float32 Gram matrix can't tell
    dependent units from rounding and raises LostPrecisionError instead.

    `inspect` is given the Cholesky factor before it is freed, and the sizes at which it is sound:
    leverages, say, can be had from it (`elmlda.core.leave_one_out`).
    """
    sizes = tuple(sizes)
    n_classes = statistics.n_classes
    if list(sizes) != sorted(set(sizes)) or sizes[-1] != statistics.n_hidden:
        raise ValueError(f"sizes must ascend to {statistics.n_hidden}: {sizes}")
    require_finite_gram(statistics.gram)
    dtype = statistics.gram.dtype
    factor = copy_in_double(statistics.gram, ridge)
    n_sound = factorise(factor, np.diagonal(factor).copy(), dtype)
    if not ridge:
        n_sound = min(n_sound, statistics.largest_rank)
    n_sound_sizes = sum(size <= n_sound for size in sizes)
    while n_sound_sizes and is_nearly_singular(factor, sizes[n_sound_sizes - 1], dtype):
        n_sound_sizes -= 1
    if n_sound_sizes < len(sizes) and dtype == np.float32:
        raise LostPrecisionError(
            f"some of {statistics.n_hidden} hidden units depend on the units before them to within "
            "float32's rounding."
        )
    ranks = list(sizes)
    weights = np.zeros((statistics.n_hidden, len(sizes) * n_classes), order="F")
    explained = np.empty((len(sizes), n_classes, n_classes))
    _substitute(factor, statistics.class_sums, sizes[:n_sound_sizes], weights, explained)
    if inspect and n_sound_sizes:
        inspect(factor, sizes[:n_sound_sizes])
    del factor
    for i in range(n_sound_sizes, len(sizes)):
        solution, ranks[i] = _solve_by_eigenvalues(statistics, sizes[i], ridge)
        weights[: sizes[i], i * n_classes : (i + 1) * n_classes] = solution
        explained[i] = statistics.class_sums[: sizes[i]].T @ solution
    rounding = Rounding.of(statistics, ridge)
    return PiOutputs(sizes, weights, explained, statistics.class_counts.copy(), tuple(ranks), rounding)


def require_finite_gram(gram: FloatArray) -> None:
    """Square sums that are not finite are hidden outputs that are not, or too large for the Gram."""
    bad = np.flatnonzero(~np.isfinite(np.einsum("ii->i", gram)))
    if len(bad):
        problem = f"hidden unit {bad[0] + 1} of {len(gram)} has outputs too large for {gram.dtype}."
        if gram.dtype == np.float32:
            raise LostPrecisionError(problem)
        raise ElmldaValueError(problem, SMALLER, weight_range=None)


def _substitute(
    factor: FloatArray,
    class_sums: FloatArray,
    sizes: Sequence[int],
    weights: FloatArray,
    explained: FloatArray,
) -> None:
    """Fill in the weights and Q of the leading `sizes` from the Cholesky factor."""
    if not sizes:
        return
    n_hidden, n_classes = sizes[-1], class_sums.shape[1]
    leading = factor[:n_hidden, :n_hidden]
    z = np.array(class_sums[:n_hidden], order="F")
    solve_lower(leading, z)
    for i, size in enumerate(sizes):
        weights[:size, i * n_classes : (i + 1) * n_classes] = z[:size]
        explained[i] = z[:size].T @ z[:size]
    solve_lower(leading, weights[:n_hidden, : len(sizes) * n_classes], transposed=True)


def _solve_by_eigenvalues(statistics: Statistics, size: int, ridge: float) -> tuple[FloatArray, int]:
    """Moore-Penrose solution G⁺S by the eigenvalues of G that stand out from rounding."""
    values, vectors = eigh(statistics.gram[:size, :size], lower=True)
    values = values + ridge
    kept = values > rounding_tolerance(size, statistics.gram.dtype) * values[-1]
    rank = int(kept.sum())
    if rank < size:
        warnings.warn(
            f"{size} hidden units have rank {rank}: dead or repeated units, or fewer than {size} "
            "different samples. PI-ELM is the Moore-Penrose solution of that rank.",
            RankWarning,
            stacklevel=3,
        )
    basis = vectors[:, kept]
    return basis @ ((basis.T @ statistics.class_sums[:size]) / values[kept, None]), rank


def derive_lda(pi: PiOutputs, priors: FloatArray) -> LdaOutputs:
    """LDA-ELM, Eq. (16), from PI-ELM's solution and the classes' n_classes prior probabilities π.

    The module's docstring derives it; the ridge is the one that PI-ELM was solved with.
    """
    require_every_class(pi.class_counts)
    counts = pi.class_counts.astype(np.float64)
    if pi.rounding:
        for size, rank, explained in zip(pi.sizes, pi.ranks, pi.explained, strict=True):
            inverse = np.inf
            if rank == size:
                inverse = _largest_inverse(pi.at(size), np.diag(counts) - explained)
            pi.rounding.require_covariance(size, pi.class_counts, inverse)
    maps = counts.sum() * np.linalg.inv(np.diag(counts) - pi.explained)
    distances = np.einsum("snm,smn->sn", pi.explained, maps) / counts
    return LdaOutputs(maps, np.log(priors) - distances / 2)


def require_every_class(class_counts: IntArray | FloatArray) -> None:
    """Refuse training data that lack a class."""
    if not class_counts.all():
        empty = ", ".join(str(n) for n in np.flatnonzero(class_counts == 0))
        raise ElmldaValueError(f"no training sample of class {empty}: LDA needs every class's mean.")


def _largest_inverse(weights: FloatArray, unfitted: FloatArray) -> float:
    """Largest eigenvalue of P (D - Q)⁻¹ Pᵀ, by which (KΣ)⁻¹ exceeds G⁻¹; infinite if D - Q has none.

    G⁻¹ itself is sound where it has full rank: `solve_pi` sees to that.
    """
    try:
        return float(eigh(weights.T @ weights, unfitted, eigvals_only=True)[-1])
    except np.linalg.LinAlgError:
        return np.inf
