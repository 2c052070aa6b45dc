"""The base of both estimators: reading data, predictions, files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import log_softmax
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_array,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from elmlda.core import FloatArray, RealArray, Rows
from elmlda.core.evaluate import posteriors_of_choice
from elmlda.errors import ElmldaError
from elmlda.estimators.parameters import SETTINGS, NetworkParameters, as_plain
from elmlda.networks.model import Model, Network, fit_network
from elmlda.networks.model_file import describe_seed, read_model, read_seed, write_model
from elmlda.networks.train import Trainer


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


class ELMBase(ClassifierMixin, NetworkParameters, ABC):
    """Training, predictions and files of one network and of an ensemble."""

    _model: Model
    _is_ensemble = False
    _trainer: Trainer | None = None
    """The sums that a single network's `partial_fit` adds to."""
    _is_stream = False

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "classes_")

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
        self._model, self.classes_ = self._make_model(self._train(train), classes), classes
        return self

    @abstractmethod
    def _train(self, train: Callable[..., Network]) -> tuple[Network, ...]:
        """The networks that `train` makes, each from its recipe."""

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
        return found(inputs, self._chunk)

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
        """The estimator that has such a model."""
        params = dict(model.params or cls._params_of(model))
        if isinstance(params["random_state"], dict):
            params["random_state"] = read_seed(params["random_state"])
        estimator = cls(**params)
        estimator.n_features_in_ = model.recipe.n_inputs
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
            "image_shape": model.recipe.image_shape,
            "ridge": network.ridge,
            "temperature": network.temperature,
            "random_state": describe_seed(model.root_seed),
        }
        if model.is_ensemble:
            return params | {"n_estimators": len(model.networks)}
        return params | {"output": "lda" if model.has_posteriors else "pi"}

    def _fitted_model(self) -> Model:
        return self._model

    def _make_model(self, networks: tuple[Network, ...], classes: NDArray[Any]) -> Model:
        """The networks with all that a file needs to know."""
        params = self.get_params(deep=False)
        names = getattr(self, "feature_names_in_", None)
        model = Model(networks, classes, self._is_ensemble, feature_names=names)
        if isinstance(self.random_state, np.random.SeedSequence | np.random.RandomState):
            params["random_state"] = describe_seed(model.root_seed)
        return replace(model, params={name: as_plain(value) for name, value in params.items()})
