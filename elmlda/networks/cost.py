"""What a network costs: memory, and the time its floating-point operations take here."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Self, TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from elmlda.core.blas import multiply
from elmlda.core.leave_one_out import MOST_DECOMPOSED, UNITS_PER_SOLVE
from elmlda.core.solve import LostPrecisionError
from elmlda.core.statistics import count_rows
from elmlda.datasets import Dataset
from elmlda.errors import ElmldaError
from elmlda.machine import available_memory, held_memory
from elmlda.settings import NetworkSettings

Result = TypeVar("Result")

CHUNK = 4000
"""Samples whose hidden outputs are held at a time: fewer take less memory and more time."""
HIDDEN_DTYPES: dict[str, type[np.floating]] = {"mixed": np.float32, "double": np.float64}
BASE_BYTES = 90_000_000
"""The interpreter with its libraries and BLAS's buffers."""
LARGE_BYTES = 32 << 20
"""Freed arrays up to this size may stay with the process: glibc's threshold rises no higher."""
NETWORK_SECONDS = 0.01
"""What a network takes beyond its floating-point operations: drawing, rows, writing to disk."""
SLOWEST = 2.5
"""A run takes up to this many times what matrix products take for the same operations."""


@dataclass(frozen=True)
class Problem:
    """What the cost of a network depends on."""

    n_train: int
    n_test: int
    n_inputs: int
    n_classes: int
    sizes: tuple[int, ...]
    precision: str = "mixed"
    n_ridges: int = 1
    """Each has a factorisation of its own."""
    has_rule: bool = False
    """Whether a ridge is chosen by leaving one out, at every size."""
    leaves_out: bool = False
    """Whether a sample of the hidden outputs is held, to leave one out."""
    input_bytes: int = 0
    """Memory of the data."""

    @classmethod
    def for_dataset(
        cls,
        data: Dataset,
        sizes: Sequence[int],
        precision: str,
        ridges: Sequence[float | str],
        temperature: float | str = 1.0,
    ) -> Self:
        """A network that is trained and tested on this data set."""
        assert data.test is not None
        shape = len(data.train.labels), len(data.test.labels), data.n_inputs, data.n_classes
        has_rule = "loo" in ridges
        rules = len(ridges), has_rule, has_rule or temperature == "loo"
        return cls(*shape, tuple(sizes), precision, *rules, data.nbytes)

    @property
    def n_hidden(self) -> int:
        return self.sizes[-1]

    @property
    def n_left_out(self) -> int:
        """Training samples that are held to be left out."""
        return min(self.n_train, count_rows(self.n_hidden)) if self.leaves_out else 0

    @property
    def itemsize(self) -> int:
        """Bytes of a hidden output."""
        return int(HIDDEN_DTYPES[self.precision]().itemsize)


def predict_peak_bytes(problem: Problem, jobs: int = 1) -> int:
    """Peak memory of networks side by side, in as many processes, which share the data.

    It comes while statistics are accumulated (Gram matrix and a chunk of hidden outputs), while they
    are factorised (Gram matrix and its float64 factor, or its eigenvectors and a copy), or when all
    scores are there (of both methods and of PI with a constant unit, with what makes them). Samples to
    be left out are held until then, and copied, or projected twice on the eigenvectors.
    """
    p, m = problem, problem.n_hidden
    is_decomposed = p.has_rule and m <= MOST_DECOMPOSED
    copied = p.itemsize * (p.n_left_out + min(m, UNITS_PER_SOLVE)) if p.n_left_out else 0
    if p.has_rule:
        copied = max(copied, 8 * p.n_left_out)
    gram = p.itemsize * m * (m + p.n_left_out)
    factor = 16 * m * (m + p.n_left_out) if is_decomposed else m * (8 * m + copied)
    chunk = p.itemsize * min(CHUNK, p.n_train) * (m + p.n_inputs)
    kept_chunk = min(chunk, LARGE_BYTES)  # a process may keep it after it was freed
    outputs = 8 * p.n_classes * len(p.sizes) * p.n_ridges
    weights = p.itemsize * m * p.n_inputs + outputs * m
    peak = max(gram + chunk, gram + factor + kept_chunk, kept_chunk + 5 * outputs * p.n_test)
    one = BASE_BYTES + weights + peak
    return p.input_bytes + (one if jobs == 1 else BASE_BYTES + jobs * one)


def free_memory() -> int | None:
    """Bytes that a run may take: free memory, and the memory that this process has already."""
    available = available_memory()
    return None if available is None else available + held_memory()


