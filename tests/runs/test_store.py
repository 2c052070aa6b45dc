"""A run's folder: no fault loses or falsifies a record, and every refusal says where and what to do."""

import errno
import json
import os
import resource
import signal
import stat
import subprocess
import sys
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from checks import add_checks, sign
from refusals import refusal_of

from elmlda.runs.files import LOCK, write_atomically
from elmlda.runs.manifest import MANIFEST, Entry, read_manifest
from elmlda.runs.posteriors import PosteriorStore, UntrustedPosteriorsWarning
from elmlda.runs.records import RecordFile
from elmlda.runs.run import Run


@dataclass(frozen=True)
class Row:
    FILE: ClassVar[str] = "rows.csv"
    EXPERIMENT: ClassVar[str] = "sweep"
    FIXED: ClassVar[tuple[str, ...]] = ("n",)
    repeat: int
    share: float
    label: str

    @property
    def key(self):
        return (self.repeat,)


ROWS = [Row(0, 0.5, "mixed"), Row(1, 0.25, "double"), Row(2, 1e-7, "a, b"), Row(10, 123456.0, '"c"')]
IDENTITY = '{"fixed": {}, "run": {"ridge": 0.0, "seed": 1}}'
CONTENT = (
    b"repeat,share,label,crc32\n0,0.5,mixed,c590881c\n1,0.25,double,b2e8a3bc\n"
    b'2,1e-07,"a, b",760122a6\n10,123456,"""c""",ace61067\n'
)


@pytest.fixture
def file(tmp_path):
    return RecordFile(tmp_path / "rows.csv", Row, IDENTITY)


def open_run(folder, experiment="sweep", identity=None, command="elmlda sweep", **settings):
    identity = {"seed": 1, "ridge": 0.0} if identity is None else identity
    settings = {"machine": {"cpu": "one"}, **settings}
    return Run.open(folder, Entry(experiment, identity, command=command, **settings))


def enter(run):
    with run:
        pass


def hidden_files(folder):
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("."))


