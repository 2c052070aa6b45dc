"""A plan: an experiment on its data, in a folder, with a share of the machine.

An experiment's own plan says which records and jobs there are and how jobs become records.
`elmlda.experiments.conduct` does the rest.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from elmlda.core.arrays import FloatArray
from elmlda.datasets import Dataset, Table
from elmlda.datasets.catalogue import MNIST_SHA256
from elmlda.errors import ElmldaError
from elmlda.execute.local import Backend
from elmlda.experiments.options import Share, read_sizes
from elmlda.networks.cost import (
    BASE_BYTES,
    Problem,
    predict_peak_bytes,
    predict_total_bytes,
    predict_waiting_bytes,
    require_room,
)
from elmlda.networks.steps import HIDDEN_DTYPES, resolve_priors
from elmlda.runs.manifest import Entry
from elmlda.runs.posteriors import PosteriorStore
from elmlda.runs.record import Record
from elmlda.settings import DatasetRef, NetworkJob, NetworkSettings, Resources, network_key

if TYPE_CHECKING:
    from elmlda.experiments.experiment import Experiment

Records: TypeAlias = dict[type[Any], list[Any]]
"""Type -> all records of that type."""
CHEAP_IN_DOUBLE = 5e9
"""Multiply-adds for a Gram matrix that take a fraction of a second in float64; MNIST at fan-out 1 needs
seven times as many."""

AnyExperiment = TypeVar("AnyExperiment", bound="Experiment")


class NetworkPosteriors(NamedTuple):
    """Test posteriors of the network with this key at this hidden size, to be stored."""

    key: tuple[int, ...]
    n_hidden: int
    values: FloatArray
    wrong: NDArray[np.uint8] | None = None
    """Wrong answers at all sizes, kept beside them."""


@dataclass(frozen=True)
class Work:
    """What a plan's steps are made from."""

    jobs: Sequence[Any]
    """Those that are missing."""
    records: Records
    """Those that are there."""
    backend: Backend


@dataclass(frozen=True)
class Step:
    """What is written before the next step is computed."""

    records: Sequence[Record] = ()
    posteriors: NetworkPosteriors | None = None
    n_done: int = 1
    """Jobs that were done for it."""
    note: str | None = None
    """Printed the first time."""


@dataclass(frozen=True, eq=False)
class Plan(ABC, Generic[AnyExperiment]):
    """An experiment on its data: the jobs for what is missing, and records from their results.

    A job is what a worker does in one go: a network, with its hidden `sizes`.
    """

    experiment: AnyExperiment
    data: Dataset | Table
    ref: DatasetRef
    """How a job's process finds the data."""
    folder: Path
    share: Share

    varied: ClassVar[frozenset[str]] = frozenset()
    """Settings that are not the same for all networks of the run."""

    # What each experiment's plan defines

    @property
    @abstractmethod
    def extent(self) -> dict[str, Any]:
        """Settings that may grow when a run is continued, for the manifest."""

    @abstractmethod
    def keys(self) -> Sequence[tuple[Any, ...]]:
        """The key of every record of the main type that is asked for."""

    @abstractmethod
    def jobs(self, recorded: Collection[Any] = ()) -> Sequence[Any]:
        """The jobs for the keys that are not recorded yet."""

    @abstractmethod
    def steps(self, work: Work) -> Iterator[Step]:
        """Do the jobs; each step is written before the next is computed."""

    # What it may override

    @property
    def sizes(self) -> tuple[int, ...]:
        """Hidden sizes that networks have, ascending."""
        return self.wanted_sizes

    @property
    def fixed(self) -> dict[str, Any]:
        """The experiment's own settings that may not change when a run is continued."""
        return {}

    @property
    def design(self) -> str:
        """Whether networks of several sizes are nested or independent."""
        return self.experiment.design or "nested"

    @property
    def n_blocks(self) -> int:
        """Blocks of training samples, each for another worker, that a network is trained by."""
        return 1

    def problem(self, sizes: tuple[int, ...]) -> Problem:
        """What a network of these sizes costs."""
        return Problem.of(self.dataset, sizes)

    def job_problem(self, job: Any) -> Problem:
        """What a job costs."""
        return self.problem(job.sizes)

    def network_bytes(self, problem: Problem, itemsize: int) -> int:
        """Peak memory of one network, with its data."""
        return predict_peak_bytes(problem, self.share.chunk, itemsize, self.data.nbytes)

    def check(self) -> None:
        """Refuse, before anything is computed, what would fail hours later."""

    def require_room(self) -> None:
        """Refuse a run that takes more memory than is free."""
        sizes, share = self.sizes, self.share

        def peak_bytes(n_hidden: int, chunk: int, jobs: int) -> int:
            up_to = (*(size for size in sizes if size < n_hidden), n_hidden)
            other = replace(self, share=replace(share, chunk=chunk, jobs=jobs))
            return other.peak_bytes(up_to)

        require_room(sizes[-1], self.data.n_inputs, share.chunk, share.jobs, peak_bytes)

    def drop_incomplete(self, records: Records) -> Records:
        """The records without those of an interrupted step, which is computed again."""
        return records

    def missing(self, records: Records) -> Sequence[Any]:
        """The jobs whose records are missing."""
        return self.jobs({record.key for record in records[self.experiment.record_types[0]]})

    def count_jobs(self) -> int:
        """Jobs in all, missing or not."""
        return len(self.jobs())

    def advise(self) -> ElmldaError | None:
        """Advice to print before networks are trained; it is not raised."""
        return None

    def explain_gaps(self, records: Records) -> ElmldaError | None:
        """Why some of the records cannot be computed, and what would help."""
        return None

    # What all plans have

    @cached_property
    def wanted_sizes(self) -> tuple[int, ...]:
        """Hidden sizes that are asked for, by fan-out or as they are, ascending."""
        options = vars(self.experiment)
        fanouts: Any = options.get("fanouts", options.get("fanout"))
        return read_sizes(fanouts, options.get("hidden"), self.data.n_inputs)

    @property
    def dataset(self) -> Dataset:
        """The data, where they are divided into a training and a test part."""
        assert isinstance(self.data, Dataset)
        return self.data

    @property
    def settings(self) -> NetworkSettings:
        return self.experiment.settings

    @property
    def n_train(self) -> int:
        """Samples that a network is trained on."""
        return len(self.dataset.train.labels)

    def settle_precision(self, settings: NetworkSettings, n_hidden: int) -> NetworkSettings:
        """The same settings, in double instead of mixed precision where that costs next to nothing.

        Small data sets often have few, correlated inputs, and hidden units that nearly depend on one
        another: float32's rounding, which changes with the number of threads, would move labels.
        """
        is_cheap = self.n_train * n_hidden**2 <= CHEAP_IN_DOUBLE
        return settings.in_double() if is_cheap and settings.precision == "mixed" else settings

    @cached_property
    def resources(self) -> Resources:
        """Threads and chunk size of each network."""
        return self.share.resources()

    @property
    def is_papers_data(self) -> bool:
        return self.data.checksums == MNIST_SHA256

    @cached_property
    def identity(self) -> dict[str, Any]:
        """The settings that all results of the run depend on, for the manifest."""
        settings, design = self.settings, self.experiment.design
        return {
            "dataset": self.data.name,
            "sha256": self.data.checksums,
            **({"design": design} if design else {}),
            "seed": self.experiment.seed,
            **{key: value for key, value in settings.identity().items() if key not in self.varied},
            "input_scale": settings.input_scale or self.data.input_scale,
            **self.data.preparation,
        }

    @property
    def entry(self) -> Entry:
        """What is added to the run's manifest, or compared with it."""
        n_inputs = self.data.n_inputs
        return Entry(self.experiment.name, self.identity, self.fixed, self.extent, n_inputs=n_inputs)

    @cached_property
    def posteriors(self) -> PosteriorStore:
        """Stored test posteriors of the run's networks; none for data that are not divided."""
        n_test = len(self.data.test.labels) if isinstance(self.data, Dataset) else 0
        return PosteriorStore(self.folder, self.identity, (n_test, self.data.n_classes))

    def peak_bytes(self, sizes: tuple[int, ...] | None = None) -> int:
        """Peak memory of the run: of all its processes together, or of one worker."""
        sizes = sizes or self.sizes
        problem = self.problem(sizes)
        settings = self.settle_precision(self.settings, sizes[-1])
        precision = "double" if problem.in_double else settings.precision
        itemsize = HIDDEN_DTYPES[precision]().itemsize
        one = max(self.network_bytes(problem, itemsize), BASE_BYTES + self.data.loading_bytes)
        waiting = predict_waiting_bytes(self.n_blocks, itemsize, sizes[-1])
        return predict_total_bytes(one, self.data.nbytes, self.share.jobs) + waiting


