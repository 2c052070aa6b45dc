"""The steps that a network takes, in their order: hidden layer, statistics, scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from elmlda.core.arrays import FloatArray, IntArray, Rows
from elmlda.core.bfloat16 import Multiplier, choose_multiplier
from elmlda.core.hidden import HiddenLayer
from elmlda.core.input_weights import draw_weights
from elmlda.core.solve import LostPrecisionError, require_finite_scores
from elmlda.core.statistics import Statistics
from elmlda.core.stopwatch import Stopwatch
from elmlda.datasets import Dataset
from elmlda.errors import ElmldaValueError
from elmlda.settings import NetworkSettings, Resources, parse_priors

HIDDEN_DTYPES: dict[str, type[np.floating]] = {
    "mixed": np.float32,
    "double": np.float64,
    "bfloat16": np.float32,
}


def find_multiplier(precision: str) -> Multiplier | None:
    """What multiplies hidden outputs that are rounded to bfloat16; None where they are not."""
    return choose_multiplier() if precision == "bfloat16" else None


def draw_layer(
    dataset: Dataset,
    rng: np.random.Generator,
    n_hidden: int,
    settings: NetworkSettings,
    resources: Resources,
) -> HiddenLayer:
    """The hidden layer of a network for this data set."""
    dtype = HIDDEN_DTYPES[settings.precision]
    weights = draw_weights(rng, dataset.input_space, n_hidden, settings, dtype)
    return make_layer(weights, settings, dataset.input_scale, resources.threads)


def make_layer(
    input_weights: FloatArray, settings: NetworkSettings, input_scale: float = 1.0, threads: int = 1
) -> HiddenLayer:
    """The hidden layer of these input weights; the scale is for settings that have none."""
    scale = input_scale if settings.input_scale is None else settings.input_scale
    is_rounded = settings.precision == "bfloat16"
    return HiddenLayer(input_weights, settings.activation, scale, threads, settings.bias, is_rounded)


def accumulate_statistics(
    layer: HiddenLayer,
    inputs: Rows,
    labels: IntArray,
    n_classes: int,
    chunk: int,
    watch: Stopwatch | None = None,
) -> Statistics:
    """Statistics of the training data, from `chunk` samples at a time."""
    watch = watch or Stopwatch()
    with watch.part("gram"):
        statistics = Statistics.zeros(layer.n_hidden, n_classes, layer.dtype.type)
    add_samples(statistics, layer, inputs, labels, chunk, watch)
    return statistics


def add_samples(
    statistics: Statistics,
    layer: HiddenLayer,
    inputs: Rows,
    labels: IntArray,
    chunk: int,
    watch: Stopwatch | None = None,
    weights: FloatArray | None = None,
) -> None:
    """Add samples to the statistics, holding the hidden outputs of `chunk` at a time.

    A sample of weight w counts as w samples.
    """
    watch = watch or Stopwatch()
    with watch.part("gram"):
        buffer = np.empty((min(chunk, len(inputs)), layer.n_hidden), layer.dtype)
    for start in range(0, len(inputs), chunk):
        batch = inputs[start : start + chunk]
        hidden = buffer[: len(batch)]
        # What overflows ends in a Gram matrix that is not finite, which the solution refuses.
        with np.errstate(over="ignore", invalid="ignore"):
            with watch.part("projection"):
                layer.project(batch, hidden)
            with watch.part("activation"):
                layer.activate(hidden)
            with watch.part("gram"):
                part = slice(start, start + chunk)
                part_weights = None if weights is None else weights[part]
                statistics.add(hidden, labels[part], part_weights, layer)


def score_samples(
    layer: HiddenLayer, scorers: Sequence[Callable[[FloatArray], FloatArray]], inputs: Rows, chunk: int
) -> list[FloatArray]:
    """Scores of every sample by each scorer, samples as rows.

    A scorer takes hidden outputs, such as `PiOutputs.scores`; they are computed once for all.

    Raises
    ------
    ElmldaError
        If a score is not finite: which class is highest would be a matter of chance.
    """

    def score_all(hidden: FloatArray) -> list[FloatArray]:
        return [score(hidden) for score in scorers]

    starts = range(0, len(inputs), chunk)
    with np.errstate(over="ignore", invalid="ignore"):
        # Hidden outputs have no name here: a chunk's are gone before the next are computed.
        parts = [score_all(layer.outputs(inputs[i : i + chunk])) for i in starts]
    found = [np.concatenate(scores) for scores in zip(*parts, strict=True)]
    for scores in found:
        if layer.dtype == np.float32 and not np.isfinite(scores).all():
            raise LostPrecisionError("hidden outputs too large for float32.")
        require_finite_scores(scores)
    return found


def resolve_priors(priors: str, class_counts: IntArray | FloatArray) -> FloatArray:
    """Prior probabilities π of the classes, as settings name them."""
    n_classes = len(class_counts)
    if priors == "uniform":
        return np.full(n_classes, 1 / n_classes)
    if priors == "frequencies":
        return np.asarray(class_counts / class_counts.sum())
    values = parse_priors(priors)
    if len(values) != n_classes:
        raise ElmldaValueError(f"{len(values)} priors given, {n_classes} classes in the data.")
    return np.array(values)