@contextmanager
def largest_file(n_bytes):
    """As on a full disk: no file of this process can grow beyond that (Python ignores SIGXFSZ)."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


# Records


def test_records_come_back_as_they_were(file):
    file.append(ROWS[:1])
    file.append(ROWS[1:])
    assert file.path.read_bytes() == CONTENT
    assert file.read() == ROWS


def test_a_float_keeps_six_digits(file):
    file.append([Row(0, 1 / 3, "")])
    assert file.read() == [Row(0, 0.333333, "")]


def test_no_file_is_no_records(file):
    assert file.read() == []
    file.repair()
    assert not file.path.exists()


def test_records_are_synced_before_append_returns(file, monkeypatch):
    synced = []
    sync = os.fsync

    def spy(descriptor):
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            synced.append(file.path.read_bytes())
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", spy)
    file.append(ROWS)
    assert synced == [CONTENT]


def test_the_entry_of_a_new_file_is_synced_too(file, monkeypatch):
    kinds = []
    monkeypatch.setattr(os, "fsync", lambda fd: kinds.append(stat.S_IFMT(os.fstat(fd).st_mode)))
    file.append(ROWS)
    assert stat.S_IFDIR in kinds


@pytest.mark.parametrize("cut", range(len(CONTENT)))
def test_a_torn_line_is_dropped_and_the_file_goes_on(tmp_path, cut):
    path = tmp_path / "rows.csv"
    enter(open_run(tmp_path))
    path.write_bytes(CONTENT[:cut])
    whole = ROWS[: max(0, CONTENT[:cut].count(b"\n") - 1)]
    assert RecordFile(path, Row, IDENTITY).read() == whole
    assert path.read_bytes() == CONTENT[:cut], "reading does not touch the file"
    with open_run(tmp_path) as run:
        file = run.records(Row)
        assert file.read() == whole
        file.append(ROWS[len(whole) :])
    assert path.read_bytes() == CONTENT


@pytest.mark.parametrize("torn", [b"3,0.5", b"\0\0\0\0", b'3,"', b"\xff\xfe"])
def test_a_torn_line_may_hold_anything(file, torn):
    file.path.write_bytes(CONTENT + torn)
    assert file.read() == ROWS
    file.repair()
    assert file.path.read_bytes() == CONTENT


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"1,0.25",
        b"1,0.25,double,1",
        b"x,0.25,double",
        b"1,0.2.5,double",
        b"\0\0\0\0",
        b'"1,0.25,double',
        b"\xff\xfe,0.25,double",
        pytest.param(b"1," + b"9" * 200_000, id="long"),
    ],
)
def test_a_damaged_line_is_named(file, line):
    lines = CONTENT.split(b"\n")
    lines[2] = line
    file.path.write_bytes(b"\n".join(lines))
    message = refusal_of(file.read)
    assert message.startswith(f"{file.path}, line 3: ")
    assert message.endswith("Remove the line to have it computed again.")
    assert len(message) < 500


@pytest.mark.parametrize("header", [b"repeat,share", b"share,repeat,label", b"0,0.5,mixed", b""])
def test_a_foreign_header_is_refused(file, header):
    content = header + CONTENT[CONTENT.index(b"\n") :]
    file.path.write_bytes(content)
    message = refusal_of(file.read)
    assert message.startswith(f"{file.path}: the first line is '{header.decode()}', expected ")
    assert "'repeat,share,label,crc32'" in message
    assert "use another folder" in message


def test_records_without_checks_are_refused(file):
    file.path.write_bytes(b"repeat,share,label\n0,0.5,mixed\n")
    assert "the first line is 'repeat,share,label', expected" in refusal_of(file.read)


def test_a_changed_digit_is_found(file):
    """Every digit of every line: without its check each would be a record like any other."""
    for at, byte in enumerate(CONTENT):
        if chr(byte).isdigit() and at > CONTENT.index(b"\n"):
            changed = bytearray(CONTENT)
            changed[at] = ord("1") if byte == ord("0") else byte - 1
            file.path.write_bytes(changed)
            assert (
                "its check does not fit: a record of another run, or damaged or edited"
                in refusal_of(file.read)
            )


@pytest.mark.parametrize(
    "other",
    [
        {"identity": {"seed": 2, "ridge": 0.0}},
        {"identity": {"seed": 1, "ridge": 0.0, "sha256": {"train": "ab"}}},
        {"fixed": {"n": 20}},
    ],
)
def test_a_record_of_another_run_is_refused(tmp_path, other):
    """A whole file that was copied, and one line of another run among the run's own."""
    for folder, settings in (("ours", {}), ("other", other)):
        with open_run(tmp_path / folder, **settings) as run:
            run.records(Row).append(ROWS)
    ours, theirs = ((tmp_path / folder / "rows.csv").read_bytes() for folder in ("ours", "other"))
    joined = ours + theirs.splitlines(keepends=True)[2]
    for content, line in ((theirs, 2), (joined, 6)):
        (tmp_path / "ours/rows.csv").write_bytes(content)
        with open_run(tmp_path / "ours") as run:
            message = refusal_of(run.records(Row).read)
        assert message.startswith(f"{tmp_path / 'ours/rows.csv'}, line {line}: ")
        assert "a record of another run, or damaged" in message


def test_records_of_the_same_run_in_two_folders_may_be_joined(tmp_path):
    for folder, rows in (("one", ROWS[:2]), ("two", ROWS[2:])):
        with open_run(tmp_path / folder) as run:
            run.records(Row).append(rows)
    two = (tmp_path / "two/rows.csv").read_bytes()
    with (tmp_path / "one/rows.csv").open("ab") as file:
        file.write(two.partition(b"\n")[2])
    with open_run(tmp_path / "one") as run:
        assert run.records(Row).read() == ROWS


