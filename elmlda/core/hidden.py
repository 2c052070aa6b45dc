"""The hidden layer, Eq. (2): inputs times input weights, through a nonlinear function.

The paper's units have no bias. With one, each unit has one more weight, drawn like the others, of an
input that is always √n_inputs: with standardised inputs the bias varies as much as the rest of the sum.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from elmlda.core import FloatArray, RealArray
from elmlda.core.blas import multiply

ELEMENTS_PER_TASK = 1 << 20


def _softsign(x: FloatArray) -> None:
    x /= 1 + np.abs(x)


def _sine(x: FloatArray) -> None:
    with np.errstate(invalid="ignore"):  # infinite inputs; here, since threads do not inherit it
        np.sin(x, out=x)


ACTIVATIONS: dict[str, Callable[[FloatArray], object]] = {
    "tanh": lambda x: np.tanh(x, out=x),
    "logistic": lambda x: expit(x, out=x),
    "relu": lambda x: np.maximum(x, 0, out=x),
    "softsign": _softsign,
    "sine": _sine,
}
"""g() of Eq. (1) by name; each works in place."""


def scale_inputs(
    inputs: RealArray, scale: float, dtype: type[np.floating], has_bias: bool = False
) -> FloatArray:
    """What input weights are multiplied with: scaled inputs, then the constant one of a bias."""
    n_samples, n_inputs = inputs.shape
    scaled = np.empty((n_samples, n_inputs + has_bias), dtype)
    np.multiply(inputs, dtype(scale), out=scaled[:, :n_inputs], dtype=dtype)
    scaled[:, n_inputs:] = math.sqrt(n_inputs)
    return scaled


@dataclass(frozen=True)
class HiddenLayer:
    """Inputs in, hidden outputs out: A = g(scale · X · W1), Eq. (2), samples as rows."""

    input_weights: FloatArray
    """n_inputs × n_hidden; with a bias one row more, the weights of the constant input."""
    activation: str = "tanh"
    input_scale: float = 1.0
    threads: int = 1
    """Threads of the elementwise part; the matrix product has BLAS's own."""
    has_bias: bool = False

    @property
    def n_hidden(self) -> int:
        return int(self.input_weights.shape[1])

    @property
    def biases(self) -> FloatArray:
        """What each unit adds to its sum: n_hidden."""
        if not self.has_bias:
            return np.zeros(self.n_hidden, self.dtype)
        return np.asarray(math.sqrt(len(self.input_weights) - 1) * self.input_weights[-1])

    @property
    def dtype(self) -> np.dtype[np.floating]:
        return self.input_weights.dtype

    def project(self, inputs: RealArray, out: FloatArray) -> None:
        """Write scale · X · W1 into `out` (n_samples × n_hidden), the bias added."""
        scaled = scale_inputs(inputs, self.input_scale, self.dtype.type, self.has_bias)
        multiply(scaled, self.input_weights, out)

    def activate(self, projected: FloatArray) -> None:
        """Apply g() in place; rows are shared out among the threads."""
        rows = max(1, ELEMENTS_PER_TASK // max(1, projected.shape[1]))
        parts = [projected[start : start + rows] for start in range(0, len(projected), rows)]
        if self.threads == 1 or len(parts) == 1:
            for part in parts:
                ACTIVATIONS[self.activation](part)
        else:
            with ThreadPoolExecutor(self.threads) as pool:
                list(pool.map(ACTIVATIONS[self.activation], parts))

    def outputs(self, inputs: RealArray, out: FloatArray | None = None) -> FloatArray:
        """Hidden outputs of `inputs` (n_samples × n_inputs): n_samples × n_hidden."""
        hidden = np.empty((len(inputs), self.n_hidden), self.dtype) if out is None else out
        self.project(inputs, hidden)
        self.activate(hidden)
        return hidden
