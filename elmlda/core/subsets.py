"""Errors of ensembles over random subsets of networks; an ensemble averages posteriors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from elmlda.core import FloatArray, IntArray

ALL_DRAWS = -1
"""`left_out` of the rows over all draws; lower values are batches of draws, see `draw_subsets`."""
N_BATCHES = 200
TIE = 2.0**-30
"""A lead smaller than float16's smallest step, 2⁻²⁴. It gives ties to the first class, like argmax.
Earlier versions kept posteriors in float16, whose sums tie; in float64 only equal posteriors do."""


def draw_subsets(
    posteriors: FloatArray,
    labels: IntArray,
    n_draws: int,
    size: int,
    rng: np.random.Generator,
) -> dict[str, FloatArray | IntArray]:
    """Draw `size` networks without replacement, and combine the first 1 to `size` of each draw.

    Sums of float16 values are exact in float64 and do not depend on the order of addition.

    Parameters
    ----------
    posteriors : n_networks × n_test × n_classes
    labels : n_test

    Returns
    -------
    columns : size, left_out, draws, errors
        The mean number of errors of `size` networks over all draws (left_out -1), over the draws
        without network left_out (0 or more; NaN if there are none), and over each of 200 consecutive
        batches of draws (left_out -2, -3, …). The batches' scatter is the Monte Carlo noise.
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


def count_subset_errors(posteriors: FloatArray, labels: IntArray, orders: IntArray) -> IntArray:
    """Count errors (n_draws × size) of the first 1, 2, … networks of each order (n_draws × size)."""
    leads, starts = _list_rivals(posteriors, labels)
    errors = np.zeros(orders.shape, np.int64)
    if len(starts):
        for draw, order in enumerate(orders):
            is_ahead = leads[order].cumsum(axis=0) > 0
            errors[draw] = np.logical_or.reduceat(is_ahead, starts, axis=1).sum(axis=1)
    return errors


def _list_rivals(posteriors: FloatArray, labels: IntArray) -> tuple[FloatArray, NDArray[np.intp]]:
    """Return the lead of each rival class over the true class in each network.

    Only a class that leads in at least one network can lead in a sum. On MNIST these are a few in a
    thousand.

    Returns
    -------
    leads : n_networks × n_rivals, grouped by sample
    starts : the first rival of each sample that has one
    """
    n_classes = posteriors.shape[2]
    is_before = np.arange(n_classes) < labels[:, None]
    truth = np.arange(n_classes) == labels[:, None]
    own = np.take_along_axis(posteriors, labels[None, :, None], axis=2)
    is_rival = ((posteriors > own) | ((posteriors == own) & is_before)).any(axis=0) & ~truth
    samples, classes = np.nonzero(is_rival)
    ahead = posteriors[:, samples, classes].astype(np.float64) - own[:, samples, 0]
    tie = TIE if posteriors.dtype == np.float16 else np.finfo(np.float64).tiny
    leads = ahead + tie * is_before[samples, classes]
    return leads, np.unique(samples, return_index=True)[1]
