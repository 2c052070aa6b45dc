"""What would take too long to list, and what may not be mixed in one run."""

import subprocess
import sys
import time

import pytest
from refusals import refusal_of

from elmlda import Ensemble, Sweep


def test_an_ensemble_of_millions_is_refused_at_once():
    start = time.process_time()
    assert refusal_of(Ensemble, n=10_000, repeats=10_000) == (
        "10,000 groups of 10,000 are 100,000,000 networks, expected at most 100,000. "
        "Lower n or repeats."
    )
    assert time.process_time() - start < 0.5


@pytest.mark.parametrize(("first", "then"), [(1, 3), (3, 1), (3, 2)])
def test_rows_by_blocks_do_not_mix_with_others(clouds, tmp_path, first, then):
    """Their sums are rounded otherwise, so that a count may differ by one."""
    sweep = {"data_dir": clouds, "fanouts": "1-2"}
    Sweep(**sweep, repeats=1, split_rows=first).run(tmp_path, threads=1)
    before = (tmp_path / "sweep.csv").read_bytes()
    other = Sweep(**sweep, repeats=2, split_rows=then)
    shown, same = {1: "not set"}, "the same settings" if first == 1 else f"split_rows={first}"
    for read in (other.run, other.outlook):
        assert refusal_of(read, tmp_path, threads=1) == (
            f"{tmp_path} was made with split_rows {shown.get(first, first)}; this command has "
            f"split_rows {shown.get(then, then)}. Use {same} to continue it, or another folder for a "
            "new run."
        )
    assert (tmp_path / "sweep.csv").read_bytes() == before
    Sweep(**sweep, repeats=2, split_rows=first).run(tmp_path, threads=1)
    assert (tmp_path / "sweep.csv").read_bytes().count(b"\n") == 5


COMBINE = """
import resource, sys
from elmlda.core.evaluate import Combination
import numpy as np
combination = Combination("mean")
member = np.random.default_rng(0).dirichlet(np.ones(10), 10_000)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for _ in range(100):
    combination.add(member)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_members_are_combined_one_by_one():
    """A hundred of 0.8 MB: none but the sum of them is held."""
    command = [sys.executable, "-c", COMBINE]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 20_000  # kilobytes
