"""Several networks, their posterior probabilities averaged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from elmlda.estimators.base import ELMBase
from elmlda.estimators.classifier import ELMClassifier
from elmlda.estimators.parameters import seed_sequence
from elmlda.networks.model import Model, Network
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

    _is_ensemble = True

    n_estimators: int = field(default=10, kw_only=False)  # these two may be passed by position
    n_jobs: int | None = field(default=None, kw_only=False)

    def _train(self, train: Callable[..., Network]) -> tuple[Network, ...]:
        root = seed_sequence(self.random_state, key=())
        recipes = [
            self._recipe(np.random.SeedSequence(root.entropy, spawn_key=(*root.spawn_key, i)))
            for i in range(whole().check("n_estimators", self.n_estimators))
        ]
        return tuple(Parallel(n_jobs=self.n_jobs)(delayed(train)(recipe) for recipe in recipes))

    @property
    def estimators_(self) -> list[ELMClassifier]:
        if not hasattr(self, "_model"):
            raise AttributeError(f"this {type(self).__name__} is not fitted yet.")
        found = []
        for network in self._model.networks:
            member = Model((network,), self.classes_, feature_names=self._model.feature_names)
            found.append(ELMClassifier._of_model(member))
        return found
