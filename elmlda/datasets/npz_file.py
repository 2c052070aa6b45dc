"""NumPy's .npy and .npz files, read without unpickling anything and without trusting a header.

`numpy.load` allocates whatever size a header gives. Here that size is first compared with the file's
and with the free memory.
"""

from __future__ import annotations

import math
import os
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from elmlda.datasets.content import MAX_GZIP_EXPANSION, HashedStream, open_input, require_memory
from elmlda.datasets.dataset import Dataset, Split, Table
from elmlda.datasets.labels import index_classes
from elmlda.datasets.stored import StoredArray, assemble_split
from elmlda.errors import ElmldaError
from elmlda.text import as_text, join_words

SPLIT_KEYS = ("x_train", "y_train", "x_test", "y_test")
TABLE_KEYS = ("x", "y")
HEADER_READERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
# What zipfile raises on a damaged file, and numpy on a damaged header.
DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    RuntimeError,  # also its kind for a compression that zipfile does not know
    ValueError,
    TypeError,
    OverflowError,
    SyntaxError,
    tokenize.TokenError,
    MemoryError,
)


def load_npz(path: Path) -> Dataset | Table:
    """Read a data set from a .npz file, as `numpy.savez` and `numpy.savez_compressed` write it.

    It holds `x_train`, `y_train`, `x_test` and `y_test`, or `x` and `y` for a table that has no split
    of its own; `X` will do, too. Inputs are numbers, a sample first: n_samples × …; labels are whole
    numbers or strings, one dimension. Inputs of uint8 stay bytes and count as 0 to 1; all others are
    standardised.

    Raises
    ------
    ElmldaError
        If the file can't be read, is damaged, needs unpickling, would not fit in memory, or its
        arrays do not belong together.
    """
    name = as_text(path.name).removesuffix(".npz")
    arrays = _read_arrays(path)
    if len(arrays) == len(SPLIT_KEYS):
        dataset = assemble_split(name, arrays)
        return dataset if arrays["x_train"].is_byte else dataset.standardise()
    inputs, labels = arrays.values()
    inputs.require_as_many(labels)
    classes, indices = index_classes(labels.name_labels())
    labels.require_two(classes)
    return Table(
        name,
        Split(inputs.flatten(), indices),
        classes=classes,
        checksums={key: array.sha256 for key, array in arrays.items()},
        input_scale=inputs.input_scale,
        image_shape=inputs.image_shape,
        is_standardised=not inputs.is_byte,
    )


def _read_arrays(path: Path) -> dict[str, StoredArray]:
    """The arrays that make a data set, by name."""
    with open_npz(path) as archive:
        # As scikit-learn's users write them; where both are there, the small letter's is meant.
        found = {key.replace("X", "x", 1): key for key in archive.keys if key.startswith("X")}
        found |= {key: key for key in archive.keys}
        keys = SPLIT_KEYS if any(key in found for key in SPLIT_KEYS) else TABLE_KEYS
        if missing := [key for key in keys if key not in found]:
            raise ElmldaError(
                f"{path}: no {join_words(missing)} in it, expected {join_words(SPLIT_KEYS)}, or "
                f"x and y; it has {join_words(archive.keys) if archive.keys else 'nothing'}."
            )
        arrays = {key: archive.read(found[key]) for key in keys}
    for key, array in arrays.items():
        array.require_inputs() if key.startswith("x") else array.require_labels()
    return arrays


@contextmanager
def open_npz(path: Path) -> Iterator[Archive]:
    """Open a .npz file to read its arrays."""
    with (
        open_input(path, "a .npz file") as file,
        _explain_damage(path, ".npz"),
        zipfile.ZipFile(file) as archive,
    ):
        yield Archive(path, archive)


class Archive:
    """A .npz file that is open."""

    def __init__(self, path: Path, archive: zipfile.ZipFile) -> None:
        self.path = path
        self._archive = archive
        members = {member.filename: member for member in archive.infolist()}
        self._members = {
            name.removesuffix(".npy"): members[name] for name in members if name.endswith(".npy")
        }
        self.keys = list(self._members)

    def read(self, key: str) -> StoredArray:
        """Read one of the arrays."""
        where, member = f"{self.path}, {key}", self._members[key]
        with _explain_damage(where, ".npz"), self._archive.open(member) as stream:
            if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise ValueError("compressed in a way that numpy does not use")
            file = HashedStream(stream)
            n_stored = min(member.compress_size, self.path.stat().st_size)
            is_packed = member.compress_type == zipfile.ZIP_DEFLATED
            n_most = min(member.file_size, n_stored * (MAX_GZIP_EXPANSION if is_packed else 1))
            values = _read_array(where, file, n_most)
            return StoredArray(self.path, values, file.sha256, file.n_read, key)


def read_npy(path: Path) -> NDArray[Any]:
    """Read a .npy file, as `numpy.save` writes it."""
    with open_input(path, "a .npy file") as file, _explain_damage(path, ".npy"):
        return _read_array(str(path), HashedStream(file), os.fstat(file.fileno()).st_size)


@contextmanager
def _explain_damage(where: object, kind: str) -> Iterator[None]:
    """Turn what damage makes zipfile and numpy raise into an error that says where it is."""
    try:
        yield
    except DAMAGE as error:
        reason = " ".join(str(error).split())[:120].rstrip(".") or type(error).__name__
        raise ElmldaError(f"{where}: not a sound {kind} file: {reason}.") from error


def _read_array(where: str, file: HashedStream, n_most: int) -> NDArray[Any]:
    """The array of a .npy file that has no more than so many bytes, header and all."""
    version = npy.read_magic(file)  # type: ignore[arg-type]
    if version not in HEADER_READERS:
        raise ValueError(f"format {version[0]}.{version[1]} of arrays, expected 1.0 or 2.0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of numbers that Python 2 wrote: they are read as they are
        shape, is_fortran, dtype = HEADER_READERS[version](file)  # type: ignore[arg-type]
    if dtype.hasobject:
        raise ElmldaError(
            f"{where}: an array of Python objects, which would have to be unpickled and may run "
            "any code; expected numbers or strings."
        )
    if dtype.itemsize == 0 or dtype.subdtype is not None:
        raise ValueError(f"elements of {dtype}")
    n_bytes = math.prod(shape) * dtype.itemsize
    if not 0 <= n_bytes <= n_most - file.n_read:
        raise ValueError(f"its header says {n_bytes:,} bytes, which it can't have")
    require_memory(where, n_bytes)
    buffer = np.empty(n_bytes, np.uint8)
    if file.fill(buffer.data) < n_bytes or file.read(1):
        raise ValueError(f"not {n_bytes:,} bytes of data as its header says")
    values: NDArray[Any] = buffer.view(dtype)
    values = values.reshape(shape[::-1]).T if is_fortran else values.reshape(shape)
    return values if dtype.isnative else values.astype(dtype.newbyteorder("="))
