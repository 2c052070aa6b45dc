"""Networks as jobs of worker processes, which load the data themselves."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from elmlda.core.arrays import FloatArray
from elmlda.core.statistics import Statistics
from elmlda.datasets import Dataset, Table, load_dataset, load_source
from elmlda.errors import ElmldaError
from elmlda.networks.model import Network, Recipe, fit_network
from elmlda.networks.steps import accumulate_statistics, draw_layer
from elmlda.networks.train import METHODS, NetworkResult, finish_network, run_network
from elmlda.settings import DatasetRef, NetworkJob, Resources, RowBlockJob

Data = TypeVar("Data", Dataset, Dataset | Table)

_kept: dict[Callable[..., Any], tuple[DatasetRef, Any]] = {}
"""Loader -> the data that this process has loaded last, and the reference that expects them."""


def load_job_data(ref: DatasetRef) -> Dataset:
    """The data of this process's jobs, divided into a training and a test part."""
    return _load_once(load_dataset, ref)


def load_job_source(ref: DatasetRef) -> Dataset | Table:
    """The data of this process's jobs as they are stored."""
    return _load_once(load_source, ref)


def _load_once(load: Callable[..., Data], ref: DatasetRef) -> Data:
    """Load data, unless the last that were loaded have the checksums that the job expects."""
    if ref.checksums and load in _kept and _kept[load][0] == ref:
        data: Data = _kept[load][1]
        return data
    _kept.pop(load, None)  # first, so that there are never two in memory
    data = load(ref.name, ref.data_dir, ref.label, ref.drop)
    expected = dict(ref.checksums)
    if expected and data.checksums != expected:
        parts = [name for name in expected if data.checksums.get(name) != expected[name]]
        raise ElmldaError(
            f"the data set {data.name} is not the one that the run started with: other content in "
            f"{', '.join(parts)}.",
            "Restore it and run the same command again.",
        )
    _kept[load] = ref.expecting(data.checksums), data
    return data


def run_job(
    job: NetworkJob, methods: Collection[str] = METHODS, *, direct: bool = False
) -> NetworkResult:
    """Train and test the job's network, in this process."""
    dataset, rng = load_job_data(job.dataset), job_generator(job)
    return run_network(dataset, rng, job.sizes, job.settings, job.resources, methods, direct=direct)


def job_generator(job: NetworkJob) -> np.random.Generator:
    """The network's own random generator, at its start."""
    return np.random.default_rng(np.random.SeedSequence(job.seed, spawn_key=job.key))


def accumulate_block(job: RowBlockJob) -> Statistics:
    """Statistics of the job's block of training samples alone, in this process."""
    dataset = load_job_data(job.dataset)
    n_train = len(dataset.train.labels)
    rows = slice(*(n_train * i // job.n_blocks for i in (job.block, job.block + 1)))
    inputs, labels = dataset.train.inputs[rows], dataset.train.labels[rows]
    with threadpool_limits(job.resources.threads, user_api="blas"):
        layer = draw_layer(dataset, job_generator(job), job.sizes[-1], job.settings, job.resources)
        return accumulate_statistics(layer, inputs, labels, dataset.n_classes, job.resources.chunk)


def finish_job(job: NetworkJob, statistics: Statistics) -> NetworkResult:
    """Solve and test the job's network from its statistics, in this process."""
    dataset, rng = load_job_data(job.dataset), job_generator(job)
    return finish_network(dataset, rng, statistics, job.sizes, job.settings, job.resources)


@dataclass(frozen=True, eq=False)
class TrainingJob:
    """A network for use, to be trained on a data set: all that a worker needs to know."""

    dataset: DatasetRef
    recipe: Recipe
    ridge: float | None
    priors: FloatArray | None
    resources: Resources


def run_training(job: TrainingJob) -> Network:
    """Train the job's network, in this process."""
    data = load_job_data(job.dataset)
    given = job.ridge, job.priors, data.n_classes, job.resources.chunk
    with threadpool_limits(job.resources.threads, user_api="blas"):
        return fit_network(job.recipe, data.train.inputs, data.train.labels, *given)
