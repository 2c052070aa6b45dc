"""How close a network comes to what the processor can do at all."""

from __future__ import annotations

import time
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from threadpoolctl import threadpool_limits

from elmlda.cost import Problem, count_operations, measure_matmul_speed
from elmlda.datasets import Dataset
from elmlda.network import HIDDEN_DTYPES, run_network
from elmlda.settings import NetworkSettings, Resources

PRODUCT_SIZE = 4096
PRODUCT_SECONDS = 3.0


@dataclass(frozen=True)
class BenchmarkResult:
    """One network's time, and the time of its bare floating-point operations."""

    seconds: float
    limit_seconds: float
    hidden_speed: float
    """Operations a second of matrix products in the hidden layer's precision."""
    solver_speed: float
    """The same in float64."""
    part_seconds: dict[str, float]


def run_benchmark(
    dataset: Dataset,
    sizes: tuple[int, ...],
    seed: int,
    settings: NetworkSettings,
    resources: Resources,
    problem: Problem,
) -> BenchmarkResult:
    """Time a network between two measurements of the matrix products' speed."""
    speeds = [_measure_speeds(settings, resources.threads)]
    start = time.perf_counter()
    result = run_network(dataset, np.random.default_rng(seed), sizes, settings, resources)
    seconds = time.perf_counter() - start
    speeds.append(_measure_speeds(settings, resources.threads))
    hidden_speed, solver_speed = (fmean(measured) for measured in zip(*speeds, strict=True))
    limit = count_operations(problem).seconds(hidden_speed, solver_speed)
    return BenchmarkResult(seconds, limit, hidden_speed, solver_speed, result.part_seconds)


def _measure_speeds(settings: NetworkSettings, threads: int) -> tuple[float, float]:
    with threadpool_limits(threads, user_api="blas"):
        hidden, solver = (
            measure_matmul_speed(HIDDEN_DTYPES[precision], PRODUCT_SIZE, PRODUCT_SECONDS)
            for precision in (settings.precision, "double")
        )
    return hidden, solver
