"""A network or an ensemble to keep and use, trained on a data set's training part or on all of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from elmlda.errors import ElmldaError
from elmlda.experiments.job import refuse_two_sizes, require_possible, require_samples
from elmlda.experiments.pool import Machine, compute_all
from elmlda.options import (
    COMBINATIONS,
    OUTPUTS,
    flag,
    number,
    one_of,
    option,
    optional,
    ridges,
    whole,
)
from elmlda.settings import (
    DEFAULT_RIDGE,
    PAPER_RANGE,
    USUAL_FANOUT,
    DataOptions,
    NetworkSettings,
    usual_hidden,
    usual_weight_range,
)

if TYPE_CHECKING:
    from elmlda.datasets import Dataset
    from elmlda.networks.model import Model, Network
    from elmlda.networks.train import Recipe


@dataclass(frozen=True, kw_only=True)
class Classifier(NetworkSettings, DataOptions):
    """A model to be trained; its network i is network i of a sweep with the same seed.

    Where an option is None, the data decide: images have the paper's settings, others the estimators'.
    """

    fanout: int | None = option(
        None,
        optional(whole()),
        "Hidden units for each input.  [default: 10, but at least 500 units if they are no images]",
    )
    hidden: int | None = option(None, optional(whole()), "Number of hidden units instead of --fanout.")
    output: str = option(
        "lda",
        one_of(*OUTPUTS),
        "Output weights by LDA, with posteriors, or by the pseudo-inverse (pi).",
    )
    n: int = option(1, whole(1, 10_000), "Networks: more than one are an ensemble.")
    combine: str = option("mean", one_of(*COMBINATIONS), "How an ensemble combines its posteriors.")
    test: bool = option(
        True, flag(), "Leave the test part out of the training and count errors on it, or train on all."
    )
    bias: Any = option(
        None,
        optional(flag()),
        "Give each hidden unit a random bias.  [default: none for images, else one]",
    )
    weight_range: Any = option(
        None,
        optional(number(above=True)),
        "Uniform input weights are in ± this.  [default: 0.5 for images, else 1/√inputs with a bias]",
    )
    ridge: Any = option(
        DEFAULT_RIDGE,
        ridges(several=False),
        "Added to the diagonal of the Gram matrix; 0 is the paper's, gcv chooses it.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_two_sizes(self)
        if self.n > 1 and self.output == "pi":
            raise ElmldaError(
                "an ensemble combines posteriors, PI-ELM has none.", "Use {output}.", output="lda"
            )

    @cached_property
    def data(self) -> Dataset:
        """What is trained on; its test part is None if all samples are."""
        from elmlda.datasets import load_dataset

        loaded = load_dataset(self.dataset, label=self.label, drop=self.drop, missing=self.missing)
        return loaded.split() if self.test else loaded.join()

    @cached_property
    def settings(self) -> NetworkSettings:
        """The networks' settings, filled in for the data."""
        data, is_image = self.data, self.data.image_shape is not None
        bias = not is_image if self.bias is None else self.bias
        suited = PAPER_RANGE if is_image else usual_weight_range(data.n_inputs, bias)
        given = {each.name: getattr(self, each.name) for each in fields(NetworkSettings)}
        chosen = {"bias": bias, "weight_range": self.weight_range or suited}
        return NetworkSettings(**given | chosen)

    @cached_property
    def n_hidden(self) -> int:
        data = self.data
        if self.fanout is None and self.hidden is None and data.image_shape is None:
            return usual_hidden(data.n_inputs)
        return self.hidden or (self.fanout or USUAL_FANOUT) * data.n_inputs

    def check(self) -> None:
        """Refuse, before the training, settings that cannot work."""
        require_possible(self.data, self.settings)
        if self.output == "lda" and self.ridge == 0:
            require_samples(self.data, self.n_hidden, self.hidden)

    def train(self, machine: Machine) -> Iterator[Network]:
        """Train every network, in the order in which they are ready."""
        import numpy as np

        from elmlda.networks.train import Recipe, resolve_priors

        data = self.data
        counts = data.train.count_classes(data.n_classes)
        priors = resolve_priors(self.settings.priors, counts) if self.output == "lda" else None
        seeds = [np.random.SeedSequence(self.seed, spawn_key=(i,)) for i in range(self.n)]
        recipes = [Recipe.for_dataset(data, seed, self.n_hidden, self.settings) for seed in seeds]
        jobs = [(recipe, self.ridge, priors, machine.threads_each) for recipe in recipes]
        return compute_all(_fit, data, jobs, machine)

    def make_model(self, networks: list[Network]) -> Model:
        """The model of the trained networks."""
        import numpy as np

        from elmlda.networks.model import Model

        data = self.data
        ordered = sorted(networks, key=lambda network: network.recipe.seed.spawn_key)
        names = None if data.feature_names is None else np.array(data.feature_names, object)
        return Model(
            tuple(ordered),
            _as_labels(data.classes),
            self.combine if self.n > 1 else None,
            data.image_shape,
            names,
            data.scaling,  # of samples that come later, which are not standardised
            largest_input=_largest_pixel(data),
            columns=data.columns,
        )

    def count_errors(self, model: Model) -> tuple[int, int]:
        """Test errors and test samples, which are scaled already."""
        assert self.data.test is not None
        test = self.data.test
        chosen = replace(model, scaling=None).choose(test.inputs)
        return int((chosen != test.labels).sum()), len(test.labels)


def _fit(data: Dataset, job: tuple[Recipe, Any, Any, int]) -> Network:
    """Train a network, in this process."""
    from threadpoolctl import threadpool_limits

    from elmlda.networks.model import fit_network

    recipe, ridge, priors, threads = job
    with threadpool_limits(threads, user_api="blas"):
        return fit_network(recipe, data.train.inputs, data.train.labels, ridge, priors, data.n_classes)


def _largest_pixel(data: Dataset) -> float | None:
    """The largest input of images or bytes, to tell inputs of another scale; None of other data."""
    import numpy as np

    inputs = data.train.inputs
    if data.scaling is not None or (data.image_shape is None and inputs.dtype != np.uint8):
        return None
    return float(np.abs(inputs).max()) or None


def _as_labels(classes: tuple[str, ...]) -> Any:
    """Whole numbers as numbers, so that an estimator's predictions compare with them."""
    import numpy as np

    labels = np.array(classes)
    with suppress(ValueError):
        numbers = labels.astype(np.int64)
        if tuple(map(str, numbers)) == classes:
            return numbers
    return labels
