"""Read IDX, the format of MNIST: every element type, every rank, raw or gzip.

An IDX file is two zero bytes, a byte for the element type, a byte for the rank, the size of each
dimension as a big-endian uint32, and then the elements, big-endian, the last dimension fastest.
So the header determines the length of the file. A file of any other length is refused, before memory
is allocated for it.
"""

import math
import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elmlda.datasets.content import (
    CUT_OFF,
    MAX_GZIP_EXPANSION,
    Content,
    open_content,
    require_memory,
)
from elmlda.datasets.stored import StoredArray
from elmlda.datasets.words import format_shape

ELEMENT_TYPES: dict[int, np.dtype[Any]] = {
    0x08: np.dtype(">u1"),
    0x09: np.dtype(">i1"),
    0x0B: np.dtype(">i2"),
    0x0C: np.dtype(">i4"),
    0x0D: np.dtype(">f4"),
    0x0E: np.dtype(">f8"),
}
TOO_LONG = "the file is too long"


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
        return _read_content(content)


@dataclass(frozen=True)
class _Header:
    stored: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def n_data_bytes(self) -> int:
        return math.prod(self.shape) * self.stored.itemsize

    @property
    def n_file_bytes(self) -> int:
        return 4 + 4 * len(self.shape) + self.n_data_bytes

    @property
    def promise(self) -> str:
        n_bytes = self.n_file_bytes
        return f"{n_bytes:,} for {self}" if n_bytes < 10**18 else f"more than 10^18 for {self}"

    def __str__(self) -> str:
        noun = "images" if len(self.shape) == 3 else "values"
        return f"{format_shape(self.shape)} {noun}"


def _read_content(content: Content) -> StoredArray:
    header = _read_header(content)
    _require_plausible_length(content, header)
    values = _allocate(content, header)
    if content.fill(values.reshape(-1).view(np.uint8).data) < values.nbytes:
        content.fail_length(f"{content.n_read:,}", header.promise, CUT_OFF)
    # Looking for one more byte also makes gzip compare its checksum.
    if content.read(1):
        content.fail_length(f"more than {header.n_file_bytes:,}", header.promise, TOO_LONG)
    if not header.stored.isnative:
        values.byteswap(inplace=True)
    return StoredArray(content.path, values, content.sha256, content.n_read)


def _read_header(content: Content) -> _Header:
    start = content.read(4)
    if len(start) < 4:
        content.fail_length(str(len(start)), "at least 8 for an IDX header", CUT_OFF)
    if start[:2] != b"\0\0":
        content.fail(f"starts with the bytes {start.hex(' ')}, expected 00 00: not an IDX file")
    code, rank = start[2:]
    if code not in ELEMENT_TYPES:
        known = ", ".join(f"0x{key:02X} ({_native(key)})" for key in ELEMENT_TYPES)
        content.fail(f"element type 0x{code:02X}, expected one of {known}")
    if rank == 0:
        content.fail("0 dimensions, expected 1 or more")
    sizes = content.read(4 * rank)
    if len(sizes) < 4 * rank:
        expected = f"at least {4 + 4 * rank:,} for the header of {rank} dimensions"
        content.fail_length(f"{content.n_read:,}", expected, CUT_OFF)
    return _Header(ELEMENT_TYPES[code], struct.unpack(f">{rank}I", sizes))


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


def _allocate(content: Content, header: _Header) -> NDArray[Any]:
    try:
        return np.empty(header.shape, header.stored.newbyteorder("="))
    except (ValueError, MemoryError) as error:
        content.fail(f"{header} cannot be held as one array: {str(error).rstrip('.')}")


def _native(code: int) -> np.dtype[Any]:
    return ELEMENT_TYPES[code].newbyteorder("=")
