"""Several networks, their posterior probabilities averaged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from elmlda.core import FloatArray
from elmlda.estimators.base import ELMBase, seed_sequence
from elmlda.estimators.classifier import ELMClassifier
from elmlda.networks.model import Network, mean_posteriors
from elmlda.options import whole


@dataclass(kw_only=True, eq=False, repr=False)
class ELMEnsembleClassifier(ELMBase):
    """Several LDA-ELM networks on the same data, their posterior probabilities averaged.

    Parameters
    ----------
    n_estimators : int, default=10
        Number of networks.
    n_jobs : int, default=None
        Networks trained side by side, each in a process. None is 1 unless in a joblib context; -1 is
        as many as there are cores. One network alone uses all cores by itself, so this pays off for
        many small networks.
    n_hidden, fanout, activation, bias, weight_range, ridge, temperature, priors, class_weight, \
            precision, batch_size, input_weights, weight_norm, min_field, image_shape
        Of each network: see `ELMClassifier`.
    random_state : int, RandomState instance, SeedSequence or None, default=None
        Determines the input weights. With an int `s`, network i is network i of
        `elmlda ensemble --seed s`; otherwise as in `ELMClassifier`.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_
        As in `ELMClassifier`.
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

    n_estimators: int = field(default=10, kw_only=False)  # these two may be passed by position
    n_jobs: int | None = field(default=None, kw_only=False)

    def _train(self, train: Callable[..., Network]) -> None:
        root = seed_sequence(self.random_state, key=())
        recipes = [
            self._recipe(np.random.SeedSequence(root.entropy, spawn_key=(*root.spawn_key, i)))
            for i in range(whole().check("n_estimators", self.n_estimators))
        ]
        trained = Parallel(n_jobs=self.n_jobs)(delayed(train)(recipe) for recipe in recipes)
        self._networks: list[Network] = list(trained)

    def _values(self, X: Any) -> FloatArray:
        inputs = self._read_samples(X)
        return mean_posteriors(self._networks, inputs, self._chunk)

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Posterior probabilities of the classes, the mean of the networks', Eq. (14).

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
        """Logarithms of what `predict_proba` gives."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self._values(X)))

    @property
    def estimators_(self) -> list[ELMClassifier]:
        check_is_fitted(self)
        shared = {each.name: getattr(self, each.name) for each in fields(ELMBase)}
        members = []
        for network in self._networks:
            member = ELMClassifier(**{**shared, "random_state": network.recipe.seed})
            member.classes_, member.n_features_in_ = self.classes_, self.n_features_in_
            if hasattr(self, "feature_names_in_"):
                member.feature_names_in_ = self.feature_names_in_
            member._solved, member._trainer = network, None
            members.append(member)
        return members
