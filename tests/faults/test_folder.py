"""The run's folder is removed, replaced, locked, copied or full of links while it is worked on."""

import os
import shutil
import signal
import subprocess
from contextlib import contextmanager

import pytest
from command_line import ELMLDA, TWO_CORES, read_raw_manifest
from faults import (
    ENSEMBLE,
    LONG,
    SWEEP,
    finish,
    finish_here,
    n_rows,
    refused,
    results,
    started,
    the_error,
    wait_for_lock,
)
from processes import wait_until

pytestmark = pytest.mark.faults


@pytest.fixture
def meanwhile(command):
    """The one line with which a run ends to whose folder something is done between two networks."""

    @contextmanager
    def stopped_for_a_moment(folder, errors, *more):
        with started(command(folder, LONG, *more)) as process:
            wait_until(lambda: n_rows(folder) >= 10)
            process.send_signal(signal.SIGSTOP)
            yield
            process.send_signal(signal.SIGCONT)
            stdout, stderr = process.communicate(timeout=300)
        errors.append(the_error(process.returncode, stdout, stderr))

    return stopped_for_a_moment


# Removed, replaced, read-only


@pytest.mark.parametrize(
    "more", [(), ("--no-posteriors",), pytest.param(("--jobs", "2"), marks=TWO_CORES)]
)
def test_removed(meanwhile, tmp_path, more):
    folder, errors = tmp_path / "run", []
    with meanwhile(folder, errors, *more):
        shutil.rmtree(folder)
    assert str(folder) in errors[0]
    assert "is safe" not in errors[0]
    assert "run the same command again" in errors[0].lower()
    assert not folder.exists(), "nothing is made there that looks like a run"


def test_replaced_by_a_file(meanwhile, tmp_path):
    folder, errors = tmp_path / "run", []
    with meanwhile(folder, errors):
        shutil.rmtree(folder)
        folder.write_text("mine")
    assert str(folder) in errors[0]
    assert "Not a directory" in errors[0]
    assert folder.read_text() == "mine"


@pytest.mark.parametrize("more", [(), ("--no-posteriors",)])
def test_made_anew_by_another(command, meanwhile, undisturbed, tmp_path, more):
    """Two runs that write one folder would double its records."""
    folder, errors = tmp_path / "run", []
    with meanwhile(folder, errors, *more):
        shutil.rmtree(folder)
        finish(command(folder, SWEEP))
    assert "another elmlda may be writing there" in errors[0]
    assert results(folder)[0] == results(undisturbed[SWEEP])[0]


@pytest.mark.parametrize("change", ["removed", "shortened", "lengthened"])
def test_records_changed_by_another(meanwhile, tmp_path, change):
    folder, errors = tmp_path / "run", []
    path = folder / "sweep.csv"
    with meanwhile(folder, errors):
        lines = path.read_bytes().splitlines(keepends=True)
        path.unlink()
        if change != "removed":
            path.write_bytes(b"".join(lines[:-1] if change == "shortened" else [*lines, lines[-1]]))
        content = path.read_bytes() if path.exists() else b""
    assert errors[0].startswith(f"{path}: ")
    assert "something else changed or removed it during the run" in errors[0]
    assert (path.read_bytes() if path.exists() else b"") == content


def test_read_only(command, meanwhile, tmp_path):
    """By its permissions or, for root, whom they don't keep out, by a read-only mount over it."""
    folder, errors = tmp_path / "run", []
    is_root = os.geteuid() == 0
    try:
        with meanwhile(folder, errors):
            before = results(folder)[0]
            if is_root:
                mount = ["mount", "--bind", str(folder), str(folder)]
                if subprocess.run(mount, capture_output=True).returncode:
                    pytest.skip("nothing can be mounted here")
                subprocess.run(["mount", "-o", "remount,bind,ro", str(folder)], check=True)
            else:
                for path in (folder, *folder.rglob("*")):
                    path.chmod(path.stat().st_mode & ~0o222)
        for message in (errors[0], refused(command(folder, LONG))):
            assert message.startswith(f"{folder}/")
            assert "cannot be written: " in message
            assert "What was recorded before is safe: " in message
        assert results(folder)[0] == before
    finally:
        if is_root:
            subprocess.run(["umount", str(folder)], capture_output=True)
        for path in (folder, *folder.rglob("*")):
            path.chmod(path.stat().st_mode | 0o700)


