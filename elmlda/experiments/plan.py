"""A plan: an experiment on its data, in a folder, with a share of the machine.

An experiment's own plan says which records and jobs there are and how jobs become records.
`elmlda.experiments.conduct` does the rest.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeAlias, TypeVar

from elmlda.core.arrays import FloatArray
from elmlda.datasets import Dataset, Table
from elmlda.datasets.catalogue import MNIST_SHA256
from elmlda.errors import ElmldaError
from elmlda.execute.local import Backend
from elmlda.experiments.options import Share
from elmlda.networks.cost import (
    BASE_BYTES,
    Problem,
    predict_peak_bytes,
    predict_ridge_bytes,
    predict_total_bytes,
    predict_waiting_bytes,
    require_room,
)
from elmlda.networks.steps import HIDDEN_DTYPES
from elmlda.runs.manifest import Entry
from elmlda.runs.posteriors import PosteriorStore
from elmlda.runs.records import AnyRecord
from elmlda.settings import DatasetRef, NetworkSettings, Resources

if TYPE_CHECKING:
    from elmlda.experiments.experiment import Experiment

Records: TypeAlias = dict[type[Any], list[Any]]
"""Type -> all records of that type."""


class SizedJob(Protocol):
    """What a worker does in one go: a network at these hidden sizes."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """Ascending."""


AnyExperiment = TypeVar("AnyExperiment", bound="Experiment")
Job = TypeVar("Job", bound=SizedJob)


@dataclass(frozen=True)
class NetworkPosteriors:
    """Test posteriors of the network with this key at this hidden size, to be stored."""

    key: tuple[int, ...]
    n_hidden: int
    values: FloatArray


@dataclass(frozen=True)
class Work(Generic[Job]):
    """What a plan's steps are made from."""

    jobs: Sequence[Job]
    """Those that are missing."""
    records: Records
    """Those that are there."""
    posteriors: PosteriorStore
    backend: Backend


@dataclass(frozen=True)
class Step:
    """What is written before the next step is computed."""

    records: Sequence[AnyRecord] = ()
    posteriors: NetworkPosteriors | None = None
    n_done: int = 1
    """Jobs that were done for it."""
    note: str | None = None
    """Printed the first time."""


@dataclass(frozen=True, eq=False)
class Plan(ABC, Generic[AnyExperiment, Job]):
    """An experiment on its data: the jobs for what is missing, and records from their results."""

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
    def sizes(self) -> tuple[int, ...]:
        """Hidden sizes that networks have, ascending."""

    @property
    @abstractmethod
    def extent(self) -> dict[str, Any]:
        """What may grow when a run goes on, for the manifest."""

    @abstractmethod
    def keys(self) -> Sequence[tuple[Any, ...]]:
        """The key of every record of the main type that is asked for."""

    @abstractmethod
    def jobs(self, recorded: Collection[Any] = ()) -> Sequence[Job]:
        """The jobs for the keys that are not recorded yet."""

    @abstractmethod
    def steps(self, work: Work[Job]) -> Iterator[Step]:
        """Do the jobs; each step is written before the next is computed."""

    # What it may change

    @property
    def fixed(self) -> dict[str, Any]:
        """The experiment's own settings that may not change when a run goes on."""
        return {}

    @property
    def design(self) -> str:
        """How networks of several sizes belong together."""
        return self.experiment.design or "nested"

    @property
    def chooses_ridge(self) -> bool:
        """Whether a ridge is chosen by generalised cross-validation, which takes memory."""
        return False

    @property
    def n_blocks(self) -> int:
        """Blocks of training samples that workers share each network by."""
        return 1

    @property
    def extra_bytes(self) -> int:
        """Memory that a network's data take beside the run's."""
        return 0

    def problem(self, sizes: tuple[int, ...]) -> Problem:
        """What a network of these sizes costs."""
        return Problem.of(self.dataset, sizes)

    def job_problem(self, job: Job) -> Problem:
        """What a job costs."""
        return self.problem(job.sizes)

    def check(self) -> None:
        """Refuse, before anything is computed, what would fail hours later."""

    def require_room(self) -> None:
        """Refuse what takes more memory than is free."""
        sizes, share = self.sizes, self.share

        def peak_bytes(n_hidden: int, chunk: int, jobs: int) -> int:
            up_to = (*(size for size in sizes if size < n_hidden), n_hidden)
            other = replace(self, share=replace(share, chunk=chunk, jobs=jobs))
            return other.peak_bytes(up_to)

        require_room(sizes[-1], self.data.n_inputs, share.chunk, share.jobs, peak_bytes)

    def drop_incomplete(self, records: Records) -> Records:
        """The records without those of a step that was cut off, which are computed again."""
        return records

    def missing(self, records: Records, posteriors: PosteriorStore) -> Sequence[Job]:
        """The jobs that are left to do."""
        return self.jobs({record.key for record in records[self.experiment.record_types[0]]})

    def count_jobs(self) -> int:
        """Jobs in all, missing or not."""
        return len(self.jobs())

    def advise(self) -> ElmldaError | None:
        """What the user should know before networks are trained; it is not raised."""
        return None

    def explain_gaps(self, records: Records) -> ElmldaError | None:
        """Why records that are asked for cannot be computed, and what would help."""
        return None

    # What follows from it

    @property
    def dataset(self) -> Dataset:
        """The data, where they are divided into a training and a test part."""
        assert isinstance(self.data, Dataset)
        return self.data

    @property
    def settings(self) -> NetworkSettings:
        return self.experiment.settings

    @cached_property
    def resources(self) -> Resources:
        """What each network may use."""
        return self.share.resources()

    @property
    def is_papers_data(self) -> bool:
        return self.data.checksums == MNIST_SHA256

    @cached_property
    def identity(self) -> dict[str, Any]:
        """What makes the run's networks what they are, for the manifest."""
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
        """What the run's manifest must have or gets."""
        n_inputs = self.data.n_inputs
        return Entry(self.experiment.name, self.identity, self.fixed, self.extent, n_inputs=n_inputs)

    @property
    def posteriors(self) -> PosteriorStore:
        """Stored test posteriors of the run's networks; none for data that are not divided."""
        n_test = len(self.data.test.labels) if isinstance(self.data, Dataset) else 0
        return PosteriorStore(self.folder, self.identity, (n_test, self.data.n_classes))

    def peak_bytes(self, sizes: tuple[int, ...] | None = None) -> int:
        """Memory that the run takes at its peak: all its processes together, or one worker."""
        data, share, sizes = self.data, self.share, sizes or self.sizes
        problem, inputs = self.problem(sizes), data.nbytes + self.extra_bytes
        precision = "double" if problem.in_double else self.settings.precision
        itemsize = HIDDEN_DTYPES[precision]().itemsize
        one = predict_peak_bytes(problem, share.chunk, itemsize, inputs)
        one = max(one, BASE_BYTES + data.loading_bytes)
        if self.chooses_ridge:
            one = max(one, predict_ridge_bytes(problem, itemsize, inputs))
        waiting = predict_waiting_bytes(self.n_blocks, itemsize, sizes[-1])
        return predict_total_bytes(one, data.nbytes, share.jobs) + waiting


def note_double(repeat: int, precision: str, settings: NetworkSettings) -> str | None:
    """What to say of a network that was computed again; on some data that is nearly every one."""
    if precision == settings.precision:
        return None
    return f"repeat {repeat}: float32 was not enough, computed in double; others may follow"
