"""Data sets of arrays: inputs and labels in memory, and in NumPy's files."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from elmlda.core.arrays import IntArray
from elmlda.datasets.files import hash_content
from elmlda.datasets.split import Dataset, Split
from elmlda.errors import ElmldaError
from elmlda.text import as_text, format_shape, join_words

KEYS = ("x_train", "y_train", "x_test", "y_test")
DAMAGE = (ValueError, OSError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError)
MISSING_NOTES = {"drop": "samples with missing values left out", "mean": "filled with training means"}
MISSING_ADVICE = "Fill it in, or use {missing} or {missing_}."
NUMBER = re.compile(r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
"""A canonical number: "01" and "1" are different labels."""


@contextmanager
def open_arrays(path: Path) -> Iterator[Mapping[str, NDArray[Any]]]:
    """Open an .npz file's arrays by name, or an .npy file's one as ""; nothing is unpickled."""
    try:
        with path.open("rb") as file:
            loaded = np.load(file, allow_pickle=False)
            yield {"": loaded} if isinstance(loaded, np.ndarray) else loaded
    except DAMAGE as error:
        reason = " ".join(str(error).split())[:160].rstrip(".")
        raise ElmldaError(f"{path}: not a sound file of NumPy's arrays: {reason}.") from error


def load_npz(path: Path, missing: str | None = None) -> Dataset:
    """Load a data set from a .npz file: `x_train`, `y_train`, `x_test` and `y_test`, or `x` and `y`."""
    with open_arrays(path) as archive:
        # X is what scikit-learn's users write; where both are there, the small letter's is meant.
        found = {key.replace("X", "x", 1): key for key in sorted(archive)}
        keys = KEYS if any(key in found for key in KEYS) else ("x", "y")
        if lacking := [key for key in keys if key not in found]:
            has = f"it has {join_words(archive) if found else 'nothing'}, no {join_words(lacking)}"
            raise ElmldaError(f"{path}: {has}; expected {join_words(KEYS)}, or x and y.")
        arrays = {f"{path}, {key}": archive[found[key]] for key in keys}
    checksums = dict(zip(keys, map(_hash_array, arrays.values()), strict=True))
    return build_dataset(as_text(path.stem), arrays, checksums, missing)


def load_pair(inputs: Any, labels: Any, missing: str | None = None) -> Dataset:
    """Make a data set of inputs, n_samples × …, and a label for each sample."""
    arrays = {"X": np.asarray(inputs), "y": np.asarray(labels)}
    if arrays["y"].dtype == object and not pd.isna(arrays["y"]).any():
        arrays["y"] = arrays["y"].astype(str)
    checksums = {where.lower(): _hash_array(array) for where, array in arrays.items()}
    return build_dataset("data", arrays, checksums, missing)


def build_dataset(
    name: str,
    arrays: Mapping[str, NDArray[Any]],
    checksums: dict[str, str],
    missing: str | None = None,
    standardised: bool = True,
) -> Dataset:
    """Make a data set of arrays, or say why they do not belong together.

    Parameters
    ----------
    arrays : what each is called in messages -> inputs and labels of the training part or, in this
        order, of the training and the test part. Inputs of uint8 stay bytes and count as 0 to 1; all
        others become floats that hold every value of both parts exactly.
    missing : "drop" leaves out samples that lack an input (NaN), "mean" has it filled
    standardised : whether inputs that are not bytes are to be standardised
    """
    places, values = list(arrays), list(arrays.values())
    for x, y in zip(places[::2], places[1::2], strict=True):
        _require(x, arrays[x], "biuf", "numbers", missing is not None)
        _require(y, arrays[y], "biufU", "labels: whole numbers or strings")
        if len(arrays[x]) != arrays[y].size:
            raise ElmldaError(f"{x} has {len(arrays[x]):,} samples, {y} has {arrays[y].size:,} labels.")
    train, test = values[0], values[-2]
    is_byte = train.dtype == np.uint8
    if train.shape[1:] != test.shape[1:] or is_byte != (test.dtype == np.uint8):
        wanted, found = (f"{format_shape(x.shape[1:]) or 1} of {x.dtype}" for x in (train, test))
        raise ElmldaError(f"{places[-2]}: each sample is {found}, expected {wanted} as in {places[0]}.")
    classes, labels = _index_labels(places[1::2], values[1::2])
    wide = np.result_type(np.float32, *values[::2])
    dtype = np.uint8 if is_byte else np.float64 if wide.itemsize > 8 else wide
    inputs = [np.ascontiguousarray(x.reshape(len(x), -1), dtype) for x in values[::2]]
    splits = [Split(x, part) for x, part in zip(inputs, labels, strict=True)]
    preparation = {}
    if missing and any(np.isnan(x).any() for x in inputs):
        preparation["missing"] = MISSING_NOTES[missing]
        kept = [~np.isnan(x).any(axis=1) | (missing != "drop") for x in inputs]
        splits = [each.take(np.flatnonzero(rows)) for each, rows in zip(splits, kept, strict=True)]
    dataset = Dataset(
        name,
        *splits,
        classes=classes,
        checksums=checksums,
        input_scale=1 / 255 if is_byte else 1.0,
        image_shape=(train.shape[1], train.shape[2]) if train.ndim == 3 else None,
        is_standardised=standardised and not is_byte,
        preparation=preparation,
    )
    return dataset.standardise() if dataset.is_standardised and dataset.test else dataset


def _require(
    where: str, values: NDArray[Any], kinds: str, expected: str, may_lack: bool = False
) -> None:
    """Refuse other kinds of values, none, infinite ones and, unless they may be, missing ones."""
    if values.dtype.kind not in kinds or values.size == 0:
        found = f"{format_shape(values.shape)} of {values.dtype}".strip()
        raise ElmldaError(f"{where}: {found}, expected {expected}.")
    if (
        values.dtype.kind == "f"
        and (bad := ~np.isfinite(values) & ~(may_lack & np.isnan(values))).any()
    ):
        place = ", ".join(map(str, np.argwhere(bad)[0]))
        fact = (
            f"{bad.sum():,} of {bad.size:,} values are missing (NaN) or infinite, first at [{place}]."
        )
        raise ElmldaError(f"{where}: {fact}", MISSING_ADVICE, missing="drop", missing_="mean")


def _index_labels(
    where: list[str], parts: list[NDArray[Any]]
) -> tuple[tuple[str, ...], list[IntArray]]:
    """Classes of all parts, and each part's indices; a label that only the test part has is refused."""
    for place, labels in zip(where, parts, strict=True):
        if labels.dtype.kind == "f" and (wrong := labels[labels != np.floor(labels)]).size:
            raise ElmldaError(f"{place}: {wrong[0]} is no class, expected whole numbers or strings.")
    classes, indices = index_classes(np.concatenate([part.ravel().astype(str) for part in parts]))
    train, test = np.split(indices, [parts[0].size])
    known = [classes[i] for i in np.unique(train)]
    if len(known) < 2:
        raise ElmldaError(f"{where[0]}: all labels are {known[0]}, expected two or more.")
    if unknown := [name for name in classes if name not in known]:
        fact = f"{where[-1]}: no training sample has the label {join_words(unknown, 'or')}"
        raise ElmldaError(f"{fact}, expected {join_words(known, 'or')}.")
    return classes, [train, test][: len(parts)]


def index_classes(labels: NDArray[np.str_]) -> tuple[tuple[str, ...], IntArray]:
    """Number the classes that labels name: the classes, and the index of each label's.

    If all labels are numbers, classes are in the order of numbers, and 1 and 1.0 are the same class,
    "1"; else they are in the order of strings.
    """
    found, indices = np.unique(labels, return_inverse=True)
    if all(map(NUMBER.fullmatch, found)) and np.abs(values := found.astype(np.float64)).max() < 2**53:
        numbers, merged = np.unique(values, return_inverse=True)
        names = (str(int(value)) if value == int(value) else repr(value) for value in numbers.tolist())
        return tuple(names), merged[indices]
    return tuple(found.tolist()), indices


def _hash_array(values: NDArray[Any]) -> str:
    return hash_content(f"{values.dtype.str} {values.shape} ".encode() + values.tobytes())
