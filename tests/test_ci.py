"""What runs before a change lands: scripts exist, coverage is required, and reproduce compares counts."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[1]
CI = [ROOT / ".ci/run", *ROOT.glob(".github/workflows/*.yml")]
COMPARISON = re.search(
    r"<<'PYTHON'\n(.*)\nPYTHON", (ROOT / "scripts/reproduce").read_text(), re.DOTALL
)[1]


@pytest.mark.parametrize("path", CI, ids=lambda path: path.name)
def test_ci_calls_scripts_that_exist(path):
    calls = re.findall(r"\./scripts/.*", path.read_text("utf-8"))
    scripts = {call.split()[0] for call in calls}
    assert scripts == {"./scripts/reproduce", "./scripts/test", "./scripts/check-package"}
    assert all(os.access(ROOT / script, os.X_OK) for script in scripts)
    assert (
        path.name == "run" or "./scripts/test --cov" in calls
    )  # pyproject.toml has the least coverage


@pytest.mark.parametrize(("change", "exit_code", "equal"), [(0, 0, 4), (1, 0, 3), (9, 1, 3)])
def test_reproduce_says_what_was_compared_with_what(tmp_path, change, exit_code, equal):
    """In two lines; the exit code is 1 if a mean error rate differs by more than rounding explains."""
    old = pd.read_csv(ROOT / "results/paper/sweep.csv").query("repeat < 2 and n_hidden == 784")
    old.assign(machine=7).to_csv(tmp_path / "old.csv", index=False)
    old.iloc[0, old.columns.get_loc("pi_errors")] += change
    old.to_csv(tmp_path / "new.csv", index=False)
    files = [tmp_path / "new.csv", tmp_path / "old.csv"]
    done = subprocess.run([sys.executable, "-c", COMPARISON, *files], capture_output=True, text=True)
    assert done.returncode == exit_code, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 2
    assert f"{files[1]}: {equal} of 4 error counts are equal" in lines[0]
    assert f"at most {change / 200:.4f} points" in lines[1]
