"""Table 2's measurement: one network trained and tested by both methods, each as the paper writes it.

The order is PI, LDA, LDA, PI: what changes steadily, such as the processor's speed, cancels out. What
only the first meets, such as fresh memory for the matrices, does not.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from elmlda.core import FloatArray
from elmlda.core.evaluate import count_errors, posteriors
from elmlda.core.hidden import HiddenLayer
from elmlda.core.literal import solve_lda_literally, solve_pi_literally
from elmlda.datasets import Split

ORDER = ("pi", "lda", "lda", "pi")
"""The method at each position."""


def time_pair(
    draw_layer: Callable[[], HiddenLayer],
    train: Split,
    test: Split,
    priors: FloatArray,
    ridge: float = 0.0,
    n_pairs: int = 2,
) -> list[dict[str, Any]]:
    """Time both methods on one network with one thread: two pairs, in the order PI, LDA, LDA, PI.

    Hidden outputs, of training and test samples, are computed once and held; each method's time
    includes theirs, but not that of getting the memory. With the Gram matrix and its factor the largest
    network of the paper takes 7.5 GB.

    Parameters
    ----------
    draw_layer : makes the hidden layer, with one thread of its own; timed with its outputs
    priors : n_classes probabilities π
    n_pairs : 1 for PI, LDA alone

    Returns
    -------
    rows : position in `ORDER`, method, processor time (`cpu_seconds`) and elapsed time (`seconds`) from
        the first random number to the last count; processor time of the test samples and of the hidden
        outputs, both of which are in it; errors
    """
    rows = []
    with threadpool_limits(1, user_api="blas"):
        begin = _read_clocks()
        layer = draw_layer()
        drawn = _read_clocks()
        # Fresh memory can cost more than what is computed into it, which would hide the difference
        # between the methods in a part that they share.
        hidden, test_hidden = (
            np.ones((len(split.labels), layer.n_hidden), layer.dtype) for split in (train, test)
        )
        filled = _read_clocks()
        layer.outputs(train.inputs, hidden)
        trained = _read_clocks()
        layer.outputs(test.inputs, test_hidden)
        test_common = _read_clocks() - trained
        common = (drawn - begin) + (trained - filled) + test_common
        for position, method in enumerate(ORDER[: 2 * n_pairs]):
            start = _read_clocks()
            if method == "pi":
                outputs = solve_pi_literally(hidden, train.labels, len(priors), ridge)
            else:
                outputs = solve_lda_literally(hidden, train.labels, priors, ridge)
            solved = _read_clocks()
            scores = outputs.scores(test_hidden)
            # Eq. (14)'s posteriors choose the same classes; computing them is a part of LDA-ELM.
            errors = count_errors(scores if method == "pi" else posteriors(scores), test.labels)
            end = _read_clocks()
            cpu_seconds, seconds = common + end - start
            rows.append(
                {
                    "position": position,
                    "method": method,
                    "cpu_seconds": float(cpu_seconds),
                    "seconds": float(seconds),
                    "test_seconds": float((test_common + end - solved)[0]),
                    "hidden_seconds": float(common[0]),
                    "errors": int(errors),
                }
            )
    return rows


def _read_clocks() -> FloatArray:
    """Processor time of this process and elapsed time, in seconds."""
    return np.array([time.process_time(), time.perf_counter()])
