"""One network from start to finish: random generator in, every hidden size's errors out."""

from __future__ import annotations

import copy
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from threadpoolctl import threadpool_limits

from elmlda.core.arrays import FloatArray, IntArray, Rows
from elmlda.core.evaluate import count_errors, posteriors, round_posteriors
from elmlda.core.hidden import HiddenLayer
from elmlda.core.input_weights import draw_weights
from elmlda.core.solve import (
    LostPrecisionError,
    PiOutputs,
    derive_lda,
    require_finite_scores,
    solve_pi,
)
from elmlda.core.statistics import Statistics
from elmlda.core.stopwatch import Stopwatch
from elmlda.datasets import Dataset, load_dataset
from elmlda.errors import ElmldaError
from elmlda.machine import available_memory, held_memory
from elmlda.networks.cost import Problem, predict_peak_bytes
from elmlda.settings import (
    DatasetRef,
    NetworkJob,
    NetworkSettings,
    Resources,
    RowBlockJob,
    parse_priors,
)

HIDDEN_DTYPES: dict[str, type[np.floating]] = {"mixed": np.float32, "double": np.float64}
METHODS = ("pi", "pi_constant", "lda")
"""What a network's errors can be counted of; `pi_constant` is PI-ELM with a constant hidden unit."""


@dataclass(frozen=True)
class NetworkResult:
    """What is kept of a network: counts at each hidden size, and the largest size's posteriors.

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
    precision: str
    """The precision that it was computed in: double where mixed was not enough."""
    part_seconds: dict[str, float]
    """`lda` is what LDA takes beyond PI: its map and constant, and their use on PI's scores."""
    seconds: float
    """Elapsed from the first random number to the last count: a little more than all parts."""


def run_job(job: NetworkJob, methods: Collection[str] = METHODS) -> NetworkResult:
    """Train and test the job's network, in this process."""
    return run_network(
        load_job_data(job.dataset), job_generator(job), job.sizes, job.settings, job.resources, methods
    )


def job_generator(job: NetworkJob) -> np.random.Generator:
    """The network's own random generator, at its start."""
    return np.random.default_rng(np.random.SeedSequence(job.seed, spawn_key=job.key))


@lru_cache(maxsize=1)
def load_job_data(ref: DatasetRef) -> Dataset:
    """Load the data of a process's jobs, which keeps them."""
    return load_dataset(ref.name, ref.data_dir, ref.label)


def run_network(
    dataset: Dataset,
    rng: np.random.Generator,
    sizes: Sequence[int],
    settings: NetworkSettings | None = None,
    resources: Resources | None = None,
    methods: Collection[str] = METHODS,
) -> NetworkResult:
    """Train PI-ELM and LDA-ELM on the same input weights at every hidden size, and test them.

    Parameters
    ----------
    sizes : hidden sizes, ascending: one network of the largest size gives them all
    methods : which of `METHODS` to test; what only the others need is not computed
    """
    if not set(methods) <= set(METHODS):
        raise ValueError(f"methods are {tuple(methods)}: expected some of {METHODS}")
    sizes = tuple(sizes)
    settings = settings or NetworkSettings()
    resources = resources or Resources()
    before = copy.deepcopy(rng)
    watch = Stopwatch()
    with threadpool_limits(resources.threads, user_api="blas"):
        start = time.perf_counter()
        scores = None
        with suppress(LostPrecisionError):
            scores = _train_and_score(dataset, rng, sizes, settings, resources, methods, watch)
        if scores is None:
            _require_room_for_double(dataset, sizes, resources)
            settings = settings.in_double()
            scores = _train_and_score(dataset, before, sizes, settings, resources, methods, watch)
        result = _count(dataset, sizes, scores, settings.precision, methods, watch)
        seconds = time.perf_counter() - start
    return replace(result, part_seconds=dict(watch.parts), seconds=seconds)


