"""Scores in; error counts, posterior probabilities and combinations of classifiers out."""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from elmlda.core.arrays import FloatArray, IntArray
from elmlda.errors import ElmldaError
from elmlda.options import COMBINATIONS


def count_errors(scores: FloatArray, labels: IntArray) -> IntArray:
    """How many samples have their highest score at another class than their own.

    Scores of shape n_samples × … × n_classes give counts of the shape in the middle: one for each
    hidden size, say.
    """
    chosen = scores.argmax(axis=-1)
    truth = labels.reshape(-1, *[1] * (chosen.ndim - 1))
    return np.asarray(np.count_nonzero(chosen != truth, axis=0), np.int64)


def posteriors(scores: FloatArray) -> FloatArray:
    """Posterior probabilities, Eq. (14), of LDA's scores; no score is too large."""
    return np.asarray(softmax(scores, axis=-1))


def require_posteriors(found: FloatArray) -> None:
    """Refuse what can't be posteriors (… × n_classes): each is 0 or more, and all sum to one.

    Float16 rounds each to three digits.
    """
    sums = found.sum(axis=-1)
    bad = np.flatnonzero(~((np.abs(sums - 1) <= 0.01) & (found >= 0).all(axis=-1)).ravel())
    if len(bad):
        raise ElmldaError(
            f"posteriors of sample {bad[0]} do not sum to one, but to {sums.ravel()[bad[0]]:g}, or one "
            "of them is negative."
        )


def round_posteriors(exact: FloatArray, dtype: type[np.floating] = np.float32) -> FloatArray:
    """Posteriors in fewer digits that choose the same classes, also where rounding makes a tie."""
    return _keep_choice(exact.astype(dtype), exact.argmax(axis=-1))


def posteriors_of_choice(scores: FloatArray) -> FloatArray:
    """Posteriors (n_samples × n_classes) that choose what the scores choose, also in near ties."""
    return _keep_choice(posteriors(scores), scores.argmax(axis=-1))


def _keep_choice(rounded: FloatArray, chosen: IntArray) -> FloatArray:
    """Give the chosen class back what rounding took: the smallest step above the others."""
    beaten = np.flatnonzero(rounded.argmax(axis=-1) != chosen)
    highest = rounded[beaten].max(axis=-1)
    rounded[beaten, chosen[beaten]] = np.nextafter(highest, rounded.dtype.type(2))
    return rounded


def combine_posteriors(
    members: FloatArray, scheme: str = "mean", priors: FloatArray | None = None
) -> FloatArray:
    """Combine classifiers by their posterior probabilities, at every ensemble size at once.

    The schemes are those that Kittler et al. study (the paper's reference [5]). All but `product`
    use the posteriors as they are:

    mean
        Unweighted average, the paper's. Assumes that posteriors do not stray far from the priors;
        the most robust to single members that are wrong.
    product
        p₁ · p₂ · … / prior^(n - 1). Right if the members' inputs are independent given the class;
        one member that is sure and wrong is a veto. Posteriors below float32's smallest normal
        number count as that.
    median
        Middle posterior of each class: the mean, but safe from outliers.
    max
        Highest posterior of each class: the mean, if the surest member dominates it.
    vote
        Each member has one vote for its likeliest class: the mean, with posteriors hardened to 0
        and 1. Equal votes go to the higher mean posterior.

    Parameters
    ----------
    members : n_members × n_samples × n_classes posterior probabilities
    priors : n_classes, uniform unless given; only `product` uses them

    Returns
    -------
    combined : array, n_members × n_samples × n_classes
        Entry k is the combination of the first k + 1 members: its highest value is the ensemble's
        choice, and its rows sum to one.
    """
    combination = Combination(scheme, priors)
    return np.stack([combination.add(member) for member in members])


class Combination:
    """Classifiers combined by their posteriors, one more at a time; see `combine_posteriors`."""

    def __init__(self, scheme: str = "mean", priors: FloatArray | None = None) -> None:
        if scheme not in COMBINATIONS:
            raise ValueError(f"scheme is '{scheme}': expected one of {', '.join(COMBINATIONS)}")
        self._scheme = scheme
        self._log_priors = 0.0 if priors is None else np.log(priors)
        self._n_members = 0
        self._total: FloatArray | float = 0.0
        self._kept: list[FloatArray] = []
        """What the scheme needs of the members; all of them for the median only."""

    def add(self, member: FloatArray) -> FloatArray:
        """The combination (n_samples × n_classes) of all members so far, this one included."""
        member = np.asarray(member, np.float64)
        require_posteriors(member)
        self._n_members += 1
        self._total = self._total + member
        mean = self._total / self._n_members
        if self._scheme == "mean":
            return np.asarray(mean)
        if self._scheme == "product":
            logs = self._accumulate(np.log(np.maximum(member, np.finfo(np.float32).tiny)), np.add)
            return posteriors(logs - (self._n_members - 1) * self._log_priors)
        if self._scheme == "vote":
            choices = member.argmax(axis=-1)[..., None] == np.arange(member.shape[-1])
            votes = self._accumulate(choices.astype(np.float64), np.add)
            return np.asarray((votes + mean / 2) / (self._n_members + 0.5))
        if self._scheme == "max":
            return _normalise(self._accumulate(member, np.maximum), mean)
        self._kept.append(member)
        return _normalise(np.median(self._kept, axis=0), mean)

    def _accumulate(self, values: FloatArray, ufunc: np.ufunc) -> FloatArray:
        self._kept = [ufunc(self._kept[0], values) if self._kept else values]
        return self._kept[0]


def _normalise(combined: FloatArray, mean: FloatArray) -> FloatArray:
    """Make rows sum to one; the mean where every class has a median of zero."""
    totals = combined.sum(axis=-1, keepdims=True)
    return np.asarray(np.where(totals > 0, combined, mean) / np.where(totals > 0, totals, 1))
