"""A run's folder as DataFrames: manifest.json, the CSV files, and what was kept of its networks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from elmlda.core import IntArray
from elmlda.datasets.catalogue import MNIST_SHA256
from elmlda.errors import LONGEST_NAME, ElmldaError, printable
from elmlda.files import NOT_ARRAYS
from elmlda.runs.folder import MANIFEST, TABLES, read_manifest, read_rows
from elmlda.runs.kept import KEPT, list_kept, read_kept

NOTES = "NOTES.md"
KEYS = {
    "sweep": ["repeat", "fold", "n_hidden", "rule", "ridge"],
    "ensemble": ["repeat", "size"],
    "draws": ["size", "left_out"],
    "timing": ["n_hidden", "pair", "position", "method"],
}
"""What rows are sorted by, and what no two rows have in common."""
METHODS = {"pi": "PI-ELM", "pi_constant": "PI-ELM with a constant unit", "lda": "LDA-ELM"}
"""Methods in the order of kept wrong answers -> their names for display."""
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
        return digests == set(MNIST_SHA256.values()) and not held_out

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
        path = self.folder / KEPT / "test.npz"
        if not path.is_file():
            return None
        try:
            with np.load(path, allow_pickle=False) as test:
                return Kept(self.folder, test["labels"], tuple(map(str, test["classes"])))
        except (OSError, KeyError, *NOT_ARRAYS) as error:
            raise ElmldaError(f"{path}: can't be read ({str(error)[:200]}).") from error


@dataclass(frozen=True)
class Kept:
    """Answers to the test samples, read from the files when they are asked for."""

    folder: Path
    labels: IntArray
    classes: tuple[str, ...]

    def collect(self, kind: str) -> list[tuple[IntArray, NDArray[Any]]]:
        """Labels and `posteriors` or `tempered`, n_test × n_classes, of the networks that have them."""
        own = self._read("labels")  # of the folds that networks were tested on
        return [(own.get(number, self.labels), found) for number, found in self._read(kind).items()]

    def wrong(self, method: str, n_hidden: int) -> pd.DataFrame:
        """Whether each test sample is answered wrongly: networks × n_test of 0 and 1."""
        place, n_test = list(METHODS).index(method), len(self.labels)
        bits, sizes = self._answers
        found = {
            network: np.unpackbits(bits[network][place, each.tolist().index(n_hidden)], count=n_test)
            for network, each in sizes.items()
            if n_hidden in each
        }
        answers = np.array(list(found.values()), np.int8).reshape(len(found), n_test)
        return pd.DataFrame(answers, list(found))

    @cached_property
    def _answers(self) -> tuple[dict[int, NDArray[np.uint8]], dict[int, IntArray]]:
        """Network -> its wrong answers, methods × sizes × bytes; its sizes."""
        return self._read("wrong"), self._read("sizes")

    def _read(self, name: str) -> dict[int, NDArray[Any]]:
        return read_kept(self.folder, name, list_kept(self.folder))


def read_run(folder: Path) -> Run:
    """Read a run's folder, with rows or without."""
    manifest = read_manifest(folder)
    if manifest is None:
        raise ElmldaError(f"{folder}: no {MANIFEST}, so no run of elmlda's. Name a run's folder.")
    parts = [*manifest["experiments"].values(), *manifest["commands"], *manifest["machines"]]
    if not all(isinstance(part, dict) for part in parts):
        raise ElmldaError(f"{folder / MANIFEST}: not a manifest that elmlda wrote. Restore it.")
    return Run(folder, manifest, *(_read_table(folder, name) for name in TABLES))


def read_notes(folder: Path) -> str:
    """What people have written about a folder's runs, in Markdown."""
    path = folder / NOTES
    try:
        return path.read_text("utf-8") if path.is_file() else ""
    except (OSError, UnicodeError) as error:
        raise ElmldaError(f"{path}: can't be read ({str(error)[:200]}).") from error


def list_runs(folder: Path) -> list[Path]:
    """Subfolders that are runs."""
    return sorted(path.parent for path in folder.glob(f"*/{MANIFEST}"))


def list_files(runs: Iterable[Run], folder: Path) -> list[str]:
    """The runs' files that a report is made from, as seen from a folder."""
    paths = [run.folder / f for run in runs for f in (MANIFEST, *(f"{name}.csv" for name in TABLES))]
    return [path.relative_to(folder).as_posix() for path in paths if path.is_file()]


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


def _read_table(folder: Path, name: str) -> pd.DataFrame:
    """A CSV file's whole lines, sorted by their keys; without the file no rows."""
    path, keys = folder / f"{name}.csv", KEYS[name]
    table = read_rows(path)
    if name == "sweep":
        rules, ridges = table["rule"].astype(str), table["ridge"].map("{:g}".format)
        ridges = ridges.where(rules == "fixed", "by " + rules.str.upper()).replace("0", "none")
        table["ridge_label"] = ridges  # rows with the same words belong together
        keys = [*keys[:-2], "ridge_label"]
    if (twice := table.duplicated(keys)).any():
        line = int(np.flatnonzero(twice)[0]) + 2
        raise ElmldaError(f"{path}, line {line}: a second row of the same network. Remove one of them.")
    return table.sort_values(KEYS[name], kind="stable", na_position="first", ignore_index=True)
