"""Predictions: memory against what a process takes, and refusals that name what would fit."""

import json
import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from processes import HAS_PROC, unmeasured

from elmlda.errors import ElmldaError
from elmlda.networks import cost
from elmlda.networks.cost import (
    Problem,
    predict_peak_bytes,
    require_memory,
)

MEASURE = """
import json, sys
from pathlib import Path
from elmlda import Sweep
options = json.loads(sys.argv[1])
sweep = Sweep(repeats=1, keep=False, **options)
predicted = sweep.dry_run(sys.argv[2]).peak_bytes
sweep.run(sys.argv[2], threads=1)
status = Path("/proc/self/status").read_text()
print(predicted, 1024 * int(status.split("VmHWM:")[1].split()[0]))
"""
"""What was mapped and never touched does not count: VmHWM is of this process alone."""
DIGITS = {"dataset": "digits", "ridge": 1.0}
MNIST = Problem(60_000, 10_000, 784, 10, (784, 1568, 15_680), input_bytes=55_000_000)


@HAS_PROC
@pytest.mark.parametrize(
    "options",
    [
        DIGITS | {"hidden": [4000]},
        DIGITS | {"hidden": [500, 4000], "precision": "double"},
        DIGITS | {"hidden": [2500], "ridge": "loo"},
        DIGITS | {"hidden": [4000], "ridge": [0.1, 1, 10]},
        pytest.param({"dataset": "mnist", "fanout": "1-4"}, marks=pytest.mark.slow),
        pytest.param(
            {"dataset": "mnist", "fanout": "2", "precision": "double"}, marks=pytest.mark.slow
        ),
    ],
    ids=str,
)
def test_memory_is_what_a_process_takes(tmp_path, options):
    words = [sys.executable, "-c", MEASURE, json.dumps(options), str(tmp_path / "run")]
    done = subprocess.run(words, capture_output=True, text=True, env=unmeasured())
    assert done.returncode == 0, done.stderr
    predicted, measured = map(int, done.stdout.split())
    assert measured == pytest.approx(predicted, rel=0.2)


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 8 * 10**9), st.integers(1, 4), st.booleans())
def test_what_is_said_to_fit_does_and_one_more_does_not(free, jobs, has_rule):
    sizes = 1000, 5000, 12_000
    problem = replace(MNIST, sizes=sizes, has_rule=has_rule)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cost, "free_memory", lambda: free)
        if predict_peak_bytes(problem, jobs) <= free:
            require_memory(problem, jobs)
            return
        with pytest.raises(ElmldaError) as caught:
            require_memory(problem, jobs)
    found = caught.value.settings

    def takes(n_hidden, jobs=jobs):
        smaller = (*(size for size in sizes if size < n_hidden), n_hidden)
        return predict_peak_bytes(replace(problem, sizes=smaller), jobs)

    most = found.get("hidden", 0)
    assert most == 0 or takes(most) <= free
    assert takes(min(most + 1, sizes[-1])) > free
    n_jobs = found.get("jobs", 0)
    assert n_jobs == 0 or predict_peak_bytes(problem, n_jobs) <= free
    assert predict_peak_bytes(problem, n_jobs + 1) > free


MEASURE_DUAL = """
import sys
from pathlib import Path
import numpy as np
from elmlda import ELMClassifier, LDAClassifierCV
from elmlda.networks.cost import Problem, predict_peak_bytes
n, p, units = map(int, sys.argv[1:])
rng = np.random.default_rng(0)
X, y = rng.normal(size=(n, p)), np.arange(n) % 5
classifier = ELMClassifier(units, weight_range=0.01) if units else LDAClassifierCV()
classifier.fit(X, y)
problem = Problem(n, 0, p if units else 0, 5, (units or p,), has_rule=True, leaves_out=True, is_dual=n < (units or p))
status = Path("/proc/self/status").read_text()
print(predict_peak_bytes(problem) + X.nbytes, 1024 * int(status.split("VmHWM:")[1].split()[0]))
"""


@HAS_PROC
@pytest.mark.parametrize("shape", [(300, 20_000, 0), (1200, 5000, 0), (1000, 500, 6000)], ids=str)
def test_memory_of_the_dual(shape):
    words = [sys.executable, "-c", MEASURE_DUAL, *map(str, shape)]
    done = subprocess.run(words, capture_output=True, text=True, env=unmeasured())
    assert done.returncode == 0, done.stderr
    predicted, measured = map(int, done.stdout.split())
    assert 0.7 * predicted < measured < 1.3 * predicted, (predicted, measured)
