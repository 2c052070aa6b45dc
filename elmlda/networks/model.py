"""Trained networks, ready to classify: one network, or several whose posteriors are averaged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elmlda.core import FloatArray, IntArray, Rows
from elmlda.core.evaluate import posteriors_of_choice
from elmlda.core.hidden import ELEMENTS_PER_TASK, HiddenLayer
from elmlda.core.solve import LdaOutputs, PiOutputs, derive_lda
from elmlda.datasets.split import Scaling
from elmlda.errors import ElmldaValueError
from elmlda.machine import count_blas_threads
from elmlda.networks.cost import CHUNK, Problem, in_enough_precision, predict_peak_bytes, require_memory
from elmlda.networks.train import Recipe, Trainer, resolve_priors, score_samples
from elmlda.settings import NetworkSettings, OutputSettings

OTHER_SCALE = 10
"""Pixels have another scale if they differ from the training data's by more than this factor."""


@dataclass(frozen=True, eq=False)
class Network:
    """A trained network."""

    recipe: Recipe
    layer: HiddenLayer
    pi: PiOutputs
    priors: FloatArray | None
    """Prior probabilities, zero for classes without training samples; None makes it PI-ELM."""
    ridge: float
    temperature: float = 1.0
    """What LDA's scores are multiplied by."""
    lda: LdaOutputs | None = field(init=False, repr=False)
    """LDA-ELM's outputs for the classes that have training samples."""

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
        scores[:, self.seen] = self.temperature * self.lda.scores(found[:, :, self.seen])[:, 0]
        return scores

    def hidden_outputs(self, inputs: Rows, chunk: int = CHUNK) -> FloatArray:
        """Outputs of the hidden units, Eq. (2): n_samples × n_hidden."""
        starts = range(0, len(inputs), chunk)
        return np.concatenate([self.layer.outputs(inputs[i : i + chunk]) for i in starts])

    def output_weights(self) -> tuple[FloatArray, FloatArray]:
        """Output weights, n_hidden × n_classes, and constants, n_classes, that give the scores."""
        size, n_classes = self.layer.n_hidden, self.pi.n_classes
        if self.lda is None:
            return self.pi.at(size), np.zeros(n_classes)
        weights, constants = np.zeros((size, n_classes)), np.full(n_classes, -np.inf)
        seen = self.seen
        solved = self.temperature * self.lda.weights_at(size, self.pi.of_classes(seen))
        constants[seen], weights[:, seen] = np.split(solved, [1])
        return weights, constants


def solve_network(trainer: Trainer, settings: OutputSettings, *, strict: bool = True) -> Network:
    """The network of the samples so far.

    Prior probabilities of classes that have no samples yet are shared out among the others.
    """
    if settings.output == "pi":
        settings = replace(settings, temperature=1.0)
    ((ridge, (temperature,), pi),) = trainer.solve((trainer.recipe.n_hidden,), settings, strict=strict)
    priors = None
    if settings.output == "lda":
        given = resolve_priors(trainer.recipe.settings.priors, pi.class_counts)
        shared = np.where(pi.class_counts > 0, given, 0.0)
        priors = shared / shared.sum()
    network = Network(trainer.recipe, trainer.layer, pi, priors, ridge, float(temperature))
    if np.isnan(temperature):
        raise ElmldaValueError(
            "no temperature can be chosen by leaving one out: no class has two samples, or the network "
            "without one of them is singular.",
            "Give it as a number ({temperature}).",
            temperature="1",
        )
    return network


def fit_network(
    recipe: Recipe,
    inputs: Rows,
    labels: IntArray,
    settings: OutputSettings,
    n_classes: int,
    chunk: int = CHUNK,
    weights: FloatArray | None = None,
    class_weights: FloatArray | None = None,
    keep: Callable[[Trainer], None] | None = None,
) -> Network:
    """Train a network on samples that are all there, in double if mixed precision is not enough.

    A sample of weight w counts as w samples; its class's weight is multiplied with that. `keep` is
    given the trainer, whose sums are lost otherwise.
    """

    def problem_in(precision: str) -> Problem:
        sizes, has_rule = (recipe.n_hidden,), isinstance(settings.ridge, str)
        shape = len(labels), 0, recipe.n_inputs, n_classes
        return Problem(*shape, sizes, precision, has_rule=has_rule, leaves_out=True)

    def train(of_network: NetworkSettings) -> Network:
        made = replace(recipe, settings=of_network)
        trainer = Trainer(made, n_classes, inputs, labels, holds_rows=True, class_weights=class_weights)
        trainer.add(inputs, labels, chunk, weights)
        network = solve_network(trainer, settings)
        if keep:
            keep(trainer)
        return network

    require_memory(problem_in(recipe.precision))
    return in_enough_precision(train, recipe.settings, predict_peak_bytes(problem_in("double")))


def mean_posteriors(networks: Sequence[Network], inputs: Rows, chunk: int = CHUNK) -> FloatArray:
    """Posterior probabilities, n_samples × n_classes, the mean of the networks'."""
    total = sum(posteriors_of_choice(network.scores(inputs, chunk)) for network in networks)
    return np.asarray(total / len(networks))


@dataclass(frozen=True, eq=False)
class Model:
    """One network or an ensemble, with all that new data need to be classified."""

    networks: tuple[Network, ...]
    classes: tuple[str, ...]
    """The label of each class index."""
    scaling: Scaling | None = None
    """What standardised the inputs that it was trained on."""
    largest_input: float | None = None
    """The largest input of the training data, where all inputs have one scale: pixels."""
    columns: Any = None
    """How the columns of a table become inputs."""

    @property
    def has_posteriors(self) -> bool:
        return self.networks[0].lda is not None

    @property
    def recipe(self) -> Recipe:
        return self.networks[0].recipe

    def values(self, inputs: NDArray[Any]) -> FloatArray:
        """Posteriors, or the scores of PI-ELM, which has none: n_samples × n_classes."""
        inputs = self._prepare(inputs)
        if self.has_posteriors:
            return mean_posteriors(self.networks, inputs)
        (network,) = self.networks
        return network.scores(inputs)

    def _prepare(self, inputs: NDArray[Any]) -> NDArray[Any]:
        """Inputs as the networks take them; refuses pixels of 0 to 1 instead of 0 to 255.

        The scale is that of all samples together: one may be faint.
        """
        if self.largest_input is not None:
            largest = float(np.abs(inputs).max(initial=0))
            if largest and not 1 / OTHER_SCALE < largest / self.largest_input < OTHER_SCALE:
                raise ElmldaValueError(
                    f"inputs up to {largest:g}, the model was trained on inputs up to "
                    f"{self.largest_input:g}: multiply them by {self.largest_input / largest:.4g}."
                )
        return inputs if self.scaling is None else self.scaling.apply(inputs)
