"""Read a run's folder: manifest, rows as DataFrames, and what was kept of its networks."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from elmlda import paper
from elmlda.core import FloatArray, IntArray
from elmlda.core.evaluate import posteriors
from elmlda.datasets.arrays import NOT_ARRAYS
from elmlda.datasets.catalogue import CATALOGUE, is_mnist
from elmlda.errors import LONGEST_NAME, ElmldaError, printable
from elmlda.experiments.specs import list_options
from elmlda.options import LEAVE_ONE_OUT
from elmlda.runs.folder import KEPT, MANIFEST, read_manifest, read_rows
from elmlda.runs.kept import MEMBERS, list_kept, read_kept
from elmlda.runs.tables import SWEEP, TABLES, Table

NOTES = "NOTES.md"
METHODS = {"pi": "PI-ELM", "pi_constant": "PI-ELM with a constant unit", "lda": "LDA-ELM"}
"""Display names of the methods, in the order in which wrong answers are kept."""
ABOUT_DATA = ("dataset", "sha256")
COMBINED_UNITS = paper.LARGEST_FANOUT * paper.N_INPUTS
"""Hidden units of each network in the paper's ensembles."""


@dataclass(frozen=True)
class Records:
    """The manifest and the rows of one run."""

    folder: Path
    manifest: Mapping[str, Any]
    sweep: pd.DataFrame
    baselines: pd.DataFrame
    ensemble: pd.DataFrame
    draws: pd.DataFrame
    timing: pd.DataFrame

    @property
    def name(self) -> str:
        """The dataset's name for display."""
        if self.is_mnist:
            return "MNIST"
        return printable(self.manifest["run"].get("dataset", "unnamed"), LONGEST_NAME)

    @property
    def checksums(self) -> dict[str, str]:
        """SHA-256 of the data files by name, which identify the dataset."""
        return self.manifest["run"].get("sha256") or {}

    @property
    def settings(self) -> dict[str, Any]:
        """Every setting of its networks, defaults too; not the data."""
        stated = {**self.manifest["experiments"].get("sweep", {}), **self.manifest["run"]}
        return {**default_options(), **{k: v for k, v in stated.items() if k not in ABOUT_DATA}}

    @property
    def files(self) -> list[Path]:
        """The manifest and the tables that exist."""
        paths = [self.folder / name for name in (MANIFEST, *(f"{name}.csv" for name in TABLES))]
        return [path for path in paths if path.is_file()]

    @property
    def is_mnist(self) -> bool:
        """Whether the data are MNIST, whose network sizes are named by their fan-out."""
        return is_mnist(self.checksums)

    @property
    def matches_paper(self) -> bool:
        """Whether data, weights and options are the paper's, so that its numbers can be compared."""
        return matches_paper(self.manifest["run"], self.manifest["experiments"].get("sweep", {}))

    @property
    def n_networks(self) -> int:
        """Number of networks that were tested at all sizes; the networks of all folds count once."""
        counts = self.primary.groupby("n_hidden")["repeat"].nunique()
        return int(counts.min()) if len(counts) else 0

    @property
    def overlap(self) -> float:
        """Ratio of test to training samples per fold, or 0 without cross-validation."""
        n_folds = self.sweep["fold"].nunique()
        return 1 / (n_folds - 1) if n_folds > 1 else 0.0

    @cached_property
    def primary(self) -> pd.DataFrame:
        """The sweep's rows with one ridge: 0 if it has them, else the smallest, else a rule's."""
        labels = self.sweep["ridge_label"]
        return self.sweep[labels == labels.iloc[0]] if len(labels) else self.sweep

    @cached_property
    def classes(self) -> list[str]:
        """Names of the classes, if test posteriors are kept."""
        return [str(name) for name in self._read_test("classes")]

    def _read_test(self, name: str) -> Any:
        """Read the classes' names or the labels of the test samples; nothing if they are not kept."""
        path = self.folder / KEPT / "test.npz"
        if not path.is_file():
            return []
        try:
            # Given a path, numpy would leave the descriptor of a torn file open.
            with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as test:
                return test[name]
        except (OSError, KeyError, *NOT_ARRAYS) as error:
            raise ElmldaError(f"{path}: can't be read ({str(error)[:200]}).") from error

    def read_images(self, labels: IntArray) -> FloatArray | None:
        """Return the test images of a data set of the catalogue; None if the labels are not theirs."""
        for info in CATALOGUE.values():
            if info.image_shape and info.checksums == self.checksums and info.is_here:
                test = info.load().split().test
                if test and np.array_equal(test.labels, labels):
                    return np.asarray(test.inputs.reshape(-1, *info.image_shape))
        return None

    def read_posteriors(self, kind: str) -> list[tuple[IntArray, FloatArray]]:
        """Return (labels, posteriors) of each kept network, for `posteriors` or `tempered` ones.

        Posteriors are n_test × n_classes. In cross-validation a network has the labels of its fold.
        """
        labels = self._read_test("labels")
        part = "" if list_kept(self.folder) else MEMBERS
        networks = list_kept(self.folder, part)
        names = "labels", "loo_temperature", "log_posteriors", kind
        fold_labels, chosen, scores, answers = (
            read_kept(self.folder, name, networks, part) for name in names
        )  # the last are float16 posteriors of earlier versions
        if kind == "tempered":
            given = self.manifest["experiments"].get("sweep", {}).get("temperature", 1)
            taus = chosen if given == LEAVE_ONE_OUT else dict.fromkeys(scores, given)
            scores = {
                k: taus[k] * scores[k] for k in scores if k in taus and taus[k] > 0 and taus[k] != 1
            }
        answers |= {k: posteriors(values.astype(np.float64)) for k, values in scores.items()}
        return [(fold_labels.get(k, labels), values) for k, values in sorted(answers.items())]


