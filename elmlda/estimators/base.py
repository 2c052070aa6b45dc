"""The base of both estimators: parameters, reading data, predictions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_array,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from elmlda.core import FloatArray, IntArray, RealArray, Rows
from elmlda.networks.cost import CHUNK
from elmlda.networks.model import Network, fit_network
from elmlda.networks.train import Recipe
from elmlda.options import LEAVE_ONE_OUT, number, whole
from elmlda.settings import NetworkSettings, OutputSettings, usual_hidden, usual_weight_range

SETTINGS = tuple(each.name for each in fields(NetworkSettings) if each.name != "input_scale")
"""Parameters that are settings of the network by the same name."""

RandomState = int | np.random.RandomState | np.random.SeedSequence | None


# A dataclass, since scikit-learn reads the parameters from the signature of __init__.
@dataclass(kw_only=True, eq=False, repr=False)
class ELMBase(ClassifierMixin, BaseEstimator, ABC):
    """Parameters, training and predictions of one network and of an ensemble.

    `ELMClassifier` documents the parameters.
    """

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

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "classes_")

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train on samples that are all there.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Integers and float32 are taken as they are, without a copy; sparse rows are made dense
            `batch_size` at a time.
        y : array-like of shape (n_samples,)
            Class labels, numbers or strings.
        sample_weight : array-like of shape (n_samples,), default=None
            A sample of weight w counts as w samples, in the priors and in leaving one out, too; of
            weight 0 as none.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        inputs, found, weights = self._read_labelled(X, y, sample_weight, reset=True)
        classes, labels = np.unique(found, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                f"y has one class, {classes.tolist()[0]!r}: a classifier needs two classes or more."
            )
        train = partial(
            fit_network,
            inputs=inputs,
            labels=labels,
            settings=self._output_settings(),
            n_classes=len(classes),
            chunk=self._chunk,
            weights=weights,
            class_weights=self._class_weights(classes, np.bincount(labels, weights)),
        )
        self._train(train)
        self.classes_ = classes
        return self

    @abstractmethod
    def _train(self, train: Callable[..., Network]) -> None:
        """Keep the networks that `train` makes, each from its recipe."""

    def _read_samples(self, X: Any) -> Rows:
        check_is_fitted(self)
        return as_rows(validate_data(self, X, dtype="numeric", accept_sparse="csr", reset=False))

    def _read_labelled(
        self, X: Any, y: Any, sample_weight: Any, *, reset: bool
    ) -> tuple[Rows, NDArray[Any], FloatArray | None]:
        """Samples, labels and weights; samples of weight 0 are left out."""
        inputs, y = validate_data(self, X, y, dtype="numeric", accept_sparse="csr", reset=reset)
        check_classification_targets(y)
        labels = column_or_1d(y)
        if sample_weight is None:
            return as_rows(inputs), labels, None
        weights = check_array(
            sample_weight, dtype=np.float64, ensure_2d=False, input_name="sample_weight"
        )
        if weights.shape != labels.shape or (weights < 0).any():
            raise ValueError(
                f"sample_weight has shape {weights.shape} and numbers from {weights.min():g} on: "
                f"expected {labels.shape} and 0 or more."
            )
        kept = weights > 0
        if not kept.any():
            raise ValueError("sample_weight is zero for every sample: expected some above 0.")
        if not kept.all():
            inputs, labels, weights = inputs[kept], labels[kept], weights[kept]
        return as_rows(inputs), labels, weights

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Classify samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The class of the highest score, and so of the highest probability.
        """
        chosen = self._values(X).argmax(axis=1)
        return np.asarray(self.classes_[chosen])

    @abstractmethod
    def _values(self, X: Any) -> FloatArray:
        """What is highest for the predicted class: a network's scores, an ensemble's posteriors."""

    # What the parameters say

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
