"""The parameters of one network and of an ensemble, and the recipe that they make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from elmlda.core.arrays import FloatArray, IntArray
from elmlda.networks.cost import CHUNK
from elmlda.networks.train import Recipe, Ridge, resolve_priors
from elmlda.options import PRIORS_TOLERANCE
from elmlda.settings import DEFAULT_RIDGE, NetworkSettings, usual_hidden, usual_weight_range

SETTINGS = ("activation", "bias", "input_weights", "weight_norm", "min_field", "precision")
"""Parameters that are settings of the network by the same name."""
MOST_HIDDEN = 10**8
"""Far more hidden units than any memory holds: their squares are still numbers."""

RandomState = int | np.random.RandomState | np.random.SeedSequence | None


# A dataclass, since scikit-learn reads the parameters from the signature of __init__.
@dataclass(kw_only=True, eq=False, repr=False)
class NetworkParameters(BaseEstimator):
    """Parameters that describe a network; `ELMClassifier` documents them."""

    n_hidden: int | None = None
    fanout: float | None = None
    activation: str = "tanh"
    bias: bool = True
    weight_range: float | None = None
    ridge: float | str = DEFAULT_RIDGE
    priors: ArrayLike | str | None = None
    precision: str = "mixed"
    batch_size: int = CHUNK
    input_weights: str = "uniform"
    weight_norm: float = 2.0
    min_field: int = 10
    image_shape: tuple[int, int] | None = None
    random_state: RandomState = None

    def _require_parameters(self) -> None:
        """Refuse parameters that no network can have, beyond what `_recipe` and `_priors` refuse."""
        if not isinstance(self.bias, bool | np.bool_):
            raise ValueError(f"bias is {self.bias!r}: expected True or False.")
        require_number("batch_size", self.batch_size, Integral, 1)
        self._ridge()

    def _recipe(self, seed: np.random.SeedSequence) -> Recipe:
        n_inputs = self.n_features_in_
        require_number("weight_norm", self.weight_norm, Real, 0)
        require_number("min_field", self.min_field, Integral, 1)
        chosen = {name: as_plain(getattr(self, name)) for name in SETTINGS}
        weight_range = self._weight_range(n_inputs)
        settings = NetworkSettings(**chosen, weight_range=weight_range)
        shape = self._image_shape(settings)
        return Recipe(seed, n_inputs, self._count_hidden(n_inputs), settings, shape)

    def _count_hidden(self, n_inputs: int) -> int:
        if self.n_hidden is not None:
            require_number("n_hidden", self.n_hidden, Integral, 1, MOST_HIDDEN)
            return int(self.n_hidden)
        if self.fanout is None:
            return usual_hidden(n_inputs)
        require_number("fanout", self.fanout, Real, 0, MOST_HIDDEN / n_inputs)
        return max(1, round(self.fanout * n_inputs))

    def _weight_range(self, n_inputs: int) -> float:
        if self.weight_range is None:
            return usual_weight_range(n_inputs, self.bias)
        require_number("weight_range", self.weight_range, Real, 0)
        return float(self.weight_range)

    def _image_shape(self, settings: NetworkSettings) -> tuple[int, int] | None:
        if not settings.has_fields:
            return None
        if self.image_shape is None:
            raise ValueError(
                f"input_weights={self.input_weights!r} needs image_shape: rows and columns of a sample."
            )
        rows, columns = self.image_shape
        for size in (rows, columns):
            require_number("image_shape", size, Integral, 1)
        return int(rows), int(columns)

    def _ridge(self) -> Ridge:
        if isinstance(self.ridge, str) and self.ridge == "auto":
            return "gcv"
        if not isinstance(self.ridge, Real) or not 0 <= self.ridge < np.inf:
            raise ValueError(f"ridge is {self.ridge!r}: expected a number of 0 or more, or 'auto'.")
        return float(self.ridge)

    def _priors(self, class_counts: IntArray | FloatArray) -> FloatArray | None:
        if self.priors is None or isinstance(self.priors, str):
            if self.priors not in (None, "uniform", "frequencies"):
                raise ValueError(
                    f"priors is {self.priors!r}: expected None, 'uniform', 'frequencies' or an array."
                )
            return resolve_priors(self.priors or "uniform", class_counts)
        priors = np.asarray(self.priors, np.float64)
        if priors.shape != class_counts.shape or not (np.isfinite(priors) & (priors > 0)).all():
            raise ValueError(
                f"priors is {self.priors!r}: expected {len(class_counts)} numbers above zero, "
                "one for each class."
            )
        with np.errstate(over="ignore"):
            total = priors.sum()
        if not abs(total - 1) <= PRIORS_TOLERANCE:
            raise ValueError(f"priors is {self.priors!r}: the sum is {total:g}, expected 1.")
        return np.asarray(priors / total)


def as_plain(value: Any) -> Any:
    """A parameter as JSON has it."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return list(value) if isinstance(value, tuple) else value


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


def require_number(name: str, found: Any, kind: Any, least: float, most: float = np.inf) -> None:
    """Refuse anything but a whole number from `least` on, or, of kind Real, a number above it."""
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