def accumulate_block(job: RowBlockJob) -> Statistics:
    """Statistics of the job's block of training samples alone, in this process."""
    dataset = load_job_data(job.dataset)
    n_train = len(dataset.train.labels)
    rows = slice(*(n_train * i // job.n_blocks for i in (job.block, job.block + 1)))
    with threadpool_limits(job.resources.threads, user_api="blas"):
        return accumulate_statistics(
            draw_layer(dataset, job_generator(job), job.sizes[-1], job.settings, job.resources),
            dataset.train.inputs[rows],
            dataset.train.labels[rows],
            dataset.n_classes,
            job.resources.chunk,
        )


def finish_job(job: NetworkJob, statistics: Statistics) -> NetworkResult:
    """Solve and test the job's network, whose statistics are there, in this process."""
    dataset, watch = load_job_data(job.dataset), Stopwatch()
    with threadpool_limits(job.resources.threads, user_api="blas"):
        start = time.perf_counter()
        layer = draw_layer(dataset, job_generator(job), job.sizes[-1], job.settings, job.resources)
        pi = solve_pi(statistics, job.sizes, job.settings.ridge, watch)
        scores = _score(dataset, layer, pi, job.settings, job.resources, METHODS, watch)
        result = _count(dataset, job.sizes, scores, job.settings.precision, METHODS, watch)
        seconds = time.perf_counter() - start
    return replace(result, part_seconds=dict(watch.parts), seconds=seconds)


def _count(
    dataset: Dataset,
    sizes: tuple[int, ...],
    scores: dict[str, FloatArray],
    precision: str,
    methods: Collection[str],
    watch: Stopwatch,
) -> NetworkResult:
    """What is kept of the scores; its times are the caller's matter."""
    labels = dataset.test.labels
    with watch.part("test"):
        errors = {method: tuple(count_errors(scores[method], labels).tolist()) for method in methods}
    lda_scores = scores["lda"][:, -1] if "lda" in methods else np.empty((0, dataset.n_classes))
    return NetworkResult(
        sizes,
        errors.get("pi", ()),
        errors.get("pi_constant", ()),
        errors.get("lda", ()),
        n_test=len(labels),
        posteriors=round_posteriors(posteriors(lda_scores)),
        precision=precision,
        part_seconds={},
        seconds=0.0,
    )


def _train_and_score(
    dataset: Dataset,
    rng: np.random.Generator,
    sizes: tuple[int, ...],
    settings: NetworkSettings,
    resources: Resources,
    methods: Collection[str],
    watch: Stopwatch,
) -> dict[str, FloatArray]:
    """Each method's scores of the test samples: n_test × n_sizes × n_classes."""
    with watch.part("projection"):
        layer = draw_layer(dataset, rng, sizes[-1], settings, resources)
    train = dataset.train
    statistics = accumulate_statistics(
        layer, train.inputs, train.labels, dataset.n_classes, resources.chunk, watch
    )
    pi = solve_pi(statistics, sizes, settings.ridge, watch)
    del statistics
    return _score(dataset, layer, pi, settings, resources, methods, watch)


def _require_room_for_double(dataset: Dataset, sizes: tuple[int, ...], resources: Resources) -> None:
    """Refuse what was asked for in less memory than it turns out to take."""
    available = available_memory()
    if available is None:
        return
    inputs = dataset.train.nbytes + dataset.test.nbytes
    needed = predict_peak_bytes(Problem.of(dataset, sizes), resources.chunk, 8, inputs)
    free = available + held_memory()
    if needed > free:
        raise ElmldaError(
            f"float32 is not enough for {sizes[-1]:,} hidden units here, and in double precision they "
            f"need {needed / 1e9:.2f} GB of memory, {free / 1e9:.2f} GB are free. "
            "Use a larger --ridge, fewer hidden units or a smaller --chunk; what was recorded is safe."
        )


def draw_layer(
    dataset: Dataset,
    rng: np.random.Generator,
    n_hidden: int,
    settings: NetworkSettings,
    resources: Resources,
) -> HiddenLayer:
    """The hidden layer of a network for this data set."""
    dtype = HIDDEN_DTYPES[settings.precision]
    return HiddenLayer(
        draw_weights(rng, dataset.input_space, n_hidden, settings, dtype),
        settings.activation,
        dataset.input_scale if settings.input_scale is None else settings.input_scale,
        resources.threads,
    )


def _score(
    dataset: Dataset,
    layer: HiddenLayer,
    pi: PiOutputs,
    settings: NetworkSettings,
    resources: Resources,
    methods: Collection[str],
    watch: Stopwatch,
) -> dict[str, FloatArray]:
    """Each method's scores of the test samples, from PI's weights."""
    if "lda" in methods:
        with watch.part("lda"):
            lda = derive_lda(pi, resolve_priors(settings.priors, pi.class_counts))
    with watch.part("test"):
        scores = {"pi": score_pi(layer, pi, dataset.test.inputs, resources.chunk)}
        if "pi_constant" in methods:
            scores["pi_constant"] = pi.add_constant_unit(scores["pi"])
    if "lda" in methods:
        with watch.part("lda"):
            scores["lda"] = lda.scores(scores["pi"])
    return scores


def accumulate_statistics(
    layer: HiddenLayer,
    inputs: Rows,
    labels: IntArray,
    n_classes: int,
    chunk: int,
    watch: Stopwatch | None = None,
) -> Statistics:
    """Statistics of the training data, from `chunk` samples at a time."""
    watch = watch or Stopwatch()
    with watch.part("gram"):
        statistics = Statistics.zeros(layer.n_hidden, n_classes, layer.dtype.type)
    add_samples(statistics, layer, inputs, labels, chunk, watch)
    return statistics


def add_samples(
    statistics: Statistics,
    layer: HiddenLayer,
    inputs: Rows,
    labels: IntArray,
    chunk: int,
    watch: Stopwatch | None = None,
) -> None:
    """Add samples to the statistics, holding the hidden outputs of `chunk` at a time."""
    watch = watch or Stopwatch()
    with watch.part("gram"):
        buffer = np.empty((min(chunk, len(inputs)), layer.n_hidden), layer.dtype)
    for start in range(0, len(inputs), chunk):
        batch = inputs[start : start + chunk]
        hidden = buffer[: len(batch)]
        # What overflows ends in a Gram matrix that is not finite, which the solution refuses.
        with np.errstate(over="ignore", invalid="ignore"):
            with watch.part("projection"):
                layer.project(batch, hidden)
            with watch.part("activation"):
                layer.activate(hidden)
            with watch.part("gram"):
                statistics.add(hidden, labels[start : start + chunk])


def score_pi(layer: HiddenLayer, pi: PiOutputs, inputs: Rows, chunk: int) -> FloatArray:
    """PI's scores of every sample and size: n_samples × n_sizes × n_classes.

    Raises
    ------
    ElmldaError
        If a score is not finite: which class is highest would be a matter of chance.
    """
    starts = range(0, len(inputs), chunk)
    with np.errstate(over="ignore", invalid="ignore"):
        scores = np.concatenate([pi.scores(layer.outputs(inputs[i : i + chunk])) for i in starts])
    if layer.dtype == np.float32 and not np.isfinite(scores).all():
        raise LostPrecisionError("hidden outputs too large for float32. Use --precision double.")
    require_finite_scores(scores)
    return scores


def resolve_priors(priors: str, class_counts: IntArray) -> FloatArray:
    """Prior probabilities π of the classes, as settings name them."""
    n_classes = len(class_counts)
    if priors == "uniform":
        return np.full(n_classes, 1 / n_classes)
    if priors == "frequencies":
        return np.asarray(class_counts / class_counts.sum())
    values = parse_priors(priors)
    if len(values) != n_classes:
        raise ElmldaError(f"{len(values)} priors given, {n_classes} classes in the data.")
    return np.array(values)
