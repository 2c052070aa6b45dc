"""What users of the estimators pass, checked and read: seeds, samples, numbers, classes."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from elmlda.core.arrays import RealArray, Rows

RandomState = int | np.random.RandomState | np.random.SeedSequence | None


def seed_sequence(random_state: RandomState, key: tuple[int, ...] = (0,)) -> np.random.SeedSequence:
    """The seed sequence of scikit-learn's `random_state`; an int's is that of a run's network `key`."""
    if isinstance(random_state, np.random.SeedSequence):
        return random_state
    if isinstance(random_state, Integral):
        if random_state < 0:
            raise ValueError(f"random_state is {random_state}: expected a number that is not negative.")
        return np.random.SeedSequence(int(random_state), spawn_key=key)
    words = check_random_state(random_state).randint(0, 2**32, size=4, dtype=np.uint32)
    return np.random.SeedSequence([int(word) for word in words], spawn_key=key)


class _DenseRows:
    """Rows of a sparse matrix, made dense as they are taken."""

    def __init__(self, matrix: Any) -> None:
        self._matrix = matrix

    def __len__(self) -> int:
        return int(self._matrix.shape[0])

    def __getitem__(self, rows: slice) -> RealArray:
        return np.asarray(self._matrix[rows].toarray())


def as_rows(X: Any) -> Rows:
    """Samples to be taken in slices, also of a sparse matrix."""
    return _DenseRows(X) if sparse.issparse(X) else X


def require_number(name: str, found: Any, kind: Any, least: float, most: float = np.inf) -> None:
    """Refuse what is not a whole number from `least` on, or, of kind Real, a number above it."""
    wanted = "whole number" if kind is Integral else "number"
    bound = f"from {least} on" if kind is Integral else f"above {least}"
    fits = isinstance(found, kind) and not isinstance(found, bool) and least <= found < np.inf
    if not fits or (kind is Real and found == least):
        raise ValueError(f"{name} is {found!r}: expected a {wanted} {bound}.")
    if found > most:
        raise ValueError(f"{name} is {float(found):g}: expected at most {most:,.15g}.")


def require_one_of(name: str, found: Any, known: Sequence[str]) -> None:
    """Refuse a name that is not among those known."""
    if found not in known:
        raise ValueError(f"{name} is {found!r}: expected one of {', '.join(known)}.")


def known_classes(given: ArrayLike | None, before: NDArray[Any] | None) -> NDArray[Any]:
    """The classes that a stream has, from this call's `classes` or the first one's."""
    if given is None:
        assert before is not None
        return before
    known: NDArray[Any] = np.unique(np.asarray(given))
    if before is not None and not np.array_equal(known, before):
        raise ValueError(f"classes is {given!r}, on the first call it was {before.tolist()}.")
    if len(known) < 2:
        raise ValueError(f"classes is {given!r}: a classifier needs two classes or more.")
    return known
