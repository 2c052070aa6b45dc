"""Data sets of arrays: in memory, in .npz files and in IDX files.

An IDX file of bytes starts with 00 00 08 and a byte for the rank. The size of each dimension follows,
as a big-endian uint32, and then the bytes, the last dimension fastest.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import math
import re
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.lib.npyio import NpzFile
from numpy.typing import NDArray

from elmlda.core import IntArray
from elmlda.datasets.split import Dataset, Split
from elmlda.errors import ElmldaError, format_shape, join_words, printable

DIVIDED, UNDIVIDED = ("x_train", "y_train", "x_test", "y_test"), ("x", "y")
"""Names of the arrays in an .npz file."""
MISSING_NOTES = {"drop": "samples with missing values left out", "mean": "filled with training means"}
MISSING_ADVICE = "Fill it in, or use {missing} or {missing_}."
MISSING_LABEL_ADVICE = "Fill it in, or use {missing}."
CANONICAL = re.compile(r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
"""A canonical number: "01" and "1" are different labels."""
NOT_ARRAYS = (ValueError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error)
"""Errors that NumPy raises for a .npz file that is torn, encrypted or something else."""
PARTS = ("train-images", "train-labels", "t10k-images", "t10k-labels")


def read_content(path: Path) -> bytes:
    """Read a file, and decompress gzip data, whatever the file's name."""
    try:
        stored = path.read_bytes()
        return gzip.decompress(stored) if stored.startswith(b"\x1f\x8b") else stored
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ElmldaError(f"{path}: broken gzip data, or cut off: {error}.") from error
    except (OSError, ValueError) as error:  # ValueError: the path has impossible characters
        raise ElmldaError(f"{path}: cannot be read: {getattr(error, 'strerror', error)}.") from error


def load_npz(path: Path, missing: str | None = None) -> Dataset:
    """Load a data set from a .npz file: `x_train`, `y_train`, `x_test` and `y_test`, or `x` and `y`.

    scikit-learn's capital X is accepted; x is used if both exist. Nothing is unpickled.
    """
    content = read_content(path)
    try:
        with NpzFile(io.BytesIO(content)) as archive:
            keys = {key.replace("X", "x", 1): key for key in sorted(archive)}
            arrays = {name: archive[key] for name, key in keys.items() if name in DIVIDED + UNDIVIDED}
    except NOT_ARRAYS as error:
        reason = " ".join(str(error).split())[:160].rstrip(".")
        raise ElmldaError(f"{path}: not a valid .npz file: {reason}.") from error
    names = DIVIDED if any(name in arrays for name in DIVIDED) else UNDIVIDED
    if lacking := [name for name in names if name not in arrays]:
        fact = f"{path}: no {join_words(lacking)}"
        raise ElmldaError(f"{fact}; expected {join_words(DIVIDED)}, or x and y.")
    checksums = {name: _hash_array(arrays[name]) for name in names}
    named = {f"{path}, {name}": arrays[name] for name in names}
    return build_dataset(printable(path.stem), named, checksums, missing)


def load_pair(inputs: Any, labels: Any, missing: str | None = None) -> Dataset:
    """Make a data set of inputs, n_samples × …, and a label for each sample."""
    arrays = {"X": np.asarray(inputs), "y": np.asarray(labels)}
    if arrays["y"].dtype == object and not pd.isna(arrays["y"]).any():
        arrays["y"] = arrays["y"].astype(str)
    checksums = {name.lower(): _hash_array(array) for name, array in arrays.items()}
    return build_dataset("data", arrays, checksums, missing)


