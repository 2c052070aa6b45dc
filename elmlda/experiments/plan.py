"""What an experiment computes, in the words that the frame of all experiments understands."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from elmlda.core.arrays import FloatArray
from elmlda.execute.local import Backend
from elmlda.networks.cost import Problem
from elmlda.runs.posteriors import PosteriorStore
from elmlda.settings import NetworkSettings


class Record(Protocol):
    """A row of a file; `key` tells it from the others."""

    FILE: ClassVar[str]

    @property
    def key(self) -> tuple[Any, ...]:
        """What it is a record of."""


Records = dict[type[Any], list[Any]]
"""Type -> all records of that type."""
Job = TypeVar("Job")


@dataclass(frozen=True)
class Kept:
    """Posteriors to be kept: of the network with this key, at this hidden size."""

    key: tuple[int, ...]
    n_hidden: int
    posteriors: FloatArray


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
    """What is to be written before the next step."""

    records: Sequence[Record] = ()
    kept: Kept | None = None
    n_done: int = 1
    """Jobs that were done for it."""
    note: str | None = None
    """Worth saying, once."""


class Plan(ABC, Generic[Job]):
    """What an experiment computes on its data: jobs for what is missing, records from their results."""

    @abstractmethod
    def keys(self) -> Sequence[tuple[Any, ...]]:
        """Of every record of the main type that is asked for."""

    @abstractmethod
    def jobs(self, recorded: Collection[Any] = ()) -> Sequence[Job]:
        """What is to be done for the keys that are not recorded yet."""

    @abstractmethod
    def problem(self, job: Job) -> Problem:
        """What a job costs."""

    @abstractmethod
    def steps(self, work: Work[Job]) -> Iterator[Step]:
        """Do the jobs; each step is written before the next is asked for."""

    def keep(self, records: Records) -> Records:
        """The records that stay; others are computed again."""
        return records

    def missing(self, records: Records, posteriors: PosteriorStore) -> Sequence[Job]:
        """The jobs that are left to do."""
        return self.jobs({record.key for record in next(iter(records.values()))})

    def count_jobs(self) -> int:
        """Jobs in all, missing or not."""
        return len(self.jobs())


def note_double(repeat: int, precision: str, settings: NetworkSettings) -> str | None:
    """What to say of a network that was computed again; on some data that is nearly every one."""
    if precision == settings.precision:
        return None
    return f"repeat {repeat}: float32 was not enough, computed in double; others may follow"
