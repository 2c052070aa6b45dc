"""Write files atomically, with errors that name the file and say what to do."""

from __future__ import annotations

import errno
import os
import secrets
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from elmlda.errors import ElmldaError

NOT_ARRAYS = (ValueError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error)
"""Errors that numpy.load raises for a file that is torn, encrypted or not one of numpy's."""
TEMPORARY = ".elmlda-"
"""Prefix of temporary files."""
RESUMES = (
    "Recorded results are safe: remove the cause and run the same command again, or use another {out}."
)
NO_FOLDER = "The folder is gone: restore it and run the same command again, or use another {out}."


@contextmanager
def explain_refusal(path: Path, advice: str = RESUMES) -> Iterator[None]:
    """Turn the system's refusal to write into an error that names the file and says what to do."""
    try:
        yield
    except OSError as error:
        # If the folder is gone, the results recorded in it are not safe.
        is_gone = error.errno in (errno.ENOENT, errno.ENOTDIR) and advice == RESUMES
        fact = f"{path}: cannot be written: {error.strerror or error}."
        raise ElmldaError(fact, NO_FOLDER if is_gone else advice, out=None) from error


def write_atomically(path: Path, content: bytes, advice: str = RESUMES) -> None:
    """Write a whole file or nothing."""
    temporary = path.with_name(f"{TEMPORARY}{secrets.token_hex(8)}")
    with explain_refusal(path, advice):
        try:
            with temporary.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            with suppress(OSError):
                temporary.unlink()
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Sync the names of a folder's files to disk, if the system can."""
    with suppress(PermissionError):  # as on Windows
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
