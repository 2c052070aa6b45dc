"""Ensembles over random subsets: the mean error of 1 to `size` networks combined by mean posteriors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from elmlda.core import FloatArray, IntArray

ALL_DRAWS = -1
"""`left_out` of the rows over all draws; rows below it are batches of draws, see `draw_subsets`."""
N_BATCHES = 200
TIE = 2.0**-30
"""Below float16's smallest step, 2⁻²⁴: equal sums go to the class that comes first, as argmax does."""


def draw_subsets(
    posteriors: NDArray[np.float16],
    labels: IntArray,
    n_draws: int,
    size: int,
    rng: np.random.Generator,
) -> dict[str, FloatArray | IntArray]:
    """Draw `size` networks without replacement, in random order; combine the first 1 to `size`.

    Sums of float16 in float64 are exact, so that the order of addition does not matter.

    Parameters
    ----------
    posteriors : n_networks × n_test × n_classes
    labels : n_test

    Returns
    -------
    columns : size, left_out, draws, errors
        The mean number of errors of `size` networks over all draws (left_out -1), over the draws
        without network left_out (0 or more; NaN if there are none), and over each of 200 consecutive
        batches of draws (left_out -2, -3, …), whose scatter is the Monte Carlo noise.
    """
    orders = rng.permuted(np.tile(np.arange(len(posteriors)), (n_draws, 1)), axis=1)[:, :size]
    errors = count_subset_errors(posteriors, labels, orders).astype(np.float64)
    drawn = np.zeros((n_draws, len(posteriors)))
    np.put_along_axis(drawn, orders, 1.0, axis=1)
    n_without = n_draws - drawn.sum(axis=0)
    with np.errstate(invalid="ignore"):
        without = (errors.sum(axis=0) - drawn.T @ errors) / n_without[:, None]
    batches = np.array_split(errors, min(N_BATCHES, n_draws))
    means = np.vstack([errors.mean(axis=0), without, *(batch.mean(axis=0) for batch in batches)])
    left_out = [ALL_DRAWS, *range(len(posteriors)), *(-2 - np.arange(len(batches)))]
    counts = [n_draws, *n_without, *map(len, batches)]
    return {
        "size": np.tile(np.arange(1, size + 1), len(means)),
        "left_out": np.repeat(np.array(left_out, np.int64), size),
        "draws": np.repeat(np.array(counts, np.int64), size),
        "errors": means.ravel(),
    }


def count_subset_errors(
    posteriors: NDArray[np.float16], labels: IntArray, orders: IntArray
) -> IntArray:
    """Errors (n_draws × size) of the first 1, 2, … networks of each order (n_draws × size)."""
    leads, starts = _list_rivals(posteriors, labels)
    errors = np.zeros(orders.shape, np.int64)
    if len(starts):
        for draw, order in enumerate(orders):
            is_beaten = leads[order].cumsum(axis=0) > 0
            errors[draw] = np.logical_or.reduceat(is_beaten, starts, axis=1).sum(axis=1)
    return errors


def _list_rivals(
    posteriors: NDArray[np.float16], labels: IntArray
) -> tuple[FloatArray, NDArray[np.intp]]:
    """What each class that could win by mistake leads the true one by, in each network.

    Only a class that leads in at least one network can lead in a sum: on MNIST a few in a thousand.

    Returns
    -------
    leads : n_networks × n_rivals, those of one sample side by side
    starts : the first rival of each sample that has one
    """
    n_classes = posteriors.shape[2]
    is_before = np.arange(n_classes) < labels[:, None]
    truth = np.arange(n_classes) == labels[:, None]
    own = np.take_along_axis(posteriors, labels[None, :, None], axis=2)
    is_rival = ((posteriors > own) | ((posteriors == own) & is_before)).any(axis=0) & ~truth
    samples, classes = np.nonzero(is_rival)
    ahead = posteriors[:, samples, classes].astype(np.float64) - own[:, samples, 0]
    leads = ahead + TIE * is_before[samples, classes]
    return leads, np.unique(samples, return_index=True)[1]