class NetworkPlan(Plan[AnyExperiment]):
    """A plan of networks with one ridge, on data that are divided once."""

    def check(self) -> None:
        by_units = getattr(self.experiment, "hidden", None) is not None
        require_possible(self.dataset, self.settings, self.sizes[-1], by_units=by_units)

    def key(self, number: int, n_hidden: int) -> tuple[int, ...]:
        """Key of the run's network of this number, at this hidden size."""
        return network_key(self.design, number, n_hidden, self.data.n_inputs)

    def make_job(self, number: int, sizes: tuple[int, ...]) -> NetworkJob:
        """The network of this number with the experiment's settings."""
        seed, key = self.experiment.seed, self.key(number, sizes[-1])
        settings = self.settle_precision(self.settings, sizes[-1])
        return NetworkJob(self.ref, seed, key, sizes, settings, self.resources)

    def make_jobs(self, networks: Iterable[tuple[int, int]]) -> list[NetworkJob]:
        """Jobs for networks by number and hidden size; in the nested design one gives all sizes."""
        sizes: dict[tuple[int, ...], list[int]] = {}
        for number, n_hidden in networks:
            sizes.setdefault(self.key(number, n_hidden), []).append(n_hidden)
        return [self.make_job(key[0], tuple(of_key)) for key, of_key in sizes.items()]


def note_double(repeat: int, precision: str, settings: NetworkSettings) -> str | None:
    """A note on a network that was computed again in double precision, None on any other."""
    if precision == settings.precision:
        return None
    return f"repeat {repeat}: float32 was not enough, computed in double; others may follow"


def require_possible(
    dataset: Dataset, settings: NetworkSettings, n_hidden: int = 0, *, by_units: bool = False
) -> None:
    """Refuse, before anything is computed, what would fail hours later.

    `by_units` says whether the size was given as hidden units, not as a fan-out.
    """
    resolve_priors(settings.priors, dataset.train.count_classes(dataset.n_classes))
    dataset.input_space.require(settings)
    n_train, n_classes = len(dataset.train.labels), dataset.n_classes
    most = n_train - n_classes  # each class's mean takes a dimension of the covariance
    if settings.ridge > 0 or n_hidden <= most:
        return
    fanout = most // dataset.n_inputs
    largest = {"hidden": most} if by_units else {"fanout": fanout}
    raise ElmldaError(
        f"{n_train:,} training samples in {n_classes:,} classes can carry at most {max(0, most):,} "
        f"hidden units without a ridge, {n_hidden:,} are asked for.",
        "Add {ridge}, or use at most {}." if largest.get("hidden", fanout) > 0 else "Add {ridge}.",
        ridge="1e-3",
        **largest,
    )
