"""The linear classifier."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from elmlda.core import FloatArray
from elmlda.core.head import FeatureSums, Head
from elmlda.core.solve import LostPrecisionError
from elmlda.estimators.base import HeadClassifier, HeadOptions, Samples, seed_sequence
from elmlda.networks.cost import require_memory
from elmlda.options import LEAVE_ONE_OUT


@dataclass(kw_only=True, eq=False, repr=False)
class LDAClassifierCV(HeadClassifier):
    """Linear discriminant analysis with ridge and temperature by leave-one-out.

    A linear classifier in closed form for any features: hidden outputs, random convolutions,
    embeddings, tables. Exact leave-one-out chooses the ridge of the pooled covariance and a temperature
    that calibrates the probabilities, both with the least log-loss. Data with more samples than
    features are reduced to sums over samples and can be streamed. Other data are solved in the dual.
    The ridge acts on all features alike, so features should have similar scales
    (`sklearn.preprocessing.StandardScaler`).

    Parameters
    ----------
    ridge : float or "loo", default="loo"
        Added to the diagonal of the features' scatter matrix. "loo" chooses the candidate with the
        least log-loss of leave-one-out.
    ridges : array-like, default=None
        Candidates for ridge="loo". None: 1e-8 to 100 times the mean diagonal element of the centred
        features' scatter matrix, in steps of √10.
    temperature : float or "loo", default="loo"
        Factor of the scores before the softmax. "loo" chooses the one with the least log-loss of
        leave-one-out.
    priors : {"frequencies", "uniform"} or array-like of shape (n_classes,), default="frequencies"
        Prior probabilities of the classes.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, multiplied by `sample_weight` and rescaled to keep the sum of weights.
        `partial_fit` takes a dict only.
    store_loo : bool, default=False
        Whether `fit` leaves out every sample and keeps `loo_predict_proba_`.
    batch_size : int, default=4000
        Samples that are centred and added up at a time.
    random_state : int, RandomState instance, SeedSequence or None, default=None
        Determines which samples are left out, if there are more samples than features and more than
        2,000 samples with more than 2 million values.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    coef_ : ndarray of shape (n_classes, n_features) or (1, n_features)
        Weights including the temperature; one row for two classes.
    intercept_ : ndarray of shape (n_classes,) or (1,)
        Constants including the priors and the centring of features.
    ridge_ : float
        Ridge.
    temperature_ : float
        Temperature.
    priors_ : ndarray of shape (n_classes,)
        Prior probabilities; 0 for a class without samples so far.
    class_count_ : ndarray of shape (n_classes,)
        Samples of each class, or sums of weights.
    loo_log_loss_, loo_accuracy_ : float
        Weighted mean log-loss and accuracy of leave-one-out.
    loo_predict_proba_ : ndarray of shape (n_samples, n_classes)
        Probabilities of every sample by the classifier without it, with the same ridge and temperature,
        for stacking and for finding wrong labels. NaN for the only sample of a class. Only with
        `store_loo=True` and `fit`.
    n_features_in_, feature_names_in_
        Number and names of features.

    See Also
    --------
    ELMClassifier : The same classifier after a layer of random hidden units.

    Notes
    -----
    Prevalidated ridge regression (Dempster, Webb and Schmidt 2024, arXiv 2401.15610) chooses the ridge
    and one scale of regression scores by leave-one-out log-loss. Here leave-one-out is exact for LDA,
    and sums over samples admit streaming, weights, and both tall and wide data.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from elmlda import LDAClassifierCV
    >>> X, y = load_wine(return_X_y=True)
    >>> classifier = make_pipeline(StandardScaler(), LDAClassifierCV()).fit(X, y)
    >>> classifier.predict(X[:2])
    array([0, 0])
    """

    ridge: float | str = field(default=LEAVE_ONE_OUT, kw_only=False)  # may be passed by position

    @property
    def coef_(self) -> FloatArray:
        weights = self._head.weights.T
        return np.diff(weights, axis=0) if len(weights) == 2 else np.asarray(weights)

    @property
    def intercept_(self) -> FloatArray:
        constants = self._head.constants
        return np.diff(constants) if len(constants) == 2 else constants

    def _fit_head(self, samples: Samples, options: HeadOptions) -> tuple[Head, FloatArray]:
        n_features = samples.inputs.shape[1]
        require_memory(self._problem(samples, options.settings, 0, n_features, "double"))
        fit = samples, options, None, n_features
        rng = np.random.default_rng(seed_sequence(self.random_state))
        if samples.inputs.dtype == np.float32:
            with suppress(LostPrecisionError):
                return self._fit_features(*fit, np.float32, rng)
        return self._fit_features(*fit, np.float64, rng)

    def _start_stream(
        self, inputs: Any, n_classes: int, class_weights: FloatArray | None
    ) -> FeatureSums:
        rng = np.random.default_rng(seed_sequence(self.random_state))
        return FeatureSums(
            inputs.shape[1],
            n_classes,
            np.float64,
            rng=rng,
            class_weights=class_weights,
            is_centred=True,
        )
