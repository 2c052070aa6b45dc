"""Random input weights by four schemes: uniform as in the paper, and three shaped by the data.

A constrained unit's weights are the difference of two training samples of different classes; a unit
with a receptive field has weights other than zero only in a rectangle of the image, of any place,
height and width; the fourth scheme is both. Shaped weights have the same norm in every unit. After
McDonnell, Tissera, Vladusich, van Schaik and Tapson, PLoS ONE 10 (8), 2015, e0134254.

Whatever the scheme and the dtype, units are drawn one after the other in float64: a network's first
units are the same network, smaller, and the precision does not change the network.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from elmlda.core import FloatArray, IntArray, Rows
from elmlda.errors import ElmldaValueError
from elmlda.settings import NetworkSettings

UNITS_PER_DRAW = 1024
FEW_TRIES = 20
"""Rectangles that are drawn for one field before those that are too small are left out."""
MOST_TRIES = 1000
"""Fields and pairs of samples that are drawn for one unit before it is given up."""


@dataclass(frozen=True)
class InputSpace:
    """What input weights are drawn for, and may be shaped by."""

    n_inputs: int
    image_shape: tuple[int, int] | None = None
    """Rows and columns, where inputs are the pixels of an image, row by row."""
    samples: Rows | None = None
    """Training samples."""
    labels: IntArray | None = None
    """Their class indices."""

    def require(self, settings: NetworkSettings) -> None:
        """Refuse receptive fields that do not fit the images."""
        if not settings.has_fields:
            return
        if self.image_shape is None:
            raise ElmldaValueError(
                f"{settings.input_weights} input weights need images, and these samples have no rows "
                "and columns of pixels.",
                "Use uniform or constrained ones ({input_weights}).",
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
                f"the smallest receptive field has {settings.min_field} pixels, an image "
                f"{self.n_inputs}.",
                "Lower {min_field}.",
                min_field=None,
            )


def draw_weights(
    rng: np.random.Generator,
    space: InputSpace,
    n_hidden: int,
    settings: NetworkSettings,
    dtype: type[np.floating],
) -> FloatArray:
    """Draw the input weights that the settings ask for.

    Returns
    -------
    input_weights : array, n_inputs × n_hidden, each unit's weights contiguous; with a bias one row more
    """
    n_weights = space.n_inputs + settings.bias
    if settings.input_weights == "uniform":
        return draw_uniform_weights(rng, n_weights, n_hidden, settings.weight_range, dtype)
    space.require(settings)
    if settings.is_constrained and space.samples is None:
        raise ElmldaValueError(
            f"{settings.input_weights} input weights need the training samples all at once."
        )
    by_unit = np.zeros((n_hidden, n_weights), dtype)
    for weights in by_unit:
        inputs, values = _draw_unit(rng, space, settings)
        weights[inputs] = values * (settings.weight_norm / np.linalg.norm(values))
        if settings.bias:  # uniform in ± weight_norm once it is multiplied with its input
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
        with np.errstate(over="ignore"):  # float32 that is not enough shows in the Gram matrix
            block[...] = rng.uniform(-weight_range, weight_range, block.shape)
    return by_unit.T


def _draw_unit(
    rng: np.random.Generator, space: InputSpace, settings: NetworkSettings
) -> tuple[IntArray, FloatArray]:
    """The inputs that a unit sees, and its weights there, not all of them zero."""
    for inputs in _draw_fields(rng, space, settings):
        if settings.is_constrained:
            values = _draw_difference(rng, space)[inputs]
        else:
            values = rng.uniform(-1.0, 1.0, len(inputs))
        if values.any():
            return inputs, values
    raise ElmldaValueError(
        f"{settings.input_weights} input weights: no two training samples of different classes differ "
        f"in a field, {MOST_TRIES:,} times.",
        "Use larger fields ({min_field}), or {input_weights}.",
        min_field=None,
        input_weights="uniform",
    )


def _draw_fields(
    rng: np.random.Generator, space: InputSpace, settings: NetworkSettings
) -> Iterator[IntArray]:
    """Inputs that a unit may see: those of a rectangle that is large enough, or all."""
    for _ in range(MOST_TRIES):
        if space.image_shape is None or not settings.has_fields:
            yield np.arange(space.n_inputs)
            continue
        rows, columns = _draw_rectangle(rng, space.image_shape, settings.min_field)
        yield np.add.outer(space.image_shape[1] * np.array(rows), np.array(columns)).ravel()


def _draw_rectangle(
    rng: np.random.Generator, shape: tuple[int, int], min_field: int
) -> tuple[range, range]:
    """Rows and columns between two random pixels, given that these are far enough apart."""
    for _ in range(FEW_TRIES):
        spans = [sorted(rng.integers(length, size=2).tolist()) for length in shape]
        rows, columns = (range(first, last + 1) for first, last in spans)
        if len(rows) * len(columns) >= min_field:
            return rows, columns
    # So few are large enough that it would take long: choose the size among theirs, then the place.
    sizes = [np.arange(1, length + 1) for length in shape]
    chances = [
        (length + 1 - size) * np.minimum(size, 2) for length, size in zip(shape, sizes, strict=True)
    ]
    wanted = np.where(np.outer(*sizes) >= min_field, np.outer(*chances), 0)
    chosen = np.unravel_index(rng.choice(wanted.size, p=wanted.ravel() / wanted.sum()), wanted.shape)
    size = [int(i) + 1 for i in chosen]
    firsts = [int(rng.integers(length + 1 - n)) for length, n in zip(shape, size, strict=True)]
    rows, columns = (range(first, first + n) for first, n in zip(firsts, size, strict=True))
    return rows, columns


def _draw_difference(rng: np.random.Generator, space: InputSpace) -> FloatArray:
    """One training sample less another of another class."""
    assert space.samples is not None
    assert space.labels is not None
    for _ in range(MOST_TRIES):
        one, other = rng.integers(len(space.labels), size=2).tolist()
        if space.labels[one] != space.labels[other]:
            first, second = (space.samples[i : i + 1][0].astype(np.float64) for i in (one, other))
            return np.asarray(first - second)
    raise ElmldaValueError("constrained input weights need training samples of two classes or more.")
