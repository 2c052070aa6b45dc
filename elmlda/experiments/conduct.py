"""Carrying out a plan, the same for every experiment.

A folder of another configuration is refused; the folder is locked, what is recorded is repaired and
read, what is missing is computed, and each step is on disk before the next begins.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from elmlda.errors import ElmldaError
from elmlda.execute.local import Backend, Local
from elmlda.experiments.outlook import Outlook
from elmlda.experiments.plan import Plan, Records, Step, Work
from elmlda.experiments.progress import OpenProgress
from elmlda.machine import describe_machine
from elmlda.networks.steps import find_multiplier
from elmlda.runs.manifest import merge_entry
from elmlda.runs.posteriors import PosteriorStore
from elmlda.runs.records import RecordFile, open_records, unique
from elmlda.runs.run import Run

RecordFiles = dict[type[Any], RecordFile[Any]]


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
            file.sort(key=lambda record: record.key)
        return _make_outcome(plan, _read(files))


def look_ahead(plan: Plan[Any]) -> tuple[Outlook, Outcome]:
    """What `conduct` would do and take, and what is there already; nothing is written."""
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
    return {
        kind: list(unique(file.read(), lambda record: record.key, file.path).values())
        for kind, file in files.items()
    }


def _backend(plan: Plan[Any]) -> Backend:
    if not plan.share.cluster:
        return Local(plan.share.jobs)
    from elmlda.execute.cluster import Cluster

    return Cluster(plan.share.cluster, plan.ref, plan.experiment.job_loader, plan.peak_bytes())


def _write_steps(
    steps: Iterator[Step], files: RecordFiles, records: Records, posteriors: PosteriorStore, bar: Any
) -> None:
    """Have each step on disk before the next is computed; the main records last."""
    known = {kind: {record.key for record in found} for kind, found in records.items()}
    noted = False
    for step in steps:
        if kept := step.posteriors:
            posteriors.write(kept.key, kept.n_hidden, kept.values)
        for kind in reversed(files):
            of_kind = [record for record in step.records if type(record) is kind]
            files[kind].append([record for record in of_kind if record.key not in known[kind]])
        bar.update(step.n_done)
        if step.note and not noted:
            noted = True
            bar.write(step.note)
