"""Trained networks, ready to classify: one network, or several whose posteriors are combined."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elmlda.core.arrays import FloatArray, IntArray, Rows
from elmlda.core.evaluate import combine_posteriors, posteriors_of_choice
from elmlda.core.hidden import ELEMENTS_PER_TASK, HiddenLayer
from elmlda.core.input_weights import InputSpace, draw_weights
from elmlda.core.ridge import choose_ridge
from elmlda.core.solve import LdaOutputs, PiOutputs, derive_lda, solve_pi
from elmlda.core.statistics import Statistics
from elmlda.datasets.scaling import Scaling
from elmlda.errors import ElmldaError, ElmldaValueError
from elmlda.machine import available_memory, count_blas_threads
from elmlda.networks.steps import HIDDEN_DTYPES, add_samples, make_layer, score_samples
from elmlda.networks.train import in_enough_precision
from elmlda.settings import DEFAULT_CHUNK, NetworkSettings

FEW_HIDDEN = 1024
"""Networks in mixed precision up to this size are computed in float64 throughout: it takes a second or
two at most, and batches and weighted samples give the network of all samples to within its rounding."""

OTHER_SCALE = 10
"""Pixels that are so many times larger or smaller than the training data's are of another scale."""


@dataclass(frozen=True)
class Recipe:
    """What defines a network before training."""

    seed: np.random.SeedSequence
    n_inputs: int
    n_hidden: int
    settings: NetworkSettings
    """Its `ridge` and `priors` are not used: they are given when the network is solved."""
    image_shape: tuple[int, int] | None = None
    """Rows and columns of a sample that is an image, for receptive fields."""

    @property
    def precision(self) -> str:
        wanted = self.settings.precision
        return "double" if wanted == "mixed" and self.n_hidden <= FEW_HIDDEN else wanted

    def draw_layer(self, samples: Rows | None = None, labels: IntArray | None = None) -> HiddenLayer:
        """The hidden layer: the same one each time. Constrained weights need the training data."""
        space = InputSpace(self.n_inputs, self.image_shape, samples, labels)
        rng, dtype = np.random.default_rng(self.seed), HIDDEN_DTYPES[self.precision]
        weights = draw_weights(rng, space, self.n_hidden, self.settings, dtype)
        return make_layer(weights, self.settings)


@dataclass(frozen=True, eq=False)
class Network:
    """A trained network."""

    recipe: Recipe
    layer: HiddenLayer
    pi: PiOutputs
    priors: FloatArray | None
    """LDA's, zero for classes without training samples; None makes it PI-ELM."""
    ridge: float
    lda: LdaOutputs | None = field(init=False, repr=False)
    """Of the classes that have training samples."""

    def __post_init__(self) -> None:
        lda = None
        if self.priors is not None:
            seen = self.seen
            lda = derive_lda(self.pi.of_classes(seen), self.priors[seen])
        object.__setattr__(self, "lda", lda)

    @property
    def seen(self) -> IntArray:
        """Classes that have training samples."""
        return np.flatnonzero(self.pi.class_counts)

    def scores(self, inputs: Rows, chunk: int = DEFAULT_CHUNK) -> FloatArray:
        """Scores of the samples: n_samples × n_classes; -inf for classes that LDA has not seen."""
        n_rows = min(len(inputs), chunk)
        threads = count_blas_threads() if n_rows * self.layer.n_hidden > ELEMENTS_PER_TASK else 1
        (found,) = score_samples(replace(self.layer, threads=threads), [self.pi.scores], inputs, chunk)
        if self.lda is None:
            return np.asarray(found[:, 0])
        scores: FloatArray = np.full((len(found), self.pi.n_classes), -np.inf)
        scores[:, self.seen] = self.lda.scores(found[:, :, self.seen])[:, 0]
        return scores

    def hidden_outputs(self, inputs: Rows, chunk: int = DEFAULT_CHUNK) -> FloatArray:
        """Outputs of the hidden units, Eq. (2): n_samples × n_hidden."""
        starts = range(0, len(inputs), chunk)
        return np.concatenate([self.layer.outputs(inputs[i : i + chunk]) for i in starts])

    def output_weights(self) -> tuple[FloatArray, FloatArray]:
        """W of Eq. (16) or (5), n_hidden × n_classes, and the constants, n_classes (none for PI)."""
        size, n_classes = self.layer.n_hidden, self.pi.n_classes
        if self.lda is None:
            return self.pi.at(size), np.zeros(n_classes)
        weights, constants = np.zeros((size, n_classes)), np.full(n_classes, -np.inf)
        seen = self.seen
        constants[seen], weights[:, seen] = np.split(
            self.lda.weights_at(size, self.pi.of_classes(seen)), [1]
        )
        return weights, constants


