"""How long a run takes, by --dry-run: within a factor of two on a quiet machine, or as a range.

The tests are of estimates that are far too short: on a machine with other work the speed that is
measured for a moment may be a fraction of its own, and the estimate too long.
"""

import re
import statistics
import time

import pytest
from command_line import TWO_CORES

pytestmark = pytest.mark.slow
UNITS = {"s": 1, "min": 60, "h": 3600}


@pytest.fixture
def estimate(succeed):
    """The longest time that a dry run names, in seconds."""

    def run(*arguments):
        (line,) = [
            line for line in succeed(*arguments, "--dry-run").splitlines() if line.startswith("needs")
        ]
        found = re.findall(r"([\d.,]+) ?(s|min|h)\b", line)
        return max(float(number.replace(",", "")) * UNITS[unit] for number, unit in found)

    return run


@pytest.mark.parametrize(
    "command",
    [
        "sweep --dataset iris --hidden 4 --repeats 1500",
        "compare --dataset wine --hidden 2000 --repeats 1 --folds 2",
    ],
    ids=["small networks", "a ridge by leaving one out"],
)
def test_a_run_does_not_take_far_longer_than_estimated(estimate, succeed, command):
    words = [*command.split(), "--out", "run"]
    expected = estimate(*words)
    start = time.perf_counter()
    succeed(*words, "--quiet")
    took = time.perf_counter() - start - 1  # without what Python takes to start
    assert took / 2 < expected


@TWO_CORES
def test_one_thread_takes_longer_than_two(estimate):
    wanted = "sweep", "--fanout", 10, "--repeats", 200, "--threads"
    pairs = [[estimate(*wanted, threads) for threads in (1, 2)] for _ in range(5)]
    one, two = (statistics.median(each) for each in zip(*pairs, strict=True))
    assert 1.4 < one / two < 3
