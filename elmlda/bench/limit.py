"""The machine's limit: one network's time beside that of its bare floating-point operations."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from elmlda.datasets import Dataset
from elmlda.machine import measure_peak_bytes
from elmlda.networks.cost import Problem, count_operations, measure_matmul_speed
from elmlda.networks.steps import HIDDEN_DTYPES
from elmlda.networks.train import NetworkResult, run_network
from elmlda.settings import NetworkSettings, Resources

PRODUCT_SIZE = 4096
PRODUCT_SECONDS = 3.0


@dataclass(frozen=True)
class TimedNetwork:
    """One network's time, and the time of its bare floating-point operations."""

    network: NetworkResult
    seconds: float
    limit_seconds: float
    hidden_speed: float
    """Operations a second of matrix products in the hidden layer's precision."""
    solver_speed: float
    """The same in float64."""
    peak_bytes: int
    """Of this process, up to the end of the network."""


def time_network(
    dataset: Dataset, sizes: tuple[int, ...], seed: int, settings: NetworkSettings, resources: Resources
) -> TimedNetwork:
    """Time a network between two measurements of matrix products' speed; the faster is the limit."""
    speeds = [_measure_speeds(settings, resources.threads)]
    start = time.perf_counter()
    network = run_network(dataset, np.random.default_rng(seed), sizes, settings, resources)
    seconds = time.perf_counter() - start
    peak = measure_peak_bytes()
    speeds.append(_measure_speeds(settings, resources.threads))
    hidden_speed, solver_speed = (max(measured) for measured in zip(*speeds, strict=True))
    limit = count_operations(Problem.of(dataset, sizes)).seconds(hidden_speed, solver_speed)
    return TimedNetwork(network, seconds, limit, hidden_speed, solver_speed, peak)


def _measure_speeds(settings: NetworkSettings, threads: int) -> tuple[float, float]:
    with threadpool_limits(threads, user_api="blas"):
        hidden, solver = (
            measure_matmul_speed(HIDDEN_DTYPES[precision], PRODUCT_SIZE, PRODUCT_SECONDS)
            for precision in (settings.precision, "double")
        )
    return hidden, solver
