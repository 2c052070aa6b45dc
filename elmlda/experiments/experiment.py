"""The loop that all experiments share: compute what is missing, and write each result at once."""

from __future__ import annotations

import io
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from elmlda.experiments.job import Result
from elmlda.experiments.pool import Machine, compute_all
from elmlda.options import Options
from elmlda.settings import DataOptions, NetworkSettings
from elmlda.text import format_seconds, without_folders

if TYPE_CHECKING:
    import pandas as pd

    from elmlda.datasets import Dataset
    from elmlda.networks.cost import Problem
    from elmlda.runs.folder import Run

ProgressBar = Callable[[int, int], AbstractContextManager[Any]]
"""Jobs in all and jobs done before -> a bar with `update`."""


@dataclass(frozen=True, kw_only=True)
class Experiment(NetworkSettings, DataOptions, ABC):
    """An experiment on one data set: its options, the jobs that are missing, what a job computes."""

    name: ClassVar[str]
    row_key: ClassVar[tuple[str, ...]] = ()
    """Columns that tell a row from the others."""

    # What each experiment defines

    @abstractmethod
    def find_jobs(self, rows: pd.DataFrame, folder: Path) -> list[Any]:
        """The jobs for what is not recorded yet."""

    @abstractmethod
    def compute(self, data: Dataset, job: Any, threads: int) -> Result:
        """Do a job, in this process or in a worker's."""

    @abstractmethod
    def select(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Those of the rows that are asked for, in their order."""

    @property
    @abstractmethod
    def n_wanted(self) -> int:
        """Rows that are asked for."""

    @abstractmethod
    def describe_problem(self) -> Problem:
        """What the largest network costs."""

    def check(self) -> None:
        """Refuse, before anything is computed, what would fail hours later."""

    def kept_folder(self, folder: Path) -> Path:
        """The folder whose networks are kept."""
        return folder

    def finish(self, run: Run) -> None:
        """What is computed from all jobs together."""

    # What all have

    @property
    def table(self) -> str:
        """The file of its rows."""
        return f"{self.name}.csv"

    @property
    def settings(self) -> NetworkSettings:
        """What defines the networks."""
        return NetworkSettings(
            **{each.name: getattr(self, each.name) for each in fields(NetworkSettings)}
        )

    @cached_property
    def loaded(self) -> Dataset:
        """The data as they come, loaded once."""
        from elmlda.datasets import load_dataset

        return load_dataset(self.dataset, label=self.label, drop=self.drop, missing=self.missing)

    @cached_property
    def data(self) -> Dataset:
        """The data with a training and a test part."""
        return self.loaded.split()

    def identity(self) -> Any:
        """What the rows depend on, for the manifest: what is not the default."""
        from elmlda.runs.manifest import Identity

        named = {each.name for each in fields(NetworkSettings)} | {"seed", "design", "ridge"}
        data, preparation = self.data, self.describe_preparation()
        run = {
            "dataset": data.name,
            "sha256": data.checksums,
            **{name: value for name, value in self.changed().items() if name in named},
            **({"preparation": preparation} if preparation else {}),
        }
        defaults = {each.name: each.default for each in fields(self) if each.name in named}
        return Identity(self.name, run, self.own_settings(), defaults)

    def own_settings(self) -> dict[str, Any]:
        """The experiment's own settings that its rows depend on."""
        return {}

    def describe_preparation(self) -> dict[str, str]:
        """How the data were made from their files."""
        return self.data.preparation

    def read_sizes(self, fanout: Sequence[int], hidden: Sequence[int] | None) -> tuple[int, ...]:
        """Hidden sizes: by fan-out, or as they are given."""
        return tuple(hidden or (self.data.n_inputs * each for each in fanout))

    def run(
        self,
        folder: str | Path | None = None,
        *,
        jobs: int = 1,
        threads: int | None = None,
        cluster: str | None = None,
        progress: bool | ProgressBar = False,
        command: str | None = None,
    ) -> pd.DataFrame:
        """Compute what the folder lacks, and return all rows that are asked for.

        Parameters
        ----------
        folder : where the run is or will be; default: results/ and the data set's name
        jobs : networks to train at the same time, each in its own process
        threads : BLAS threads of each network; default: the cores, divided by `jobs`
        cluster : address or file of a Dask scheduler whose workers train the networks instead
        progress : whether to show a bar on stderr
        command : how the run was started, for the manifest; default: the Python call
        """
        from elmlda.files import explain_refusal
        from elmlda.machine import describe_machine
        from elmlda.networks.cost import require_memory
        from elmlda.runs.folder import open_run
        from elmlda.runs.kept import keep_network, keep_test

        machine = Machine(jobs=jobs, threads=threads, cluster=cluster)
        where = self.find_folder(folder)
        self.check()
        command = command or spell_call(self, folder)
        with open_run(where, self.identity(), command, describe_machine()) as run:
            missing = self.find_jobs(run.rows(self.table), where)
            if missing and not cluster:  # only where there is something to train
                require_memory(self.describe_problem(), machine.jobs)
            place = self.kept_folder(where)
            with explain_refusal(place):
                place.mkdir(exist_ok=True)
            compute = partial(self.compute, threads=machine.threads_each)
            notes: set[str] = set()
            with open_bar(progress, len(missing)) as bar:
                for result in compute_all(compute, self.job_data, missing, machine):
                    if result.kept is not None and self.data.test:
                        keep_test(where, self.data.test.labels, self.data.classes)
                        keep_network(place, result.network, result.kept)
                    rows = [{**row, "machine": run.machine} for row in result.rows]
                    if rows:
                        run.append(self.table, rows)  # the mark that the job is done
                    bar.update()
                    if result.note and result.note not in notes:
                        notes.add(result.note)
                        bar.write(result.note, file=sys.stderr)
            self.finish(run)
            rows_found = run.rows(self.table)
            if missing and len(rows_found):
                run.replace(self.table, self.sort(rows_found))
            return self.select(rows_found)

    @property
    def job_data(self) -> Dataset:
        """What jobs are given."""
        return self.data

    def sort(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Rows come as networks are done: in order of their keys."""
        keys = [name for name in self.row_key if name in rows]
        return rows.sort_values(keys, kind="stable", ignore_index=True)

    def find_folder(self, folder: str | Path | None) -> Path:
        """The run's folder."""
        return Path(folder).expanduser() if folder else Path("results") / self.data.name

    def dry_run(
        self,
        folder: str | Path | None = None,
        *,
        jobs: int = 1,
        threads: int | None = None,
        cluster: str | None = None,
    ) -> DryRun:
        """What `run` would do and take; nothing is written. Parameters are those of `run`."""
        from elmlda.runs.folder import read_rows
        from elmlda.runs.manifest import require_same_run

        machine = Machine(jobs=jobs, threads=threads, cluster=cluster)
        where = self.find_folder(folder)
        self.check()
        require_same_run(where, self.identity())
        rows = read_rows(where / self.table)
        return DryRun(self, where, machine, len(self.select(rows)), len(self.find_jobs(rows, where)))

    def __getstate__(self) -> dict[str, Any]:
        """Workers are given the data beside the experiment, not in it."""
        return {each.name: getattr(self, each.name) for each in fields(self)} | {"dataset": "given"}

    def _repr_pretty_(self, printer: Any, _cycle: bool) -> None:
        printer.text(repr(self))

    def __repr__(self) -> str:
        return spell_options(self)


@dataclass(frozen=True, eq=False)
class DryRun:
    """What a run would compute, and the memory and time it takes."""

    experiment: Experiment
    folder: Path
    machine: Machine
    n_recorded: int
    """Rows that are asked for and there."""
    n_networks: int
    """Networks to be trained."""

    @cached_property
    def peak_bytes(self) -> int:
        """Of all processes together, or of one worker of a cluster."""
        from elmlda.networks.cost import predict_total_bytes

        return predict_total_bytes(self.experiment.describe_problem(), self.machine.jobs)

    @cached_property
    def seconds(self) -> tuple[float, float]:
        """The least and the most, on this machine, without a cluster."""
        from elmlda.networks.cost import estimate_seconds

        if not self.n_networks:
            return 0.0, 0.0
        problem, machine = self.experiment.describe_problem(), self.machine
        return estimate_seconds(problem, self.n_networks, machine.jobs, machine.threads_each)

    @property
    def needs(self) -> str:
        """Memory and time in words."""
        each = " for each worker" if self.machine.cluster else ""
        least, most = (format_seconds(max(1.0, seconds)) for seconds in self.seconds)
        time = f"about {least}" if least == most else f"{least} to {most}"
        return f"{self.peak_bytes / 1e9:.2f} GB of memory{each}, {time}"

    def __str__(self) -> str:
        data = self.experiment.data
        assert data.test is not None
        parts = f"{len(data.train.labels):,} to train on, {len(data.test.labels):,} to test on"
        lines = [
            f"folder         {self.folder}",
            f"data           {data.name}: {parts}",
            f"recorded       {self.n_recorded:,} of {self.experiment.n_wanted:,} rows",
            f"to be trained  {count(self.n_networks, 'network')} {self.machine}",
        ]
        return "\n".join([*lines, f"needs          {self.needs}"] if self.n_networks else lines)


def open_bar(progress: bool | ProgressBar, n_jobs: int) -> Any:
    """The caller's own bar, one on stderr, or one that shows nothing."""
    if callable(progress):
        return progress(n_jobs, 0)
    from tqdm import tqdm

    is_terminal = sys.stderr.isatty()
    return tqdm(
        total=n_jobs,
        disable=not n_jobs,
        file=sys.stderr if progress else io.StringIO(),  # a disabled bar would not count
        unit="network",
        dynamic_ncols=True,
        mininterval=0.1 if is_terminal else 60,
    )


def count(number: int, noun: str) -> str:
    """As in: 1 network, 2 networks."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def spell_options(options: Options) -> str:
    """The Python call that makes it: what is not the default, no absolute path."""
    shown = (f"{name}={_shorten(value)!r}" for name, value in options.changed().items())
    return f"{type(options).__name__}({', '.join(shown)})"


def spell_call(experiment: Options, folder: str | Path | None) -> str:
    """The Python call that runs the experiment."""
    where = "" if folder is None else repr(without_folders(str(folder)))
    return f"{experiment!r}.run({where})"


def _shorten(value: Any) -> Any:
    if isinstance(value, str):
        return without_folders(value)
    if isinstance(value, tuple):
        return tuple(map(_shorten, value))
    return value if isinstance(value, int | float) else type(value).__name__
