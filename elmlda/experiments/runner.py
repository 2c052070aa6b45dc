"""The runner: compute what a run's folder lacks, and record each result at once."""

from __future__ import annotations

import io
import shlex
import sys
from collections.abc import Generator, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
from tqdm import tqdm

from elmlda.datasets.split import Dataset
from elmlda.errors import ElmldaError
from elmlda.experiments.plan import Plan, Result, Stage
from elmlda.experiments.pool import compute_all
from elmlda.machine import describe_code, describe_machine
from elmlda.networks.cost import estimate_seconds, predict_peak_bytes, require_memory
from elmlda.options import spell
from elmlda.runs.folder import Run, open_run, read_rows, require_same_run
from elmlda.runs.kept import keep_network, keep_test
from elmlda.runs.tables import Key
from elmlda.settings import MachineOptions


def run_plan(plan: Plan, folder: Path, machine: MachineOptions, progress: Any = False) -> pd.DataFrame:
    """Compute the rows that the folder lacks, and return all rows that the plan asks for."""
    if plan.is_serial and machine.jobs > 1:
        _refuse_jobs(machine)
    test, out = plan.data.test, [] if folder == plan.folder else ["--out", spell(folder)]
    command = shlex.join(["elmlda", plan.identity.experiment, *plan.words, *machine.words(), *out])
    with open_run(
        folder, plan.identity, {"command": command, **describe_code()}, describe_machine()
    ) as run:
        for stage in plan.stages:
            if stage.is_renewed:
                run.clear(stage.table)
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
    places = {key: place for place, key in enumerate(plan.table.keys(rows))}
    return rows.iloc[[places[key] for key in plan.stages[0].keys]].reset_index(drop=True)


def _refuse_jobs(machine: MachineOptions) -> None:
    fact = "times are measured one network at a time."
    raise ElmldaError(fact, "Leave out {jobs}.", jobs=machine.jobs)


def join_rows(rows: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Join the rows of several runs, with a column that names the data set."""
    return pd.concat(rows, names=["dataset"]).reset_index(level=0).reset_index(drop=True)


def _find_jobs(stage: Stage, run: Run) -> tuple[set[Key], Iterable[Any]]:
    """Return the keys that the stage's table has, and the jobs that give the missing rows."""
    recorded = set(stage.table.keys(read_rows(run.folder, stage.table)))
    missing = dict.fromkeys(key for key in stage.keys if key not in recorded)
    return recorded, stage.find_jobs(missing, run)


def _compute(
    stage: Stage, data: Dataset, jobs: Iterable[Any], machine: MachineOptions, progress: Any
) -> Generator[Result, None, None]:
    """Yield the results of a stage's jobs in the order in which they are ready."""
    if stage.cost is None:
        yield from (stage.compute(data, job) for job in jobs)
        return
    todo = list(jobs)
    if todo and not machine.cluster:
        require_memory(stage.cost, machine.jobs)
    compute = partial(stage.compute, threads=machine.threads_each)
    bar = open_bar(len(todo), progress) if isinstance(progress, bool) else progress
    is_alone = not machine.cluster and min(machine.jobs, len(todo)) <= 1
    alone = (compute(data, job) for job in todo)
    results = alone if is_alone else compute_all(compute, data, todo, machine)
    with closing(bar), closing(results):
        for result in results:
            yield result
            bar.update()


def open_bar(n_networks: int, is_shown: bool) -> Any:
    """Return a progress bar on stderr, or one that counts but is not shown."""
    return tqdm(
        total=n_networks,
        disable=not n_networks,
        file=sys.stderr if is_shown else io.StringIO(),  # a disabled bar would not count
        unit="network",
        dynamic_ncols=True,
        mininterval=0.1 if sys.stderr.isatty() else 60,
    )


@dataclass(frozen=True, eq=False)
class DryRun:
    """What a run would compute, and the memory and time that it would take."""

    folder: Path
    data: Dataset
    machine: MachineOptions
    n_recorded: int
    """Rows that are asked for and recorded already."""
    n_wanted: int
    """Rows that are asked for."""
    n_networks: int
    """Networks to be trained."""
    peak_bytes: int
    """Memory of all processes together, or of one worker of a cluster."""
    seconds: float
    """Upper bound of the run's time on this machine, without a cluster."""

    @property
    def needs(self) -> str:
        """Memory and time in words."""
        workers = " for each worker" if self.machine.cluster else ""
        time = _format_seconds(max(1.0, self.seconds))
        return f"{self.peak_bytes / 1e9:.2f} GB of memory{workers}, at most {time}"

    def __str__(self) -> str:
        n_train, n_test = (len(part.labels) for part in (self.data.train, self.data.test) if part)
        lines = [
            f"folder         {self.folder}",
            f"data           {self.data.name}: {n_train:,} to train on, {n_test:,} to test on",
            f"recorded       {self.n_recorded:,} of {self.n_wanted:,} rows",
            f"to be trained  {count(self.n_networks, 'network')} {self.machine}",
        ]
        return "\n".join([*lines, f"needs          {self.needs}"] if self.n_networks else lines)


def preview(plan: Plan, folder: Path, machine: MachineOptions) -> DryRun:
    """Return what running the plan would compute and take; write nothing."""
    if plan.is_serial and machine.jobs > 1:
        _refuse_jobs(machine)
    require_same_run(folder, plan.identity)
    recorded = set(plan.table.keys(read_rows(folder, plan.table)))
    n_networks, peak_bytes, seconds = 0, 0, 0.0
    for stage in plan.stages:
        if stage.cost is not None:
            n_networks = len(list(_find_jobs(stage, Run(folder))[1]))
            peak_bytes = predict_peak_bytes(stage.cost, machine.jobs)
            seconds = estimate_seconds(stage.cost, n_networks, machine.jobs, machine.threads_each)
    keys = plan.stages[0].keys
    rows = sum(key in recorded for key in keys), len(keys)
    return DryRun(folder, plan.data, machine, *rows, n_networks, peak_bytes, seconds)


def count(number: int, noun: str) -> str:
    """Format a number and its noun as in: 1 network, 2 networks."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _format_seconds(seconds: float) -> str:
    """Format a duration as in: 40 s, 12 min, 3.5 h."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