@pytest.mark.parametrize("line", ["1_0,0.5,mixed", " 1,0.5,mixed", "1,0.50,mixed", "1,5e-1,mixed"])
def test_a_line_that_elmlda_would_not_write(file, line):
    file.path.write_bytes(add_checks(f"repeat,share,label\n{line}\n".encode(), IDENTITY))
    assert "not written as elmlda writes" in refusal_of(file.read)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("x,0.5,mixed", "invalid literal"),
        ("1,0.2.5,mixed", "could not convert"),
        ("1,0.5", "zip"),
        ("1,0.5,mixed,more", "zip"),
        ('1,0.5,"mixed', "not written as elmlda writes"),
        ("1,0.5,\N{REPLACEMENT CHARACTER}", "not UTF-8"),
    ],
)
def test_a_line_with_a_check_that_fits_is_not_trusted_for_that(file, line, why):
    check = f"{zlib.crc32((IDENTITY + line).encode()):08x}"
    file.path.write_text(f"repeat,share,label,crc32\n{line},{check}\n", encoding="utf-8")
    message = refusal_of(file.read)
    assert message.startswith(f"{file.path}, line 2: ")
    assert why in message


def test_what_cannot_be_read_is_named(file):
    file.path.mkdir()
    assert str(file.path) in refusal_of(file.read)
    assert str(file.path) in refusal_of(file.repair)


def test_records_are_sorted(file):
    file.append(ROWS[::-1])
    file.sort()
    assert file.path.read_bytes() == CONTENT
    assert hidden_files(file.path.parent) == []


def test_records_in_order_are_left_alone(file):
    file.append(ROWS)
    before = file.path.stat()
    file.sort()
    assert (file.path.stat().st_ino, file.path.stat().st_mtime_ns) == (
        before.st_ino,
        before.st_mtime_ns,
    )


def test_two_records_with_one_key_are_refused(file):
    file.append(ROWS)
    assert file.read_unique() == ROWS
    file.append([Row(1, 0.0, "other")])
    assert refusal_of(file.read_unique) == (
        f"{file.path}, lines 3 and 6: two records of (1,). Remove both lines to have it computed again."
    )


# What cannot be written


@pytest.mark.parametrize("room", range(len(b'10,123456,"""c"""\n')))
def test_a_full_disk_leaves_the_file_as_it_was(file, room):
    file.append(ROWS[:3])
    before = file.path.read_bytes()
    with largest_file(len(before) + room):
        message = refusal_of(file.append, ROWS[3:])
    assert message.startswith(f"{file.path}: cannot be written: ")
    assert "run the same command again" in message
    assert file.path.read_bytes() == before
    file.append(ROWS[3:])
    assert file.path.read_bytes() == CONTENT


@pytest.mark.parametrize("room", [0, 5, 19, 25])
def test_a_full_disk_at_the_start_leaves_nothing(file, room):
    with largest_file(room):
        refusal_of(file.append, ROWS)
    assert file.read() == []
    file.append(ROWS)
    assert file.path.read_bytes() == CONTENT


def fail_with(error):
    def fail(*_):
        raise error

    return fail


def test_what_cannot_be_synced_is_taken_back(file, monkeypatch):
    file.append(ROWS[:2])
    before = file.path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail_with(OSError(errno.EIO, "Input/output error")))
        assert "Input/output error" in refusal_of(file.append, ROWS[2:])
    assert file.path.read_bytes() == before


