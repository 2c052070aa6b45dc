"""A network or an ensemble to keep and use: trained on a data set's training part."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from elmlda.datasets import Dataset
from elmlda.execute.local import Local, execute
from elmlda.experiments.command_options import TrainOptions
from elmlda.experiments.options import Share, read_sizes, select
from elmlda.experiments.plan import require_possible
from elmlda.experiments.progress import Progress
from elmlda.networks.cost import (
    BASE_BYTES,
    Problem,
    predict_peak_bytes,
    predict_ridge_bytes,
    predict_total_bytes,
    require_room,
)
from elmlda.networks.jobs import TrainingJob, run_training
from elmlda.networks.model import Model, Recipe
from elmlda.networks.steps import HIDDEN_DTYPES, resolve_priors
from elmlda.settings import (
    DEFAULT_RIDGE,
    PAPER_RANGE,
    USUAL_FANOUT,
    NetworkSettings,
    usual_hidden,
    usual_weight_range,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True)
class TrainModel(TrainOptions):
    """A model to be trained; its network i is network i of a sweep with the same seed."""

    @property
    def settings(self) -> NetworkSettings:
        # What generalised cross-validation chooses is never 0.
        ridge = DEFAULT_RIDGE if self.fixed_ridge is None else self.fixed_ridge
        return NetworkSettings(**select(self, NetworkSettings) | {"ridge": ridge})

    @property
    def fixed_ridge(self) -> float | None:
        """None: generalised cross-validation chooses it."""
        return None if isinstance(self.ridge, str) else self.ridge

    def suit(self, dataset: Dataset) -> TrainModel:
        """Fill in what is None: the paper's defaults for images, otherwise the estimators'."""
        n_inputs, is_image = dataset.n_inputs, dataset.image_shape is not None
        bias = not is_image if self.bias is None else self.bias
        suited = PAPER_RANGE if is_image else usual_weight_range(n_inputs, bias)
        hidden = self.hidden
        if self.fanout is None and hidden is None and not is_image:
            hidden = usual_hidden(n_inputs)
        return replace(
            self,
            bias=bias,
            weight_range=suited if self.weight_range is None else self.weight_range,
            fanout=USUAL_FANOUT if self.fanout is None else self.fanout,
            hidden=hidden,
        )

    def n_hidden(self, dataset: Dataset) -> int:
        return read_sizes(self.fanout or USUAL_FANOUT, self.hidden, dataset.n_inputs)[0]

    def check(self, dataset: Dataset, share: Share) -> None:
        """Refuse, before the training, settings that cannot work or do not fit into memory."""
        n_hidden = self.n_hidden(dataset)
        require_possible(dataset, self.settings, n_hidden if self.output == "lda" else 0)
        require_room(
            n_hidden,
            dataset.n_inputs,
            share.chunk,
            share.jobs,
            lambda n_hidden, chunk, jobs: self._peak_bytes(dataset, n_hidden, chunk, jobs),
        )

    def train(self, dataset: Dataset, share: Share, bar: Progress) -> Model:
        """Train every network."""
        jobs, networks = self._jobs(dataset, share), {}
        for job, network in execute(run_training, jobs, Local(share.jobs)):
            networks[job.recipe.seed.spawn_key] = network
            bar.update()
        names = None if dataset.feature_names is None else np.array(dataset.feature_names, object)
        return Model(
            tuple(networks[job.recipe.seed.spawn_key] for job in jobs),
            _as_labels(dataset.classes),
            self.combine if self.n > 1 else None,
            dataset.image_shape,
            names,
            dataset.scaling,  # of samples that come later, which are not standardised
            largest_input=_largest_pixel(dataset),
        )

    def _jobs(self, dataset: Dataset, share: Share) -> list[TrainingJob]:
        settings = self.settings
        settings = replace(settings, input_scale=settings.input_scale or dataset.input_scale)
        counts = dataset.train.count_classes(dataset.n_classes)
        priors = resolve_priors(self.priors, counts) if self.output == "lda" else None
        seeds = (np.random.SeedSequence(self.seed, spawn_key=(i,)) for i in range(self.n))
        ref = self.dataset_ref.expecting(dataset.checksums)
        shape = dataset.n_inputs, self.n_hidden(dataset), settings, dataset.image_shape
        return [
            TrainingJob(ref, Recipe(seed, *shape), self.fixed_ridge, priors, share.resources())
            for seed in seeds
        ]

    def _peak_bytes(self, dataset: Dataset, n_hidden: int, chunk: int, jobs: int) -> int:
        """Memory that the training takes at its peak, with the networks that are trained already."""
        itemsize = HIDDEN_DTYPES[self.settings.precision]().itemsize
        inputs, problem = dataset.nbytes, Problem.of(dataset, (n_hidden,))
        one = predict_peak_bytes(problem, chunk, itemsize, inputs)
        one = max(one, BASE_BYTES + dataset.loading_bytes)
        needed = predict_total_bytes(one, inputs, jobs)
        if self.fixed_ridge is None:
            needed = max(needed, jobs * predict_ridge_bytes(problem, itemsize, inputs))
        one_trained = n_hidden * (itemsize * dataset.n_inputs + 8 * dataset.n_classes)
        return needed + (self.n - 1) * one_trained


def _largest_pixel(dataset: Dataset) -> float | None:
    """The largest input of images or bytes, to tell inputs of another scale; None of other data."""
    inputs = dataset.train.inputs
    if dataset.scaling is not None or (dataset.image_shape is None and inputs.dtype != np.uint8):
        return None
    return float(np.abs(inputs).max()) or None


def _as_labels(classes: tuple[str, ...]) -> NDArray[Any]:
    """Whole numbers as numbers, so that an estimator's predictions compare with them."""
    labels = np.array(classes)
    with suppress(ValueError):
        numbers = labels.astype(np.int64)
        if tuple(map(str, numbers)) == classes:
            return numbers
    return labels