def build_dataset(
    name: str,
    arrays: Mapping[str, NDArray[Any]],
    checksums: dict[str, str],
    missing: str | None = None,
    columns: Sequence[str] | None = None,
) -> Dataset:
    """Make a data set of arrays; refuse arrays that do not belong together.

    Parameters
    ----------
    arrays : inputs and labels of the training part and, if there is one, of the test part, in this
        order; the keys name them in messages. Inputs of uint8 stay bytes, to be scaled to 0..1; all
        others become floats that hold every value of both parts exactly, to be standardised.
    missing : "drop" leaves out samples with a missing input (NaN), "mean" leaves NaN to be filled
    columns : a table's column behind each input
    """
    places, values = list(arrays), list(arrays.values())
    for x, y in zip(places[::2], places[1::2], strict=True):
        _require(x, arrays[x], "biuf", "numbers", "" if missing else MISSING_ADVICE)
        advice = "" if missing == "drop" else MISSING_LABEL_ADVICE
        _require(y, arrays[y], "biufU", "labels: numbers or strings", advice)
        if len(arrays[x]) != arrays[y].size:
            raise ElmldaError(f"{x} has {len(arrays[x]):,} samples, {y} has {arrays[y].size:,} labels.")
    train, test = values[0], values[-2]
    is_byte = train.dtype == np.uint8
    if train.shape[1:] != test.shape[1:] or is_byte != (test.dtype == np.uint8):
        expected, actual = (f"{format_shape(x.shape[1:]) or 1} of {x.dtype}" for x in (train, test))
        fact = f"{places[-2]}: each sample is {actual}, expected {expected} as in {places[0]}"
        raise ElmldaError(f"{fact}.")
    wide = np.result_type(np.float32, *values[::2])
    dtype = np.uint8 if is_byte else np.float64 if wide.itemsize > 8 else wide
    inputs = [np.ascontiguousarray(x.reshape(len(x), -1), dtype) for x in values[::2]]
    labels = [y.ravel() for y in values[1::2]]
    n_missing = np.sum([np.isnan(part).sum(axis=0) for part in inputs], axis=0)
    if missing == "drop":
        for i, place in enumerate(places[::2]):
            is_complete = ~(np.isnan(inputs[i]).any(axis=1) | pd.isna(labels[i]))
            if not is_complete.any():
                fact = f"{place}: each of the {len(is_complete):,} samples has a missing value."
                raise ElmldaError(fact, "Use {missing}.", missing="mean")
            inputs[i], labels[i] = inputs[i][is_complete], labels[i][is_complete]
    same = len({part.dtype for part in labels}) == 1
    classes, indices = index_classes(np.concatenate([x if same else x.astype(str) for x in labels]))
    parts = np.split(indices, [labels[0].size])[: len(labels)]
    trained = [classes[i] for i in np.unique(parts[0])]
    if len(trained) < 2:
        raise ElmldaError(f"{places[1]}: all labels are {trained[0]}, expected two or more.")
    if unknown := [label for label in classes if label not in trained]:
        fact = f"{places[-1]}: no training sample has the label {join_words(unknown, 'or')}"
        raise ElmldaError(f"{fact}, expected {join_words(trained, 'or')}.")
    names = columns or [f"input {i}" for i in range(len(n_missing))]
    n_filled = {name: int(n) for name, n in zip(names, n_missing, strict=True) if n}
    return Dataset(
        name,
        *map(Split, inputs, parts),
        classes=classes,
        checksums=checksums,
        input_scale=1 / 255 if is_byte else 1.0,
        image_shape=(train.shape[1], train.shape[2]) if train.ndim == 3 else None,
        is_standardised=not is_byte,
        preparation={"missing": MISSING_NOTES[missing]} if missing and n_filled else {},
        n_filled=n_filled if missing == "mean" else {},
    )


