"""The one engine: every network, of experiments and of estimators, is trained here.

A hidden layer is drawn, the training samples are accumulated chunk by chunk, and output weights are
solved for. Where float32 turns out not to be enough, everything is done again in double precision, if
that fits into memory.
"""

from __future__ import annotations

import copy
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from elmlda.core import FloatArray, IntArray, Rows
from elmlda.core.hidden import HiddenLayer
from elmlda.core.input_weights import InputSpace, draw_weights
from elmlda.core.leave_one_out import LeaveOneOut, choose_ridge, fit_temperatures, leverages
from elmlda.core.solve import (
    LdaOutputs,
    LostPrecisionError,
    PiOutputs,
    RankWarning,
    SingularCovarianceError,
    derive_lda,
    require_finite_scores,
    solve_pi,
)
from elmlda.core.statistics import RowSample, Statistics
from elmlda.datasets import Dataset
from elmlda.errors import ElmldaValueError
from elmlda.machine import count_blas_threads
from elmlda.networks.cost import CHUNK, HIDDEN_DTYPES, Problem, in_enough_precision, predict_peak_bytes
from elmlda.settings import NetworkSettings, OutputSettings

FEW_HIDDEN = 1024
"""Mixed precision is double up to this size: it takes a second or two at most. The data sets of small
networks often have few, correlated inputs, and hidden units that nearly depend on one another:
float32's rounding, which changes with the number of threads, would move labels."""

SAMPLE_KEY = 2**32 - 1
"""Last in the spawn key of the generator that draws samples to leave out; no network has it."""

Choice = float | str
"""A number, or loo: chosen by leaving one out."""


class Solution(NamedTuple):
    """PI-ELM at hidden sizes that share a ridge, and LDA's temperatures there."""

    ridge: float
    temperatures: FloatArray
    """n_sizes; nan where none can be chosen."""
    pi: PiOutputs


def choose_precision(precision: str, n_hidden: int) -> str:
    """The precision that a network of this size has."""
    return "double" if precision == "mixed" and n_hidden <= FEW_HIDDEN else precision


@dataclass(frozen=True)
class Recipe:
    """What defines a network before training."""

    seed: np.random.SeedSequence
    n_inputs: int
    n_hidden: int
    settings: NetworkSettings
    image_shape: tuple[int, int] | None = None
    """Rows and columns of a sample that is an image, for receptive fields."""

    @classmethod
    def for_dataset(
        cls, dataset: Dataset, seed: np.random.SeedSequence, n_hidden: int, settings: NetworkSettings
    ) -> Recipe:
        """A network for this data set's inputs."""
        settings = replace(settings, input_scale=settings.input_scale or dataset.input_scale)
        return cls(seed, dataset.n_inputs, n_hidden, settings, dataset.image_shape)

    @property
    def precision(self) -> str:
        return choose_precision(self.settings.precision, self.n_hidden)

    def draw_layer(
        self, samples: Rows | None = None, labels: IntArray | None = None, precision: str | None = None
    ) -> HiddenLayer:
        """The hidden layer: the same one each time. Constrained weights need the training data."""
        space = InputSpace(self.n_inputs, self.image_shape, samples, labels)
        rng, dtype = np.random.default_rng(self.seed), HIDDEN_DTYPES[precision or self.precision]
        return self.make_layer(draw_weights(rng, space, self.n_hidden, self.settings, dtype))

    def make_layer(self, input_weights: FloatArray) -> HiddenLayer:
        """The hidden layer of these input weights."""
        settings = self.settings
        scale = 1.0 if settings.input_scale is None else settings.input_scale
        return HiddenLayer(input_weights, settings.activation, scale, has_bias=settings.bias)


