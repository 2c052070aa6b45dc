"""A sweep that is killed, stopped, starved of disk or of workers goes on as if nothing had been."""

import csv
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from processes import alive_in_session, wait_until, workers_in_session

from elmlda.machine import count_cores

ELMLDA = str(Path(sys.executable).with_name("elmlda"))
TIMED = ("seconds", "crc32")
"""Columns that depend on the time that a network took."""
NESTED = "--hidden", "40-200:40", "--repeats", "30"
INDEPENDENT = "--hidden", "60-180:60", "--repeats", "10", "--design", "independent"
TWO_CORES = pytest.mark.skipif(count_cores() < 2, reason="--jobs 2 needs two cores")
LIMITED = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
os.execv(sys.argv[2], sys.argv[2:])
"""
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

    def build(folder, plan, *more):
        options = "--data-dir", clouds, "--out", folder, "--quiet", "--threads", "1"
        return [str(word) for word in (ELMLDA, "sweep", *options, *plan, *more)]

    return build


@pytest.fixture(scope="module")
def undisturbed(command, tmp_path_factory):
    """The folder of each plan's undisturbed run, and the seconds that its networks took."""
    runs = {}
    for plan in (NESTED, INDEPENDENT):
        folder = tmp_path_factory.mktemp("undisturbed") / "run"
        with started(command(folder, plan)) as process:
            wait_for_lock(folder, process)
            start = time.monotonic()
            assert process.wait() == 0
        runs[plan] = folder, time.monotonic() - start
    return runs


@contextmanager
def started(words):
    """A process in a session of its own, ended with all that it has started."""
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            yield process
        finally:
            for pid in alive_in_session(process.pid):
                os.kill(pid, signal.SIGKILL)


def wait_for_lock(folder, process):
    """Until the process has loaded the data and has the folder."""
    lock = folder / ".lock"
    wait_until(lambda: lock.exists() and lock.read_text() == f"{process.pid}\n")


def n_rows(folder):
    path = folder / "sweep.csv"
    return max(0, path.read_bytes().count(b"\n") - 1) if path.exists() else 0


def results(folder):
    """All that a run has computed: its records without their times, and its posteriors."""
    with (folder / "sweep.csv").open(encoding="utf-8", newline="") as file:
        records = [{k: v for k, v in row.items() if k not in TIMED} for row in csv.DictReader(file)]
    kept = {path.name: path.read_bytes() for path in (folder / "posteriors").glob("[!.]*")}
    return records, kept


def finish(words):
    result = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


# Killed


@pytest.mark.parametrize("plan", [NESTED, INDEPENDENT], ids=["nested", "independent"])
def test_killed_at_any_moment(command, undisturbed, tmp_path, plan):
    """Twice three kills of one run each, at random moments between its first and last network."""
    whole, seconds = undisturbed[plan]
    moments = random.Random(f"moments {plan}")
    n_torn_apart = 0
    for trial in range(2):
        folder = tmp_path / str(trial)
        for _ in range(3):
            with started(command(folder, plan)) as process:
                wait_for_lock(folder, process)
                time.sleep(moments.uniform(0, seconds / 2))
                process.kill()
            n_torn_apart += 0 < n_rows(folder) < n_rows(whole)
        finish(command(folder, plan))
        assert results(folder) == results(whole)
    assert n_torn_apart >= 2, "the kills came before or after the networks: nothing was tested"


