"""Data sets by name, or the user's own: CSV, NPZ and IDX files, DataFrames and arrays.

Names are known without importing numpy and pandas: the command line checks them when options are read,
long before any data are loaded.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

from elmlda.errors import ElmldaValueError, suggest_name

HERE = Path(__file__).parent
TABLE_SUFFIXES = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
SETS: dict[str, dict[str, Any]] = tomllib.loads((HERE / "sets.toml").read_text("utf-8"))


def check_source(source: object) -> None:
    """Refuse an unknown data-set name without reading a file.

    A string is a path if it has a suffix or a separator, or if such a file or folder exists. Paths,
    DataFrames and arrays are accepted: loading checks them.
    """
    if not isinstance(source, str | os.PathLike) or str(source) in SETS:
        return
    path = expand_path(source)
    if not str(source) or not (path.suffix or os.sep in str(source) or path.exists()):
        raise unknown_name(source)


def is_table(path: Path) -> bool:
    """Return whether a file is a table, by its name."""
    return path.name.lower().endswith(TABLE_SUFFIXES)


def expand_path(source: str | os.PathLike[str]) -> Path:
    """Return the path with the user's home folder in place of `~`."""
    # Path.expanduser fails for a file named "~x.csv": there is no user of that name.
    return Path(os.path.expanduser(source))  # noqa: PTH111


def unknown_name(name: object) -> ElmldaValueError:
    """Return the error that suggests the nearest name of the catalogue."""
    hint = suggest_name(str(name).lower(), SETS)
    return ElmldaValueError(f"unknown data set {str(name)!r}. {hint}")
