"""Samples to be classified, from whatever file they are in: IDX, NPZ, CSV or an image."""

from __future__ import annotations

import math
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elmlda.datasets import read_idx
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

    separator = "\t" if path.suffix.lower() == ".tsv" else ","
    try:
        header = None if _starts_with_numbers(path, separator) else 0
        table = pd.read_csv(path, header=header, sep=separator)
    except OSError as error:
        raise ElmldaError(f"{path}: cannot be read: {error.strerror or error}.") from error
    except (ValueError, pd.errors.ParserError) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise ElmldaError(f"{path}: not a table: {reason}.") from error
    table = _drop_columns(path, table, reading.drop)
    names = reading.feature_names
    if names and header is not None:
        missing = [name for name in names if name not in table.columns]
        if missing:
            raise ElmldaError(f"{path}: no column '{missing[0]}', which the model was trained with.")
        table = table[list(names)]
    if table.empty:
        raise ElmldaError(f"{path}: a table without samples.")
    if table.shape[1] != reading.n_inputs:
        raise ElmldaError(
            f"{path}: {table.shape[1]:,} columns, the model takes {reading.n_inputs:,}. "
            "Use --drop for columns that are no inputs, such as labels."
        )
    words = [name for name, kind in table.dtypes.items() if kind.kind not in "biuf"]
    if words:
        name = words[0] if header is not None else int(str(words[0])) + 1
        raise ElmldaError(f"{path}: column {name} has words, expected numbers.")
    return np.asarray(table)


def _starts_with_numbers(path: Path, separator: str) -> bool:
    with path.open(encoding="utf-8-sig") as file:
        first = file.readline().split(separator)
    try:
        [float(word or 0) for word in map(str.strip, first)]
    except ValueError:
        return False
    return True


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
