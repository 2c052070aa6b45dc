"""Data sets of arrays: in memory, in NumPy's files and in IDX files.

An IDX file is two zero bytes, a byte for the element type, a byte for the rank, the size of each
dimension as a big-endian uint32, and then the elements, big-endian, the last dimension fastest.
"""

from __future__ import annotations

import gzip
import hashlib
import math
import re
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from elmlda.core import IntArray
from elmlda.datasets.split import Dataset, Split
from elmlda.errors import ElmldaError, format_shape, join_words, printable
from elmlda.files import NOT_ARRAYS

DIVIDED, UNDIVIDED = ("x_train", "y_train", "x_test", "y_test"), ("x", "y")
"""Names of the arrays in an .npz file."""
MISSING_NOTES = {"drop": "samples with missing values left out", "mean": "filled with training means"}
MISSING_ADVICE = "Fill it in, or use {missing} or {missing_}."
NUMBER = re.compile(r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
"""A canonical number: "01" and "1" are different labels."""
ELEMENT_TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
PARTS = ("train-images", "train-labels", "t10k-images", "t10k-labels")


def read_content(path: Path, unpack: bool = True) -> bytes:
    """Read a file, decompressed if its content is gzip, whatever its name."""
    try:
        stored = path.read_bytes()
        return gzip.decompress(stored) if unpack and stored.startswith(b"\x1f\x8b") else stored
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ElmldaError(f"{path}: broken gzip data, or cut off: {error}.") from error
    except (OSError, ValueError) as error:  # ValueError: characters that no path can have
        raise ElmldaError(f"{path}: cannot be read: {getattr(error, 'strerror', error)}.") from error


def hash_content(content: bytes) -> str:
    """SHA-256 in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Arrays of an .npz file by name, inputs and labels alone, or an .npy file's one as "".

    Names may have a capital X, which scikit-learn's users write. Nothing is unpickled.
    """
    try:
        with path.open("rb") as file:
            loaded = np.load(file, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                return {"": loaded}
            # Where both x and X are there, the small letter's is meant.
            found = {key.replace("X", "x", 1): key for key in sorted(loaded)}
            return {key: loaded[name] for key, name in found.items() if key in DIVIDED + UNDIVIDED}
    except (OSError, *NOT_ARRAYS) as error:
        reason = " ".join(str(error).split())[:160].rstrip(".")
        raise ElmldaError(f"{path}: not a sound file of NumPy's arrays: {reason}.") from error


def load_npz(path: Path, missing: str | None = None) -> Dataset:
    """Load a data set from a .npz file: `x_train`, `y_train`, `x_test` and `y_test`, or `x` and `y`."""
    found = read_arrays(path)
    keys = DIVIDED if any(key in found for key in DIVIDED) else UNDIVIDED
    if lacking := [key for key in keys if key not in found]:
        fact = f"{path}: no {join_words(lacking)}"
        raise ElmldaError(f"{fact}; expected {join_words(DIVIDED)}, or x and y.")
    arrays = {f"{path}, {key}": found[key] for key in keys}
    checksums = {key: _hash_array(found[key]) for key in keys}
    return build_dataset(printable(path.stem), arrays, checksums, missing)


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
) -> Dataset:
    """Make a data set of arrays, or say why they do not belong together.

    Parameters
    ----------
    arrays : what each is called in messages -> inputs and labels of the training part or, in this
        order, of the training and the test part. Inputs of uint8 stay bytes and count as 0 to 1; all
        others become floats that hold every value of both parts exactly, and are to be standardised.
    missing : "drop" leaves out samples that lack an input (NaN), "mean" has it filled
    """
    places, values = list(arrays), list(arrays.values())
    for x, y in zip(places[::2], places[1::2], strict=True):
        _require(x, arrays[x], "biuf", "numbers", missing is not None)
        _require(y, arrays[y], "biufU", "labels: numbers or strings")
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
    return Dataset(
        name,
        *splits,
        classes=classes,
        checksums=checksums,
        input_scale=1 / 255 if is_byte else 1.0,
        image_shape=(train.shape[1], train.shape[2]) if train.ndim == 3 else None,
        is_standardised=not is_byte,
        preparation=preparation,
    )


def _require(
    where: str, values: NDArray[Any], kinds: str, expected: str, may_lack: bool = False
) -> None:
    """Refuse other kinds of values, none, infinite ones and, unless they may be, missing ones."""
    if values.dtype.kind not in kinds or values.size == 0:
        found = f"{format_shape(values.shape)} of {values.dtype}".strip()
        raise ElmldaError(f"{where}: {found}, expected {expected}.")
    if values.dtype.kind != "f":
        return
    bad = np.isinf(values) | (np.isnan(values) & (not may_lack))
    if bad.any():
        place = ", ".join(map(str, np.argwhere(bad)[0]))
        fact = f"{bad.sum():,} of {bad.size:,} values are missing (NaN) or infinite"
        fact += f", first at [{place}]."
        raise ElmldaError(f"{where}: {fact}", MISSING_ADVICE, missing="drop", missing_="mean")


def _index_labels(
    where: list[str], parts: list[NDArray[Any]]
) -> tuple[tuple[str, ...], list[IntArray]]:
    """Classes of all parts, and each part's indices; a label that only the test part has is refused."""
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


# IDX files


def parse_idx(content: bytes, path: Path) -> NDArray[Any]:
    """The array in an IDX file's content; the path is for messages."""
    code, rank = (content + bytes(4))[2:4]
    sizes = content[4 : 4 + 4 * rank]
    if content[:2] != b"\0\0" or code not in ELEMENT_TYPES or not rank or len(sizes) < 4 * rank:
        fact = f"{path}: not an IDX file: it starts with {content[:4].hex(' ') or 'nothing'}"
        raise ElmldaError(f"{fact}, expected 00 00, an element type, a rank and sizes.")
    dtype, shape = np.dtype(ELEMENT_TYPES[code]), struct.unpack(f">{rank}I", sizes)
    expected = 4 + 4 * rank + math.prod(shape) * dtype.itemsize
    if len(content) != expected:
        what = f"{format_shape(shape)} {'images' if rank == 3 else 'values'}"
        verdict = "too long" if len(content) > expected else "cut off"
        fact = f"{len(content):,} bytes, expected {expected:,} for {what}: the file is {verdict}"
        raise ElmldaError(f"{path}: {fact}.")
    values = np.frombuffer(content, dtype, offset=4 + 4 * rank).reshape(shape)
    return values.astype(dtype.newbyteorder("="), copy=False)


def assemble_idx(name: str, contents: Mapping[str, tuple[Path, bytes]]) -> Dataset:
    """Make a data set of the four parts' paths and contents."""
    arrays = {str(path): parse_idx(content, path) for path, content in contents.values()}
    checksums = {part: hash_content(content) for part, (_, content) in contents.items()}
    return build_dataset(name, arrays, checksums)


def find_parts(folder: Path) -> dict[str, Path]:
    """The file that is each part, raw before .gz; an error names those that are missing."""
    found: dict[str, Path] = {}
    for path in sorted(folder.iterdir() if folder.is_dir() else []):
        match = re.fullmatch(rf"({'|'.join(PARTS)})[-.]idx\d+([-.]\w+)?(\.gz)?", path.name)
        if match and path.is_file():  # some archives unpack each file into a folder of its own name
            found.setdefault(match[1], path)
    if missing := [part for part in PARTS if part not in found]:
        names = "train-images-idx3-ubyte or train-images.idx3-ubyte, with or without .gz"
        raise ElmldaError(f"{folder}: no {join_words(missing)}; looked for names like {names}.")
    return {part: found[part] for part in PARTS}
