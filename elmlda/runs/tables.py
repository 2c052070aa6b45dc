"""The tables of a run's folder: each table and each column is declared here, once.

Writing refuses a column that its table does not have. Reading, sorting, the check for duplicate rows,
the terminal's summary and the list of columns in README.md follow from the declarations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import pandas as pd

from elmlda import paper

Key: TypeAlias = tuple[Any, ...]
"""Identifies a row of a table."""
FIXED = "fixed"
"""Rule of a ridge that was given as a number."""


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    name: str
    kind: type
    """int, float or str."""
    unit: str
    meaning: str
    title: str = ""
    """Title in the terminal's summary, which shows the column's mean; empty if it is not shown."""
    paper: Mapping[int, float] | None = None
    """The paper's error rates in per cent by the value of the table's first group column."""
    improves: tuple[str, Mapping[int, float]] | None = None
    """Column over which the summary shows the improvement in per cent, and the paper's improvements."""


@dataclass(frozen=True)
class Table:
    """A CSV file of a run's folder."""

    name: str
    meaning: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    """Columns that identify a row; reports sort by them."""
    groups: tuple[str, ...]
    """Columns by which the terminal's summary groups rows."""
    counted: str
    """Title of the number of rows in a group."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    def key_of(self, row: Mapping[Any, Any]) -> Key:
        """Return the key of a row; numbers are rounded as in the file, missing values are None.

        A ridge identifies a row only if it is fixed.
        """
        values = {name: row.get(name) for name in self.key}
        if values.get("rule", FIXED) != FIXED:
            values["ridge"] = None
        return tuple(
            (None if value != value else float(format_cell(value)))
            if isinstance(value, float)
            else value
            for value in values.values()
        )

    def keys(self, rows: pd.DataFrame) -> list[Key]:
        """Return the key of every row."""
        return [self.key_of(row) for row in rows.to_dict("records")]


def format_cell(value: Any) -> Any:
    """Format fractions with six digits; missing values are empty."""
    if not isinstance(value, float):
        return value
    return "" if value != value else f"{value:.6g}"


def _posterior_columns(prefix: str, what: str) -> tuple[Column, ...]:
    return (
        Column(f"{prefix}log_loss", float, "nats", f"log-loss of {what}"),
        Column(f"{prefix}brier", float, "0 to 2", f"Brier score of {what}"),
        Column(f"{prefix}calibration_error", float, "0 to 1", f"expected calibration error of {what}"),
    )


PI, LDA = paper.PI_ERROR_PERCENT, paper.LDA_ERROR_PERCENT
COMBINED, IMPROVEMENT = paper.ENSEMBLE_ERROR_PERCENT, ("pi_errors", paper.IMPROVEMENT_PERCENT)
FANOUT = Column("fanout", float, "", "hidden units for each input", "fan-out")
N_HIDDEN = Column("n_hidden", int, "", "number of hidden units", "hidden")
N_TEST = Column("n_test", int, "samples", "number of test samples")
PRECISION = Column("precision", str, "", "precision that was used: mixed or double")
MACHINE = Column("machine", int, "", "number of the machine in the manifest's list of machines")

SWEEP = Table(
    "sweep",
    "a row for each network, hidden size and ridge",
    (
        Column("repeat", int, "", "number of the repeat, from 0"),
        Column("fold", int, "", "number of the fold, from 0; empty without cross-validation"),
        N_HIDDEN,
        FANOUT,
        Column("rule", str, "", "how the ridge was chosen: fixed, or loo", "rule"),
        Column("ridge", float, "", "added to the Gram matrix's diagonal", "ridge"),
        Column("pi_errors", int, "samples", "test errors of PI-ELM, Eq. (5)", "PI-ELM", PI),
        Column("pi_constant_errors", int, "samples", "test errors of PI-ELM with a constant unit"),
        Column("lda_errors", int, "samples", "test errors of LDA-ELM", "LDA-ELM", LDA, IMPROVEMENT),
        N_TEST,
        *_posterior_columns("", "LDA-ELM's posteriors, Eq. (14)"),
        Column("temperature", float, "", "factor of LDA's scores in tempered posteriors"),
        *_posterior_columns("tempered_", "the tempered posteriors"),
        Column("seconds", float, "s", "elapsed time of the whole network, the same in all its rows"),
        PRECISION,
        MACHINE,
    ),
    key=("repeat", "fold", "n_hidden", "rule", "ridge"),
    groups=("fanout", "n_hidden", "rule", "ridge"),
    counted="networks",
)
BASELINES = Table(
    "baselines",
    "a row for each simple method, on the sweep's data",
    (
        Column("fold", int, "", "number of the fold, from 0; empty without cross-validation"),
        Column("method", str, "", "majority, the largest class; or logistic_regression", "method"),
        Column("errors", int, "samples", "test errors", "errors"),
        N_TEST,
    ),
    key=("fold", "method"),
    groups=("method",),
    counted="folds",
)
ENSEMBLE = Table(
    "ensemble",
    "a row for each repeat and number of combined networks",
    (
        Column("repeat", int, "", "number of the repeat, from 0"),
        Column("size", int, "networks", "number of combined networks", "networks"),
        Column("errors", int, "samples", "errors of the mean posteriors", "LDA-ELM", COMBINED),
        N_TEST,
        *_posterior_columns("", "the mean posteriors"),
        Column("tempered_errors", int, "samples", "errors of the mean tempered posteriors"),
        *_posterior_columns("tempered_", "the mean tempered posteriors"),
        MACHINE,
    ),
    key=("repeat", "size"),
    groups=("size",),
    counted="ensembles",
)
DRAWS = Table(
    "draws",
    "mean errors of ensembles of random subsets of all kept networks",
    (
        Column("size", int, "networks", "number of combined networks"),
        Column("left_out", int, "", "-1: all subsets; from 0: without this network; below: a batch"),
        Column("draws", int, "", "number of subsets"),
        Column("errors", float, "samples", "mean test errors"),
    ),
    key=("size", "left_out"),
    groups=("size",),
    counted="rows",
)
TIMING = Table(
    "timing",
    "a row for each time that a method was timed",
    (
        Column("pair", int, "", "number of the pair of PI-ELM and LDA-ELM, from 0"),
        Column("position", int, "", "place in the network's order, from 0; -1: both in one pass"),
        FANOUT,
        N_HIDDEN,
        Column("method", str, "", "pi, lda, or both in one pass", "method"),
        Column("cpu_seconds", float, "s", "processor time, training and testing", "processor time, s"),
        Column("seconds", float, "s", "elapsed time, training and testing", "elapsed, s"),
        Column("test_seconds", float, "s", "processor time of the test samples"),
        Column("hidden_seconds", float, "s", "processor time of the hidden outputs"),
        PRECISION,
        MACHINE,
    ),
    key=("n_hidden", "pair", "method"),
    groups=("fanout", "n_hidden", "method"),
    counted="times",
)
TABLES = {table.name: table for table in (SWEEP, BASELINES, ENSEMBLE, DRAWS, TIMING)}
