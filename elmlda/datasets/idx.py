"""IDX, the format of MNIST, and the data set that a folder of four IDX files is.

An IDX file is two zero bytes, a byte for the element type, a byte for the rank, the size of each
dimension as a big-endian uint32, and then the elements, big-endian, the last dimension fastest.
So the header determines the length of the file. A file of any other length is refused, before memory
is allocated for it.
"""

from __future__ import annotations

import math
import os
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elmlda.datasets.content import (
    CUT_OFF,
    MAX_GZIP_EXPANSION,
    Content,
    open_content,
    require_memory,
    require_original,
)
from elmlda.datasets.dataset import Dataset, FileCheck
from elmlda.datasets.stored import StoredArray, assemble_split
from elmlda.errors import ElmldaError
from elmlda.text import as_text, format_shape, join_words

ELEMENT_TYPES = {0x08: "u1", 0x09: "i1", 0x0B: "i2", 0x0C: "i4", 0x0D: "f4", 0x0E: "f8"}
TOO_LONG = "the file is too long"
PARTS = ("train-images", "train-labels", "t10k-images", "t10k-labels")
FILE_NAME = re.compile(rf"(?P<stem>(?P<part>{'|'.join(PARTS)})[-.]idx\d+([-.]\w+)?)(\.gz)?")
LOOKED_FOR = "names like train-images-idx3-ubyte or train-images.idx3-ubyte, with or without .gz"
ANY_CONTENT: Mapping[str, str] = MappingProxyType({})


def read_idx(path: str | os.PathLike[str]) -> NDArray[Any]:
    """Read the array in an IDX file, raw or gzip: its content tells, not its name.

    Raises
    ------
    ElmldaError
        If the file cannot be read, is not exactly one sound IDX file, or would not fit in memory.
        Rank 0 is refused: the format gives it no meaning, and a zero there is more likely damage than
        a single number that someone stored. So are ranks above numpy's own limit, 64.
    """
    return read_idx_file(Path(path)).values


def read_idx_file(path: Path) -> StoredArray:
    """Read an IDX file once, hashing it on the way; raises as `read_idx` does."""
    with open_content(path, "an IDX file") as content:
        header = _read_header(content)
        _require_plausible_length(content, header)
        try:
            values: NDArray[Any] = np.empty(header.shape, header.dtype)
        except (ValueError, MemoryError) as error:
            content.fail(f"{header} cannot be held as one array: {str(error).rstrip('.')}")
        if content.fill(values.reshape(-1).view(np.uint8).data) < values.nbytes:
            content.fail_length(f"{content.n_read:,}", header.promise, CUT_OFF)
        # Looking for one more byte also makes gzip compare its checksum.
        if content.read(1):
            content.fail_length(f"more than {header.n_file_bytes:,}", header.promise, TOO_LONG)
    if not header.dtype.newbyteorder(">").isnative:
        values.byteswap(inplace=True)
    return StoredArray(path, values, content.sha256, content.n_read)


@dataclass(frozen=True)
class _Header:
    dtype: np.dtype[Any]
    """In native byte order."""
    shape: tuple[int, ...]

    @property
    def n_data_bytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def n_file_bytes(self) -> int:
        return 4 + 4 * len(self.shape) + self.n_data_bytes

    @property
    def promise(self) -> str:
        n_bytes = self.n_file_bytes
        return f"{n_bytes:,} for {self}" if n_bytes < 10**18 else f"more than 10^18 for {self}"

    def __str__(self) -> str:
        return f"{format_shape(self.shape)} {'images' if len(self.shape) == 3 else 'values'}"


def _read_header(content: Content) -> _Header:
    start = content.read(4)
    if len(start) < 4:
        content.fail_length(str(len(start)), "at least 8 for an IDX header", CUT_OFF)
    if start[:2] != b"\0\0":
        content.fail(f"starts with the bytes {start.hex(' ')}, expected 00 00: not an IDX file")
    code, rank = start[2:]
    if code not in ELEMENT_TYPES:
        known = ", ".join(f"0x{key:02X} ({np.dtype(name)})" for key, name in ELEMENT_TYPES.items())
        content.fail(f"element type 0x{code:02X}, expected one of {known}")
    if rank == 0:
        content.fail("0 dimensions, expected 1 or more")
    sizes = content.read(4 * rank)
    if len(sizes) < 4 * rank:
        expected = f"at least {4 + 4 * rank:,} for the header of {rank} dimensions"
        content.fail_length(f"{content.n_read:,}", expected, CUT_OFF)
    return _Header(np.dtype(ELEMENT_TYPES[code]), struct.unpack(f">{rank}I", sizes))


