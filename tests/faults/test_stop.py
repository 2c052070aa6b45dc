"""Ctrl-C and SIGTERM: a clean end at once, a line that says how to go on, nobody left behind."""

import os
import random
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from command_line import ELMLDA, TWO_CORES
from faults import (
    GOES_ON,
    LONG,
    SWEEP,
    finish,
    finish_here,
    n_rows,
    n_steps,
    results,
    started,
    wait_for_lock,
)
from processes import alive_in_session, wait_until

pytestmark = pytest.mark.faults
SEED = int(os.environ.get("ELMLDA_FAULT_SEED", "20"))
SIGNALS = pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name
)

STARTING = """
import os, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "click":
            os.kill(os.getpid(), {number})
sys.meta_path.insert(0, Finder())
"""
LOSES = """
import os, signal, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "scipy.linalg":
            try:
                os.kill(os.getpid(), {number})
            except BaseException:
                pass
sys.meta_path.insert(0, Finder())
"""
AT_THE_END = """
import os
class Last:
    def __del__(self, kill=os.kill, pid=os.getpid()):
        kill(pid, {number})
last = Last()
"""


@pytest.fixture
def stop(tmp_path):
    """What a command has to say when a signal comes as soon as it is ready: its standard error."""

    def run(words, number, is_ready, to_group=False):
        with (tmp_path / "err").open("w+") as err, started(words, stderr=err, cwd=tmp_path) as process:
            wait_until(lambda: is_ready(process) or process.poll() is not None)
            assert process.poll() is None, (tmp_path / "err").read_text()
            (os.killpg if to_group else os.kill)(process.pid, number)
            assert process.wait(timeout=300) == 128 + number
            wait_until(lambda: not alive_in_session(process.pid))
        return (tmp_path / "err").read_text()

    return run


@SIGNALS
@pytest.mark.parametrize("plan", [
    LONG,
    ("ensemble", "--n", "3", "--fanout", "4", "--repeats", "2000"),
    ("timing", "--fanout", "1-9", "--repeats", "1000"),
    ("tune", "--fanout", "4", "--repeats", "1000"),
], ids=lambda plan: plan[0])  # fmt: skip
def test_a_run(command, stop, tmp_path, number, plan):
    folder = tmp_path / "run"
    words = command(folder, plan)
    assert stop(words, number, lambda _: n_steps(folder) >= 5) == GOES_ON
    assert finish_here([*words, "--dry-run"]).exit_code == 0, "the folder is in order"


@SIGNALS
def test_compare(stop, tmp_path, number):
    words = [ELMLDA, "compare", "--dataset", "iris", "--repeats", "1000", "--quiet"]
    folder = tmp_path / "results" / "compare" / "iris"
    assert stop(words, number, lambda _: n_rows(folder, "compare.csv") > 5) == GOES_ON


@SIGNALS
@pytest.mark.parametrize("n_jobs", ["1", pytest.param("2", marks=TWO_CORES)])
def test_train(clouds, stop, tmp_path, number, n_jobs):
    """The bar shows that it has begun, and its line ends before ours."""
    options = "--data-dir", clouds, "--n", "5000", "--jobs", n_jobs, "--threads", "1"
    words = [ELMLDA, "train", *map(str, options)]
    stderr = stop(words, number, lambda _: "0%" in (tmp_path / "err").read_text())
    *bar, line = stderr.splitlines()
    assert line == "Stopped. The model is written at the end; the same command starts anew."
    assert "Traceback" not in "".join(bar)
    assert [path.name for path in tmp_path.iterdir()] == ["err"]


@SIGNALS
def test_bench(clouds, stop, tmp_path, number):
    """While the machine's speed is measured, in this very thread."""
    words = [ELMLDA, "bench", "--data-dir", str(clouds), "--threads", "1", "--out", "bench"]
    stderr = stop(words, number, lambda _: (tmp_path / "bench").exists())
    assert stderr == "Stopped. The same command starts anew; what it has written stays until then.\n"


@TWO_CORES
@SIGNALS
@pytest.mark.parametrize("to_group", [False, True], ids=["process", "group"])
def test_workers(command, stop, tmp_path, number, to_group):
    """To the process alone, or, as terminals and batch systems do it, to all its processes."""
    folder = tmp_path / "run"
    words = command(folder, LONG, "--jobs", "2")
    assert stop(words, number, lambda _: n_rows(folder) >= 10, to_group) == GOES_ON


