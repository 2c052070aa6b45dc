"""The one engine: random generator in, every readout's scores and error counts out.

Every network is trained here: the hidden layer is drawn, the training samples are accumulated
chunk by chunk, output weights are solved and the test samples scored. Where float32 turns out not to be
enough, everything is done again in double precision, if that fits into memory.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from elmlda.core.arrays import FloatArray, IntArray
from elmlda.core.direct_lda import DirectLda, solve_lda
from elmlda.core.evaluate import count_errors, posteriors, round_posteriors
from elmlda.core.hidden import HiddenLayer
from elmlda.core.ridge import choose_ridge
from elmlda.core.solve import LostPrecisionError, PiOutputs, derive_lda, solve_pi
from elmlda.core.statistics import Statistics
from elmlda.core.stopwatch import Stopwatch
from elmlda.datasets import Dataset
from elmlda.networks.cost import (
    Problem,
    free_memory,
    predict_peak_bytes,
    predict_ridge_bytes,
    require_room_for_double,
)
from elmlda.networks.steps import accumulate_statistics, draw_layer, resolve_priors, score_samples
from elmlda.settings import NetworkSettings, Resources

METHODS = ("pi", "pi_constant", "lda")
"""Methods whose errors are counted; `pi_constant` is PI-ELM with a constant hidden unit."""

Result = TypeVar("Result")


@dataclass(frozen=True)
class Readout:
    """Output weights that are wanted of a network: at these hidden sizes, with this ridge."""

    sizes: tuple[int, ...]
    """Ascending."""
    ridge: float | None = 0.0
    """None: chosen by generalised cross-validation at the largest size."""


@dataclass(frozen=True, eq=False)
class Scored:
    """A readout's scores of the test samples."""

    sizes: tuple[int, ...]
    ridge: float
    scores: dict[str, FloatArray]
    """Method -> n_test × n_sizes × n_classes."""

    def errors(self, method: str, labels: IntArray) -> tuple[int, ...]:
        """Test errors at each size; none if the method was not asked for."""
        scores = self.scores.get(method)
        return () if scores is None else tuple(count_errors(scores, labels).tolist())

    def pack_wrong(self, labels: IntArray) -> NDArray[np.uint8]:
        """Which test samples each method gets wrong at each size: n_methods × n_sizes × n_test bits."""
        shape = len(self.scores), len(self.sizes), len(labels)
        wrong = [labels != scores.argmax(axis=-1).T for scores in self.scores.values()]
        return np.packbits(np.array(wrong, bool).reshape(shape), axis=-1)

    def errors_in_class(self, method: str, labels: IntArray, index: int) -> IntArray:
        """Errors at each size among the test samples of one class."""
        return count_errors(self.scores[method][labels == index], np.full(1, index))


@dataclass(frozen=True, eq=False)
class Trained:
    """A network's scores by each readout, the precision that was needed, and its time."""

    readouts: tuple[Scored, ...]
    precision: str
    """double where mixed was not enough."""
    part_seconds: dict[str, float]
    """`lda` is what LDA takes beyond PI: its map or covariance, constants, scores and posteriors."""
    seconds: float
    """Elapsed from the first random number to the last score: a little more than all parts."""


@dataclass(frozen=True)
class NetworkResult:
    """A network's test: error counts at each hidden size, and the largest size's posteriors.

    The counts of methods that were not asked for are empty, and without LDA so are the posteriors.
    """

    sizes: tuple[int, ...]
    pi_errors: tuple[int, ...]
    pi_constant_errors: tuple[int, ...]
    """PI-ELM with a constant hidden unit."""
    lda_errors: tuple[int, ...]
    n_test: int
    posteriors: FloatArray
    """LDA-ELM's at the largest size: n_test × n_classes, float32."""
    wrong: NDArray[np.uint8]
    """Wrong answers: a bit for each test sample, method that was asked for, and size."""
    precision: str
    part_seconds: dict[str, float]
    seconds: float


