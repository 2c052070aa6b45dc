"""Samples to be classified, from whatever file they are in: IDX, NPZ, CSV or an image."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from elmlda.datasets.content import open_input
from elmlda.datasets.csv_file import CsvFile, Feature, find_features
from elmlda.datasets.idx import read_idx
from elmlda.datasets.npz_file import open_npz, read_npy
from elmlda.errors import ElmldaError
from elmlda.text import format_shape

if TYPE_CHECKING:
    from elmlda.datasets.images import Digit

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
    if is_image(path):
        return _as_samples(path, read_drawing(path, reading).image, reading)
    _require_file(path)
    suffix = path.suffix.lower()
    if suffix in TABLES:
        values = _read_table(path, reading)
    elif suffix in ARRAYS:
        values = _read_array(path, reading.key)
    else:
        values = _read_idx(path)
    return _as_samples(path, values, reading)


def is_image(path: Path) -> bool:
    """Whether a file's name says that it is an image."""
    return path.suffix.lower() in IMAGES


def read_drawing(path: Path, reading: Reading) -> Digit:
    """Read the digit in an image file; ElmldaError if there is none."""
    from elmlda.datasets.images import read_digit

    _require_file(path)
    if reading.image_shape is None:
        raise ElmldaError(
            f"{path}: the model does not know what images its inputs are. "
            "Models that elmlda train has made from images do."
        )
    return read_digit(path, reading.image_shape, reading.as_is)


def _require_file(path: Path) -> None:
    """Refuse what can't be read before anything is made of its name."""
    with open_input(path, "a file of samples"):
        pass


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


def _read_array(path: Path, key: str | None) -> NDArray[Any]:
    if path.suffix.lower() == ".npy":
        return read_npy(path)
    with open_npz(path) as archive:
        keys = archive.keys
        if key is None and len(keys) == 1:
            (key,) = keys
        if key is None or key not in keys:
            names = ", ".join(keys) or "none"
            found = f"no array '{key}', but {names}" if key else f"{len(keys)} arrays: {names}"
            raise ElmldaError(f"{path}: {found}.", "Choose one with {key}.", key=None)
        return archive.read(key).values


def _read_table(path: Path, reading: Reading) -> NDArray[Any]:
    file = CsvFile(path, needs_names=False)
    features = _choose_features(file, reading)
    known: dict[int, set[str]] = {}
    for column, value in features:
        if value is not None:
            known.setdefault(column, set()).add(value)
    texts, numbers = file.read_columns(sorted({column for column, _ in features}), known)
    columns: dict[int, NDArray[Any]] = {**numbers}
    for i, cells in texts.items():
        if Feature(i, None) in features:
            raise ElmldaError(f"{path}: column {file.names[i]} has words, expected numbers.")
        for sample, cell in enumerate(cells):
            if cell not in known[i]:
                raise ElmldaError(
                    f"{path}: '{cell[:40]}' in column '{file.names[i]}' of sample {sample}, which no "
                    f"training sample had. Known: {', '.join(sorted(known[i]))}."
                )
        columns[i] = np.array(cells)
    inputs = [columns[i] if value is None else columns[i] == value for i, value in features]
    return np.column_stack(inputs).astype(np.float64, copy=False)


def _choose_features(file: CsvFile, reading: Reading) -> list[Feature]:
    """The inputs that the model takes: by name if both have names, else all columns in their order."""
    kept = file.keep_columns(reading.drop)
    if file.has_names and reading.feature_names:
        columns = [file.names[i] for i in kept]
        found = find_features(file.path, reading.feature_names, columns)
        return [Feature(kept[i], value) for i, value in found]
    if len(kept) != reading.n_inputs:
        raise ElmldaError(
            f"{file.path}: {len(kept):,} columns, the model takes {reading.n_inputs:,}.",
            "Use {drop} for columns that are no inputs, such as labels.",
            drop=None,
        )
    return [Feature(i, None) for i in kept]