def handles_sigterm(process):
    """Whether the command line has got so far."""
    with suppress(FileNotFoundError):
        for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
            if line.startswith("SigCgt:"):
                return bool(int(line.split()[1], 16) & 1 << (signal.SIGTERM - 1))
    return False


@SIGNALS
def test_while_a_module_is_imported_that_loses_exceptions(command, tmp_path, number):
    (tmp_path / "sitecustomize.py").write_text(LOSES.format(number=int(number)))
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    with started(command(tmp_path / "run", SWEEP), env=environment) as process:
        _, stderr = process.communicate(timeout=300)
    assert (process.returncode, stderr) == (128 + number, GOES_ON)


@SIGNALS
@pytest.mark.parametrize(
    "words", [[ELMLDA], [sys.executable, "-m", "elmlda"]], ids=["script", "module"]
)
def test_before_anything_is_there(tmp_path, number, words):
    (tmp_path / "sitecustomize.py").write_text(STARTING.format(number=int(number)))
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    with started([*words, "--version"], env=environment) as process:
        stdout, stderr = process.communicate(timeout=300)
    assert (process.returncode, stdout) == (128 + number, "")
    assert stderr == "Stopped. Run the same command again.\n"


@SIGNALS
def test_when_all_is_done(command, undisturbed, tmp_path, number):
    """Python takes its handlers back before it takes its modules down."""
    (tmp_path / "sitecustomize.py").write_text(AT_THE_END.format(number=int(number)))
    words = command(tmp_path / "run", SWEEP)
    finish(words, env={**os.environ, "PYTHONPATH": str(tmp_path)})
    assert results(tmp_path / "run") == results(undisturbed[SWEEP])


@SIGNALS
def test_at_any_moment(command, undisturbed, tmp_path, number):
    """Also while numpy and scipy are imported."""
    print(f"ELMLDA_FAULT_SEED={SEED}")
    rng = random.Random(SEED + number)
    for i in range(10):
        folder = tmp_path / str(i)
        with started(command(folder, SWEEP)) as process:
            wait_until(lambda process=process: handles_sigterm(process))
            time.sleep(rng.uniform(0, 1.2))
            process.send_signal(number)
            stdout, stderr = process.communicate(timeout=300)
        code = 128 + number
        ends = [(code, GOES_ON), (code, "Stopped. Run the same command again.\n"), (0, "")]
        assert stdout == ""
        assert (process.returncode, stderr) in ends
        finish_here(command(folder, SWEEP))
        assert results(folder) == results(undisturbed[SWEEP])
        assert not list(folder.rglob(".elmlda-*"))


def test_a_network_is_not_waited_for(command, tmp_path):
    """One that would take far longer than we have."""
    folder = tmp_path / "run"
    plan = "sweep", "--hidden", "3000", "--ridge", "1", "--repeats", "1"
    with started(command(folder, plan, "--chunk", "1")) as process:
        wait_for_lock(folder, process)
        time.sleep(0.5)
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=300) == 130
        assert time.monotonic() - start < 5
    assert n_rows(folder) == 0


@SIGNALS
def test_a_second_signal_does_not_wait(command, tmp_path, number):
    """Clean-up that hangs can be ended."""
    folder = tmp_path / "run"
    with started(command(folder, LONG)) as process:
        wait_until(lambda: n_rows(folder) >= 5)
        for _ in range(5):
            process.send_signal(number)
        _, stderr = process.communicate(timeout=300)
    assert (process.returncode, stderr) == (128 + number, GOES_ON)


def test_what_is_ignored_stays_ignored(command, tmp_path):
    """As nohup and shells have it for what runs in the background."""
    folder = tmp_path / "run"
    ignoring = ["sh", "-c", 'trap "" INT TERM; exec "$@"', "sh"]
    with started([*ignoring, *command(folder, LONG)]) as process:
        wait_until(lambda: n_rows(folder) >= 5)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        n = n_rows(folder)
        wait_until(lambda: n_rows(folder) > n + 25 or process.poll() is not None)
        assert process.poll() is None
