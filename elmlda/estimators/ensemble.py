"""Several networks whose posterior probabilities are averaged."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.parallel import Parallel, delayed

from elmlda.core import FloatArray
from elmlda.estimators.base import ELMBase, seed_sequence
from elmlda.estimators.elm import ELMClassifier, NetworkParameters
from elmlda.options import whole


@dataclass(kw_only=True, eq=False, repr=False)
class ELMEnsembleClassifier(NetworkParameters, ELMBase):
    """Several LDA-ELM networks on the same data, whose posterior probabilities are averaged.

    Parameters
    ----------
    n_estimators : int, default=10
        Number of networks.
    n_jobs : int, default=None
        Networks that are trained at the same time, each in a process. None is 1 unless in a joblib
        context; -1 is the number of cores. One network alone uses all cores, so this pays off for many
        small networks.
    n_hidden, fanout, activation, bias, weight_range, ridge, ridges, temperature, priors, \
            class_weight, precision, batch_size, input_weights, weight_norm, min_field, image_shape
        Parameters of every network, see `ELMClassifier`.
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
    """

    n_estimators: int = field(default=10, kw_only=False)  # these two may be passed by position
    n_jobs: int | None = field(default=None, kw_only=False)
    n_hidden: int | None = None
    fanout: float | None = None
    image_shape: tuple[int, int] | None = None

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit every network; see `ELMClassifier.fit`."""
        self._read_labelled(X, y, sample_weight, reset=True)
        own = {"n_estimators", "n_jobs", "random_state"}
        shared = {
            parameter.name: getattr(self, parameter.name)
            for parameter in fields(self)
            if parameter.name not in own
        }
        root = seed_sequence(self.random_state, key=())
        seeds = [
            np.random.SeedSequence(root.entropy, spawn_key=(*root.spawn_key, i))
            for i in range(whole().check("n_estimators", self.n_estimators))
        ]
        members = [ELMClassifier(**shared, random_state=seed) for seed in seeds]
        fits = (delayed(member.fit)(X, y, sample_weight) for member in members)
        self.estimators_: list[ELMClassifier] = list(Parallel(n_jobs=self.n_jobs)(fits))
        self.classes_ = self.estimators_[0].classes_
        return self

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class with the highest mean probability of each sample."""
        chosen = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[chosen])

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Compute the mean of the networks' posterior probabilities; see `ELMClassifier`."""
        self._read_samples(X)
        total = sum(member.predict_proba(X) for member in self.estimators_)
        return np.asarray(total / len(self.estimators_))

    def predict_log_proba(self, X: ArrayLike) -> FloatArray:
        """Compute the logarithms of the probabilities."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))
