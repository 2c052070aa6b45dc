"""Leave-one-out: what a network says of a training sample that it was trained without, exactly.

From it come the temperature of LDA's posteriors and the ridge, without a validation set. A training
sample has hidden outputs a, one-hot target t and weight w, of which δ = min(w, 1) is left out, so that
weight 2 equals a repeated row; a class's weight c is no repetition, there δ = min(w, c). With G
including the ridge, PI's residual r = t - Pᵀa and B = D - Q:

    h    = δ aᵀG⁻¹a                                          leverage
    y₋   = t - r / (1 - h)                                   PI's scores without the sample
    B₋⁻¹ = B⁻¹ + δ v vᵀ / (1 - h - δ rᵀv),    v = B⁻¹r
    LDA₋ = (K - δ) (y₋B₋⁻¹ - ½ diag B₋⁻¹ + ½ / n₋) + log π,    n₋ = n - δt

The temperature τ > 0 minimises the mean log-loss of softmax(τ LDA₋), weighted by w: convex, one number.
Samples that are all classified well would make it infinite, and the first mistake afterwards infinitely
expensive. So a tenth of a sample (`DOUBT`) counts as of unknown class, with scores as the others have
on average. It is felt only where hardly any sample is misclassified.

**Nested sizes**: the first m rows of L⁻¹a, L the Cholesky factor of G, are those of the network of the
first m hidden units, so running sums of their squares are the leverages at every size.

**Every ridge** λ from one decomposition: with AᵀA = V diag(g) Vᵀ and z = Vᵀa,

    Pᵀa = SᵀV (g + λ)⁻¹ z,    aᵀG⁻¹a = Σ zᵢ² / (gᵢ + λ)

and with fewer samples than units AAᵀ = U diag(g) Uᵀ (rows of A and T times √w), where nothing cancels:

    T - Y = U λ/(g + λ) UᵀT,    1 - w aᵀG⁻¹a = Σ uᵢ² λ/(gᵢ + λ),    B = Tᵀ(T - Y)

All of it needs sums over all samples, but hidden outputs only of those that are left out in turn: of a
large data set a few thousand, drawn at random (`RowSample`). Arrays of n_rows × n_classes are
Fortran-ordered: sums over the classes, of which there are few, are ten times as fast so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from elmlda.core import FloatArray, IntArray
from elmlda.core.blas import multiply, solve_lower
from elmlda.core.factor import copy_in_double, factorise, rounding_tolerance
from elmlda.core.solve import LostPrecisionError, PiOutputs, require_finite_gram
from elmlda.core.statistics import Statistics
from elmlda.errors import ElmldaValueError

RIDGES = tuple(10.0 ** (exponent / 2) for exponent in range(-16, 5))
"""Ridges to choose from, relative to the hidden units' mean square sum tr(AᵀA)/M. Every second one is
tried, and those beside the best."""
SLACK = 1.001
"""Losses that differ by no more than this factor are equal; of equals the largest ridge is chosen."""
DOUBT = 0.1
"""How many samples count as of unknown class, chosen on half of the panel's sets (`scripts/panel`)."""
MOST_DECOMPOSED = 2000
"""Rows of the largest matrix whose eigenvalues are computed; beyond, each ridge has a factorisation."""
UNITS_PER_SOLVE = 1024
"""Columns of the Cholesky factor that are cast at a time."""
TAU_RANGE = 1e-4, 1e4
"""Bounds of the temperature times the scores' mean spread."""


class Residuals(NamedTuple):
    """What a network leaves unexplained, of the samples that are left out and of all."""

    rows: FloatArray
    """r of the samples that are left out, n_rows × n_classes."""
    complements: FloatArray
    """1 - w aᵀG⁻¹a of the same, n_rows."""
    matrix: FloatArray
    """B of all samples, n_classes × n_classes."""
    rounding: float
    """A complement below this may be a rounding error."""


class Tempered(NamedTuple):
    """A temperature and its leave-one-out log-loss; nan and infinite where there is none."""

    temperature: float
    log_loss: float


