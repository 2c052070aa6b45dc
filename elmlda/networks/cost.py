"""What a network costs: memory, and the time its floating-point operations take here."""

from __future__ import annotations

import time
from bisect import bisect_right
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from threadpoolctl import threadpool_limits

from elmlda.core.blas import multiply
from elmlda.core.input_weights import UNITS_PER_DRAW
from elmlda.errors import ElmldaError
from elmlda.machine import available_memory, held_memory

CHUNK = 4000
"""Samples whose hidden outputs are held at a time: fewer take less memory and more time."""
HIDDEN_DTYPES: dict[str, type[np.floating]] = {"mixed": np.float32, "double": np.float64}
BASE_BYTES = 90_000_000
"""The interpreter with its libraries and BLAS's buffers."""
LARGE_BYTES = 32 << 20
"""Freed arrays of this size go back to the system at once, smaller ones may stay with the process:
the highest that glibc's threshold rises to."""
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
    """Whether a ridge is chosen from eigenvalues, at every size."""
    input_bytes: int = 0
    """Memory of the data."""

    @property
    def n_hidden(self) -> int:
        return self.sizes[-1]

    @property
    def itemsize(self) -> int:
        """Bytes of a hidden output."""
        return int(HIDDEN_DTYPES[self.precision]().itemsize)


def predict_peak_bytes(problem: Problem) -> int:
    """Peak memory of a process that computes such networks, its data included.

    It comes while statistics are accumulated (Gram matrix, a chunk of hidden outputs, of scaled
    inputs and of targets), while they are factorised (Gram matrix and its float64 factor, or its
    eigenvectors and a copy), while test samples are scored (a chunk of hidden outputs, those of one
    size after the other in float64), or when all scores are there (of both methods and of PI with a
    constant unit, with what makes them).
    """
    p, m, itemsize = problem, problem.n_hidden, problem.itemsize
    gram, factor = itemsize * m * m, 8 * m * m
    outputs, maps = (8 * p.n_classes**n * len(p.sizes) * p.n_ridges for n in (1, 2))
    draw = 8 * p.n_inputs * min(m, UNITS_PER_DRAW)
    rows = min(CHUNK, p.n_train)
    hidden, scaled = (itemsize * rows * n for n in (m, p.n_inputs))
    targets = (1 + itemsize) * rows * p.n_classes
    accumulating = gram + hidden + scaled + targets + _retained(draw)
    factors = 2 * factor if p.has_rule else factor
    factorising = gram + factors + outputs * m + maps + _retained(draw, hidden, scaled, targets)
    rows = min(CHUNK, p.n_test)
    hidden, scaled = (itemsize * rows * n for n in (m, p.n_inputs))
    widest = max(stop - start for start, stop in pairwise((0, *p.sizes)))
    converted = 0 if itemsize == 8 else 8 * rows * widest
    before = outputs * m + 5 * maps + _retained(gram, factor)
    testing = before + hidden + max(scaled, converted + _retained(scaled)) + outputs * p.n_test
    comparing = before + _retained(hidden, scaled, converted) + 5 * outputs * p.n_test
    weights = itemsize * m * p.n_inputs
    return BASE_BYTES + p.input_bytes + weights + max(accumulating, factorising, testing, comparing)


def _retained(*freed: int) -> int:
    """Memory of freed arrays that a process may keep."""
    return sum(n_bytes for n_bytes in freed if n_bytes < LARGE_BYTES)


def predict_total_bytes(problem: Problem, jobs: int) -> int:
    """Peak memory of networks side by side: the data are shared by all processes."""
    one = predict_peak_bytes(problem)
    return one if jobs == 1 else BASE_BYTES + problem.input_bytes + jobs * (one - problem.input_bytes)


def free_memory() -> int | None:
    """Bytes that a run may take: free memory, and the memory that this process has already."""
    available = available_memory()
    return None if available is None else available + held_memory()


def require_memory(problem: Problem, jobs: int = 1) -> None:
    """Refuse what takes more memory than is free, and say what would fit."""
    free, needed = free_memory(), predict_total_bytes(problem, jobs)
    if free is None or needed <= free:
        return

    def bytes_of(n_hidden: int) -> int:
        sizes = (*(size for size in problem.sizes if size < n_hidden), n_hidden)
        return predict_total_bytes(replace(problem, sizes=sizes), jobs)

    m, is_fanout = problem.n_hidden, problem.n_hidden % problem.n_inputs == 0
    unit = problem.n_inputs if is_fanout else 1
    largest = {
        "fanout" if is_fanout else "hidden": bisect_right(
            range(1, m // unit), free, key=lambda n: bytes_of(n * unit)
        ),
        "jobs": bisect_right(range(1, jobs), free, key=lambda n: predict_total_bytes(problem, n)),
    }
    fitting = {name: value for name, value in largest.items() if value}
    at_a_time = f" for {jobs} networks at a time" if jobs > 1 else ""
    raise ElmldaError(
        f"{m:,} hidden units need {needed / 1e9:.2f} GB of memory{at_a_time}, {free / 1e9:.2f} GB are "
        "free.",
        "At most {} would fit." if fitting else "Nothing smaller would fit: free some memory first.",
        **fitting,
    )


def require_memory_for_double(needed: int) -> None:
    """Refuse to go on in double precision if that takes more memory than is free."""
    free = free_memory()
    if free is not None and needed > free:
        raise ElmldaError(
            f"float32 is not enough here, and in double precision the network needs {needed / 1e9:.2f} "
            f"GB of memory, {free / 1e9:.2f} GB are free.",
            "Use a larger {ridge} or fewer hidden units; what was recorded is safe.",
            ridge=None,
        )


# Time


def count_operations(problem: Problem) -> tuple[float, float]:
    """Floating-point operations in the hidden layer's precision, and in float64.

    Of a nested network: all hidden sizes, both methods, trained and tested.
    """
    p, m = problem, float(problem.n_hidden)
    n_outputs = p.n_classes * len(p.sizes)
    hidden = 2 * (p.n_train + p.n_test) * p.n_inputs * m
    hidden += p.n_train * m * (m + 1) + 2 * p.n_train * m * p.n_classes
    scores = sum(
        2.0 * p.n_test * (stop - start) * (n_outputs - i * p.n_classes)
        for i, (start, stop) in enumerate(pairwise((0, *p.sizes)))
    )
    solver = p.n_ridges * (m**3 / 3 + m**2 * (p.n_classes + n_outputs) + scores)
    if p.has_rule:  # eigenvalues and eigenvectors at every size
        solver += sum(22.0 * size**3 for size in p.sizes)
    return hidden, solver


def estimate_seconds(problem: Problem, n_networks: int, jobs: int, threads: int) -> tuple[float, float]:
    """The least and the most time that so many networks take here, by matrix products just now."""
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
