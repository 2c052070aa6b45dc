"""The hidden layer, Eq. (2): random input weights, and outputs through a nonlinear function.

The paper's units have no bias. A bias is one more weight, drawn like the others, of a constant input of
√n_inputs. With standardised inputs it varies as much as the sum of the other terms.

Input weights are uniform as in the paper, or have one of three schemes shaped by the data.
A constrained unit's weights are the difference of two training samples of different classes. A unit
with a receptive field has non-zero weights only in a random rectangle of the image. The fourth scheme
combines both. Shaped weights have the same norm in every unit. The schemes are those of McDonnell,
Tissera, Vladusich, van Schaik and Tapson, PLoS ONE 10 (8), 2015, e0134254.

Units are drawn one after the other in float64. A network's first units are therefore a smaller network
of the same kind, and the precision does not change the network.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from elmlda.core import FloatArray, IntArray, as_dense
from elmlda.core.blas import multiply
from elmlda.errors import ElmldaValueError
from elmlda.options import NetworkOptions

ELEMENTS_PER_TASK = 1 << 20
UNITS_PER_DRAW = 1024
MOST_TRIES = 10_000
"""Fields and pairs of samples drawn for a unit before giving up."""


def _softsign(x: FloatArray) -> None:
    x /= 1 + np.abs(x)


def _sine(x: FloatArray) -> None:
    with np.errstate(invalid="ignore"):  # for infinite inputs; threads do not inherit errstate
        np.sin(x, out=x)


ACTIVATIONS: dict[str, Callable[[FloatArray], object]] = {
    "tanh": lambda x: np.tanh(x, out=x),
    "logistic": lambda x: expit(x, out=x),
    "relu": lambda x: np.maximum(x, 0, out=x),
    "softsign": _softsign,
    "sine": _sine,
}
"""Activation functions g() of Eq. (1) by name, in place."""


@dataclass(frozen=True)
class HiddenLayer:
    """A hidden layer: A = g(scale · X · W1), Eq. (2), samples as rows."""

    input_weights: FloatArray
    """n_inputs × n_hidden; a bias adds a row, the weights of the constant input."""
    activation: str = "tanh"
    input_scale: float = 1.0
    threads: int = 1
    """Threads of the activation function; the matrix product uses BLAS's threads."""
    has_bias: bool = False

    def outputs(self, inputs: Any, out: FloatArray | None = None) -> FloatArray:
        """Compute the hidden outputs (n_samples × n_hidden) of dense or sparse inputs."""
        (n_samples, n_inputs), (n_weights, n_hidden) = inputs.shape, self.input_weights.shape
        dtype = self.input_weights.dtype
        scaled = np.empty((n_samples, n_weights), dtype)
        np.multiply(
            as_dense(inputs), dtype.type(self.input_scale), out=scaled[:, :n_inputs], dtype=dtype
        )
        if self.has_bias:
            scaled[:, n_inputs:] = math.sqrt(n_inputs)
        hidden = np.empty((n_samples, n_hidden), dtype) if out is None else out
        multiply(scaled, self.input_weights, hidden)
        activate, n_rows = ACTIVATIONS[self.activation], max(1, ELEMENTS_PER_TASK // n_hidden)
        parts = [hidden[start : start + n_rows] for start in range(0, n_samples, n_rows)]
        if self.threads == 1 or len(parts) == 1:
            for part in parts:
                activate(part)
        else:
            with ThreadPoolExecutor(self.threads) as pool:
                list(pool.map(activate, parts))
        return hidden

    def batches(self, inputs: Any, size: int) -> Iterator[FloatArray]:
        """Yield the hidden outputs of `size` samples at a time; a batch overwrites the previous one."""
        n_samples, n_hidden = inputs.shape[0], self.input_weights.shape[1]
        buffer = np.empty((min(size, n_samples), n_hidden), self.input_weights.dtype)
        for start in range(0, n_samples, size):
            batch = inputs[start : start + size]
            with np.errstate(over="ignore", invalid="ignore"):
                hidden = self.outputs(batch, buffer[: batch.shape[0]])
            yield hidden


# Input weights


@dataclass(frozen=True)
class InputSpace:
    """The inputs for which weights are drawn, and the data that may shape the weights."""

    n_inputs: int
    image_shape: tuple[int, int] | None = None
    """Rows and columns of an image whose pixels, row by row, are the inputs."""
    samples: Any = None
    """Training samples, n_samples × n_inputs, dense or sparse."""
    labels: IntArray | None = None
    """Class indices of the training samples."""

    def require(self, settings: NetworkOptions) -> None:
        """Refuse receptive fields without images or larger than the images."""
        if not settings.has_fields:
            return
        if self.image_shape is None:
            raise ElmldaValueError(
                f"{settings.input_weights} input weights need images, but the samples have no rows "
                "and columns of pixels.",
                "Use uniform or constrained input weights ({input_weights}).",
                input_weights=None,
            )
        rows, columns = self.image_shape
        if rows * columns != self.n_inputs:
            raise ElmldaValueError(
                f"images of {rows} × {columns} have {rows * columns} pixels, the samples have "
                f"{self.n_inputs} inputs."
            )
        if settings.min_field > self.n_inputs:
            raise ElmldaValueError(
                f"the smallest receptive field has {settings.min_field} pixels, but an image has "
                f"{self.n_inputs}.",
                "Lower {min_field}.",
                min_field=None,
            )


def draw_weights(
    rng: np.random.Generator,
    space: InputSpace,
    n_hidden: int,
    settings: NetworkOptions,
    dtype: type[np.floating],
) -> FloatArray:
    """Draw input weights by the scheme of the settings.

    Returns
    -------
    input_weights : array, n_inputs × n_hidden, each unit's weights contiguous; a bias adds a row
    """
    n_weights = space.n_inputs + settings.bias
    if settings.input_weights == "uniform":
        return draw_uniform_weights(rng, n_weights, n_hidden, settings.weight_range, dtype)
    space.require(settings)
    if settings.is_constrained and space.samples is None:
        raise ElmldaValueError(
            f"{settings.input_weights} input weights need all training samples at once."
        )
    by_unit = np.zeros((n_hidden, n_weights), dtype)
    for weights in by_unit:
        inputs, values = _draw_unit(rng, space, settings)
        weights[inputs] = values * (settings.weight_norm / np.linalg.norm(values))
        if settings.bias:  # times the constant input √n_inputs: uniform in ± weight_norm
            weights[-1] = rng.uniform(-1.0, 1.0) * settings.weight_norm / math.sqrt(space.n_inputs)
    return by_unit.T


def draw_uniform_weights(
    rng: np.random.Generator,
    n_inputs: int,
    n_hidden: int,
    weight_range: float = 0.5,
    dtype: type[np.floating] = np.float64,
) -> FloatArray:
    """Draw input weights, uniform in ±weight_range: n_inputs × n_hidden."""
    by_unit = np.empty((n_hidden, n_inputs), dtype)
    for start in range(0, n_hidden, UNITS_PER_DRAW):
        block = by_unit[start : start + UNITS_PER_DRAW]
        with np.errstate(over="ignore"):  # float32 overflow is detected in the Gram matrix
            block[...] = rng.uniform(-weight_range, weight_range, block.shape)
    return by_unit.T


def _draw_unit(
    rng: np.random.Generator, space: InputSpace, settings: NetworkOptions
) -> tuple[IntArray, FloatArray]:
    """Draw a unit's inputs and weights, of which at least one is not zero."""
    for inputs in _draw_fields(rng, space, settings):
        if settings.is_constrained:
            values = _draw_difference(rng, space)[inputs]
        else:
            values = rng.uniform(-1.0, 1.0, len(inputs))
        if values.any():
            return inputs, values
    raise ElmldaValueError(
        f"{settings.input_weights} input weights: of {MOST_TRIES:,} rectangles none was a field of "
        f"{settings.min_field} pixels or more in which samples of different classes differ.",
        "Use another {min_field}, or {input_weights}.",
        min_field=None,
        input_weights="uniform",
    )


def _draw_fields(
    rng: np.random.Generator, space: InputSpace, settings: NetworkOptions
) -> Iterator[IntArray]:
    """Draw the inputs of a unit, up to `MOST_TRIES` times: all inputs, or a large enough rectangle.

    Two random pixels span the rectangle.
    """
    for _ in range(MOST_TRIES):
        if space.image_shape is None or not settings.has_fields:
            yield np.arange(space.n_inputs)
            continue
        spans = [sorted(rng.integers(length, size=2).tolist()) for length in space.image_shape]
        rows, columns = (np.arange(first, last + 1) for first, last in spans)
        if len(rows) * len(columns) >= settings.min_field:
            yield np.add.outer(space.image_shape[1] * rows, columns).ravel()


def _draw_difference(rng: np.random.Generator, space: InputSpace) -> FloatArray:
    """Draw two training samples of different classes; return the difference."""
    assert space.labels is not None
    for _ in range(MOST_TRIES):
        one, other = rng.integers(len(space.labels), size=2).tolist()
        if space.labels[one] != space.labels[other]:
            first, second = as_dense(space.samples[[one, other]]).astype(np.float64)
            return np.asarray(first - second)
    raise ElmldaValueError("constrained input weights need training samples of at least two classes.")
