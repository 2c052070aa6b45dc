"""A run's folder as DataFrames: manifest.json, the CSV files, and what was kept of its networks."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from elmlda.core.arrays import IntArray
from elmlda.errors import ElmldaError
from elmlda.text import LONGEST_NAME, printable

SCHEMA, MANIFEST, NOTES = 4, "manifest.json", "NOTES.md"
TABLES = {
    "sweep": "repeat fold n_hidden fanout rule ridge pi_errors pi_constant_errors lda_errors n_test "
    "log_loss brier calibration_error temperature tempered_log_loss tempered_brier "
    "tempered_calibration_error seconds precision machine",
    "ensemble": "repeat size combine errors n_test log_loss brier calibration_error tempered_errors "
    "tempered_log_loss tempered_brier tempered_calibration_error machine",
    "draws": "size left_out draws errors",
    "timing": "pair position fanout n_hidden method cpu_seconds seconds test_seconds precision machine",
}
"""Name of a CSV file -> its columns."""
KEYS = {
    "sweep": ["repeat", "fold", "n_hidden", "rule", "ridge"],
    "ensemble": ["repeat", "size", "combine"],
    "draws": ["size", "left_out"],
    "timing": ["n_hidden", "pair", "position", "method"],
}
"""What rows are sorted by, and what no two rows have in common."""
WORDS = {"rule", "combine", "method", "precision"}
METHODS = {"pi": "PI-ELM", "pi_constant": "PI-ELM with a constant unit", "lda": "LDA-ELM"}
"""Methods in the order of kept wrong answers -> their names for display."""
MNIST_SHA256 = {
    "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
}
"""Of the paper's data: its four files."""
DEFAULTS: dict[str, Any] = {
    "seed": 0, "design": "nested", "activation": "tanh", "bias": False, "weight_range": 0.5,
    "input_scale": None, "ridge": 0, "priors": "uniform", "precision": "mixed",
    "input_weights": "uniform", "weight_norm": None, "min_field": None, "preparation": {},
}  # fmt: skip
"""Settings that a manifest need not name."""
ABOUT_DATA = ("dataset", "sha256")
UNSTATED = ("activation", "bias", "input_scale")
"""What the paper does not state."""
NO_MATTER = ("seed", "design", "precision", "ridge")
"""What changes rates by chance alone; and the ridge, which every row has."""


@dataclass(frozen=True)
class Run:
    """A run: how it was made, and its rows."""

    folder: Path
    manifest: Mapping[str, Any]
    sweep: pd.DataFrame
    ensemble: pd.DataFrame
    draws: pd.DataFrame
    timing: pd.DataFrame

    @property
    def name(self) -> str:
        """The data set's name, for display."""
        return printable(self.manifest["run"].get("dataset", "unnamed"), LONGEST_NAME)

    @property
    def settings(self) -> dict[str, Any]:
        """Every setting of its networks, defaults too; not the data."""
        stated = {k: v for k, v in self.manifest["run"].items() if k not in ABOUT_DATA}
        return {**DEFAULTS, **stated}

    @property
    def has_papers_data(self) -> bool:
        """Whether the data are MNIST, tested on its own test part."""
        digests = set((self.manifest["run"].get("sha256") or {}).values())
        held_out = {"validation", "folds"} & self.manifest["experiments"].get("sweep", {}).keys()
        return digests == MNIST_SHA256 and not held_out

    @property
    def departures(self) -> list[str]:
        """Settings of its networks that are not the paper's, but for the ridge, which rows have."""
        return [k for k, v in self.settings.items() if k not in NO_MATTER and v != DEFAULTS.get(k)]

    @property
    def matches_paper(self) -> bool:
        """Whether data, weights and settings are the paper's, so that its numbers can be compared."""
        ridge = self.settings["ridge"]
        has_none = 0 in (ridge if isinstance(ridge, list) else [ridge])
        return self.has_papers_data and not self.departures and has_none

    @property
    def overlap(self) -> float:
        """n_test/n_train of its folds; 0 if it has none."""
        n_folds = self.sweep["fold"].nunique()
        return 1 / (n_folds - 1) if n_folds > 1 else 0.0

    @cached_property
    def primary(self) -> pd.DataFrame:
        """The sweep's rows of one ridge: the paper's 0, or else the smallest, or else a rule's."""
        labels = self.sweep["ridge_label"]
        return self.sweep[labels == labels.iloc[0]] if len(labels) else self.sweep

    @cached_property
    def kept(self) -> Kept | None:
        return _read_kept(self.folder / "kept")


@dataclass(frozen=True)
class Kept:
    """Answers to the test samples: network -> arrays, as the files have them."""

    labels: IntArray
    classes: tuple[str, ...]
    networks: Mapping[int, Mapping[str, NDArray[Any]]]

    def collect(self, kind: str) -> list[NDArray[Any]]:
        """`posteriors` or `tempered`, n_test × n_classes, of the networks that have them."""
        return [found[kind] for _, found in sorted(self.networks.items()) if kind in found]

    def wrong(self, method: str, n_hidden: int) -> list[NDArray[np.uint8]]:
        """Whether each test sample is answered wrongly, n_test of 0 and 1, by each network."""
        place, n_test = list(METHODS).index(method), len(self.labels)
        return [
            np.unpackbits(found["wrong"][place, sizes.index(n_hidden)], count=n_test)
            for _, found in sorted(self.networks.items())
            if "wrong" in found and n_hidden in (sizes := found["sizes"].tolist())
        ]


