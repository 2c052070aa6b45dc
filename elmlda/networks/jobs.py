"""A network as a job: what a worker process does with it."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache

import numpy as np
from threadpoolctl import threadpool_limits

from elmlda.core.statistics import Statistics
from elmlda.datasets import Dataset, load_dataset
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


def run_job(
    job: NetworkJob, methods: Collection[str] = METHODS, *, direct: bool = False
) -> NetworkResult:
    """Train and test the job's network, in this process."""
    dataset, rng = load_job_data(job.dataset), job_generator(job)
    return run_network(dataset, rng, job.sizes, job.settings, job.resources, methods, direct=direct)


def job_generator(job: NetworkJob) -> np.random.Generator:
    """The network's own random generator, at its start."""
    return np.random.default_rng(np.random.SeedSequence(job.seed, spawn_key=job.key))


@lru_cache(maxsize=1)
def load_job_data(ref: DatasetRef) -> Dataset:
    """Load the data of a process's jobs, which keeps them."""
    return load_dataset(ref.name, ref.data_dir, ref.label)


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