def _require(where: str, values: NDArray[Any], kinds: str, expected: str, advice: str) -> None:
    """Refuse arrays of other kinds, empty arrays, infinite and, if there is advice, missing values."""
    if values.dtype.kind not in kinds or values.size == 0 or values.ndim == 0:
        actual = f"{format_shape(values.shape) or 'a single value'} of {values.dtype}"
        raise ElmldaError(f"{where}: {actual}, expected {expected}.")
    refused = [("missing (NaN)", pd.isna(values), advice)] if advice else []
    if values.dtype.kind == "f":
        refused.insert(0, ("infinite", np.isinf(values), "Correct it."))
    for adjective, is_bad, what_to_do in refused:
        if is_bad.any():
            place = ", ".join(map(str, np.argwhere(is_bad)[0]))
            fact = f"{is_bad.sum():,} of {is_bad.size:,} values are {adjective}, first at [{place}]."
            raise ElmldaError(f"{where}: {fact}", what_to_do, missing="drop", missing_="mean")


def index_classes(labels: NDArray[Any]) -> tuple[tuple[str, ...], IntArray]:
    """Return the distinct classes, and the class index of each label.

    If all labels are numbers, classes are in the order of numbers, and 1 and 1.0 are the same class,
    "1". Otherwise they are in the order of strings.
    """
    values, indices = np.unique(labels, return_inverse=True)
    texts, merged = np.unique(values.astype(str), return_inverse=True)
    if all(map(CANONICAL.fullmatch, texts)) and np.abs(numbers := texts.astype(float)).max() < 2**53:
        numbers, positions = np.unique(numbers, return_inverse=True)
        texts = np.array([str(int(x)) if x == int(x) else repr(x) for x in numbers.tolist()])
        merged = positions[merged]
    return tuple(texts.tolist()), merged[indices]


def _hash_array(values: NDArray[Any]) -> str:
    header = f"{values.dtype.str} {values.shape} ".encode()
    return hashlib.sha256(header + values.tobytes()).hexdigest()


# IDX files


def parse_idx(content: bytes, path: Path) -> NDArray[np.uint8]:
    """Return the array in an IDX file's content; messages name the path."""
    rank = content[3] if len(content) > 3 else 0
    sizes = content[4 : 4 + 4 * rank]
    if content[:3] != b"\0\0\x08" or not rank or len(sizes) < 4 * rank:
        fact = f"{path}: not an IDX file of bytes: it starts with {content[:4].hex(' ') or 'nothing'}"
        raise ElmldaError(f"{fact}, expected 00 00 08, a rank and sizes.")
    shape = struct.unpack(f">{rank}I", sizes)
    expected = 4 + 4 * rank + math.prod(shape)
    if len(content) != expected:
        values = f"{format_shape(shape)} {'images' if rank == 3 else 'values'}"
        verdict = "too long" if len(content) > expected else "cut off"
        fact = f"{len(content):,} bytes, expected {expected:,} for {values}: the file is {verdict}"
        raise ElmldaError(f"{path}: {fact}.")
    return np.frombuffer(content, np.uint8, offset=4 + 4 * rank).reshape(shape)


def assemble_idx(name: str, contents: Mapping[str, tuple[Path, bytes]]) -> Dataset:
    """Make a data set of the paths and contents of four IDX files, by part."""
    arrays = {str(path): parse_idx(content, path) for path, content in contents.values()}
    checksums = {part: hashlib.sha256(content).hexdigest() for part, (_, content) in contents.items()}
    return build_dataset(name, arrays, checksums)


def find_parts(folder: Path) -> dict[str, Path]:
    """Return the path of each part, raw before .gz; an error names missing parts."""
    paths: dict[str, Path] = {}
    for path in sorted(folder.iterdir() if folder.is_dir() else []):
        match = re.fullmatch(rf"({'|'.join(PARTS)})[-.]idx\d+([-.]\w+)?(\.gz)?", path.name)
        if match and path.is_file():  # some archives unpack each file into a folder of its own name
            paths.setdefault(match[1], path)
    if missing := [part for part in PARTS if part not in paths]:
        examples = "train-images-idx3-ubyte or train-images.idx3-ubyte, with or without .gz"
        raise ElmldaError(f"{folder}: no {join_words(missing)}; looked for names like {examples}.")
    return {part: paths[part] for part in PARTS}
