"""Table 1 and Fig. 1: PI-ELM and LDA-ELM on the same input weights, over fan-outs and repeats."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

from elmlda.core.solve import RankWarning, SingularCovarianceError
from elmlda.core.statistics import Statistics
from elmlda.errors import ElmldaError
from elmlda.execute.local import Backend, SharedJob, Workers, execute
from elmlda.experiments.command_options import SweepOptions
from elmlda.experiments.experiment import Experiment
from elmlda.experiments.plan import (
    NetworkPlan,
    NetworkPosteriors,
    Records,
    Step,
    Work,
    note_double,
)
from elmlda.networks.cost import predict_waiting_bytes
from elmlda.networks.jobs import accumulate_block, finish_job, run_job
from elmlda.networks.train import NetworkResult, Readout, in_enough_precision, predict_double_bytes
from elmlda.runs.record import Record
from elmlda.settings import PRECISIONS, NetworkJob, NetworkSettings, RowBlockJob


@dataclass(frozen=True)
class SweepRecord(Record):
    """One row of sweep.csv: both methods' test errors at one hidden size of one network."""

    FILE, EXPERIMENT, FIXED = "sweep.csv", "sweep", ("split_rows",)
    KEY = ("repeat", "n_hidden")
    POSITIVE = ("fanout", "n_hidden", "n_test")
    AT_MOST: ClassVar = dict.fromkeys(("pi_errors", "pi_constant_errors", "lda_errors"), "n_test")
    ONE_OF: ClassVar = {"precision": PRECISIONS}
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


@dataclass(frozen=True)
class SingularRecord(Record):
    """One row of singular.csv: a hidden size of one network at which LDA has no solution."""

    FILE, EXPERIMENT, FIXED = "singular.csv", "sweep", ("split_rows",)
    KEY = ("repeat", "n_hidden")
    POSITIVE = ("n_hidden",)
    repeat: int
    n_hidden: int
    reason: str


class SweepPlan(NetworkPlan["Sweep"]):
    """A sweep's networks, one for each repeat, or for each repeat and size."""

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
        if self.n_blocks > self.n_train:
            raise ElmldaError(
                f"{self.n_train:,} training samples cannot be divided into {self.n_blocks:,} blocks.",
                "Lower {split_rows}.",
                split_rows=None,
            )

    def keys(self) -> list[tuple[int, int]]:
        return [(repeat, size) for repeat in range(self.experiment.repeats) for size in self.sizes]

    def jobs(self, recorded: Collection[tuple[int, int]] = ()) -> list[NetworkJob]:
        """The networks that are needed for what is not recorded yet, as (repeat, n_hidden)."""
        return self.make_jobs(key for key in self.keys() if key not in recorded)

    def missing(self, records: Records) -> list[NetworkJob]:
        """The networks without records; sizes that are known to be singular are not tried again."""
        found = (*records[SweepRecord], *records[SingularRecord])
        return self.jobs({record.key for record in found})

    def explain_gaps(self, records: Records) -> ElmldaError | None:
        keys = set(self.keys())
        singular = [record for record in records[SingularRecord] if record.key in keys]
        if not singular:
            return None
        smallest = min(singular, key=lambda record: record.n_hidden)
        sizes = ", ".join(f"{size:,}" for size in sorted({record.n_hidden for record in singular}))
        n_repeats = len({record.repeat for record in singular})
        others = "; other sizes are recorded" if len(singular) < len(keys) else ""
        return ElmldaError(
            f"{self.folder}: LDA has no solution at {sizes} hidden units in {n_repeats:,} of "
            f"{self.experiment.repeats:,} repeats{others}. {smallest.reason}",
            "Use fewer hidden units, or {ridge} with another {out} for a new run.",
            ridge="1e-3",
            out=None,
        )

    def steps(self, work: Work) -> Iterator[Step]:
        """Each network as it finishes, and its posteriors if it has the largest size."""
        if self.n_blocks == 1:
            results = execute(partial(train_solvable, run_job), work.jobs, work.backend)
        else:
            results = self._share_each(work.jobs, work.backend)
        for job, solvable in results:
            yield self._make_step(job, solvable)

    def _make_step(self, job: NetworkJob, solvable: Solvable) -> Step:
        repeat, result = job.key[0], solvable.result
        solved = result.sizes if result else ()
        records: list[SweepRecord | SingularRecord] = [
            SingularRecord(repeat, size, solvable.reason) for size in job.sizes if size not in solved
        ]
        if result is None:
            return Step(records)
        records += [
            SweepRecord(
                repeat, size / self.data.n_inputs, size, result.pi_errors[i],
                result.pi_constant_errors[i], result.lda_errors[i], result.n_test, result.seconds,
                result.precision,
            )
            for i, size in enumerate(solved)
        ]  # fmt: skip
        kept = None
        if self.experiment.posteriors and solved[-1] == self.sizes[-1]:
            kept = NetworkPosteriors(job.key, solved[-1], result.posteriors, result.wrong)
        return Step(records, kept, note=note_double(repeat, result.precision, job.settings))

    def _share_each(
        self, jobs: Sequence[NetworkJob], backend: Backend
    ) -> Iterator[tuple[NetworkJob, Solvable]]:
        if not jobs:
            return
        with backend.open() as workers:
            for job in jobs:
                yield job, train_solvable(lambda part: self._share(part, workers), job)

    def _share(self, job: NetworkJob, workers: Workers) -> NetworkResult:
        """One network whose statistics are accumulated by all workers, each for a block of samples."""

        def share(settings: NetworkSettings) -> NetworkResult:
            whole, n = replace(job, settings=settings), self.n_blocks
            blocks = [RowBlockJob(**vars(whole), block=i, n_blocks=n) for i in range(n)]
            return workers.reduce(
                SharedJob(accumulate_block, blocks, Statistics.plus, finish_job, whole)
            )

        n_hidden, readout = job.sizes[-1], Readout(job.sizes, job.settings.ridge)
        double_bytes = predict_double_bytes(self.dataset, [readout], job.resources.chunk)
        double_bytes += predict_waiting_bytes(self.n_blocks, 8, n_hidden)
        start = time.perf_counter()
        free = workers.free_bytes
        result = in_enough_precision(share, job.settings, n_hidden, double_bytes, free)
        return replace(result, seconds=time.perf_counter() - start)


@dataclass(frozen=True)
class Solvable:
    """The result at those sizes at which LDA has a solution."""

    result: NetworkResult | None
    """None: it has none at any size."""
    reason: str = ""
    """Why it has none at the others."""


def train_solvable(train: Callable[[NetworkJob], NetworkResult], job: NetworkJob) -> Solvable:
    """Train the network; where LDA is singular at a size, again with the smaller sizes."""
    reason = ""
    while job.sizes:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RankWarning)  # LDA is singular there too
                return Solvable(train(job), reason)
        except SingularCovarianceError as error:
            reason, largest = error.fact, error.n_hidden - 1
            job = replace(job, sizes=tuple(size for size in job.sizes if size <= largest))
    return Solvable(None, reason)


@dataclass(frozen=True, kw_only=True)
class Sweep(SweepOptions, Experiment):
    """Table 1 and Fig. 1: PI-ELM and LDA-ELM on the same random input weights, test errors counted."""

    name = "sweep"
    record_types = (SweepRecord, SingularRecord)
    plan_type = SweepPlan