def require_memory(problem: Problem, jobs: int = 1) -> None:
    """Refuse what takes more memory than is free, and say what would fit."""
    free, needed = free_memory(), predict_peak_bytes(problem, jobs)
    if free is None or needed <= free:
        return
    m, is_fanout = problem.n_hidden, problem.n_hidden % problem.n_inputs == 0
    name, unit = ("fanout", problem.n_inputs) if is_fanout else ("hidden", 1)

    def bytes_of(n_units: int) -> int:
        largest = n_units * unit
        sizes = (*(size for size in problem.sizes if size < largest), largest)
        return predict_peak_bytes(replace(problem, sizes=sizes), jobs)

    largest = {
        name: bisect_right(range(1, m // unit), free, key=bytes_of),
        "jobs": bisect_right(range(1, jobs), free, key=lambda n: predict_peak_bytes(problem, n)),
    }
    fitting = {name: value for name, value in largest.items() if value}
    at_a_time = f" for {jobs} networks at a time" if jobs > 1 else ""
    raise ElmldaError(
        f"{m:,} hidden units need {needed / 1e9:.2f} GB of memory{at_a_time}, {free / 1e9:.2f} GB are "
        "free.",
        "At most {} would fit." if fitting else "Nothing smaller would fit: free some memory first.",
        **fitting,
    )


def in_enough_precision(
    train: Callable[[NetworkSettings], Result], settings: NetworkSettings, double_bytes: int
) -> Result:
    """Train a network, and again in double precision where float32 was not enough.

    It takes `double_bytes` of memory then, and is refused if they are not free.
    """
    with suppress(LostPrecisionError):
        return train(settings)
    free = free_memory()
    if free is not None and double_bytes > free:
        raise ElmldaError(
            "float32 is not enough here, and in double precision the network needs "
            f"{double_bytes / 1e9:.2f} GB of memory, {free / 1e9:.2f} GB are free.",
            "Use a larger {ridge} or fewer hidden units; what was recorded is safe.",
            ridge=None,
        )
    return train(settings.in_double())


# Time


def count_operations(problem: Problem) -> tuple[float, float]:
    """Floating-point operations in the hidden layer's precision, and in float64.

    Of a nested network: all hidden sizes, both methods, trained and tested.
    """
    p, m, n_sizes = problem, float(problem.n_hidden), len(problem.sizes)
    hidden = 2 * (p.n_train + p.n_test) * p.n_inputs * m
    hidden += p.n_train * m * (m + 1) + 2 * p.n_train * m * p.n_classes
    # A size's weights take those units alone: on average half of them all.
    scores = p.n_test * m * p.n_classes * (n_sizes + 1)
    solver = p.n_ridges * (m**3 / 3 + m**2 * p.n_classes * (1 + n_sizes) + scores)
    solver += p.n_left_out * m**2  # leverages
    if p.has_rule:  # at every size, eigenvalues and eigenvectors, or some seven factorisations
        small, large = (
            [n for n in p.sizes if (n > MOST_DECOMPOSED) == is_large] for is_large in (0, 1)
        )
        solver += sum(22.0 * size**3 for size in small)
        solver += sum(7 * (size**3 / 3 + p.n_left_out * size**2) for size in large)
    return hidden, solver


def estimate_seconds(problem: Problem, n_networks: int, jobs: int, threads: int) -> tuple[float, float]:
    """The least and the most time that `n_networks` take here, by matrix products just now."""
    if not n_networks:
        return 0.0, 0.0
    with threadpool_limits(threads, user_api="blas"):
        speeds = [measure_speed(HIDDEN_DTYPES[name]) for name in (problem.precision, "double")]
    one = sum(n / speed for n, speed in zip(count_operations(problem), speeds, strict=True))
    rounds = -(-n_networks // jobs)
    return rounds * (one + NETWORK_SECONDS), rounds * (SLOWEST * one + 10 * NETWORK_SECONDS)


def measure_speed(dtype: type[np.floating], n: int = 1024, seconds: float = 0.1) -> float:
    """Operations a second of BLAS's n × n matrix products, the first not counted."""
    a = np.full((n, n), 0.5, dtype)
    out = np.empty_like(a)
    multiply(a, a, out)
    n_calls, start = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - start) < seconds or not n_calls:
        multiply(a, a, out)
        n_calls += 1
    return 2.0 * n**3 * n_calls / elapsed
