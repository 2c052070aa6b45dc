"""The content of a file, raw or gzip, read once, hashed on the way, and only if it has room."""

import gzip
import hashlib
import io
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from elmlda.errors import ElmldaError

GZIP_MAGIC = b"\x1f\x8b"
# Deflate spends at least two bits on each run of 258 bytes: no gzip file expands further.
MAX_GZIP_EXPANSION = 1032
# Bounds what zlib hands over at once.
STEP_BYTES = 1 << 20
CUT_OFF = "the file is cut off"


class Content:
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

    def take_all(self, n_most: int | None) -> bytes:
        """Read to the end; more than `n_most` bytes are refused."""
        parts: list[bytes] = []
        while part := self.take(STEP_BYTES):
            parts.append(part)
            if n_most is not None and self.n_read > n_most:
                unpacked = " after decompression" if self.is_gzip else ""
                self.fail(
                    f"more than {n_most:,} bytes{unpacked}, which is what the free memory leaves "
                    "room for"
                )
        return b"".join(parts)

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


@contextmanager
def open_content(path: Path, expected: str) -> Iterator[Content]:
    """Open a file to read its content; an error names it, and what was expected there."""
    with open_input(path, expected) as file:
        yield Content(path, file)


@contextmanager
def open_input(path: Path, expected: str) -> Iterator[io.BufferedReader]:
    """Open a regular file to read: the one way in which data, models and images are opened.

    Folders, pipes and devices are refused, never waited for. Whatever the system has against the
    path, or against reading it, is an error of one line that names it.
    """
    with explain_reading(path):
        # Without O_NONBLOCK a pipe would wait for someone to write into it.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            _require_regular(path, os.fstat(descriptor).st_mode, expected)
        except BaseException:
            os.close(descriptor)
            raise
    with explain_system(path), os.fdopen(descriptor, "rb") as file:
        yield file


@contextmanager
def explain_system(path: object) -> Iterator[None]:
    """Turn the system's refusal to read a file or folder into an error that names it."""
    try:
        yield
    except OSError as error:
        raise ElmldaError(f"{path}: cannot be read: {error.strerror or error}.") from error


@contextmanager
def explain_reading(path: object) -> Iterator[None]:
    """The same where a path is used for the first time: it may also be none at all."""
    try:
        with explain_system(path):
            yield
    except (ValueError, RuntimeError) as error:  # NUL or unknown characters; a home that is not there
        if isinstance(error, ElmldaError):
            raise
        raise ElmldaError(f"{path}: not a path: {error}.") from error


def _require_regular(path: Path, mode: int, expected: str) -> None:
    if stat.S_ISDIR(mode):
        raise ElmldaError(f"{path}: a folder, expected {expected}.")
    if not stat.S_ISREG(mode):
        raise ElmldaError(f"{path}: a pipe or device, expected {expected}.")


def _gzip_fault(error: Exception) -> str:
    # The file did start as gzip, so what is not gzip is what follows its end.
    if str(error).startswith("Not a gzipped file"):
        return "something else follows its end"
    return str(error)
