"""One network from start to finish: random generator in, every hidden size's errors out."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from threadpoolctl import threadpool_limits

from elmlda.arrays import FloatArray, IntArray, RealArray
from elmlda.datasets import Dataset, load_dataset
from elmlda.errors import ElmldaError
from elmlda.evaluate import count_errors, posteriors, round_posteriors
from elmlda.hidden import HiddenLayer, draw_input_weights
from elmlda.settings import DatasetRef, NetworkJob, NetworkSettings, Resources, parse_priors
from elmlda.solve import LostPrecisionError, PiOutputs, derive_lda, solve_pi
from elmlda.statistics import Statistics
from elmlda.stopwatch import Stopwatch

HIDDEN_DTYPES: dict[str, type[np.floating]] = {"mixed": np.float32, "double": np.float64}


@dataclass(frozen=True)
class NetworkResult:
    """What is kept of a network: counts at each hidden size, and the largest size's posteriors."""

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

    @property
    def seconds(self) -> float:
        return sum(self.part_seconds.values())


def run_job(job: NetworkJob) -> NetworkResult:
    """Train and test the job's network, in this process."""
    rng = np.random.default_rng(np.random.SeedSequence(job.seed, spawn_key=job.key))
    return run_network(_dataset(job.dataset), rng, job.sizes, job.settings, job.resources)


@lru_cache(maxsize=1)
def _dataset(ref: DatasetRef) -> Dataset:
    return load_dataset(ref.name, ref.data_dir)


def run_network(
    dataset: Dataset,
    rng: np.random.Generator,
    sizes: Sequence[int],
    settings: NetworkSettings | None = None,
    resources: Resources | None = None,
) -> NetworkResult:
    """Train PI-ELM and LDA-ELM on the same input weights at every hidden size, and test them.

    Parameters
    ----------
    sizes : hidden sizes, ascending: one network of the largest size gives them all
    """
    settings = settings or NetworkSettings()
    resources = resources or Resources()
    before = copy.deepcopy(rng)
    with threadpool_limits(resources.threads, user_api="blas"):
        try:
            return _run(dataset, rng, tuple(sizes), settings, resources)
        except LostPrecisionError:
            double = replace(settings, precision="double")
            return _run(dataset, before, tuple(sizes), double, resources)


def _run(
    dataset: Dataset,
    rng: np.random.Generator,
    sizes: tuple[int, ...],
    settings: NetworkSettings,
    resources: Resources,
) -> NetworkResult:
    watch = Stopwatch()
    with watch.part("projection"):
        layer = HiddenLayer(
            draw_input_weights(
                rng,
                dataset.n_inputs,
                sizes[-1],
                settings.weight_range,
                HIDDEN_DTYPES[settings.precision],
            ),
            settings.activation,
            dataset.input_scale if settings.input_scale is None else settings.input_scale,
            resources.threads,
        )
    train, test = dataset.train, dataset.test
    statistics = accumulate_statistics(
        layer, train.inputs, train.labels, dataset.n_classes, resources.chunk, watch
    )
    with watch.part("factorisation"):
        pi = solve_pi(statistics, sizes, settings.ridge)
    del statistics
    with watch.part("solve"):
        lda = derive_lda(pi, resolve_priors(settings.priors, pi.class_counts))
    with watch.part("test"):
        pi_scores = score_pi(layer, pi, test.inputs, resources.chunk)
        lda_scores = lda.scores(pi_scores)
        pi_errors, pi_constant_errors, lda_errors = (
            tuple(count_errors(scores, test.labels).tolist())
            for scores in (pi_scores, pi.add_constant_unit(pi_scores), lda_scores)
        )
    return NetworkResult(
        sizes,
        pi_errors,
        pi_constant_errors,
        lda_errors,
        n_test=len(test.labels),
        posteriors=round_posteriors(posteriors(lda_scores[:, -1])),
        precision=settings.precision,
        part_seconds=dict(watch.parts),
    )


def accumulate_statistics(
    layer: HiddenLayer,
    inputs: RealArray,
    labels: IntArray,
    n_classes: int,
    chunk: int,
    watch: Stopwatch | None = None,
) -> Statistics:
    """Statistics of the training data, from `chunk` samples at a time."""
    watch = watch or Stopwatch()
    with watch.part("gram"):
        statistics = Statistics.zeros(layer.n_hidden, n_classes, layer.dtype.type)
        buffer = np.empty((min(chunk, len(inputs)), layer.n_hidden), layer.dtype)
    for start in range(0, len(inputs), chunk):
        batch = inputs[start : start + chunk]
        hidden = buffer[: len(batch)]
        with watch.part("projection"):
            layer.project(batch, hidden)
        with watch.part("activation"):
            layer.activate(hidden)
        with watch.part("gram"):
            statistics.add(hidden, labels[start : start + chunk])
    return statistics


def score_pi(layer: HiddenLayer, pi: PiOutputs, inputs: RealArray, chunk: int) -> FloatArray:
    """PI's scores of every sample and size: n_samples × n_sizes × n_classes."""
    starts = range(0, len(inputs), chunk)
    return np.concatenate([pi.scores(layer.outputs(inputs[i : i + chunk])) for i in starts])


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
