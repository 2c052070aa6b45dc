"""manifest.json: how a run was made, with its own SHA-256, so that a changed one is refused."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from elmlda.errors import ElmldaError
from elmlda.runs.files import read_if_there, write_atomically
from elmlda.version import __version__

SCHEMA = 3
OPTIONS = (
    "seed", "design", "activation", "weight_range", "ridge", "priors", "precision", "input_weights",
    "weight_norm", "min_field", "fanout", "n", "split_rows", "folds", "validation", "threads", "chunk",
)  # fmt: skip
"""Settings of a run that an option of the same name sets."""
MANIFEST = "manifest.json"
USE_THE_SAME = "Use the same settings to continue it, or another {out} for a new run."
USE_THAT = "Use {} to continue it, or another {out} for a new run."


@dataclass(frozen=True)
class Entry:
    """What a command adds to a run's manifest, or must find there."""

    experiment: str
    identity: Mapping[str, Any]
    """What makes the run's networks what they are: must equal the folder's."""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """The experiment's own settings that must equal the folder's too; None: not set."""
    extent: Mapping[str, Any] = field(default_factory=dict)
    """What may grow when a run goes on (the number of repeats, the list of sizes)."""
    machine: Mapping[str, Any] = field(default_factory=dict)
    """Where this part of the run is computed."""
    command: str = ""
    """As it was typed, or the Python call."""
    n_inputs: int = 0
    """Of the data, to name a fan-out instead of hidden units."""


def write_manifest(folder: Path, entry: Entry) -> dict[str, Any]:
    """Add the entry to the folder's manifest, which is returned."""
    new = merge_entry(folder, entry)
    if new != read_manifest(folder):
        signed = {**new, "sha256": _sha256(new)}
        content = json.dumps(signed, indent=2, ensure_ascii=False) + "\n"
        write_atomically(folder / MANIFEST, content.encode())
    return new


def merge_entry(folder: Path, entry: Entry) -> dict[str, Any]:
    """The folder's manifest with the entry added; the manifest of another run is refused."""
    entry = Entry(**json.loads(json.dumps(vars(entry))))  # as it will be when it is read back
    old = read_manifest(folder)
    _require_same_run(folder, old, entry)
    fresh = {"schema": SCHEMA, "elmlda": __version__, "run": entry.identity}
    new = dict(old if old and old["run"] == entry.identity else fresh)
    experiments = new.get("experiments", {})
    try:
        section = _grow(experiments.get(entry.experiment, {}), entry.extent)
    except TypeError as error:
        raise _not_a_manifest(folder / MANIFEST, error) from error
    section |= {key: value for key, value in entry.fixed.items() if value is not None}
    return {
        **new,
        "experiments": {**experiments, entry.experiment: section},
        "commands": _with(new.get("commands", []), entry.command),
        "machines": _with(new.get("machines", []), entry.machine),
    }


def _with(known: list[Any], value: Any) -> list[Any]:
    return known if value in known or not value else [*known, value]


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """The folder's manifest, None if it has none."""
    path = folder / MANIFEST
    try:
        content = read_if_there(path, "a run's manifest")
        if content is None:
            return None
        manifest = json.loads(content)
        schema, sha256 = manifest["schema"], manifest.pop("sha256", None)
        if schema != SCHEMA:
            raise ElmldaError(
                f"{path}: schema {schema!r:.40}, this elmlda reads and writes schema {SCHEMA}.",
                "Continue it with the version that made it, or use another {out} for a new run.",
                out=None,
            )
        if sha256 != _sha256(manifest):
            raise ValueError("it does not have its checksum: it was damaged or edited")
        _require_sections(manifest)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise _not_a_manifest(path, error) from error
    return dict(manifest)


def _require_sections(manifest: dict[str, Any]) -> None:
    """Refuse what is not what a manifest has: other keys, or other kinds of values."""
    if manifest.keys() != {"schema", "elmlda", "run", "experiments", "commands", "machines"}:
        raise KeyError(", ".join(manifest))
    experiments, commands, machines = (manifest[key] for key in ("experiments", "commands", "machines"))
    for section in (manifest["run"], experiments, *experiments.values(), *machines):
        if not isinstance(section, dict):
            raise TypeError("sections are missing")
    if not (isinstance(machines, list) and isinstance(commands, list)):
        raise TypeError("machines or commands are missing")
    if not all(isinstance(command, str) for command in commands):
        raise TypeError("a command is not text")


def _sha256(manifest: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()


def _not_a_manifest(path: Path, error: Exception) -> ElmldaError:
    return ElmldaError(
        f"{path}: not a manifest that elmlda wrote ({type(error).__name__}: {str(error)[:200]}).",
        "Restore it, or use another {out} for a new run.",
        out=None,
    )


def _require_same_run(folder: Path, manifest: Mapping[str, Any] | None, entry: Entry) -> None:
    """Refuse to go on with a run of another configuration, naming the settings that differ.

    A folder without records (its run failed at once, say) may start again with other settings.
    """
    records = sorted(folder.glob("*.csv"))
    if not records:
        return
    if manifest is None:
        raise ElmldaError(
            f"{records[0]} is there without {MANIFEST}, so nobody knows how it was made.",
            "Restore that file, or use another {out} for a new run.",
            out=None,
        )
    recorded = manifest["experiments"].get(entry.experiment, entry.fixed)
    made = {**manifest["run"], **{key: recorded.get(key) for key in entry.fixed}}
    asked = {**entry.identity, **entry.fixed}
    if files := _list_differing(made.get("sha256") or {}, asked.get("sha256") or {}):
        raise ElmldaError(
            f"{folder} was made with other data ({', '.join(files)} differ).",
            "Use the same data to continue it, or another {out} for a new run.",
            out=None,
        )
    was, now = (_by_fanout(each, entry.n_inputs) for each in (made, asked))
    if names := _list_differing(was, now):
        raise _explain_difference(folder, names, was, now)


def _list_differing(was: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    return [key for key in {**was, **now} if was.get(key) != now.get(key)]


def _explain_difference(
    folder: Path, names: list[str], was: Mapping[str, Any], now: Mapping[str, Any]
) -> ElmldaError:
    """The settings that differ, and the option that would continue the run."""
    old, new = (", ".join(f"{key} {_show(each.get(key))}" for key in names) for each in (was, now))
    fact = f"{folder} was made with {old}; this command has {new}."
    option, value = names[0], was.get(names[0])
    if len(names) > 1 or option not in OPTIONS or value is None:
        return ElmldaError(fact, USE_THE_SAME, out=None)
    setting = {"fanout_" if option == "fanout" else option: value}
    return ElmldaError(fact, USE_THAT, **setting, out=None)


def _by_fanout(settings: Mapping[str, Any], n_inputs: int) -> dict[str, Any]:
    """The settings with a fan-out for hidden units, if it is whole."""
    n_hidden = settings.get("n_hidden")
    if not n_hidden or not n_inputs or n_hidden % n_inputs:
        return dict(settings)
    return {"fanout": n_hidden // n_inputs, **{k: v for k, v in settings.items() if k != "n_hidden"}}


def _grow(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The larger of two numbers, all of two lists."""
    grown = {**old, **new}
    for key in old.keys() & new.keys():
        if isinstance(new[key], list):
            grown[key] = sorted({*old[key], *new[key]})
        else:
            grown[key] = max(old[key], new[key])
    return grown


def _show(value: Any) -> str:
    if value is None:
        return "not set"
    text = json.dumps(value, ensure_ascii=False).strip('"')
    return text if len(text) <= 60 else f"{text[:57]}…"
