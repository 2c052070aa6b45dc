"""Everything that one run has recorded, read once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from elmlda import paper
from elmlda.core.arrays import IntArray
from elmlda.datasets import Dataset, Table, list_datasets, load_source, split_table
from elmlda.datasets.catalogue import MNIST_SHA256
from elmlda.errors import ElmldaError
from elmlda.experiments.calibration import CalibrationRecord
from elmlda.experiments.compare import CompareRecord
from elmlda.experiments.ensemble import EnsembleRecord, MistakeRecord
from elmlda.experiments.pairs import PairRecord
from elmlda.experiments.sweep import SweepRecord
from elmlda.experiments.timing import TimingRecord
from elmlda.experiments.tune import TuneRecord
from elmlda.runs.manifest import read_manifest
from elmlda.runs.records import open_records, unique

RECORD_TYPES: tuple[type[Any], ...] = (
    SweepRecord, EnsembleRecord, MistakeRecord, PairRecord, TimingRecord, CompareRecord, TuneRecord,
    CalibrationRecord,
)  # fmt: skip
"""In the order of the fields of `RunRecords`."""
INDEPENDENT = "independent"
"""Inside a run's folder: that of the same sweep in the independent design."""


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

    @property
    def has_papers_experiments(self) -> bool:
        """Whether it is more than a comparison on one of several sets."""
        return bool(self.sweep or self.ensemble or self.timing or self.calibration)

    @property
    def has_records(self) -> bool:
        return bool(self.has_papers_experiments or self.compare or self.tune)

    @property
    def settings(self) -> Mapping[str, Any]:
        """What makes the run's networks what they are."""
        return dict(self.manifest["run"])

    def planned(self, experiment: str) -> Mapping[str, Any]:
        """What the manifest says of an experiment; empty if it was never begun."""
        return dict(self.manifest["experiments"].get(experiment, {}))

    @property
    def is_papers_data(self) -> bool:
        return bool(self.settings.get("sha256") == MNIST_SHA256)

    @property
    def input_weights(self) -> str:
        """The scheme that they were drawn by; a manifest says so only if they are not the paper's."""
        return str(self.settings.get("input_weights", "uniform"))

    @property
    def is_papers_kind(self) -> bool:
        """Whether data and input weights are of the paper's kind, so that its numbers say something."""
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
        """What the best ensemble gets wrong; None where that is not recorded in full."""
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
    def source(self) -> Dataset | Table | None:
        """The data as they come, if they are the catalogue's; others may have changed, or gone."""
        name = self.settings.get("dataset")
        if name not in {info.name for info in list_datasets()}:
            return None
        try:
            source = load_source(name)
        except ElmldaError:
            return None
        recorded = dict(self.settings.get("sha256") or {})
        return source if source.checksums.items() <= recorded.items() else None

    @property
    def dataset(self) -> Dataset | None:
        """The data as sweep and ensemble divide them, if they are the catalogue's."""
        return split_table(self.source) if isinstance(self.source, Table) else self.source


def read_run(folder: Path) -> RunRecords:
    """Read a run's folder; a run without any record is an error."""
    run = find_run(folder)
    if run is None:
        raise ElmldaError(f"{folder}: no manifest.json, so no run of elmlda's. Name a run's folder.")
    if not run.has_records:
        raise ElmldaError(f"{folder}: no records yet.", "Run a sweep with {out} first.", out=folder)
    return run


def find_run(folder: Path) -> RunRecords | None:
    """Read a run's folder, with records or without; None if there is no run."""
    manifest = read_manifest(folder)
    if manifest is None:
        return None
    return RunRecords(
        folder,
        manifest,
        *(_read(folder, manifest, record_type) for record_type in RECORD_TYPES),
    )


def _read(folder: Path, manifest: Mapping[str, Any], record_type: type[Any]) -> list[Any]:
    """Records in order; a doubled one is an error, as it would count twice."""
    file = open_records(folder, manifest, record_type)
    records = unique(file.read(), lambda record: record.key, file.path)
    return [records[key] for key in sorted(records)]


def count_confusion(mistakes: list[MistakeRecord], labels: IntArray, n_classes: int) -> IntArray:
    """How often each class (a row) was taken for each: n_classes × n_classes."""
    confusion = np.diag(np.bincount(labels, minlength=n_classes))
    for mistake in mistakes:
        confusion[mistake.label, mistake.label] -= 1
        confusion[mistake.label, mistake.chosen] += 1
    return confusion
