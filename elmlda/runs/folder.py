"""A run's folder, open for one writer: rows are on disk before the next result is waited for.

A job's rows go in one write and are the mark that it is done: what it keeps is on disk before them. A
torn last line (the process was killed, the power failed) is dropped when the run goes on.

manifest.json has the settings that all results of a run depend on, and how it was made:
`run` has what every experiment of the folder shares, as far as it is not the default, `experiments`
what each has of its own. So a setting that is added later, with a default that changes nothing, breaks
no old run. `commands` and `machines` tell who computed the rows.
"""

from __future__ import annotations

import csv
import errno
import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import filelock
import pandas as pd

from elmlda import __version__
from elmlda.errors import ElmldaError, printable
from elmlda.files import TEMPORARY, explain_refusal, sync_folder, write_atomically
from elmlda.runs.kept import KEPT, list_kept

SCHEMA = 4
MANIFEST = "manifest.json"
TABLES = {
    "sweep": "repeat fold n_hidden fanout rule ridge pi_errors pi_constant_errors lda_errors n_test "
    "log_loss brier calibration_error temperature tempered_log_loss tempered_brier "
    "tempered_calibration_error seconds precision machine",
    "ensemble": "repeat size errors n_test log_loss brier calibration_error tempered_errors "
    "tempered_log_loss tempered_brier tempered_calibration_error machine",
    "draws": "size left_out draws errors",
    "timing": "pair position fanout n_hidden method cpu_seconds seconds test_seconds "
    "hidden_seconds precision machine",
}
"""Files of rows, without .csv -> their columns; other CSV files in a folder are the user's."""
WORDS = {"rule", "method", "precision"}
"""Columns whose values are no numbers."""
RESTORE = "Restore it, or use another {out} for a new run."
LOCK = ".lock"


