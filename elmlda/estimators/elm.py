"""One network."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, fields, make_dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from elmlda.core import FloatArray
from elmlda.core.head import FeatureSums, Head
from elmlda.core.hidden import HiddenLayer
from elmlda.errors import ElmldaValueError
from elmlda.estimators.base import HeadClassifier, HeadOptions, Samples, read_batches, seed_sequence
from elmlda.networks.cost import in_enough_precision, require_memory
from elmlda.networks.train import Recipe
from elmlda.options import LEAVE_ONE_OUT, NetworkOptions, number, one_of, whole

DEFAULTS = {"bias": True, "weight_range": None, "priors": "frequencies"}
"""Defaults of the estimators that differ from the paper's."""
NETWORK_DEFAULTS = {
    setting.name: DEFAULTS.get(setting.name, setting.default)
    for setting in fields(NetworkOptions)
    if setting.name != "input_scale"
}
"""Defaults of the parameters that are options of the network."""
FEWEST_UNITS, MOST_UNITS, SAMPLES_PER_UNIT = 2000, 6000, 4
"""Default number of hidden units. With the fewest, float64 takes little time and memory."""
DEFAULT_RANGE = 2.4
"""Default weight range, times 1 / √n_features."""
RANGES = 0.15, 0.45, 1.4, 4.0
"""Candidate weight ranges for leave-one-out, times 1 / √n_features."""
CHOOSING_SAMPLES, CHOOSING_UNITS = 2000, 1000
"""Random samples and hidden units that choose the weight range, at most."""
LIMITS = {"tanh": (-1, 1), "softsign": (-1, 1), "logistic": (0, 1)}
"""Limits of activation functions."""
SATURATED, NEARLY_CONSTANT, NEARLY_ALL = 0.99, 1e-3, 0.98
"""Features are badly scaled if this share of hidden outputs or units is saturated or constant."""
FEWEST_CHECKED, MOST_CHECKED = 20, 200
"""Samples with which the scale is checked."""

NetworkParameters: Any = make_dataclass(
    "NetworkParameters",
    [(name, Any, field(default=default)) for name, default in NETWORK_DEFAULTS.items()],
    kw_only=True,
    eq=False,
    repr=False,
)


class FeatureScaleWarning(UserWarning):
    """Nearly all hidden units are saturated or constant, because features are badly scaled."""


