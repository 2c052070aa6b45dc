"""The runner: compute the rows that a run's folder lacks, and record each result at once."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import pandas as pd
from tqdm import tqdm

from elmlda.datasets.split import Dataset
from elmlda.errors import ElmldaError
from elmlda.experiments.pool import compute_all
from elmlda.experiments.specs import Experiment
from elmlda.machine import describe_code, describe_machine
from elmlda.networks.cost import Problem, estimate_seconds, predict_peak_bytes, require_memory
from elmlda.options import MachineOptions, declarations, spell
from elmlda.runs.folder import Identity, Run, open_run, read_rows, require_same_run
from elmlda.runs.kept import keep_network, keep_test
from elmlda.runs.tables import Key, Table


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
    """Keys of the requested rows."""
    find_jobs: Callable[[Collection[Key], Run], Iterable[Any]]
    """Returns the jobs that give the rows with these keys, which the run does not have yet."""
    compute: Callable[..., Result]
    """Function of the data, a job and, if `cost` is not None, a number of threads."""
    cost: Problem | None = None
    """What the largest network costs; None if no network is trained, as in all stages but the first."""
    is_renewed: bool = False
    """Whether the table is written anew each time."""


@dataclass(frozen=True, eq=False)
class Plan:
    """What an experiment computes for some data: made once, and checked before the first network."""

    spec: Experiment
    data: Dataset
    """With a training and a test part."""
    stages: Sequence[Stage]
    """The rows of the first stage's table are the experiment's."""
    job_data: Dataset
    """Data that is sent to the workers."""
    own: Mapping[str, Any] = field(default_factory=dict)
    """Further values that this experiment's rows depend on."""
    is_serial: bool = False
    """Whether one job is computed at a time, because jobs measure time."""

    @cached_property
    def identity(self) -> Identity:
        """Everything that the experiment's rows depend on; options that are not the default."""
        spec, data = self.spec, self.data
        shared = {"dataset": data.name, "sha256": data.checksums, **spec.changed("network")}
        if data.preparation:
            shared["preparation"] = data.preparation
        defaults = {
            name: getattr(type(spec), name)
            for name, declared in declarations(type(spec)).items()
            if declared.scope in ("network", "experiment")
        }
        return Identity(spec.name, shared, {**spec.changed("experiment"), **self.own}, defaults)

    @property
    def table(self) -> Table:
        """The experiment's table."""
        return self.stages[0].table

    @property
    def folder(self) -> Path:
        """The run's default folder."""
        return Path("results") / self.data.name

    def check_jobs(self, machine: MachineOptions) -> None:
        """Refuse several jobs at a time where times are measured."""
        if self.is_serial and machine.jobs > 1:
            fact = "times are measured one network at a time."
            raise ElmldaError(fact, "Leave out {jobs}.", jobs=machine.jobs)


def run_plan(plan: Plan, folder: Path, machine: MachineOptions, progress: bool = False) -> pd.DataFrame:
    """Compute the rows that the folder lacks, and return all requested rows."""
    plan.check_jobs(machine)
    test, out = plan.data.test, [] if folder == plan.folder else ["--out", spell(folder)]
    words = ["elmlda", plan.spec.name, *plan.spec.words(), *machine.words(), *out]
    command = {"command": shlex.join(words), **describe_code()}
    with open_run(folder, plan.identity, command, describe_machine()) as run:
        for stage in plan.stages:
            if stage.is_renewed:
                (folder / f"{stage.table.name}.csv").unlink(missing_ok=True)
            recorded, jobs = _find_jobs(stage, run)
            with closing(_compute(stage, plan.job_data, jobs, machine, progress)) as results:
                for result in results:
                    if result.kept is not None and test:
                        keep_test(folder, test.labels, plan.data.classes)
                        keep_network(folder, result.network, result.kept, result.part)
                    new = [row for row in result.rows if stage.table.key_of(row) not in recorded]
                    if new:  # they mark the job as done
                        run.append(stage.table, new)
        rows = read_rows(folder, plan.table)
    lines = {key: line for line, key in enumerate(plan.table.keys(rows))}
    return rows.iloc[[lines[key] for key in plan.stages[0].keys]].reset_index(drop=True)


