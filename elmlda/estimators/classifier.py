"""One network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_softmax
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from elmlda.core import FloatArray, IntArray
from elmlda.core.evaluate import posteriors_of_choice
from elmlda.estimators.base import ELMBase, seed_sequence
from elmlda.networks.model import Network, solve_network
from elmlda.networks.train import Trainer
from elmlda.settings import OutputSettings


@dataclass(kw_only=True, eq=False, repr=False)
class ELMClassifier(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ELMBase):
    """Extreme learning machine with output weights by linear discriminant analysis.

    A layer of random hidden units, and output weights in one step: by LDA of the hidden outputs, which
    makes the outputs posterior probabilities (LDA-ELM, de Chazal, Tapson and van Schaik, Eq. 16), or
    by the pseudo-inverse (PI-ELM, Eq. 5).

    Parameters
    ----------
    n_hidden : int, default=None
        Number of hidden units. None: `fanout` for each feature.
    fanout : float, default=None
        Hidden units for each feature, where `n_hidden` is None. None: 10, but no fewer than 1,000 in
        all.
    output : {"lda", "pi"}, default="lda"
        How the output weights are found. "pi" has scores only and no `predict_proba`: least squares
        fits 0 and 1, and what comes out may be negative, above one, and need not sum to one.
    activation : {"tanh", "logistic", "relu", "softsign", "sine"}, default="tanh"
        Function of the hidden units.
    bias : bool, default=True
        Whether each hidden unit has a random bias. The paper's have none: with `bias=False`,
        `ridge=0`, `temperature=1`, `priors="uniform"` and `random_state=s` this is network 0 of
        `elmlda sweep --seed s`. Without a bias, tanh units are odd functions of the features and
        cannot separate two circles around the origin.
    weight_range : float, default=None
        Uniform input weights are in ± this. None: 1.4 / √n_features, which suits features that are
        standardised or between 0 and 1 (see `sklearn.preprocessing`); without a bias 0.5, the paper's.
        The bias is in ± weight_range · √n_features.
    ridge : float or "loo", default="loo"
        Tikhonov's λ, added to the diagonal of the hidden outputs' Gram matrix. "loo" takes the one of
        the least log-loss (of PI-ELM, square error) when each of the training samples, or of some
        thousand of them, is left out in turn; there is a closed form for that, in
        `elmlda.core.leave_one_out`. 0.0 is the paper's; it needs more samples than hidden units.
    temperature : float or "loo", default="loo"
        LDA's scores are multiplied by this before they become probabilities. 1.0 is the paper's, and
        much too sure of itself. "loo" takes the one of the least log-loss when samples are left out.
    priors : {"uniform", "frequencies"} or array-like of shape (n_classes,), default="frequencies"
        Prior probabilities of the classes, for LDA. "frequencies" are those of the training data, as
        scikit-learn's LDA has them by default; "uniform" is the paper's.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, multiplied with `sample_weight`: those in the dict, or 1; "balanced"
        gives each class the same sum. `partial_fit` takes a dict only.
    precision : {"mixed", "double"}, default="mixed"
        "mixed": float32 up to the Gram matrix, float64 from there, and all in float64 where that is
        not enough, or the network has no more than 1,024 hidden units. "double": all float64.
    batch_size : int, default=4000
        Samples whose hidden outputs are held at a time; no matter for the result.
    input_weights : {"uniform", "constrained", "receptive-field", "receptive-field-constrained"}, \
            default="uniform"
        "uniform" is the paper's. "constrained": differences of two training samples of different
        classes; `fit` only, since a stream has no training set to draw from. "receptive-field": each
        unit sees a random rectangle of the image, see `image_shape`. The fourth is both, and the best
        choice for images.
    weight_norm : float, default=2.0
        Norm of each hidden unit's weights, if they are not uniform.
    min_field : int, default=10
        Pixels of the smallest receptive field.
    image_shape : (int, int), default=None
        Rows and columns of a sample that is an image, row by row; for receptive fields.
    random_state : int, RandomState instance, SeedSequence or None, default=None
        Determines the input weights. With an int `s` they are drawn by
        `default_rng(SeedSequence(s, spawn_key=(0,)))`, which makes it network 0 of
        `elmlda sweep --seed s`; network k has `random_state=SeedSequence(s, spawn_key=(k,))`. From a
        RandomState (None: numpy's global one) the seed is drawn at `fit`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen during `fit`; only if all are strings.
    coefs_ : list of two ndarrays
        Input weights (n_features_in_, n_hidden_) and output weights (n_hidden_, n_classes).
    intercepts_ : list of two ndarrays
        Of the hidden units (zeros without a bias), and of the outputs (PI: zeros).
    n_hidden_ : int
        Number of hidden units.
    ridge_ : float
        The λ that was used.
    temperature_ : float
        The temperature that was used; 1 for PI-ELM.
    priors_ : ndarray of shape (n_classes,)
        The prior probabilities that were used; 0 for a class not seen yet. Only with output="lda".
    class_count_ : ndarray of shape (n_classes,)
        Training samples of each class, or the sums of their weights.
    precision_ : str
        The precision that was used.

    See Also
    --------
    ELMEnsembleClassifier : Several such networks, their posteriors averaged.
    sklearn.discriminant_analysis.LinearDiscriminantAnalysis : LDA without hidden units.

    References
    ----------
    P. de Chazal, J. Tapson and A. van Schaik, "Learning ELM network weights using linear discriminant
    analysis".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from elmlda import ELMClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> network = ELMClassifier(random_state=0).fit(X, y)
    >>> network.predict(X[:2])
    array([0, 0])
    """

    n_hidden: int | None = field(default=None, kw_only=False)  # may be passed by position
    output: str = "lda"

    _is_stream = False

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []  # hidden outputs have the network's precision
        return tags

    def _output_settings(self) -> OutputSettings:
        return OutputSettings(self.ridge, self.temperature, self.output)

    def _train(self, train: Callable[..., Network]) -> None:
        self._trainer: Trainer | None = None
        self._is_stream = False

        def keep(trainer: Trainer) -> None:
            self._trainer = trainer

        self._solved: Network | None = train(self._recipe(seed_sequence(self.random_state)), keep=keep)

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Train on one more batch: the result is that of `fit` on all batches together.

        A batch is added to sums; the output weights are solved for when they are next needed, by a
        prediction or by one of the attributes. Streaming many batches costs no more than `fit`, and
        training goes on after `fit`, too. However the samples are split into batches, the weights
        differ from those of `fit` by rounding alone: float64's if `precision_` is "double", or
        float32's. For `ridge` and `temperature` by leaving one out, the hidden outputs of some
        thousand samples are held, drawn at random from all batches.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        classes : array-like of shape (n_classes,), default=None
            All classes that will come, needed at the first call and not after it. A batch need not
            have samples of each; until a class has had some, its probability is 0.
        sample_weight : array-like of shape (n_samples,), default=None
            As in `fit`.

        Returns
        -------
        self : object
        """
        first = not hasattr(self, "classes_")
        trainer = None if first else self._trainer
        if not first and trainer is None:
            raise ValueError(
                "this network has no sums to add to: an ensemble's have none, and those of fit are not "
                "pickled. Start with partial_fit on a new estimator."
            )
        if first and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        inputs, found, weights = self._read_labelled(X, y, sample_weight, reset=first)
        known = _find_classes(classes, None if first else self.classes_)
        strange = np.setdiff1d(found, known)
        if len(strange):
            raise ValueError(f"y has the label {strange.tolist()[0]!r}, classes are {known.tolist()}.")
        chunk = self._chunk
        if trainer is None:
            self._output_settings()
            recipe = self._recipe(seed_sequence(self.random_state))
            class_weights = self._class_weights(known, None)
            trainer = Trainer(recipe, len(known), holds_rows=True, class_weights=class_weights)
            self._trainer, self.classes_ = trainer, known
        self._is_stream, self._solved = True, None
        trainer.add(inputs, np.searchsorted(known, found), chunk, weights)
        return self

    def _values(self, X: Any) -> FloatArray:
        inputs = self._read_samples(X)
        return self._network.scores(inputs, self._chunk)

    def _has_posteriors(self) -> bool:
        if self.output == "pi":
            raise AttributeError(
                "PI-ELM has no posterior probabilities: its outputs are a least-squares fit of 0 and "
                "1, which may be negative and need not sum to one. Use output='lda'."
            )
        return True

    @available_if(_has_posteriors)
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
        return posteriors_of_choice(self._values(X))

    @available_if(_has_posteriors)
    def predict_log_proba(self, X: ArrayLike) -> FloatArray:
        """Logarithms of the posterior probabilities, exact however small those are."""
        return np.asarray(log_softmax(self._values(X), axis=1))

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Scores of the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes) or (n_samples,)
            LDA: the logarithms of the posterior probabilities; PI: the outputs. With two classes, the
            second's less the first's.
        """
        scores = self._values(X)
        if scores.shape[1] == 2:
            return np.asarray(scores[:, 1] - scores[:, 0])
        return scores if self.output == "pi" else np.asarray(log_softmax(scores, axis=1))

    def transform(self, X: ArrayLike) -> FloatArray:
        """Outputs of the hidden units, Eq. (2).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        hidden : ndarray of shape (n_samples, n_hidden_)
        """
        inputs = self._read_samples(X)
        return self._network.hidden_outputs(inputs, self._chunk)

    def __getstate__(self) -> dict[str, Any]:
        # The sums are many times as large as the network: only of a stream they are pickled.
        state: dict[str, Any] = super().__getstate__()
        return state if self._is_stream else {**state, "_trainer": None}

    @property
    def _network(self) -> Network:
        """The network, solved for now if batches have come since it was last."""
        check_is_fitted(self)
        if self._solved is None:
            assert self._trainer is not None
            # A stream can't be trained again in double precision.
            self._solved = solve_network(self._trainer, self._output_settings(), strict=False)
        return self._solved

    @property
    def _n_features_out(self) -> int:
        return self.n_hidden_

    @property
    def coefs_(self) -> list[FloatArray]:
        weights = self._network.layer.input_weights[: self.n_features_in_]
        return [weights, self._network.output_weights()[0]]

    @property
    def intercepts_(self) -> list[FloatArray]:
        return [self._network.layer.biases, self._network.output_weights()[1]]

    @property
    def n_hidden_(self) -> int:
        return self._network.recipe.n_hidden

    @property
    def ridge_(self) -> float:
        return self._network.ridge

    @property
    def temperature_(self) -> float:
        return self._network.temperature

    @property
    def priors_(self) -> FloatArray:
        priors = self._network.priors
        if priors is None:
            raise AttributeError("PI-ELM has no priors.")
        return priors

    @property
    def class_count_(self) -> IntArray | FloatArray:
        return self._network.pi.class_counts

    @property
    def precision_(self) -> str:
        return self._network.recipe.precision


def _find_classes(given: ArrayLike | None, before: NDArray[Any] | None) -> NDArray[Any]:
    """The classes that a stream has, from this call's `classes` or the first one's."""
    if given is None:
        assert before is not None
        return before
    known: NDArray[Any] = np.unique(np.asarray(given))
    if before is not None and not np.array_equal(known, before):
        raise ValueError(f"classes is {given!r}, on the first call it was {before.tolist()}.")
    if len(known) < 2:
        raise ValueError(f"classes is {given!r}: a classifier needs two classes or more.")
    return known
