"""Killed at any moment, a run goes on as if nothing had been."""

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from command_line import TWO_CORES
from faults import ENSEMBLE, SWEEP, finish, finish_here, n_rows, n_steps, results, started
from processes import alive_in_session, wait_until, workers_in_session

pytestmark = pytest.mark.faults
SEED = int(os.environ.get("ELMLDA_FAULT_SEED", "20"))
N_MOMENTS, N_STARTING = 50, 8
PARTS = 5
PLANS = pytest.mark.parametrize("plan", [SWEEP, ENSEMBLE], ids=lambda plan: plan[0])
INDEPENDENT = "sweep", "--hidden", "60-180:60", "--repeats", "3", "--design", "independent"
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


def moments(plan, n_all):
    """Random moments over the whole run: seconds after the start, or after a number of steps."""
    print(f"ELMLDA_FAULT_SEED={SEED}")
    rng = random.Random(f"{SEED} {plan}")
    starting = [(0, rng.uniform(0, 0.8)) for _ in range(N_STARTING)]
    share = (n_all + 1) / (N_MOMENTS - N_STARTING)
    return starting + [
        (min(int(rng.uniform(i, i + 1) * share) + 1, n_all), rng.uniform(0, 0.01))
        for i in range(N_MOMENTS - N_STARTING)
    ]


def kill_at(words, folder, n, seconds):
    with started(words) as process:
        wait_until(lambda: n_steps(folder) >= n or process.poll() is not None)
        time.sleep(seconds)
        process.kill()
        process.wait()
        wait_until(lambda: not alive_in_session(process.pid))
    assert process.returncode in (0, -signal.SIGKILL), process.stderr


@PLANS
@pytest.mark.parametrize("part", range(PARTS))
def test_killed_at_any_moment(command, undisturbed, tmp_path, plan, part):
    n_all, n_between = n_steps(undisturbed[plan]), 0
    for i, (n, seconds) in enumerate(moments(plan, n_all)[part::PARTS]):
        folder = tmp_path / str(i)
        kill_at(command(folder, plan), folder, n, seconds)
        n_between += 0 < n_steps(folder) < n_all
        assert finish_here(command(folder, plan)).output == ""
        assert results(folder) == results(undisturbed[plan]), (n, seconds)
    assert n_between >= 3, "the kills came before or after the networks: nothing was tested"


@TWO_CORES
@PLANS
def test_killed_with_workers(command, undisturbed, tmp_path, plan):
    n_all, n_between = n_steps(undisturbed[plan]), 0
    for i, (n, seconds) in enumerate(moments(plan, n_all)[6::8]):
        folder = tmp_path / str(i)
        kill_at(command(folder, plan, "--jobs", "2"), folder, n, seconds)
        n_between += 0 < n_steps(folder) < n_all
        assert finish_here(command(folder, plan)).output == ""
        assert results(folder) == results(undisturbed[plan]), (n, seconds)
    assert n_between >= 2


@pytest.mark.parametrize("plan", [ENSEMBLE, INDEPENDENT], ids=["ensemble", "independent"])
def test_killed_again_and_again(command, tmp_path, plan):
    """Each process comes some steps further than the one before."""
    folder, whole, n_killed = tmp_path / "run", tmp_path / "whole", 0
    finish(command(whole, plan))
    rng = random.Random(SEED)
    while n_steps(folder) < n_steps(whole) and n_killed < 12:
        kill_at(command(folder, plan), folder, n_steps(folder) + 1, rng.uniform(0, 0.03))
        n_killed += 1
    assert n_killed >= 2
    finish(command(folder, plan))
    assert results(folder) == results(whole)


@pytest.mark.parametrize("n_before", [0, 1], ids=["manifest", "posteriors"])
def test_no_litter(command, tmp_path, n_before):
    """Killed while a file is not in its place yet: the next run clears it away."""
    words = command(tmp_path / "run", SWEEP, "--repeats", "1")
    dies = [sys.executable, "-P", "-c", DIES_WHILE_REPLACING, str(n_before), *words[1:]]
    died = subprocess.run(dies, capture_output=True, text=True, timeout=300)
    assert died.returncode == -signal.SIGKILL, died.stderr
    finish(words)
    names = {str(path.relative_to(tmp_path / "run")) for path in (tmp_path / "run").rglob("*")}
    assert names == {".lock", "manifest.json", "posteriors", "posteriors/0-120.npz", "sweep.csv"}


@TWO_CORES
def test_a_worker_alone(command, tmp_path):
    """Its death ends the run, with the reason; the same command goes on."""
    plan = "sweep", "--hidden", "40-200:40", "--repeats", "100"
    folder, whole = tmp_path / "run", tmp_path / "whole"
    with started(command(folder, plan, "--jobs", "2")) as process:
        wait_until(lambda: n_rows(folder))
        os.kill(workers_in_session(process.pid)[0], signal.SIGKILL)
        stdout, stderr = process.communicate(timeout=300)
        wait_until(lambda: not alive_in_session(process.pid))
    assert (process.returncode, stdout) == (1, "")
    assert stderr.startswith("Error: a worker process died, most likely for want of memory. ")
    assert stderr.count("\n") == 1
    for each in (folder, whole):
        finish_here(command(each, plan))
    assert results(folder) == results(whole)


@TWO_CORES
def test_the_resource_tracker_is_killed(command, undisturbed, tmp_path):
    """The process that Python starts beside workers, while the first of them starts."""
    folder = tmp_path / "run"

    def trackers(session):
        for pid in alive_in_session(session):
            with suppress(OSError):
                if b"resource_tracker import" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    yield pid

    with started(command(folder, SWEEP, "--jobs", "2")) as process:
        wait_until(lambda: list(trackers(process.pid)))
        for pid in trackers(process.pid):
            os.kill(pid, signal.SIGKILL)
        process.communicate(timeout=120)
        assert process.returncode == 0
        wait_until(lambda: not alive_in_session(process.pid), 10)
    assert results(folder) == results(undisturbed[SWEEP])
