"""CSV files that grow row by row, so that an interrupted script continues where it stopped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd


def list_missing(path: Path, key: Sequence[str], keys: Iterable[tuple[Any, ...]]) -> list[tuple]:
    """Return the keys that have no row in the file, in order."""
    rows = pd.read_csv(path) if path.exists() else pd.DataFrame(columns=list(key))
    have = set(rows[list(key)].itertuples(index=False, name=None))
    return [each for each in keys if each not in have]


def append_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Append rows in one write; the first ones follow a header."""
    text = pd.DataFrame(rows).to_csv(header=not path.exists(), index=False, float_format="%.6g")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8", newline="") as file:
        file.write(text)
