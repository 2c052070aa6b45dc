"""Samples to be classified, from whatever file they are in: IDX, NPZ, CSV or an image."""

from __future__ import annotations

import csv
import math
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elmlda.datasets import read_idx
from elmlda.datasets.csv_file import DELIMITERS
from elmlda.datasets.idx import format_shape
from elmlda.errors import ElmldaError

IMAGES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp")
TABLES = (".csv", ".tsv", ".txt")
ARRAYS = (".npz", ".npy")


@dataclass(frozen=True)
class Reading:
    """What a model expects of samples, and what the user says of the files."""

    n_inputs: int
    image_shape: tuple[int, int] | None = None
    feature_names: tuple[str, ...] | None = None
    drop: tuple[str, ...] = ()
    """Columns of a table that are no inputs, by name or number from 1."""
    key: str | None = None
    """The array of an NPZ file."""
    as_is: bool = False
    """Images are in the data's form already."""


def read_samples(path: Path, reading: Reading) -> NDArray[Any]:
    """Read the samples in a file, by what its name ends with: n_samples × n_inputs.

    Raises
    ------
    ElmldaError
        If the file cannot be read, or its samples are not like those that the model was trained on.
    """
    if path.is_dir():
        raise ElmldaError(f"{path}: a folder, expected a file of samples.")
    if not path.exists():
        raise ElmldaError(f"{path}: no such file.")
    suffix = path.suffix.lower()
    if suffix in IMAGES:
        values = _read_image(path, reading)
    elif suffix in TABLES:
        values = _read_table(path, reading)
    elif suffix in ARRAYS:
        values = _read_array(path, reading.key)
    else:
        values = _read_idx(path)
    return _as_samples(path, values, reading)


def _as_samples(path: Path, values: NDArray[Any], reading: Reading) -> NDArray[Any]:
    if values.dtype.kind not in "buif":
        raise ElmldaError(f"{path}: values of type {values.dtype}, expected numbers.")
    shape: tuple[int, ...] = values.shape
    if shape in (reading.image_shape, (reading.n_inputs,)):
        shape = (1, *shape)
    if len(shape) < 2 or values.size == 0 or math.prod(shape[1:]) != reading.n_inputs:
        expected = f"{reading.n_inputs:,} inputs"
        if reading.image_shape:
            expected += f" ({format_shape(reading.image_shape)})"
        raise ElmldaError(
            f"{path}: {format_shape(values.shape)} values, the model takes samples of {expected}."
        )
    samples = values.reshape(shape[0], -1)
    bad = np.flatnonzero(~np.isfinite(samples).all(axis=1))
    if len(bad):
        raise ElmldaError(f"{path}: sample {bad[0]} has values that are missing, NaN or infinite.")
    return samples


def _read_idx(path: Path) -> NDArray[Any]:
    try:
        return read_idx(path)
    except ElmldaError as error:
        if "not an IDX file" not in str(error):
            raise
        known = ", ".join(TABLES + ARRAYS + IMAGES)
        raise ElmldaError(
            f"{path}: not an IDX file, nor does its name end with one of {known}."
        ) from error


def _read_image(path: Path, reading: Reading) -> NDArray[Any]:
    from elmlda.images import read_image

    if reading.image_shape is None:
        raise ElmldaError(
            f"{path}: the model does not know what images its inputs are. "
            "Models that elmlda train has made from images do."
        )
    return read_image(path, reading.image_shape, reading.as_is)


