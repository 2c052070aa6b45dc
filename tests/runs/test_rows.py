"""Rows: in one write, synced, none lost to a torn line or a full disk."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from processes import HAS_PROC
from run_folders import make_rows, opened, room_for

import elmlda.runs
from elmlda.errors import ElmldaError
from elmlda.runs.folder import read_rows
from elmlda.runs.tables import DRAWS, SWEEP, TABLES, TIMING

IO = Path("/proc/thread-self/io")
MINE = b"a,b\n1,2\n3,"
"""The user's own file, which ends in the middle of a line."""


@pytest.fixture
def folder(tmp_path):
    """A run with three jobs of two rows each, and a CSV file of the user's."""
    (tmp_path / "mine.csv").write_bytes(MINE)
    with opened(tmp_path) as run:
        for repeat in range(3):
            run.append(SWEEP, make_rows(repeat))
    return tmp_path


def test_what_was_appended_is_read(folder):
    rows = read_rows(folder, SWEEP)
    expected = pd.DataFrame([row for repeat in range(3) for row in make_rows(repeat)])
    assert list(rows) == list(SWEEP.names)
    assert rows["fold"].isna().all()
    columns = ["repeat", "n_hidden", "ridge", "rule"]
    pd.testing.assert_frame_equal(rows[columns], expected[columns], check_dtype=False, rtol=1e-5)
    assert read_rows(folder, TIMING).empty


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1 / 3, "0.333333"),
        (np.float64(2), "2"),
        (1e-9, "1e-09"),
        (10_000_000, "10000000"),
        (1e7, "1e+07"),
        (1e300, "1e+300"),
        (float("nan"), ""),
        (None, ""),
    ],
)
def test_cells_are_short_and_exact_enough(tmp_path, value, text):
    with opened(tmp_path) as run:
        run.append(DRAWS, [{"errors": value, "size": 1}])
    assert (tmp_path / "draws.csv").read_text() == f"size,left_out,draws,errors\n1,,,{text}\n"


def test_a_column_that_the_table_does_not_have_is_refused(folder):
    before = (folder / "sweep.csv").read_bytes()
    with opened(folder) as run, pytest.raises(ValueError, match="lda_erorrs"):
        run.append(SWEEP, [*make_rows(3), {"repeat": 4, "lda_erorrs": 5}])
    assert (folder / "sweep.csv").read_bytes() == before


def test_the_readme_has_every_table_as_it_is_declared():
    text = (Path(elmlda.runs.__file__).parent / "README.md").read_text("utf-8")
    for name, table in TABLES.items():
        rows = [f"| `{c.name}` | {c.kind.__name__} | {c.unit} | {c.meaning} |" for c in table.columns]
        head = (
            f"`{name}.csv`: {table.meaning}.",
            "",
            "| column | type | unit | meaning |",
            "|---|---|---|---|",
        )
        assert "\n".join([*head, *rows]) in text


@HAS_PROC
def test_a_jobs_rows_are_one_write(folder):
    def count_writes():
        return int(IO.read_text().split("syscw:")[1].split()[0])

    with opened(folder) as run:
        before = count_writes()
        run.append(SWEEP, make_rows(9, n=500))
        assert count_writes() == before + 1


def test_rows_are_synced_before_append_returns(folder, monkeypatch):
    synced, fsync = [], os.fsync

    def note(descriptor):
        fsync(descriptor)
        synced.append((os.fstat(descriptor).st_ino, os.fstat(descriptor).st_size))

    with opened(folder) as run:
        monkeypatch.setattr(os, "fsync", note)
        for table in (SWEEP, TIMING):
            run.append(table, [{"n_hidden": 9}])
            status = (folder / f"{table.name}.csv").stat()
            assert (status.st_ino, status.st_size) in synced
    assert folder.stat().st_ino in dict(synced), "a new file's name is synced too"


def test_a_torn_line_is_dropped_wherever_it_was_torn(folder):
    path = folder / "sweep.csv"
    whole = path.read_bytes()
    for cut in range(len(whole) + 1):
        path.write_bytes(whole[:cut])
        lines = whole[:cut].count(b"\n")
        assert len(read_rows(folder, SWEEP)) == max(0, lines - 1)  # reading mends nothing
        with opened(folder) as run:
            run.append(SWEEP, make_rows(7))
        assert path.read_bytes().startswith(b"".join(whole.splitlines(keepends=True)[:lines]))
        assert read_rows(folder, SWEEP)["repeat"].tolist()[max(0, lines - 1) :] == [7, 7]
    assert (folder / "mine.csv").read_bytes() == MINE


def test_a_full_disk_leaves_the_rows_as_they_were(folder):
    path, more = folder / "sweep.csv", make_rows(3)
    before = path.read_bytes()
    with opened(folder) as run:
        with room_for(10), pytest.raises(ElmldaError):
            run.append(TIMING, [{"n_hidden": 9}])
        assert read_rows(run.folder, TIMING).empty
        run.append(SWEEP, more)
        after = path.read_bytes()
        path.write_bytes(before)
        for room in range(len(before), len(after)):
            with room_for(room), pytest.raises(ElmldaError) as caught:
                run.append(SWEEP, more)
            assert str(path) in str(caught.value)
            assert path.read_bytes() == before
        with room_for(len(after)):
            run.append(SWEEP, more)
    assert path.read_bytes() == after


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: text.replace("repeat,", "repaet,", 1), "repeat"),
        (lambda text: "\n".join(line.rpartition(",")[0] for line in text.split("\n")), "machine"),
        (lambda text: text + 50 * "1," + "\n", "sweep.csv"),
        (lambda text: "\xff\xfe\n", "sweep.csv"),
    ],
)
def test_a_table_that_was_edited_is_one_line(folder, change, words):
    path = folder / "sweep.csv"
    path.write_bytes(change(path.read_text()).encode("latin-1"))
    before = path.read_bytes()
    with pytest.raises(ElmldaError) as caught:
        read_rows(folder, SWEEP)
    assert words in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
    assert path.read_bytes() == before