# Two at once


def test_a_second_process_is_refused_and_the_first_is_right(command, undisturbed, tmp_path):
    folder = tmp_path / "run"
    with started(command(folder, SWEEP)) as process:
        wait_for_lock(folder, process)
        process.send_signal(signal.SIGSTOP)
        for plan in (SWEEP, ENSEMBLE):
            assert refused(command(folder, plan)) == (
                f"{folder} is being written by another elmlda (process {process.pid}). "
                "Wait for it, or use another --out."
            )
        process.send_signal(signal.SIGCONT)
        assert process.wait(timeout=300) == 0
    assert results(folder) == results(undisturbed[SWEEP])


def test_a_lock_left_behind_does_not_block(command, undisturbed, tmp_path):
    folder = tmp_path / "run"
    with started(command(folder, SWEEP)) as process:
        wait_for_lock(folder, process)
        process.kill()
    assert (folder / ".lock").exists()
    finish(command(folder, SWEEP))
    assert results(folder) == results(undisturbed[SWEEP])


def test_a_lock_of_a_process_that_lives_does_not_block(command, tmp_path):
    """The number in the file is for people: another machine's may be anybody's here."""
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / ".lock").write_text("1\n")
    finish(command(folder, SWEEP))


# Another machine


def test_copied_to_another_machine(clouds, command, undisturbed, tmp_path, monkeypatch):
    """Another path, name, processor and number of cores; times of files lost, no lock file."""
    here, there = tmp_path / "here", tmp_path / "there"
    plans = (SWEEP, (*ENSEMBLE, "--repeats", "2"), ("timing", "--fanout", "1-2", "--repeats", "1"))
    for plan in plans:
        finish_here(command(here / "run", plan))
    shorten(here / "run" / "sweep.csv", 9)
    shutil.copytree(here / "run", there / "run", copy_function=shutil.copyfile)
    shutil.copytree(clouds, there / "clouds", copy_function=shutil.copyfile)
    for path in there.rglob("*"):
        os.utime(path, (0, 0))
    (there / "run" / ".lock").unlink()
    shutil.rmtree(here)
    monkeypatch.chdir(there)
    monkeypatch.setattr("elmlda.machine._cpu_name", lambda: "Abacus 7")
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(7)))
    monkeypatch.setattr("socket.gethostname", lambda: "elsewhere")
    for plan in (SWEEP, ENSEMBLE, plans[2]):
        words = [
            plan[0],
            "--data-dir",
            "clouds",
            "--out",
            "run",
            "--quiet",
            "--threads",
            "1",
            *plan[1:],
        ]
        result = finish_here([ELMLDA, *words])
        assert (result.exit_code, result.output) == (0, ""), plan
    ours, _ = results(there / "run")
    assert ours["sweep.csv"] == results(undisturbed[SWEEP])[0]["sweep.csv"]
    for name in ("ensemble.csv", "mistakes.csv", "pairs.csv"):
        assert ours[name] == results(undisturbed[ENSEMBLE])[0][name], name
    manifest = read_raw_manifest(there / "run")
    assert [machine["cores"] for machine in manifest["machines"]][-1] == 7
    assert len(manifest["machines"]) == 2
    result = finish_here([ELMLDA, "report", "run"])
    assert result.exit_code == 0
    for path in (there / "run").rglob("*"):
        assert path.is_dir() or str(tmp_path).encode() not in path.read_bytes(), path


