"""Samples from the user's own CSV file: numbers, categories, and one column for the class."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from elmlda.core.arrays import FloatArray, IntArray
from elmlda.datasets.content import require_memory
from elmlda.datasets.csv_file import SUFFIXES, CsvFile
from elmlda.datasets.dataset import Split, Table
from elmlda.datasets.labels import index_classes
from elmlda.datasets.words import as_text, join_words, quote_name
from elmlda.errors import ElmldaError


def load_csv(path: Path, label: str | None, drop: Sequence[str] = ()) -> Table:
    """Read a CSV file with column names in its first line.

    Parameters
    ----------
    path : Path
        Text in UTF-8, raw or gzip, with commas, semicolons or tabs.
    label : str
        The column that has the class, of any kind: numbers or strings.
    drop : sequence of str
        Columns that are no inputs, by name or by number from 1.

    Returns
    -------
    Table
        Columns of numbers are inputs. A column with anything else becomes an input for each of its
        different values, named as in `sex=F`: 1 where the sample has that value, else 0.

    Raises
    ------
    ElmldaError
        If it is no such file, a value is missing or not finite, or there is a single class.
    """
    file = CsvFile.open(path)
    label_column, kept = file.find_label(label), file.keep_columns(drop)
    if label_column not in kept:
        file.fail(f"'{label}' has the class and can't be dropped.")
    texts, numbers = file.read_columns(kept, {label_column})
    if not numbers and len(texts) == 1:
        file.fail(f"no column but '{label}', expected inputs beside it.")
    classes, labels = index_classes(texts.pop(label_column))
    if len(classes) < 2:
        file.fail(f"'{label}' is {join_words(classes)} in every line, expected two or more.")
    categories = {column: file.find_categories(column, values) for column, values in texts.items()}
    features = [
        Feature(column, value)
        for column in kept
        if column != label_column
        for value in (categories[column][0] if column in categories else (None,))
    ]
    names = [feature.name_in(file.names) for feature in features]
    find_features(path, names, file.names)  # refuses names that would be ambiguous in a model
    what = f" for {len(names):,} inputs of {len(labels):,} samples, one for each category"
    require_memory(path, 8 * len(labels) * len(names), what)
    inputs = _fill_inputs(features, numbers, categories, len(labels))
    file_name = as_text(path.name).removesuffix(".gz")
    return Table(
        name=file_name[:-4] if file_name.endswith(SUFFIXES) else file_name,
        samples=Split(inputs, labels),
        classes=classes,
        is_standardised=True,
        checksums={file_name: file.sha256},
        feature_names=tuple(names),
        preparation={"label": str(label), **({"drop": ", ".join(drop)} if drop else {})},
    )


class Feature(NamedTuple):
    """Where an input comes from: a column of numbers, or one value of a column of categories."""

    column: int
    value: str | None

    def name_in(self, columns: Sequence[str]) -> str:
        """The input's name, `sex=F` for a category."""
        return columns[self.column] if self.value is None else f"{columns[self.column]}={self.value}"


def _fill_inputs(
    features: Sequence[Feature],
    numbers: dict[int, FloatArray],
    categories: dict[int, tuple[tuple[str, ...], IntArray]],
    n_samples: int,
) -> FloatArray:
    """The inputs of all samples; each column of numbers is freed once it is copied."""
    inputs = np.empty((n_samples, len(features)))
    for i, (column, value) in enumerate(features):
        if value is None:
            inputs[:, i] = numbers.pop(column)
        else:
            known, indices = categories[column]
            inputs[:, i] = indices == known.index(value)
    return inputs


def find_features(path: Path, names: Sequence[str], columns: Sequence[str]) -> list[Feature]:
    """Where the inputs of these names come from in a file with these columns.

    Raises
    ------
    ElmldaError
        If a name has no column, or could mean two inputs: `a=x` a column, and a value of the column
        `a`.
    """
    place = {name: i for i, name in enumerate(columns)}
    found = []
    for name in names:
        cuts = [i for i, letter in enumerate(name) if letter == "="]
        parts = [(name, None), *((name[:i], name[i + 1 :]) for i in cuts)]
        possible = [Feature(place[column], value) for column, value in parts if column in place]
        if not possible:
            raise ElmldaError(
                f"{path}: no column {quote_name(name)}, which the model was trained with."
            )
        if len(possible) > 1:
            values = ("" if value is None else f"{quote_name(value)} in " for _, value in possible)
            meanings = " or ".join(
                f"{value}the column {quote_name(columns[i])}"
                for value, (i, _) in zip(values, possible, strict=True)
            )
            raise ElmldaError(
                f"{path}: the input {quote_name(name)} could be {meanings}. Rename a column."
            )
        found += possible
    return found