def read_run(folder: Path) -> Run:
    """Read a run's folder, with rows or without."""
    manifest = _read_manifest(folder / MANIFEST)
    return Run(folder, manifest, *(_read_table(folder, name) for name in TABLES))


def read_notes(folder: Path) -> str:
    """What people have written about a folder's runs, in Markdown."""
    path = folder / NOTES
    return _read_text(path) if path.is_file() else ""


def list_runs(folder: Path) -> list[Path]:
    """Subfolders that are runs."""
    return sorted(path.parent for path in folder.glob(f"*/{MANIFEST}"))


def find_folders(top: Path) -> list[Path]:
    """What there is to report below a folder: runs, and parents of runs that belong together."""
    runs = {path.parent for path in top.rglob(MANIFEST)}
    outer = {run for run in runs if not runs & set(run.parents)}
    return sorted({run if run.parent == top or run == top else run.parent for run in outer})


def differing(runs: Mapping[str, Run]) -> list[str]:
    """Names of the settings that are not the same in all runs."""
    every = [run.settings for run in runs.values()]
    names = {name for settings in every for name in settings}
    return sorted(name for name in names if any(s.get(name) != every[0].get(name) for s in every))


def split(rows: pd.DataFrame, column: str) -> list[tuple[Any, pd.DataFrame]]:
    """A column's values, numbers in order and words as they come, each with its rows."""
    values = dict.fromkeys(rows[column])
    ordered = sorted(values) if pd.api.types.is_numeric_dtype(rows[column]) else values
    return [(value, rows[rows[column] == value]) for value in ordered]


def percents(rows: pd.DataFrame, columns: str = "fanout") -> pd.DataFrame:
    """Error rates in per cent: a row for each repeat and fold, columns (method, fan-out)."""
    index = pd.MultiIndex.from_frame(rows[["repeat", "fold"]].fillna(-1))
    wide = rows[[f"{m}_errors" for m in METHODS]].set_axis(list(METHODS), axis=1)
    rates = 100 * wide.div(rows["n_test"], axis=0)
    rates.index = index
    return pd.DataFrame(rates.set_index(rows[columns].to_numpy(), append=True).unstack(-1))


def _read_manifest(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise ElmldaError(f"{path.parent}: no {MANIFEST}, so no run of elmlda's. Name a run's folder.")
    try:
        manifest = json.loads(_read_text(path))
        if manifest["schema"] != SCHEMA:
            raise ElmldaError(f"{path}: schema {manifest['schema']!r:.40}, expected {SCHEMA}.")
        parts = [manifest["run"], manifest["experiments"], *manifest["experiments"].values()]
        parts += [*manifest["commands"], *manifest["machines"]]
        if not all(isinstance(part, dict) for part in parts):
            raise TypeError("its sections are not what elmlda writes")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        reason = f"{type(error).__name__}: {str(error)[:200]}"
        raise ElmldaError(f"{path}: not a manifest that elmlda wrote ({reason}).") from error
    return dict(manifest)


def _read_table(folder: Path, name: str) -> pd.DataFrame:
    """A CSV file's whole lines, sorted by their keys; without the file no rows."""
    path, columns = folder / f"{name}.csv", TABLES[name].split()
    if not path.is_file():
        table = pd.DataFrame({column: pd.Series(dtype=float) for column in columns})
    else:
        text = _read_text(path)
        table = _parse(path, text[: text.rfind("\n") + 1], columns)
    keys = KEYS[name]
    if name == "sweep":
        rules, ridges = table["rule"].astype(str), table["ridge"].map("{:g}".format)
        ridges = ridges.where(rules == "fixed", "by " + rules.str.upper()).replace("0", "none")
        table["ridge_label"] = ridges  # rows with the same words belong together
        keys = [*keys[:-2], "ridge_label"]
    if (twice := table.duplicated(keys)).any():
        line = int(np.flatnonzero(twice)[0]) + 2
        raise ElmldaError(f"{path}, line {line}: a second row of the same network. Remove one of them.")
    return table.sort_values(KEYS[name], kind="stable", na_position="first", ignore_index=True)


def _parse(path: Path, text: str, columns: list[str]) -> pd.DataFrame:
    try:
        table = pd.read_csv(io.StringIO(text), dtype=str)
        if missing := [column for column in columns if column not in table]:
            raise ValueError(f"columns {', '.join(missing)} are missing")
        for column in set(columns) - WORDS:
            table[column] = pd.to_numeric(table[column])
    except ValueError as error:
        raise ElmldaError(f"{path}: not a table that elmlda wrote ({str(error)[:200]}).") from error
    return table


def _read_kept(folder: Path) -> Kept | None:
    if not (folder / "test.npz").is_file():
        return None
    test = _read_arrays(folder / "test.npz")
    networks: dict[int, dict[str, NDArray[Any]]] = {}
    for path in sorted(folder.glob("[0-9]*.npz")):
        for name, array in _read_arrays(path).items():
            if match := re.fullmatch(r"([a-z]+)-([0-9]+)", name):
                networks.setdefault(int(match[2]), {})[match[1]] = array
    return Kept(test["labels"], tuple(map(str, test["classes"])), networks)


def _read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    with _explain(path), np.load(path, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def _read_text(path: Path) -> str:
    with _explain(path):
        return path.read_text("utf-8")


@contextmanager
def _explain(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ElmldaError(f"{path}: can't be read ({str(error)[:200]}).") from error