class TooLargeError(ElmldaError, MemoryError):
    """A network takes more memory than is free."""


class Trainer:
    """A network in training: batches of samples in, in any number and size; the network out.

    Constrained input weights need all training samples and their labels at the start.
    """

    def __init__(
        self,
        recipe: Recipe,
        n_classes: int,
        samples: Rows | None = None,
        labels: IntArray | None = None,
    ) -> None:
        needed, available = _predict_bytes(recipe.precision, recipe.n_hidden), available_memory()
        if available is not None and needed > available:
            most = math.isqrt(available // _predict_bytes(recipe.precision, 1))
            raise TooLargeError(
                f"{recipe.n_hidden:,} hidden units need {needed / 1e9:.2f} GB of memory, "
                f"{available / 1e9:.2f} GB are free. At most {most:,} would fit."
            )
        self.recipe = recipe
        self.layer = recipe.draw_layer(samples, labels)
        self.statistics = Statistics.zeros(recipe.n_hidden, n_classes, self.layer.dtype.type)

    def add(
        self,
        inputs: Rows,
        labels: IntArray,
        chunk: int = DEFAULT_CHUNK,
        weights: FloatArray | None = None,
    ) -> None:
        """Add samples and their class indices; nothing is solved yet."""
        if not self.statistics.gram.flags.writeable:  # as joblib.load(mmap_mode="r") has it
            self.statistics = copy.deepcopy(self.statistics)
        layer = replace(self.layer, threads=count_blas_threads())
        add_samples(self.statistics, layer, inputs, labels, chunk, weights=weights)

    def solve(self, ridge: float | None, priors: FloatArray | None) -> Network:
        """The network of the samples so far; without a ridge GCV chooses it, without priors it is PI.

        Prior probabilities of classes that have no samples yet are shared out among the others.
        """
        if ridge is None:
            ridge = choose_ridge(self.statistics)
        pi = solve_pi(self.statistics, (self.recipe.n_hidden,), ridge)
        if priors is not None:
            priors = np.where(pi.class_counts > 0, priors, 0.0)
            priors = priors / priors.sum()
        return Network(self.recipe, self.layer, pi, priors, ridge)


def _predict_bytes(precision: str, n_hidden: int) -> int:
    """Of the Gram matrix and its factor, next to which the rest is small."""
    return (HIDDEN_DTYPES[precision]().itemsize + 8) * n_hidden**2


def fit_network(
    recipe: Recipe,
    inputs: Rows,
    labels: IntArray,
    ridge: float | None,
    priors: FloatArray | None,
    n_classes: int,
    chunk: int = DEFAULT_CHUNK,
    weights: FloatArray | None = None,
    keep: Callable[[Trainer], None] | None = None,
) -> Network:
    """Train a network on samples that are all there, in double if mixed precision is not enough.

    A sample of weight w counts as w samples. `keep` is given the trainer, whose sums are lost
    otherwise.
    """

    def train(settings: NetworkSettings) -> Network:
        trainer = Trainer(replace(recipe, settings=settings), n_classes, inputs, labels)
        trainer.add(inputs, labels, chunk, weights)
        network = trainer.solve(ridge, priors)
        if keep:
            keep(trainer)
        return network

    double_bytes = _predict_bytes("double", recipe.n_hidden)
    return in_enough_precision(train, recipe.settings, recipe.n_hidden, double_bytes)


@dataclass(frozen=True, eq=False)
class Model:
    """One network or an ensemble, with all that new data need to be classified."""

    networks: tuple[Network, ...]
    classes: NDArray[Any]
    """The label of each class index."""
    combine: str | None = None
    """How an ensemble's posteriors are combined; None if it is a single network."""
    image_shape: tuple[int, int] | None = None
    """Rows and columns of one sample, where samples are images."""
    feature_names: NDArray[Any] | None = None
    scaling: Scaling | None = None
    """What standardised the inputs that it was trained on."""
    params: dict[str, Any] | None = None
    """Parameters of the estimator that it was saved from."""
    largest_input: float | None = None
    """Of the training data, where all inputs have one scale: pixels."""

    @property
    def is_ensemble(self) -> bool:
        return self.combine is not None

    @property
    def root_seed(self) -> np.random.SeedSequence:
        """The network's seed; an ensemble's is the one that its members' are spawned from."""
        seed = self.recipe.seed
        if not self.is_ensemble:
            return seed
        return np.random.SeedSequence(seed.entropy, spawn_key=seed.spawn_key[:-1])

    @property
    def has_posteriors(self) -> bool:
        return self.networks[0].lda is not None

    @property
    def recipe(self) -> Recipe:
        return self.networks[0].recipe

    @property
    def priors(self) -> FloatArray | None:
        return self.networks[0].priors

    def scores(self, inputs: Rows, chunk: int = DEFAULT_CHUNK) -> FloatArray:
        """The only network's scores."""
        (network,) = self.networks
        self._require_scale(inputs, chunk)
        return network.scores(self._scaled(inputs), chunk)

    def hidden_outputs(self, inputs: Rows, chunk: int = DEFAULT_CHUNK) -> FloatArray:
        """The only network's hidden outputs."""
        (network,) = self.networks
        self._require_scale(inputs, chunk)
        return network.hidden_outputs(self._scaled(inputs), chunk)

    def posteriors(self, inputs: Rows, chunk: int = DEFAULT_CHUNK) -> FloatArray:
        """Posterior probabilities, n_samples × n_classes, of the networks combined."""
        self._require_scale(inputs, chunk)
        starts = range(0, len(inputs), chunk)
        return np.concatenate([self._posteriors(inputs[i : i + chunk], chunk) for i in starts])

    def _posteriors(self, inputs: Rows, chunk: int) -> FloatArray:
        inputs = self._scaled(inputs)
        members = [posteriors_of_choice(network.scores(inputs, chunk)) for network in self.networks]
        if self.combine is None:
            return members[0]
        return np.asarray(combine_posteriors(np.stack(members), self.combine, self.priors)[-1])

    def values(self, inputs: Rows, chunk: int = DEFAULT_CHUNK) -> FloatArray:
        """Posteriors, or the scores of PI-ELM, which has none: n_samples × n_classes."""
        return self.posteriors(inputs, chunk) if self.has_posteriors else self.scores(inputs, chunk)

    def choose(self, inputs: Rows, chunk: int = DEFAULT_CHUNK) -> IntArray:
        """Class indices of the samples."""
        return np.asarray(self.values(inputs, chunk).argmax(axis=1))

    def _require_scale(self, inputs: Rows, chunk: int) -> None:
        """Refuse pixels of 0 to 1 instead of 0 to 255; all samples together tell, not each chunk's."""
        if self.largest_input is None:
            return
        chunks = (inputs[i : i + chunk] for i in range(0, len(inputs), chunk))
        largest = max((float(np.abs(each).max(initial=0)) for each in chunks), default=0.0)
        if largest and not 1 / OTHER_SCALE < largest / self.largest_input < OTHER_SCALE:
            raise ElmldaValueError(
                f"inputs up to {largest:g}, the model was trained on inputs up to "
                f"{self.largest_input:g}: multiply them by {self.largest_input / largest:.4g}."
            )

    def _scaled(self, inputs: Rows) -> Rows:
        """Inputs as the networks take them."""
        return inputs if self.scaling is None else self.scaling.apply(inputs[:])
