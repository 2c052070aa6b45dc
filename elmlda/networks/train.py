"""Training and testing of the networks of experiments.

A hidden layer is drawn, sums over the training samples are accumulated chunk by chunk, and output
weights are solved for. If float32 is not precise enough, the network is trained again in double
precision, provided that it fits into memory.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from elmlda.core import FloatArray, IntArray
from elmlda.core.head import FeatureSums, Solution, resolve_priors
from elmlda.core.hidden import HiddenLayer, InputSpace, draw_weights
from elmlda.core.solve import (
    LdaOutputs,
    PiOutputs,
    RankWarning,
    SingularCovarianceError,
    derive_lda,
    require_finite,
)
from elmlda.datasets.split import Dataset
from elmlda.networks.cost import CHUNK, HIDDEN_DTYPES, Problem, in_enough_precision
from elmlda.options import LEAVE_ONE_OUT, Choice, NetworkOptions

FEW_HIDDEN = 1024
"""Mixed precision is double precision up to this size, which takes a second or two. Hidden units of
small networks are often nearly dependent: rounding errors of float32 would change predictions."""

SAMPLE_KEY = 2**32 - 1
"""Last element of the spawn key for the row sample's generator. No network has this key."""


def choose_precision(precision: str, n_hidden: int) -> str:
    """Return the precision of a network of this size."""
    return "double" if precision == "mixed" and n_hidden <= FEW_HIDDEN else precision


@dataclass(frozen=True)
class Recipe:
    """Everything that defines a hidden layer, before training."""

    seed: np.random.SeedSequence
    n_inputs: int
    n_hidden: int
    settings: NetworkOptions
    image_shape: tuple[int, int] | None = None
    """Rows and columns of a sample that is an image, for receptive fields."""

    @classmethod
    def for_dataset(
        cls, dataset: Dataset, seed: np.random.SeedSequence, n_hidden: int, settings: NetworkOptions
    ) -> Recipe:
        """Return the recipe for a dataset's inputs."""
        settings = replace(settings, input_scale=settings.input_scale or dataset.input_scale)
        return cls(seed, dataset.n_inputs, n_hidden, settings, dataset.image_shape)

    @property
    def sample_seed(self) -> np.random.SeedSequence:
        """Seed of the row sample, independent of the input weights."""
        key = (*self.seed.spawn_key, SAMPLE_KEY)
        return np.random.SeedSequence(self.seed.entropy, spawn_key=key)

    def draw_layer(
        self, samples: Any = None, labels: IntArray | None = None, precision: str | None = None
    ) -> HiddenLayer:
        """Draw the hidden layer, the same at every call. Constrained weights need the training data."""
        settings = self.settings
        space = InputSpace(self.n_inputs, self.image_shape, samples, labels)
        rng = np.random.default_rng(self.seed)
        dtype = HIDDEN_DTYPES[precision or choose_precision(settings.precision, self.n_hidden)]
        input_weights = draw_weights(rng, space, self.n_hidden, settings, dtype)
        scale = 1.0 if settings.input_scale is None else settings.input_scale
        return HiddenLayer(input_weights, settings.activation, scale, has_bias=settings.bias)


@dataclass(frozen=True, eq=False)
class TestScores:
    """Scores of the test samples at hidden sizes that share a ridge, or the rule for it."""

    rule: str
    """ "fixed", or the rule that chose the ridge."""
    ridge: float
    sizes: tuple[int, ...]
    pi: FloatArray
    """Scores of PI-ELM, Eq. (5): n_test × n_sizes × n_classes."""
    pi_constant: FloatArray
    """Scores of PI-ELM with a constant hidden unit."""
    lda: FloatArray
    """Scores of LDA-ELM, Eq. (15): n_test × n_solved × n_classes, without the singular sizes."""
    temperatures: FloatArray
    """Temperatures of LDA's scores, n_sizes; NaN where unknown."""


@dataclass(frozen=True, eq=False)
class TestedNetwork:
    """A network's test scores for every ridge, the precision and the time."""

    scores: list[TestScores]
    precision: str
    """ "double" if mixed precision was not enough."""
    seconds: float
    """Elapsed time from the first random number to the last score."""


