"""A data set from the user's own .npz file, read without unpickling anything."""

from __future__ import annotations

import hashlib
import math
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from elmlda.datasets.content import (
    MAX_GZIP_EXPANSION,
    STEP_BYTES,
    explain_reading,
    require_regular_file,
)
from elmlda.datasets.dataset import BYTE_SCALE, Dataset, Split, Table, join_words
from elmlda.datasets.idx import format_shape
from elmlda.datasets.labels import index_classes
from elmlda.errors import ElmldaError
from elmlda.machine import available_memory

SPLIT_KEYS = ("x_train", "y_train", "x_test", "y_test")
TABLE_KEYS = ("x", "y")
HEADER_READERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
# What zipfile raises on a damaged file, and numpy on a damaged header.
DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    TypeError,
    OverflowError,
    SyntaxError,
)


@dataclass(frozen=True, eq=False)
class _Array:
    path: Path
    key: str
    values: NDArray[Any]
    sha256: str

    @property
    def where(self) -> str:
        return f"{self.path}, {self.key}"


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


def _assemble(name: str, arrays: Mapping[str, _Array], checksums: dict[str, str]) -> Dataset:
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


def _read_arrays(path: Path) -> dict[str, _Array]:
    """The arrays that make a data set, by name."""
    with explain_reading(path), _explain_damage(path):
        require_regular_file(path, "a .npz file")
        with zipfile.ZipFile(path) as archive:
            members = {member.filename.removesuffix(".npy"): member for member in archive.infolist()}
            keys = SPLIT_KEYS if any(key in members for key in SPLIT_KEYS) else TABLE_KEYS
            missing = [key for key in keys if key not in members]
            if missing:
                raise ElmldaError(
                    f"{path}: no {join_words(missing)} in it, expected {join_words(SPLIT_KEYS)}, or "
                    f"x and y; it has {join_words(members) if members else 'nothing'}."
                )
            return {key: _read_array(path, key, archive, members[key]) for key in keys}


@contextmanager
def _explain_damage(where: object) -> Iterator[None]:
    try:
        yield
    except DAMAGE as error:
        reason = " ".join(str(error).split())[:120].rstrip(".") or type(error).__name__
        raise ElmldaError(f"{where}: not a sound .npz file: {reason}.") from error


def _read_array(path: Path, key: str, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> _Array:
    where = f"{path}, {key}"
    with _explain_damage(where), archive.open(member) as stream:
        file = _HashedStream(stream)
        version = npy.read_magic(file)  # type: ignore[arg-type]
        if version not in HEADER_READERS:
            raise ValueError(f"format {version[0]}.{version[1]} of arrays, expected 1.0 or 2.0")
        shape, is_fortran, dtype = HEADER_READERS[version](file)  # type: ignore[arg-type]
        if dtype.hasobject:
            raise ElmldaError(
                f"{where}: an array of Python objects, which would have to be unpickled and may run "
                "any code; expected numbers or strings."
            )
        n_bytes = math.prod(shape) * dtype.itemsize
        _require_plausible_length(where, archive, member, file.n_read + n_bytes, dtype)
        buffer = np.empty(n_bytes, np.uint8)
        if file.fill(buffer.data) < n_bytes or file.read(1):
            raise ValueError(f"not {n_bytes:,} bytes of data as its header says")
        values: NDArray[Any] = buffer.view(dtype)
        values = values.reshape(shape[::-1]).T if is_fortran else values.reshape(shape)
    if not dtype.isnative:
        values = values.astype(dtype.newbyteorder("="))
    array = _Array(path, key, values, file.sha256)
    _require_numbers(array) if key.startswith("x") else _require_labels(array)
    return array


def _require_plausible_length(
    where: str, archive: zipfile.ZipFile, member: zipfile.ZipInfo, n_bytes: int, dtype: np.dtype[Any]
) -> None:
    """Compare what the headers promise with the file and the memory before making room for it."""
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError("compressed in a way that numpy does not use")
    if dtype.itemsize == 0 or dtype.subdtype is not None:
        raise ValueError(f"elements of {dtype}")
    n_stored = Path(str(archive.filename)).stat().st_size
    expansion = MAX_GZIP_EXPANSION if member.compress_type == zipfile.ZIP_DEFLATED else 1
    if n_bytes != member.file_size or n_bytes > min(member.compress_size, n_stored) * expansion:
        raise ValueError(f"its header says {n_bytes:,} bytes, which it can't have")
    available = available_memory()
    if available is not None and n_bytes > available:
        raise ElmldaError(
            f"{where}: {n_bytes:,} bytes, expected at most the {available:,} bytes of memory that "
            "are free."
        )


class _HashedStream:
    """A stream that counts and hashes what is read from it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._hash = hashlib.sha256()
        self.n_read = 0

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()

    def read(self, n_bytes: int) -> bytes:
        content = self._stream.read(n_bytes)
        self._hash.update(content)
        self.n_read += len(content)
        return content

    def fill(self, buffer: memoryview) -> int:
        """Read until the buffer is full or the stream ends; return the number of bytes read."""
        n_filled = 0
        while n_filled < len(buffer):
            content = self.read(min(STEP_BYTES, len(buffer) - n_filled))
            if not content:
                break
            buffer[n_filled : n_filled + len(content)] = content
            n_filled += len(content)
        return n_filled


def _require_numbers(array: _Array) -> None:
    values = array.values
    if values.dtype.kind not in "biuf" or values.ndim == 0:
        raise ElmldaError(f"{array.where}: {_describe(values)}, expected n_samples × … numbers.")
    _require_samples(array)


def _require_labels(array: _Array) -> None:
    values = array.values
    is_row = values.ndim == 1 or (values.ndim == 2 and values.shape[1] == 1)
    if values.dtype.kind not in "biufUS" or not is_row:
        raise ElmldaError(
            f"{array.where}: {_describe(values)}, expected labels: one dimension of whole numbers or "
            "strings."
        )
    _require_samples(array)


def _require_samples(array: _Array) -> None:
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


def _name_labels(array: _Array) -> list[str]:
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
        return [value.decode("utf-8", errors="replace") for value in values.tolist()]
    with _explain_damage(array.where):  # code points that are none
        return [str(value) for value in values.tolist()]


def _flatten(array: _Array, dtype: type[np.floating[Any]]) -> NDArray[Any]:
    """One row a sample: bytes as they are, anything else as floats that hold it."""
    inputs = array.values.reshape(len(array.values), -1)
    if inputs.dtype == np.uint8:
        return np.ascontiguousarray(inputs)
    wide = np.result_type(inputs, dtype)
    return np.ascontiguousarray(inputs, np.float64 if wide.itemsize > 8 else wide)


def _find_image_shape(array: _Array) -> tuple[int, int] | None:
    shape = array.values.shape[1:]
    return (shape[0], shape[1]) if len(shape) == 2 else None


def _require_same_length(inputs: _Array, labels: _Array) -> None:
    n_inputs, n_labels = len(inputs.values), len(labels.values)
    if n_inputs != n_labels:
        raise ElmldaError(
            f"{inputs.where} has {n_inputs:,} samples, {labels.key} has "
            f"{n_labels:,} labels, expected as many of each."
        )


def _require_two_classes(labels: _Array, classes: tuple[str, ...]) -> None:
    if len(classes) < 2:
        raise ElmldaError(f"{labels.where}: all labels are {classes[0]}, expected two or more.")