def test_ctrl_c_while_syncing_does_not_take_a_finished_network_back(file, monkeypatch):
    file.append(ROWS[:2])
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail_with(KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            file.append(ROWS[2:])
    assert file.path.read_bytes() == CONTENT


@pytest.mark.parametrize("where", ["a file/run", "/proc/elmlda"])
def test_a_folder_that_cannot_be_made(tmp_path, where):
    (tmp_path / "a file").touch()
    folder = tmp_path / where
    message = refusal_of(enter, open_run(folder))
    assert message.startswith(f"{folder}: cannot be written: ")
    assert "use another folder" in message


def test_a_folder_that_is_a_file(tmp_path):
    path = tmp_path / "taken"
    path.write_bytes(b"mine")
    assert refusal_of(enter, open_run(path)).startswith(f"{path}: cannot be written: ")
    assert path.read_bytes() == b"mine"


# Files that are whole or not there


def test_a_file_is_replaced_whole(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_atomically(path, b"old")
    seen = []
    replace = os.replace

    def spy(source, target):
        seen.append((Path(source).read_bytes(), Path(target).read_bytes()))
        replace(source, target)

    monkeypatch.setattr(os, "replace", spy)
    write_atomically(path, b"new")
    assert seen == [(b"new", b"old")]
    assert path.read_bytes() == b"new"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_file_that_cannot_be_replaced_stays(tmp_path, monkeypatch, step):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with monkeypatch.context() as patch:
        patch.setattr(os, step, fail_with(OSError(errno.EIO, "Input/output error")))
        message = refusal_of(write_atomically, path, b"new")
    assert message.startswith(f"{path}: cannot be written: Input/output error.")
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


# The manifest


def manifest(folder):
    return json.loads((folder / MANIFEST).read_text(encoding="utf-8"))


def test_the_manifest_says_what_the_run_is(tmp_path):
    folder = tmp_path / "some" / "where"
    assert read_manifest(folder) is None
    identity, fixed = {"seed": 1, "sha256": {"train": "ab"}}, {"n": 20}
    enter(open_run(folder, "ensemble", identity, fixed=fixed, extent={"repeats": 3}))
    written = manifest(folder)
    assert len(written.pop("sha256")) == 64
    assert written == read_manifest(folder)
    assert written["schema"] == 3
    assert written["run"] == identity
    assert written["experiments"] == {"ensemble": {"n": 20, "repeats": 3}}
    assert written["machines"] == [{"cpu": "one"}]
    assert written["commands"] == ["elmlda sweep"]
    assert hidden_files(folder) == [LOCK]


def test_the_same_run_leaves_the_manifest_alone(tmp_path):
    enter(open_run(tmp_path, identity={"values": (1, 2)}, extent={"sizes": (3, 4)}))
    before = (tmp_path / MANIFEST).stat()
    enter(open_run(tmp_path, identity={"values": (1, 2)}, extent={"sizes": (3, 4)}))
    assert (tmp_path / MANIFEST).stat().st_ino == before.st_ino


def test_repeats_and_sizes_grow(tmp_path):
    for repeats, sizes in ((5, [4, 8]), (7, [2, 8]), (3, [2])):
        enter(open_run(tmp_path, extent={"repeats": repeats, "sizes": sizes}))
    assert manifest(tmp_path)["experiments"] == {"sweep": {"repeats": 7, "sizes": [2, 4, 8]}}


def test_commands_are_listed_once_in_their_order(tmp_path):
    for command in ("elmlda sweep", "elmlda sweep --repeats 3", "elmlda sweep", ""):
        enter(open_run(tmp_path, command=command))
    assert manifest(tmp_path)["commands"] == ["elmlda sweep", "elmlda sweep --repeats 3"]


def test_experiments_and_machines_are_added(tmp_path):
    for experiment, cpu in (("sweep", "one"), ("ensemble", "two"), ("sweep", "one")):
        enter(open_run(tmp_path, experiment, extent={"repeats": 2}, machine={"cpu": cpu}))
    assert manifest(tmp_path)["experiments"] == {"sweep": {"repeats": 2}, "ensemble": {"repeats": 2}}
    assert manifest(tmp_path)["machines"] == [{"cpu": "one"}, {"cpu": "two"}]


def test_another_configuration_is_refused_and_named(tmp_path):
    enter(open_run(tmp_path, identity={"seed": 1, "ridge": 0.0, "design": "nested"}))
    (tmp_path / "sweep.csv").write_bytes(CONTENT)
    before = (tmp_path / MANIFEST).read_bytes()
    other = open_run(tmp_path, identity={"seed": 2, "ridge": 0.0, "design": "independent"})
    assert refusal_of(enter, other) == (
        f"{tmp_path} was made with seed 1, design nested; this command has seed 2, design "
        "independent. Use the same settings to continue it, or another folder for a new run."
    )
    assert (tmp_path / MANIFEST).read_bytes() == before
    with open_run(tmp_path, identity={"seed": 1, "ridge": 0.0, "design": "nested"}):
        pass  # and the refusal has let go of the folder


def test_a_setting_that_the_folder_does_not_know_differs_too(tmp_path):
    enter(open_run(tmp_path, identity={"seed": 1}))
    (tmp_path / "sweep.csv").write_bytes(CONTENT)
    assert "ridge 0.5" in refusal_of(enter, open_run(tmp_path, identity={"seed": 1, "ridge": 0.5}))


def test_an_experiments_own_settings_must_agree(tmp_path):
    enter(open_run(tmp_path, "ensemble", fixed={"n": 20}))
    (tmp_path / "ensemble.csv").write_bytes(CONTENT)
    enter(open_run(tmp_path, "sweep", fixed={"n": 5}))
    message = refusal_of(enter, open_run(tmp_path, "ensemble", fixed={"n": 5}))
    assert "was made with n 20; this command has n 5." in message


def sound_but_for(**sections):
    """A manifest whose checksum fits, with sections that are not what they should be."""
    sound = {"run": {"seed": 1, "ridge": 0.0}, "machines": [], "commands": [], "experiments": {}}
    content = json.dumps({"schema": 3, "elmlda": "0.1.0", **sound, **sections})
    return pytest.param(sign(content), id=json.dumps(sections))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b'{"schema": 3, "run": {',
        b"\xff\xfe",
        b"[]",
        b"7",
        b"{}",
        sign(b'{"schema": 3, "run": {}, "machines": []}'),
        sound_but_for(run=[]),
        sound_but_for(machines={}),
        sound_but_for(machines=["one"]),
        sound_but_for(commands="elmlda sweep"),
        sound_but_for(commands=[3]),
        sound_but_for(experiments=3),
        sound_but_for(experiments={"sweep": 3}),
        sound_but_for(experiments={"sweep": {"repeats": "x"}}),
    ],
)
def test_what_is_no_manifest_is_refused(tmp_path, content):
    (tmp_path / MANIFEST).write_bytes(content)
    message = refusal_of(enter, open_run(tmp_path, extent={"repeats": 3}))
    assert message.startswith(f"{tmp_path / MANIFEST}: not a manifest that elmlda wrote")
    assert message.lower().endswith("use another folder for a new run.")
    assert (tmp_path / MANIFEST).read_bytes() == content


