"""Files of data: opened in one way, read once, raw or gzip, and hashed on the way."""

import gzip
import hashlib
import io
import os
import secrets
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NoReturn

from elmlda.errors import ElmldaError
from elmlda.machine import available_memory

GZIP_MAGIC = b"\x1f\x8b"
# Deflate spends at least two bits on each run of 258 bytes: no gzip file expands further.
MAX_GZIP_EXPANSION = 1032
# Bounds what zlib hands over at once.
STEP_BYTES = 1 << 20
CUT_OFF = "the file is cut off"
TEMPORARY = ".elmlda-"
"""Prefix of temporary files."""


class HashedStream:
    """A stream that counts and hashes what is read from it."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream  # whatever has `readinto`
        self._hash = hashlib.sha256()
        self.n_read = 0

    @property
    def sha256(self) -> str:
        """Of what has been read so far."""
        return self._hash.hexdigest()

    def fill(self, buffer: memoryview) -> int:
        """Read until the buffer is full or the stream ends; return the number of bytes read."""
        n_filled = 0
        while n_new := self._read_into(buffer[n_filled : n_filled + STEP_BYTES]):  # 0 if it is full
            self._hash.update(buffer[n_filled : n_filled + n_new])
            n_filled += n_new
            self.n_read += n_new
        return n_filled

    def read(self, n_bytes: int) -> bytes:
        """Read so many bytes, or fewer where the stream ends."""
        buffer = bytearray(n_bytes)
        return bytes(buffer[: self.fill(memoryview(buffer))])

    def _read_into(self, buffer: memoryview) -> int:
        return int(self._stream.readinto(buffer))


class Content(HashedStream):
    """The content of a file after decompression."""

    def __init__(self, path: Path, file: io.BufferedReader) -> None:
        self.path = path
        self.n_stored = os.fstat(file.fileno()).st_size
        self.is_gzip = file.read(2) == GZIP_MAGIC
        file.seek(0)
        super().__init__(gzip.GzipFile(fileobj=file) if self.is_gzip else file)

    def read_all(self, n_most: int | None = None) -> bytes:
        """Read to the end; more than `n_most` bytes are refused."""
        parts: list[bytes] = []
        while part := self.read(STEP_BYTES):
            parts.append(part)
            if n_most is not None and self.n_read > n_most:
                self.fail(
                    f"more than {n_most:,} bytes{self._unpacked}, which is what the free memory leaves "
                    "room for"
                )
        return b"".join(parts)

    def fail(self, what: str) -> NoReturn:
        """Raise an error that names the file."""
        raise ElmldaError(f"{self.path}: {what}.") from None

    def fail_length(self, found: str, expected: str, verdict: str) -> NoReturn:
        """Raise an error for content of the wrong length."""
        self.fail(f"{found} bytes{self._unpacked}, expected {expected}: {verdict}")

    @property
    def _unpacked(self) -> str:
        return " after decompression" if self.is_gzip else ""

    def _read_into(self, buffer: memoryview) -> int:
        try:
            return super()._read_into(buffer)
        except EOFError:
            self.fail(f"the gzip data stop after {self.n_read:,} bytes of content: {CUT_OFF}")
        except (gzip.BadGzipFile, zlib.error) as error:
            # The file did start as gzip, so what is not gzip is what follows its end.
            is_after = str(error).startswith("Not a gzipped file")
            self.fail(f"broken gzip data: {'something else follows its end' if is_after else error}")


@contextmanager
def open_content(path: Path, expected: str) -> Iterator[Content]:
    """Open a file to read its content; an error names it, and what was expected there."""
    with open_input(path, expected) as file:
        yield Content(path, file)


@contextmanager
def open_input(path: Path, expected: str) -> Iterator[io.BufferedReader]:
    """Open a regular file to read: the one way in which data, models and images are opened.

    Folders, pipes and devices are refused, never waited for. Errors of the system name the path.
    """

    def open_regular(name: str, flags: int) -> int:
        # Without O_NONBLOCK a pipe would wait for someone to write into it.
        descriptor = os.open(name, flags | os.O_NONBLOCK)
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            os.close(descriptor)
            kind = "a folder" if stat.S_ISDIR(mode) else "a pipe or device"
            raise ElmldaError(f"{path}: {kind}, expected {expected}.")
        return descriptor

    with explain_reading(path):
        opened = open(path, "rb", opener=open_regular)  # noqa: SIM115
    with _explain_system(path), opened as file:
        yield file


@contextmanager
def explain_reading(path: object) -> Iterator[None]:
    """Turn the system's refusal to read a file or folder into an error that names it.

    The path may also be none at all: one with NUL characters, or of a home that is not there.
    """
    try:
        with _explain_system(path):
            yield
    except (ValueError, RuntimeError) as error:
        if isinstance(error, ElmldaError):
            raise
        raise ElmldaError(f"{path}: not a path: {error}.") from error


@contextmanager
def _explain_system(path: object) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ElmldaError(f"{path}: cannot be read: {error.strerror or error}.") from error


@contextmanager
def open_whole(path: Path, is_new: bool = False) -> Iterator[IO[bytes]]:
    """Open a file to write that is there whole, on disk, or not at all; a new one replaces none."""
    # Not by tempfile, whose files are the owner's alone: here the umask says who may read them.
    temporary = path.with_name(f"{TEMPORARY}{secrets.token_hex(8)}")
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if is_new:
            path.open("xb").close()  # only one of several processes gets the name
        os.replace(temporary, path)  # noqa: PTH105
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def require_memory(where: object, n_bytes: int, what: str = "") -> None:
    """Refuse what would take more bytes than are free."""
    available = available_memory()
    if available is not None and n_bytes > available:
        raise ElmldaError(
            f"{where}: {n_bytes:,} bytes{what}, expected at most the {available:,} bytes of memory "
            "that are free."
        )


def require_original(path: Path, found: str, expected: str | None) -> None:
    """Refuse content that has another checksum than a known set's."""
    if expected not in (None, found):
        raise ElmldaError(
            f"{path}: SHA-256 {found}, expected {expected}: the content is not the original."
        )
