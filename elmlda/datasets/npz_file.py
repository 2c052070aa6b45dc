"""A data set from the user's own .npz file, read without unpickling anything."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elmlda.datasets.array_file import StoredArray, explain_damage, open_npz
from elmlda.datasets.dataset import BYTE_SCALE, Dataset, Split, Table, join_words
from elmlda.datasets.idx import format_shape
from elmlda.datasets.labels import index_classes
from elmlda.errors import ElmldaError

SPLIT_KEYS = ("x_train", "y_train", "x_test", "y_test")
TABLE_KEYS = ("x", "y")


def load_npz(path: Path, name: str | None = None) -> Dataset | Table:
    """Read a .npz file, as `numpy.savez` and `numpy.savez_compressed` write it.

    Parameters
    ----------
    path : Path
        Holds `x_train`, `y_train`, `x_test` and `y_test`, or `x` and `y` for a table that has no
        split of its own. Inputs are numbers, a sample first: n_samples × …; labels are whole numbers
        or strings, one dimension.
    name : str, optional
        The data set's name, the file's unless given.

    Returns
    -------
    Dataset or Table
        Inputs of uint8 stay bytes and count as 0 to 1; all others are standardised.

    Raises
    ------
    ElmldaError
        If the file can't be read, is damaged, needs unpickling, would not fit in memory, or its
        arrays do not belong together.
    """
    name = name or path.name.removesuffix(".npz")
    arrays = _read_arrays(path)
    checksums = {key: array.sha256 for key, array in arrays.items()}
    if len(arrays) == len(TABLE_KEYS):
        inputs, labels = arrays["x"], arrays["y"]
        _require_same_length(inputs, labels)
        classes, indices = index_classes(_name_labels(labels))
        _require_two_classes(labels, classes)
        is_byte = inputs.values.dtype == np.uint8
        samples = Split(_flatten(inputs, np.float32), indices)
        scale = BYTE_SCALE if is_byte else 1.0
        shape = _find_image_shape(inputs)
        return Table(name, samples, classes, not is_byte, checksums, scale, image_shape=shape)
    return _assemble(name, arrays, checksums)


def _assemble(name: str, arrays: Mapping[str, StoredArray], checksums: dict[str, str]) -> Dataset:
    x_train, y_train, x_test, y_test = (arrays[key] for key in SPLIT_KEYS)
    _require_same_length(x_train, y_train)
    _require_same_length(x_test, y_test)
    kinds = [array.values.dtype == np.uint8 for array in (x_train, x_test)]
    shapes = [array.values.shape[1:] for array in (x_train, x_test)]
    if shapes[0] != shapes[1] or kinds[0] != kinds[1]:
        found, expected = (
            f"{format_shape(array.values.shape[1:]) or '1'} values of {array.values.dtype}"
            for array in (x_test, x_train)
        )
        raise ElmldaError(f"{x_test.where}: each sample is {found}, expected {expected} as in x_train.")
    train_labels, test_labels = _name_labels(y_train), _name_labels(y_test)
    classes, indices = index_classes([*train_labels, *test_labels])
    n_train = len(train_labels)
    known = np.unique(indices[:n_train])
    unknown = np.setdiff1d(indices[n_train:], known)
    if unknown.size:
        raise ElmldaError(
            f"{y_test.where}: no training sample has the label "
            f"{join_words([classes[i] for i in unknown], 'or')}, "
            f"expected {join_words([classes[i] for i in known], 'or')}."
        )
    _require_two_classes(y_train, classes)
    dtype = np.result_type(x_train.values, x_test.values, np.float32).type
    dataset = Dataset(
        name,
        Split(_flatten(x_train, dtype), indices[:n_train]),
        Split(_flatten(x_test, dtype), indices[n_train:]),
        classes,
        _find_image_shape(x_train),
        BYTE_SCALE,
        checksums,
    )
    return dataset if kinds[0] else dataset.standardise()


def _read_arrays(path: Path) -> dict[str, StoredArray]:
    """The arrays that make a data set, by name."""
    with open_npz(path) as archive:
        found = archive.keys
        keys = SPLIT_KEYS if any(key in found for key in SPLIT_KEYS) else TABLE_KEYS
        missing = [key for key in keys if key not in found]
        if missing:
            raise ElmldaError(
                f"{path}: no {join_words(missing)} in it, expected {join_words(SPLIT_KEYS)}, or "
                f"x and y; it has {join_words(found) if found else 'nothing'}."
            )
        arrays = {key: archive.read(key) for key in keys}
    for key, array in arrays.items():
        _require_numbers(array) if key.startswith("x") else _require_labels(array)
    return arrays


def _require_numbers(array: StoredArray) -> None:
    values = array.values
    if values.dtype.kind not in "biuf" or values.ndim == 0:
        raise ElmldaError(f"{array.where}: {_describe(values)}, expected n_samples × … numbers.")
    _require_samples(array)


def _require_labels(array: StoredArray) -> None:
    values = array.values
    is_row = values.ndim == 1 or (values.ndim == 2 and values.shape[1] == 1)
    if values.dtype.kind not in "biufUS" or not is_row:
        raise ElmldaError(
            f"{array.where}: {_describe(values)}, expected labels: one dimension of whole numbers or "
            "strings."
        )
    _require_samples(array)


def _require_samples(array: StoredArray) -> None:
    """Refuse an array with nothing in it, or with what is no number."""
    values = array.values
    if values.size == 0:
        raise ElmldaError(f"{array.where}: {_describe(values)}: no samples, expected at least one.")
    if values.dtype.kind != "f":
        return
    finite = np.isfinite(values)
    if not finite.all():
        n_bad = values.size - np.count_nonzero(finite)
        place = ", ".join(map(str, np.argwhere(~finite)[0]))
        raise ElmldaError(
            f"{array.where}: {n_bad:,} of {values.size:,} values are missing (NaN) or infinite, the "
            f"first at [{place}]; expected finite numbers."
        )


def _describe(values: NDArray[Any]) -> str:
    return f"{format_shape(values.shape) or 'no dimensions'} of {values.dtype}"


def _name_labels(array: StoredArray) -> list[str]:
    """Labels as strings: whole numbers without a point."""
    values = array.values.ravel()
    if values.dtype.kind == "f":
        wrong = values[values != np.floor(values)]
        if wrong.size:
            raise ElmldaError(
                f"{array.where}: {wrong[0]} is no class, expected whole numbers or strings."
            )
        return [str(int(value)) for value in values.tolist()]
    if values.dtype.kind == "S":
        return [_decode(array, value) for value in values.tolist()]
    with explain_damage(array.where, ".npz"):  # code points that are none
        return [str(value) for value in values.tolist()]


def _decode(array: StoredArray, label: bytes) -> str:
    try:
        return label.decode("utf-8")
    except UnicodeDecodeError:
        raise ElmldaError(
            f"{array.where}: the label {label!r} is not text in UTF-8. "
            f"Decode it before it is stored: {array.key} = numpy.char.decode({array.key}, 'latin-1')."
        ) from None


def _flatten(array: StoredArray, dtype: type[np.floating[Any]]) -> NDArray[Any]:
    """One row a sample: bytes as they are, anything else as floats that hold it."""
    inputs = array.values.reshape(len(array.values), -1)
    if inputs.dtype == np.uint8:
        return np.ascontiguousarray(inputs)
    wide = np.result_type(inputs, dtype)
    return np.ascontiguousarray(inputs, np.float64 if wide.itemsize > 8 else wide)


def _find_image_shape(array: StoredArray) -> tuple[int, int] | None:
    shape = array.values.shape[1:]
    return (shape[0], shape[1]) if len(shape) == 2 else None


def _require_same_length(inputs: StoredArray, labels: StoredArray) -> None:
    n_inputs, n_labels = len(inputs.values), len(labels.values)
    if n_inputs != n_labels:
        raise ElmldaError(
            f"{inputs.where} has {n_inputs:,} samples, {labels.key} has "
            f"{n_labels:,} labels, expected as many of each."
        )


def _require_two_classes(labels: StoredArray, classes: tuple[str, ...]) -> None:
    if len(classes) < 2:
        raise ElmldaError(f"{labels.where}: all labels are {classes[0]}, expected two or more.")