class Trainer:
    """A network in training: batches of samples in, in any number and size; output weights out.

    Constrained input weights need all training samples and their labels at the start. What is to be
    chosen by leaving one out needs a sample of the hidden outputs, which `holds_rows` collects.
    """

    def __init__(
        self,
        recipe: Recipe,
        n_classes: int,
        samples: Rows | None = None,
        labels: IntArray | None = None,
        *,
        holds_rows: bool = False,
        class_weights: FloatArray | None = None,
    ) -> None:
        self.recipe, self.class_weights = recipe, class_weights
        self.layer = recipe.draw_layer(samples, labels)
        self.statistics = Statistics.zeros(recipe.n_hidden, n_classes, self.layer.dtype.type)
        self.rows: RowSample | None = None
        if holds_rows:
            key = (*recipe.seed.spawn_key, SAMPLE_KEY)
            seed = np.random.SeedSequence(recipe.seed.entropy, spawn_key=key)
            self.rows = RowSample(np.random.default_rng(seed), recipe.n_hidden, self.layer.dtype)

    def add(
        self, inputs: Rows, labels: IntArray, chunk: int = CHUNK, weights: FloatArray | None = None
    ) -> None:
        """Add samples and their class indices, holding the hidden outputs of `chunk` at a time.

        A sample of weight w counts as w samples; its class's weight is multiplied with that.
        """
        if not self.statistics.gram.flags.writeable:  # as joblib.load(mmap_mode="r") has it
            self.statistics, self.rows = copy.deepcopy((self.statistics, self.rows))
        if self.class_weights is not None:
            weights = self.class_weights[labels] * (1.0 if weights is None else weights)
        layer = replace(self.layer, threads=count_blas_threads())
        buffer = np.empty((min(chunk, len(inputs)), layer.n_hidden), layer.dtype)
        for start in range(0, len(inputs), chunk):
            part = slice(start, start + chunk)
            batch = inputs[part]
            hidden = buffer[: len(batch)]
            # What overflows ends in a Gram matrix that is not finite, which the solution refuses.
            with np.errstate(over="ignore", invalid="ignore"):
                layer.project(batch, hidden)
                layer.activate(hidden)
                its = None if weights is None else weights[part]
                if self.rows:
                    self.rows.add(hidden, labels[part], its)
                self.statistics.add(hidden, labels[part], its)

    def solve(
        self, sizes: Sequence[int], settings: OutputSettings, *, strict: bool = True
    ) -> list[Solution]:
        """PI-ELM at each size, Eq. (5); a ridge that is chosen is another one at each size.

        `strict` refuses a ridge that float32's rounding may have kept too large.
        """
        if isinstance(settings.ridge, str):
            return [self._choose(size, settings, strict) for size in sizes]
        return [self._solve(sizes, settings.ridge, settings.temperature)]

    def _choose(self, size: int, settings: OutputSettings, strict: bool) -> Solution:
        """The ridge by leaving one out, and with it the temperature."""
        left_out, seen = self._leave_out()
        left_out = replace(left_out, hidden=left_out.hidden[:, :size])
        part = self.statistics.leading(size).of_classes(seen)
        # Eigenvalues of a small matrix take longer with threads that wait for each other.
        threads = 1 if size <= FEW_HIDDEN else None
        with threadpool_limits(threads, user_api="blas"):
            ridge, (found, _) = choose_ridge(part, left_out, settings.output, strict=strict)
        chosen = settings.temperature
        return self._solve((size,), ridge, found if isinstance(chosen, str) else chosen)

    def _solve(self, sizes: Sequence[int], ridge: float, temperature: Choice) -> Solution:
        part = self.statistics.leading(sizes[-1])
        if not isinstance(temperature, str):
            return Solution(ridge, np.full(len(sizes), temperature), solve_pi(part, sizes, ridge))
        left_out, seen = self._leave_out()
        found: FloatArray = np.empty((0, 0))

        def inspect(factor: FloatArray, sound_sizes: tuple[int, ...]) -> None:
            nonlocal found
            found = leverages(factor, left_out.hidden, sound_sizes)

        pi = solve_pi(part, sizes, ridge, inspect)
        tempered = fit_temperatures(pi.of_classes(seen), found, left_out)
        return Solution(ridge, np.array([each.temperature for each in tempered]), pi)

    def _leave_out(self) -> tuple[LeaveOneOut, IntArray]:
        """The samples to leave out, and the classes that have samples: no others are in it."""
        if self.rows is None:
            raise ValueError("a Trainer that does not hold rows can't leave one out")
        counts, priors = self.statistics.class_counts, self.recipe.settings.priors
        seen = np.flatnonzero(counts)
        given = None if priors == "frequencies" else resolve_priors(priors, counts)[seen]
        left_out = LeaveOneOut(
            self.rows.hidden,
            np.searchsorted(seen, self.rows.labels),
            self.rows.weights,
            counts[seen],
            None if given is None else given / given.sum(),
            None if self.class_weights is None else self.class_weights[seen],
        )
        return left_out, seen


def score_samples(
    layer: HiddenLayer,
    scorers: Sequence[Callable[[FloatArray], FloatArray]],
    inputs: Rows,
    chunk: int = CHUNK,
) -> list[FloatArray]:
    """Scores of every sample by each scorer, samples as rows.

    A scorer takes hidden outputs, such as `PiOutputs.scores`; they are computed once for all.

    Raises
    ------
    ElmldaError
        If a score is not finite: which class is highest would be a matter of chance.
    """

    def score_all(hidden: FloatArray) -> list[FloatArray]:
        return [score(hidden) for score in scorers]

    starts = range(0, len(inputs), chunk)
    with np.errstate(over="ignore", invalid="ignore"):
        # Hidden outputs have no name here: a chunk's are gone before the next are computed.
        parts = [score_all(layer.outputs(inputs[i : i + chunk])) for i in starts]
    found = [np.concatenate(scores) for scores in zip(*parts, strict=True)]
    for scores in found:
        if layer.dtype == np.float32 and not np.isfinite(scores).all():
            raise LostPrecisionError("hidden outputs too large for float32.")
        require_finite_scores(scores)
    return found


