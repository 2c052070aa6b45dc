"""Ctrl-C and SIGTERM: one line that says how to go on, the shell's exit code, nobody left behind."""

import os
import signal
import subprocess
import sys
import time

import pytest
from command_line import ELMLDA
from processes import alive_in_session, started, wait_until

pytestmark = pytest.mark.faults
SIGNALS = pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name
)
WHILE_CLICK_IS_IMPORTED = """
import os, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "click":
            os.kill(os.getpid(), {number})
sys.meta_path.insert(0, Finder())
"""
IGNORING = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
os.execv(sys.argv[1], sys.argv[1:])
"""


def end_of(process):
    """What it has said, once nothing of it is left."""
    stdout, stderr = process.communicate(timeout=60)
    wait_until(lambda: not alive_in_session(process.pid), 10)
    assert stdout == ""
    return process.returncode, stderr.strip()


@SIGNALS
@pytest.mark.parametrize("to_group", [False, True], ids=["process", "group"])
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_sweep(faults, undisturbed, tmp_path, number, to_group, jobs):
    """To the process alone, or, as terminals and batch systems do it, to all its processes."""
    folder = tmp_path / "run"
    words = faults.build("sweep", folder, "--jobs", jobs)
    with started(words) as process:
        wait_until(lambda: faults.n_steps(folder) >= 3 or process.poll() is not None)
        (os.killpg if to_group else os.kill)(process.pid, number)
        exit_code, stderr = end_of(process)
    assert exit_code == 128 + number
    (line,) = stderr.splitlines()
    assert line.startswith("Stopped: ")
    assert f"of 360 rows are recorded in {folder}" in line
    assert 3 <= faults.n_steps(folder) < 120
    faults.finish(words[:-2])
    assert faults.results(folder) == undisturbed["sweep"]


@SIGNALS
@pytest.mark.parametrize(
    "words", [[ELMLDA], [sys.executable, "-m", "elmlda"]], ids=["script", "module"]
)
def test_before_anything_is_there(tmp_path, number, words):
    (tmp_path / "sitecustomize.py").write_text(WHILE_CLICK_IS_IMPORTED.format(number=int(number)))
    with started([*words, "--version"], env={**os.environ, "PYTHONPATH": str(tmp_path)}) as process:
        exit_code, stderr = end_of(process)
    assert exit_code == 128 + number
    assert stderr == "Stopped: run the same command again."


def test_a_long_network_is_not_waited_for(faults, tmp_path):
    with started(faults.build("sweep --hidden 6000 --repeats 1", tmp_path / "run")) as process:
        wait_until(lambda: (tmp_path / "run/manifest.json").exists() or process.poll() is not None)
        time.sleep(1)
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        exit_code, stderr = end_of(process)
    assert exit_code == 130
    assert stderr.startswith("Stopped: 0 of 1 row")
    assert time.monotonic() - start < 10


def test_nohup(faults, undisturbed, tmp_path):
    """Who ignores Ctrl-C is not stopped by it."""
    words = faults.build("sweep", tmp_path / "run")
    options = {"stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", IGNORING, *words], **options) as process:
        wait_until(lambda: faults.n_steps(tmp_path / "run") >= 3 or process.poll() is not None)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=120)[1] == ""
    assert process.returncode == 0
    assert faults.results(tmp_path / "run") == undisturbed["sweep"]
