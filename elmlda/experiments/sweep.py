"""Table 1 and Fig. 1: PI-ELM and LDA-ELM on the same input weights, over fan-outs and repeats."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from elmlda.core.statistics import Statistics
from elmlda.errors import ElmldaError
from elmlda.execute.local import Backend, SharedJob, Workers, execute
from elmlda.experiments.network_experiment import NetworkExperiment
from elmlda.experiments.options import read_sizes
from elmlda.experiments.plan import Kept, Plan, Step, Work, note_double
from elmlda.experiments.run_spec import RunSpec
from elmlda.networks.cost import Problem, predict_waiting_bytes
from elmlda.networks.jobs import accumulate_block, finish_job, load_job_data, run_job
from elmlda.networks.train import (
    NetworkResult,
    Readout,
    in_enough_precision,
    predict_double_bytes,
)
from elmlda.runs.plausible import require_plausible
from elmlda.settings import (
    PRECISIONS,
    DatasetRef,
    NetworkJob,
    NetworkSettings,
    Resources,
    RowBlockJob,
    network_key,
)


@dataclass(frozen=True)
class SweepRecord:
    """One row of sweep.csv: both methods' test errors at one hidden size of one network."""

    FILE: ClassVar[str] = "sweep.csv"
    EXPERIMENT: ClassVar[str] = "sweep"
    FIXED: ClassVar[tuple[str, ...]] = ("split_rows",)
    repeat: int
    fanout: float
    """Hidden units for each input; not whole if the sizes were given as hidden units."""
    n_hidden: int
    pi_errors: int
    pi_constant_errors: int
    lda_errors: int
    n_test: int
    seconds: float
    """Of the whole network: in the nested design the same for all its sizes."""
    precision: str

    def __post_init__(self) -> None:
        counts = ("pi_errors", "pi_constant_errors", "lda_errors")
        require_plausible(
            self,
            positive=("fanout", "n_hidden", "n_test"),
            at_most=dict.fromkeys(counts, self.n_test),
            one_of={"precision": PRECISIONS},
        )

    @property
    def key(self) -> tuple[int, int]:
        return self.repeat, self.n_hidden


