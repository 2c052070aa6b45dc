"""Table 2: the time that PI-ELM takes, LDA-ELM, and both from one pass."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import ClassVar

from elmlda.execute.local import execute
from elmlda.networks.jobs import run_job
from elmlda.networks.train import NetworkResult
from elmlda.runs.plausible import require_plausible
from elmlda.settings import DatasetRef, NetworkJob, NetworkSettings, Resources, network_key

METHODS = {"pi": ("pi",), "lda": ("lda",), "both": ("pi", "lda")}
"""What is timed -> what the network is tested with."""


@dataclass(frozen=True)
class TimingRecord:
    """One row of timing.csv: a network trained on all training samples, tested on all test samples."""

    FILE: ClassVar[str] = "timing.csv"
    repeat: int
    fanout: int
    n_hidden: int
    method: str
    seconds: float
    """Elapsed from the first random number to the last count; the parts below are most of it."""
    projection: float
    activation: float
    gram: float
    factorisation: float
    solve: float
    lda: float
    """What LDA takes beyond PI: its map and constant, and their use on PI's scores."""
    test: float

    def __post_init__(self) -> None:
        positive = ("fanout", "n_hidden", "seconds")
        require_plausible(self, positive=positive, one_of={"method": tuple(METHODS)})

    @property
    def key(self) -> tuple[int, int, str]:
        return self.repeat, self.n_hidden, self.method


@dataclass(frozen=True)
class TimingJob:
    """One network to be trained and tested from scratch with one of `METHODS`."""

    network: NetworkJob
    method: str

    @property
    def key(self) -> tuple[int, int, str]:
        return self.network.key[0], self.network.sizes[-1], self.method


@dataclass(frozen=True)
class TimingPlan:
    """What is to be timed: every method at every size, on input weights of its own as in the paper."""

    dataset: DatasetRef
    n_inputs: int
    sizes: tuple[int, ...]
    repeats: int
    seed: int
    settings: NetworkSettings
    resources: Resources

    def jobs(self, recorded: Collection[tuple[int, int, str]] = ()) -> list[TimingJob]:
        """The networks that are not recorded yet, as (repeat, n_hidden, method), in their order."""
        jobs = (
            TimingJob(self._network(repeat, size), method)
            for repeat in range(self.repeats)
            for turn, size in enumerate(self.sizes)
            for method in self._order(repeat, turn)
        )
        return [job for job in jobs if job.key not in recorded]

    def _network(self, repeat: int, size: int) -> NetworkJob:
        key = network_key("independent", repeat, size, self.n_inputs)
        return NetworkJob(self.dataset, self.seed, key, (size,), self.settings, self.resources)

    def _order(self, repeat: int, turn: int) -> list[str]:
        """The methods, rotated so that a noisy machine favours none.

        Another method is first than at the size before, and than at the same size in the repeat
        before: that takes a step from repeat to repeat which is no multiple of the methods' number.
        """
        methods = list(METHODS)
        step = len(self.sizes) % len(methods) or 1
        first = (repeat * step + turn) % len(methods)
        return methods[first:] + methods[:first]


def run_timing(
    jobs: Sequence[TimingJob], n_inputs: int
) -> Iterator[tuple[NetworkResult, TimingRecord]]:
    """Each network as it finishes, with its record: one at a time, in the order of the jobs.

    A network of the smallest size runs first and is not recorded, since the first calls load
    libraries and data.
    """
    if not jobs:
        return
    smallest = min(jobs, key=lambda job: job.network.sizes)
    warm_up = replace(smallest, method="both")
    for job, result in islice(execute(_run, [warm_up, *jobs]), 1, None):
        yield result, _record(job, result, n_inputs)


def _run(job: TimingJob) -> NetworkResult:
    return run_job(job.network, METHODS[job.method])


def _record(job: TimingJob, result: NetworkResult, n_inputs: int) -> TimingRecord:
    repeat, n_hidden, method = job.key
    fanout = n_hidden // n_inputs
    parts = {"lda": 0.0, **result.part_seconds}  # PI alone has none
    return TimingRecord(repeat, fanout, n_hidden, method, result.seconds, **parts)
