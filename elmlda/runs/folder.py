"""A run's folder, open for one writer: rows are on disk before the next result is waited for.

A job's rows go in one write and are the mark that it is done: what it keeps is on disk before them. A
torn last line (the process was killed, the power failed) is dropped when the run goes on.
"""

from __future__ import annotations

import csv
import errno
import io
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import filelock
import pandas as pd

from elmlda.errors import ElmldaError
from elmlda.files import TEMPORARY, explain_refusal, sync_folder, write_atomically
from elmlda.runs.kept import KEPT
from elmlda.runs.manifest import Identity, list_tables, require_same_run, write_manifest

LOCK = ".lock"


@dataclass(frozen=True)
class Run:
    """A run's folder, locked for writing."""

    folder: Path
    machine: int
    """The number of this machine in the manifest."""

    def rows(self, table: str) -> pd.DataFrame:
        """All rows of a table so far."""
        return read_rows(self.folder / table)

    def append(self, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Add rows in one write; when this returns, they are on disk. If it fails, nothing changed."""
        path = self.folder / table
        with explain_refusal(path), path.open("ab", 0) as file:
            size = file.tell()
            content = _as_csv(rows, with_header=size == 0)
            try:
                if file.write(content) < len(content):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fsync(file.fileno())
            except OSError:
                file.truncate(size)
                raise
            if size == 0:
                sync_folder(self.folder)

    def replace(self, table: str, rows: pd.DataFrame) -> None:
        """Write these rows and no others; the file is the old one or the new one, never half."""
        plain: Any = rows.astype(object).where(rows.notna(), None).to_dict("records")
        content = _as_csv(plain)
        path = self.folder / table
        if not path.exists() or path.read_bytes() != content:
            write_atomically(path, content)


@contextmanager
def open_run(
    folder: Path, identity: Identity, command: str, machine: Mapping[str, Any]
) -> Iterator[Run]:
    """Lock the folder, which is made if it does not exist; another configuration is refused."""
    require_same_run(folder, identity)
    with explain_refusal(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with lock_folder(folder):
        require_same_run(folder, identity)
        for place in (folder, folder / KEPT):
            for left_over in place.glob(f"{TEMPORARY}*"):
                left_over.unlink()
        for path in list_tables(folder):
            _cut_torn_line(path)
        yield Run(folder, write_manifest(folder, identity, command, machine))


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """One process at a time writes a folder."""
    lock = filelock.FileLock(folder / LOCK)
    with explain_refusal(folder / LOCK):
        try:
            lock.acquire(timeout=0)
        except filelock.Timeout:
            raise ElmldaError(
                f"{folder} is being written by another elmlda.",
                "Wait for it, or use another {out}.",
                out=None,
            ) from None
    try:
        yield
    finally:
        lock.release()


def read_rows(path: Path) -> pd.DataFrame:
    """The whole rows of a table; an empty DataFrame if there is no such file."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return pd.DataFrame()
    except OSError as error:
        raise ElmldaError(f"{path}: cannot be read: {error.strerror or error}.") from error
    whole = content[: content.rfind(b"\n") + 1]
    if not whole:
        return pd.DataFrame()
    try:
        return pd.read_csv(io.BytesIO(whole), keep_default_na=False, na_values=[""])
    except (ValueError, UnicodeError) as error:
        raise ElmldaError(
            f"{path}: not a table that elmlda wrote ({error}).",
            "Restore it, or use another {out} for a new run.",
            out=None,
        ) from error


def _cut_torn_line(path: Path) -> None:
    """Cut off what follows the last line break."""
    with explain_refusal(path), path.open("r+b") as file:
        content = file.read()
        if not content.endswith(b"\n"):
            file.truncate(content.rfind(b"\n") + 1)


def _as_csv(rows: Sequence[Mapping[str, Any]], *, with_header: bool = True) -> bytes:
    """Rows with the columns of the first; floats with six digits, None empty."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    if with_header and rows:
        writer.writerow(rows[0])
    writer.writerows([_as_cell(value) for value in row.values()] for row in rows)
    return out.getvalue().encode()


def _as_cell(value: Any) -> Any:
    if isinstance(value, float):
        return f"{value:.6g}"
    return "" if value is None else value
