"""How cost grows with the hidden units: a law fitted to times, and nested networks to measure it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from elmlda.datasets import Dataset
from elmlda.execute.local import execute
from elmlda.machine import measure_peak_bytes
from elmlda.networks.cost import Problem, predict_peak_bytes
from elmlda.networks.jobs import load_job_data
from elmlda.networks.steps import HIDDEN_DTYPES
from elmlda.networks.train import run_network
from elmlda.settings import DatasetRef, NetworkJob, NetworkSettings, Resources

FEWEST_FITTED = 3
"""Fan-outs that the cost law, which has three coefficients, is fitted to."""


@dataclass(frozen=True)
class CostLaw:
    """Seconds of one network by its hidden size M: a·K·M² + b·M³ + c·K·M, K training samples."""

    n_train: int
    gram: float
    """a: hidden outputs times hidden outputs."""
    factorisation: float
    """b."""
    projection: float
    """c: hidden outputs, and what else is done with each of them."""

    def seconds(self, n_hidden: int) -> float:
        k, m = self.n_train, n_hidden
        return self.gram * k * m**2 + self.factorisation * m**3 + self.projection * k * m


def fit_law(n_train: int, sizes: Sequence[int], seconds: Sequence[float]) -> CostLaw:
    """Fit the cost law by least squares of relative errors; no coefficient is negative."""
    m = np.array(sizes, np.float64)
    terms = np.column_stack([n_train * m**2, m**3, n_train * m]) / np.array(seconds)[:, None]
    scale = terms.max(axis=0)
    coefficients, _ = nnls(terms / scale, np.ones(len(sizes)))
    gram, factorisation, projection = (coefficients / scale).tolist()
    return CostLaw(n_train, gram, factorisation, projection)


@dataclass(frozen=True)
class GrowthPoint:
    """Time and memory of one nested network of fan-outs 1 to `fanout`: a row of growth.csv."""

    fanout: int
    n_hidden: int
    seconds: float
    peak_bytes: int


def nested_sizes(n_inputs: int, fanout: int) -> tuple[int, ...]:
    """Hidden sizes of fan-outs 1 to `fanout`."""
    return tuple(n_inputs * f for f in range(1, fanout + 1))


def predict_growth(
    dataset: Dataset, fanouts: Iterable[int], settings: NetworkSettings, chunk: int
) -> list[int]:
    """Peak memory of the nested network of each largest fan-out, in bytes."""
    itemsize = HIDDEN_DTYPES[settings.precision]().itemsize
    problems = (Problem.of(dataset, nested_sizes(dataset.n_inputs, fanout)) for fanout in fanouts)
    return [predict_peak_bytes(problem, chunk, itemsize, dataset.nbytes) for problem in problems]


def run_growth(
    ref: DatasetRef,
    n_inputs: int,
    fanouts: Iterable[int],
    seed: int,
    settings: NetworkSettings,
    resources: Resources,
) -> Iterator[GrowthPoint]:
    """The nested network of each largest fan-out, in a process of its own, one after the other."""
    for fanout in fanouts:
        sizes = nested_sizes(n_inputs, fanout)
        job = NetworkJob(ref, seed, (), sizes, settings, resources)
        # More than one process is what makes `execute` start new ones.
        for _, (seconds, peak) in execute(_time_alone, [job], 2):
            yield GrowthPoint(fanout, sizes[-1], seconds, peak)


def _time_alone(job: NetworkJob) -> tuple[float, int]:
    """Seconds and peak memory of a network, in a process that has done nothing else."""
    dataset, rng = load_job_data(job.dataset), np.random.default_rng(job.seed)
    start = time.perf_counter()
    run_network(dataset, rng, job.sizes, job.settings, job.resources)
    return time.perf_counter() - start, measure_peak_bytes()