@dataclass(frozen=True)
class Run:
    """A run's folder, locked for writing."""

    folder: Path
    machine: int
    """The number of this machine in the manifest."""

    def rows(self, table: str) -> pd.DataFrame:
        """All rows of a table so far, as they were computed."""
        return read_rows(self.folder / f"{table}.csv")

    def append(self, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Add rows in one write; when this returns, they are on disk. If it fails, nothing changed.

        Columns that a row lacks are empty; what the table has no column for is left out.
        """
        path = self.folder / f"{table}.csv"
        with explain_refusal(path), path.open("ab", 0) as file:
            size, out = file.tell(), io.StringIO()
            columns = TABLES[table].split()
            writer = csv.DictWriter(out, columns, extrasaction="ignore", lineterminator="\n")
            if size == 0:
                writer.writeheader()
            for row in rows:
                cells = {**row, "machine": self.machine}
                writer.writerow({name: _as_cell(value) for name, value in cells.items()})
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
    folder: Path, identity: Identity, command: str, machine: Mapping[str, Any]
) -> Iterator[Run]:
    """Lock the folder, which is made if it does not exist; another configuration is refused."""
    with explain_refusal(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with _lock(folder):
        require_same_run(folder, identity)
        for place in (folder, folder / KEPT):
            for left_over in place.glob(f"{TEMPORARY}*"):
                left_over.unlink()
        for path in filter(Path.exists, (folder / f"{name}.csv" for name in TABLES)):
            with explain_refusal(path), path.open("r+b") as file:
                file.truncate(_whole_lines(file.read()))
        yield Run(folder, write_manifest(folder, identity, command, machine))


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """One process at a time writes a folder."""
    lock = filelock.FileLock(folder / LOCK)
    with explain_refusal(folder / LOCK):
        try:
            lock.acquire(timeout=0)
        except filelock.Timeout:
            fact = f"{folder} is being written by another elmlda."
            raise ElmldaError(fact, "Wait for it, or use another {out}.", out=None) from None
    try:
        yield
    finally:
        lock.release()


def read_rows(path: Path) -> pd.DataFrame:
    """The whole rows of a table; none if there is no such file."""
    columns = TABLES[path.stem].split()
    try:
        content = path.read_bytes() if path.exists() else b""
        whole = content[: _whole_lines(content)] or ",".join(columns).encode()
        rows = pd.read_csv(io.BytesIO(whole), keep_default_na=False, na_values=[""])
        if strange := sorted({*rows} ^ {*columns}):
            raise ValueError(f"columns {', '.join(strange)} are missing or too many")
        for name in set(columns) - WORDS:
            rows[name] = pd.to_numeric(rows[name]) if len(rows) else rows[name].astype(float)
    except (OSError, ValueError) as error:
        fact = f"{path}: not a table that elmlda wrote ({str(error).strip()[:200]})."
        raise ElmldaError(fact, RESTORE, out=None) from error
    return rows


def _whole_lines(content: bytes) -> int:
    """Bytes up to the last line break; what follows is a torn line."""
    return content.rfind(b"\n") + 1


def _as_cell(value: Any) -> Any:
    """Fractions with six digits, NaN empty."""
    if not isinstance(value, float):
        return value
    return "" if value != value else f"{value:.6g}"


# manifest.json


@dataclass(frozen=True)
class Identity:
    """What an experiment's rows depend on; a folder that was made with something else is refused."""

    experiment: str
    run: Mapping[str, Any]
    """Data, seed and the network's settings, the same for all experiments of a folder."""
    own: Mapping[str, Any]
    """The experiment's own settings that must stay when it goes on."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Defaults of the settings, for messages: a manifest does not name them."""


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """The folder's manifest, None if it has none."""
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
    return dict(manifest)


def has_results(folder: Path) -> bool:
    """Whether anything was computed: networks are kept before there are rows."""
    return any((folder / f"{name}.csv").exists() for name in TABLES) or bool(list_kept(folder))


def require_same_run(folder: Path, identity: Identity) -> None:
    """Refuse to go on with a run of another configuration, and name the settings that differ."""
    manifest = read_manifest(folder)
    table = folder / f"{identity.experiment}.csv"
    if manifest is None and table.exists():
        fact = f"{table} is there without {MANIFEST}, so nobody knows how it was made."
        raise ElmldaError(fact, RESTORE, out=None)
    if manifest is None or not has_results(folder):
        return  # a run that failed at once may start again with other settings
    run, own = json.loads(json.dumps((identity.run, identity.own)))  # as manifests have them
    was, now = {**manifest["run"], **own}, {**run, **own}
    if table.exists():  # an experiment that has no row yet may start again with other settings
        was = {**manifest["run"], **manifest["experiments"].get(identity.experiment, own)}
    differing = [key for key in {**was, **now} if was.get(key) != now.get(key)]
    if "sha256" in differing:
        fact, advice = f"{folder} was made with other data.", "Use the same data to continue it"
    elif differing:
        settings = ({**identity.defaults, **each} for each in (was, now))
        old, new = (", ".join(_show(each, key) for key in differing) for each in settings)
        fact = f"{folder} was made with {old}; this command has {new}."
        advice = "Use the same settings to continue it"
    else:
        return
    raise ElmldaError(fact, f"{advice}, or another {{out}} for a new run.", out=None)


def _show(settings: Mapping[str, Any], key: str) -> str:
    if settings.get(key) is None:
        return f"{key} not set"
    text = json.dumps(settings[key], ensure_ascii=False).strip('"')
    return f"{key} {printable(text, 60)}"


def write_manifest(folder: Path, identity: Identity, command: str, machine: Mapping[str, Any]) -> int:
    """Add the experiment, the command and the machine to the manifest; the machine's number."""
    manifest = read_manifest(folder)
    if manifest is None or not has_results(folder):
        manifest = {"schema": SCHEMA, "run": {}, "experiments": {}, "commands": [], "machines": []}
    manifest["run"] = identity.run
    manifest["experiments"][identity.experiment] = identity.own
    if machine not in manifest["machines"]:
        manifest["machines"].append(machine)
    number: int = manifest["machines"].index(machine)
    entry = {"command": command, "version": __version__, "machine": number}
    if entry not in manifest["commands"]:
        manifest["commands"].append(entry)
    text = json.dumps(manifest, indent=2, ensure_ascii=False)
    write_atomically(folder / MANIFEST, f"{text}\n".encode())
    return number
