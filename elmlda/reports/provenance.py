"""How a run was made, and where it departs from the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from elmlda.reports.model import Provenance
from elmlda.reports.records import RunRecords
from elmlda.reports.subjects.designs import find_independent
from elmlda.text import printable

FIXED_BY_PAPER = {"weight_range": 0.5, "ridge": 0.0, "priors": "uniform", "bias": False}
"""Settings that the paper states; activation and input scale it leaves open."""
LONGEST_SETTING = 200


def find_departures(run: RunRecords) -> list[str]:
    """Settings that are not the paper's."""
    return [
        f"{name.replace('_', ' ')} {run.settings[name]} (the paper: {value})"
        for name, value in FIXED_BY_PAPER.items()
        if name in run.settings and run.settings[name] != value
    ]


def find_provenance(run: RunRecords) -> Provenance:
    """Of one run, and of the independent sweep inside its folder."""
    inside = find_independent(run)
    runs = [run, inside] if inside else [run]
    return join_provenance(runs, run.settings, run.settings.get("sha256"))


def join_provenance(
    runs: Sequence[RunRecords],
    settings: Mapping[str, Any],
    checksums: Mapping[str, str] | None = None,
) -> Provenance:
    """Of several runs; `settings` are those that they share."""
    machines = (describe_machine(machine) for run in runs for machine in run.manifest["machines"])
    commands = merge([run.manifest.get("commands", []) for run in runs])
    return Provenance(
        settings={
            name.replace("_", " "): printable(value, LONGEST_SETTING)
            for name, value in settings.items()
            if name != "sha256"
        },
        machines=list(dict.fromkeys(machines)),
        checksums=checksums or {},
        commands=[*map(printable, commands), "elmlda report"],
    )


def merge(lists: Sequence[Sequence[str]]) -> list[str]:
    """What the lists have, once each, in their order; in the first list's where they disagree."""
    merged: list[str] = []
    for each in map(list, map(dict.fromkeys, lists)):
        for i, item in enumerate(each):
            if item not in merged:
                later = (merged.index(other) for other in each[i + 1 :] if other in merged)
                merged.insert(next(later, len(merged)), item)
    return merged


def describe_machine(machine: Any) -> str:
    """A machine of a manifest in one line."""
    if not isinstance(machine, dict):
        return str(machine)
    lists = {key: value if isinstance(value, list) else [value] for key, value in machine.items()}
    return "; ".join(
        f"{key.replace('_', ' ')} {', '.join(map(str, values))}" for key, values in lists.items()
    )
