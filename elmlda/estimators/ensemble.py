"""Several networks, their posterior probabilities combined."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.parallel import Parallel, delayed

from elmlda.core.arrays import FloatArray
from elmlda.estimators.base import ELMBase
from elmlda.estimators.classifier import ELMClassifier
from elmlda.estimators.validation import RandomState, require_number, seed_sequence
from elmlda.networks.model import Model, train_network
from elmlda.settings import COMBINATIONS, DEFAULT_CHUNK, DEFAULT_RIDGE


class ELMEnsembleClassifier(ELMBase):
    """Several LDA-ELM networks on the same data, their posterior probabilities combined.

    Parameters
    ----------
    n_estimators : int, default=10
        Number of networks.
    combine : {"mean", "product", "median", "max", "vote"}, default="mean"
        See `elmlda.core.evaluate.combine_posteriors`. "mean" is the paper's.
    n_jobs : int, default=None
        Networks trained side by side, each in a process. None is 1 unless in a joblib context; -1 is
        as many as there are cores. One network alone uses all cores by itself, so this pays off for
        many small networks.
    n_hidden, fanout, activation, weight_range, ridge, priors, precision, batch_size, \
            input_weights, weight_norm, min_field, image_shape
        Of each network: see `ELMClassifier`.
    random_state : int, RandomState instance, SeedSequence or None, default=None
        Determines the input weights. With an int `s`, network i is network i of
        `elmlda ensemble --seed s`; otherwise as in `ELMClassifier`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen during `fit`; only if all are strings.
    estimators_ : list of ELMClassifier
        The networks.

    See Also
    --------
    ELMClassifier : One network.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from elmlda import ELMEnsembleClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> ensemble = ELMEnsembleClassifier(n_estimators=3, random_state=0).fit(X, y)
    >>> ensemble.predict(X[:2])
    array([0, 0])
    """

    _is_ensemble = True

    def __init__(
        self,
        n_estimators: int = 10,
        combine: str = "mean",
        n_jobs: int | None = None,
        n_hidden: int | None = None,
        fanout: float = 10,
        activation: str = "tanh",
        weight_range: float = 0.5,
        ridge: float | str = DEFAULT_RIDGE,
        priors: ArrayLike | str | None = None,
        precision: str = "mixed",
        batch_size: int = DEFAULT_CHUNK,
        input_weights: str = "uniform",
        weight_norm: float = 2.0,
        min_field: int = 10,
        image_shape: tuple[int, int] | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.combine = combine
        self.n_jobs = n_jobs
        self.n_hidden = n_hidden
        self.fanout = fanout
        self.activation = activation
        self.weight_range = weight_range
        self.ridge = ridge
        self.priors = priors
        self.precision = precision
        self.batch_size = batch_size
        self.input_weights = input_weights
        self.weight_norm = weight_norm
        self.min_field = min_field
        self.image_shape = image_shape
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Train the networks.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        self : object
            Fitted estimator.
        """
        inputs, classes, labels = self._read_training_data(X, y)
        require_number("n_estimators", self.n_estimators, Integral, 1)
        if self.combine not in COMBINATIONS:
            raise ValueError(f"combine is {self.combine!r}: expected one of {', '.join(COMBINATIONS)}.")
        root = seed_sequence(self.random_state, key=())
        recipes = [
            self._recipe(np.random.SeedSequence(root.entropy, spawn_key=(*root.spawn_key, i)))
            for i in range(self.n_estimators)
        ]
        counts = np.bincount(labels)
        priors, ridge = self._priors(counts), self._ridge()
        networks = Parallel(n_jobs=self.n_jobs)(
            delayed(train_network)(recipe, inputs, labels, ridge, priors, len(counts), self.batch_size)
            for recipe in recipes
        )
        self._model, self.classes_ = self._make_model(tuple(networks), classes, self.combine), classes
        return self

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Posterior probabilities, combined.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            Rows sum to one, and the highest is at the class that `predict` chooses.
        """
        return self._values(X)

    def predict_log_proba(self, X: ArrayLike) -> FloatArray:
        """Logarithms of the combined posterior probabilities.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_classes)
        """
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self._values(X)))

    def _values(self, X: Any) -> FloatArray:
        inputs = self._read_samples(X)
        return self._model.posteriors(inputs, self.batch_size)

    @property
    def estimators_(self) -> list[ELMClassifier]:
        if not hasattr(self, "_model"):
            raise AttributeError(f"this {type(self).__name__} is not fitted yet.")
        found = []
        for network in self._model.networks:
            member = Model((network,), self.classes_, feature_names=self._model.feature_names)
            found.append(ELMClassifier._of_model(member))
        return found
