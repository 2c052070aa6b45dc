"""Everything that one run has recorded, read once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from elmlda import paper
from elmlda.arrays import IntArray
from elmlda.datasets import Dataset, load_dataset
from elmlda.datasets.catalogue import MNIST_SHA256
from elmlda.errors import ElmldaError
from elmlda.experiments import ensemble, sweep, timing
from elmlda.experiments.ensemble import EnsembleRecord, MistakeRecord
from elmlda.experiments.sweep import SweepRecord
from elmlda.experiments.timing import TimingRecord
from elmlda.store import RecordFile, read_manifest, unique


@dataclass(frozen=True)
class RunRecords:
    """A run's manifest and records; lists are empty where an experiment has not been run."""

    folder: Path
    manifest: Mapping[str, Any]
    sweep: list[SweepRecord]
    ensemble: list[EnsembleRecord]
    mistakes: list[MistakeRecord]
    timing: list[TimingRecord]

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
    def is_papers_ensemble(self) -> bool:
        """Whether the ensemble's networks have the hidden units of Fig. 2's."""
        n_hidden = self.planned("ensemble").get("n_hidden")
        return self.is_papers_data and n_hidden == paper.LARGEST_FANOUT * paper.N_INPUTS

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
    def dataset(self) -> Dataset | None:
        """The data, if they are the catalogue's; a folder's may have changed, or gone."""
        try:
            dataset = load_dataset(self.settings.get("dataset"))
        except ElmldaError:
            return None
        return dataset if dataset.checksums == self.settings.get("sha256") else None


def read_run(folder: Path) -> RunRecords:
    """Read a run's folder; a run without any record is an error."""
    manifest = read_manifest(folder)
    if manifest is None:
        raise ElmldaError(f"{folder}: no manifest.json, so no run of elmlda's. Name a run's folder.")
    records = RunRecords(
        folder,
        manifest,
        _read(folder / sweep.FILE, SweepRecord),
        _read(folder / ensemble.FILE, EnsembleRecord),
        _read(folder / ensemble.MISTAKES_FILE, MistakeRecord),
        _read(folder / timing.FILE, TimingRecord),
    )
    if not (records.sweep or records.ensemble or records.timing):
        raise ElmldaError(f"{folder}: no records yet. Run elmlda sweep --out {folder} first.")
    return records


def _read(path: Path, record_type: type[Any]) -> list[Any]:
    """Records in order; a doubled one is an error, as it would count twice."""
    records = unique(RecordFile(path, record_type).read(), lambda record: record.key, path)
    return [records[key] for key in sorted(records)]


def count_confusion(mistakes: list[MistakeRecord], labels: IntArray, n_classes: int) -> IntArray:
    """How often each class (a row) was taken for each: n_classes × n_classes."""
    confusion = np.diag(np.bincount(labels, minlength=n_classes))
    for mistake in mistakes:
        confusion[mistake.label, mistake.label] -= 1
        confusion[mistake.label, mistake.chosen] += 1
    return confusion
