"""What a network costs: floating-point operations, the time they take here, and memory."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np

from elmlda.core.bfloat16 import Mkl, add_product
from elmlda.core.blas import multiply
from elmlda.core.input_weights import UNITS_PER_DRAW
from elmlda.datasets import Dataset
from elmlda.errors import ElmldaError
from elmlda.machine import available_memory, count_blas_threads, held_memory
from elmlda.networks.steps import HIDDEN_DTYPES, find_multiplier

BASE_BYTES = 76_000_000
"""The interpreter with its libraries and BLAS's buffers."""
SHARED_BYTES = 30_000_000
"""Of those, the files of libraries, which processes side by side have only once."""
HELPER_BYTES = 13_000_000
"""The process that Python starts beside worker processes."""
LARGE_BYTES = 32 << 20
"""Freed arrays of this size go back to the system at once, smaller ones may stay with the process:
the highest that glibc's threshold rises to."""
CHUNK_STEP = 500
"""Of the smaller chunks that are advised: the smallest is not much slower."""

PeakBytes: TypeAlias = Callable[[int, int, int], int]
"""Memory for so many hidden units, samples in a chunk and networks side by side."""


@dataclass(frozen=True)
class Problem:
    """What a network's cost depends on."""

    n_train: int
    n_test: int
    n_inputs: int
    n_classes: int
    sizes: tuple[int, ...]
    n_ridges: int = 1
    """Each has a factorisation of its own."""
    in_double: bool = False
    """Whether it is computed in double precision, whatever the run's."""

    @classmethod
    def of(cls, dataset: Dataset, sizes: tuple[int, ...]) -> Problem:
        counts = len(dataset.train.labels), len(dataset.test.labels)
        return cls(*counts, dataset.n_inputs, dataset.n_classes, sizes)

    @property
    def n_hidden(self) -> int:
        return self.sizes[-1]


class Speeds(NamedTuple):
    """Operations a second of this machine's matrix products, for each of `Operations`."""

    hidden: float
    gram: float
    """As hidden, or more where matrix units multiply bfloat16."""
    solver: float


class Operations(NamedTuple):
    """Floating-point operations in the hidden layer's precision, and in the solver's (float64)."""

    hidden: float
    """All but the Gram matrix."""
    gram: float
    solver: float

    @property
    def total(self) -> float:
        return sum(self)

    def seconds(self, speeds: Speeds) -> float:
        """Time that they take at these speeds."""
        return sum(n / speed for n, speed in zip(self, speeds, strict=True))


def count_operations(problem: Problem) -> Operations:
    """Operations of a nested network: all hidden sizes, both methods, trained and tested."""
    p, m = problem, float(problem.n_hidden)
    n_outputs = p.n_classes * len(p.sizes)
    projection = 2 * (p.n_train + p.n_test) * p.n_inputs * m
    gram = p.n_train * m * (m + 1)
    class_sums = 2 * p.n_train * m * p.n_classes
    factorisation = m**3 / 3
    solves = m**2 * (p.n_classes + n_outputs)
    scores = sum(
        2.0 * p.n_test * (stop - start) * (n_outputs - i * p.n_classes)
        for i, (start, stop) in enumerate(pairwise((0, *p.sizes)))
    )
    solver = p.n_ridges * (factorisation + solves + scores)
    return Operations(projection + class_sums, gram, solver)


def measure_speeds(precision: str, n: int = 2048, seconds: float = 0.5) -> Speeds:
    """Speeds of n × n products for a network of that precision, with BLAS's present threads."""
    hidden, solver = (
        measure_matmul_speed(HIDDEN_DTYPES[name], n, seconds) for name in (precision, "double")
    )
    multiplier = find_multiplier(precision)
    if multiplier is None or multiplier.mkl is None:
        return Speeds(hidden, hidden, solver)
    units = measure_bfloat16_speed(multiplier.mkl, count_blas_threads(), n, seconds)
    return Speeds(hidden, units, solver)


def measure_matmul_speed(dtype: type[np.floating], n: int, seconds: float) -> float:
    """Operations a second of BLAS's n × n matrix products."""
    a = np.full((n, n), 0.5, dtype)
    out = np.empty_like(a)
    return 2.0 * n**3 * _count_calls(lambda: multiply(a, a, out), seconds)


def measure_bfloat16_speed(mkl: Mkl, threads: int, n: int, seconds: float) -> float:
    """The same of matrix units, a product in each thread."""
    a = np.full((n, n), 0x3F00, np.uint16, order="F")  # the bits of 0.5
    outs = [np.zeros((n, n), np.float32, order="F") for _ in range(threads)]
    with ThreadPoolExecutor(threads) as pool:

        def multiply_all() -> None:
            list(pool.map(lambda out: add_product(a, a, out, mkl), outs))

        return 2.0 * n**3 * threads * _count_calls(multiply_all, seconds)


def _count_calls(work: Callable[[], object], seconds: float) -> float:
    """Calls a second, the first not counted."""
    work()
    n_calls, start = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - start) < seconds or not n_calls:
        work()
        n_calls += 1
    return n_calls / elapsed


