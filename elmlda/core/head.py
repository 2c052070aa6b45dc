"""The output layer: linear output weights for any features, from sums or from the dual problem.

Experiments, the linear classifier and the network estimators fit output weights here. Features are
hidden outputs or the user's own. With more samples than features, `FeatureSums` accumulates sums of a
stream. With fewer samples, `WideFeatures` solves the dual problem, with n_samples × n_samples numbers.

LDA with a ridge does not change if a constant is added to a feature, because the class means are taken
out of the covariance. Features are centred for accuracy: a stream about the mean of its first batch.
Only the scale of the candidate ridges depends on the mean; it is that of exactly centred features.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from elmlda.core import FloatArray, IntArray, as_dense
from elmlda.core.blas import add_gram, multiply
from elmlda.core.leave_one_out import (
    NONE,
    LeaveOneOut,
    Residuals,
    RidgePath,
    SampleDecomposition,
    Tempered,
    choose_ridge,
    fit_temperatures,
    residuals_by_size,
)
from elmlda.core.solve import (
    PiOutputs,
    Rounding,
    derive_lda,
    require_every_class,
    require_finite,
    require_samples,
    solve_pi,
)
from elmlda.core.sums import RowSample, Sums
from elmlda.errors import ElmldaValueError
from elmlda.options import OutputOptions

ROUNDING = 64
"""Smallest deviation of a feature that is not constant, in rounding errors of the mean."""
BLOCK_ELEMENTS = 1 << 20
"""Elements of a block of features that is cast or centred at a time."""


class Solution(NamedTuple):
    """PI-ELM at hidden sizes that share a ridge, and the temperatures of LDA-ELM."""

    ridge: float
    temperatures: FloatArray
    """n_sizes; NaN where leave-one-out finds none."""
    pi: PiOutputs


@dataclass(frozen=True, eq=False)
class Head:
    """A fitted output layer: scores are features · weights + constants."""

    weights: FloatArray
    """n_features × n_classes, including the temperature."""
    constants: FloatArray
    """n_classes; -inf for classes without samples."""
    priors: FloatArray
    """Prior probabilities, n_classes; 0 for classes without samples, and for PI."""
    ridge: float
    temperature: float
    class_counts: FloatArray
    """Samples of each class, or sums of weights after the rule for weights."""
    loo_loss: float
    """Mean log-loss of leave-one-out; for PI the mean squared error."""
    loo_accuracy: float

    def scores(self, batches: Iterable[Any]) -> FloatArray:
        """Compute the scores of samples (n_samples × n_classes) from batches of features."""
        parts, n_rows = [], max(1, BLOCK_ELEMENTS // len(self.weights))
        for features in batches:
            if hasattr(features, "toarray"):
                parts.append(features @ self.weights)
                continue
            part = np.empty((len(features), len(self.constants)))
            for start in range(0, len(features), n_rows):
                block = features[start : start + n_rows].astype(np.float64, copy=False)
                multiply(block, self.weights, part[start : start + n_rows])
            parts.append(part)
        scores = np.concatenate(parts)
        require_finite(scores, "sample {index} has scores", scores.dtype)
        scores += self.constants
        return scores


class OutputLayer(ABC):
    """Samples from which output weights are fitted."""

    class_weights: FloatArray | None
    is_centred: bool
    centre: FloatArray
    """Subtracted from the features, n_features."""
    n_classes: int

    def fit_head(
        self,
        settings: OutputOptions,
        priors: Any,
        ridges: Sequence[float] | None = None,
        *,
        strict: bool = True,
    ) -> tuple[Head, FloatArray]:
        """Fit the output layer. `strict` refuses a ridge whose choice may be due to rounding.

        Returns
        -------
        head, loo_scores : the output layer, and the scores of the samples that were left out by the
            layer without them, n_rows × n_classes with samples; NaN where unknown
        """
        left_out, seen = self._leave_out(priors)
        if settings.output == "lda" and settings.ridge == 0:
            require_samples(self._samples()[-1], len(seen), len(self.centre))
        path = None
        if isinstance(settings.ridge, str):
            path = self._ridge_path(left_out)
            grid = None if ridges is None else [value * left_out.unit for value in ridges]
            ridge, _ = choose_ridge(path, left_out, settings.output, grid, strict=strict)
        else:
            ridge = settings.ridge * left_out.unit
        pi, residuals, offset = self._solve_at(ridge, left_out, seen, path)
        n_features, n_classes = len(self.centre), self.n_classes
        weights, constants = np.zeros((n_features, n_classes)), np.zeros(n_classes)
        class_counts, used_priors = np.zeros(n_classes), np.zeros(n_classes)
        class_counts[seen] = pi.class_counts / left_out.unit
        temperature = 1.0
        if settings.output == "pi":
            weights[:, seen] = pi.at(n_features)
        else:
            frequencies = pi.class_counts / pi.class_counts.sum()
            used_priors[seen] = frequencies if left_out.priors is None else left_out.priors
            lda = derive_lda(pi, used_priors[seen])
            temperature = _fix_temperature(settings.temperature, left_out, residuals)
            # A term that all classes share changes no posterior: each sample's scores have mean 0.
            contrast = temperature * (np.eye(len(seen)) - 1 / len(seen))
            weights[:, seen] = pi.at(n_features) @ (lda.maps[0] @ contrast)
            at_centre = lda.constants[0] + offset @ lda.maps[0]
            constants[:] = -np.inf
            constants[seen] = at_centre @ contrast - self.centre @ weights[:, seen]
        loss, accuracy, scores = left_out.measure(residuals, settings.output, temperature)
        relative_ridge = ridge / left_out.unit
        fitted = weights, constants, used_priors, relative_ridge, temperature, class_counts
        return Head(*fitted, loss, accuracy), scores

    def _leave_out(self, priors: Any) -> tuple[LeaveOneOut, IntArray]:
        """Apply the rule for weights; return the samples to leave out and the classes with samples."""
        features, labels, weights, class_counts, n_samples = self._samples()
        seen = np.flatnonzero(class_counts)
        by_class = np.ones(len(class_counts)) if self.class_weights is None else self.class_weights
        sample_weight_sum = float((class_counts / by_class).sum())
        mean = min(1.0, sample_weight_sum / n_samples)
        fixed = None if priors == "frequencies" else resolve_priors(priors, class_counts)[seen]
        left_out = LeaveOneOut(
            features,
            np.searchsorted(seen, labels),
            by_class[labels] * weights,
            (by_class[labels] * np.minimum(weights, mean))[:, None],
            class_counts[seen],
            None if fixed is None else fixed / fixed.sum(),
            mean * float(class_counts.sum()) / sample_weight_sum,
        )
        return left_out, seen

    @abstractmethod
    def _samples(self) -> tuple[FloatArray, IntArray, FloatArray, FloatArray, int]:
        """Return features, labels and weights of the samples to leave out, and totals.

        The totals are the class counts, which are sums of weights, and the number of samples.
        """

    @abstractmethod
    def _ridge_path(self, left_out: LeaveOneOut) -> RidgePath:
        """Return the residuals as a function of the ridge."""

    @abstractmethod
    def _solve_at(
        self, ridge: float, left_out: LeaveOneOut, seen: IntArray, path: RidgePath | None
    ) -> tuple[PiOutputs, Residuals | None, FloatArray]:
        """Return PI for the classes with samples, the residuals, and PI's scores at the centre."""


