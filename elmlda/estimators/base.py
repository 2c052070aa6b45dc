"""What the estimators share: parameters of the output layer, checks of data, weights and classes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from elmlda.core import FloatArray, IntArray
from elmlda.core.evaluate import keep_choice, posteriors
from elmlda.core.head import FeatureSums, Head, OutputLayer, WideFeatures
from elmlda.core.hidden import ELEMENTS_PER_TASK, HiddenLayer
from elmlda.machine import count_blas_threads
from elmlda.networks.cost import CHUNK, Problem
from elmlda.networks.train import FEW_HIDDEN
from elmlda.options import LEAVE_ONE_OUT, PRIORS, OutputOptions, number, whole

RandomState = int | np.random.RandomState | np.random.SeedSequence | None


class Samples(NamedTuple):
    """Checked training samples."""

    inputs: Any
    """n_samples × n_features, an array or a sparse matrix."""
    labels: IntArray
    """Class indices."""
    classes: NDArray[Any]
    weights: FloatArray | None
    class_weights: FloatArray | None


# A dataclass, because scikit-learn reads the parameters from the signature of __init__.
@dataclass(kw_only=True, eq=False, repr=False)
class ELMBase(ClassifierMixin, BaseEstimator):
    """Parameters and checks of data, for single classifiers and for the ensemble."""

    ridge: float | str = LEAVE_ONE_OUT
    ridges: ArrayLike | None = None
    temperature: float | str = LEAVE_ONE_OUT
    priors: ArrayLike | str = "frequencies"
    class_weight: Mapping[Any, float] | str | None = None
    batch_size: int = CHUNK
    random_state: RandomState = None

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "classes_")

    def _read_samples(self, X: Any) -> Any:
        """Check samples that are to be classified."""
        check_is_fitted(self)
        return validate_data(self, X, dtype="numeric", accept_sparse="csr", reset=False)

    def _read_labelled(
        self, X: Any, y: Any, sample_weight: Any, *, reset: bool
    ) -> tuple[Any, NDArray[Any], FloatArray | None, NDArray[np.bool_]]:
        """Check samples, labels and weights; return those with a weight above 0, and their mask."""
        inputs, y = validate_data(self, X, y, dtype="numeric", accept_sparse="csr", reset=reset)
        check_classification_targets(y)
        if sample_weight is None:
            return inputs, y, None, np.ones(len(y), np.bool_)
        checks = {"dtype": np.float64, "ensure_non_negative": True}
        weights = _check_sample_weight(sample_weight, inputs, **checks)
        kept = weights > 0
        if not kept.any():
            raise ValueError("sample_weight is zero for every sample: expected some above 0.")
        if not kept.all():
            inputs, y, weights = inputs[kept], y[kept], weights[kept]
        return inputs, y, weights, kept

    def _class_weights(
        self, classes: NDArray[Any], class_counts: FloatArray | None
    ) -> FloatArray | None:
        """Return the weight of each class, or None; "balanced" needs the class counts."""
        weights = self.class_weight
        if weights is None:
            return None
        if isinstance(weights, str) and weights == "balanced" and class_counts is not None:
            return np.asarray(class_counts.sum() / (len(classes) * class_counts))
        if not isinstance(weights, Mapping):
            expected = "a dict of weights" if class_counts is None else "'balanced', a dict or None"
            raise ValueError(f"class_weight is {weights!r}: expected {expected}.")
        if unknown := [label for label in weights if label not in classes]:
            raise ValueError(f"class_weight has {unknown[0]!r}, classes are {classes.tolist()}.")
        by_class = (weights.get(label, 1.0) for label in classes.tolist())
        return np.array([number(above=True).check("class_weight", weight) for weight in by_class])


def _property_of_head(name: str, *, needs_posteriors: bool = False) -> Any:
    """Return a property with the value of the fitted output layer."""

    def read(classifier: HeadClassifier) -> Any:
        value = getattr(classifier._head, name)
        assert not needs_posteriors or classifier._has_posteriors()
        return value

    return property(read)


class HeadOptions(NamedTuple):
    """Checked parameters of the output layer, in the order of `OutputLayer.fit_head`."""

    settings: OutputOptions
    priors: Any
    ridges: list[float] | None


@dataclass(kw_only=True, eq=False, repr=False)
class HeadClassifier(ELMBase):
    """A classifier with one output layer: `fit`, `partial_fit` and predictions.

    A subclass says which features the output layer has.
    """

    store_loo: bool = False

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Sparse samples are made dense `batch_size` at a time.
        y : array-like of shape (n_samples,)
            Class labels, numbers or strings.
        sample_weight : array-like of shape (n_samples,), default=None
            A sample of weight w counts as w samples. Weights are divided by min(1, mean weight): whole
            numbers repeat samples, and weights that sum to 1 equal weights of mean 1. (Weights of 2
            repeat all samples, so not every factor can be ignored.) Samples of weight 0 do not count.
        """
        inputs, y, weights, kept = self._read_labelled(X, y, sample_weight, reset=True)
        classes, labels = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                f"y has one class, {classes.tolist()[0]!r}: a classifier needs two classes or more."
            )
        options = self._head_options()
        counts = np.bincount(labels, weights).astype(np.float64)
        class_weights = self._class_weights(classes, counts)
        samples = Samples(inputs, labels, classes, weights, class_weights)
        head, loo_scores = self._fit_head(samples, options)
        self._start(classes, options, None)
        self._fitted: Head | None = head
        if self.store_loo and options.settings.output == "lda":
            self.loo_predict_proba_ = np.empty((len(kept), len(classes)))
            self.loo_predict_proba_[kept] = softmax(loo_scores, axis=1)
            if not kept.all():  # of a sample of weight 0 nothing is left out
                self.loo_predict_proba_[~kept] = self.predict_proba(X)[~kept]
        return self

    def _start(self, classes: NDArray[Any], options: HeadOptions, stream: FeatureSums | None) -> None:
        """Replace the fitted state, which decides from now on, not the parameters."""
        self.__dict__.pop("loo_predict_proba_", None)
        self.classes_, self._options, self._stream = classes, options, stream

    # scikit-learn's checks call every method of a fitted estimator: this one must be missing.

    def _is_streamable(self) -> bool:
        if hasattr(self, "classes_") and self._stream is None:
            raise AttributeError(
                "partial_fit cannot continue after fit, which keeps no sums: use it from the start."
            )
        return True

    @available_if(_is_streamable)
    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Add a batch of samples; the result is that of `fit` on all batches together.

        A batch is added to sums. The output weights are solved for when a prediction or an attribute
        needs them. However the samples are split into batches, the results differ by rounding. For
        leave-one-out, the features of a few thousand random samples are held. The parameters are those
        at the first call. After `fit`, which keeps no sums, there is no `partial_fit`.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        classes : array-like of shape (n_classes,), default=None
            All classes, needed at the first call only. A batch may lack some of them. The probability
            of a class without samples so far is 0.
        """
        is_first = not hasattr(self, "classes_")
        inputs, y, weights, _ = self._read_labelled(X, y, sample_weight, reset=is_first)
        if is_first and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        known_classes = self.classes_ if classes is None else np.unique(np.asarray(classes))
        if not is_first and not np.array_equal(known_classes, self.classes_):
            first = self.classes_.tolist()
            raise ValueError(f"classes is {classes!r}, on the first call it was {first}.")
        if len(known_classes) < 2:
            raise ValueError(f"classes is {classes!r}: a classifier needs two classes or more.")
        if len(unknown := np.setdiff1d(y, known_classes)):
            raise ValueError(
                f"y has the label {unknown.tolist()[0]!r}, classes are {known_classes.tolist()}."
            )
        if is_first:
            options, class_weights = self._head_options(), self._class_weights(known_classes, None)
            stream = self._start_stream(inputs, len(known_classes), class_weights)
            self._start(known_classes, options, stream)
        assert self._stream is not None
        self._fitted = None
        labels = np.searchsorted(known_classes, y)
        self._stream.add(self._batches(inputs), labels, weights)
        return self

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class with the highest score of each sample, of shape (n_samples,)."""
        chosen = self._scores(X).argmax(axis=1)
        return np.asarray(self.classes_[chosen])

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Compute the scores of the classes, whose softmax is the probabilities.

        The shape is (n_samples, n_classes), or (n_samples,) for two classes: the second class's score
        minus the first's.
        """
        scores = self._scores(X)
        return np.asarray(scores[:, 1] - scores[:, 0]) if scores.shape[1] == 2 else scores

    def _has_posteriors(self) -> bool:
        if (self._options.settings.output if hasattr(self, "classes_") else self._output) == "pi":
            raise AttributeError(
                "PI-ELM has no posterior probabilities: its outputs are a least-squares fit of 0 and "
                "1, which may be negative and need not sum to one. Use output='lda'."
            )
        return True

    @available_if(_has_posteriors)
    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Compute posterior probabilities, Eq. (14), of shape (n_samples, n_classes).

        The highest probability of a sample is that of the class of `predict`.
        """
        scores = self._scores(X)
        return keep_choice(posteriors(scores), scores)

    @available_if(_has_posteriors)
    def predict_log_proba(self, X: ArrayLike) -> FloatArray:
        """Compute the logarithms of the posterior probabilities."""
        return np.asarray(log_softmax(self._scores(X), axis=1))

    ridge_ = _property_of_head("ridge")
    temperature_ = _property_of_head("temperature")
    class_count_ = _property_of_head("class_counts")
    priors_ = _property_of_head("priors", needs_posteriors=True)
    loo_accuracy_ = _property_of_head("loo_accuracy")
    loo_log_loss_ = _property_of_head("loo_loss", needs_posteriors=True)

    # What subclasses say

    _output = "lda"

    @abstractmethod
    def _fit_head(self, samples: Samples, options: HeadOptions) -> tuple[Head, FloatArray]:
        """Fit the output layer to all samples, see `OutputLayer.fit_head`."""

    @abstractmethod
    def _start_stream(
        self, inputs: Any, n_classes: int, class_weights: FloatArray | None
    ) -> FeatureSums:
        """Return sums for a stream that begins with these samples."""

    # What they share

    def _fit_features(
        self,
        samples: Samples,
        options: HeadOptions,
        layer: HiddenLayer | None,
        n_features: int,
        dtype: type[np.floating],
        rng: np.random.Generator,
    ) -> tuple[Head, FloatArray]:
        """Fit the output layer to features, in the dual if there are fewer samples than features."""
        n_samples, n_classes = len(samples.labels), len(samples.classes)
        shared: dict[str, Any] = {
            "class_weights": samples.class_weights,
            "is_centred": options.settings.output == "lda",
        }
        if _is_dual(options.settings, n_samples, n_features):
            features = samples.inputs
            if layer is not None:
                features = next(layer.batches(features, n_samples))
            output_layer: OutputLayer = WideFeatures(
                features, samples.labels, n_classes, weights=samples.weights, **shared
            )
        else:
            most_rows = n_samples if self.store_loo else None
            sums = FeatureSums(n_features, n_classes, dtype, rng=rng, most_rows=most_rows, **shared)
            batches = read_batches(samples.inputs, self._chunk, layer)
            sums.add(batches, samples.labels, samples.weights)
            output_layer = sums
        threads = 1 if min(n_samples, n_features) <= FEW_HIDDEN else None
        with threadpool_limits(threads, user_api="blas"):
            return output_layer.fit_head(*options)

    @property
    def _head(self) -> Head:
        """The output layer, solved for if there are new batches."""
        check_is_fitted(self)
        if self._fitted is None:
            assert self._stream is not None
            # A stream cannot be repeated in double precision.
            self._fitted, _ = self._stream.fit_head(*self._options, strict=False)
        return self._fitted

    def _scores(self, X: Any) -> FloatArray:
        inputs = self._read_samples(X)
        return self._head.scores(self._batches(inputs))

    def _batches(self, inputs: Any) -> Iterator[Any]:
        """Return the features of the output layer, `batch_size` samples at a time."""
        return read_batches(inputs, self._chunk)

    @property
    def _chunk(self) -> int:
        batch_size: int = whole().check("batch_size", self.batch_size)
        return batch_size

    def _problem(
        self, samples: Samples, settings: OutputOptions, n_inputs: int, n_features: int, precision: str
    ) -> Problem:
        """Describe the memory that `fit` needs; `n_inputs` is 0 without a hidden layer."""
        n_samples = len(samples.labels)
        return Problem(
            *(n_samples, 0, n_inputs, len(samples.classes), (n_features,), precision),
            has_rule=isinstance(settings.ridge, str),
            leaves_out=True,
            leaves_all_out=self.store_loo,
            is_dual=_is_dual(settings, n_samples, n_features),
        )

    def _head_options(self) -> HeadOptions:
        """Check the parameters of the output layer."""
        assert self._chunk
        ridges: Any = self.ridges
        if ridges is not None:
            one = number(above=True)
            ridges = sorted(one.check("ridges", ridge) for ridge in np.ravel(ridges).tolist())
        settings = OutputOptions(ridge=self.ridge, temperature=self.temperature, output=self._output)
        return HeadOptions(settings, PRIORS.check("priors", self.priors), ridges)


