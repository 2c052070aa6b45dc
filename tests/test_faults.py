"""The faults that are cheap to try: a worker that dies, Ctrl-C, a second process, no room.

tests/faults has the others.
"""

import os
import signal
import subprocess
import sys
import time

import pytest
from faults import (
    GOES_ON,
    TWO_CORES,
    build,
    finish,
    n_rows,
    refused,
    results,
    started,
    wait_for_lock,
    with_room,
)
from processes import alive_in_session, wait_until, workers_in_session

NESTED = "sweep", "--hidden", "40-200:40", "--repeats", "30"
DIES_WHILE_REPLACING = """
import os, signal, sys
n_before, replace = int(sys.argv.pop(1)), os.replace
def die_later(*arguments):
    global n_before
    n_before -= 1
    replace(*arguments) if n_before >= 0 else os.kill(os.getpid(), signal.SIGKILL)
os.replace = die_later
from elmlda.cli import main
main()
"""


@pytest.fixture(scope="module")
def command(clouds):
    """The command line of a sweep into a folder."""
    return lambda folder, plan, *more: build(clouds, folder, plan, *more)


@pytest.fixture(scope="module")
def undisturbed(command, tmp_path_factory):
    """The folder of an undisturbed run."""
    folder = tmp_path_factory.mktemp("undisturbed") / "run"
    finish(command(folder, NESTED))
    return folder


@pytest.mark.parametrize("n_before", [0, 1], ids=["manifest", "posteriors"])
def test_a_kill_leaves_no_litter(command, tmp_path, n_before):
    """Killed while a file is not in its place yet: the next run clears it away."""
    words = command(tmp_path / "run", NESTED, "--repeats", "1")
    dies = [sys.executable, "-P", "-c", DIES_WHILE_REPLACING, str(n_before), *words[1:]]
    died = subprocess.run(dies, capture_output=True, text=True, timeout=300)
    assert died.returncode == -signal.SIGKILL, died.stderr
    finish(words)
    names = {str(path.relative_to(tmp_path / "run")) for path in (tmp_path / "run").rglob("*")}
    assert names == {".lock", "manifest.json", "posteriors", "posteriors/0-200.npz", "sweep.csv"}


@TWO_CORES
def test_a_worker_that_dies_is_explained(command, undisturbed, tmp_path):
    folder = tmp_path / "run"
    with started(command(folder, NESTED, "--jobs", "2")) as process:
        wait_until(lambda: n_rows(folder))
        os.kill(workers_in_session(process.pid)[0], signal.SIGKILL)
        stdout, stderr = process.communicate(timeout=300)
        wait_until(lambda: not alive_in_session(process.pid))
    assert (process.returncode, stdout) == (1, "")
    assert stderr.startswith("Error: a worker process died, most likely for want of memory. ")
    assert stderr.count("\n") == 1
    finish(command(folder, NESTED))
    assert results(folder) == results(undisturbed)


# Stopped


@pytest.mark.parametrize(
    ("n_jobs", "whom"),
    [
        (1, "process"),
        pytest.param(2, "process", marks=TWO_CORES),
        pytest.param(2, "group", marks=TWO_CORES),
    ],
)
def test_ctrl_c(command, undisturbed, tmp_path, n_jobs, whom):
    """To the process alone, or, as a terminal does it, to all its processes."""
    folder = tmp_path / "run"
    with started(command(folder, NESTED, "--jobs", n_jobs)) as process:
        wait_until(lambda: n_rows(folder) >= 10)
        (os.kill if whom == "process" else os.killpg)(process.pid, signal.SIGINT)
        stdout, stderr = process.communicate(timeout=30)
        wait_until(lambda: not alive_in_session(process.pid))
    assert (process.returncode, stdout) == (130, "")
    assert stderr == GOES_ON
    assert 0 < n_rows(folder) < n_rows(undisturbed)
    finish(command(folder, NESTED))
    assert results(folder) == results(undisturbed)


def test_ctrl_c_does_not_wait_for_a_network(command, tmp_path):
    """One that would take far longer than we have."""
    folder = tmp_path / "run"
    plan = "sweep", "--hidden", "3000", "--ridge", "1", "--repeats", "1"
    with started(command(folder, plan, "--chunk", "1")) as process:
        wait_for_lock(folder, process)
        time.sleep(0.5)
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 130
        assert time.monotonic() - start < 10
    assert n_rows(folder) == 0


# Two at once


def test_a_second_process_is_refused(command, tmp_path):
    folder = tmp_path / "run"
    with started(command(folder, NESTED)) as process:
        wait_for_lock(folder, process)
        process.send_signal(signal.SIGSTOP)
        second = subprocess.run(command(folder, NESTED), capture_output=True, text=True, timeout=300)
        assert (second.returncode, second.stdout) == (1, "")
        assert second.stderr == (
            f"Error: {folder} is being written by another elmlda (process {process.pid}). "
            "Wait for it, or use --out for another run.\n"
        )
        process.send_signal(signal.SIGCONT)
        assert process.wait(timeout=300) == 0


# No room


def test_no_room_for_records(command, undisturbed, tmp_path):
    folder, n_bytes = tmp_path / "run", 3000
    message = refused(with_room(n_bytes, command(folder, NESTED, "--no-posteriors")))
    assert message.startswith(f"{folder / 'sweep.csv'}: cannot be written: ")
    assert "run the same command again" in message
    content = (folder / "sweep.csv").read_bytes()
    assert content.endswith(b"\n")
    assert n_bytes / 2 < len(content) <= n_bytes
    assert n_rows(folder) % 5 == 0, "whole networks"
    finish(command(folder, NESTED, "--no-posteriors"))
    assert (folder / "sweep.csv").read_bytes().startswith(content)
    assert results(folder)[0] == results(undisturbed)[0]


def test_no_room_for_posteriors(command, undisturbed, tmp_path):
    folder = tmp_path / "run"
    message = refused(with_room(3000, command(folder, NESTED)))
    assert message.startswith(f"{folder / 'posteriors'}/0-200.npz: cannot be written: ")
    assert list((folder / "posteriors").iterdir()) == []
    finish(command(folder, NESTED))
    assert results(folder) == results(undisturbed)


@pytest.mark.parametrize("n_bytes", [0, 100])
def test_no_room_for_the_manifest(command, tmp_path, n_bytes):
    folder = tmp_path / "run"
    message = refused(with_room(n_bytes, command(folder, NESTED)))
    assert message.startswith(f"{folder}")
    assert "cannot be written: File too large" in message
    assert [path.name for path in folder.iterdir()] == [".lock"]
