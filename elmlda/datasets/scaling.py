"""Standardised inputs: mean 0 and variance 1 in the training part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

ELEMENTS_AT_A_TIME = 1 << 19
"""Bounds the float64 copy of what is being scaled."""


@dataclass(frozen=True, eq=False)
class Scaling:
    """How inputs as they were stored became standardised: (inputs - offsets) * factors."""

    offsets: NDArray[np.float64]
    factors: NDArray[np.float64]
    """0 for an input that was constant in the training part."""

    def apply(self, inputs: NDArray[Any]) -> NDArray[np.float64]:
        """Scale further inputs; a missing value (NaN) becomes 0, the training part's mean."""
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows has no finite score
            return np.where(np.isnan(inputs), 0.0, (inputs - self.offsets) * self.factors)

    def then(self, other: Scaling) -> Scaling:
        """Scale by this, then by the other, as one."""
        factors = np.where(self.factors == 0, 1.0, self.factors)
        return Scaling(self.offsets + other.offsets / factors, self.factors * other.factors)


def standardise(
    train: NDArray[Any], test: NDArray[Any], in_place: bool = False
) -> tuple[NDArray[Any], NDArray[Any], Scaling]:
    """Standardise inputs, n_samples × n_inputs, by the training part alone.

    The results are float32 where that holds every stored value, else float64. Missing values (NaN) are
    filled with the training part's mean. A column that is constant in the training part is 0 in both:
    nothing was learnt of it, and a value that only the test part has would come in unscaled.
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
        for out, values in zip(scaled, done, strict=True):
            out[:, columns] = values
    return *scaled, scaling


def _standardise_columns(train: NDArray[Any], test: NDArray[Any]) -> tuple[NDArray[np.float64], ...]:
    """Both parts, offsets and factors."""
    # Halves, so that the difference of the largest two numbers of float64 can be held.
    train, test = np.divide(train, 2, dtype=np.float64), np.divide(test, 2, dtype=np.float64)
    if np.isnan(train).any() or np.isnan(test).any():
        means = np.nansum(train, axis=0) / np.maximum(1, (~np.isnan(train)).sum(axis=0))
        train, test = (np.where(np.isnan(part), means, part) for part in (train, test))
    first = train[0].copy()
    train -= first
    # Seen from the values: those of a constant column may have a mean that rounds to another number.
    constant = (train == 0).all(axis=0)
    # By the largest value first, so that no square leaves float64, then by the deviation.
    largest = np.where(constant, 1.0, np.abs(train).max(axis=0))
    train /= largest
    mean, deviation = train.mean(axis=0), np.where(constant, 1.0, train.std(axis=0))
    train = np.where(constant, 0.0, (train - mean) / deviation)
    with np.errstate(over="ignore", invalid="ignore"):
        test = ((test - first) / largest - mean) / deviation
        offsets, factors = 2 * (first + largest * mean), 0.5 / largest / deviation
    return train, np.where(constant, 0.0, test), offsets, np.where(constant, 0.0, factors)