@dataclass(frozen=True)
class SweepPlan(Plan[NetworkJob]):
    """What a sweep is to compute."""

    dataset: DatasetRef
    n_inputs: int
    sizes: tuple[int, ...]
    repeats: int
    seed: int
    design: str
    settings: NetworkSettings
    resources: Resources
    n_blocks: int = 1
    """Of rows: if there are several, the workers share each network out."""
    keeps_posteriors: bool = False

    def keys(self) -> list[tuple[int, int]]:
        return [(repeat, size) for repeat in range(self.repeats) for size in self.sizes]

    def problem(self, job: NetworkJob) -> Problem:
        return Problem.of(load_job_data(self.dataset), job.sizes)

    def jobs(self, recorded: Collection[tuple[int, int]] = ()) -> list[NetworkJob]:
        """The networks that are needed for what is not recorded yet, as (repeat, n_hidden)."""
        return [
            NetworkJob(self.dataset, self.seed, key, sizes, self.settings, self.resources)
            for repeat in range(self.repeats)
            for key, sizes in self._networks(
                repeat, tuple(size for size in self.sizes if (repeat, size) not in recorded)
            )
        ]

    def _networks(
        self, repeat: int, sizes: tuple[int, ...]
    ) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Spawn key and sizes of the networks of one repeat."""
        together = [sizes] if self.design == "nested" else [(size,) for size in sizes]
        for network in filter(None, together):
            yield network_key(self.design, repeat, network[-1], self.n_inputs), network

    def steps(self, work: Work[NetworkJob]) -> Iterator[Step]:
        """Each network as it finishes, and its posteriors if it has the largest size."""
        if self.n_blocks == 1:
            results = execute(run_job, work.jobs, work.backend)
        else:
            results = self._share_each(work.jobs, work.backend)
        for job, result in results:
            kept = None
            if self.keeps_posteriors and job.sizes[-1] == self.sizes[-1]:
                kept = Kept(job.key, job.sizes[-1], result.posteriors)
            note = note_double(job.key[0], result.precision, self.settings)
            yield Step(_records(job, result, self.n_inputs), kept, note=note)

    def _share_each(
        self, jobs: Sequence[NetworkJob], backend: Backend
    ) -> Iterator[tuple[NetworkJob, NetworkResult]]:
        if not jobs:
            return
        with backend.open() as workers:
            for job in jobs:
                start = time.perf_counter()
                result = _share(job, self.n_blocks, workers)
                yield job, replace(result, seconds=time.perf_counter() - start)


def _share(job: NetworkJob, n_blocks: int, workers: Workers) -> NetworkResult:
    """One network whose statistics the workers accumulate, each of some of the samples."""

    def share(settings: NetworkSettings) -> NetworkResult:
        whole = replace(job, settings=settings)
        blocks = [RowBlockJob(**vars(whole), block=i, n_blocks=n_blocks) for i in range(n_blocks)]
        return workers.reduce(SharedJob(accumulate_block, blocks, Statistics.plus, finish_job, whole))

    n_hidden, readout = job.sizes[-1], Readout(job.sizes, job.settings.ridge)
    double_bytes = predict_double_bytes(
        load_job_data(job.dataset), [readout], job.resources.chunk
    ) + predict_waiting_bytes(n_blocks, 8, n_hidden)
    return in_enough_precision(share, job.settings, n_hidden, double_bytes, workers.free_bytes)


def _records(job: NetworkJob, result: NetworkResult, n_inputs: int) -> list[SweepRecord]:
    return [
        SweepRecord(
            repeat=job.key[0],
            fanout=size / n_inputs,
            n_hidden=size,
            pi_errors=result.pi_errors[i],
            pi_constant_errors=result.pi_constant_errors[i],
            lda_errors=result.lda_errors[i],
            n_test=result.n_test,
            seconds=result.seconds,
            precision=result.precision,
        )
        for i, size in enumerate(result.sizes)
    ]


@dataclass(frozen=True, kw_only=True)
class Sweep(NetworkExperiment):
    """Table 1 and Fig. 1: PI-ELM and LDA-ELM on the same random input weights, test errors counted."""

    name = "sweep"
    record_types = (SweepRecord,)

    fanouts: str | int | Iterable[int] = "1-20"
    hidden: str | int | Iterable[int] | None = None
    """Hidden units instead of fan-outs."""
    repeats: int = 200
    posteriors: bool = True
    """Whether each network's test posteriors at the largest size are kept, for an ensemble."""
    split_rows: int = 1
    """Blocks of training samples by which workers share each network out."""

    @property
    def n_blocks(self) -> int:  # type: ignore[override]
        return self.split_rows

    def sizes(self, spec: RunSpec) -> tuple[int, ...]:
        return read_sizes(self.fanouts, self.hidden, spec.data.n_inputs)

    def check(self, spec: RunSpec) -> None:
        super().check(spec)
        n_train = len(spec.dataset.train.labels)
        if self.split_rows > n_train:
            raise ElmldaError(
                f"{n_train:,} training samples cannot be divided into {self.split_rows:,} blocks.",
                "Lower {split_rows}.",
                split_rows=None,
            )

    def fixed(self, spec: RunSpec) -> dict[str, Any]:
        """Sums by blocks are rounded otherwise, which may move a count by one."""
        return {"split_rows": self.split_rows if self.split_rows > 1 else None}

    def extent(self, spec: RunSpec) -> dict[str, Any]:
        return {"repeats": self.repeats, "n_hidden": list(self.sizes(spec))}

    def plan(self, spec: RunSpec) -> SweepPlan:
        return SweepPlan(
            spec.ref, spec.data.n_inputs, self.sizes(spec), self.repeats, self.seed, self.design,
            self.settings, spec.resources, self.split_rows, self.posteriors,
        )  # fmt: skip