def _require_plausible_length(content: Content, header: _Header) -> None:
    """Compare the size in the header with the file's and the free memory, before allocating it."""
    n_stored, n_promised = content.n_stored, header.n_file_bytes
    if content.is_gzip:
        n_most = n_stored * MAX_GZIP_EXPANSION
        if n_most < n_promised:
            content.fail_length(f"at most {n_most:,}", header.promise, CUT_OFF)
    elif n_stored != n_promised:
        verdict = CUT_OFF if n_stored < n_promised else TOO_LONG
        content.fail_length(f"{n_stored:,}", header.promise, verdict)
    require_memory(content.path, header.n_data_bytes, f" for {header}")


def load_idx_folder(
    folder: Path, name: str | None = None, expected_sha256: Mapping[str, str] = ANY_CONTENT
) -> Dataset:
    """Load the data set in a folder's four IDX files, or say what is wrong with them.

    Parameters
    ----------
    folder : holds one file for each of `PARTS`, raw or gzip; where both are there, the raw one is read
    name : the data set's, the folder's unless given
    expected_sha256 : part -> SHA-256 of its content after decompression
    """
    files = {}
    for part, path in find_four(folder).items():
        files[part] = read_idx_file(path)
        _require_sound_part(part, files[part], expected_sha256.get(part))
    return assemble_split(as_text(folder.resolve().name if name is None else name), files)


def verify_idx_folder(
    folder: Path, expected_sha256: Mapping[str, str] = ANY_CONTENT
) -> list[FileCheck]:
    """Check each of a folder's four IDX files, going on after a broken one.

    If all are sound but do not belong together, there is one check more, for the folder.
    """
    checks, files = [], {}
    for part, paths in find_files(folder).items():
        path, file, expected = folder / part, None, expected_sha256.get(part)
        try:
            path = choose_file(folder, part, paths)
            file = read_idx_file(path)
            _require_sound_part(part, file, expected)
            files[part] = file
            message = f"{format_shape(file.values.shape)}, {file.values.dtype}"
        except ElmldaError as error:
            message = str(error)
        n_bytes, sha256 = (file.n_bytes, file.sha256) if file else (None, None)
        checks.append(FileCheck(part, path, part in files, message, n_bytes, expected, sha256))
    if len(files) == len(PARTS):
        try:
            assemble_split(folder.name, files)
        except ElmldaError as error:
            checks.append(FileCheck("all four", folder, False, str(error)))
    return checks


def find_four(folder: Path) -> dict[str, Path]:
    """The one file that is each part, or an error that names those that are missing."""
    found = find_files(folder)
    if missing := [part for part in PARTS if not found[part]]:
        raise ElmldaError(f"{folder}: no {join_words(missing)}; looked for {LOOKED_FOR}.")
    return {part: choose_file(folder, part, found[part]) for part in PARTS}


def find_files(folder: Path) -> dict[str, list[Path]]:
    """Find the files that could be each part."""
    found: dict[str, dict[str, Path]] = {part: {} for part in PARTS}
    try:
        for path in sorted(folder.iterdir()):
            match = FILE_NAME.fullmatch(path.name)
            # Some archives unpack each file into a folder of its own name: not a candidate.
            if match and not path.is_dir():
                # In sorted order a raw file comes before its own .gz, and so wins.
                found[match["part"]].setdefault(match["stem"], path)
    except (OSError, ValueError) as error:  # ValueError: characters that no path can have
        reason = getattr(error, "strerror", None) or error
        raise ElmldaError(f"{folder}: {reason}, expected a folder of four IDX files.") from error
    return {part: list(paths.values()) for part, paths in found.items()}


def choose_file(folder: Path, part: str, paths: list[Path]) -> Path:
    """The one file that could be a part, or an error."""
    if not paths:
        raise ElmldaError(f"{folder}: no {part}; looked for {LOOKED_FOR}.")
    if len(paths) > 1:
        names = join_words(path.name for path in paths)
        raise ElmldaError(f"{folder}: {names} could each be {part}, expected only one of them.")
    return paths[0]


def _require_sound_part(part: str, file: StoredArray, expected_sha256: str | None) -> None:
    """Refuse a file for what can be seen from it alone."""
    require_original(file.path, file.sha256, expected_sha256)
    if part.endswith("labels"):
        file.require_labels("iu", "integers")
    else:
        file.require_inputs()