NONE = Tempered(np.nan, np.inf)


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """Samples that are left out one at a time, and the classes of all samples."""

    hidden: FloatArray
    """Hidden outputs of the samples that are left out, n_rows × n_hidden."""
    labels: IntArray
    """Their class indices, n_rows."""
    weights: FloatArray
    """Their weights, n_rows."""
    class_counts: IntArray | FloatArray
    """Training samples of each class, or sums of their weights; none is 0."""
    priors: FloatArray | None = None
    """n_classes; None: the frequencies among the samples that remain."""
    class_weights: FloatArray | None = None
    """n_classes: what one sample weighs, where weight is not repetition; None: 1."""

    @cached_property
    def targets(self) -> FloatArray:
        return np.eye(len(self.class_counts))[:, self.labels].T

    @cached_property
    def portions(self) -> FloatArray:
        """δ, n_rows × 1."""
        whole = 1.0 if self.class_weights is None else self.class_weights[self.labels]
        return np.minimum(self.weights, whole)[:, None]

    @cached_property
    def has_fellows(self) -> NDArray[np.bool_]:
        """Whether other samples of the class remain."""
        counts = self.class_counts[self.labels]
        return np.asarray(counts - self.portions[:, 0] > 1e-9 * counts)

    def pi_scores(self, residuals: Residuals) -> FloatArray:
        """PI's scores of each sample by the network without it: n_rows × n_classes."""
        return np.asarray(self.targets - residuals.rows / self._remainders(residuals))

    def lda_scores(self, residuals: Residuals) -> FloatArray:
        """LDA's scores of each sample by the network without it: n_rows × n_classes.

        They are nan where that network has no LDA: a class without samples, or a covariance that is
        singular to within rounding.
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

    def measure_pi(self, residuals: Residuals) -> float:
        """Weighted mean square sum of PI's errors, of each sample by the network without it."""
        if not self._remainders(residuals).min() > residuals.rounding:
            return np.inf
        errors = self.targets - self.pi_scores(residuals)
        return float(np.average(np.square(errors).sum(axis=1), weights=self.weights))

    def fit_temperature(self, residuals: Residuals) -> Tempered:
        """The best temperature for the samples, but those that are their class's only one.

        There is none if the network without some sample is singular to within rounding.
        """
        remainders, kept = self._remainders(residuals), self.has_fellows
        if not kept.any() or not remainders.min() > residuals.rounding:
            return NONE
        if np.linalg.eigvalsh(residuals.matrix)[0] <= 0:
            return NONE
        scores = self.lda_scores(residuals)
        if not kept.all():
            scores = np.asfortranarray(scores[kept])
        if not np.isfinite(scores).all():
            return NONE
        return fit_temperature(scores, self.labels[kept], self.weights[kept])

    def _remainders(self, residuals: Residuals) -> FloatArray:
        """1 - h, n_rows × 1."""
        share = self.portions[:, 0] / self.weights
        return np.asarray(1 - share + share * residuals.complements)[:, None]


def _dot(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("kn,kn->k", a, b))[:, None]


def fit_temperature(
    scores: FloatArray, labels: IntArray, weights: FloatArray | None = None
) -> Tempered:
    """τ > 0 of the least mean log-loss of softmax(τ · scores), weighted, with a tenth sample of doubt.

    Newton's method within bounds that close in. With d the scores less the true class's, the loss is
    the mean of log Σ exp(τd); its derivatives are the mean and the variance of d under the posteriors.
    """
    weights = np.ones(len(labels)) if weights is None else weights
    shares = weights / weights.sum()
    excess = np.asfortranarray(scores - scores[np.arange(len(labels)), labels][:, None])
    spread = float(shares @ np.ptp(excess, axis=1))
    if not spread:  # all classes are equally likely at any temperature
        return Tempered(1.0, float(np.log(scores.shape[1])))
    excess /= spread
    highest = excess.max(axis=1)
    doubt = DOUBT / weights.sum() * float(shares @ excess.mean(axis=1))

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
        before, tau = tau, float(newton if low < newton < high else np.sqrt(low * high))
        if abs(tau - before) <= 1e-7 * tau:
            break
    return Tempered(tau / spread, loss)