def test_another_schema_is_refused(tmp_path):
    enter(open_run(tmp_path))
    for schema in (2, 99):
        (tmp_path / MANIFEST).write_text(json.dumps({**manifest(tmp_path), "schema": schema}))
        message = refusal_of(enter, open_run(tmp_path))
        assert message.startswith(
            f"{tmp_path / MANIFEST}: schema {schema}, this elmlda reads and writes schema 3."
        )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"seed": 1', '"seed": 2'),
        ('"sha256": "', '"sha256": "0'),
        ('"sha256"', '"sha257"'),
        ("one", "two"),
    ],
)
def test_a_changed_manifest_is_refused(tmp_path, old, new):
    enter(open_run(tmp_path))
    text = (tmp_path / MANIFEST).read_text()
    assert old in text
    (tmp_path / MANIFEST).write_text(text.replace(old, new))
    assert "not a manifest that elmlda wrote" in refusal_of(enter, open_run(tmp_path))


def test_records_without_a_manifest_are_refused(tmp_path):
    """Else they would count as records of whatever is asked for now."""
    with open_run(tmp_path) as run:
        run.records(Row).append(ROWS)
    (tmp_path / MANIFEST).unlink()
    assert "rows.csv" in refusal_of(enter, open_run(tmp_path, identity={"seed": 2}))


