"""What the estimators share: parameters of the output layer, checks of data, weights and classes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import log_softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d, validate_data
from threadpoolctl import threadpool_limits

from elmlda.core import FloatArray, IntArray, RealArray, Rows
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
        labels = column_or_1d(y)
        kept = np.ones(len(labels), np.bool_)
        if sample_weight is None:
            return inputs, labels, None, kept
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
        return inputs, labels, weights, kept

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
        self._output_settings()
        counts = np.bincount(labels, weights).astype(np.float64)
        class_weights = self._class_weights(classes, counts)
        self._stream: FeatureSums | None = None
        head = self._fit_head(Samples(inputs, labels, classes, weights, class_weights))
        self._fitted: Head | None = replace(head, loo_scores=head.loo_scores[:0])
        self.classes_ = classes
        self._loo_log_posteriors: FloatArray | None = None
        if self.store_loo:
            # Of a sample of weight 0 nothing is left out.
            self._loo_log_posteriors = np.empty((len(kept), len(classes)))
            self._loo_log_posteriors[kept] = log_softmax(head.loo_scores, axis=1)
            if not kept.all():
                self._loo_log_posteriors[~kept] = self.predict_log_proba(X)[~kept]
        return self

    # The fitted state decides which methods there are, not the parameters.

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
        leave-one-out, the features of a few thousand random samples are held.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        classes : array-like of shape (n_classes,), default=None
            All classes, needed at the first call only. A batch may lack some of them. The probability
            of a class without samples so far is 0.
        """
        is_first = not hasattr(self, "classes_")
        if is_first and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        inputs, y, weights, _ = self._read_labelled(X, y, sample_weight, reset=is_first)
        known_classes = _find_classes(classes, None if is_first else self.classes_)
        unknown = np.setdiff1d(y, known_classes)
        if len(unknown):
            raise ValueError(
                f"y has the label {unknown.tolist()[0]!r}, classes are {known_classes.tolist()}."
            )
        if is_first:
            self._output_settings()
            class_weights = self._class_weights(known_classes, None)
            self._stream = self._start_stream(inputs, len(known_classes), class_weights)
            self.classes_ = known_classes
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
        is_pi = self._head.priors is None if hasattr(self, "classes_") else self._output == "pi"
        if is_pi:
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

    @property
    def loo_predict_proba_(self) -> FloatArray:
        check_is_fitted(self)
        if self._stream is not None or self._loo_log_posteriors is None:
            raise AttributeError("loo_predict_proba_ needs store_loo=True and fit.")
        return np.asarray(np.exp(self._loo_log_posteriors))

    # What subclasses say

    _output = "lda"

    @abstractmethod
    def _fit_head(self, samples: Samples) -> Head:
        """Fit the output layer to all samples."""

    @abstractmethod
    def _start_stream(
        self, inputs: Any, n_classes: int, class_weights: FloatArray | None
    ) -> FeatureSums:
        """Return sums for a stream that begins with these samples."""

    # What they share

    def _fit_features(
        self,
        settings: OutputOptions,
        samples: Samples,
        layer: HiddenLayer | None,
        n_features: int,
        dtype: type[np.floating],
        rng: np.random.Generator,
    ) -> Head:
        """Fit the output layer to features, in the dual if there are fewer samples than features."""
        n_samples, n_classes = len(samples.labels), len(samples.classes)
        options: dict[str, Any] = {
            "class_weights": samples.class_weights,
            "is_centred": settings.output == "lda",
        }
        if n_samples < n_features and settings.ridge != 0:
            features = samples.inputs
            if layer is not None:
                features = next(layer.batches(as_rows(features), n_samples))
            options["weights"] = samples.weights
            output_layer: OutputLayer = WideFeatures(features, samples.labels, n_classes, **options)
        else:
            most_rows = n_samples if self.store_loo else None
            sums = FeatureSums(n_features, n_classes, dtype, rng=rng, most_rows=most_rows, **options)
            batches = read_batches(samples.inputs, self._chunk, layer)
            sums.add(batches, samples.labels, samples.weights)
            output_layer = sums
        threads = 1 if min(n_samples, n_features) <= FEW_HIDDEN else None
        with threadpool_limits(threads, user_api="blas"):
            return output_layer.fit_head(settings, *self._head_options())

    @property
    def _head(self) -> Head:
        """The output layer, solved for if there are new batches."""
        check_is_fitted(self)
        if self._fitted is None:
            assert self._stream is not None
            # A stream cannot be repeated in double precision.
            options = self._output_settings(), *self._head_options()
            head = self._stream.fit_head(*options, strict=False)
            self._fitted = replace(head, loo_scores=head.loo_scores[:0])
        return self._fitted

    def _scores(self, X: Any) -> FloatArray:
        inputs = self._read_samples(X)
        return self._head.scores(self._batches(inputs))

    def _batches(self, inputs: Any) -> Iterator[RealArray]:
        """Return the features of the output layer, `batch_size` samples at a time."""
        return read_batches(inputs, self._chunk)

    @property
    def _chunk(self) -> int:
        batch_size: int = whole().check("batch_size", self.batch_size)
        return batch_size

    def _problem(self, samples: Samples, n_inputs: int, n_features: int, precision: str) -> Problem:
        """Describe the memory that `fit` needs; `n_inputs` is 0 without a hidden layer."""
        return Problem(
            *(len(samples.labels), 0, n_inputs, len(samples.classes), (n_features,), precision),
            has_rule=isinstance(self.ridge, str),
            leaves_out=True,
            leaves_all_out=self.store_loo,
            may_be_dual=True,
        )

    def _output_settings(self) -> OutputOptions:
        """Check the parameters of the output layer."""
        assert self._chunk
        return OutputOptions(ridge=self.ridge, temperature=self.temperature, output=self._output)

    def _head_options(self) -> tuple[Any, list[float] | None]:
        """Return the priors and the candidate ridges."""
        ridges = self.ridges
        if ridges is not None:
            one = number(above=True)
            ridges = sorted(one.check("ridges", ridge) for ridge in np.ravel(ridges).tolist())
        return PRIORS.check("priors", self.priors), ridges


