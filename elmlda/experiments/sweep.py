"""Table 1 and Fig. 1: PI-ELM and LDA-ELM on the same input weights, over fan-outs and repeats."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from elmlda.core.statistics import Statistics
from elmlda.errors import ElmldaError
from elmlda.execute.local import Backend, SharedJob, Workers, execute
from elmlda.experiments.network_experiment import NetworkExperiment, NetworkPlan
from elmlda.experiments.options import read_sizes
from elmlda.experiments.plan import NetworkPosteriors, Step, Work, note_double
from elmlda.networks.cost import predict_waiting_bytes
from elmlda.networks.jobs import accumulate_block, finish_job, run_job
from elmlda.networks.train import (
    NetworkResult,
    Readout,
    in_enough_precision,
    predict_double_bytes,
)
from elmlda.runs.plausible import require_plausible
from elmlda.settings import PRECISIONS, NetworkJob, NetworkSettings, RowBlockJob


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


class SweepPlan(NetworkPlan["Sweep", NetworkJob]):
    """A sweep's networks, one for each repeat, or for each repeat and size."""

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        return read_sizes(self.experiment.fanouts, self.experiment.hidden, self.data.n_inputs)

    @property
    def n_blocks(self) -> int:
        return self.experiment.split_rows

    @property
    def fixed(self) -> dict[str, Any]:
        """Sums over blocks are rounded differently, which may move a count by one."""
        return {"split_rows": self.n_blocks if self.n_blocks > 1 else None}

    @property
    def extent(self) -> dict[str, Any]:
        return {"repeats": self.experiment.repeats, "n_hidden": list(self.sizes)}

    def check(self) -> None:
        super().check()
        n_train = len(self.dataset.train.labels)
        if self.n_blocks > n_train:
            raise ElmldaError(
                f"{n_train:,} training samples cannot be divided into {self.n_blocks:,} blocks.",
                "Lower {split_rows}.",
                split_rows=None,
            )

    def keys(self) -> list[tuple[int, int]]:
        return [(repeat, size) for repeat in range(self.experiment.repeats) for size in self.sizes]

    def jobs(self, recorded: Collection[tuple[int, int]] = ()) -> list[NetworkJob]:
        """The networks that are needed for what is not recorded yet, as (repeat, n_hidden)."""
        return [
            self.make_job(repeat, sizes)
            for repeat in range(self.experiment.repeats)
            for sizes in self._group([size for size in self.sizes if (repeat, size) not in recorded])
        ]

    def _group(self, sizes: list[int]) -> list[tuple[int, ...]]:
        """The sizes of each network of one repeat."""
        if self.design == "nested":
            return [tuple(sizes)] if sizes else []
        return [(size,) for size in sizes]

    def steps(self, work: Work[NetworkJob]) -> Iterator[Step]:
        """Each network as it finishes, and its posteriors if it has the largest size."""
        if self.n_blocks == 1:
            results = execute(run_job, work.jobs, work.backend)
        else:
            results = self._share_each(work.jobs, work.backend)
        for job, result in results:
            kept = None
            if self.experiment.posteriors and job.sizes[-1] == self.sizes[-1]:
                kept = NetworkPosteriors(job.key, job.sizes[-1], result.posteriors)
            note = note_double(job.key[0], result.precision, self.settings)
            yield Step(_records(job, result, self.data.n_inputs), kept, note=note)

    def _share_each(
        self, jobs: Sequence[NetworkJob], backend: Backend
    ) -> Iterator[tuple[NetworkJob, NetworkResult]]:
        if not jobs:
            return
        with backend.open() as workers:
            for job in jobs:
                start = time.perf_counter()
                result = self._share(job, workers)
                yield job, replace(result, seconds=time.perf_counter() - start)

    def _share(self, job: NetworkJob, workers: Workers) -> NetworkResult:
        """One network whose statistics the workers accumulate, each of some of the samples."""

        def share(settings: NetworkSettings) -> NetworkResult:
            whole, n = replace(job, settings=settings), self.n_blocks
            blocks = [RowBlockJob(**vars(whole), block=i, n_blocks=n) for i in range(n)]
            return workers.reduce(
                SharedJob(accumulate_block, blocks, Statistics.plus, finish_job, whole)
            )

        n_hidden, readout = job.sizes[-1], Readout(job.sizes, job.settings.ridge)
        double_bytes = predict_double_bytes(self.dataset, [readout], job.resources.chunk)
        double_bytes += predict_waiting_bytes(self.n_blocks, 8, n_hidden)
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
    plan_type = SweepPlan

    fanouts: str | int | Iterable[int] = "1-20"
    hidden: str | int | Iterable[int] | None = None
    """Hidden units instead of fan-outs."""
    repeats: int = 200
    posteriors: bool = True
    """Whether each network's test posteriors at the largest size are kept, for an ensemble."""
    split_rows: int = 1
    """Blocks of training samples by which workers share each network out."""
