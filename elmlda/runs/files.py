"""Files that are whole or not there: atomic writes, one writer to a folder, no symbolic links."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

from elmlda.datasets.content import TEMPORARY, explain_reading, open_input, open_whole
from elmlda.errors import ElmldaError

LOCK = ".lock"
RESUMES = (
    "What was recorded before is safe: mend the cause and run the same command again, or use another "
    "{out}."
)
NO_FOLDER = "Its folder is not there: restore it and run the same command again, or use another {out}."


def write_atomically(path: Path, content: bytes, advice: str = RESUMES, is_new: bool = False) -> None:
    """Write a file so that it is there whole, or not at all; `advice` is what to do if it is not.

    It is an `ElmldaError`'s, and may have {out} in it. A new file must not be there already.
    """
    with explain_refusal(path, advice):
        with open_whole(path, is_new) as file:
            file.write(content)
        sync_folder(path.parent)


@contextmanager
def explain_refusal(path: Path, advice: str = RESUMES) -> Iterator[None]:
    """Turn the system's refusal to write into an error that says where and what to do."""
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error)
        if error.errno == errno.ELOOP:
            why = "a symbolic link, and elmlda writes through none"
        # Where the folder is gone, what was recorded in it is not safe.
        is_gone = error.errno in (errno.ENOENT, errno.ENOTDIR) and advice == RESUMES
        raise ElmldaError(
            f"{path}: cannot be written: {why}.", NO_FOLDER if is_gone else advice, out=None
        ) from error


def read_if_there(path: Path, expected: str) -> bytes | None:
    """A file's content, None if there is no such file; pipes and devices are refused."""
    with explain_reading(path):
        if not path.exists():
            return None
    with open_input(path, expected) as file:
        return file.read()


def make_folder(folder: Path) -> None:
    """Make a folder, and those that it is in, unless it is there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ElmldaError(
            f"{folder}: cannot be made: {error.strerror or error}.", "Use another {out}.", out=None
        ) from error


def sync_folder(folder: Path) -> None:
    """Sync the folder's entries, the names of its files, to disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def open_no_link(path: str, flags: int) -> int:
    """Open a file, but not through a symbolic link, which may lead out of the folder."""
    return os.open(path, flags | os.O_NOFOLLOW, 0o666)


def unlink_others(path: Path) -> None:
    """Make the file a copy if it has other hard links (`cp -al`): those keep theirs."""
    with suppress(FileNotFoundError):
        if path.lstat().st_nlink > 1:
            write_atomically(path, path.read_bytes())


def lock_folder(folder: Path) -> IO[str]:
    """Lock the folder for this process until the file is closed; an error if another one has it."""
    path = folder / LOCK
    with explain_refusal(path), ExitStack() as stack:
        file = stack.enter_context(open(path, "a+", encoding="ascii", opener=open_no_link))
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = file.read().strip() or "unknown"
            raise ElmldaError(
                f"{folder} is being written by another elmlda (process {holder}).",
                "Wait for it, or use another {out}.",
                out=None,
            ) from None
        if os.fstat(file.fileno()).st_nlink > 1:  # a hard-linked copy must not be locked, too
            path.unlink()
            return lock_folder(folder)
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        stack.pop_all()  # stays open
    return file


def find_left_overs(folder: Path) -> list[Path]:
    """Temporary files of a process that was killed."""
    posteriors = folder / "posteriors"
    places = [folder] if posteriors.is_symlink() else [folder, posteriors]
    return [path for place in places for path in place.glob(f"{TEMPORARY}*") if path.is_file()]