def run_network(
    dataset: Dataset,
    rng: np.random.Generator,
    sizes: Sequence[int],
    settings: NetworkSettings | None = None,
    resources: Resources | None = None,
    methods: Collection[str] = METHODS,
    *,
    direct: bool = False,
) -> NetworkResult:
    """Train PI-ELM and LDA-ELM on the same input weights at every hidden size, and test them.

    Parameters
    ----------
    sizes : ascending: one network of the largest size gives them all
    methods : which of `METHODS` to test; what only the others need is not computed
    direct : have LDA-ELM, alone and of one size, as the paper writes it instead of from PI-ELM
    """
    settings, resources = settings or NetworkSettings(), resources or Resources()
    readout = Readout(tuple(sizes), settings.ridge)
    trained = train_network(dataset, rng, [readout], settings, resources, methods, direct=direct)
    return _count(dataset, trained)


def train_network(
    dataset: Dataset,
    rng: np.random.Generator,
    readouts: Sequence[Readout],
    settings: NetworkSettings,
    resources: Resources,
    methods: Collection[str] = METHODS,
    *,
    direct: bool = False,
) -> Trained:
    """Train a network once and score the test samples with every readout.

    The network has as many hidden units as the largest readout; smaller ones use its first units.
    `direct` is as in `run_network`.
    """
    if not set(methods) <= set(METHODS):
        raise ValueError(f"methods are {tuple(methods)}: expected some of {METHODS}")
    if direct and (set(methods) != {"lda"} or [len(readout.sizes) for readout in readouts] != [1]):
        raise ValueError(f"direct is for method 'lda' at one size: {tuple(methods)}, {readouts}")
    n_hidden = max(readout.sizes[-1] for readout in readouts)
    train, watch = dataset.train, Stopwatch()
    generators = [copy.deepcopy(rng), rng]

    def train_and_score(settings: NetworkSettings) -> Trained:
        with watch.part("projection"):
            layer = draw_layer(dataset, generators.pop(), n_hidden, settings, resources)
        statistics = accumulate_statistics(
            layer, train.inputs, train.labels, dataset.n_classes, resources.chunk, watch
        )
        if direct:
            ridge = _find_ridge(readouts[0], statistics)
            priors = resolve_priors(settings.priors, statistics.class_counts)
            lda = solve_lda(statistics, priors, ridge, watch)
            del statistics
            scored = _score_directly(dataset, layer, ridge, lda, resources.chunk, watch)
        else:
            solutions = _solve(statistics, readouts, watch)
            del statistics
            scored = _score(dataset, layer, solutions, settings.priors, resources.chunk, methods, watch)
        return Trained(scored, settings.precision, dict(watch.parts), time.perf_counter() - start)

    with threadpool_limits(resources.threads, user_api="blas"):
        start = time.perf_counter()
        double_bytes = predict_double_bytes(dataset, readouts, resources.chunk)
        return in_enough_precision(train_and_score, settings, n_hidden, double_bytes)


def in_enough_precision(
    work: Callable[[NetworkSettings], Result],
    settings: NetworkSettings,
    n_hidden: int,
    double_bytes: int,
    free: Callable[[], int | None] = free_memory,
) -> Result:
    """Do the work, and again in double precision where float32 was not enough.

    It takes `double_bytes` of memory then, of those that are `free` where the work is done.
    """
    with suppress(LostPrecisionError):
        return work(settings)
    require_room_for_double(n_hidden, double_bytes, free())
    return work(settings.in_double())


def finish_network(
    dataset: Dataset,
    rng: np.random.Generator,
    statistics: Statistics,
    sizes: tuple[int, ...],
    settings: NetworkSettings,
    resources: Resources,
) -> NetworkResult:
    """Solve and test a network whose training samples were accumulated elsewhere."""
    watch = Stopwatch()
    with threadpool_limits(resources.threads, user_api="blas"):
        start = time.perf_counter()
        layer = draw_layer(dataset, rng, statistics.n_hidden, settings, resources)
        solutions = _solve(statistics, [Readout(sizes, settings.ridge)], watch)
        scored = _score(dataset, layer, solutions, settings.priors, resources.chunk, METHODS, watch)
        seconds = time.perf_counter() - start
    return _count(dataset, Trained(scored, settings.precision, dict(watch.parts), seconds))