def _find_jobs(stage: Stage, run: Run) -> tuple[set[Key], Iterable[Any]]:
    """Return the keys that the stage's table has, and the jobs that give the missing rows."""
    recorded = set(stage.table.keys(read_rows(run.folder, stage.table)))
    missing = dict.fromkeys(key for key in stage.keys if key not in recorded)
    return recorded, stage.find_jobs(missing, run)


def _compute(
    stage: Stage, data: Dataset, jobs: Iterable[Any], machine: MachineOptions, progress: bool
) -> Generator[Result, None, None]:
    """Yield the results of a stage's jobs in the order in which they are ready."""
    if stage.cost is None:
        yield from (stage.compute(data, job) for job in jobs)
        return
    todo = list(jobs)
    if todo and not machine.cluster:
        require_memory(stage.cost, machine.jobs)
    compute = partial(stage.compute, threads=machine.threads_each)
    bar = tqdm(
        total=len(todo),
        disable=not (progress and todo),
        unit="network",
        dynamic_ncols=True,
        mininterval=0.1 if sys.stderr.isatty() else 60,
    )
    with bar, closing(compute_all(compute, data, todo, machine)) as results:
        for result in results:
            yield result
            bar.update()


def count_recorded(plan: Plan, folder: Path) -> int:
    """Return the number of requested rows that the folder has."""
    recorded = set(plan.table.keys(read_rows(folder, plan.table)))
    return sum(key in recorded for key in plan.stages[0].keys)


@dataclass(frozen=True, eq=False, repr=False)
class DryRun:
    """What a run would compute, and the memory and time that it would take."""

    folder: Path
    data: Dataset
    machine: MachineOptions
    n_rows: int
    n_recorded: int
    """Number of requested rows that are recorded already."""
    n_networks: int = 0
    """Number of networks to train."""
    peak_bytes: int = 0
    """Memory of all processes together, or of one worker of a cluster."""
    seconds: float = 0.0
    """Upper bound of the run's time if nothing else runs on this machine, without a cluster."""

    @property
    def facts(self) -> dict[str, str]:
        """Names and values for display."""
        n_train, n_test = (len(part.labels) for part in (self.data.train, self.data.test) if part)
        size, machine = f"{n_train:,} training and {n_test:,} test samples", self.machine
        place = f"in {machine.jobs} × {machine.threads_each} threads"
        place = f"by the workers at {machine.cluster}" if machine.cluster else place
        facts = {
            "folder": str(self.folder),
            "data": f"{self.data.name}: {size}",
            "missing": self.data.filled,
            "recorded": f"{self.n_recorded:,} of {self.n_rows:,} rows",
            "to train": f"{count(self.n_networks, 'network')} {place}",
            "needs": self.needs,
        }
        return {name: text for name, text in facts.items() if text}

    @property
    def needs(self) -> str:
        """Memory and time in words; empty if no network is trained."""
        if not self.n_networks:
            return ""
        workers = " for each worker" if self.machine.cluster else ""
        time = _format_seconds(max(1.0, self.seconds))
        return f"{self.peak_bytes / 1e9:.2f} GB of memory{workers}, at most {time} if nothing else runs"

    def __str__(self) -> str:
        return "\n".join(f"{name:11} {text}" for name, text in self.facts.items())

    def __repr__(self) -> str:
        needs = f", {self.needs}" if self.needs else ""
        return f"<{self.folder}: {count(self.n_networks, 'network')} to train{needs}>"

    def _repr_html_(self) -> str:
        return pd.Series(self.facts).to_frame().to_html(header=False)


def preview(plan: Plan, folder: Path, machine: MachineOptions) -> DryRun:
    """Return what running the plan would compute and take; write nothing."""
    plan.check_jobs(machine)
    require_same_run(folder, plan.identity)
    stage = plan.stages[0]
    rows = len(stage.keys), count_recorded(plan, folder)
    if stage.cost is None:
        return DryRun(folder, plan.data, machine, *rows)
    n_networks = len(list(_find_jobs(stage, Run(folder))[1]))
    peak_bytes = predict_peak_bytes(stage.cost, machine.jobs)
    seconds = estimate_seconds(stage.cost, n_networks, machine.jobs, machine.threads_each)
    return DryRun(folder, plan.data, machine, *rows, n_networks, peak_bytes, seconds)


def count(number: int, noun: str) -> str:
    """Format a number and its noun as in: 1 network, 2 networks."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _format_seconds(seconds: float) -> str:
    """Format a duration as in: 40 s, 12 min, 3.5 h."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
