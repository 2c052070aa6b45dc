"""Rows: in one write, synced, none lost to a torn line or a full disk."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from run_folders import files_in, make_rows, opened, room_for

from elmlda.errors import ElmldaError
from elmlda.runs.folder import read_rows

IO = Path("/proc/thread-self/io")
HAS_PROC = pytest.mark.skipif(not IO.exists(), reason="needs Linux's /proc")
MINE = b"a,b\n1,2\n3,"
"""The user's own file, which ends in the middle of a line."""


@pytest.fixture
def folder(tmp_path):
    """A run with three jobs of two rows each, and a CSV file of the user's."""
    (tmp_path / "mine.csv").write_bytes(MINE)
    with opened(tmp_path) as run:
        for repeat in range(3):
            run.append("sweep.csv", make_rows(repeat))
    return tmp_path


def test_what_was_appended_is_read(folder):
    found = read_rows(folder / "sweep.csv")
    expected = pd.DataFrame([row for repeat in range(3) for row in make_rows(repeat)])
    assert found["fold"].isna().all()
    rest = [frame.drop(columns="fold") for frame in (found, expected)]
    pd.testing.assert_frame_equal(*rest, check_dtype=False, rtol=1e-5)
    assert (folder / "sweep.csv").read_text().splitlines()[0] == "repeat,fold,n_hidden,ridge,rule"
    assert read_rows(folder / "timing.csv").empty


@pytest.mark.parametrize(
    ("value", "text"),
    [(1 / 3, "0.333333"), (np.float64(2), "2"), (1e-9, "1e-09"), (10_000_000, "10000000"), (None, "")],
)
def test_cells_are_short_and_exact_enough(tmp_path, value, text):
    with opened(tmp_path) as run:
        run.append("sweep.csv", [{"a": value, "b": 1}])
    assert (tmp_path / "sweep.csv").read_text() == f"a,b\n{text},1\n"


@HAS_PROC
def test_a_jobs_rows_are_one_write(folder):
    def count_writes():
        return int(IO.read_text().split("syscw:")[1].split()[0])

    with opened(folder) as run:
        before = count_writes()
        run.append("sweep.csv", make_rows(9, n=500))
        assert count_writes() == before + 1


def test_rows_are_synced_before_append_returns(folder, monkeypatch):
    synced, fsync = [], os.fsync

    def note(descriptor):
        fsync(descriptor)
        synced.append((os.fstat(descriptor).st_ino, os.fstat(descriptor).st_size))

    with opened(folder) as run:
        monkeypatch.setattr(os, "fsync", note)
        for name in ("sweep.csv", "timing.csv"):
            run.append(name, make_rows(9))
            status = (folder / name).stat()
            assert (status.st_ino, status.st_size) in synced
    assert folder.stat().st_ino in dict(synced), "a new file's name is synced too"


def test_a_torn_line_is_dropped_wherever_it_was_torn(folder):
    path = folder / "sweep.csv"
    whole = path.read_bytes()
    for cut in range(len(whole) + 1):
        path.write_bytes(whole[:cut])
        lines = whole[:cut].count(b"\n")
        assert len(read_rows(path)) == max(0, lines - 1)  # also of a run that nobody goes on with
        with opened(folder) as run:
            assert path.read_bytes() == b"".join(whole.splitlines(keepends=True)[:lines])
            run.append("sweep.csv", make_rows(7))
            assert run.rows("sweep.csv")["repeat"].tolist()[-2:] == [7, 7]
    assert (folder / "mine.csv").read_bytes() == MINE


def test_a_full_disk_leaves_the_rows_as_they_were(folder):
    path, more = folder / "sweep.csv", make_rows(3)
    before = path.read_bytes()
    with opened(folder) as run:
        with room_for(10), pytest.raises(ElmldaError):
            run.append("timing.csv", more)
        assert run.rows("timing.csv").empty
        run.append("sweep.csv", more)
        after = path.read_bytes()
        path.write_bytes(before)
        for room in range(len(before), len(after)):
            with room_for(room), pytest.raises(ElmldaError) as caught:
                run.append("sweep.csv", more)
            assert str(path) in str(caught.value)
            assert path.read_bytes() == before
        with room_for(len(after)):
            run.append("sweep.csv", more)
    assert path.read_bytes() == after


def test_rows_are_replaced_whole_or_not_at_all(folder):
    path = folder / "sweep.csv"
    before = path.read_bytes()
    with opened(folder) as run:
        rows = run.rows("sweep.csv")
        with room_for(20), pytest.raises(ElmldaError):
            run.replace("sweep.csv", rows[::-1])
        assert path.read_bytes() == before
        run.replace("sweep.csv", rows[::-1])
        assert path.read_bytes().splitlines()[1:] == before.splitlines()[:0:-1]
    assert not list(folder.glob(".elmlda-*"))


@pytest.mark.parametrize("umask", [0o022, 0o002, 0o077])
def test_files_have_the_permissions_of_new_files(tmp_path, umask):
    from elmlda.runs.kept import keep_network

    before = os.umask(umask)
    try:
        with opened(tmp_path) as run:
            run.append("sweep.csv", make_rows(0))
            run.replace("timing.csv", pd.DataFrame(make_rows(0)))
            keep_network(tmp_path, 0, {"a": np.ones(3)})
    finally:
        os.umask(before)
    assert len(files_in(tmp_path)) == 4
    for path in (path for path in tmp_path.rglob("*") if path.is_file()):
        assert path.stat().st_mode & 0o777 == 0o666 & ~umask, path.name
