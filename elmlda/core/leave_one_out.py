"""Leave-one-out in closed form: the scores of a training sample by the network trained without it.

Leave-one-out scores choose the ridge and the temperature of LDA's posteriors without a validation set,
as in prevalidated ridge regression (Dempster, Webb and Schmidt 2024, arXiv 2401.15610), here for LDA. A
training sample has hidden outputs a, one-hot target t and a weight, of which the portion δ is left out.
With G including the ridge, PI's residual r = t - Pᵀa and B = D - Q:

    h    = δ aᵀG⁻¹a                                          leverage
    y₋   = t - r / (1 - h)                                   PI's scores without the sample
    B₋⁻¹ = B⁻¹ + δ v vᵀ / (1 - h - δ rᵀv),    v = B⁻¹r
    LDA₋ = (K - δ) (y₋B₋⁻¹ - ½ diag B₋⁻¹ + ½ / n₋) + log π,    n₋ = n - δt

**Weights**: sample weights w are divided by min(1, mean of w). Hence whole numbers count repeated rows,
and weights that sum to 1 equal weights of mean 1. (No rule can ignore every common factor, because
weight 2 for all samples repeats all rows.) Class weights c are rescaled such that Σwc = Σw. After that,
w counts samples and c does not: δ = c min(w, 1). Both rules are one common factor of G, S and n. The
sums stay as they are. Instead, the ridge and δ are divided by the factor; `unit`, its inverse, is the
weight of one sample in the sums.

**The temperature** τ > 0 minimises the mean log-loss of softmax(τ LDA₋), weighted by wc, a convex
function. If every sample is classified correctly, the minimum is at infinity. Therefore a tenth of a
sample (`DOUBT`) with average scores counts as of unknown class, which matters only where hardly any
sample is misclassified.

**Nested sizes**: with the Cholesky factor L of G, the first m rows of L⁻¹a belong to the network of the
first m hidden units. Running sums of their squares are the leverages at every size.

**Every ridge** λ from one decomposition: with AᵀA = V diag(g) Vᵀ and z = Vᵀa,

    Pᵀa = SᵀV (g + λ)⁻¹ z,    aᵀG⁻¹a = Σ zᵢ² / (gᵢ + λ)

With fewer samples than units, AAᵀ = U diag(g) Uᵀ (rows of A and T times √w) avoids cancellation:

    T - Y = U λ/(g + λ) UᵀT,    1 - w aᵀG⁻¹a = Σ uᵢ² λ/(gᵢ + λ),    B = Tᵀ(T - Y)

Only the samples that are left out need their hidden outputs. Of a large data set these are a few
thousand random rows (`RowSample`). Arrays of n_rows × n_classes are Fortran-ordered, because sums over
the few classes are ten times as fast in this order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.special import log_softmax

from elmlda.core import FloatArray, IntArray
from elmlda.core.blas import multiply, solve_lower
from elmlda.core.solve import (
    LostPrecisionError,
    PiOutputs,
    compute_leverages,
    factorise,
    require_finite_gram,
    rounding_tolerance,
)
from elmlda.core.sums import Sums
from elmlda.errors import ElmldaValueError

RIDGES = tuple(10.0 ** (exponent / 2) for exponent in range(-16, 5))
"""Candidate ridges relative to the hidden units' mean square sum tr(AᵀA)/M. Every second candidate is
tried, then the neighbours of the best."""
SLACK = 1.001
"""Losses within this factor of the least count as equal; the largest ridge among them is chosen."""
DOUBT = 0.1
"""Number of samples that count as of unknown class, chosen on half of the panel's data sets."""
MOST_DECOMPOSED = 2000
"""Largest matrix that is decomposed into eigenvectors; above, each ridge needs a factorisation."""
TAU_RANGE = 1e-4, 1e4
"""Bounds of the temperature, in units of one over the mean spread of the scores."""