def _count(dataset: Dataset, trained: Trained) -> NetworkResult:
    """The counts and posteriors of a network's only readout, whose time is part of the network's."""
    start, watch = time.perf_counter(), Stopwatch(trained.part_seconds)
    (scored,), labels = trained.readouts, dataset.test.labels
    with watch.part("test"):
        errors = {method: scored.errors(method, labels) for method in METHODS}
    found: FloatArray = np.empty((0, dataset.n_classes), np.float32)
    if "lda" in scored.scores:
        with watch.part("lda"):
            found = round_posteriors(posteriors(scored.scores["lda"][:, -1]))
    return NetworkResult(
        scored.sizes,
        errors["pi"],
        errors["pi_constant"],
        errors["lda"],
        len(labels),
        found,
        scored.pack_wrong(labels),
        trained.precision,
        dict(watch.parts),
        trained.seconds + time.perf_counter() - start,
    )


def predict_double_bytes(dataset: Dataset, readouts: Sequence[Readout], chunk: int) -> int:
    """Memory that the network takes in double precision."""
    sizes = tuple(sorted({size for readout in readouts for size in readout.sizes}))
    problem = Problem.of(dataset, sizes)
    needed = predict_peak_bytes(problem, chunk, 8, dataset.nbytes)
    if any(readout.ridge is None for readout in readouts):
        needed = max(needed, predict_ridge_bytes(problem, 8, dataset.nbytes))
    return needed


def _solve(
    statistics: Statistics, readouts: Sequence[Readout], watch: Stopwatch
) -> list[tuple[float, PiOutputs]]:
    """Each readout's ridge and PI weights."""
    solutions = []
    for readout in readouts:
        leading = statistics.leading(readout.sizes[-1])
        ridge = _find_ridge(readout, leading)
        solutions.append((ridge, solve_pi(leading, readout.sizes, ridge, watch)))
    return solutions


def _find_ridge(readout: Readout, statistics: Statistics) -> float:
    return choose_ridge(statistics) if readout.ridge is None else readout.ridge


def _score(
    dataset: Dataset,
    layer: HiddenLayer,
    solutions: Sequence[tuple[float, PiOutputs]],
    priors: str,
    chunk: int,
    methods: Collection[str],
    watch: Stopwatch,
) -> tuple[Scored, ...]:
    """Each method's scores of the test samples, by every solution."""
    maps = []
    if "lda" in methods:
        with watch.part("lda"):
            maps = [derive_lda(pi, resolve_priors(priors, pi.class_counts)) for _, pi in solutions]
    with watch.part("test"):
        scorers = [pi.scores for _, pi in solutions]
        pi_scores = score_samples(layer, scorers, dataset.test.inputs, chunk)
    found = []
    for i, ((ridge, pi), scores) in enumerate(zip(solutions, pi_scores, strict=True)):
        by_method = {"pi": scores} if "pi" in methods else {}
        if "pi_constant" in methods:
            with watch.part("test"):
                by_method["pi_constant"] = pi.add_constant_unit(scores)
        if "lda" in methods:
            with watch.part("lda"):
                by_method["lda"] = maps[i].scores(scores)
        found.append(Scored(pi.sizes, ridge, by_method))
    return tuple(found)


def _score_directly(
    dataset: Dataset, layer: HiddenLayer, ridge: float, lda: DirectLda, chunk: int, watch: Stopwatch
) -> tuple[Scored, ...]:
    """LDA's scores of the test samples, by its own weights."""
    with watch.part("test"):
        (products,) = score_samples(layer, [lda.products], dataset.test.inputs, chunk)
    with watch.part("lda"):
        scores = lda.scores(products)[:, None]
    return (Scored((layer.n_hidden,), ridge, {"lda": scores}),)
