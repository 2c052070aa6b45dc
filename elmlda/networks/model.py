"""Trained networks, ready to classify: one network, or several whose posteriors are combined."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elmlda.core.arrays import FloatArray, IntArray, Rows
from elmlda.core.evaluate import combine_posteriors, posteriors_of_choice
from elmlda.core.hidden import ELEMENTS_PER_TASK, HiddenLayer
from elmlda.core.solve import LdaOutputs, PiOutputs, derive_lda
from elmlda.datasets.scaling import Scaling
from elmlda.errors import ElmldaValueError
from elmlda.machine import count_blas_threads
from elmlda.networks.cost import CHUNK, Problem, predict_peak_bytes, require_memory
from elmlda.networks.train import Recipe, Ridge, Trainer, in_enough_precision, score_samples
from elmlda.settings import NetworkSettings

OTHER_SCALE = 10
"""Pixels that are so many times larger or smaller than the training data's are of another scale."""


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

    def scores(self, inputs: Rows, chunk: int = CHUNK) -> FloatArray:
        """Scores of the samples: n_samples × n_classes; -inf for classes that LDA has not seen."""
        n_rows = min(len(inputs), chunk)
        threads = count_blas_threads() if n_rows * self.layer.n_hidden > ELEMENTS_PER_TASK else 1
        (found,) = score_samples(replace(self.layer, threads=threads), [self.pi.scores], inputs, chunk)
        if self.lda is None:
            return np.asarray(found[:, 0])
        scores: FloatArray = np.full((len(found), self.pi.n_classes), -np.inf)
        scores[:, self.seen] = self.lda.scores(found[:, :, self.seen])[:, 0]
        return scores

    def hidden_outputs(self, inputs: Rows, chunk: int = CHUNK) -> FloatArray:
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


def solve_network(trainer: Trainer, ridge: Ridge, priors: FloatArray | None) -> Network:
    """The network of the samples so far; without priors it is PI-ELM.

    Prior probabilities of classes that have no samples yet are shared out among the others.
    """
    ((value, pi),) = trainer.solve((trainer.recipe.n_hidden,), ridge)
    if priors is not None:
        priors = np.where(pi.class_counts > 0, priors, 0.0)
        priors = priors / priors.sum()
    return Network(trainer.recipe, trainer.layer, pi, priors, value)


def fit_network(
    recipe: Recipe,
    inputs: Rows,
    labels: IntArray,
    ridge: Ridge,
    priors: FloatArray | None,
    n_classes: int,
    chunk: int = CHUNK,
    weights: FloatArray | None = None,
    keep: Callable[[Trainer], None] | None = None,
) -> Network:
    """Train a network on samples that are all there, in double if mixed precision is not enough.

    A sample of weight w counts as w samples. `keep` is given the trainer, whose sums are lost
    otherwise.
    """

    def problem_in(precision: str) -> Problem:
        sizes, has_rule = (recipe.n_hidden,), isinstance(ridge, str)
        shape = len(labels), 0, recipe.n_inputs, n_classes
        return Problem(*shape, sizes, precision, has_rule=has_rule)

    def train(settings: NetworkSettings) -> Network:
        made = replace(recipe, settings=settings)
        trainer = Trainer(made, n_classes, inputs, labels)
        trainer.add(inputs, labels, chunk, weights)
        network = solve_network(trainer, ridge, priors)
        if keep:
            keep(trainer)
        return network

    require_memory(problem_in(recipe.precision))
    return in_enough_precision(train, recipe.settings, predict_peak_bytes(problem_in("double")))


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
    columns: Any = None
    """How the columns of a table become inputs."""

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

    def scores(self, inputs: Rows, chunk: int = CHUNK) -> FloatArray:
        """The only network's scores."""
        self._require_same_scale(inputs)
        (network,) = self.networks
        return network.scores(self._scaled(inputs), chunk)

    def hidden_outputs(self, inputs: Rows, chunk: int = CHUNK) -> FloatArray:
        """The only network's hidden outputs."""
        self._require_same_scale(inputs)
        (network,) = self.networks
        return network.hidden_outputs(self._scaled(inputs), chunk)

    def posteriors(self, inputs: Rows, chunk: int = CHUNK) -> FloatArray:
        """Posterior probabilities, n_samples × n_classes, of the networks combined."""
        self._require_same_scale(inputs)
        starts = range(0, len(inputs), chunk)
        return np.concatenate([self._posteriors(inputs[i : i + chunk], chunk) for i in starts])

    def _posteriors(self, inputs: Rows, chunk: int) -> FloatArray:
        inputs = self._scaled(inputs)
        members = [posteriors_of_choice(network.scores(inputs, chunk)) for network in self.networks]
        if self.combine is None:
            return members[0]
        return np.asarray(combine_posteriors(np.stack(members), self.combine, self.priors)[-1])

    def values(self, inputs: Rows, chunk: int = CHUNK) -> FloatArray:
        """Posteriors, or the scores of PI-ELM, which has none: n_samples × n_classes."""
        return self.posteriors(inputs, chunk) if self.has_posteriors else self.scores(inputs, chunk)

    def choose(self, inputs: Rows, chunk: int = CHUNK) -> IntArray:
        """Class indices of the samples."""
        return np.asarray(self.values(inputs, chunk).argmax(axis=1))

    def _require_same_scale(self, inputs: Rows) -> None:
        """Refuse pixels of 0 to 1 instead of 0 to 255, by all samples together: one may be faint."""
        if self.largest_input is not None:
            largest = float(np.abs(inputs[:]).max(initial=0))
            if largest and not 1 / OTHER_SCALE < largest / self.largest_input < OTHER_SCALE:
                raise ElmldaValueError(
                    f"inputs up to {largest:g}, the model was trained on inputs up to "
                    f"{self.largest_input:g}: multiply them by {self.largest_input / largest:.4g}."
                )

    def _scaled(self, inputs: Rows) -> Rows:
        """Inputs as the networks take them."""
        return inputs if self.scaling is None else self.scaling.apply(inputs[:])
