"""Several experiments that belong together, one after the other, each with a run of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from elmlda.experiments.experiment import Experiment, as_table
from elmlda.experiments.options import spell_call
from elmlda.experiments.outlook import Outlook
from elmlda.experiments.progress import OpenProgress, choose_progress
from elmlda.experiments.run_spec import RunSpec, Share
from elmlda.settings import DEFAULT_CHUNK

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Part:
    """One of a study's experiments."""

    title: str
    experiment: Experiment
    folder: Path | None
    """None: the data set's name below `parent`."""
    parent: Path = Path()

    def bind(self, share: Share) -> RunSpec:
        """Load its data and choose its folder."""
        spec = self.experiment.bind(self.folder, share)
        return spec if self.folder else spec.in_folder(self.parent / spec.data.name)


@dataclass(frozen=True, kw_only=True)
class Study(ABC):
    """What is to be computed; `parts` yields the experiments, and is sent the records of each.

    In a dry run it is sent None where records are missing: what depends on them can't be known yet.
    """

    default_folder: ClassVar[Path]
    part_column: ClassVar[str] = "part"

    @abstractmethod
    def parts(self, folder: Path) -> Generator[Part, Sequence[Any] | None, None]:
        """The experiments in their order."""

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
        """Compute what is missing; all records, with the name of their part in the first column.

        The parameters are those of an experiment's `run`.
        """
        import pandas as pd

        share, bar = Share(jobs, threads, chunk, cluster), choose_progress(progress)
        command = spell_call(self, Path(folder or self.default_folder), share)
        tables = []

        def conduct(part: Part) -> Sequence[Any]:
            return part.experiment.conduct(part.bind(share), bar, command)

        for part, records in self.visit(folder, conduct):
            table = as_table(part.experiment.record_types[0], records or ())
            table.insert(0, self.part_column, part.title)
            tables.append(table)
        return pd.concat(tables, ignore_index=True)

    def outlook(
        self,
        folder: str | Path | None = None,
        *,
        jobs: int = 1,
        threads: int | None = None,
        chunk: int = DEFAULT_CHUNK,
        cluster: str | None = None,
    ) -> list[Outlook]:
        """What `run` would do and take, part by part, as far as it can be known now."""
        share, found = Share(jobs, threads, chunk, cluster), []

        def look_ahead(part: Part) -> Sequence[Any] | None:
            spec = part.bind(share)
            found.append(part.experiment.look_ahead(spec))
            return part.experiment.read(spec) if found[-1].n_networks == 0 else None

        for _ in self.visit(folder, look_ahead):
            pass
        return found

    def visit(
        self, folder: str | Path | None, do: Callable[[Part], Sequence[Any] | None]
    ) -> Iterator[tuple[Part, Sequence[Any] | None]]:
        """Each part with what was done for it."""
        parts = self.parts(Path(folder) if folder else self.default_folder)
        part = next(parts, None)
        while part is not None:
            found = do(part)
            yield part, found
            try:
                part = parts.send(found)
            except StopIteration:
                return
