"""Read IDX, the format of MNIST: every element type, every rank, raw or gzip.

An IDX file is two zero bytes, a byte for the element type, a byte for the rank, the size of each
dimension as a big-endian uint32, and then the elements, big-endian, the last dimension fastest.
The header so fixes the length of the file. A file of any other length is refused, and no memory is
taken on the word of a header that its file cannot back up.
"""

import gzip
import hashlib
import io
import math
import os
import stat
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from elmlda.errors import ElmldaError

ELEMENT_TYPES: dict[int, np.dtype[Any]] = {
    0x08: np.dtype(">u1"),
    0x09: np.dtype(">i1"),
    0x0B: np.dtype(">i2"),
    0x0C: np.dtype(">i4"),
    0x0D: np.dtype(">f4"),
    0x0E: np.dtype(">f8"),
}
GZIP_MAGIC = b"\x1f\x8b"
# Deflate spends at least two bits on each run of 258 bytes: no gzip file expands further.
MAX_GZIP_EXPANSION = 1032
# Bounds what zlib hands over at once.
STEP_BYTES = 1 << 20
CUT_OFF = "the file is cut off"
TOO_LONG = "the file is too long"


@dataclass(frozen=True, eq=False)
class IdxFile:
    """An IDX file that has been read whole.

    Attributes
    ----------
    path : Path
    values : array
        Of the header's shape, in native byte order.
    n_bytes : int
        Length of the content, after decompression.
    sha256 : str
        Of the content, after decompression.
    """

    path: Path
    values: NDArray[Any]
    n_bytes: int
    sha256: str


def read_idx(path: str | os.PathLike[str]) -> NDArray[Any]:
    """Read the array in an IDX file.

    Parameters
    ----------
    path : path
        A raw or gzip-compressed file; which one is seen from its content, not its name.

    Returns
    -------
    array
        Of the shape in the header, C-contiguous, in native byte order.

    Raises
    ------
    ElmldaError
        If the file cannot be read, is not exactly one sound IDX file, or would not fit in memory.
        Rank 0 is refused: the format gives it no meaning, and a zero there is more likely damage
        than a single number that someone stored. Ranks above numpy's own limit, 64, are refused
        too.
    """
    return read_idx_file(Path(path)).values


def read_idx_file(path: Path) -> IdxFile:
    """Read an IDX file once, hashing it on the way; raises as `read_idx` does."""
    try:
        # Before opening: to open a pipe would wait for someone to write into it.
        _require_regular_file(path)
        with path.open("rb") as file:
            return _read_content(_Content(path, file))
    except OSError as error:
        raise ElmldaError(f"{path}: cannot be read: {error.strerror or error}.") from error


def format_shape(shape: tuple[int, ...]) -> str:
    """Format as in `10000 × 28 × 28`, in one line for any rank."""
    if len(shape) > 8:
        return f"{format_shape(shape[:3])} × … ({len(shape)} dimensions)"
    return " × ".join(map(str, shape))


def available_memory() -> int | None:
    """Return the bytes of memory that are free to use, None where the system does not say."""
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


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


