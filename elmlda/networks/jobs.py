"""A network as a job: what a worker process does with it, on data that it loads by itself."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import wraps
from typing import TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from elmlda.core.statistics import Statistics
from elmlda.datasets import Dataset, Table, load_dataset, load_source
from elmlda.errors import ElmldaError
from elmlda.networks.steps import accumulate_statistics, draw_layer
from elmlda.networks.train import (
    METHODS,
    NetworkResult,
    Readout,
    count_result,
    finish_network,
    run_network,
)
from elmlda.settings import DatasetRef, NetworkJob, RowBlockJob

Data = TypeVar("Data", Dataset, Dataset | Table)


def keep_expected(load: Callable[[DatasetRef], Data]) -> Callable[[DatasetRef], Data]:
    """Load the data of a process's jobs once, and anew when a job expects others.

    Data are kept as long as jobs expect their checksums. A reference without checksums is loaded
    anew every time.
    """
    kept: dict[DatasetRef, Data] = {}

    @wraps(load)
    def load_or_reuse(ref: DatasetRef) -> Data:
        if not ref.checksums or ref not in kept:
            kept.clear()  # first, so that there are never two in memory
            data = load(ref)
            _require_expected(ref, data)
            kept[ref.expecting(data.checksums)] = data
            return data
        return kept[ref]

    return load_or_reuse


def _require_expected(ref: DatasetRef, data: Dataset | Table) -> None:
    expected = dict(ref.checksums)
    if expected and data.checksums != expected:
        parts = [name for name in expected if data.checksums.get(name) != expected[name]]
        raise ElmldaError(
            f"the data set {data.name} is not the one that the run started with: other content in "
            f"{', '.join(parts)}.",
            "Restore it and run the same command again.",
        )


@keep_expected
def load_job_data(ref: DatasetRef) -> Dataset:
    """The data of this process's jobs, divided into a training and a test part."""
    return load_dataset(ref.name, ref.data_dir, ref.label, ref.drop)


@keep_expected
def load_job_source(ref: DatasetRef) -> Dataset | Table:
    """The data of this process's jobs as they are stored."""
    return load_source(ref.name, ref.data_dir, ref.label, ref.drop)


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
    dataset, readout = load_job_data(job.dataset), Readout(job.sizes, job.settings.ridge)
    trained = finish_network(
        dataset, job_generator(job), statistics, [readout], job.settings, job.resources
    )
    return count_result(dataset, trained)
