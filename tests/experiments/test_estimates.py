"""How long a dry run says that a run takes: never far too short.

An estimate may be too long on a machine with other work, because it measures the machine's speed for a
moment.
"""

import statistics
import time

import pytest
from command_line import TWO_CORES

from elmlda import Compare, Sweep

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "experiment",
    [
        Sweep(dataset="iris", hidden=4, repeats=1500),
        Compare(dataset="wine", hidden=2000, repeats=1, folds=2),
    ],
    ids=["small networks", "a ridge by leaving one out"],
)
def test_a_run_does_not_take_far_longer_than_estimated(tmp_path, experiment):
    dry_run = experiment.dry_run(tmp_path)
    (estimate,) = dry_run if isinstance(dry_run, list) else [dry_run]
    start = time.perf_counter()
    experiment.run(tmp_path)
    assert (time.perf_counter() - start) / 2 < max(1, estimate.seconds)


@TWO_CORES
def test_one_thread_takes_longer_than_two(tmp_path):
    sweep = Sweep(fanout=10)
    pairs = [[sweep.dry_run(tmp_path, threads=n).seconds for n in (1, 2)] for _ in range(5)]
    one, two = (statistics.median(times) for times in zip(*pairs, strict=True))
    assert 1.4 < one / two < 3