class _Content:
    """The content of a file after decompression, read once and hashed on the way."""

    def __init__(self, path: Path, file: io.BufferedReader) -> None:
        self.path = path
        self.n_stored = os.fstat(file.fileno()).st_size
        self.n_read = 0
        self.is_gzip = file.read(2) == GZIP_MAGIC
        file.seek(0)
        self._stream: io.BufferedIOBase = gzip.GzipFile(fileobj=file) if self.is_gzip else file
        self._hash = hashlib.sha256()

    @property
    def sha256(self) -> str:
        """Of what has been read so far."""
        return self._hash.hexdigest()

    def fill(self, buffer: memoryview) -> int:
        """Read until the buffer is full or the content ends; return the number of bytes read."""
        n_filled = 0
        while n_filled < len(buffer):
            n_new = self._read_into(buffer[n_filled : n_filled + STEP_BYTES])
            if n_new == 0:
                break
            self._hash.update(buffer[n_filled : n_filled + n_new])
            n_filled += n_new
            self.n_read += n_new
        return n_filled

    def take(self, n_bytes: int) -> bytes:
        """Read so many bytes, or fewer where the content ends."""
        buffer = bytearray(n_bytes)
        return bytes(buffer[: self.fill(memoryview(buffer))])

    def _read_into(self, buffer: memoryview) -> int:
        try:
            return self._stream.readinto(buffer)
        except EOFError:
            self.fail(f"the gzip data stop after {self.n_read:,} bytes of content: {CUT_OFF}")
        except (gzip.BadGzipFile, zlib.error) as error:
            self.fail(f"broken gzip data: {_gzip_fault(error)}")

    def fail(self, what: str) -> NoReturn:
        """Raise an error that names the file."""
        raise ElmldaError(f"{self.path}: {what}.") from None

    def fail_length(self, found: str, expected: str, verdict: str) -> NoReturn:
        """Raise an error for content of the wrong length."""
        unpacked = " after decompression" if self.is_gzip else ""
        self.fail(f"{found} bytes{unpacked}, expected {expected}: {verdict}")


def _require_regular_file(path: Path) -> None:
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        raise ElmldaError(f"{path}: a folder, expected an IDX file.")
    if not stat.S_ISREG(mode):
        raise ElmldaError(f"{path}: a pipe or device, expected an IDX file.")


def _read_content(content: _Content) -> IdxFile:
    header = _read_header(content)
    _require_plausible_length(content, header)
    values = _allocate(content, header)
    if content.fill(values.reshape(-1).view(np.uint8).data) < values.nbytes:
        content.fail_length(f"{content.n_read:,}", header.promise, CUT_OFF)
    # Looking for one more byte also makes gzip compare its checksum.
    if content.take(1):
        content.fail_length(f"more than {header.n_file_bytes:,}", header.promise, TOO_LONG)
    if not header.stored.isnative:
        values.byteswap(inplace=True)
    return IdxFile(content.path, values, content.n_read, content.sha256)


def _read_header(content: _Content) -> _Header:
    start = content.take(4)
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
    sizes = content.take(4 * rank)
    if len(sizes) < 4 * rank:
        expected = f"at least {4 + 4 * rank:,} for the header of {rank} dimensions"
        content.fail_length(f"{content.n_read:,}", expected, CUT_OFF)
    return _Header(ELEMENT_TYPES[code], struct.unpack(f">{rank}I", sizes))


def _require_plausible_length(content: _Content, header: _Header) -> None:
    """Compare what the header promises with the file and the memory before making room for it."""
    n_stored, n_promised = content.n_stored, header.n_file_bytes
    if content.is_gzip:
        n_most = n_stored * MAX_GZIP_EXPANSION
        if n_most < n_promised:
            content.fail_length(f"at most {n_most:,}", header.promise, CUT_OFF)
    elif n_stored != n_promised:
        verdict = CUT_OFF if n_stored < n_promised else TOO_LONG
        content.fail_length(f"{n_stored:,}", header.promise, verdict)
    available = available_memory()
    if available is not None and header.n_data_bytes > available:
        content.fail(
            f"{header.n_data_bytes:,} bytes for {header}, expected at most the {available:,} bytes "
            "of memory that are free"
        )


def _allocate(content: _Content, header: _Header) -> NDArray[Any]:
    try:
        return np.empty(header.shape, header.stored.newbyteorder("="))
    except (ValueError, MemoryError) as error:
        content.fail(f"{header} cannot be held as one array: {str(error).rstrip('.')}")


def _gzip_fault(error: Exception) -> str:
    # The file did start as gzip, so what is not gzip is what follows its end.
    if str(error).startswith("Not a gzipped file"):
        return "something else follows its end"
    return str(error)


def _native(code: int) -> np.dtype[Any]:
    return ELEMENT_TYPES[code].newbyteorder("=")
