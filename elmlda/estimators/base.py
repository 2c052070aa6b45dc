"""What one network and an ensemble have in common: parameters, validation, files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from elmlda.core.arrays import FloatArray, IntArray, Rows
from elmlda.errors import ElmldaError
from elmlda.estimators.validation import as_rows, require_number
from elmlda.networks.model import Model, Network, Recipe
from elmlda.networks.model_file import describe_seed, read_model, read_seed, write_model
from elmlda.networks.steps import resolve_priors
from elmlda.settings import NetworkSettings


class ELMBase(ClassifierMixin, BaseEstimator, ABC):
    """What one network and an ensemble have in common: parameters, validation, files."""

    _model: Model
    _is_ensemble = False

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "classes_")

    # Parameters

    def _recipe(self, seed: np.random.SeedSequence) -> Recipe:
        n_inputs = self.n_features_in_
        if self.n_hidden is not None:
            require_number("n_hidden", self.n_hidden, Integral, 1)
            n_hidden = int(self.n_hidden)
        else:
            require_number("fanout", self.fanout, Real, 0)
            n_hidden = max(1, round(self.fanout * n_inputs))
        require_number("batch_size", self.batch_size, Integral, 1)
        require_number("weight_range", self.weight_range, Real, 0)
        require_number("weight_norm", self.weight_norm, Real, 0)
        require_number("min_field", self.min_field, Integral, 1)
        settings = NetworkSettings(
            self.activation,
            self.weight_range,
            precision=self.precision,
            ridge=self._ridge() or 0.0,
            input_weights=self.input_weights,
            weight_norm=self.weight_norm,
            min_field=int(self.min_field),
        )
        return Recipe(seed, n_inputs, n_hidden, settings, self._image_shape(settings))

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

    def _priors(self, class_counts: IntArray) -> FloatArray:
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
        return np.asarray(priors / priors.sum())

    # Data

    def _read_samples(self, X: Any) -> Rows:
        check_is_fitted(self)
        return as_rows(validate_data(self, X, dtype="numeric", accept_sparse="csr", reset=False))

    def _read_labelled(self, X: Any, y: Any, *, reset: bool) -> tuple[Rows, NDArray[Any]]:
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        inputs, y = validate_data(self, X, y, dtype="numeric", accept_sparse="csr", reset=reset)
        check_classification_targets(y)
        return as_rows(inputs), column_or_1d(y)

    def _read_training_data(self, X: Any, y: Any) -> tuple[Rows, NDArray[Any], IntArray]:
        """Rows, the classes, and each row's class index."""
        inputs, found = self._read_labelled(X, y, reset=True)
        classes, labels = np.unique(found, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                f"y has one class, {classes.tolist()[0]!r}: a classifier needs two classes or more."
            )
        return inputs, classes, labels

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

    @abstractmethod
    def _values(self, X: Any) -> FloatArray:
        """Whatever is highest at the chosen class."""

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
        return cls._of_model(model)

    @classmethod
    def _of_model(cls, model: Model) -> Self:
        params = dict(model.params or cls._params_of(model))
        if isinstance(params["random_state"], dict):
            params["random_state"] = read_seed(params["random_state"])
        estimator = cls(**params)
        estimator.classes_ = model.classes
        estimator.n_features_in_ = model.recipe.n_inputs
        if model.feature_names is not None:
            estimator.feature_names_in_ = model.feature_names
        estimator._model = model
        return estimator

    @staticmethod
    def _params_of(model: Model) -> dict[str, Any]:
        """Parameters that train such a network, of one that no estimator has trained."""
        network, settings = model.networks[0], model.recipe.settings
        params = {
            "n_hidden": model.recipe.n_hidden,
            "activation": settings.activation,
            "weight_range": settings.weight_range,
            "input_weights": settings.input_weights,
            "weight_norm": settings.weight_norm,
            "min_field": settings.min_field,
            "image_shape": model.recipe.image_shape,
            "ridge": network.ridge,
            "priors": None if network.priors is None else network.priors.tolist(),
            "precision": settings.precision,
        }
        params["random_state"] = describe_seed(model.root_seed)
        if model.is_ensemble:
            return params | {"n_estimators": len(model.networks), "combine": model.combine}
        return params | {"output": "lda" if model.has_posteriors else "pi"}

    def _fitted_model(self) -> Model:
        return self._model

    def _make_model(
        self, networks: tuple[Network, ...], classes: NDArray[Any], combine: str | None = None
    ) -> Model:
        """The networks with all that a file needs to know."""
        names = getattr(self, "feature_names_in_", None)
        model = Model(networks, classes, combine, feature_names=names)
        params = self.get_params(deep=False)
        if isinstance(self.random_state, np.random.SeedSequence | np.random.RandomState):
            params["random_state"] = describe_seed(model.root_seed)
        return replace(model, params={name: _as_plain(value) for name, value in params.items()})


def _as_plain(value: Any) -> Any:
    """A parameter as JSON has it."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return list(value) if isinstance(value, tuple) else value