def _read_array(path: Path, key: str | None) -> NDArray[Any]:
    try:
        with path.open("rb") as file:
            stored = np.load(file, allow_pickle=False)
            if isinstance(stored, np.ndarray):
                return stored
            with stored:
                return np.asarray(stored[_choose_key(path, list(stored), key)])
    except OSError as error:
        raise ElmldaError(f"{path}: cannot be read: {error.strerror or error}.") from error
    except (ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise ElmldaError(f"{path}: not a sound {path.suffix} file: {error}.") from error


def _choose_key(path: Path, keys: Sequence[str], key: str | None) -> str:
    if key is None and len(keys) == 1:
        return keys[0]
    if key is None or key not in keys:
        found = f"no array '{key}'" if key else f"{len(keys)} arrays"
        raise ElmldaError(f"{path}: {found}. Choose one with --key: {', '.join(keys) or 'none'}.")
    return key


def _read_table(path: Path, reading: Reading) -> NDArray[Any]:
    import pandas as pd

    try:
        separator, names = _read_header(path)
        sources = _find_sources(path, reading.feature_names or (), names) if names else {}
        table = pd.read_csv(
            path,
            header=0 if names else None,
            sep=separator,
            skipinitialspace=True,
            dtype={column: str for column, value in sources.values() if value is not None},
        )
    except OSError as error:
        raise ElmldaError(f"{path}: cannot be read: {error.strerror or error}.") from error
    except (ValueError, pd.errors.ParserError) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise ElmldaError(f"{path}: not a table: {reason}.") from error
    table = _drop_columns(path, table, reading.drop)
    if table.empty:
        raise ElmldaError(f"{path}: a table without samples.")
    if sources:
        table = _take_features(path, table, sources)
    if table.shape[1] != reading.n_inputs:
        raise ElmldaError(
            f"{path}: {table.shape[1]:,} columns, the model takes {reading.n_inputs:,}. "
            "Use --drop for columns that are no inputs, such as labels."
        )
    words = [name for name, kind in table.dtypes.items() if kind.kind not in "biuf"]
    if words:
        name = words[0] if names else int(str(words[0])) + 1
        raise ElmldaError(f"{path}: column {name} has words, expected numbers.")
    return np.asarray(table)


def _read_header(path: Path) -> tuple[str, list[str]]:
    """The character between columns, and their names, none if the first line has numbers."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        first = file.readline()
    separator = max(DELIMITERS, key=first.count)
    names = [name.strip() for name in next(csv.reader([first], delimiter=separator), [])]
    try:
        [float(name or 0) for name in names]
    except ValueError:
        return separator, names
    return separator, []


def _find_sources(
    path: Path, features: Sequence[str], columns: Sequence[str]
) -> dict[str, tuple[str, str | None]]:
    """Each feature's column, and of a category such as `sex=F` its value, as `load_csv` names them."""
    sources: dict[str, tuple[str, str | None]] = {}
    for feature in features:
        cuts = [i for i, letter in enumerate(feature) if letter == "="]
        parts = [(feature[:i], feature[i + 1 :]) for i in cuts]
        category = next((part for part in parts if part[0] in columns), None)
        if feature not in columns and category is None:
            raise ElmldaError(f"{path}: no column '{feature}', which the model was trained with.")
        sources[feature] = (feature, None) if category is None else category
    return sources


def _take_features(path: Path, table: Any, sources: Mapping[str, tuple[str, str | None]]) -> Any:
    known: dict[str, set[str]] = {}
    for column, value in sources.values():
        if value is not None:
            known.setdefault(column, set()).add(value)
    for column, values in known.items():
        table[column] = table[column].str.strip()
        strange = table.index[~table[column].isin(values)]
        if len(strange):
            found = table[column][strange[0]]
            raise ElmldaError(
                f"{path}: '{found}' in column '{column}' of sample {strange[0]}, which no training "
                f"sample had. Known: {', '.join(sorted(values))}."
            )
    return table.assign(
        **{
            feature: (table[column] == value).astype(float)
            for feature, (column, value) in sources.items()
            if value is not None
        }
    )[list(sources)]


def _drop_columns(path: Path, table: Any, drop: Sequence[str]) -> Any:
    columns = list(table.columns)
    dropped = []
    for name in drop:
        if name in columns:
            dropped.append(name)
        elif name.isdecimal() and 1 <= int(name) <= len(columns):
            dropped.append(columns[int(name) - 1])
        else:
            raise ElmldaError(f"{path}: no column '{name}' to drop among {len(columns):,}.")
    return table.drop(columns=dropped)
