"""The loop that all experiments share: compute what is missing, and write each result at once."""

from __future__ import annotations

import io
import shlex
import sys
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from contextlib import closing
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from elmlda.experiments.pool import Machine, compute_all
from elmlda.experiments.training import Training
from elmlda.options import spell
from elmlda.settings import NetworkSettings

if TYPE_CHECKING:
    import pandas as pd

    from elmlda.datasets import Dataset
    from elmlda.networks.cost import Problem
    from elmlda.networks.train import TestedNetwork
    from elmlda.runs.folder import Identity, Run

Key = tuple[Any, ...]
"""What tells a row of a table from the others."""


@dataclass(frozen=True, eq=False)
class Result:
    """What a job gives."""

    rows: list[dict[str, Any]]
    network: int = 0
    kept: Mapping[str, Any] | None = None
    """Arrays to keep of that network."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Experiment(Training, ABC):
    """An experiment: its options, the rows that it asks for, and the jobs that give them."""

    name: ClassVar[str]
    """Of its command and of the table of its rows."""

    # What each experiment defines

    @abstractmethod
    def find_wanted(self) -> list[Key]:
        """The key of every row that is asked for."""

    @abstractmethod
    def key_of(self, row: Mapping[Any, Any]) -> Key:
        """The key of a row, be it new or recorded."""

    @abstractmethod
    def find_jobs(self, missing: Collection[Key], folder: Path) -> list[Any]:
        """The jobs that give the rows with these keys."""

    @abstractmethod
    def compute(self, data: Dataset, job: Any, threads: int) -> Result:
        """Do a job, in this process or in a worker's, which has no data but those given."""

    def own_settings(self) -> dict[str, Any]:
        """The experiment's own settings that its rows depend on."""
        return {}

    def finish(self, run: Run, missing: Collection[Key]) -> None:
        """Add the rows that are computed from all jobs together."""

    # What all have

    @property
    def job_data(self) -> Dataset:
        """What jobs are given."""
        return self.data

    @property
    def problem(self) -> Problem:
        """What the largest network costs."""
        from elmlda.networks.cost import Problem
        from elmlda.networks.train import choose_precision

        precision = choose_precision(self.precision, self.sizes[-1])
        return Problem.for_dataset(self.data, self.sizes, precision, self.ridges, self.temperature)

    def run(
        self,
        folder: str | Path | None = None,
        *,
        jobs: int = 1,
        threads: int | None = None,
        cluster: str | None = None,
        progress: Any = False,
    ) -> pd.DataFrame:
        """Compute what the folder lacks, and return all rows that are asked for.

        Parameters
        ----------
        folder : where the run is or will be; default: results/ and the data set's name
        jobs : networks to train at the same time, each in its own process
        threads : BLAS threads of each network; default: the cores, divided by `jobs`
        cluster : address or file of a Dask scheduler whose workers train the networks instead
        progress : whether to show a bar on stderr; or a bar of your own, with tqdm's methods
        """
        from elmlda.machine import describe_machine
        from elmlda.networks.cost import require_memory
        from elmlda.runs.folder import open_run
        from elmlda.runs.kept import keep_network, keep_test

        machine = Machine(jobs=jobs, threads=threads, cluster=cluster)
        where = self.find_folder(folder)
        self.check()
        out = [] if folder is None else ["--out", spell(folder)]
        command = shlex.join(["elmlda", self.name, *self.words(), *machine.words(), *out])
        with open_run(where, self.identity(), command, describe_machine()) as run:
            wanted, recorded = self.find_wanted(), self.find_places(run.rows(self.name))
            missing = dict.fromkeys(key for key in wanted if key not in recorded)
            todo = self.find_jobs(missing, where)
            if todo and not cluster:  # only where there is something to train
                require_memory(self.problem, machine.jobs)
            # Workers are given the data beside the experiment, not in it.
            compute = partial(replace(self, dataset="given").compute, threads=machine.threads_each)
            bar = open_bar(len(todo), progress) if isinstance(progress, bool) else progress
            with closing(bar):
                for result in compute_all(compute, self.job_data, todo, machine):
                    if result.kept is not None and self.data.test:
                        keep_test(where, self.data.test.labels, self.data.classes)
                        keep_network(where, result.network, result.kept)
                    self.append(run, result.rows, missing)  # the mark that the job is done
                    bar.update()
            self.finish(run, missing)
            rows = run.rows(self.name)  # as networks were done
            places = self.find_places(rows)
            return rows.iloc[[places[key] for key in wanted]].reset_index(drop=True)

    def dry_run(self, folder: str | Path | None = None, **given: Any) -> DryRun:
        """What `run` with the same parameters would do and take; nothing is written."""
        from elmlda.networks.cost import estimate_seconds, predict_peak_bytes
        from elmlda.runs.folder import read_rows, require_same_run

        machine = Machine(**given)
        where = self.find_folder(folder)
        self.check()
        require_same_run(where, self.identity())
        wanted, recorded = self.find_wanted(), self.find_places(read_rows(where / f"{self.name}.csv"))
        missing = [key for key in wanted if key not in recorded]
        n_networks = len(self.find_jobs(missing, where))
        needs = (
            predict_peak_bytes(self.problem, machine.jobs),
            estimate_seconds(self.problem, n_networks, machine.jobs, machine.threads_each),
        )
        n_recorded = len(wanted) - len(missing)
        return DryRun(where, self.data, machine, n_recorded, len(wanted), n_networks, *needs)

    def find_folder(self, folder: str | Path | None) -> Path:
        """The run's folder."""
        return Path(folder).expanduser() if folder else Path("results") / self.data.name

    def identity(self) -> Identity:
        """What the rows depend on, for the manifest: what is not the default."""
        from elmlda.runs.folder import Identity

        named = {each.name for each in fields(NetworkSettings)} | {"seed", "design", "ridge"}
        data = self.data
        run = {
            "dataset": data.name,
            "sha256": data.checksums,
            **{name: value for name, value in self.changed().items() if name in named},
            **({"preparation": data.preparation} if data.preparation else {}),
        }
        defaults = {each.name: each.default for each in fields(self) if each.name in named}
        return Identity(self.name, run, self.own_settings(), defaults)

    def find_places(self, rows: pd.DataFrame) -> dict[Key, int]:
        """Where each row is, by its key."""
        return {self.key_of(row): place for place, row in enumerate(rows.to_dict("records"))}

    def append(self, run: Run, rows: list[dict[str, Any]], missing: Collection[Key]) -> None:
        """Record those of the rows that are missing, in one write."""
        if new := [row for row in rows if self.key_of(row) in missing]:
            run.append(self.name, new)

    def train(
        self,
        data: Dataset,
        key: tuple[int, ...],
        sizes_by_ridge: Mapping[float | str, tuple[int, ...]],
        threads: int,
    ) -> TestedNetwork:
        """Train and test the network with this spawn key."""
        import numpy as np

        from elmlda.networks.train import Recipe, train_and_test

        n_hidden = max(max(sizes) for sizes in sizes_by_ridge.values())
        seed = np.random.SeedSequence(self.seed, spawn_key=key)
        recipe = Recipe.for_dataset(data, seed, n_hidden, self.settings)
        return train_and_test(data, recipe, sizes_by_ridge, threads, self.temperature)


