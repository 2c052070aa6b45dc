"""The hidden layer: random input weights, and the outputs that they give, Eq. (2)."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from elmlda.core.arrays import FloatArray, RealArray
from elmlda.core.blas import multiply

UNITS_PER_DRAW = 1024
ELEMENTS_PER_TASK = 1 << 20


def _softsign(x: FloatArray) -> None:
    x /= 1 + np.abs(x)


def _sine(x: FloatArray) -> None:
    with np.errstate(invalid="ignore"):  # of what is not finite: here, since it may run in a thread
        np.sin(x, out=x)


ACTIVATIONS: dict[str, Callable[[FloatArray], object]] = {
    "tanh": lambda x: np.tanh(x, out=x),
    "logistic": lambda x: expit(x, out=x),
    "relu": lambda x: np.maximum(x, 0, out=x),
    "softsign": _softsign,
    "sine": _sine,
}
"""g() of Eq. (1) by name; each works in place."""


def draw_input_weights(
    rng: np.random.Generator,
    n_inputs: int,
    n_hidden: int,
    weight_range: float = 0.5,
    dtype: type[np.floating] = np.float64,
) -> FloatArray:
    """Draw input weights, uniform in ±weight_range.

    Hidden units are drawn one after the other in float64 whatever the dtype, so that a network's first
    units are the same network, smaller, and the precision does not change the network.

    Returns
    -------
    input_weights : array, n_inputs × n_hidden, each unit's weights contiguous
    """
    by_unit = np.empty((n_hidden, n_inputs), dtype)
    for start in range(0, n_hidden, UNITS_PER_DRAW):
        block = by_unit[start : start + UNITS_PER_DRAW]
        with np.errstate(over="ignore"):  # float32 that is not enough shows in the Gram matrix
            block[...] = rng.uniform(-weight_range, weight_range, block.shape)
    return by_unit.T


@dataclass(frozen=True)
class HiddenLayer:
    """Inputs in, hidden outputs out: A = g(scale · X · W1), Eq. (2), samples as rows."""

    input_weights: FloatArray
    """n_inputs × n_hidden."""
    activation: str = "tanh"
    input_scale: float = 1.0
    threads: int = 1
    """Threads of the elementwise part; the matrix product has BLAS's own."""

    @property
    def n_hidden(self) -> int:
        return int(self.input_weights.shape[1])

    @property
    def dtype(self) -> np.dtype[np.floating]:
        return self.input_weights.dtype

    def project(self, inputs: RealArray, out: FloatArray) -> None:
        """Write scale · X · W1 into `out` (n_samples × n_hidden)."""
        scale = np.asarray(self.input_scale).astype(self.dtype)
        scaled = np.multiply(inputs, scale, dtype=self.dtype)
        multiply(scaled, self.input_weights, out)

    def activate(self, projected: FloatArray) -> None:
        """Apply g() in place, rows shared out among the threads."""
        function = ACTIVATIONS[self.activation]
        rows = max(1, ELEMENTS_PER_TASK // max(1, projected.shape[1]))
        parts = [projected[start : start + rows] for start in range(0, len(projected), rows)]
        if self.threads == 1 or len(parts) == 1:
            for part in parts:
                function(part)
        else:
            with ThreadPoolExecutor(self.threads) as pool:
                list(pool.map(function, parts))

    def outputs(self, inputs: RealArray) -> FloatArray:
        """Hidden outputs of `inputs` (n_samples × n_inputs): n_samples × n_hidden."""
        hidden = np.empty((len(inputs), self.n_hidden), self.dtype)
        self.project(inputs, hidden)
        self.activate(hidden)
        return hidden