def predict_peak_bytes(problem: Problem, chunk: int, hidden_itemsize: int, input_bytes: int) -> int:
    """Peak memory of a process that computes networks, its data included.

    It comes while statistics are accumulated (Gram matrix, a chunk of hidden outputs, of scaled
    inputs and of targets), while they are factorised (Gram matrix and its float64 factor), while LDA's
    maps between classes are made, while test samples are scored (a chunk of hidden outputs, those of
    one size after the other in float64), or when all scores are there (of both methods and of PI with
    a constant unit, with what makes them).
    """
    p, m = problem, problem.n_hidden
    gram, factor = hidden_itemsize * m * m, 8 * m * m
    outputs, maps = 8 * p.n_classes * len(p.sizes), 8 * p.n_classes**2 * len(p.sizes)
    draw = 8 * p.n_inputs * min(m, UNITS_PER_DRAW)
    hidden, scaled = (hidden_itemsize * min(chunk, p.n_train) * n for n in (m, p.n_inputs))
    targets = (1 + hidden_itemsize) * min(chunk, p.n_train) * p.n_classes
    accumulating = gram + hidden + scaled + targets + _retained(draw)
    factorising = gram + factor + outputs * m + maps + _retained(draw, hidden, scaled, targets)
    rows = min(chunk, p.n_test)
    hidden, scaled = (hidden_itemsize * rows * n for n in (m, p.n_inputs))
    widest = max(stop - start for start, stop in pairwise((0, *p.sizes)))
    converted = 0 if hidden_itemsize == 8 else 8 * rows * widest
    deriving = outputs * m + 5 * maps + _retained(gram, factor)
    before = outputs * m + 2 * maps + _retained(gram, factor)
    testing = before + hidden + max(scaled, converted + _retained(scaled)) + outputs * p.n_test
    comparing = before + _retained(hidden, scaled, converted) + 5 * outputs * p.n_test
    weights = hidden_itemsize * m * p.n_inputs
    phases = accumulating, factorising, deriving, testing, comparing
    return BASE_BYTES + input_bytes + weights + max(phases)


def predict_ridge_bytes(problem: Problem, hidden_itemsize: int, input_bytes: int) -> int:
    """Peak memory while a ridge is chosen: Gram matrix, its eigenvectors, and a copy of either."""
    p, m = problem, problem.n_hidden
    weights = hidden_itemsize * m * p.n_inputs
    return BASE_BYTES + input_bytes + weights + (hidden_itemsize + 16) * m * m


def predict_waiting_bytes(n_blocks: int, hidden_itemsize: int, n_hidden: int) -> int:
    """Partial Gram matrices of so many blocks of rows that wait for another to be merged with."""
    return (n_blocks - 1).bit_length() * hidden_itemsize * n_hidden**2


def predict_total_bytes(one: int, input_bytes: int, n_processes: int) -> int:
    """Peak memory of so many processes that take `one` each, and of the one that started them."""
    if n_processes == 1:
        return one
    starter = BASE_BYTES + input_bytes + HELPER_BYTES
    return starter + n_processes * (one - SHARED_BYTES)


def _retained(*freed: int) -> int:
    """Memory of freed arrays that a process may keep."""
    return sum(n_bytes for n_bytes in freed if n_bytes < LARGE_BYTES)


def free_memory() -> int | None:
    """Bytes that a run may take: free memory, and the memory that this process has already."""
    available = available_memory()
    return None if available is None else available + held_memory()


def require_room_for_double(n_hidden: int, needed: int, free: int | None) -> None:
    """Refuse to go on in double precision if that takes more memory than is free."""
    if free is not None and needed > free:
        raise ElmldaError(
            f"float32 is not enough for {n_hidden:,} hidden units here, and in double precision they "
            f"need {needed / 1e9:.2f} GB of memory, {free / 1e9:.2f} GB are free.",
            "Use a larger {ridge}, fewer hidden units or a smaller {chunk}; what was recorded is safe.",
            ridge=None,
            chunk=None,
        )


def require_room(n_hidden: int, n_inputs: int, chunk: int, jobs: int, peak_bytes: PeakBytes) -> None:
    """Refuse what takes more memory than is free, and say what would fit."""
    free = free_memory()
    needed = peak_bytes(n_hidden, chunk, jobs)
    if free is None or needed <= free:
        return
    fitting = _find_fitting(n_hidden, n_inputs, chunk, jobs, peak_bytes, free)
    at_a_time = f" for {jobs} networks at a time" if jobs > 1 else ""
    raise ElmldaError(
        f"{n_hidden:,} hidden units need {needed / 1e9:.2f} GB of memory{at_a_time}, "
        f"{free / 1e9:.2f} GB are free.",
        "At most {} would fit." if fitting else "Nothing smaller would fit: free some memory first.",
        **fitting,
    )


def _find_fitting(
    n_hidden: int, n_inputs: int, chunk: int, jobs: int, peak_bytes: PeakBytes, free: int
) -> dict[str, int]:
    """The most units, jobs and samples in a chunk that fit, with the others as they are."""
    is_fanout = n_hidden % n_inputs == 0
    unit = n_inputs if is_fanout else 1
    largest = {
        "fanout" if is_fanout else "hidden": bisect_right(
            range(1, n_hidden // unit), free, key=lambda n: peak_bytes(n * unit, chunk, jobs)
        ),
        "jobs": bisect_right(range(1, jobs), free, key=lambda n: peak_bytes(n_hidden, chunk, n)),
        "chunk": CHUNK_STEP
        * bisect_right(
            range(CHUNK_STEP, chunk, CHUNK_STEP), free, key=lambda n: peak_bytes(n_hidden, n, jobs)
        ),
    }
    return {setting: value for setting, value in largest.items() if value}
