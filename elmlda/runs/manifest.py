"""manifest.json: the settings that all results of a run depend on, and how it was made.

`run` has what every experiment of the folder shares, as far as it is not the default, `experiments`
what each has of its own. So a setting that is added later, with a default that changes nothing, breaks
no old run. `commands` and `machines` tell who computed the rows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from elmlda.errors import ElmldaError
from elmlda.files import write_atomically
from elmlda.runs.kept import list_kept
from elmlda.version import __version__

SCHEMA = 4
MANIFEST = "manifest.json"
TABLES = ("sweep.csv", "ensemble.csv", "draws.csv", "timing.csv")
"""Files of rows; other CSV files in a folder are the user's."""


@dataclass(frozen=True)
class Identity:
    """What an experiment's rows depend on; a folder that was made with something else is refused."""

    experiment: str
    run: Mapping[str, Any]
    """Data, seed and the network's settings, the same for all experiments of a folder."""
    own: Mapping[str, Any]
    """The experiment's own settings that must stay when it goes on."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """What settings are that are not there, for messages."""


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
        raise ElmldaError(
            f"{path}: not a manifest that elmlda wrote ({type(error).__name__}: {str(error)[:200]}).",
            "Restore it, or use another {out} for a new run.",
            out=None,
        ) from error
    if schema != SCHEMA:
        raise ElmldaError(
            f"{path}: schema {schema!r:.40}, this elmlda reads and writes schema {SCHEMA}.",
            "Continue it with the version that made it, or use another {out} for a new run.",
            out=None,
        )
    return dict(manifest)


def list_tables(folder: Path) -> list[Path]:
    """The folder's files of rows."""
    return [folder / name for name in TABLES if (folder / name).exists()]


def has_results(folder: Path) -> bool:
    """Whether anything was computed: networks are kept before there are rows."""
    return bool(list_tables(folder) or list_kept(folder))


def require_same_run(folder: Path, identity: Identity) -> None:
    """Refuse to go on with a run of another configuration, and name the settings that differ."""
    manifest = read_manifest(folder)
    table = folder / f"{identity.experiment}.csv"
    if manifest is None:
        if table.exists():
            raise ElmldaError(
                f"{table} is there without {MANIFEST}, so nobody knows how it was made.",
                "Restore that file, or use another {out} for a new run.",
                out=None,
            )
        return
    if not has_results(folder):
        return  # a run that failed at once may start again with other settings
    own = manifest["experiments"].get(identity.experiment, _as_json(identity.own))
    was, now = {**manifest["run"], **own}, _as_json({**identity.run, **identity.own})
    if differing := [key for key in {**was, **now} if was.get(key) != now.get(key)]:
        known = identity.defaults
        raise _explain_difference(folder, differing, {**known, **was}, {**known, **now})


def _explain_difference(
    folder: Path, names: list[str], was: Mapping[str, Any], now: Mapping[str, Any]
) -> ElmldaError:
    """The settings that differ."""
    if "sha256" in names:
        fact, advice = f"{folder} was made with other data.", "Use the same data to continue it"
    else:
        old, new = (", ".join(f"{key} {_show(each, key)}" for key in names) for each in (was, now))
        fact = f"{folder} was made with {old}; this command has {new}."
        advice = "Use the same settings to continue it"
    return ElmldaError(fact, f"{advice}, or another {{out}} for a new run.", out=None)


def _show(settings: Mapping[str, Any], key: str) -> str:
    if settings.get(key) is None:
        return "not set"
    text = json.dumps(settings[key], ensure_ascii=False).strip('"')
    return text if len(text) <= 60 else f"{text[:57]}…"


def write_manifest(folder: Path, identity: Identity, command: str, machine: Mapping[str, Any]) -> int:
    """Add the experiment, the command and the machine to the manifest; the machine's number."""
    old = read_manifest(folder)
    if old is None or not has_results(folder):
        old = {"experiments": {}, "commands": [], "machines": []}
    machines = _with(old["machines"], _as_json(machine))
    number = machines.index(_as_json(machine))
    entry = {"command": command, "version": __version__, "machine": number}
    manifest = {
        "schema": SCHEMA,
        "run": _as_json(identity.run),
        "experiments": {**old["experiments"], identity.experiment: _as_json(identity.own)},
        "commands": _with(old["commands"], entry),
        "machines": machines,
    }
    if manifest != read_manifest(folder):
        text = json.dumps(manifest, indent=2, ensure_ascii=False)
        write_atomically(folder / MANIFEST, f"{text}\n".encode())
    return number


def _with(known: list[Any], value: Any) -> list[Any]:
    return known if value in known else [*known, value]


def _as_json(value: Any) -> Any:
    """As it will be when it is read back."""
    return json.loads(json.dumps(value))
