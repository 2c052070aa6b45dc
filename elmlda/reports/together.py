"""What the page of several runs shows, whatever they are studied for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from elmlda.reports.page import Section, describe_machine
from elmlda.reports.provenance import list_commands
from elmlda.reports.records import RunRecords
from elmlda.version import __version__


def build_joint_context(
    title: str,
    question: str,
    findings: Sequence[str],
    sections: Sequence[Section],
    runs: Sequence[RunRecords],
    settings: Mapping[str, object],
    checksums: Mapping[str, str] | None = None,
    gaps: Sequence[str] = (),
) -> dict[str, Any]:
    """All that the templates need; the first finding is the headline."""
    machines = dict.fromkeys(
        describe_machine(machine) for run in runs for machine in run.manifest["machines"]
    )
    commands = [command for run in runs for command in list_commands(run)[:-1]]
    return {
        "version": __version__,
        "title": title,
        "question": question,
        "headline": findings[0],
        "headline_kind": "neutral",
        "second_line": " ".join(findings[1:]),
        "statements": [],
        "untested": [],
        "cells": [],
        "gaps": gaps,
        "departures": [],
        "sections": sections,
        "rule": [],
        "settings": settings,
        "checksums": checksums or {},
        "machines": list(machines),
        "commands": [*commands, "elmlda report"],
    }
