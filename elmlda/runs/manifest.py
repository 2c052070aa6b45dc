"""manifest.json: how a run was made, with its own SHA-256, so that a changed one is refused."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from elmlda.errors import ElmldaError
from elmlda.runs.files import write_atomically
from elmlda.version import __version__

SCHEMA = 2
MANIFEST = "manifest.json"


def write_manifest(
    folder: Path,
    experiment: str,
    identity: Mapping[str, Any],
    fixed: Mapping[str, Any],
    grown: Mapping[str, Any],
    machine: Mapping[str, Any],
) -> None:
    """Write what this part of the run adds to the folder's manifest; see `elmlda.runs.run.Run`."""
    old = read_manifest(folder)
    records = sorted(folder.glob("*.csv"))
    if old is None and records:
        raise ElmldaError(
            f"{records[0]} is there without {MANIFEST}, so nobody knows how it was made.",
            "Restore that file, or use another {out} for a new run.",
            out=None,
        )
    if old is not None:
        check_same_run(folder, old, identity, experiment, fixed)
    fresh = {"schema": SCHEMA, "elmlda": __version__, "run": identity}
    new = dict(old if old and old["run"] == identity else fresh)
    experiments = new.get("experiments", {})
    try:
        plan = _grow(experiments.get(experiment, {}), grown)
    except TypeError as error:
        raise _not_a_manifest(folder / MANIFEST, error) from error
    new["experiments"] = {**experiments, experiment: {**plan, **fixed}}
    machines = new.get("machines", [])
    new["machines"] = machines if machine in machines else [*machines, machine]
    if new != old:
        new["schema"] = SCHEMA
        signed = {**new, "sha256": _sha256(new)}
        content = json.dumps(signed, indent=2, ensure_ascii=False) + "\n"
        write_atomically(folder / MANIFEST, content.encode())


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """The folder's manifest, None if it has none."""
    path = folder / MANIFEST
    try:
        manifest = json.loads(path.read_bytes())
        schema, sha256 = manifest["schema"], manifest.pop("sha256", None)
        if schema != SCHEMA:
            raise ElmldaError(
                f"{path}: schema {schema!r:.40}, this elmlda writes schema {SCHEMA}.",
                "Use another {out} for a new run.",
                out=None,
            )
        if sha256 != _sha256(manifest):
            raise ValueError("it does not have its checksum: it was damaged or edited")
        _require_sections(manifest)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise _not_a_manifest(path, error) from error
    return dict(manifest)


def _require_sections(manifest: dict[str, Any]) -> None:
    """Refuse what is not what a manifest has: other keys, or other kinds of values."""
    if manifest.keys() != {"schema", "elmlda", "run", "experiments", "machines"}:
        raise KeyError(", ".join(manifest))
    experiments = manifest["experiments"]
    if not all(isinstance(part, dict) for part in (manifest["run"], experiments)):
        raise TypeError("sections are missing")
    if not all(isinstance(part, dict) for part in experiments.values()):
        raise TypeError("sections are missing")
    if not isinstance(manifest["machines"], list):
        raise TypeError("machines are missing")


def _sha256(manifest: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()


def _not_a_manifest(path: Path, error: Exception) -> ElmldaError:
    return ElmldaError(
        f"{path}: not a manifest that elmlda wrote ({type(error).__name__}: {str(error)[:200]}).",
        "Restore it, or use another {out} for a new run.",
        out=None,
    )


def check_same_run(
    folder: Path,
    manifest: Mapping[str, Any],
    identity: Mapping[str, Any],
    experiment: str,
    fixed: Mapping[str, Any],
) -> None:
    """Refuse to go on with a run of another configuration, naming the settings that differ.

    A folder without records (its run failed at once, say) may be made anew.
    """
    if not any(folder.glob("*.csv")):
        return
    recorded = manifest["experiments"].get(experiment, fixed)
    made = {**manifest["run"], **{key: recorded.get(key) for key in fixed}}
    asked = as_json({**identity, **fixed})
    differing = [key for key in {**made, **asked} if made.get(key) != asked.get(key)]
    if "sha256" in differing:
        was, now = made.get("sha256") or {}, asked.get("sha256") or {}
        files = ", ".join(name for name in {**was, **now} if was.get(name) != now.get(name))
        raise ElmldaError(
            f"{folder} was made with other data ({files} differ).",
            "Use the same data to continue it, or another {out} for a new run.",
            out=None,
        )
    if differing:
        old = ", ".join(f"{key} {_show(made.get(key))}" for key in differing)
        new = ", ".join(f"{key} {_show(asked.get(key))}" for key in differing)
        raise ElmldaError(
            f"{folder} was made with {old}; this command has {new}.",
            "Use the same settings to continue it, or another {out} for a new run.",
            out=None,
        )


def _grow(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The larger of two numbers, all of two lists."""
    grown = {**old, **new}
    for key in old.keys() & new.keys():
        if isinstance(new[key], list):
            grown[key] = sorted({*old[key], *new[key]})
        else:
            grown[key] = max(old[key], new[key])
    return grown


def as_json(value: Any) -> Any:
    """The value as it will look when it has been written and read back."""
    return json.loads(json.dumps(value))


def _show(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False).strip('"')
    return text if len(text) <= 60 else f"{text[:57]}…"