class FeatureSums(OutputLayer):
    """Sums over the features of a stream of samples, and a row sample for leave-one-out.

    The features are centred about the mean of the first batch if `is_centred` is set. Otherwise `add`
    may overwrite them.
    """

    def __init__(
        self,
        n_features: int,
        n_classes: int,
        dtype: type[np.floating],
        *,
        rng: np.random.Generator | None = None,
        most_rows: int | None = None,
        class_weights: FloatArray | None = None,
        is_centred: bool = False,
    ) -> None:
        self.sums = Sums.zeros(n_features, n_classes, dtype)
        self.rows = None if rng is None else RowSample(rng, n_features, np.dtype(dtype), most_rows)
        self.class_weights, self.is_centred = class_weights, is_centred
        self.centre, self.n_classes = np.zeros(n_features, dtype), n_classes

    def add(self, batches: Iterable[Any], labels: IntArray, weights: FloatArray | None = None) -> None:
        """Add batches of features, and the class indices of all their samples.

        A sample of weight w counts as w samples. Sample weights are multiplied by class weights.
        """
        if not self.sums.gram.flags.writeable:  # after joblib.load(mmap_mode="r")
            self.sums, self.rows = copy.deepcopy((self.sums, self.rows))
        totals = weights
        if self.class_weights is not None:
            totals = self.class_weights[labels] * (1.0 if weights is None else weights)
        stop = 0
        for features in batches:
            batch: Any = as_dense(features)
            part = slice(stop, stop + len(batch))
            stop = part.stop
            # An overflow makes the Gram matrix infinite, which the solution refuses.
            with np.errstate(over="ignore", invalid="ignore"):
                if self.is_centred:
                    if not self.sums.n_samples:
                        self.centre[:] = batch.mean(axis=0, dtype=np.float64)
                    batch = np.subtract(
                        batch, self.centre, dtype=self.centre.dtype, casting="same_kind"
                    )
                if self.rows:
                    self.rows.add(batch, labels[part], None if weights is None else weights[part])
                self.sums.add(batch, labels[part], None if totals is None else totals[part])

    def choose_ridge(self, size: int, priors: Any) -> tuple[float, Tempered]:
        """Choose the ridge and the temperature of the first `size` units by leave-one-out."""
        require_every_class(self.sums.class_counts)
        left_out, _ = self._leave_out(priors)
        left_out = replace(left_out, hidden=left_out.hidden[:, :size])
        gram, class_sums = self.sums.gram[:size, :size], self.sums.class_sums[:size]
        leading = replace(self.sums, gram=gram, class_sums=class_sums)
        return choose_ridge(RidgePath.of(leading, left_out), left_out)

    def solve(
        self, sizes: Sequence[int], ridge: float, temperature: float | str, priors: Any
    ) -> Solution:
        """Solve PI-ELM, Eq. (5), at each nested size."""
        if not isinstance(temperature, str):
            pi = solve_pi(self.sums, sizes, ridge)
            return Solution(ridge, np.full(len(sizes), temperature), pi)
        require_every_class(self.sums.class_counts)
        left_out, _ = self._leave_out(priors)
        pi = solve_pi(self.sums, sizes, ridge, left_out.hidden)
        tempered = fit_temperatures(pi, left_out)
        return Solution(ridge, np.array([size.temperature for size in tempered]), pi)

    def _samples(self) -> tuple[FloatArray, IntArray, FloatArray, FloatArray, int]:
        if self.rows is None:
            raise ValueError("leave-one-out needs sums with a row sample")
        totals = self.sums.class_counts, self.sums.n_samples
        return self.rows.hidden, self.rows.labels, self.rows.weights, *totals

    def _ridge_path(self, left_out: LeaveOneOut) -> RidgePath:
        sums = self.sums.of_classes(np.flatnonzero(self.sums.class_counts))
        path = RidgePath.of(sums, left_out, self.is_centred)
        if not self.is_centred:
            return path
        total = self.sums.class_counts.sum()
        means = self.sums.class_sums.sum(axis=1) / total
        square_sum = path.scale - float(total * (means @ means)) / len(means)
        return replace(path, scale=_above_rounding(square_sum, total, self.centre))

    def _solve_at(
        self, ridge: float, left_out: LeaveOneOut, seen: IntArray, path: RidgePath | None
    ) -> tuple[PiOutputs, Residuals | None, FloatArray]:
        sums, sizes, offset = self.sums.of_classes(seen), (len(self.centre),), np.zeros(len(seen))
        if path is not None:
            return solve_pi(sums, sizes, ridge), path.residuals_at(ridge), offset
        pi = solve_pi(sums, sizes, ridge, left_out.hidden)
        return pi, next(iter(residuals_by_size(pi, left_out)), None), offset


