"""A clock that jumps, back and forth, changes nothing."""

import os
import subprocess

import pytest
from command_line import TWO_CORES, read_rows
from faults import ENSEMBLE, SWEEP, TIMES, results

pytestmark = pytest.mark.faults
JUMPS = """
import itertools, time
_jumps, _time = itertools.cycle([0, 86400, -86400, 3600, -7e8]), time.time
time.time = lambda: _time() + next(_jumps)
time.time_ns = lambda: int(1e9 * time.time())
"""
TIMING = "timing", "--fanout", "1-2", "--repeats", "2"
WITH_WORKERS = [pytest.param((*plan, "--jobs", "2"), marks=TWO_CORES) for plan in (SWEEP, ENSEMBLE)]


@pytest.mark.parametrize("plan", [SWEEP, ENSEMBLE, TIMING, *WITH_WORKERS], ids=" ".join)
def test_a_clock_that_jumps(command, undisturbed, tmp_path, plan):
    """In the process and in its workers, with the bar shown, which has a clock of its own."""
    (tmp_path / "sitecustomize.py").write_text(JUMPS)
    words = command(tmp_path / "run", plan)
    words.remove("--quiet")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    result = subprocess.run(words, capture_output=True, text=True, timeout=300, env=environment)
    assert result.returncode == 0, result.stderr
    assert "Traceback" not in result.stderr
    if plan[0] != "timing":
        alone = undisturbed[SWEEP if plan[0] == "sweep" else ENSEMBLE]
        assert results(tmp_path / "run") == results(alone)
    for path in (tmp_path / "run").glob("*.csv"):
        for row in read_rows(path):
            assert all(0 <= float(row[name]) < 600 for name in TIMES & row.keys()), row
