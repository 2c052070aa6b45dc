"""Table 2's measurement: one network trained and tested by both methods, each as the paper writes it.

A pair is timed in the order PI, LDA, LDA, PI, so that what changes steadily, such as the processor's
speed, cancels out.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np
from threadpoolctl import threadpool_limits

from elmlda.core.arrays import FloatArray
from elmlda.core.evaluate import count_errors, posteriors
from elmlda.core.hidden import HiddenLayer
from elmlda.core.literal import ROWS, LiteralOutputs, solve_lda_literally, solve_pi_literally
from elmlda.datasets import Split

ORDER = ("pi", "lda", "lda", "pi")
"""The method at each position."""


@dataclass(frozen=True)
class Clock:
    """Processor time of this process and elapsed time, both in seconds."""

    cpu: float
    elapsed: float

    @classmethod
    def now(cls) -> Self:
        return cls(time.process_time(), time.perf_counter())

    def minus(self, earlier: Clock) -> Clock:
        return Clock(self.cpu - earlier.cpu, self.elapsed - earlier.elapsed)

    def plus(self, other: Clock) -> Clock:
        return Clock(self.cpu + other.cpu, self.elapsed + other.elapsed)


@dataclass(frozen=True)
class TimedMethod:
    """One method's times: from the first random number to the last count."""

    position: int
    """In `ORDER`."""
    method: str
    """pi or lda."""
    cpu_seconds: float
    """Processor time of everything, the hidden outputs included."""
    seconds: float
    """Elapsed time of the same."""
    test_seconds: float
    """The part of `cpu_seconds` that the test samples took."""
    hidden_seconds: float
    """The part of `cpu_seconds` that hidden outputs took: measured once, and the same for both."""
    errors: int
    """Of the test samples."""


def time_pair(
    draw_layer: Callable[[], HiddenLayer],
    train: Split,
    test: Split,
    priors: FloatArray,
    ridge: float = 0.0,
    n_pairs: int = 2,
) -> list[TimedMethod]:
    """Time both methods on one network with one thread: two pairs, in the order PI, LDA, LDA, PI.

    Hidden outputs, of training and test samples, are computed once and held; each method's time
    includes theirs. With the Gram matrix and its factor the largest network of the paper takes 7.5 GB.

    Parameters
    ----------
    draw_layer : makes the hidden layer, with one thread of its own; timed with the hidden outputs
    priors : n_classes probabilities π
    n_pairs : 1 for PI, LDA alone
    """
    with threadpool_limits(1, user_api="blas"):
        start = Clock.now()
        layer = draw_layer()
        hidden = compute_outputs(layer, train)
        drawn = Clock.now()
        test_hidden = compute_outputs(layer, test)
        common, common_test = drawn.minus(start), Clock.now().minus(drawn)

        def run(position: int) -> TimedMethod:
            start = Clock.now()
            outputs = _solve(ORDER[position], hidden, train, priors, ridge)
            solved = Clock.now()
            errors = _test(outputs, test_hidden, test)
            tested = Clock.now().minus(solved).plus(common_test)
            total = solved.minus(start).plus(tested).plus(common)
            return TimedMethod(
                position, ORDER[position], total.cpu, total.elapsed, tested.cpu,
                common.plus(common_test).cpu, errors,
            )  # fmt: skip

        return [run(position) for position in range(2 * n_pairs)]


def compute_outputs(layer: HiddenLayer, samples: Split) -> FloatArray:
    """Hidden outputs of all samples, held: n_samples × n_hidden."""
    hidden = np.empty((len(samples.inputs), layer.n_hidden), layer.dtype)
    for start in range(0, len(hidden), ROWS):
        part = hidden[start : start + ROWS]
        layer.project(samples.inputs[start : start + ROWS], part)
        layer.activate(part)
    return hidden


def _solve(
    method: str, hidden: FloatArray, train: Split, priors: FloatArray, ridge: float
) -> LiteralOutputs:
    if method == "pi":
        return solve_pi_literally(hidden, train.labels, len(priors), ridge)
    return solve_lda_literally(hidden, train.labels, priors, ridge)


def _test(outputs: LiteralOutputs, hidden: FloatArray, test: Split) -> int:
    """Test errors; of LDA-ELM's posteriors, Eq. (14), which are computed for that."""
    scores = outputs.scores(hidden)
    if outputs.constants is not None:
        scores = posteriors(scores)
    return int(count_errors(scores, test.labels))