def resolve_priors(priors: Any, class_counts: IntArray | FloatArray) -> FloatArray:
    """Prior probabilities π of the classes, as settings have them."""
    n_classes = len(class_counts)
    if priors == "uniform":
        return np.full(n_classes, 1 / n_classes)
    if priors == "frequencies":
        return np.asarray(class_counts / class_counts.sum())
    if len(priors) != n_classes:
        raise ElmldaValueError(f"{len(priors)} priors given, {n_classes} classes in the data.")
    return np.array(priors)


# Networks of experiments: trained on one part of the data, tested on the other


@dataclass(frozen=True, eq=False)
class TestScores:
    """The scores of the test samples at hidden sizes that share a ridge, or a rule that chose it."""

    rule: str
    """fixed, or what chose the ridge."""
    ridge: float
    sizes: tuple[int, ...]
    pi: FloatArray
    """PI-ELM's, Eq. (5): n_test × n_sizes × n_classes."""
    pi_constant: FloatArray
    """PI-ELM's with a constant hidden unit."""
    lda: FloatArray
    """LDA-ELM's, Eq. (15): n_test × n_solved × n_classes, as LDA may have none at the last sizes."""
    temperatures: FloatArray
    """What LDA's scores may be multiplied by, n_sizes; nan where it is not known."""


@dataclass(frozen=True, eq=False)
class TestedNetwork:
    """A network's test scores by every ridge, the precision that was needed, and its time."""

    scores: list[TestScores]
    precision: str
    """double where mixed was not enough."""
    seconds: float
    """Elapsed from the first random number to the last score."""


def train_and_test(
    dataset: Dataset,
    recipe: Recipe,
    sizes_by_ridge: Mapping[Choice, Sequence[int]],
    threads: int = 1,
    temperature: Choice = 1.0,
) -> TestedNetwork:
    """Train PI-ELM and LDA-ELM on the same input weights at every hidden size, and test them.

    Parameters
    ----------
    sizes_by_ridge : for each ridge the hidden sizes, ascending: one network of the largest size gives
        them all. A ridge takes a factorisation of its own; the Gram matrix is computed once
    """
    assert dataset.test is not None
    train, test = dataset.train, dataset.test
    start = time.perf_counter()
    holds_rows = "loo" in (temperature, *sizes_by_ridge)

    def run(settings: NetworkSettings) -> TestedNetwork:
        made = replace(recipe, settings=settings)
        samples = train.inputs, train.labels
        trainer = Trainer(made, dataset.n_classes, *samples, holds_rows=holds_rows)
        trainer.add(*samples)
        solved = [
            (ridge if isinstance(ridge, str) else "fixed", solution)
            for ridge, sizes in sizes_by_ridge.items()
            for solution in trainer.solve(sizes, OutputSettings(ridge, temperature))
        ]
        layer = replace(trainer.layer, threads=threads)
        del trainer
        maps = [_derive_solvable(each.pi, settings.priors) for _, each in solved]
        found = score_samples(layer, [each.pi.scores for _, each in solved], test.inputs)
        scores = [
            _complete_scores(*about, pi_scores, lda)
            for about, pi_scores, lda in zip(solved, found, maps, strict=True)
        ]
        return TestedNetwork(scores, made.precision, time.perf_counter() - start)

    with threadpool_limits(threads, user_api="blas"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RankWarning)  # LDA is singular there too, and rows say so
        sizes = max(sizes_by_ridge.values(), key=max)
        double = Problem.for_dataset(dataset, sizes, "double", tuple(sizes_by_ridge), temperature)
        return in_enough_precision(run, recipe.settings, predict_peak_bytes(double))


def _derive_solvable(pi: PiOutputs, priors: Any) -> LdaOutputs | None:
    """LDA-ELM at the first sizes, up to the first at which it has no solution; None if at none."""
    found = resolve_priors(priors, pi.class_counts)
    try:
        return derive_lda(pi, found)
    except SingularCovarianceError as error:
        n_solved = sum(size < error.n_hidden for size in pi.sizes)
    return derive_lda(pi.of_sizes(n_solved), found) if n_solved else None


def _complete_scores(
    rule: str, solution: Solution, scores: FloatArray, lda: LdaOutputs | None
) -> TestScores:
    """Every method's scores, from PI-ELM's."""
    with_constant = solution.pi.add_constant_unit(scores)
    by_lda = scores[:, :0] if lda is None else lda.scores(scores[:, : len(lda.constants)])
    ridge, temperatures, pi = solution
    return TestScores(rule, ridge, pi.sizes, scores, with_constant, by_lda, temperatures)
