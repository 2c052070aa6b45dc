"""The measurement of Table 2: train and test one network with both methods as the paper writes them.

The order PI, LDA, LDA, PI cancels steady changes, for example of the processor's speed. It does not
cancel effects on the first run alone, for example of fresh memory for the matrices.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from elmlda.core import FloatArray
from elmlda.core.evaluate import posteriors
from elmlda.core.hidden import HiddenLayer
from elmlda.core.literal import solve_lda_literally, solve_pi_literally
from elmlda.datasets.split import Split

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

    Hidden outputs of training and test samples are computed once and held. Each method's time includes
    computing them, but not allocating their memory. With the Gram matrix and its factor the paper's
    largest network takes 7.5 GB.

    Parameters
    ----------
    draw_layer : draws the hidden layer with one thread; its time is part of the hidden outputs
    priors : n_classes probabilities π
    n_pairs : 1 for PI, LDA alone

    Returns
    -------
    rows : position in `ORDER`, method, processor time (`cpu_seconds`) and elapsed time (`seconds`) from
        the first random number to the last prediction; processor time of the test samples
        (`test_seconds`) and of the hidden outputs (`hidden_seconds`), which `cpu_seconds` includes
    """
    rows = []
    with threadpool_limits(1, user_api="blas"):
        begin = _read_clocks()
        layer = draw_layer()
        drawn = _read_clocks()
        # Fresh memory can cost more than the computation, and both methods share this part: it would
        # hide the difference between the methods.
        n_hidden, dtype = layer.input_weights.shape[1], layer.input_weights.dtype
        hidden, test_hidden = (np.ones((len(split.labels), n_hidden), dtype) for split in (train, test))
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
            # Eq. (14)'s posteriors choose the same classes, but they are a part of LDA-ELM.
            (scores if method == "pi" else posteriors(scores)).argmax(axis=1)
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
                }
            )
    return rows


def _read_clocks() -> FloatArray:
    """Return this process's processor time and the elapsed time in seconds."""
    return np.array([time.process_time(), time.perf_counter()])