def train_and_test(
    dataset: Dataset,
    recipe: Recipe,
    sizes_by_ridge: Mapping[Choice, Sequence[int]],
    threads: int = 1,
    temperature: Choice = 1.0,
) -> TestedNetwork:
    """Train and test PI-ELM and LDA-ELM with the same input weights at every hidden size.

    Parameters
    ----------
    sizes_by_ridge : ascending hidden sizes for each ridge. The sizes are nested in one network. Each
        ridge needs a factorisation, but the Gram matrix is computed once
    """
    assert dataset.test is not None
    train, test = dataset.train, dataset.test
    start = time.perf_counter()
    holds_rows = LEAVE_ONE_OUT in (temperature, *sizes_by_ridge)

    def run(settings: NetworkOptions) -> TestedNetwork:
        layer = replace(recipe, settings=settings).draw_layer(train.inputs, train.labels)
        layer = replace(layer, threads=threads)
        rng = np.random.default_rng(recipe.sample_seed) if holds_rows else None
        dtype = layer.input_weights.dtype.type
        sums = FeatureSums(recipe.n_hidden, dataset.n_classes, dtype, rng=rng)
        sums.add(layer.batches(train.inputs, CHUNK), train.labels)
        solutions = [
            (rule, solution)
            for ridge, sizes in sizes_by_ridge.items()
            for rule, solution in _solve(sums, ridge, sizes, temperature, settings.priors)
        ]
        del sums
        maps = [_derive_solvable(solution.pi, settings.priors) for _, solution in solutions]
        batches = layer.batches(test.inputs, CHUNK)
        parts = [[solution.pi.scores(hidden) for _, solution in solutions] for hidden in batches]
        scores = []
        for (rule, (ridge, temperatures, pi)), lda, *own in zip(solutions, maps, *parts, strict=True):
            plain = np.concatenate(own)
            # The highest of scores that are not finite would be arbitrary.
            require_finite(plain, "sample {index} has scores", layer.input_weights.dtype)
            lda_scores = plain[:, :0] if lda is None else lda.scores(plain[:, : len(lda.constants)])
            arrays = plain, pi.add_constant_unit(plain), lda_scores, temperatures
            scores.append(TestScores(rule, ridge, pi.sizes, *arrays))
        precision = "mixed" if dtype == np.float32 else "double"
        return TestedNetwork(scores, precision, time.perf_counter() - start)

    with threadpool_limits(threads, user_api="blas"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RankWarning)  # LDA has no solution there, which rows record
        sizes = max(sizes_by_ridge.values(), key=max)
        problem = Problem.for_dataset(dataset, sizes, "mixed", tuple(sizes_by_ridge), temperature)
        return in_enough_precision(run, recipe.settings, problem)


def _solve(
    sums: FeatureSums, ridge: Choice, sizes: Sequence[int], temperature: Choice, priors: Any
) -> Iterator[tuple[str, Solution]]:
    """Solve PI-ELM at each size; yield the rule for the ridge, and the solution."""
    if not isinstance(ridge, str):
        yield "fixed", sums.solve(sizes, ridge, temperature, priors)
        return
    for size in sizes:
        # Eigenvalues of a small matrix take longer with threads that wait for each other.
        with threadpool_limits(1 if size <= FEW_HIDDEN else None, user_api="blas"):
            best_ridge, best = sums.choose_ridge(size, priors)
        tau = best.temperature if isinstance(temperature, str) else temperature
        yield ridge, sums.solve((size,), best_ridge, tau, priors)


def _derive_solvable(pi: PiOutputs, priors: Any) -> LdaOutputs | None:
    """Derive LDA-ELM at the sizes below the first singular one; None if there are none."""
    probabilities = resolve_priors(priors, pi.class_counts)
    try:
        return derive_lda(pi, probabilities)
    except SingularCovarianceError as error:
        n_solved = sum(size < error.n_hidden for size in pi.sizes)
    return derive_lda(pi, probabilities, n_solved) if n_solved else None