class Residuals(NamedTuple):
    """Residuals of PI-ELM at one ridge."""

    rows: FloatArray
    """Residuals r of the samples that are left out, n_rows × n_classes."""
    complements: FloatArray
    """1 - w aᵀG⁻¹a of the samples that are left out, n_rows."""
    matrix: FloatArray
    """B = D - Q of all samples, n_classes × n_classes."""
    rounding: float
    """Complements below this value may be rounding errors."""


class Tempered(NamedTuple):
    """A temperature and the leave-one-out log-loss; NaN and infinity if there is none."""

    temperature: float
    log_loss: float


NONE = Tempered(np.nan, np.inf)


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """The samples that are left out one at a time, and the class counts of all samples."""

    hidden: FloatArray
    """Hidden outputs of the samples that are left out, n_rows × n_hidden."""
    labels: IntArray
    """Class indices, n_rows."""
    weights: FloatArray
    """Weights wc, n_rows."""
    portions: FloatArray
    """Portion δ of each sample that is left out, n_rows × 1."""
    class_counts: FloatArray
    """Training samples of each class, or sums of weights; none is 0."""
    priors: FloatArray | None = None
    """n_classes; None for the class frequencies among the remaining samples."""
    unit: float = 1.0
    """Weight of one sample."""

    @cached_property
    def targets(self) -> FloatArray:
        return np.eye(len(self.class_counts))[:, self.labels].T

    @cached_property
    def has_fellows(self) -> NDArray[np.bool_]:
        """Mask of the samples whose class has other samples, n_rows."""
        counts = self.class_counts[self.labels]
        return np.asarray(counts - self.portions[:, 0] > 1e-9 * counts)

    def pi_scores(self, residuals: Residuals) -> FloatArray:
        """Compute PI's leave-one-out scores, n_rows × n_classes."""
        return np.asarray(self.targets - residuals.rows / self._remainders(residuals))

    def lda_scores(self, residuals: Residuals) -> FloatArray:
        """Compute LDA's leave-one-out scores, n_rows × n_classes.

        Scores are NaN where LDA has no solution without the sample, because the class has no other
        samples or because the covariance is singular to within rounding.
        """
        r, delta, remainders = residuals.rows, self.portions, self._remainders(residuals)
        inverse = np.linalg.inv(residuals.matrix)
        v = (inverse @ r.T).T
        slack = remainders - delta * _dot(r, v)
        slack[slack <= np.maximum(residuals.rounding, 1e-9 * remainders)] = np.nan
        counts = self.class_counts - delta * self.targets
        counts[~self.has_fellows] = np.nan
        n_samples = self.class_counts.sum() - delta
        y = self.pi_scores(residuals)
        products = (inverse @ y.T).T + delta * _dot(y, v) / slack * v
        diagonals = np.diag(inverse) + delta / slack * v**2
        priors = counts / n_samples if self.priors is None else self.priors
        return np.asarray(n_samples * (products - diagonals / 2 + 0.5 / counts) + np.log(priors))

    def measure(
        self, residuals: Residuals | None, output: str, temperature: float
    ) -> tuple[float, float, FloatArray]:
        """Compute mean loss, accuracy and scores of leave-one-out, all NaN without residuals.

        Samples without leave-one-out scores do not count.
        """
        if residuals is None:
            return np.nan, np.nan, np.full(self.targets.shape, np.nan)
        if output == "pi":
            scores = self.pi_scores(residuals)
            losses = np.square(scores - self.targets).sum(axis=1)
        else:
            scores = temperature * self.lda_scores(residuals)
            losses = -log_softmax(scores, axis=1)[np.arange(len(self.labels)), self.labels]
        weights = np.where(np.isfinite(losses), self.weights, 0.0)
        if not weights.any():
            return np.nan, np.nan, scores
        is_right = scores.argmax(axis=1) == self.labels
        loss = np.average(np.nan_to_num(losses), weights=weights)
        return float(loss), float(np.average(is_right, weights=weights)), scores

    def fit_temperature(self, residuals: Residuals, output: str = "lda") -> Tempered:
        """Fit the temperature to all samples whose class has other samples.

        PI has the temperature 1 and the mean squared error as the loss. Return `NONE` if the network
        without one of the samples is singular to within rounding.
        """
        if not self._remainders(residuals).min() > residuals.rounding:
            return NONE
        if output == "pi":
            return Tempered(1.0, self.measure(residuals, "pi", 1.0)[0])
        kept = self.has_fellows
        if not kept.any():
            return NONE
        if np.linalg.eigvalsh(residuals.matrix)[0] <= 0:
            return NONE
        scores = self.lda_scores(residuals)
        if not kept.all():
            scores = np.asfortranarray(scores[kept])
        if not np.isfinite(scores).all():
            return NONE
        return fit_temperature(scores, self.labels[kept], self.weights[kept], self.unit)

    def _remainders(self, residuals: Residuals) -> FloatArray:
        """Compute 1 - h, n_rows × 1."""
        share = self.portions[:, 0] / self.weights
        return np.asarray(1 - share + share * residuals.complements)[:, None]