def _is_dual(settings: OutputOptions, n_samples: int, n_features: int) -> bool:
    """Tell whether the dual problem is solved. PI-ELM without a ridge is the pseudo-inverse instead."""
    return n_samples < n_features and (settings.output == "lda" or settings.ridge != 0)


def seed_sequence(random_state: RandomState, key: tuple[int, ...] = (0,)) -> np.random.SeedSequence:
    """Return the seed sequence of `random_state`; for an int that of a run's network `key`."""
    if isinstance(random_state, np.random.SeedSequence):
        return random_state
    if isinstance(random_state, Integral):
        if random_state < 0:
            raise ValueError(f"random_state is {random_state}: expected a number that is not negative.")
        return np.random.SeedSequence(int(random_state), spawn_key=key)
    words = check_random_state(random_state).randint(0, 2**32, size=4, dtype=np.uint32)
    return np.random.SeedSequence([int(word) for word in words], spawn_key=key)


def read_batches(X: Any, size: int, layer: HiddenLayer | None = None) -> Iterator[Any]:
    """Return samples, or the outputs of a hidden layer, `size` samples at a time."""
    n_samples = X.shape[0]
    if layer is None:
        return (X[start : start + size] for start in range(0, n_samples, size))
    is_large = min(n_samples, size) * layer.input_weights.shape[1] > ELEMENTS_PER_TASK
    return replace(layer, threads=count_blas_threads() if is_large else 1).batches(X, size)