def shorten(path, n_lines):
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-n_lines]))


# Links


@pytest.fixture
def elsewhere(tmp_path):
    """A folder with somebody else's file."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "precious").write_text("not to be touched, not even this torn line")
    return folder


def untouched(elsewhere):
    (path,) = elsewhere.rglob("*")
    return path.read_text() == "not to be touched, not even this torn line"


@pytest.mark.parametrize("exists", [True, False], ids=["whole", "dangling"])
@pytest.mark.parametrize("name", ["sweep.csv", ".lock", "manifest.json", "posteriors/0-120.npz"])
def test_a_link_is_not_written_through(command, elsewhere, tmp_path, name, exists):
    """The link is refused, or a file takes its place."""
    folder = tmp_path / "run"
    (folder / "posteriors").mkdir(parents=True)
    target = elsewhere / ("precious" if exists else "new")
    (folder / name).symlink_to(target)
    result = finish_here(command(folder, SWEEP))
    assert untouched(elsewhere)
    if result.exit_code:
        message = the_error(result.exit_code, result.stdout, result.stderr)
        assert str(folder / name) in message
        assert (folder / name).is_symlink()
    else:
        assert not (folder / name).is_symlink()


@pytest.mark.parametrize("torn", ["", "0,4.4"])
def test_records_are_not_written_through_a_link(command, undisturbed, tmp_path, torn):
    """Whole records of this very run, elsewhere: neither appended to nor cut off."""
    folder, path = tmp_path / "run", tmp_path / "run" / "sweep.csv"
    shutil.copytree(undisturbed[SWEEP], folder)
    shorten(path, 3)
    target = path.rename(tmp_path / "sweep.csv")
    with target.open("a") as file:
        file.write(torn)
    content = target.read_bytes()
    path.symlink_to(target)
    result = finish_here(command(folder, SWEEP))
    assert the_error(result.exit_code, result.stdout, result.stderr).startswith(
        f"{path}: cannot be written: a symbolic link, and elmlda writes through none."
    )
    assert target.read_bytes() == content


def test_posteriors_elsewhere(command, elsewhere, tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "posteriors").symlink_to(elsewhere)
    (elsewhere / "precious").rename(elsewhere / ".elmlda-precious")
    result = finish_here(command(folder, SWEEP))
    message = the_error(result.exit_code, result.stdout, result.stderr)
    assert message.startswith(f"{folder}/posteriors/0-120.npz: cannot be written: a symbolic link")
    assert untouched(elsewhere)


def test_the_reports_files(undisturbed, elsewhere, tmp_path):
    """Each a link: files take their places."""
    folder = shutil.copytree(undisturbed[SWEEP], tmp_path / "run")
    records = {path.name for path in folder.iterdir()}
    finish_here([ELMLDA, "report", str(folder)])
    names = {path.name for path in folder.iterdir()} - records
    assert {"table1.csv", "report.md", "report.html"} < names
    for name in names:
        (folder / name).unlink()
        (folder / name).symlink_to(elsewhere / "precious")
    assert finish_here([ELMLDA, "report", str(folder)]).exit_code == 0
    assert untouched(elsewhere)
    assert not any((folder / name).is_symlink() for name in names)


def test_a_models_file(clouds, elsewhere, tmp_path):
    path = tmp_path / "model.npz"
    path.symlink_to(elsewhere / "precious")
    words = [ELMLDA, "train", "--data-dir", str(clouds), "--out", str(path), "--force"]
    assert finish_here(words).exit_code == 0
    assert untouched(elsewhere)
    assert not path.is_symlink()


def test_the_folder_itself_may_be_a_link(command, undisturbed, tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "run").symlink_to(tmp_path / "disk")
    assert finish_here(command(tmp_path / "run", SWEEP)).exit_code == 0
    assert (tmp_path / "run").is_symlink()
    assert results(tmp_path / "disk") == results(undisturbed[SWEEP])