def _dot(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("kn,kn->k", a, b))[:, None]


def fit_temperature(
    scores: FloatArray, labels: IntArray, weights: FloatArray | None = None, unit: float = 1.0
) -> Tempered:
    """Find τ > 0 with the least weighted mean log-loss of softmax(τ · scores), with `DOUBT`.

    With d the scores minus the true class's score, the loss is the mean of log Σ exp(τd). Its
    derivatives are the mean and the variance of d under the posteriors. Newton's method with bisection.
    """
    weights = np.ones(len(labels)) if weights is None else weights
    shares = weights / weights.sum()
    excess = np.asfortranarray(scores - scores[np.arange(len(labels)), labels][:, None])
    spread = float(shares @ np.ptp(excess, axis=1))
    if not spread:  # the classes are equally likely at any temperature
        return Tempered(1.0, float(np.log(scores.shape[1])))
    excess /= spread
    highest = excess.max(axis=1)
    doubt = DOUBT * unit / weights.sum() * float(shares @ excess.mean(axis=1))

    def differentiate(tau: float) -> tuple[float, float, float]:
        likelihoods = np.exp(tau * (excess - highest[:, None]))
        sums = likelihoods.sum(axis=1)
        means = np.einsum("kn,kn->k", likelihoods, excess) / sums
        squares = np.einsum("kn,kn,kn->k", likelihoods, excess, excess) / sums
        loss = shares @ (np.log(sums) + tau * highest) - tau * doubt
        return float(loss), float(shares @ means) - doubt, float(shares @ (squares - means**2))

    (low, high), tau = TAU_RANGE, 1.0
    for _ in range(100):
        loss, slope, curvature = differentiate(tau)
        low, high = (low, tau) if slope > 0 else (tau, high)
        newton = tau - slope / curvature if curvature > 0 else np.inf
        previous, tau = tau, float(newton if low < newton < high else np.sqrt(low * high))
        if abs(tau - previous) <= 1e-7 * tau:
            break
    return Tempered(tau / spread, loss)


def residuals_by_size(pi: PiOutputs, left_out: LeaveOneOut) -> list[Residuals]:
    """Compute the residuals at PI's sizes, without the singular sizes."""
    scores, rounding = pi.scores(left_out.hidden), rounding_tolerance(1, left_out.hidden.dtype)
    counts = np.diag(pi.class_counts)
    return [
        Residuals(
            np.asfortranarray(left_out.targets - scores[:, i]),
            1 - left_out.weights * column,
            counts - pi.explained[i],
            rounding,
        )
        for i, column in enumerate(pi.leverages.T)
    ]


def fit_temperatures(pi: PiOutputs, left_out: LeaveOneOut) -> list[Tempered]:
    """Fit the temperature at each of PI's sizes; `NONE` at singular sizes."""
    tempered = [left_out.fit_temperature(size) for size in residuals_by_size(pi, left_out)]
    return tempered + [NONE] * (len(pi.sizes) - len(tempered))


# The choice of the ridge


