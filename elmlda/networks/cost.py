"""The cost of a network: peak memory, and the time of its operations on this machine."""

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
from elmlda.core.leave_one_out import MOST_DECOMPOSED
from elmlda.core.solve import LostPrecisionError
from elmlda.core.sums import count_rows
from elmlda.datasets.split import Dataset
from elmlda.errors import ElmldaError
from elmlda.machine import free_memory
from elmlda.options import NetworkOptions

Result = TypeVar("Result")

CHUNK = 4000
"""Samples whose hidden outputs are held at a time. A smaller chunk takes less memory and more time."""
HIDDEN_DTYPES: dict[str, type[np.floating]] = {"mixed": np.float32, "double": np.float64}
BASE_BYTES = 124_000_000
"""Memory of the interpreter, the libraries, BLAS's buffers and freed arrays that stay allocated."""
NETWORK_SECONDS = 0.05
"""Upper bound of a network's time besides its operations: random numbers, rows, writing to disk."""
SLOWEST = 2.5
"""Upper bound of a network's time relative to matrix products with as many operations."""


@dataclass(frozen=True)
class Problem:
    """The sizes and options that determine a network's cost."""

    n_train: int
    n_test: int
    n_inputs: int
    n_classes: int
    sizes: tuple[int, ...]
    precision: str = "mixed"
    n_ridges: int = 1
    """Number of ridges, of which each needs a factorisation."""
    has_rule: bool = False
    """Whether leave-one-out chooses a ridge at every size."""
    leaves_out: bool = False
    """Whether a row sample is held for leave-one-out."""
    input_bytes: int = 0
    """Memory of the data."""
    leaves_all_out: bool = False
    """Whether all rows are held for leave-one-out."""
    is_dual: bool = False
    """Whether the dual problem is solved, for fewer samples than hidden units."""

    @classmethod
    def for_dataset(
        cls,
        data: Dataset,
        sizes: Sequence[int],
        precision: str,
        ridges: Sequence[float | str],
        temperature: float | str = 1.0,
    ) -> Self:
        """Describe a network that is trained and tested on this data set."""
        assert data.test is not None
        shape = len(data.train.labels), len(data.test.labels), data.n_inputs, data.n_classes
        has_rule = "loo" in ridges
        rules = len(ridges), has_rule, has_rule or temperature == "loo"
        return cls(*shape, tuple(sizes), precision, *rules, data.nbytes)

    @property
    def n_left_out(self) -> int:
        """Number of training samples in the row sample."""
        most = self.n_train if self.leaves_all_out else count_rows(self.sizes[-1])
        return min(self.n_train, most) if self.leaves_out else 0


def predict_peak_bytes(problem: Problem, jobs: int = 1) -> int:
    """Predict the peak memory of `jobs` processes that each train a network and share the data.

    The peak is reached while sums are accumulated (Gram matrix and a chunk of hidden outputs), during
    the factorisation (Gram matrix and its float64 factor, or its eigenvectors and work), or with the
    scores (of PI, LDA and PI with a constant unit, and intermediate arrays). Leave-one-out holds and
    copies a row sample, or projects it on the eigenvectors twice. The dual problem takes all hidden
    outputs and four matrices of n_train × n_train.
    """
    p, m, n_left_out = problem, problem.sizes[-1], problem.n_left_out
    itemsize = np.dtype(HIDDEN_DTYPES[p.precision]).itemsize
    is_decomposed = p.has_rule and m <= MOST_DECOMPOSED
    gram = itemsize * m * (m + n_left_out)
    factor = 8 * m * (3 * m + 2 * n_left_out if is_decomposed else m + n_left_out)
    chunk = itemsize * min(CHUNK, p.n_train) * (m + p.n_inputs)
    outputs = 8 * p.n_classes * len(p.sizes) * p.n_ridges
    weights = itemsize * m * p.n_inputs + outputs * m
    peak = max(gram + chunk, gram + factor, 5 * outputs * p.n_test)
    if p.is_dual:
        hidden = itemsize * p.n_train * (m + p.n_inputs) if p.n_inputs else 0
        peak = hidden + 32 * p.n_train**2 + 2 * outputs * m
    one = BASE_BYTES + weights + peak
    return p.input_bytes + (one if jobs == 1 else BASE_BYTES + jobs * one)


