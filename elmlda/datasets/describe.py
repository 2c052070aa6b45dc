"""Description of a table, column by column, even if the table cannot be loaded as it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from elmlda.datasets.tables import NO_INPUT, NO_LABEL, Table, TableSource, read_table
from elmlda.errors import LONGEST_NAME, ElmldaError, join_words, printable


@dataclass(frozen=True, eq=False)
class TableDescription:
    """The columns of a table, and how many samples have missing values."""

    columns: pd.DataFrame
    """A row for each column, by name, with

    - `kind`: numbers, words, empty, class, left out or unclear
    - `missing`: number of missing values
    - `first_missing`: line, or index of a DataFrame, of the first missing value
    - `values`: range of the numbers, or the first and the last words
    - `problem`: ElmldaError that says why a column is unclear, or None
    """
    n_samples: int
    n_incomplete: int
    """Samples with a missing value in an input or without a class."""
    has_names: bool
    """Whether the columns have names, or numbers from 1."""


def describe_table(
    source: TableSource, *, label: object = None, drop: Any = (), header: bool | None = None
) -> TableDescription:
    """Describe a CSV file or a DataFrame; the parameters are those of `load_dataset`."""
    whole = read_table(source, header)
    target = None if label is None else whole.find(label)
    inputs = whole.leave_out(drop).cells.columns
    is_incomplete = np.zeros(len(whole.cells), bool)
    rows = dict[str, dict[str, Any]]()
    for name in map(str, whole.cells):
        cells = whole.cells[name]
        is_missing = cells.str.lower().isin(NO_LABEL if name == target else NO_INPUT)
        first = whole.rows[is_missing][0] if is_missing.any() else ""
        row = {"kind": "left out", "missing": is_missing.sum(), "first_missing": first}
        row |= {"values": "", "problem": None}
        if name == target:
            row["kind"] = "class"
            if words := sorted(cells[~is_missing].unique()):
                row["values"] = printable(join_words(words), LONGEST_NAME)
        elif name in inputs:
            row |= _describe_input(whole, name)
        if row["kind"] != "left out":
            is_incomplete |= is_missing
        rows[name] = row
    columns = pd.DataFrame.from_dict(rows, orient="index")
    return TableDescription(columns, len(whole.cells), int(is_incomplete.sum()), whole.has_names)


def _describe_input(table: Table, name: str) -> dict[str, Any]:
    """Return the kind of a column, its range or words, and what keeps it from being an input."""
    try:
        inputs = table.encode(name)
    except ElmldaError as error:
        return {"kind": "unclear", "problem": error}
    if [*inputs] != [name]:
        words = [str(feature).removeprefix(f"{name}=") for feature in inputs]
        return {"kind": "words", "values": printable(join_words(words), LONGEST_NAME)}
    if inputs[name].isna().all():
        return {"kind": "empty"}
    return {"kind": "numbers", "values": f"{inputs[name].min():g} to {inputs[name].max():g}"}
