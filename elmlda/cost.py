"""What a network costs: floating-point operations, memory, and this machine's speed for them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from elmlda.blas import multiply

BASE_BYTES = 90_000_000
"""The interpreter with its libraries and BLAS's buffers."""


@dataclass(frozen=True)
class Problem:
    """The sizes that a network's cost depends on."""

    n_train: int
    n_test: int
    n_inputs: int
    n_classes: int
    sizes: tuple[int, ...]

    @property
    def n_hidden(self) -> int:
        return self.sizes[-1]


@dataclass(frozen=True)
class Operations:
    """Floating-point operations in the hidden layer's precision, and in the solver's (float64)."""

    hidden: float
    solver: float

    def seconds(self, hidden_speed: float, solver_speed: float) -> float:
        """Time that they take at so many operations a second."""
        return self.hidden / hidden_speed + self.solver / solver_speed


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
    return Operations(projection + gram + class_sums, factorisation + solves + scores)


def predict_peak_bytes(problem: Problem, chunk: int, hidden_itemsize: int, input_bytes: int) -> int:
    """Peak memory of one network, its data included.

    Either while statistics are accumulated (Gram matrix, a chunk of hidden outputs), or while they
    are factorised (Gram matrix and its float64 factor).
    """
    p, m = problem, problem.n_hidden
    gram = hidden_itemsize * m * m
    outputs = 8 * p.n_classes * len(p.sizes)
    rows = min(chunk, max(p.n_train, p.n_test))
    accumulating = gram + hidden_itemsize * rows * (m + p.n_inputs)
    factorising = gram + 8 * m * m + outputs * m
    widest = max(stop - start for start, stop in pairwise((0, *p.sizes)))  # in float64 for the scores
    rows = min(chunk, p.n_test)
    testing = rows * (hidden_itemsize * m + 8 * widest) + outputs * (m + 5 * p.n_test)
    weights = hidden_itemsize * m * p.n_inputs
    return BASE_BYTES + input_bytes + weights + max(accumulating, factorising, testing)


def measure_matmul_speed(dtype: type[np.floating], n: int = 2048, seconds: float = 0.5) -> float:
    """Operations a second of this machine's matrix multiplication, with BLAS's present threads."""
    a = np.full((n, n), 0.5, dtype)
    out = np.empty_like(a)
    multiply(a, a, out)
    n_products, start = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - start) < seconds or not n_products:
        multiply(a, a, out)
        n_products += 1
    return 2.0 * n**3 * n_products / elapsed
