"""SIGKILL at any moment, of the command or of a worker: the same command goes on, nothing is lost."""

import os
import random
import signal
import time

import pytest
from processes import alive_in_session, started, wait_until, workers_in_session

pytestmark = pytest.mark.faults
N_KILLS = 10
SEED = int(os.environ.get("ELMLDA_FAULT_SEED", "20"))


@pytest.mark.parametrize("plan", ["sweep", "ensemble"])
def test_killed_ten_times(faults, undisturbed, tmp_path, plan):
    print(f"ELMLDA_FAULT_SEED={SEED}")
    rng, folder = random.Random(SEED), tmp_path / "run"
    words, n_killed = faults.build(plan, folder), 0
    for _ in range(N_KILLS):
        before = faults.n_steps(folder)
        with started(words) as process:
            wait_until(lambda n=before, p=process: faults.n_steps(folder) > n or p.poll() is not None)
            time.sleep(rng.uniform(0, 0.08))
            process.kill()
            n_killed += process.wait() == -signal.SIGKILL
        assert faults.n_steps(folder) >= before
    assert n_killed >= 3, "the runs are too short to be killed"
    faults.finish(words)
    assert faults.results(folder) == undisturbed[plan]


def test_a_worker_is_killed(faults, undisturbed, tmp_path):
    folder = tmp_path / "run"
    words = faults.build("sweep", folder, "--jobs", "2")
    with started(words) as process:
        wait_until(lambda: faults.n_steps(folder) >= 3 or process.poll() is not None)
        os.kill(workers_in_session(process.pid)[0], signal.SIGKILL)
        stdout, stderr = process.communicate(timeout=60)
        wait_until(lambda: not alive_in_session(process.pid), 10)
    message = faults.the_error(process.returncode, stdout, stderr)
    assert "killed" in message
    assert "--jobs" in message
    assert 3 <= faults.n_steps(folder) < 120
    faults.finish(words)
    assert faults.results(folder) == undisturbed["sweep"]
