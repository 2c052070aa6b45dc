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
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from elmlda.core.arrays import FloatArray, IntArray, Rows
from elmlda.core.hidden import HiddenLayer
from elmlda.core.input_weights import InputSpace, draw_weights
from elmlda.core.ridge import choose_ridge
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
from elmlda.core.statistics import Statistics
from elmlda.core.stopwatch import Stopwatch
from elmlda.datasets import Dataset
from elmlda.errors import ElmldaValueError
from elmlda.machine import count_blas_threads
from elmlda.networks.cost import CHUNK, HIDDEN_DTYPES, require_memory_for_double
from elmlda.settings import NetworkSettings

FEW_HIDDEN = 1024
"""Mixed precision is double up to this size: it takes a second or two at most. The data sets of small
networks often have few, correlated inputs, and hidden units that nearly depend on one another:
float32's rounding, which changes with the number of threads, would move labels."""

Ridge = float | str
"""A number, or one of `elmlda.options.RIDGE_RULES`."""
Result = TypeVar("Result")


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

    def draw_layer(self, samples: Rows | None = None, labels: IntArray | None = None) -> HiddenLayer:
        """The hidden layer: the same one each time. Constrained weights need the training data."""
        space = InputSpace(self.n_inputs, self.image_shape, samples, labels)
        rng, dtype = np.random.default_rng(self.seed), HIDDEN_DTYPES[self.precision]
        return self.make_layer(draw_weights(rng, space, self.n_hidden, self.settings, dtype))

    def make_layer(self, input_weights: FloatArray) -> HiddenLayer:
        """The hidden layer of these input weights."""
        settings = self.settings
        scale = 1.0 if settings.input_scale is None else settings.input_scale
        return HiddenLayer(input_weights, settings.activation, scale, has_bias=settings.bias)


class Trainer:
    """A network in training: batches of samples in, in any number and size; output weights out.

    Constrained input weights need all training samples and their labels at the start.
    """

    def __init__(
        self,
        recipe: Recipe,
        n_classes: int,
        samples: Rows | None = None,
        labels: IntArray | None = None,
        watch: Stopwatch | None = None,
    ) -> None:
        self.recipe, self.watch = recipe, watch or Stopwatch()
        with self.watch.part("projection"):
            self.layer = recipe.draw_layer(samples, labels)
        with self.watch.part("gram"):
            dtype = self.layer.dtype.type
            self.statistics = Statistics.zeros(recipe.n_hidden, n_classes, dtype)

    def add(
        self, inputs: Rows, labels: IntArray, chunk: int = CHUNK, weights: FloatArray | None = None
    ) -> None:
        """Add samples and their class indices, holding the hidden outputs of `chunk` at a time.

        A sample of weight w counts as w samples.
        """
        if not self.statistics.gram.flags.writeable:  # as joblib.load(mmap_mode="r") has it
            self.statistics = copy.deepcopy(self.statistics)
        layer, watch = replace(self.layer, threads=count_blas_threads()), self.watch
        with watch.part("gram"):
            buffer = np.empty((min(chunk, len(inputs)), layer.n_hidden), layer.dtype)
        for start in range(0, len(inputs), chunk):
            part = slice(start, start + chunk)
            batch = inputs[part]
            hidden = buffer[: len(batch)]
            # What overflows ends in a Gram matrix that is not finite, which the solution refuses.
            with np.errstate(over="ignore", invalid="ignore"):
                with watch.part("projection"):
                    layer.project(batch, hidden)
                with watch.part("activation"):
                    layer.activate(hidden)
                with watch.part("gram"):
                    self.statistics.add(
                        hidden, labels[part], None if weights is None else weights[part]
                    )

    def solve(self, sizes: Sequence[int], ridge: Ridge) -> list[tuple[float, PiOutputs]]:
        """PI-ELM at each size, Eq. (5), with the ridge of each: a rule chooses one for each size."""
        if isinstance(ridge, str):
            leading = [self.statistics.leading(size) for size in sizes]
            chosen = [(choose_ridge(part), part) for part in leading]
        else:
            chosen = [(ridge, self.statistics.leading(sizes[-1]))]
        return [
            (value, solve_pi(part, sizes if len(chosen) == 1 else (part.n_hidden,), value, self.watch))
            for value, part in chosen
        ]


