"""Tables and figures as files: whole or not at all, the same input the same bytes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from elmlda.reports.render import render_html, render_markdown
from elmlda.runs.files import write_atomically

ADVICE = "The records are as they were: mend the cause and run the same command again."


def write_report_files(
    folder: Path,
    formats: Collection[str],
    tables: Mapping[str, pd.DataFrame],
    context: dict[str, Any],
) -> list[Path]:
    """Write a report's tables, figures and pages, or those of the formats that are asked for."""
    paths: list[Path] = []
    if "csv" in formats:
        paths += [write_csv(table, folder / f"{name}.csv") for name, table in tables.items()]
    if "figures" in formats:
        for figure in (figure for section in context["sections"] for figure in section.figures):
            paths += write_figure(figure.files, folder / figure.name)
    if "md" in formats:
        paths.append(write_text(render_markdown(context), folder / "report.md"))
    if "html" in formats:
        paths.append(write_text(render_html(context), folder / "report.html"))
    return paths


def write_csv(table: pd.DataFrame, path: Path) -> Path:
    """Six digits are more than any number here deserves, and hide the last bits' noise."""
    write_atomically(path, table.to_csv(index=False, float_format="%.6g").encode(), ADVICE)
    return path


def write_figure(contents: Mapping[str, bytes], stem: Path) -> list[Path]:
    """A file for each suffix."""
    paths = [stem.with_suffix(f".{suffix}") for suffix in contents]
    for path, content in zip(paths, contents.values(), strict=True):
        write_atomically(path, content, ADVICE)
    return paths


def write_text(text: str, path: Path) -> Path:
    """In UTF-8."""
    write_atomically(path, text.encode(), ADVICE)
    return path