class WideFeatures(OutputLayer):
    """All samples of the dual problem, with more features than samples and a ridge above 0.

    Parameters
    ----------
    features : array or sparse matrix, n_samples × n_features; blocks of columns are cast to float64
    """

    def __init__(
        self,
        features: Any,
        labels: IntArray,
        n_classes: int,
        *,
        weights: FloatArray | None = None,
        class_weights: FloatArray | None = None,
        is_centred: bool = False,
    ) -> None:
        n_samples, n_features = features.shape
        self.labels, self.class_weights, self.is_centred = labels, class_weights, is_centred
        self.weights = np.ones(n_samples) if weights is None else weights
        totals = self.weights if class_weights is None else class_weights[labels] * self.weights
        self.class_counts = np.asarray(np.bincount(labels, totals, n_classes), np.float64)
        self.centre, self.n_classes = np.zeros(n_features), n_classes
        self.features = features.tocsc() if hasattr(features, "tocsc") else features
        roots, shares = np.sqrt(totals)[:, None], totals / totals.sum()
        self.kernel = np.zeros((n_samples, n_samples), order="F")
        with np.errstate(over="ignore", invalid="ignore"):
            for block, columns in self._read_blocks():
                if is_centred:
                    multiply(shares[None], columns, self.centre[None, block])
                    columns -= self.centre[block]
                columns *= roots
                add_gram(columns, self.kernel)
        fact = "sample {index} has features or hidden outputs"
        require_finite(np.diagonal(self.kernel), fact, features.dtype)

    def _read_blocks(self) -> Iterator[tuple[slice, FloatArray]]:
        """Copy blocks of columns to dense float64 arrays."""
        n_samples, n_features = self.features.shape
        width = max(1, BLOCK_ELEMENTS // n_samples)
        for start in range(0, n_features, width):
            block = slice(start, start + width)
            yield block, as_dense(self.features[:, block]).astype(np.float64, order="C")

    def _samples(self) -> tuple[FloatArray, IntArray, FloatArray, FloatArray, int]:
        n_samples = len(self.labels)
        return np.empty((n_samples, 0)), self.labels, self.weights, self.class_counts, n_samples

    def _ridge_path(self, left_out: LeaveOneOut) -> RidgePath:
        square_sum = float(np.trace(self.kernel)) / len(self.centre)
        scale = _above_rounding(square_sum, self.class_counts.sum(), self.centre)
        self.samples = SampleDecomposition(self.kernel, left_out, self.is_centred)
        return RidgePath(self.samples.residuals_at, scale)

    def _solve_at(
        self, ridge: float, left_out: LeaveOneOut, seen: IntArray, path: RidgePath | None
    ) -> tuple[PiOutputs, Residuals | None, FloatArray]:
        if path is None:
            self._ridge_path(left_out)
        residuals = self.samples.residuals_at(ridge)
        coefficients = self.samples.coefficients_at(ridge)
        totals = coefficients.sum(axis=0)
        weights = np.empty((len(self.centre), len(seen)))
        for block, columns in self._read_blocks():
            multiply(columns.T, coefficients, weights[block])
            weights[block] -= np.outer(self.centre[block], totals)
        counts, sizes = left_out.class_counts, (len(self.centre),)
        explained = (np.diag(counts) - residuals.matrix)[None]
        rounding = Rounding(0.0, np.dtype(np.float64), None)
        pi = PiOutputs(sizes, weights, explained, counts, sizes, rounding)
        return pi, residuals, self.samples.constant_square * totals


def _fix_temperature(
    temperature: float | str, left_out: LeaveOneOut, residuals: Residuals | None
) -> float:
    """Return the temperature, chosen by leave-one-out unless it is a number."""
    if not isinstance(temperature, str):
        return temperature
    tempered = NONE if residuals is None else left_out.fit_temperature(residuals)
    if np.isnan(tempered.temperature):
        raise ElmldaValueError(
            "no temperature can be chosen by leaving one out: no class has two samples, or LDA without "
            "one of them is singular.",
            "Set {temperature} to a number.",
            temperature=1,
        )
    return tempered.temperature


def _above_rounding(square_sum: float, total: float, centre: FloatArray) -> float:
    """Return the mean square sum of centred features, or 1 if all features are constant."""
    smallest = ROUNDING * np.finfo(centre.dtype).eps
    return square_sum if square_sum > smallest**2 * total * np.square(centre).mean() else 1.0


def resolve_priors(priors: Any, class_counts: IntArray | FloatArray) -> FloatArray:
    """Return the prior probabilities π of the classes for the option `priors`."""
    n_classes = len(class_counts)
    if priors == "uniform":
        return np.full(n_classes, 1 / n_classes)
    if priors == "frequencies":
        return np.asarray(class_counts / class_counts.sum())
    if len(priors) != n_classes:
        raise ElmldaValueError(f"{len(priors)} priors given, {n_classes} classes in the data.")
    return np.array(priors)
