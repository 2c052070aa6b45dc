"""The machine's limit: one network's time beside that of its bare floating-point operations."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from elmlda.datasets import Dataset
from elmlda.machine import measure_peak_bytes
from elmlda.networks.cost import Problem, Speeds, count_operations, measure_speeds
from elmlda.networks.train import NetworkResult, run_network
from elmlda.settings import NetworkSettings, Resources

PRODUCT_SIZE = 4096
PRODUCT_SECONDS = 3.0


@dataclass(frozen=True)
class TimedNetwork:
    """One network's time, and the time of its bare floating-point operations."""

    precision: str
    """That was asked for; the network's is double where float32 was not enough."""
    network: NetworkResult
    seconds: float
    limit_seconds: float
    speeds: Speeds
    peak_bytes: int
    """Of this process, up to the end of the network."""


def time_network(
    dataset: Dataset, sizes: tuple[int, ...], seed: int, settings: NetworkSettings, resources: Resources
) -> TimedNetwork:
    """Time a network between two measurements of matrix products' speed; the faster is the limit."""
    measured = [_measure_speeds(settings, resources.threads)]
    start = time.perf_counter()
    network = run_network(dataset, np.random.default_rng(seed), sizes, settings, resources)
    seconds = time.perf_counter() - start
    peak = measure_peak_bytes()
    measured.append(_measure_speeds(settings, resources.threads))
    speeds = Speeds(*map(max, *measured))
    limit = count_operations(Problem.of(dataset, sizes)).seconds(speeds)
    return TimedNetwork(settings.precision, network, seconds, limit, speeds, peak)


def _measure_speeds(settings: NetworkSettings, threads: int) -> Speeds:
    with threadpool_limits(threads, user_api="blas"):
        return measure_speeds(settings.precision, PRODUCT_SIZE, PRODUCT_SECONDS)