@dataclass(kw_only=True, eq=False, repr=False)
class ELMClassifier(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, NetworkParameters, HeadClassifier
):
    """Extreme learning machine with output weights by linear discriminant analysis.

    A layer of random hidden units followed by `LDAClassifierCV` (LDA-ELM, de Chazal, Tapson and van
    Schaik, Eq. 16), or by the pseudo-inverse (PI-ELM, Eq. 5). `fit` takes time proportional to
    n_samples · n_hidden · (n_features + n_hidden) + n_hidden³; with fewer samples than hidden units to
    n_samples · n_hidden · (n_features + n_samples) + n_samples³. The default number of hidden
    units bounds the cubic term: 2,000³ up to 8,000 samples, 6,000³ above.

    Parameters
    ----------
    n_hidden : int, default=None
        Number of hidden units. None: `fanout` for each feature. If this is None too: 2,000, or a
        quarter of the number of samples where that is more, up to 6,000. `partial_fit` takes 2,000.
    fanout : float, default=None
        Hidden units for each feature, where `n_hidden` is None.
    output : {"lda", "pi"}, default="lda"
        Method for the output weights. "pi" has scores and no `predict_proba`: a least-squares fit of 0
        and 1 may be negative or above one, and need not sum to one. Its hidden outputs are not centred.
    activation : {"tanh", "logistic", "relu", "softsign", "sine"}, default="tanh"
        Activation function of the hidden units.
    bias : bool, default=True
        Whether each hidden unit has a random bias. The paper's have none: with `bias=False`,
        `weight_range=0.5`, `ridge=0`, `temperature=1`, `priors="uniform"` and `random_state=s` this is
        network 0 of `elmlda sweep --seed s`. Without a bias, tanh units are odd functions of the
        features and cannot separate two circles around the origin.
    weight_range : float, "loo" or None, default=None
        Input weights are uniform in ± weight_range, the bias in ± weight_range · √n_features. None is
        2.4 / √n_features, which suits standardised features. "loo" chooses among 0.15, 0.45, 1.4 and
        4, each divided by √n_features, by the leave-one-out loss of at most 2,000 random samples and
        the first 1,000 hidden units; in `partial_fit` it is the default.
    ridge, ridges, temperature, class_weight, store_loo : default="loo", None, "loo", None, False
        As in `LDAClassifierCV`, with hidden outputs as the features. PI-ELM's loss is the squared
        error.
    priors : {"uniform", "frequencies"} or array-like of shape (n_classes,), default="frequencies"
        Prior probabilities of the classes, for LDA. The paper's are uniform.
    precision : {"mixed", "double"}, default="mixed"
        "mixed": float32 up to the Gram matrix, float64 from there; float64 throughout where float32 is
        not precise enough, or with at most 2,000 hidden units. "double": float64 throughout.
    batch_size : int, default=4000
        Samples whose hidden outputs are held at a time. It does not change the result.
    input_weights : {"uniform", "constrained", "receptive-field", "receptive-field-constrained"}, \
            default="uniform"
        "uniform" is the paper's. "constrained": differences of two training samples of different
        classes, not in `partial_fit`. "receptive-field": each unit sees a random rectangle of the
        image, see `image_shape`. The fourth combines both and suits images.
    weight_norm : float, default=2.0
        Norm of each hidden unit's weights, if they are not uniform.
    min_field : int, default=10
        Pixels of the smallest receptive field.
    image_shape : (int, int), default=None
        Rows and columns of a sample that is an image, row by row; for receptive fields.
    random_state : int, RandomState instance, SeedSequence or None, default=None
        Determines the input weights. With an int `s` they are drawn by
        `default_rng(SeedSequence(s, spawn_key=(0,)))`, as for network 0 of `elmlda sweep --seed s`;
        network k has `random_state=SeedSequence(s, spawn_key=(k,))`. From a RandomState (None: numpy's
        global one) the seed is drawn in `fit`.

    Attributes
    ----------
    coefs_ : list of two ndarrays
        Input weights (n_features_in_, n_hidden_) and output weights (n_hidden_, n_classes).
    intercepts_ : list of two ndarrays
        Biases of the hidden units (zeros without a bias), and constants of the outputs.
    n_hidden_ : int
        Number of hidden units.
    weight_range_ : float
        Weight range.
    precision_ : str
        Precision.
    classes_, ridge_, temperature_, priors_, class_count_, loo_log_loss_, loo_accuracy_, \
            loo_predict_proba_, n_features_in_, feature_names_in_
        As in `LDAClassifierCV`.

    See Also
    --------
    LDAClassifierCV : The output layer alone, for any features.
    ELMEnsembleClassifier : Several such networks, whose posteriors are averaged.

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
    fanout: float | None = None
    image_shape: tuple[int, int] | None = None
    output: str = "lda"

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []  # hidden outputs have the network's precision
        return tags

    @property
    def _output(self) -> str:  # type: ignore[override]
        return str(one_of("lda", "pi").check("output", self.output))

    def transform(self, X: ArrayLike) -> FloatArray:
        """Compute the outputs of the hidden units, Eq. (2), of shape (n_samples, n_hidden_)."""
        inputs, chunk = self._read_samples(X), self._chunk
        starts = range(0, inputs.shape[0], chunk)
        return np.concatenate([self._layer.outputs(inputs[i : i + chunk]) for i in starts])

    def _fit_head(self, samples: Samples, options: HeadOptions) -> tuple[Head, FloatArray]:
        n_inputs = samples.inputs.shape[1]
        recipe = self._choose_range(samples, options)
        sizes = n_inputs, recipe.n_hidden, recipe.settings.precision
        problem = self._problem(samples, options.settings, *sizes)

        def train(settings: NetworkOptions) -> tuple[Recipe, HiddenLayer, tuple[Head, FloatArray]]:
            used = replace(recipe, settings=settings)
            return used, *self._train(used, samples, options)

        require_memory(problem, size_name="n_hidden")
        self._used_recipe, self._layer, fitted = in_enough_precision(
            train, recipe.settings, problem, "n_hidden"
        )
        _warn_about_scale(self._layer, samples.inputs)
        return fitted

    def _train(
        self, recipe: Recipe, samples: Samples, options: HeadOptions
    ) -> tuple[HiddenLayer, tuple[Head, FloatArray]]:
        layer = recipe.draw_layer(samples.inputs, samples.labels)
        rng, dtype = np.random.default_rng(recipe.sample_seed), layer.input_weights.dtype.type
        return layer, self._fit_features(samples, options, layer, recipe.n_hidden, dtype, rng)

    def _choose_range(self, samples: Samples, options: HeadOptions) -> Recipe:
        """Choose the weight range with the least leave-one-out loss of a small network, for "loo"."""
        n_samples, parameters = samples.inputs.shape[0], cast(Any, self)
        recipe = self._recipe(n_samples)
        if parameters.weight_range != LEAVE_ONE_OUT or parameters.input_weights != "uniform":
            return recipe
        if n_samples > CHOOSING_SAMPLES:
            rng = np.random.default_rng(recipe.sample_seed)
            rows = np.sort(rng.choice(n_samples, CHOOSING_SAMPLES, replace=False))
            weights = None if samples.weights is None else samples.weights[rows]
            samples = samples._replace(
                inputs=samples.inputs[rows], labels=samples.labels[rows], weights=weights
            )
        by_rule = {"ridge": LEAVE_ONE_OUT, "temperature": LEAVE_ONE_OUT}
        options = options._replace(settings=replace(options.settings, **by_rule))
        best, least = recipe.settings, math.inf
        for weight_range in np.divide(RANGES, math.sqrt(recipe.n_inputs)).tolist():
            settings = replace(recipe.settings, weight_range=weight_range)
            n_hidden = min(recipe.n_hidden, CHOOSING_UNITS)
            small = replace(recipe, n_hidden=n_hidden, settings=settings)
            with suppress(ElmldaValueError):  # without a best ridge, for example
                loss = self._train(small, samples, options)[1][0].loo_loss
                if loss < least:
                    best, least = settings, loss
        return replace(recipe, settings=best)

    def _start_stream(
        self, inputs: Any, n_classes: int, class_weights: FloatArray | None
    ) -> FeatureSums:
        self._used_recipe = recipe = self._recipe()
        self._layer = layer = recipe.draw_layer()
        _warn_about_scale(layer, inputs)
        return FeatureSums(
            recipe.n_hidden,
            n_classes,
            layer.input_weights.dtype.type,
            rng=np.random.default_rng(recipe.sample_seed),
            class_weights=class_weights,
            is_centred=self._output == "lda",
        )

    def _batches(self, inputs: Any) -> Iterator[Any]:
        return read_batches(inputs, self._chunk, self._layer)

    def _recipe(self, n_samples: int = 0) -> Recipe:
        """Return the recipe of the parameters; the weight range "loo" is the default until chosen."""
        n_inputs = self.n_features_in_
        options = {name: getattr(self, name) for name in NETWORK_DEFAULTS}
        if options["weight_range"] in (None, LEAVE_ONE_OUT):
            options["weight_range"] = DEFAULT_RANGE / math.sqrt(n_inputs)
        settings = NetworkOptions(**options)
        shape = None
        if settings.has_fields:
            if self.image_shape is None:
                raise ValueError("receptive fields need image_shape: rows and columns of a sample.")
            rows, columns = (whole().check("image_shape", size) for size in self.image_shape)
            shape = rows, columns
        n_hidden = self.n_hidden
        if n_hidden is None and self.fanout is None:
            n_hidden = min(max(FEWEST_UNITS, n_samples // SAMPLES_PER_UNIT), MOST_UNITS)
        elif n_hidden is None:
            n_hidden = max(1, round(number(above=True).check("fanout", self.fanout) * n_inputs))
        whole().check("n_hidden", n_hidden)
        if n_hidden <= FEWEST_UNITS and settings.precision == "mixed":
            settings = replace(settings, precision="double")
        return Recipe(seed_sequence(self.random_state), n_inputs, n_hidden, settings, shape)

    @property
    def _n_features_out(self) -> int:
        return self.n_hidden_

    @property
    def coefs_(self) -> list[FloatArray]:
        output_weights = self._head.weights  # not fitted: no layer either
        return [self._layer.input_weights[: self.n_features_in_], output_weights]

    @property
    def intercepts_(self) -> list[FloatArray]:
        constants = self._head.constants
        layer = self._layer
        if not layer.has_bias:
            return [np.zeros(self.n_hidden_, layer.input_weights.dtype), constants]
        return [math.sqrt(self.n_features_in_) * layer.input_weights[-1], constants]

    @property
    def n_hidden_(self) -> int:
        check_is_fitted(self)
        return self._used_recipe.n_hidden

    @property
    def weight_range_(self) -> float:
        check_is_fitted(self)
        return self._used_recipe.settings.weight_range

    @property
    def precision_(self) -> str:
        check_is_fitted(self)
        return "mixed" if self._layer.input_weights.dtype == np.float32 else "double"


def _warn_about_scale(layer: HiddenLayer, inputs: Any) -> None:
    """Warn if nearly all hidden outputs are saturated or nearly all units constant."""
    if inputs.shape[0] < FEWEST_CHECKED:
        return
    hidden = layer.outputs(inputs[:MOST_CHECKED]).astype(np.float64)
    largest = np.abs(hidden).max(axis=0)
    share = float(np.mean(np.ptp(hidden, axis=0) <= NEARLY_CONSTANT * largest))
    if layer.activation in LIMITS:
        low, high = LIMITS[layer.activation]
        saturation = np.abs(2 * hidden - low - high) / (high - low)
        share = max(share, float(np.mean(saturation > SATURATED)))
    if share > NEARLY_ALL:
        warnings.warn(
            "nearly all hidden units are saturated or constant, because features are badly scaled. "
            "Standardise the features, for example with StandardScaler.",
            FeatureScaleWarning,
            stacklevel=4,
        )
