"""Run a plan, or estimate what it takes; the same for every experiment.

A folder of another configuration is refused; the folder is locked, what is recorded is repaired and
read, what is missing is computed, and each step is on disk before the next begins.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from elmlda.core.bfloat16 import Multiplier
from elmlda.datasets import Dataset
from elmlda.errors import ElmldaError
from elmlda.execute.local import Backend, Local
from elmlda.experiments.plan import Plan, Records, Step, Work
from elmlda.experiments.progress import OpenProgress
from elmlda.machine import describe_machine
from elmlda.networks.cost import Speeds, count_operations, measure_speeds
from elmlda.networks.steps import find_multiplier
from elmlda.runs.manifest import merge_entry
from elmlda.runs.posteriors import PosteriorStore
from elmlda.runs.records import RecordFile, open_records
from elmlda.runs.run import Run
from elmlda.text import format_seconds

RecordFiles = dict[type[Any], RecordFile[Any]]
OVERHEAD = 1.15
"""What a network takes beyond its floating-point operations at matrix-multiply speed."""

SMALL = 1e12
"""Operations that take seconds."""


@dataclass(frozen=True, eq=False)
class Outlook:
    """What a run would compute, and the memory and time it takes: the result of a dry run."""

    plan: Plan[Any]
    n_wanted: int
    """Records that are asked for."""
    n_recorded: int
    """Those of them that are there."""
    missing: Sequence[Any]
    """The jobs that are left to do."""

    @property
    def n_networks(self) -> int:
        """Networks that are to be trained."""
        return len(self.missing)

    @property
    def peak_bytes(self) -> int:
        """Of all processes together, or of one worker of a cluster."""
        return self.plan.peak_bytes() if self.missing else 0

    @property
    def multiplier(self) -> Multiplier | None:
        """What multiplies bfloat16 here, if the networks are of that precision."""
        return None if self.plan.share.cluster else find_multiplier(self.plan.settings.precision)

    @property
    def seconds(self) -> float:
        """On this machine, without a cluster."""
        return self._seconds_and_speed[0]

    @property
    def speed(self) -> float:
        """Operations a second of this machine's matrix multiplication just now."""
        return self._seconds_and_speed[1]

    @cached_property
    def _seconds_and_speed(self) -> tuple[float, float]:
        problems = [self.plan.job_problem(job) for job in self.missing]
        if not problems:
            return 0.0, 0.0
        operations = [count_operations(problem) for problem in problems]
        # A small run must not wait for a careful measurement.
        is_small = sum(each.total for each in operations) < SMALL
        effort = (512, 0.02) if is_small else (2048, 0.5)
        speeds = measure_speeds(self.plan.settings.precision, *effort)
        double = Speeds(*[speeds.solver] * 3)
        seconds = (
            each.seconds(double if problem.in_double else speeds)
            for each, problem in zip(operations, problems, strict=True)
        )
        return OVERHEAD * sum(seconds), speeds.hidden

    def __str__(self) -> str:
        data, share = self.plan.data, self.plan.share
        where, each, without = f"in {share.jobs} × {self.plan.resources.threads} threads", "", ""
        if share.cluster:
            where = f"by the workers at {share.cluster}"
            each, without = " for each worker", " without the cluster"
        lines = [
            f"folder         {self.plan.folder}",
            f"data           {data.name}: {_describe(data)}",
            f"recorded       {self.n_recorded:,} of {self.n_wanted:,} records",
            f"to be trained  {self.n_networks:,} networks ({self.plan.design} design), {where}",
        ]
        if self.missing:
            lines += [
                f"peak memory    {self.peak_bytes / 1e9:.2f} GB{each}",
                f"time           about {format_seconds(max(self.seconds, 1.0))}{without}, at the "
                f"{self.speed / 1e9:.0f} GFLOP/s of matrix products here and now",
            ]
            lines += [f"bfloat16       {self.multiplier}"] if self.multiplier else []
        return "\n".join(lines)


def _describe(data: Any) -> str:
    if not isinstance(data, Dataset):
        return f"{data.n_samples:,} samples"
    return f"{len(data.train.labels):,} to train on, {len(data.test.labels):,} to test on" + (
        "" if data.has_own_split else ", always the same"
    )


@dataclass(frozen=True)
class Outcome:
    """What is recorded of a plan, in the order of the keys."""

    records: Sequence[Any]
    """Of the main type, those that the plan asks for."""
    gaps: ElmldaError | None = None
    """Why some of them cannot be computed."""


def conduct(plan: Plan[Any], progress: OpenProgress, command: str) -> Outcome:
    """Compute what is missing; the command, as the user gave it, is for the manifest."""
    multiplier = find_multiplier(plan.settings.precision)
    machine = describe_machine() | ({"bfloat16": multiplier.library} if multiplier else {})
    entry = replace(plan.entry, machine=machine, command=command)
    with Run.open(plan.folder, entry) as run:
        files = {kind: run.records(kind) for kind in plan.experiment.record_types}
        records = plan.drop_incomplete(_read(files))
        for kind, file in files.items():
            file.replace(records[kind])
        outlook = _make_outlook(plan, records)
        with progress(outlook) as bar:
            steps = plan.steps(Work(outlook.missing, records, _backend(plan)))
            _write_steps(steps, files, records, plan.posteriors, bar)
        for file in files.values():
            file.sort()
        return _make_outcome(plan, _read(files))


def look_ahead(plan: Plan[Any]) -> tuple[Outlook, Outcome]:
    """The outlook, and what is recorded already; nothing is written."""
    manifest = merge_entry(plan.folder, plan.entry)
    kinds = plan.experiment.record_types
    records = _read({kind: open_records(plan.folder, manifest, kind) for kind in kinds})
    return _make_outlook(plan, plan.drop_incomplete(records)), _make_outcome(plan, records)


def _make_outlook(plan: Plan[Any], records: Records) -> Outlook:
    n_recorded = len(_select_wanted(plan, records))
    return Outlook(plan, len(plan.keys()), n_recorded, plan.missing(records))


def _make_outcome(plan: Plan[Any], records: Records) -> Outcome:
    return Outcome(_select_wanted(plan, records), plan.explain_gaps(records))


def _select_wanted(plan: Plan[Any], records: Records) -> list[Any]:
    """The main records that the plan asks for."""
    wanted, main = set(plan.keys()), plan.experiment.record_types[0]
    return [record for record in records[main] if record.key in wanted]


def _read(files: RecordFiles) -> Records:
    return {kind: file.read_unique() for kind, file in files.items()}


def _backend(plan: Plan[Any]) -> Backend:
    if not plan.share.cluster:
        return Local(plan.share.jobs)
    from elmlda.execute.cluster import Cluster

    return Cluster(plan.share.cluster, plan.ref, plan.experiment.job_loader, plan.peak_bytes())


def _write_steps(
    steps: Iterator[Step], files: RecordFiles, records: Records, posteriors: PosteriorStore, bar: Any
) -> None:
    """Write each step to disk before the next is computed, the main records last."""
    known = {kind: {record.key for record in found} for kind, found in records.items()}
    noted = False
    for step in steps:
        if step.posteriors:
            posteriors.write(*step.posteriors)
        for kind in reversed(files):
            of_kind = [record for record in step.records if type(record) is kind]
            files[kind].append([record for record in of_kind if record.key not in known[kind]])
        bar.update(step.n_done)
        if step.note and not noted:
            noted = True
            bar.write(step.note)