def test_records_without_a_manifest_are_refused_by_every_experiment(tmp_path):
    """Else the first one makes a manifest that the other's records then seem to belong to."""
    with open_run(tmp_path) as run:
        run.records(Row).append(ROWS)
    (tmp_path / MANIFEST).unlink()
    assert "rows.csv" in refusal_of(enter, open_run(tmp_path, "ensemble", identity={"seed": 2}))


def test_what_a_killed_process_left_is_cleared_away(tmp_path):
    enter(open_run(tmp_path))
    (tmp_path / ".elmlda-1").write_text("half")
    (tmp_path / "posteriors").mkdir()
    (tmp_path / "posteriors/.elmlda-2").write_text("half")
    enter(open_run(tmp_path))
    assert {path.name for path in tmp_path.rglob("*")} == {LOCK, MANIFEST, "posteriors"}


def test_records_that_something_else_changes_during_the_run(tmp_path):
    with open_run(tmp_path) as run:
        file = run.records(Row)
        file.append(ROWS[:2])
        content = file.path.read_bytes()
        file.path.write_bytes(content + b"more")
        assert "something else changed or removed it during the run" in refusal_of(
            file.append, ROWS[2:]
        )
        file.path.write_bytes(content)
        file.append(ROWS[2:])
    assert file.read() == ROWS


def test_a_hard_linked_copy_of_the_folder_keeps_its_content(tmp_path):
    """As by cp -al: records are appended in place, and a torn line is cut off in place."""
    run, copy = tmp_path / "run", tmp_path / "copy"
    with open_run(run) as first:
        first.records(Row).append(ROWS[:2])
    with (run / "rows.csv").open("ab") as file:
        file.write(b"2,1e-0")
    copy.mkdir()
    before = {}
    for path in run.iterdir():
        os.link(path, copy / path.name)
        before[path.name] = path.read_bytes()
    with open_run(run, command="elmlda sweep --repeats 9") as again:
        file = again.records(Row)
        os.link(run / "rows.csv", tmp_path / "meanwhile")
        file.append(ROWS[2:])
        enter(open_run(copy))  # which nobody holds
    assert (tmp_path / "meanwhile").read_bytes() == before["rows.csv"].removesuffix(b"2,1e-0")
    for name in (LOCK, "rows.csv"):
        assert (copy / name).read_bytes() == before[name]
    assert (run / "rows.csv").read_bytes() == CONTENT


def test_a_folder_that_is_replaced_during_the_run(tmp_path):
    with open_run(tmp_path / "run") as run:
        file = run.records(Row)
        (tmp_path / "run").rename(tmp_path / "moved")
        assert refusal_of(file.append, ROWS).startswith(
            f"{tmp_path / 'run' / LOCK}: removed or replaced"
        )
        enter(open_run(tmp_path / "run"))
        assert "so another elmlda may be writing there" in refusal_of(file.append, ROWS)
    assert not list(tmp_path.rglob("rows.csv"))


@pytest.mark.parametrize("name", [LOCK, "rows.csv"])
def test_a_link_is_not_written_through(tmp_path, name):
    enter(open_run(tmp_path / "run"))
    (tmp_path / "run" / name).unlink(missing_ok=True)
    (tmp_path / "run" / name).symlink_to(tmp_path / "elsewhere")

    def run():
        with open_run(tmp_path / "run") as run:
            run.records(Row).append(ROWS)

    assert "a symbolic link" in refusal_of(run)
    assert not (tmp_path / "elsewhere").exists()


def test_no_room_for_the_lock(tmp_path):
    with largest_file(0):
        assert "cannot be written" in refusal_of(enter, open_run(tmp_path))
    enter(open_run(tmp_path))