@dataclass(frozen=True, eq=False)
class RidgePath:
    """The residuals as a function of the ridge."""

    residuals_at: Callable[[float], Residuals]
    scale: float
    """Mean diagonal element of the Gram matrix, tr(AᵀA)/M."""
    lowest: float = 0.0
    """Ridges up to this value are rounding errors."""
    is_float32: bool = False
    is_costly: bool = False
    """Whether every ridge needs a factorisation."""

    @classmethod
    def of(cls, sums: Sums, left_out: LeaveOneOut, is_centred: bool = False) -> Self:
        """Derive the path from sums; `left_out` has all samples if there are fewer than units."""
        require_finite_gram(sums.gram)
        scale = float(np.trace(sums.gram, dtype=np.float64)) / len(sums.gram) or 1.0
        lowest = rounding_tolerance(1, sums.gram.dtype) * float(np.diagonal(sums.gram).max())
        n_rows, n_hidden = left_out.hidden.shape
        residuals_at: Callable[[float], Residuals]
        is_costly = False
        if n_rows == sums.n_samples and n_rows <= min(n_hidden, MOST_DECOMPOSED):
            rows = left_out.hidden * np.sqrt(left_out.weights)[:, None]
            residuals_at = SampleDecomposition(rows @ rows.T, left_out, is_centred).residuals_at
        elif n_hidden <= MOST_DECOMPOSED:
            residuals_at = _decompose_units(sums, left_out)
        else:
            residuals_at, is_costly = _factorise_each(sums, left_out), True
        return cls(residuals_at, scale, lowest, sums.gram.dtype == np.float32, is_costly)


def choose_ridge(
    path: RidgePath,
    left_out: LeaveOneOut,
    output: str = "lda",
    ridges: Sequence[float] | None = None,
    *,
    strict: bool = True,
) -> tuple[float, Tempered]:
    """Choose the ridge with the least leave-one-out loss.

    Parameters
    ----------
    output : "lda" for LDA's log-loss with the best temperature, "pi" for PI's squared error
    ridges : candidates in ascending order; None for `RIDGES` times the path's scale
    strict : whether to refuse the smallest ridge above float32's rounding

    Returns
    -------
    ridge, tempered : the ridge, and the temperature (1 for PI) with the loss

    Raises
    ------
    LostPrecisionError
        If the best ridge may lie below float32's rounding and `strict` is set.
    ElmldaValueError
        If no ridge has a loss, for example because no class has two samples.
    """
    grid = [ridge * path.scale for ridge in RIDGES] if ridges is None else list(ridges)
    tried: dict[int, Tempered] = {}

    def loss_at(index: int) -> float:
        if index in tried:
            pass
        elif grid[index] <= path.lowest:
            tried[index] = NONE
        else:
            tried[index] = left_out.fit_temperature(path.residuals_at(grid[index]), output)
        return tried[index].log_loss

    coarse = range(0, len(grid), 2 if ridges is None else 1)
    centre = _descend(loss_at, coarse) if path.is_costly else min(coarse, key=loss_at)
    least = min(loss_at(i) for i in (centre, centre - 1, centre + 1) if 0 <= i < len(grid))
    best = max(i for i in tried if loss_at(i) <= SLACK * least)
    tempered = tried[best]
    is_lowest = not any(np.isfinite(tried[i].log_loss) for i in tried if i < best)
    if strict and path.is_float32 and is_lowest and best > 0:
        raise LostPrecisionError("the best ridge may lie below float32's rounding.")
    if not np.isfinite(tempered.log_loss):
        raise ElmldaValueError(
            "no ridge can be chosen by leaving one out: no class has two samples, or scores are too "
            "large.",
            "Set {ridge} to a number.",
            ridge=1,
        )
    return grid[best], tempered


def _descend(loss_at: Callable[[int], float], grid: Sequence[int]) -> int:
    """Walk downhill from the middle of the grid, where every step is costly."""
    at = len(grid) // 2
    while True:
        losses = {i: loss_at(grid[i]) for i in (at, at - 1, at + 1) if 0 <= i < len(grid)}
        best = min(losses, key=losses.__getitem__)
        if losses[at] <= SLACK * losses[best]:
            return grid[at]
        at = best


