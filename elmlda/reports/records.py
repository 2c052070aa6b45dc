"""Everything that one run has recorded, read once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from elmlda import paper
from elmlda.datasets import Dataset, Table, list_datasets, load_source, split_table
from elmlda.datasets.catalogue import MNIST_SHA256
from elmlda.errors import ElmldaError
from elmlda.experiments.calibration import CalibrationRecord
from elmlda.experiments.compare import CompareRecord
from elmlda.experiments.ensemble import EnsembleRecord, MistakeRecord, PairRecord
from elmlda.experiments.shaped_networks import ShapedEnsembleRecord, ShapedRecord
from elmlda.experiments.sweep import SweepRecord
from elmlda.experiments.timing import TimingRecord
from elmlda.experiments.tune import TuneRecord
from elmlda.runs.manifest import read_manifest
from elmlda.runs.records import open_records
from elmlda.text import LONGEST_NAME, printable

RECORD_TYPES: tuple[type[Any], ...] = (
    SweepRecord, EnsembleRecord, MistakeRecord, PairRecord, TimingRecord, CompareRecord, TuneRecord,
    CalibrationRecord, ShapedRecord, ShapedEnsembleRecord,
)  # fmt: skip
"""In the order of the fields of `RunRecords`."""
INDEPENDENT = "independent"
"""Folder inside a run's: the same sweep in the independent design."""


@dataclass(frozen=True)
class RunRecords:
    """A run's manifest and records; lists are empty where an experiment has not been run."""

    folder: Path
    manifest: Mapping[str, Any]
    sweep: list[SweepRecord]
    ensemble: list[EnsembleRecord]
    mistakes: list[MistakeRecord]
    pairs: list[PairRecord]
    timing: list[TimingRecord]
    compare: list[CompareRecord]
    tune: list[TuneRecord]
    calibration: list[CalibrationRecord]
    networks: list[ShapedRecord]
    ensembles: list[ShapedEnsembleRecord]

    @property
    def has_papers_experiments(self) -> bool:
        """Whether an experiment of the paper was run, or calibration."""
        return bool(self.sweep or self.ensemble or self.timing or self.calibration)

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings that determine the run's networks."""
        return dict(self.manifest["run"])

    @property
    def name(self) -> str:
        """The data set's name, for display."""
        return printable(self.settings.get("dataset", "unnamed"), LONGEST_NAME)

    def list_differing(self, other: RunRecords, aside: Sequence[str]) -> list[str]:
        """Names of the settings that differ, but for those aside, which are meant to."""
        ours, theirs = self.settings, other.settings
        both = {**ours, **theirs}
        return [name for name in both if name not in aside and ours.get(name) != theirs.get(name)]

    def planned(self, experiment: str) -> Mapping[str, Any]:
        """What the manifest says of an experiment; empty if it was never begun."""
        return dict(self.manifest["experiments"].get(experiment, {}))

    def count_planned(self, experiment: str) -> int:
        """Planned repeats × hidden sizes."""
        planned = self.planned(experiment)
        return int(planned.get("repeats", 0)) * len(planned.get("n_hidden", ()))

    @property
    def is_papers_data(self) -> bool:
        return bool(self.settings.get("sha256") == MNIST_SHA256)

    @property
    def input_weights(self) -> str:
        """Their scheme; a manifest names it only if it is not the paper's."""
        return str(self.settings.get("input_weights", "uniform"))

    @property
    def is_papers_kind(self) -> bool:
        """Whether data and input weights are the paper's, so that its numbers can be compared."""
        return self.is_papers_data and self.input_weights == "uniform"

    @property
    def is_papers_ensemble(self) -> bool:
        """Whether the ensemble's networks have the hidden units of Fig. 2's."""
        n_hidden = self.planned("ensemble").get("n_hidden")
        return self.is_papers_kind and n_hidden == paper.LARGEST_FANOUT * paper.N_INPUTS

    @cached_property
    def best_ensemble(self) -> tuple[int, int, str] | None:
        """Repeat, size and scheme of the whole ensemble with the fewest errors; the first of equals."""
        largest = max((record.size for record in self.ensemble), default=0)
        whole = [record for record in self.ensemble if record.size == largest]
        best = min(whole, key=lambda record: (record.errors, record.combine != "mean"), default=None)
        return best.key if best else None

    def best_mistakes(self) -> list[MistakeRecord] | None:
        """The best ensemble's mistakes; None if they are not recorded in full."""
        errors = {record.key: record.errors for record in self.ensemble}
        key = self.best_ensemble
        found = [mistake for mistake in self.mistakes if mistake.key[:-1] == key]
        return found if key is not None and len(found) == errors[key] else None

    @cached_property
    def independent(self) -> RunRecords | None:
        """The sweep inside this run's folder, if it has records; comparable with this one or not."""
        is_nested = self.settings.get("design") == "nested"
        inside = find_run(self.folder / INDEPENDENT) if is_nested else None
        return inside if inside and inside.sweep else None

    @cached_property
    def dataset(self) -> Dataset | None:
        """The data as sweep and ensemble divide them, if the catalogue still has them."""
        name = self.settings.get("dataset")
        if name not in {info.name for info in list_datasets()}:
            return None
        try:
            source = load_source(name)
        except ElmldaError:
            return None
        recorded = dict(self.settings.get("sha256") or {})
        if not source.checksums.items() <= recorded.items():
            return None
        return split_table(source) if isinstance(source, Table) else source


def read_run(folder: Path) -> RunRecords:
    """Read a run's folder; a run without any record is an error."""
    run = find_run(folder)
    if run is None:
        raise ElmldaError(f"{folder}: no manifest.json, so no run of elmlda's. Name a run's folder.")
    if not (run.has_papers_experiments or run.compare or run.tune or run.networks):
        raise ElmldaError(f"{folder}: no records yet.", "Run a sweep with {out} first.", out=folder)
    return run


def find_run(folder: Path) -> RunRecords | None:
    """Read a run's folder, with records or without; None if there is no run."""
    manifest = read_manifest(folder)
    if manifest is None:
        return None
    records = (_read(folder, manifest, record_type) for record_type in RECORD_TYPES)
    return RunRecords(folder, manifest, *records)


def _read(folder: Path, manifest: Mapping[str, Any], record_type: type[Any]) -> list[Any]:
    """Records in order; a duplicate is an error, as it would count twice."""
    file = open_records(folder, manifest, record_type)
    return sorted(file.read_unique(), key=lambda record: record.key)
