"""Files that are there whole or not at all, and errors that say which file and what to do."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from elmlda.errors import ElmldaError

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
        raise ElmldaError(
            f"{path}: cannot be written: {error.strerror or error}.",
            NO_FOLDER if is_gone else advice,
            out=None,
        ) from error


def write_atomically(
    path: Path, content: bytes, advice: str = RESUMES, *, replace: bool = True
) -> None:
    """Write a file so that it is there whole, or not at all; it has the permissions of a new file.

    With `replace=False` a file that is there already stays, and FileExistsError is raised.
    """
    with explain_refusal(path, advice):
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=TEMPORARY)
        temporary = Path(name)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            temporary.chmod(0o666 & ~_find_umask())
            if replace:
                temporary.replace(path)
            else:
                _link(temporary, path)
        finally:
            with suppress(OSError):
                temporary.unlink()
        sync_folder(path.parent)


def _link(temporary: Path, path: Path) -> None:
    try:
        path.hardlink_to(temporary)
    except FileExistsError:
        raise ElmldaError(
            f"{path} is there already.", "Use {force} to replace it.", force=None
        ) from None


def _find_umask() -> int:
    umask = os.umask(0o077)
    os.umask(umask)
    return umask


def sync_folder(folder: Path) -> None:
    """Sync the folder's entries, the names of its files, to disk, where the system can."""
    with suppress(PermissionError):  # as Windows answers
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