class OutOfMemoryError(ElmldaError, MemoryError):
    """More memory is needed than is free."""


def require_memory(problem: Problem, jobs: int = 1, size_name: str = "hidden") -> None:
    """Refuse networks that need more memory than is free; the message says what would fit.

    `size_name` is the option for hidden units. A problem without inputs has features instead.
    """
    free, needed = free_memory(), predict_peak_bytes(problem, jobs)
    if needed <= free:
        return
    m, unit = problem.sizes[-1], "hidden units" if problem.n_inputs else "features"
    at_a_time = f" for {jobs} networks at a time" if jobs > 1 else ""
    precision = " in double precision" if problem.precision == "double" else ""
    memory = f"{needed / 1e9:.2f} GB of memory{precision}{at_a_time}, {free / 1e9:.2f} GB are free."
    fact = f"{m:,} {unit} need {memory}"
    if not problem.n_inputs:
        raise OutOfMemoryError(fact, "Select features, or free some memory first.")

    def bytes_of(largest: int) -> int:
        sizes = (*(size for size in problem.sizes if size < largest), largest)
        return predict_peak_bytes(replace(problem, sizes=sizes), jobs)

    largest = {
        size_name: bisect_right(range(1, m), free, key=bytes_of),
        "jobs": bisect_right(range(1, jobs), free, key=lambda n: predict_peak_bytes(problem, n)),
    }
    fitting = {name: value for name, value in largest.items() if value}
    advice = "At most {} would fit." if fitting else "No smaller one would fit: free some memory first."
    raise OutOfMemoryError(fact, advice, **fitting)


def in_enough_precision(
    train: Callable[[NetworkOptions], Result],
    settings: NetworkOptions,
    problem: Problem,
    size_name: str = "hidden",
) -> Result:
    """Train a network, and train it again in double precision if float32 was not precise enough."""
    with suppress(LostPrecisionError):
        return train(settings)
    require_memory(replace(problem, precision="double"), size_name=size_name)
    return train(replace(settings, precision="double"))


def count_operations(problem: Problem) -> tuple[float, float]:
    """Count floating-point operations in the hidden layer's precision and in float64.

    The operations train and test both methods at all nested sizes of one network.
    """
    p, m, n_sizes = problem, float(problem.sizes[-1]), len(problem.sizes)
    hidden = 2 * (p.n_train + p.n_test) * p.n_inputs * m
    hidden += p.n_train * m * (m + 1) + 2 * p.n_train * m * p.n_classes
    # Each size's scores need its own units only, on average half of all units.
    scores = p.n_test * m * p.n_classes * (n_sizes + 1)
    solver = p.n_ridges * (m**3 / 3 + m**2 * p.n_classes * (1 + n_sizes) + scores)
    solver += p.n_left_out * m**2  # leverages
    for size in p.sizes if p.has_rule else ():  # an eigendecomposition, or about seven factorisations
        factorised = 7 * (size**3 / 3 + p.n_left_out * size**2)
        solver += 22.0 * size**3 if size <= MOST_DECOMPOSED else factorised
    return hidden, solver


def estimate_seconds(problem: Problem, n_networks: int, jobs: int, threads: int) -> float:
    """Return an upper bound of the time of `n_networks` on this machine, if nothing else runs on it."""
    if not n_networks:
        return 0.0
    with threadpool_limits(1, user_api="blas"):
        speeds = [measure_speed(HIDDEN_DTYPES[name]) for name in (problem.precision, "double")]
    one = sum(n / speed for n, speed in zip(count_operations(problem), speeds, strict=True))
    rounds = -(-n_networks // jobs)
    return rounds * (SLOWEST * one / threads + NETWORK_SECONDS)


def measure_speed(dtype: type[np.floating], n: int = 1024, seconds: float = 0.1) -> float:
    """Measure BLAS's operations per second for n × n matrix products; the first is not timed.

    Seconds are this thread's processor time, which other work on the machine does not change.
    """
    a = np.full((n, n), 0.5, dtype)
    out = np.empty_like(a)
    multiply(a, a, out)
    n_calls, start = 0, time.thread_time()
    while (elapsed := time.thread_time() - start) < seconds or not n_calls:
        multiply(a, a, out)
        n_calls += 1
    return 2.0 * n**3 * n_calls / elapsed
