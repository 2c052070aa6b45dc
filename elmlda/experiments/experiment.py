"""The frame of every experiment: a plan says what to compute, the frame does all the rest.

It refuses a folder of another configuration, locks it, repairs and reads what is recorded, has what
is missing computed, writes each step before the next, sorts, and tells what a dry run would do.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from elmlda.execute.local import Backend, Local
from elmlda.experiments.options import DataOptions, UnitOptions, spell_call
from elmlda.experiments.outlook import Outlook, estimate_seconds
from elmlda.experiments.plan import Plan, Records, Step, Work
from elmlda.experiments.progress import OpenProgress, choose_progress
from elmlda.experiments.run_spec import RunSpec, Share, find_anywhere
from elmlda.machine import describe_machine
from elmlda.networks.cost import (
    Problem,
    predict_peak_bytes,
    predict_ridge_bytes,
    predict_total_bytes,
    predict_waiting_bytes,
)
from elmlda.networks.jobs import load_job_data
from elmlda.networks.memory import require_room
from elmlda.networks.steps import HIDDEN_DTYPES, find_multiplier
from elmlda.runs.manifest import Entry, merge_entry
from elmlda.runs.posteriors import PosteriorStore
from elmlda.runs.records import RecordFile, open_records, unique
from elmlda.runs.run import Run
from elmlda.settings import DEFAULT_CHUNK, DatasetRef

if TYPE_CHECKING:
    import pandas as pd

    from elmlda.datasets import Dataset, Table


@dataclass(frozen=True, kw_only=True)
class Experiment(DataOptions, UnitOptions, ABC):
    """What is to be computed, by the words of the command line; `run` computes it."""

    name: ClassVar[str]
    record_types: ClassVar[tuple[type[Any], ...]]
    """The main type first: its records are written last, so that they vouch for the others."""

    def __post_init__(self) -> None:
        _ = self.settings  # which refuses what no network can have

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
        """Compute what the folder lacks, and return all records that this experiment asks for.

        Parameters
        ----------
        folder : where a run that is there goes on; default results/<data set>
        jobs : networks side by side, each in a process
        threads : BLAS threads of each network; default: the cores, shared
        chunk : samples whose hidden outputs are held at a time
        cluster : a Dask scheduler's address or file, whose workers train the networks instead
        progress : whether to show a bar on stderr
        """
        spec = self.bind(folder, Share(jobs, threads, chunk, cluster))
        command = spell_call(self, spec.folder, spec.share)
        records = self.conduct(spec, choose_progress(progress), command)
        return as_table(self.record_types[0], records)

    def outlook(
        self,
        folder: str | Path | None = None,
        *,
        jobs: int = 1,
        threads: int | None = None,
        chunk: int = DEFAULT_CHUNK,
        cluster: str | None = None,
    ) -> Outlook:
        """What `run` would do and take; nothing is written."""
        return self.look_ahead(self.bind(folder, Share(jobs, threads, chunk, cluster)))

    # What an experiment says of itself

    @abstractmethod
    def plan(self, spec: RunSpec) -> Plan[Any]:
        """What to compute on these data."""

    @abstractmethod
    def sizes(self, spec: RunSpec) -> tuple[int, ...]:
        """Hidden sizes that networks have, ascending."""

    @abstractmethod
    def extent(self, spec: RunSpec) -> dict[str, Any]:
        """What may grow when a run goes on, for the manifest."""

    def fixed(self, spec: RunSpec) -> dict[str, Any]:
        """The experiment's own settings that may not change when a run goes on."""
        return {}

    def identity(self, spec: RunSpec) -> dict[str, Any]:
        """What makes the run's networks what they are, for the manifest."""
        settings = self.settings
        return {
            "dataset": spec.data.name,
            "sha256": spec.data.checksums,
            **self.own_identity(),
            "seed": self.seed,
            **{key: value for key, value in settings.identity().items() if key not in self.varied},
            "input_scale": settings.input_scale or spec.data.input_scale,
            **spec.data.preparation,
        }

    varied: ClassVar[frozenset[str]] = frozenset()
    """Settings that are not the same for all networks of the run."""

    def own_identity(self) -> dict[str, Any]:
        """What the identity has beside settings."""
        return {"design": "nested"}

    def shown_design(self) -> str:
        """How networks of several sizes belong together, for the outlook."""
        return str(self.own_identity().get("design", "nested"))

    def load(self, ref: DatasetRef) -> Dataset | Table:
        """The data, kept for the jobs of this process: one copy for both."""
        return load_job_data(ref)

    job_loader: ClassVar[Any] = staticmethod(load_job_data)
    """How jobs load their data; workers of a cluster are checked by it."""

    def default_folder(self, data: Dataset | Table) -> Path:
        return Path("results") / data.name

    def check(self, spec: RunSpec) -> None:
        """Refuse, before anything is computed, what would fail hours later."""

    def problem(self, spec: RunSpec, sizes: tuple[int, ...]) -> Problem:
        """What a network of these sizes costs."""
        return Problem.of(spec.dataset, sizes)

    def extra_bytes(self, spec: RunSpec) -> int:
        """Memory that a network's data take beside the run's."""
        return 0

    chooses_ridge: ClassVar[bool] = False
    n_blocks = 1

    # What the frame does for all

    def bind(self, folder: str | Path | None, share: Share) -> RunSpec:
        """Load the data, and refuse what cannot be."""
        ref = find_anywhere(self.dataset_ref) if share.cluster else self.dataset_ref
        data = self.load(ref)
        ref = ref.expecting(data.checksums)
        spec = RunSpec(data, ref, Path(folder) if folder else self.default_folder(data), share)
        self.check(spec)
        if not share.cluster:
            self._require_room(spec)
        return spec

    def conduct(self, spec: RunSpec, progress: OpenProgress, command: str) -> list[Any]:
        """Compute what is missing; the main records that the plan asks for, in order.

        The command, as the user gave it, is for the manifest.
        """
        plan = self.plan(spec)
        multiplier = find_multiplier(self.settings.precision)
        machine = describe_machine() | ({"bfloat16": multiplier.library} if multiplier else {})
        entry = replace(self._entry(spec), machine=machine, command=command)
        with Run(spec.folder, entry) as run:
            files = {kind: run.records(kind) for kind in self.record_types}
            records = plan.keep({kind: _read(file) for kind, file in files.items()})
            for kind, file in files.items():
                file.replace(records[kind])
            posteriors = self._posteriors(spec)
            missing, n_all = plan.missing(records, posteriors), plan.count_jobs()
            with progress(n_all, n_all - len(missing)) as bar:
                steps = plan.steps(Work(missing, records, posteriors, self._backend(spec)))
                _write_steps(steps, files, records, posteriors, bar)
            for file in files.values():
                file.sort(key=lambda record: record.key)
        return self.read(spec)

    def read(self, spec: RunSpec) -> list[Any]:
        """The main records that the plan asks for, as far as they are there."""
        main, wanted = self.record_types[0], set(self.plan(spec).keys())
        manifest = merge_entry(spec.folder, self._entry(spec))
        records = open_records(spec.folder, manifest, main).read()
        return [record for record in records if record.key in wanted]

    def look_ahead(self, spec: RunSpec) -> Outlook:
        """What `conduct` would do and take."""
        plan, manifest = self.plan(spec), merge_entry(spec.folder, self._entry(spec))
        records = {kind: open_records(spec.folder, manifest, kind).read() for kind in self.record_types}
        missing = plan.missing(plan.keep(records), self._posteriors(spec))
        recorded = {record.key for record in records[self.record_types[0]]}
        seconds, speed = estimate_seconds(map(plan.problem, missing), self.settings.precision)
        return Outlook(
            spec,
            self.shown_design(),
            n_recorded=len(recorded & set(plan.keys())),
            n_networks=len(missing),
            peak_bytes=self.peak_bytes(spec, self.sizes(spec)) if missing else 0,
            seconds=seconds,
            speed=speed,
            multiplier=None if spec.share.cluster else find_multiplier(self.settings.precision),
        )

    def peak_bytes(self, spec: RunSpec, sizes: tuple[int, ...]) -> int:
        """Memory that the run takes at its peak: all its processes together, or one worker."""
        problem, inputs = self.problem(spec, sizes), spec.input_bytes + self.extra_bytes(spec)
        precision = "double" if problem.in_double else self.settings.precision
        itemsize = HIDDEN_DTYPES[precision]().itemsize
        one = predict_peak_bytes(problem, spec.share.chunk, itemsize, inputs)
        if self.chooses_ridge:
            one = max(one, predict_ridge_bytes(problem, itemsize, inputs))
        waiting = predict_waiting_bytes(self.n_blocks, itemsize, sizes[-1])
        return predict_total_bytes(one, spec.input_bytes, spec.share.jobs) + waiting

    def _require_room(self, spec: RunSpec) -> None:
        sizes = self.sizes(spec)

        def peak_bytes(n_hidden: int, chunk: int, jobs: int) -> int:
            up_to = (*(size for size in sizes if size < n_hidden), n_hidden)
            return self.peak_bytes(spec.with_share(chunk=chunk, jobs=jobs), up_to)

        share = spec.share
        require_room(sizes[-1], spec.data.n_inputs, share.chunk, share.jobs, peak_bytes)

    def _entry(self, spec: RunSpec) -> Entry:
        return Entry(self.name, self.identity(spec), self.fixed(spec), self.extent(spec))

    def _posteriors(self, spec: RunSpec) -> PosteriorStore:
        return PosteriorStore(spec.folder, self.identity(spec), spec.posteriors_shape)

    def _backend(self, spec: RunSpec) -> Backend:
        if not spec.share.cluster:
            return Local(spec.share.jobs)
        from elmlda.execute.cluster import Cluster

        needed = self.peak_bytes(spec, self.sizes(spec))
        return Cluster(spec.share.cluster, spec.ref, self.job_loader, needed)


def _read(file: RecordFile[Any]) -> list[Any]:
    return list(unique(file.read(), lambda record: record.key, file.path).values())


def _write_steps(
    steps: Iterator[Step],
    files: dict[type[Any], RecordFile[Any]],
    records: Records,
    posteriors: PosteriorStore,
    bar: Any,
) -> None:
    """Have each step on disk before the next is computed; the main records last."""
    known = {kind: {record.key for record in found} for kind, found in records.items()}
    notes: set[str] = set()
    for step in steps:
        if step.kept:
            posteriors.write(step.kept.key, step.kept.n_hidden, step.kept.posteriors)
        for kind in reversed(files):
            of_kind = [record for record in step.records if type(record) is kind]
            files[kind].append([record for record in of_kind if record.key not in known[kind]])
        bar.update(step.n_done)
        if step.note and not notes:
            notes.add(step.note)
            bar.write(step.note)


def as_table(kind: type[Any], records: Sequence[Any]) -> pd.DataFrame:
    """Records as a table with a column for each field."""
    import pandas as pd

    names = [field.name for field in fields(kind)]
    return pd.DataFrame([asdict(record) for record in records], columns=names)