def _find_classes(classes: ArrayLike | None, first: NDArray[Any] | None) -> NDArray[Any]:
    """Return the classes of a stream, from this call or the first call."""
    if classes is None:
        assert first is not None
        return first
    unique: NDArray[Any] = np.unique(np.asarray(classes))
    if first is not None and not np.array_equal(unique, first):
        raise ValueError(f"classes is {classes!r}, on the first call it was {first.tolist()}.")
    if len(unique) < 2:
        raise ValueError(f"classes is {classes!r}: a classifier needs two classes or more.")
    return unique


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


class _DenseRows:
    """Rows of a sparse matrix that are made dense when they are sliced."""

    def __init__(self, matrix: Any) -> None:
        self._matrix = matrix

    def __len__(self) -> int:
        return int(self._matrix.shape[0])

    def __getitem__(self, rows: slice) -> RealArray:
        return np.asarray(self._matrix[rows].toarray())


def as_rows(X: Any) -> Rows:
    """Return samples that can be sliced into dense arrays."""
    return _DenseRows(X) if sparse.issparse(X) else X


def read_batches(X: Any, size: int, layer: HiddenLayer | None = None) -> Iterator[RealArray]:
    """Return samples, or the outputs of a hidden layer, `size` samples at a time."""
    rows = as_rows(X)
    if layer is None:
        return (rows[start : start + size] for start in range(0, len(rows), size))
    is_large = min(len(rows), size) * layer.input_weights.shape[1] > ELEMENTS_PER_TASK
    return replace(layer, threads=count_blas_threads() if is_large else 1).batches(rows, size)