@dataclass(frozen=True, eq=False)
class DryRun:
    """What a run would compute, and the memory and time it takes."""

    folder: Path
    data: Dataset
    machine: Machine
    n_recorded: int
    """Rows that are asked for and there."""
    n_wanted: int
    n_networks: int
    """Networks to be trained."""
    peak_bytes: int
    """Memory of all processes together, or of one worker of a cluster."""
    seconds: tuple[float, float]
    """The least and the most time that the run takes on this machine, without a cluster."""

    @property
    def needs(self) -> str:
        """Memory and time in words."""
        each = " for each worker" if self.machine.cluster else ""
        least, most = (_format_seconds(max(1.0, seconds)) for seconds in self.seconds)
        time = f"about {least}" if least == most else f"{least} to {most}"
        return f"{self.peak_bytes / 1e9:.2f} GB of memory{each}, {time}"

    def __str__(self) -> str:
        n_train, n_test = (len(part.labels) for part in (self.data.train, self.data.test) if part)
        lines = [
            f"folder         {self.folder}",
            f"data           {self.data.name}: {n_train:,} to train on, {n_test:,} to test on",
            f"recorded       {self.n_recorded:,} of {self.n_wanted:,} rows",
            f"to be trained  {count(self.n_networks, 'network')} {self.machine}",
        ]
        return "\n".join([*lines, f"needs          {self.needs}"] if self.n_networks else lines)


def open_bar(n_networks: int, is_shown: bool) -> Any:
    """A bar on stderr, or one that counts and shows nothing."""
    from tqdm import tqdm

    return tqdm(
        total=n_networks,
        disable=not n_networks,
        file=sys.stderr if is_shown else io.StringIO(),  # a disabled bar would not count
        unit="network",
        dynamic_ncols=True,
        mininterval=0.1 if sys.stderr.isatty() else 60,
    )


def count(number: int, noun: str) -> str:
    """As in: 1 network, 2 networks."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _format_seconds(seconds: float) -> str:
    """As in 40 s, 12 min, 3.5 h."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