def in_enough_precision(
    train: Callable[[NetworkSettings], Result], settings: NetworkSettings, double_bytes: int
) -> Result:
    """Train a network, and again in double precision where float32 was not enough.

    It takes `double_bytes` of memory then.
    """
    with suppress(LostPrecisionError):
        return train(settings)
    require_memory_for_double(double_bytes)
    return train(settings.in_double())


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


@dataclass(frozen=True, eq=False)
class TestedNetwork:
    """A network's test scores by every ridge, the precision that was needed, and its time."""

    scores: list[TestScores]
    precision: str
    """double where mixed was not enough."""
    seconds: float
    """Elapsed from the first random number to the last score."""
    part_seconds: dict[str, float]
    """`lda` is what LDA takes beyond PI: its map, constants and scores."""


def train_and_test(
    dataset: Dataset,
    recipe: Recipe,
    sizes_by_ridge: Mapping[Ridge, Sequence[int]],
    threads: int = 1,
    double_bytes: int = 0,
) -> TestedNetwork:
    """Train PI-ELM and LDA-ELM on the same input weights at every hidden size, and test them.

    Parameters
    ----------
    sizes_by_ridge : for each ridge the hidden sizes, ascending: one network of the largest size gives
        them all. A ridge takes a factorisation of its own; the Gram matrix is computed once
    double_bytes : memory that the network takes in double precision
    """
    assert dataset.test is not None
    train, test = dataset.train, dataset.test
    watch, start = Stopwatch(), time.perf_counter()

    def run(settings: NetworkSettings) -> TestedNetwork:
        made = replace(recipe, settings=settings)
        trainer = Trainer(made, dataset.n_classes, train.inputs, train.labels, watch)
        trainer.add(train.inputs, train.labels)
        solved = [
            ("fixed" if not isinstance(ridge, str) else ridge, value, pi)
            for ridge, sizes in sizes_by_ridge.items()
            for value, pi in trainer.solve(sizes, ridge)
        ]
        layer = replace(trainer.layer, threads=threads)
        del trainer
        maps = [_derive_solvable(pi, settings.priors, watch) for _, _, pi in solved]
        with watch.part("test"):
            found = score_samples(layer, [pi.scores for _, _, pi in solved], test.inputs)
        scores = [
            _complete_scores(*about, pi_scores, lda, watch)
            for about, pi_scores, lda in zip(solved, found, maps, strict=True)
        ]
        seconds = time.perf_counter() - start
        return TestedNetwork(scores, made.precision, seconds, dict(watch.parts))

    with threadpool_limits(threads, user_api="blas"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RankWarning)  # LDA is singular there too, and rows say so
        return in_enough_precision(run, recipe.settings, double_bytes)


def _derive_solvable(pi: PiOutputs, priors: Any, watch: Stopwatch) -> LdaOutputs | None:
    """LDA-ELM at the first sizes, up to the first at which it has no solution; None if at none."""
    with watch.part("lda"):
        found = resolve_priors(priors, pi.class_counts)
        try:
            return derive_lda(pi, found)
        except SingularCovarianceError as error:
            n_solved = sum(size < error.n_hidden for size in pi.sizes)
        return derive_lda(pi.of_sizes(n_solved), found) if n_solved else None


def _complete_scores(
    rule: str, ridge: float, pi: PiOutputs, scores: FloatArray, lda: LdaOutputs | None, watch: Stopwatch
) -> TestScores:
    """Every method's scores, from PI-ELM's."""
    with watch.part("test"):
        with_constant = pi.add_constant_unit(scores)
    with watch.part("lda"):
        n_solved = 0 if lda is None else len(lda.constants)
        by_lda = scores[:, :0] if lda is None else lda.scores(scores[:, :n_solved])
    return TestScores(rule, ridge, pi.sizes, scores, with_constant, by_lda)