class SampleDecomposition:
    """Ridge regressions from AAᵀ = U diag(g) Uᵀ of all samples, rows times √w: the dual problem.

    Features that are centred for LDA make AAᵀ singular, and leave-one-out would lose digits at small
    ridges. A constant feature is added to them, which does not change LDA.
    """

    def __init__(self, kernel: FloatArray, left_out: LeaveOneOut, is_centred: bool = False) -> None:
        """Decompose the kernel matrix AAᵀ in place; only its lower triangle is read."""
        self._roots = np.sqrt(left_out.weights)[:, None]
        self.constant_square = 0.0
        """Square of the constant feature."""
        if is_centred:
            self.constant_square = float(np.diagonal(kernel).mean() / left_out.weights.sum())
            kernel += self.constant_square * self._roots * self._roots.T
        values, self._vectors = eigh(kernel, lower=True, overwrite_a=True, driver="evd")
        self._values, self._squares = np.maximum(values, 0), self._vectors**2
        self._along = self._vectors.T @ (self._roots * left_out.targets)

    def residuals_at(self, ridge: float) -> Residuals:
        """Compute the residuals of all samples."""
        shrinkage = ridge / (self._values + ridge)
        shrunk = shrinkage[:, None] * self._along
        residuals = (shrunk.T @ self._vectors.T).T / self._roots
        complements = self._squares @ shrinkage
        return Residuals(residuals, complements, self._along.T @ shrunk, 0.0)

    def coefficients_at(self, ridge: float) -> FloatArray:
        """Compute C, n_samples × n_classes, of PI's weights P = AᵀC."""
        shrunk = self._along / (self._values + ridge)[:, None]
        return np.asarray(self._roots * (self._vectors @ shrunk))


def _decompose_units(sums: Sums, left_out: LeaveOneOut) -> Callable[[float], Residuals]:
    """Decompose AᵀA."""
    gram = sums.gram.astype(np.float64)
    values, vectors = eigh(gram, lower=True, overwrite_a=True, driver="evd")
    counts = np.diag(sums.class_counts)
    class_sums, z = vectors.T @ sums.class_sums, left_out.hidden @ vectors
    squares = z**2 * left_out.weights[:, None]

    def leave(ridge: float) -> Residuals:
        inverse = 1 / (np.maximum(values, 0) + ridge)
        weights = inverse[:, None] * class_sums
        residuals = left_out.targets - (weights.T @ z.T).T
        rounding = _rounding(sums, ridge)
        return Residuals(residuals, 1 - squares @ inverse, counts - class_sums.T @ weights, rounding)

    return leave


def _factorise_each(sums: Sums, left_out: LeaveOneOut) -> Callable[[float], Residuals]:
    """Factorise AᵀA + λI for each ridge."""
    counts = np.diag(sums.class_counts)

    def leave(ridge: float) -> Residuals:
        factor, n_sound = factorise(sums.gram, ridge)
        n_hidden = len(factor)
        rounding = _rounding(sums, ridge) if n_sound == n_hidden else np.inf
        weights = np.array(sums.class_sums, order="F")
        solve_lower(factor, weights)
        matrix = counts - weights.T @ weights
        solve_lower(factor, weights, transposed=True)
        scores = np.empty(left_out.targets.shape, order="F")
        multiply(left_out.hidden.astype(np.float64, copy=False), weights, scores)
        row_leverages = left_out.weights * compute_leverages(factor, left_out.hidden, (n_hidden,))[:, 0]
        return Residuals(left_out.targets - scores, 1 - row_leverages, matrix, rounding)

    return leave


def _rounding(sums: Sums, ridge: float) -> float:
    """Bound the effect of rounding in the Gram matrix or its eigenvalues on a leverage.

    On digits, moons and generated data with 1,100 units, float32's effect was at most half of this.
    """
    square_sum = float(np.diagonal(sums.gram).max())
    in_double = len(sums.gram) * np.finfo(np.float64).eps
    return float(max(np.finfo(sums.gram.dtype).eps, in_double)) * square_sum / ridge