def default_options() -> dict[str, Any]:
    """Return the defaults of the options that a manifest need not name."""
    options = {name: declared.default for name, declared in list_options().items()}
    return {**options, "preparation": {}}


def matches_paper(run: Mapping[str, Any], own: Mapping[str, Any]) -> bool:
    """Return whether the paper's numbers can be compared with an experiment's rows.

    Parameters
    ----------
    run, own : what the rows depend on, as in a manifest: shared options, and the experiment's own
    """
    declared, defaults = list_options(), default_options()
    departures = [n for n in run.keys() - {*ABOUT_DATA} if run[n] != defaults.get(n)]
    ridge = run.get("ridge", 0)
    return (
        is_mnist(run.get("sha256") or {})
        and not {"validation", "folds"} & own.keys()
        and all(n in declared and declared[n].stated_by_paper is None for n in departures)
        and 0 in (ridge if isinstance(ridge, list | tuple) else [ridge])
        and own.get("n_hidden", COMBINED_UNITS) == COMBINED_UNITS
    )


def read_records(folder: Path) -> Records:
    """Read a run's folder. Tables that are not there have no rows."""
    manifest = read_manifest(folder)
    if manifest is None:
        raise ElmldaError(f"{folder}: no {MANIFEST}: not a run of elmlda. Name a run's folder.")
    parts = [*manifest["experiments"].values(), *manifest["commands"], *manifest["machines"]]
    if not all(isinstance(part, dict) for part in parts):
        raise ElmldaError(f"{folder / MANIFEST}: not a manifest that elmlda wrote. Restore it.")
    return Records(folder, manifest, *(_read_table(folder, table) for table in TABLES.values()))


def read_subfolders(folder: Path) -> dict[str, Records]:
    """Read every run in the subfolders of a folder, by the subfolder's name."""
    return {
        path.parent.name: read_records(path.parent) for path in sorted(folder.glob(f"*/{MANIFEST}"))
    }


def read_notes(folder: Path) -> str:
    """Read the notes beside a run, in Markdown; empty if there are none."""
    path = folder / NOTES
    try:
        return path.read_text("utf-8") if path.is_file() else ""
    except (OSError, UnicodeError) as error:
        raise ElmldaError(f"{path}: can't be read ({str(error)[:200]}).") from error


def percents(rows: pd.DataFrame, columns: str = "fanout") -> pd.DataFrame:
    """Return error rates in per cent: a row per repeat and fold, columns (method, fan-out)."""
    index = pd.MultiIndex.from_frame(rows[["repeat", "fold"]].fillna(-1))
    wide = rows[[f"{m}_errors" for m in METHODS]].set_axis(list(METHODS), axis=1)
    rates = 100 * wide.div(rows["n_test"], axis=0)
    rates.index = index
    return pd.DataFrame(rates.set_index(rows[columns].to_numpy(), append=True).unstack(-1))


def _read_table(folder: Path, table: Table) -> pd.DataFrame:
    """Read a table's whole rows, sorted by their keys."""
    rows = read_rows(folder, table)
    keys = table.keys(rows)
    if len(set(keys)) < len(keys):
        line = int(np.flatnonzero(pd.Series(keys).duplicated())[0]) + 2
        where = f"{folder / table.name}.csv, line {line}"
        raise ElmldaError(f"{where}: a second row of the same network. Remove one of them.")
    if table is SWEEP:
        rules, ridges = rows["rule"].astype(str), rows["ridge"].map("{:g}".format)
        ridges = ridges.where(rules == "fixed", "by " + rules.str.upper()).replace("0", "none")
        rows["ridge_label"] = ridges  # rows with the same words belong together
    return rows.sort_values([*table.key], kind="stable", na_position="first", ignore_index=True)
