"""Plans: what an experiment computes for some data, made once and checked before the first network."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from elmlda.datasets.catalogue import load_dataset
from elmlda.datasets.split import Dataset
from elmlda.errors import ElmldaError
from elmlda.experiments.specs import Experiment
from elmlda.networks.cost import Problem
from elmlda.networks.train import choose_precision, resolve_priors
from elmlda.options import declarations
from elmlda.runs.folder import Identity, Run
from elmlda.runs.tables import Key, Table
from elmlda.settings import DataOptions, NetworkOptions


@dataclass(frozen=True, eq=False)
class Result:
    """What a job returns."""

    rows: Sequence[Mapping[str, Any]]
    network: int = 0
    kept: Mapping[str, Any] | None = None
    """Arrays of that network to keep in the run's folder."""
    part: str = ""
    """Subfolder of the kept arrays."""


@dataclass(frozen=True, eq=False)
class Stage:
    """One part of an experiment: jobs that give rows of a table, or arrays to keep."""

    table: Table
    keys: Sequence[Key]
    """Keys of the rows that are asked for."""
    find_jobs: Callable[[Collection[Key], Run], Iterable[Any]]
    """Returns the jobs that give the rows with these keys, which the run does not have yet."""
    compute: Callable[..., Result]
    """Function of the data, a job and, if `cost` is given, a number of threads."""
    cost: Problem | None = None
    """What the largest network costs; None if no network is trained."""
    is_renewed: bool = False
    """Whether the table is written anew each time."""


@dataclass(frozen=True, eq=False)
class Plan:
    """An experiment for some data: its identity, and the stages that compute its rows."""

    identity: Identity
    words: Sequence[str]
    """The command without machine and folder."""
    data: Dataset
    """With a training and a test part."""
    stages: Sequence[Stage]
    """The rows of the first stage's table are the experiment's."""
    job_data: Dataset
    """Data that is sent to the workers."""
    is_serial: bool = False
    """Whether one job is computed at a time, because jobs measure time."""

    @property
    def table(self) -> Table:
        """The experiment's table."""
        return self.stages[0].table

    @property
    def folder(self) -> Path:
        """The run's default folder."""
        return Path("results") / self.data.name


def load(spec: Experiment) -> Dataset:
    """Load the experiment's data set."""
    names = [name for name, option in declarations(DataOptions).items() if option.scope == "data"]
    source, *reading = (getattr(spec, name) for name in names)
    return load_dataset(source, **dict(zip(names[1:], reading, strict=True)))


def as_tuple(value: Any) -> tuple[Any, ...]:
    """Return a tuple as it is, and any other value as a tuple of one."""
    return value if isinstance(value, tuple) else (value,)


class Networks(NamedTuple):
    """The networks of an experiment: what they have in common."""

    sizes: tuple[int, ...]
    """Hidden sizes that are asked for, ascending."""
    most: int
    """Most hidden units of LDA without a ridge: the mean of each class takes a dimension of Σ."""
    options: NetworkOptions
    cost: Problem
    """What the largest network costs."""


def plan_networks(spec: Any, data: Dataset) -> Networks:
    """Return the networks that are asked for; refuse networks that cannot be trained."""
    sizes = as_tuple(spec.hidden or tuple(fanout * data.n_inputs for fanout in as_tuple(spec.fanout)))
    most = len(data.train.labels) - data.n_classes
    options = NetworkOptions(**{name: getattr(spec, name) for name in declarations(NetworkOptions)})
    resolve_priors(spec.priors, data.train.count_classes(data.n_classes))
    data.input_space.require(options)
    if spec.ridge == 0 and sizes[-1] > most:
        largest = {"hidden": most} if spec.hidden else {"fanout": most // data.n_inputs}
        raise ElmldaError(
            f"{len(data.train.labels):,} training samples in {data.n_classes:,} classes can carry at "
            f"most {max(0, most):,} hidden units without a ridge, {sizes[-1]:,} are asked for.",
            "Add {ridge}, or use at most {}." if max(largest.values()) > 0 else "Add {ridge}.",
            ridge="1e-3",
            **largest,
        )
    precision, temperature = (
        choose_precision(spec.precision, sizes[-1]),
        getattr(spec, "temperature", 1.0),
    )
    cost = Problem.for_dataset(data, sizes, precision, as_tuple(spec.ridge), temperature)
    return Networks(sizes, most, options, cost)


def identify(spec: Experiment, data: Dataset, **own: Any) -> Identity:
    """Return what the experiment's rows depend on: the data, and options that are not the default."""
    shared = {"dataset": data.name, "sha256": data.checksums, **spec.changed("network")}
    if data.preparation:
        shared["preparation"] = data.preparation
    defaults = {
        name: getattr(type(spec), name)
        for name, declared in declarations(type(spec)).items()
        if declared.scope in ("network", "experiment")
    }
    return Identity(spec.name, shared, {**spec.changed("experiment"), **own}, defaults)
