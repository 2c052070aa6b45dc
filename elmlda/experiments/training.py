"""Networks to be trained: their data, sizes and ridges; and the model that `elmlda train` keeps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from elmlda.errors import ElmldaError
from elmlda.experiments.pool import Machine, compute_all
from elmlda.options import (
    FLAG,
    LEAVE_ONE_OUT,
    NUMBERS,
    OUTPUTS,
    PRIORS,
    OptionError,
    number,
    one_of,
    option,
    or_loo,
    whole,
)
from elmlda.settings import (
    PAPER_RANGE,
    USUAL_FANOUT,
    DataOptions,
    NetworkSettings,
    OutputSettings,
    usual_hidden,
    usual_weight_range,
)

if TYPE_CHECKING:
    from elmlda.datasets import Dataset
    from elmlda.networks.model import Model, Network
    from elmlda.networks.train import Recipe

FANOUT_HELP = "Hidden units for each input."


@dataclass(frozen=True, kw_only=True, repr=False)
class Training(NetworkSettings, DataOptions):
    """Networks to be trained: their data, their sizes and their ridges."""

    fanout: Any = option("1-20", NUMBERS, FANOUT_HELP)
    hidden: Any = option(None, NUMBERS, "Hidden units instead, such as 100,500,1000.")
    ridge: Any = option(0.0, or_loo(number()), "Added to the Gram matrix's diagonal.")
    temperature: Any = option(
        1.0,
        or_loo(number(above=True)),
        "Also score posteriors with LDA's scores times this; loo chooses it.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if {"fanout", "hidden"} <= self.changed().keys():
            raise OptionError(
                "", "{fanout} and {hidden} exclude each other: give one.", fanout=None, hidden=None
            )

    @cached_property
    def loaded(self) -> Dataset:
        """The data as they come, loaded once."""
        from elmlda.datasets import load_dataset

        return load_dataset(self.dataset, label=self.label, drop=self.drop, missing=self.missing)

    @cached_property
    def data(self) -> Dataset:
        """The data with a training and a test part."""
        return self.loaded.split()

    @cached_property
    def settings(self) -> NetworkSettings:
        """What defines the networks."""
        return NetworkSettings(
            **{each.name: getattr(self, each.name) for each in fields(NetworkSettings)}
        )

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Hidden sizes, ascending."""
        fanouts = _as_tuple(self.fanout)
        return _as_tuple(self.hidden or tuple(each * self.data.n_inputs for each in fanouts))

    @property
    def ridges(self) -> tuple[float | str, ...]:
        """Numbers, or rules that choose one."""
        return _as_tuple(self.ridge)

    @property
    def has_lda(self) -> bool:
        """Whether LDA's output weights are asked for."""
        return True

    def check(self) -> None:
        """Refuse, before anything is computed, what would fail hours later."""
        from elmlda.networks.train import resolve_priors

        data, most = self.data, most_units(self.data)
        resolve_priors(self.settings.priors, data.train.count_classes(data.n_classes))
        data.input_space.require(self.settings)
        if not self.has_lda or self.ridge != 0 or self.sizes[-1] <= most:
            return
        largest = {"hidden": most} if self.hidden else {"fanout": most // data.n_inputs}
        raise ElmldaError(
            f"{len(data.train.labels):,} training samples in {data.n_classes:,} classes can carry at "
            f"most {max(0, most):,} hidden units without a ridge, {self.sizes[-1]:,} are asked for.",
            "Add {ridge}, or use at most {}." if max(largest.values()) > 0 else "Add {ridge}.",
            ridge="1e-3",
            **largest,
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class Classifier(Training):
    """A model to be trained; its network i is network i of a sweep with the same seed.

    Where an option is None, the data decide: images have the paper's settings, others the estimators'.
    """

    fanout: int | None = option(
        None,
        whole(),
        "Hidden units for each input.  [default: 10; at least 1,000 units if not images]",
    )
    hidden: int | None = option(None, whole(), "Hidden units instead of --fanout.")
    output: str = option(
        "lda",
        one_of(*OUTPUTS),
        "Output weights by LDA or the pseudo-inverse.",
    )
    n: int = option(1, whole(1, 10_000), "Networks: more than one are an ensemble.")
    test: bool = option(True, FLAG, "Count errors on a test part, or train on all.")
    bias: Any = option(
        None,
        FLAG,
        "Give each hidden unit a random bias.  [default: not for images]",
    )
    weight_range: Any = option(
        None,
        number(above=True),
        "Uniform input weights are in ± this.  [default: 0.5, or 1.4/√inputs with a bias]",
    )
    ridge: Any = option(
        LEAVE_ONE_OUT,
        or_loo(number()),
        "Added to the Gram matrix's diagonal; loo chooses it by leaving one sample out.",
    )
    temperature: Any = option(
        LEAVE_ONE_OUT,
        or_loo(number(above=True)),
        "What LDA's scores are multiplied by; loo chooses it.",
    )
    priors: Any = option(
        "frequencies", PRIORS, "Class priors: uniform, frequencies, or a number for each class."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n > 1 and self.output == "pi":
            raise ElmldaError(
                "an ensemble averages posteriors, PI-ELM has none.", "Use {output}.", output="lda"
            )

    @cached_property
    def data(self) -> Dataset:
        """What is trained on; its test part is None if all samples are."""
        return self.loaded.split() if self.test else self.loaded.join()

    @cached_property
    def settings(self) -> NetworkSettings:
        """The networks' settings, filled in for the data."""
        data, is_image = self.data, self.data.image_shape is not None
        bias = not is_image if self.bias is None else self.bias
        suited = PAPER_RANGE if is_image else usual_weight_range(data.n_inputs, bias)
        chosen = {"bias": bias, "weight_range": self.weight_range or suited}
        given = {each.name: getattr(self, each.name) for each in fields(NetworkSettings)}
        return NetworkSettings(**given | chosen)

    @property
    def has_lda(self) -> bool:
        return self.output == "lda"

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The hidden units."""
        data = self.data
        if self.fanout is None and self.hidden is None and data.image_shape is None:
            return (usual_hidden(data.n_inputs),)
        return (self.hidden or (self.fanout or USUAL_FANOUT) * data.n_inputs,)

    def train(self, machine: Machine) -> Iterator[Network]:
        """Train every network, in the order in which they are ready."""
        import numpy as np

        from elmlda.networks.train import Recipe

        data, output = self.data, OutputSettings(self.ridge, self.temperature, self.output)
        seeds = [np.random.SeedSequence(self.seed, spawn_key=(i,)) for i in range(self.n)]
        recipes = [Recipe.for_dataset(data, seed, self.sizes[-1], self.settings) for seed in seeds]
        jobs = [(recipe, output, machine.threads_each) for recipe in recipes]
        return compute_all(_fit, data, jobs, machine)

    def make_model(self, networks: list[Network]) -> Model:
        """The model of the trained networks."""
        from elmlda.networks.model import Model

        data = self.data
        ordered = sorted(networks, key=lambda network: network.recipe.seed.spawn_key)
        return Model(
            tuple(ordered),
            data.classes,
            data.scaling,  # of samples that come later, which are not standardised
            _largest_pixel(data),
            data.columns,
        )

    def count_errors(self, model: Model) -> tuple[int, int]:
        """Test errors and test samples, which are scaled already."""
        assert self.data.test is not None
        test = self.data.test
        chosen = replace(model, scaling=None).values(test.inputs).argmax(axis=1)
        return int((chosen != test.labels).sum()), len(test.labels)


def _fit(data: Dataset, job: tuple[Recipe, OutputSettings, int]) -> Network:
    """Train a network, in this process."""
    from threadpoolctl import threadpool_limits

    from elmlda.networks.model import fit_network

    recipe, output, threads = job
    with threadpool_limits(threads, user_api="blas"):
        return fit_network(recipe, data.train.inputs, data.train.labels, output, data.n_classes)


def _largest_pixel(data: Dataset) -> float | None:
    """The largest input of images or bytes, to tell inputs of another scale; None of other data."""
    import numpy as np

    inputs = data.train.inputs
    if data.scaling is not None or (data.image_shape is None and inputs.dtype != np.uint8):
        return None
    return float(np.abs(inputs).max()) or None


def most_units(data: Dataset) -> int:
    """Hidden units that LDA can have without a ridge: each class's mean takes a dimension of Σ."""
    return len(data.train.labels) - data.n_classes


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)
