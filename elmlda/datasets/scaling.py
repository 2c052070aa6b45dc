"""Standardised inputs: mean 0 and variance 1 in the training part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elmlda.errors import ElmldaError
from elmlda.text import quote_name

ELEMENTS_AT_A_TIME = 1 << 19
"""Bounds the float64 copy of what is being scaled."""
LARGEST_DEVIATION = 1e30
"""A scaled input beyond this would leave float32 on its way through the hidden layer."""


@dataclass(frozen=True, eq=False)
class Scaling:
    """How inputs as they were stored became standardised: (inputs - offsets) * factors."""

    offsets: NDArray[np.float64]
    factors: NDArray[np.float64]
    """Of an input that was constant in the training part: 0."""

    def apply(self, inputs: NDArray[Any]) -> NDArray[np.float64]:
        """Scale further inputs, n_samples × n_inputs, as the training part was."""
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows has no finite score
            return np.asarray((inputs - self.offsets) * self.factors)


def standardise(
    train: NDArray[Any],
    test: NDArray[Any],
    where: str = "inputs",
    names: Sequence[str] | None = None,
    in_place: bool = False,
) -> tuple[NDArray[Any], NDArray[Any], Scaling]:
    """Standardise inputs, n_samples × n_inputs, by the training part alone.

    Parameters
    ----------
    where, names : for a message: the data set, and the inputs' names
    in_place : whether the given arrays may be overwritten, to save memory

    Returns
    -------
    train, test : arrays of the same shapes
        float32 where that holds every stored value, else float64. In `train` each column has mean 0
        and variance 1 (divided by n_train), or is 0 if it was constant. A column that is constant in
        the training part is 0 in the test part too: nothing was learnt of it, and a value that it
        takes only there would come in unscaled.
    scaling : Scaling
        For inputs that come later.
    """
    dtype = np.result_type(train, np.float32)
    scaled = train, test
    if not (in_place and train.dtype == test.dtype == dtype):
        scaled = np.empty(train.shape, dtype), np.empty(test.shape, dtype)
    scaling = Scaling(np.empty(train.shape[1]), np.empty(train.shape[1]))
    step = max(1, ELEMENTS_AT_A_TIME // (len(train) + len(test)))
    for start in range(0, train.shape[1], step):
        columns = slice(start, start + step)
        *done, scaling.offsets[columns], scaling.factors[columns] = _standardise_columns(
            train[:, columns], test[:, columns]
        )
        bad = np.flatnonzero(~(np.abs(done[1]) < LARGEST_DEVIATION).all(axis=0))
        if bad.size:
            column = start + int(bad[0])
            name = quote_name(names[column]) if names else f"{column + 1}"
            raise ElmldaError(
                f"{where}: column {name} has test values that are more than {LARGEST_DEVIATION:g} "
                "standard deviations from the training values."
            )
        for out, values in zip(scaled, done, strict=True):
            out[:, columns] = values
    return *scaled, scaling


def _standardise_columns(train: NDArray[Any], test: NDArray[Any]) -> tuple[NDArray[np.float64], ...]:
    """Both parts, offsets and factors.

    Scale by the largest value first, so that no square leaves float64, then by the deviation.
    """
    # Halves, so that the difference of the largest two numbers of float64 can be held.
    train, test = np.divide(train, 2, dtype=np.float64), np.divide(test, 2, dtype=np.float64)
    first = train[0].copy()
    train -= first
    # Seen from the values: those of a constant column may have a mean that rounds to another number.
    constant = (train == 0).all(axis=0)
    largest = np.where(constant, 1.0, np.abs(train).max(axis=0))
    train /= largest
    mean, deviation = train.mean(axis=0), np.where(constant, 1.0, train.std(axis=0))
    train = np.where(constant, 0.0, (train - mean) / deviation)
    with np.errstate(over="ignore", invalid="ignore"):
        test = ((test - first) / largest - mean) / deviation
        offsets, factors = 2 * (first + largest * mean), 0.5 / largest / deviation
    return train, np.where(constant, 0.0, test), offsets, np.where(constant, 0.0, factors)
