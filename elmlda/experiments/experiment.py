"""Experiments and studies: the options they have, and how they are run from Python."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from elmlda.datasets import find_info
from elmlda.experiments.conduct import Outlook, conduct, look_ahead
from elmlda.experiments.options import DataOptions, Share, UnitOptions, spell_call
from elmlda.experiments.plan import Plan
from elmlda.experiments.progress import OpenProgress, choose_progress
from elmlda.networks.jobs import load_job_data
from elmlda.settings import DEFAULT_CHUNK, DatasetRef

if TYPE_CHECKING:
    import pandas as pd

    from elmlda.datasets import Dataset, Table

AnyPlan: TypeAlias = Plan[Any]
Plans: TypeAlias = Generator[tuple[str, AnyPlan], Sequence[Any] | None, None]
"""Titles and plans in their order; it is sent the records of each, or None while they are missing."""


class GapsWarning(UserWarning):
    """Some of the records that were asked for cannot be computed."""


class Runnable(ABC):
    """An experiment, or a study of several: its fields are named like the command's options."""

    part_column: ClassVar[str | None] = None
    """Column of the table that tells which of several experiments a record belongs to."""

    @abstractmethod
    def plans(self, folder: Path | None, share: Share) -> Plans:
        """The plans in their order; a dry run ends where the next depends on missing records."""

    @abstractmethod
    def outlook(self, folder: str | Path | None = None, **share: Any) -> Outlook | list[Outlook]:
        """What `run` would do and take; nothing is written. `share` is as for `run`."""

    def run(
        self,
        folder: str | Path | None = None,
        *,
        jobs: int = 1,
        threads: int | None = None,
        chunk: int = DEFAULT_CHUNK,
        cluster: str | None = None,
        progress: bool | OpenProgress = False,
    ) -> pd.DataFrame:
        """Compute what the folder lacks, and return all records that are asked for.

        Parameters
        ----------
        folder : where the run is or will be; default as for the command
        jobs : networks to train at the same time, each in its own process
        threads : BLAS threads of each network; default: the cores, divided by `jobs`
        chunk : samples whose hidden outputs are in memory at a time
        cluster : address or file of a Dask scheduler whose workers train the networks instead
        progress : whether to show a bar on stderr
        """
        import pandas as pd

        share, bar, tables = Share(jobs, threads, chunk, cluster), choose_progress(progress), []
        command = spell_call(self, folder, share)

        def conduct_plan(title: str, plan: AnyPlan) -> Sequence[Any]:
            outcome = conduct(plan, bar, command)
            if outcome.gaps:
                warnings.warn(str(outcome.gaps), GapsWarning, stacklevel=4)
            columns = [field.name for field in fields(plan.experiment.record_types[0])]
            table = pd.DataFrame([vars(record) for record in outcome.records], columns=columns)
            if self.part_column:
                table.insert(0, self.part_column, title)
            tables.append(table)
            return outcome.records

        self.for_each_plan(folder, share, conduct_plan)
        return pd.concat(tables, ignore_index=True)

    def for_each_plan(
        self,
        folder: str | Path | None,
        share: Share,
        do: Callable[[str, AnyPlan], Sequence[Any] | None],
    ) -> None:
        """Call `do` with the title and plan of each experiment; it returns their records."""
        plans = self.plans(Path(folder) if folder else None, share)
        found = None
        while True:
            try:
                title, plan = plans.send(found)
            except StopIteration:
                return
            found = do(title, plan)

    def _look_ahead(self, folder: str | Path | None, share: Share) -> list[Outlook]:
        outlooks = []

        def look(_: str, plan: AnyPlan) -> Sequence[Any] | None:
            outlook, outcome = look_ahead(plan)
            outlooks.append(outlook)
            return None if outlook.missing else outcome.records

        self.for_each_plan(folder, share, look)
        return outlooks


@dataclass(frozen=True, kw_only=True)
class Study(Runnable):
    """Several experiments that belong together, each with a run of its own."""

    default_folder: ClassVar[Path]
    part_column = "part"

    def outlook(self, folder: str | Path | None = None, **share: Any) -> list[Outlook]:
        return self._look_ahead(folder, Share(**share))


@dataclass(frozen=True, kw_only=True)
class Experiment(DataOptions, UnitOptions, Runnable):
    """One experiment on one data set."""

    name: ClassVar[str]
    record_types: ClassVar[tuple[type[Any], ...]]
    """The main type first: its records are written last, when those that belong to them are there."""
    plan_type: ClassVar[type[AnyPlan]]
    job_loader: ClassVar[Any] = staticmethod(load_job_data)
    """How jobs load their data; workers of a cluster are checked by it."""

    @property
    def design(self) -> str | None:
        """Whether networks of several sizes are nested or independent; None: not for the manifest."""
        return "nested"

    def __post_init__(self) -> None:
        _ = self.settings  # raises an error if a value is invalid

    def load(self, ref: DatasetRef) -> Dataset | Table:
        """The data, in one copy for this process and its jobs."""
        loaded: Dataset | Table = self.job_loader(ref)
        return loaded

    def default_folder(self, data: Dataset | Table) -> Path:
        return Path("results") / data.name

    def bind(self, folder: str | Path | None, share: Share) -> AnyPlan:
        """The plan for the data, which are loaded; what cannot be computed is refused."""
        ref = find_anywhere(self.dataset_ref) if share.cluster else self.dataset_ref
        data = self.load(ref)
        ref = ref.expecting(data.checksums)
        folder = Path(folder) if folder else self.default_folder(data)
        plan = self.plan_type(self, data, ref, folder, share)
        plan.check()
        if not share.cluster:
            plan.require_room()
        return plan

    def plans(self, folder: Path | None, share: Share) -> Plans:
        yield "", self.bind(folder, share)

    def outlook(self, folder: str | Path | None = None, **share: Any) -> Outlook:
        return self._look_ahead(folder, Share(**share))[0]


def find_anywhere(ref: DatasetRef) -> DatasetRef:
    """The same data for a process in another folder."""
    name = ref.name
    if ref.data_dir is None and name and find_info(name) is None:
        name = str(Path(name).expanduser().absolute())
    return replace(ref, name=name, data_dir=ref.data_dir and ref.data_dir.absolute())