def leverages(factor: FloatArray, hidden: FloatArray, sizes: Sequence[int]) -> FloatArray:
    """aᵀG⁻¹a of hidden outputs (n_rows × n_hidden) at every nested size: n_rows × n_sizes.

    `factor` is the Cholesky factor of G, as `solve_pi` passes it to `inspect`. It is cast, some columns
    at a time, to the precision of the hidden outputs: G has no other, and float32 takes half the time.
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
    sums = np.add.reduceat(squares, starts, axis=0, dtype=np.float64)
    return np.asarray(np.cumsum(sums, axis=0).T)


def fit_temperatures(pi: PiOutputs, row_leverages: FloatArray, left_out: LeaveOneOut) -> list[Tempered]:
    """The temperature at each of PI's sizes; none at sizes that are singular.

    The leverages are n_rows × n_sizes, or fewer where the larger sizes are singular.
    """
    scores, rounding = pi.scores(left_out.hidden), rounding_tolerance(1, left_out.hidden.dtype)
    counts, found = np.diag(pi.class_counts.astype(np.float64)), []
    for i, column in enumerate(row_leverages.T):
        rows = np.asfortranarray(left_out.targets - scores[:, i])
        complements = 1 - left_out.weights * column
        residuals = Residuals(rows, complements, counts - pi.explained[i], rounding)
        found.append(left_out.fit_temperature(residuals))
    return found + [NONE] * (len(pi.sizes) - len(found))


def choose_ridge(
    statistics: Statistics, left_out: LeaveOneOut, output: str = "lda", *, strict: bool = True
) -> tuple[float, Tempered]:
    """The ridge, of `RIDGES` times tr(AᵀA)/M, and the temperature with the least leave-one-out loss.

    Parameters
    ----------
    statistics : of all training samples
    left_out : all samples, where these are fewer than the hidden units
    output : lda: the loss is LDA's log-loss; pi: PI's square error, and the temperature is 1
    strict : whether to refuse the least ridge above float32's rounding, as a lower one may be better

    Raises
    ------
    LostPrecisionError
        If the best ridge may lie below float32's rounding, and `strict` asks for that.
    ElmldaValueError
        If no ridge has a loss: no class has two samples, say.
    """
    require_finite_gram(statistics.gram)
    unit = float(np.trace(statistics.gram, dtype=np.float64)) / statistics.n_hidden or 1.0
    largest = float(np.diagonal(statistics.gram).max())
    lowest = rounding_tolerance(1, statistics.gram.dtype) * largest
    residuals_at, walks = _residuals_by_ridge(statistics, left_out)
    tried: dict[int, Tempered] = {}

    def loss_at(index: int) -> float:
        ridge = RIDGES[index] * unit
        if index in tried:
            pass
        elif ridge <= lowest:  # the solution would take it for none
            tried[index] = NONE
        elif output == "pi":
            tried[index] = Tempered(1.0, left_out.measure_pi(residuals_at(ridge)))
        else:
            tried[index] = left_out.fit_temperature(residuals_at(ridge))
        return tried[index].log_loss

    coarse = range(0, len(RIDGES), 2)
    centre = _descend(loss_at, coarse) if walks else min(coarse, key=loss_at)
    least = min(loss_at(i) for i in (centre, centre - 1, centre + 1) if 0 <= i < len(RIDGES))
    best = max(i for i in tried if loss_at(i) <= SLACK * least)
    found = tried[best]
    is_lowest = not any(np.isfinite(tried[i].log_loss) for i in tried if i < best)
    if strict and statistics.gram.dtype == np.float32 and is_lowest and best > 0:
        raise LostPrecisionError("the best ridge may lie below float32's rounding.")
    if not np.isfinite(found.log_loss):
        raise ElmldaValueError(
            "no ridge can be chosen by leaving one out: no class has two samples, or scores are too "
            "large.",
            "Give it as a number ({ridge}).",
            ridge="1",
        )
    return RIDGES[best] * unit, found


def _descend(loss_at: Callable[[int], float], grid: Sequence[int]) -> int:
    """Downhill from the middle of the grid, where every step is costly."""
    at = len(grid) // 2
    while True:
        losses = {i: loss_at(grid[i]) for i in (at, at - 1, at + 1) if 0 <= i < len(grid)}
        best = min(losses, key=losses.__getitem__)
        if losses[at] <= SLACK * losses[best]:
            return grid[at]
        at = best


def _residuals_by_ridge(
    statistics: Statistics, left_out: LeaveOneOut
) -> tuple[Callable[[float], Residuals], bool]:
    """What gives the residuals at a ridge, and whether each ridge is costly."""
    n_rows, n_hidden = left_out.hidden.shape
    has_all = np.isclose(left_out.weights.sum(), statistics.n_samples)
    if has_all and n_rows <= min(n_hidden, MOST_DECOMPOSED):
        return _decompose_samples(left_out), False
    if n_hidden <= MOST_DECOMPOSED:
        return _decompose_units(statistics, left_out), False
    return _factorise_each(statistics, left_out), True


def _decompose_samples(left_out: LeaveOneOut) -> Callable[[float], Residuals]:
    """By the eigenvalues of AAᵀ, A being of all samples."""
    roots = np.sqrt(left_out.weights)[:, None]
    rows = left_out.hidden * roots
    values, vectors = eigh(rows @ rows.T, overwrite_a=True)
    along, squares = vectors.T @ (roots * left_out.targets), vectors**2

    def leave(ridge: float) -> Residuals:
        shrinkage = ridge / (np.maximum(values, 0) + ridge)
        shrunk = shrinkage[:, None] * along
        residuals = (shrunk.T @ vectors.T).T / roots
        return Residuals(residuals, squares @ shrinkage, along.T @ shrunk, 0.0)

    return leave


def _decompose_units(statistics: Statistics, left_out: LeaveOneOut) -> Callable[[float], Residuals]:
    """By the eigenvalues of AᵀA."""
    values, vectors = eigh(statistics.gram.astype(np.float64), lower=True, overwrite_a=True)
    counts = np.diag(statistics.class_counts.astype(np.float64))
    sums, z = vectors.T @ statistics.class_sums, left_out.hidden @ vectors
    squares = z**2 * left_out.weights[:, None]

    def leave(ridge: float) -> Residuals:
        inverse = 1 / (np.maximum(values, 0) + ridge)
        weights = inverse[:, None] * sums
        residuals = left_out.targets - (weights.T @ z.T).T
        rounding = _rounding(statistics, ridge)
        return Residuals(residuals, 1 - squares @ inverse, counts - sums.T @ weights, rounding)

    return leave


def _factorise_each(statistics: Statistics, left_out: LeaveOneOut) -> Callable[[float], Residuals]:
    """By a Cholesky factor for each ridge."""
    counts = np.diag(statistics.class_counts.astype(np.float64))

    def leave(ridge: float) -> Residuals:
        factor, n_hidden = copy_in_double(statistics.gram, ridge), statistics.n_hidden
        n_sound = factorise(factor, np.diagonal(factor).copy(), statistics.gram.dtype)
        rounding = _rounding(statistics, ridge) if n_sound == n_hidden else np.inf
        weights = np.array(statistics.class_sums, order="F")
        solve_lower(factor, weights)
        matrix = counts - weights.T @ weights
        solve_lower(factor, weights, transposed=True)
        scores = np.empty(left_out.targets.shape, order="F")
        multiply(left_out.hidden.astype(np.float64, copy=False), weights, scores)
        found = left_out.weights * leverages(factor, left_out.hidden, (n_hidden,))[:, 0]
        return Residuals(left_out.targets - scores, 1 - found, matrix, rounding)

    return leave


def _rounding(statistics: Statistics, ridge: float) -> float:
    """By how much the Gram matrix's rounding, or that of its eigenvalues, can change a leverage.

    Measured with digits, moons and generated sets of 1,100 units: float32's is half of this at most.
    """
    square_sum = float(np.diagonal(statistics.gram).max())
    in_double = statistics.n_hidden * np.finfo(np.float64).eps
    return float(max(np.finfo(statistics.gram.dtype).eps, in_double)) * square_sum / ridge
