"""What one network and an ensemble have in common: parameters, validation, predictions, files."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from elmlda.core.arrays import FloatArray, IntArray, Rows
from elmlda.core.evaluate import posteriors_of_choice
from elmlda.errors import ElmldaError
from elmlda.estimators.validation import RandomState, as_rows, require_number
from elmlda.networks.model import Model, Network, Recipe
from elmlda.networks.model_file import describe_seed, read_model, read_seed, write_model
from elmlda.networks.steps import resolve_priors
from elmlda.settings import DEFAULT_CHUNK, DEFAULT_RIDGE, PRIORS_TOLERANCE, NetworkSettings

SETTINGS = ("activation", "bias", "input_weights", "weight_norm", "min_field", "precision")
"""Parameters that are settings of the network by the same name."""
FEWEST_HIDDEN, USUAL_FANOUT = 500, 10
"""Hidden units unless given: 10 for each feature, but no fewer than 500."""
PAPER_RANGE = 0.5
MOST_HIDDEN = 10**8
"""Far more hidden units than any memory holds: their squares are still numbers."""


class TrainingData(NamedTuple):
    """Samples, their class indices, and their weights if they have some."""

    inputs: Rows
    labels: IntArray
    n_classes: int
    weights: FloatArray | None


class FittedModel:
    """What an estimator has when it is fitted, and what it is: none of it a parameter."""

    _model: Model
    _is_ensemble = False


# A dataclass, since scikit-learn reads the parameters from the signature of __init__.
@dataclass(kw_only=True, eq=False, repr=False)
class ELMBase(FittedModel, ClassifierMixin, BaseEstimator, ABC):
    """Parameters, validation, predictions and files of one network and of an ensemble."""

    n_hidden: int | None = None
    fanout: float | None = None
    activation: str = "tanh"
    bias: bool = True
    weight_range: float | None = None
    ridge: float | str = DEFAULT_RIDGE
    priors: ArrayLike | str | None = None
    precision: str = "mixed"
    batch_size: int = DEFAULT_CHUNK
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

    # Parameters

    def _require_parameters(self) -> None:
        """Refuse parameters that no network can have, beyond what `_recipe` and `_priors` refuse."""
        if not isinstance(self.bias, bool | np.bool_):
            raise ValueError(f"bias is {self.bias!r}: expected True or False.")
        require_number("batch_size", self.batch_size, Integral, 1)

    def _recipe(self, seed: np.random.SeedSequence) -> Recipe:
        n_inputs = self.n_features_in_
        require_number("weight_norm", self.weight_norm, Real, 0)
        require_number("min_field", self.min_field, Integral, 1)
        chosen = {name: _as_plain(getattr(self, name)) for name in SETTINGS}
        weight_range = self._weight_range(n_inputs)
        settings = NetworkSettings(**chosen, weight_range=weight_range, ridge=self._ridge() or 0.0)
        shape = self._image_shape(settings)
        return Recipe(seed, n_inputs, self._count_hidden(n_inputs), settings, shape)

    def _count_hidden(self, n_inputs: int) -> int:
        if self.n_hidden is not None:
            require_number("n_hidden", self.n_hidden, Integral, 1, MOST_HIDDEN)
            return int(self.n_hidden)
        if self.fanout is None:
            return max(FEWEST_HIDDEN, USUAL_FANOUT * n_inputs)
        require_number("fanout", self.fanout, Real, 0, MOST_HIDDEN / n_inputs)
        return max(1, round(self.fanout * n_inputs))

    def _weight_range(self, n_inputs: int) -> float:
        if self.weight_range is None:
            return 1 / math.sqrt(n_inputs) if self.bias else PAPER_RANGE
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

    def _ridge(self) -> float | None:
        if isinstance(self.ridge, str) and self.ridge == "auto":
            return None
        if not isinstance(self.ridge, Real):
            raise ValueError(f"ridge is {self.ridge!r}: expected a number or 'auto'.")
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

    # Data

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
            A sample of weight w counts as w samples, in `priors="frequencies"`, too; of weight 0 as
            none.

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
        self._require_parameters()
        priors = self._priors(np.bincount(labels, weights))
        networks = self._train(TrainingData(inputs, labels, len(classes), weights), priors)
        self._model, self.classes_ = self._make_model(networks, classes), classes
        return self

    @abstractmethod
    def _train(self, data: TrainingData, priors: FloatArray | None) -> tuple[Network, ...]:
        """The networks of these samples."""

    def _read_samples(self, X: Any) -> Rows:
        check_is_fitted(self)
        return as_rows(validate_data(self, X, dtype="numeric", accept_sparse="csr", reset=False))

    def _read_labelled(
        self, X: Any, y: Any, sample_weight: Any, *, reset: bool
    ) -> tuple[Rows, NDArray[Any], FloatArray | None]:
        """Samples, labels and weights; samples of weight 0 are left out."""
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        inputs, y = validate_data(self, X, y, dtype="numeric", accept_sparse="csr", reset=reset)
        check_classification_targets(y)
        labels = column_or_1d(y)
        if sample_weight is None:
            return as_rows(inputs), labels, None
        weights = _check_sample_weight(
            sample_weight, inputs, dtype=np.float64, ensure_non_negative=True
        )
        kept = weights > 0
        if not kept.any():
            raise ValueError("sample_weight is 0 for every sample: expected some above 0.")
        if not kept.all():
            inputs, labels, weights = inputs[kept], labels[kept], weights[kept]
        return as_rows(inputs), labels, weights

    # Predictions

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

    def _has_posteriors(self) -> bool:
        return True

    @available_if(lambda self: self._has_posteriors())
    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Posterior probabilities of the classes, Eq. (14).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            Rows sum to one, and the highest is at the class that `predict` chooses.
        """
        values = self._values(X)
        return values if self._is_ensemble else posteriors_of_choice(values)

    @available_if(lambda self: self._has_posteriors())
    def predict_log_proba(self, X: ArrayLike) -> FloatArray:
        """Logarithms of what `predict_proba` gives; a single network's are exact however small."""
        values = self._values(X)
        if not self._is_ensemble:
            return np.asarray(log_softmax(values, axis=1))
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(values))

    def _values(self, X: Any) -> FloatArray:
        """Whatever is highest at the chosen class: a network's scores, an ensemble's posteriors."""
        inputs, model = self._read_samples(X), self._fitted_model()
        found = model.posteriors if self._is_ensemble else model.scores
        return found(inputs, self.batch_size)

    # Files

    def save(self, path: str | PathLike[str], *, with_input_weights: bool = False) -> None:
        """Write the fitted estimator to one .npz file, without pickle.

        Parameters
        ----------
        path : path
            Replaced if it is there, in one step. No suffix is added.
        with_input_weights : bool, default=False
            Keep the random input weights themselves. Without them the file has the seed that they
            are drawn from (at 10 hidden units a feature, a file of a fortieth of the size for MNIST)
            and their checksum; should a future numpy draw others, `load` says so.

        Notes
        -----
        Training cannot go on from the file: to continue with `partial_fit` later, use pickle or
        joblib.
        """
        check_is_fitted(self)
        write_model(Path(path), self._fitted_model(), with_input_weights)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read what `save`, or `elmlda train`, has written.

        Parameters
        ----------
        path : path

        Returns
        -------
        estimator : ELMClassifier or ELMEnsembleClassifier
            Fitted. A network that `elmlda train` has made takes what it was trained on, bytes of
            0 to 255 for MNIST.

        Raises
        ------
        ElmldaError
            If there is no such file, or it is damaged or something else.
        """
        model = read_model(Path(path))
        if model.is_ensemble != cls._is_ensemble:
            kind = "an ensemble" if model.is_ensemble else "a single network"
            right = "ELMEnsembleClassifier" if model.is_ensemble else "ELMClassifier"
            raise ElmldaError(f"{path}: the file of {kind}: use {right}.load.")
        try:
            return cls._of_model(model)
        except (TypeError, ValueError, KeyError, AttributeError, OverflowError) as error:
            raise ElmldaError(f"{path}: its estimator's parameters are not sound: {error}") from error

    @classmethod
    def _of_model(cls, model: Model) -> Self:
        """The estimator that has such a model; raises if its parameters could not have made it."""
        params = dict(model.params or cls._params_of(model))
        params.setdefault("bias", model.recipe.settings.bias)  # files from before there was one
        if isinstance(params["random_state"], dict):
            params["random_state"] = read_seed(params["random_state"])
        estimator = cls(**params)
        estimator.n_features_in_ = model.recipe.n_inputs
        estimator._require_parameters()
        estimator._recipe(model.recipe.seed)
        estimator.classes_ = model.classes
        if model.feature_names is not None:
            estimator.feature_names_in_ = model.feature_names
        estimator._model = model
        return estimator

    @staticmethod
    def _params_of(model: Model) -> dict[str, Any]:
        """Parameters that train such a network, of one that no estimator has trained."""
        network, settings = model.networks[0], model.recipe.settings
        params: dict[str, Any] = {
            **{name: getattr(settings, name) for name in SETTINGS},
            "n_hidden": model.recipe.n_hidden,
            "weight_range": settings.weight_range,
            "image_shape": model.recipe.image_shape,
            "ridge": network.ridge,
            "priors": None if network.priors is None else network.priors.tolist(),
            "random_state": describe_seed(model.root_seed),
        }
        if model.is_ensemble:
            return params | {"n_estimators": len(model.networks), "combine": model.combine}
        return params | {"output": "lda" if model.has_posteriors else "pi"}

    def _fitted_model(self) -> Model:
        return self._model

    def _make_model(self, networks: tuple[Network, ...], classes: NDArray[Any]) -> Model:
        """The networks with all that a file needs to know."""
        params = self.get_params(deep=False)
        names = getattr(self, "feature_names_in_", None)
        model = Model(networks, classes, params.get("combine"), feature_names=names)
        if isinstance(self.random_state, np.random.SeedSequence | np.random.RandomState):
            params["random_state"] = describe_seed(model.root_seed)
        return replace(model, params={name: _as_plain(value) for name, value in params.items()})


def _as_plain(value: Any) -> Any:
    """A parameter as JSON has it."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return list(value) if isinstance(value, tuple) else value
