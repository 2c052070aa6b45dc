"""Work that must not be lost, and processes that must not stay."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import ELMLDA, TWO_CORES
from processes import started, wait_until


def test_one_of_two_trainings_into_one_file_is_refused(tmp_path):
    train = "train --dataset wine --hidden 90 --n 300 --quiet --out model.npz"
    command = [ELMLDA, *train.split(), "--seed"]
    both = [
        subprocess.Popen([*command, seed], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
        for seed in "12"
    ]
    said = [process.communicate(timeout=300)[1] for process in both]
    assert sorted(process.returncode for process in both) == [0, 1], said
    assert "model.npz" in "".join(said)
    assert [path.name for path in tmp_path.iterdir()] == ["model.npz"]


# Python scripts


@TWO_CORES
def test_a_script_needs_no_guard_for_two_jobs(run_python):
    done = run_python(
        "from elmlda import Sweep\n"
        "print(len(Sweep(dataset='iris', hidden=4, repeats=4).run('run', jobs=2)), 'rows')\n"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "4 rows\n"


INTERRUPTED = """
import time
from elmlda import Sweep

if __name__ == "__main__":
    try:
        Sweep(dataset="mnist", hidden=4000, repeats=4).run("run", jobs={jobs})
    except KeyboardInterrupt:
        print("caught", flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=TWO_CORES)])
def test_nothing_is_training_after_ctrl_c(tmp_path, jobs):
    (tmp_path / "script.py").write_text(INTERRUPTED.format(jobs=jobs))
    with started([sys.executable, "script.py"], cwd=tmp_path) as script:
        wait_until((tmp_path / "run" / "manifest.json").exists)
        begun = count_seconds(script.pid)
        wait_until(lambda: count_seconds(script.pid) > begun + 1)
        os.kill(script.pid, signal.SIGINT)
        assert script.stdout.readline() == "caught\n"
        time.sleep(0.5)
        before = count_seconds(script.pid)
        time.sleep(3)
        assert count_seconds(script.pid) - before < 0.3


def count_seconds(session):
    """Processor time of all processes that live in a session."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[3]) == session:
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")
