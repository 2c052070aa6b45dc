"""The parameters of one network and of an ensemble, and the recipe that they make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from elmlda.core import FloatArray, IntArray
from elmlda.networks.cost import CHUNK
from elmlda.networks.train import Recipe
from elmlda.options import LEAVE_ONE_OUT, number, whole
from elmlda.settings import NetworkSettings, OutputSettings, usual_hidden, usual_weight_range

SETTINGS = tuple(each.name for each in fields(NetworkSettings) if each.name != "input_scale")
"""Parameters that are settings of the network by the same name."""

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
    ridge: float | str = LEAVE_ONE_OUT
    temperature: float | str = LEAVE_ONE_OUT
    priors: ArrayLike | str = "frequencies"
    class_weight: Mapping[Any, float] | str | None = None
    precision: str = "mixed"
    batch_size: int = CHUNK
    input_weights: str = "uniform"
    weight_norm: float = 2.0
    min_field: int = 10
    image_shape: tuple[int, int] | None = None
    random_state: RandomState = None

    @property
    def _chunk(self) -> int:
        found: int = whole().check("batch_size", self.batch_size)
        return found

    def _recipe(self, seed: np.random.SeedSequence) -> Recipe:
        n_inputs = self.n_features_in_
        chosen = {name: getattr(self, name) for name in SETTINGS}
        if self.weight_range is None:
            chosen["weight_range"] = usual_weight_range(n_inputs, self.bias)
        settings = NetworkSettings(**chosen)
        shape = self._image_shape() if settings.has_fields else None
        return Recipe(seed, n_inputs, self._count_hidden(n_inputs), settings, shape)

    def _count_hidden(self, n_inputs: int) -> int:
        n_hidden = self.n_hidden
        if n_hidden is None and self.fanout is None:
            n_hidden = usual_hidden(n_inputs)
        elif n_hidden is None:
            n_hidden = max(1, round(number(above=True).check("fanout", self.fanout) * n_inputs))
        found: int = whole().check("n_hidden", n_hidden)
        return found

    def _image_shape(self) -> tuple[int, int]:
        if self.image_shape is None:
            raise ValueError(
                f"input_weights={self.input_weights!r} needs image_shape: rows and columns of a sample."
            )
        rows, columns = (whole().check("image_shape", size) for size in self.image_shape)
        return rows, columns

    def _output_settings(self) -> OutputSettings:
        return OutputSettings(self.ridge, self.temperature)

    def _class_weights(
        self, classes: NDArray[Any], class_counts: IntArray | FloatArray | None
    ) -> FloatArray | None:
        """A weight for each class, None if all weigh the same; "balanced" needs the classes' counts."""
        given = self.class_weight
        if given is None:
            return None
        if given == "balanced" and class_counts is not None:
            return np.asarray(class_counts.sum() / (len(classes) * class_counts))
        if not isinstance(given, Mapping):
            known = "a dict of weights" if class_counts is None else "'balanced', a dict or None"
            raise ValueError(f"class_weight is {given!r}: expected {known}.")
        if strange := [label for label in given if label not in classes]:
            raise ValueError(f"class_weight has {strange[0]!r}, classes are {classes.tolist()}.")
        weights = (given.get(label, 1.0) for label in classes.tolist())
        return np.array([number(above=True).check("class_weight", weight) for weight in weights])


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