POSTERIORS = np.full((3, 2), 0.5, np.float32)


@pytest.mark.parametrize(
    ("shape", "changes", "why"),
    [
        ((4, 2), {}, "float32 of shape"),
        ((3, 2), {"posteriors": POSTERIORS.astype(np.float64)}, "float64 of shape"),
        ((3, 2), {"posteriors": POSTERIORS[::-1] / 2}, "does not have its checksum"),
        ((3, 2), {"more": np.zeros(200_000, np.uint8)}, "bytes, expected about 24"),
    ],
)
def test_posteriors_must_prove_themselves(tmp_path, shape, changes, why):
    PosteriorStore(tmp_path, {"seed": 1}, (3, 2)).write((0,), 18, POSTERIORS)
    (path,) = (tmp_path / "posteriors").iterdir()
    with np.load(path) as stored:
        content = dict(stored)
    np.savez(path, **{**content, **changes})
    with pytest.warns(UntrustedPosteriorsWarning, match=why):
        assert PosteriorStore(tmp_path, {"seed": 1}, shape).read((0,), 18) is None


def test_posteriors_are_not_written_through_a_link(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "posteriors").symlink_to(tmp_path / "elsewhere")
    store = PosteriorStore(tmp_path, {"seed": 1}, (3, 2))
    assert "a symbolic link" in refusal_of(store.write, (0,), 18, POSTERIORS)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_what_is_not_the_runs_own_is_left_alone(tmp_path):
    """As with --out . in a folder that has other things in it."""
    (tmp_path / "thesis").mkdir()
    other = tmp_path / "thesis" / ".tmp-chapter"
    other.touch()
    enter(open_run(tmp_path))
    assert other.exists()


def test_a_folder_with_the_name_of_a_left_over_file(tmp_path):
    (tmp_path / ".tmp-folder").mkdir()
    enter(open_run(tmp_path))
    assert (tmp_path / ".tmp-folder").is_dir()


# One process at a time

HOLD = """
import sys, time
from pathlib import Path
from elmlda.runs.manifest import Entry
from elmlda.runs.run import Run
with Run.open(Path(sys.argv[1]), Entry("sweep", {"seed": 1, "ridge": 0.0})):
    print("held", flush=True)
    time.sleep(60)
"""


@contextmanager
def another_process_in(folder):
    command = [sys.executable, "-P", "-c", HOLD, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "held\n"
            yield process
        finally:
            process.kill()


def test_a_second_process_is_refused_until_the_first_ends(tmp_path):
    with another_process_in(tmp_path) as process:
        assert refusal_of(enter, open_run(tmp_path)) == (
            f"{tmp_path} is being written by another elmlda (process {process.pid}). "
            "Wait for it, or use another folder."
        )
        process.send_signal(signal.SIGKILL)
        process.wait()
        with open_run(tmp_path):
            assert (tmp_path / LOCK).read_text() == f"{os.getpid()}\n"


def test_one_process_holds_a_folder_once(tmp_path):
    with open_run(tmp_path):
        assert "is being written" in refusal_of(enter, open_run(tmp_path))
    enter(open_run(tmp_path))


def test_a_folder_without_records_can_be_made_anew(tmp_path):
    """Else a run that was refused for want of a ridge could not be repeated with one."""
    with open_run(tmp_path, identity={"ridge": 0.0}):
        pass
    with open_run(tmp_path, identity={"ridge": 0.1}):
        assert manifest(tmp_path)["run"] == {"ridge": 0.1}


def test_other_data_are_named_by_their_files(tmp_path):
    with open_run(tmp_path, identity={"sha256": {"train-images": "a" * 64, "t10k-images": "b"}}) as run:
        run.records(Row).append(ROWS)
    message = refusal_of(enter, open_run(tmp_path, identity={"sha256": {"train-images": "c" * 64}}))
    assert "was made with other data (train-images, t10k-images differ)" in message
