"""Files that are there whole or not at all, and errors that say which file and what to do."""

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
"""What numpy.load raises for a file that is torn, encrypted, or none of its own."""
TEMPORARY = ".elmlda-"
"""Prefix of temporary files."""
RESUMES = (
    "What was recorded before is safe: mend the cause and run the same command again, or use another "
    "{out}."
)
NO_FOLDER = "Its folder is not there: restore it and run the same command again, or use another {out}."


@contextmanager
def explain_refusal(path: Path, advice: str = RESUMES) -> Iterator[None]:
    """Turn the system's refusal to write into an error that says where and what to do."""
    try:
        yield
    except OSError as error:
        # Where the folder is gone, what was recorded in it is not safe.
        is_gone = error.errno in (errno.ENOENT, errno.ENOTDIR) and advice == RESUMES
        fact = f"{path}: cannot be written: {error.strerror or error}."
        raise ElmldaError(fact, NO_FOLDER if is_gone else advice, out=None) from error


def write_atomically(
    path: Path, content: bytes, advice: str = RESUMES, *, replace: bool = True
) -> None:
    """Write a file so that it is there whole, or not at all; without `replace` it must be new."""
    temporary = path.with_name(f"{TEMPORARY}{secrets.token_hex(8)}")
    with explain_refusal(path, advice):
        try:
            with temporary.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            if replace:
                temporary.replace(path)
            else:
                path.hardlink_to(temporary)
        except FileExistsError:
            fact = f"{path} is there already."
            raise ElmldaError(fact, "Use {force} to replace it.", force=None) from None
        finally:
            with suppress(OSError):
                temporary.unlink()
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Sync the folder's entries, the names of its files, to disk, where the system can."""
    with suppress(PermissionError):  # as Windows answers
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
