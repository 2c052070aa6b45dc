"""Runs' folders, opened without an experiment, and what they hold."""

import resource
from contextlib import contextmanager
from pathlib import Path

import pandas as pd

from elmlda.runs.folder import Identity, open_run

DATA = Path(__file__).parents[1] / "data"
TIMED = ["seconds", "machine"]
"""Columns that depend on how and where a network was computed."""


def identify(experiment="sweep", own=None, **run):
    run = {"dataset": "made-up", "sha256": {"data": "00ff"}, "seed": 0, **run}
    return Identity(experiment, run, own or {})


def opened(folder, identity=None, command="elmlda sweep", machine=None):
    entries = {"command": command}, machine or {"cpu": "this"}
    return open_run(Path(folder), identity or identify(), *entries)


def make_rows(repeat, n=2):
    """Return rows as a sweep's job might give them."""
    return [{"repeat": repeat, "n_hidden": 8 * i, "ridge": i / 3, "rule": "fixed"} for i in range(n)]


def assert_same_counts(rows, expected):
    """The same rows, but for what depends on time and place."""
    plain = (
        table.drop(columns=TIMED, errors="ignore").reset_index(drop=True) for table in (rows, expected)
    )
    pd.testing.assert_frame_equal(*plain, check_dtype=False)


def assert_as_before(rows, reference):
    """The same as a file of tests/data, which was written by elmlda 0.1."""
    expected = pd.read_csv(DATA / f"{reference}.csv")
    pd.testing.assert_frame_equal(rows[list(expected)], expected, check_dtype=False, rtol=1e-4)


def files_in(folder):
    """Every file's content, but for the lock's."""
    paths = sorted(path for path in Path(folder).rglob("*") if path.is_file() and path.name != ".lock")
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


@contextmanager
def room_for(n_bytes):
    """As on a full disk: no file can grow beyond that (Python ignores SIGXFSZ)."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
