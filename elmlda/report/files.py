"""Tables and figures as files: whole or not at all, the same input the same bytes."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from elmlda.report.figures import METADATA, Plot, render
from elmlda.store import write_atomically

ADVICE = "The records are as they were: mend the cause and run the same command again."


def write_csv(table: pd.DataFrame, path: Path) -> Path:
    """Six digits are more than any number here deserves, and hide the last bits' noise."""
    write_atomically(path, table.to_csv(index=False, float_format="%.6g").encode(), ADVICE)
    return path


def write_figure(plot: Plot, stem: Path) -> list[Path]:
    """As PNG and as SVG, on white."""
    paths = [stem.with_suffix(f".{suffix}") for suffix in METADATA]
    for path, suffix in zip(paths, METADATA, strict=True):
        write_atomically(path, render(plot, suffix), ADVICE)
    return paths


def write_text(text: str, path: Path) -> Path:
    """In UTF-8."""
    write_atomically(path, text.encode(), ADVICE)
    return path