@pytest.mark.parametrize("n_before", [0, 1], ids=["manifest", "posteriors"])
def test_a_kill_leaves_no_litter(command, tmp_path, n_before):
    """Killed while a file is not in its place yet: the next run clears it away."""
    words = command(tmp_path / "run", NESTED, "--repeats", "1")
    dies = [sys.executable, "-P", "-c", DIES_WHILE_REPLACING, str(n_before), *words[1:]]
    died = subprocess.run(dies, capture_output=True, text=True, timeout=60)
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
        stdout, stderr = process.communicate(timeout=60)
        wait_until(lambda: not alive_in_session(process.pid))
    assert (process.returncode, stdout) == (1, "")
    assert stderr.startswith("Error: a worker process died, most likely for want of memory. ")
    assert stderr.count("\n") == 1
    finish(command(folder, NESTED))
    assert results(folder) == results(undisturbed[NESTED][0])


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
        wait_until(lambda: not alive_in_session(process.pid), seconds=10)
    assert (process.returncode, stdout) == (130, "")
    assert [line for line in stderr.splitlines() if line] == [
        "Stopped. Every finished network is recorded; the same command goes on from there."
    ]
    assert 0 < n_rows(folder) < n_rows(undisturbed[NESTED][0])
    finish(command(folder, NESTED))
    assert results(folder) == results(undisturbed[NESTED][0])


def test_ctrl_c_does_not_wait_for_a_network(command, tmp_path):
    """One that would take far longer than we have."""
    folder = tmp_path / "run"
    plan = "--hidden", "3000", "--ridge", "1", "--repeats", "1"
    with started(command(folder, plan, "--chunk", "1")) as process:
        wait_for_lock(folder, process)
        time.sleep(0.5)
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 130
        assert time.monotonic() - start < 2
    assert n_rows(folder) == 0


# Two at once


def test_a_second_process_is_refused(command, tmp_path):
    folder = tmp_path / "run"
    with started(command(folder, NESTED)) as process:
        wait_for_lock(folder, process)
        process.send_signal(signal.SIGSTOP)
        second = subprocess.run(command(folder, NESTED), capture_output=True, text=True, timeout=60)
        assert (second.returncode, second.stdout) == (1, "")
        assert second.stderr == (
            f"Error: {folder} is being written by another elmlda (process {process.pid}). "
            "Wait for it, or use --out for another run.\n"
        )
        process.send_signal(signal.SIGCONT)
        assert process.wait(timeout=60) == 0


# No room


def run_with_room(words, n_bytes):
    """As on a full disk: no file can grow beyond that."""
    limited = [sys.executable, "-P", "-c", LIMITED, str(n_bytes), *words]
    result = subprocess.run(limited, capture_output=True, text=True, timeout=60)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    return result.stderr.removeprefix("Error: ")


def test_no_room_for_records(command, undisturbed, tmp_path):
    folder, n_bytes = tmp_path / "run", 3000
    message = run_with_room(command(folder, NESTED, "--no-posteriors"), n_bytes)
    assert message.startswith(f"{folder / 'sweep.csv'}: cannot be written: ")
    assert "run the same command again" in message
    content = (folder / "sweep.csv").read_bytes()
    assert content.endswith(b"\n")
    assert n_bytes / 2 < len(content) <= n_bytes
    assert n_rows(folder) % 5 == 0, "whole networks"
    finish(command(folder, NESTED, "--no-posteriors"))
    assert (folder / "sweep.csv").read_bytes().startswith(content)
    assert results(folder)[0] == results(undisturbed[NESTED][0])[0]


def test_no_room_for_posteriors(command, undisturbed, tmp_path):
    folder = tmp_path / "run"
    message = run_with_room(command(folder, NESTED), 3000)
    assert message.startswith(f"{folder / 'posteriors'}/0-200.npz: cannot be written: ")
    assert list((folder / "posteriors").iterdir()) == []
    finish(command(folder, NESTED))
    assert results(folder) == results(undisturbed[NESTED][0])


@pytest.mark.parametrize("n_bytes", [0, 100])
def test_no_room_for_the_manifest(command, tmp_path, n_bytes):
    folder = tmp_path / "run"
    message = run_with_room(command(folder, NESTED), n_bytes)
    assert message.startswith(f"{folder}")
    assert "cannot be written: File too large" in message
    assert [path.name for path in folder.iterdir()] == [".lock"]
