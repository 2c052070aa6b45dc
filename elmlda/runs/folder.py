"""A run's folder: one process writes to it, and rows are on disk before the next job is waited for.

The rows of a job are written at once. They mark the job as done, so the arrays that the job keeps are
on disk before them. A torn last line, left by a killed process or a power failure, is dropped when the
run continues.

`manifest.json` records the options that the rows depend on: in `run` those that all experiments of the
folder share, in `experiments` those of one experiment. Defaults are left out, so an option that is
added later can have a default that breaks no old run. `commands` and `machines` say what computed the
rows.
"""

from __future__ import annotations

import csv
import errno
import io
import json
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path
from typing import Any

import filelock
import pandas as pd

from elmlda import __version__
from elmlda.errors import ElmldaError, printable
from elmlda.runs.tables import Table, format_cell

SCHEMA = 4
MANIFEST = "manifest.json"
LOCK = ".lock"
KEPT = "kept"
"""Subfolder of the arrays that a run keeps, see `elmlda.runs.kept`."""
TEMPORARY = ".elmlda-"
"""Prefix of temporary files."""
RESTORE = "Restore it, or use another {out} for a new run."


@dataclass(frozen=True)
class Run:
    """A run's folder; `open_run` locks it for writing."""

    folder: Path
    machine: int = 0
    """Number of this machine in the manifest."""

    def append(self, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
        """Append rows in one write; they are on disk when this returns. A failed write changes nothing.

        A torn last line, which a kill left, is dropped first. Columns that a row lacks stay empty. A
        column that the table does not have is refused with a ValueError.
        """
        path = self.folder / f"{table.name}.csv"
        own = {"machine": self.machine} if "machine" in table.names else {}
        with explain_refusal(path), path.open("a+b", 0) as file:
            size, out = _drop_torn_line(file), io.StringIO()
            writer = csv.DictWriter(out, table.names, lineterminator="\n")
            if size == 0:
                writer.writeheader()
            for row in rows:
                writer.writerow({name: format_cell(value) for name, value in {**row, **own}.items()})
            content = out.getvalue().encode()
            try:
                if file.write(content) < len(content):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fsync(file.fileno())
            except OSError:
                file.truncate(size)
                raise
            if size == 0:
                sync_folder(self.folder)


@contextmanager
def open_run(
    folder: Path, identity: Identity, command: Mapping[str, Any], machine: Mapping[str, Any]
) -> Iterator[Run]:
    """Lock a run's folder, which is made if it does not exist; refuse another configuration.

    The manifest gets `command` and `machine`, which say what computes the rows.
    """
    with explain_refusal(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with explain_refusal(folder / LOCK):
        try:
            lock = filelock.FileLock(folder / LOCK).acquire(timeout=0)
        except filelock.Timeout:
            fact = f"another elmlda is writing to {folder}."
            raise ElmldaError(fact, "Wait for it, or use another {out}.", out=None) from None
    with lock:
        empty = {"schema": SCHEMA, "run": {}, "experiments": {}, "commands": [], "machines": []}
        manifest = {**empty, **(require_same_run(folder, identity) or {}), "run": identity.run}
        for left_over in (*folder.glob(f"{TEMPORARY}*"), *(folder / KEPT).rglob(f"{TEMPORARY}*")):
            left_over.unlink()
        manifest["experiments"][identity.experiment] = identity.own
        if machine not in manifest["machines"]:
            manifest["machines"].append(machine)
        number: int = manifest["machines"].index(machine)
        entry = {**command, "version": __version__, "machine": number}
        if entry not in manifest["commands"]:
            manifest["commands"].append(entry)
        text = json.dumps(manifest, indent=2, ensure_ascii=False)
        write_atomically(folder / MANIFEST, f"{text}\n".encode())
        yield Run(folder, number)


def read_rows(folder: Path, table: Table) -> pd.DataFrame:
    """Read the whole rows of a table; none if the file does not exist."""
    path = folder / f"{table.name}.csv"
    try:
        content = path.read_bytes() if path.exists() else b""
        whole = content[: _count_whole_lines(content)] or ",".join(table.names).encode()
        rows = pd.read_csv(io.BytesIO(whole), keep_default_na=False, na_values=[""])
        if strange := sorted({*rows} ^ {*table.names}):
            raise ValueError(f"columns {', '.join(strange)} are missing or too many")
        numbers = [column.name for column in table.columns if column.kind is not str]
        rows[numbers] = rows[numbers].apply(pd.to_numeric) if len(rows) else rows[numbers].astype(float)
    except (OSError, ValueError) as error:
        fact = f"{path}: not a table that elmlda wrote ({str(error).strip()[:200]})."
        raise ElmldaError(fact, RESTORE, out=None) from error
    return rows


def _drop_torn_line(file: FileIO) -> int:
    """Truncate a file after its last line break; return its size."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 1))
    if file.read(1) not in (b"", b"\n"):
        file.seek(0)
        size = file.truncate(_count_whole_lines(file.readall()))
    return size


def _count_whole_lines(content: bytes) -> int:
    """Return the number of bytes up to the last line break; a torn line may follow."""
    return content.rfind(b"\n") + 1


# manifest.json


@dataclass(frozen=True)
class Identity:
    """Everything that an experiment's rows depend on; a folder has one configuration only."""

    experiment: str
    run: Mapping[str, Any]
    """Data, seed and options of the networks, which all experiments of a folder share."""
    own: Mapping[str, Any]
    """Options of this experiment that its rows depend on."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Defaults of all these options, which a manifest does not name."""


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """Read the folder's manifest; None if there is none."""
    path = folder / MANIFEST
    try:
        manifest = json.loads(path.read_bytes())
        schema = manifest["schema"]
        if not all(isinstance(manifest[name], dict) for name in ("run", "experiments")):
            raise TypeError("sections are missing")
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError) as error:
        reason = f"{type(error).__name__}: {str(error)[:200]}"
        fact = f"{path}: not a manifest that elmlda wrote ({reason})."
        raise ElmldaError(fact, RESTORE, out=None) from error
    if schema != SCHEMA:
        fact = f"{path}: schema {schema!r:.40}, this elmlda reads and writes schema {SCHEMA}."
        advice = "Continue it with the version that made it, or use another {out} for a new run."
        raise ElmldaError(fact, advice, out=None)
    if "design" in manifest["run"]:  # versions before 0.2.0 had it there
        sweep = manifest["experiments"].setdefault("sweep", {})
        sweep["design"] = manifest["run"].pop("design")
    return dict(manifest)


def require_same_run(folder: Path, identity: Identity) -> dict[str, Any] | None:
    """Return the manifest of the run to continue; refuse another configuration.

    Without rows and kept networks there is no run to continue: a run that failed at once may start
    again with other options.
    """
    manifest, path = read_manifest(folder), folder / f"{identity.experiment}.csv"
    if manifest is None and path.exists():
        fact = f"{path} has no {MANIFEST} beside it that says how its rows were computed."
        raise ElmldaError(fact, RESTORE, out=None)
    if manifest is None:
        return None
    has_rows = any((folder / f"{name}.csv").exists() for name in manifest["experiments"])
    if not has_rows and not any((folder / KEPT).rglob("[0-9]*.npz")):
        return None
    run, own, defaults = json.loads(json.dumps((identity.run, identity.own, identity.defaults)))
    # An experiment without rows may start again with other options of its own.
    recorded = manifest["experiments"].get(identity.experiment, own) if path.exists() else own
    before, now = (
        {**defaults, **shared} for shared in ({**manifest["run"], **recorded}, {**run, **own})
    )
    differing = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    if "sha256" in differing:
        fact, advice = f"{folder} was made with other data.", "Use the same data to continue it"
    elif differing:
        old, new = (", ".join(_show(options, name) for name in differing) for options in (before, now))
        fact = f"{folder} was made with {old}; this command has {new}."
        advice = "Use the same settings to continue it"
    else:
        return manifest
    raise ElmldaError(fact, f"{advice}, or another {{out}} for a new run.", out=None)


def _show(options: Mapping[str, Any], name: str) -> str:
    if options.get(name) is None:
        return f"{name} not set"
    text = json.dumps(options[name], ensure_ascii=False).strip('"')
    return f"{name} {printable(text, 60)}"


# Files


@contextmanager
def explain_refusal(path: Path) -> Iterator[None]:
    """Turn the system's refusal to write into an error that names the file and says what to do."""
    try:
        yield
    except OSError as error:
        fact = f"{path}: cannot be written: {error.strerror or error}."
        raise ElmldaError(f"{fact} Remove the cause and run the same command again.") from error


def write_atomically(path: Path, content: bytes) -> None:
    """Write the whole file or nothing."""
    temporary = path.with_name(f"{TEMPORARY}{secrets.token_hex(8)}")
    with explain_refusal(path):
        try:
            with temporary.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Sync the names of a folder's files to disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
