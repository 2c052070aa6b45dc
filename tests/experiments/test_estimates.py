"""How long a dry run says that a run takes: an upper bound, but not far above what it takes.

Processor time is compared, because other work on the machine does not change it.
"""

import time

import pytest

from elmlda import Compare, Sweep


@pytest.mark.parametrize(
    ("experiment", "most"),
    [
        (Sweep(dataset="iris", hidden=[4, 8], repeats=150), 20),
        (Sweep(fanout="1-3", repeats=1), 3),
        pytest.param(Sweep(fanout="1-10", repeats=1), 3, marks=pytest.mark.slow),
        pytest.param(Sweep(fanout=20, repeats=1), 3, marks=pytest.mark.slow),
        (Compare(dataset="wine", hidden=500, ridge="loo", repeats=1, folds=2), 20),
    ],
    ids=["small networks", "1-3", "1-10", "20", "a ridge by leave-one-out"],
)
def test_a_run_takes_at_most_as_long_as_estimated(tmp_path, experiment, most):
    """For small networks, the bound allows for slow disks, whatever the processor's speed."""
    dry_run = experiment.dry_run(tmp_path, threads=1)
    (estimate,) = dry_run if isinstance(dry_run, list) else [dry_run]
    start = time.process_time()
    experiment.run(tmp_path, threads=1)
    seconds = time.process_time() - start
    assert seconds < estimate.seconds < most * seconds


def test_two_threads_are_expected_to_take_half_the_time(tmp_path):
    sweep = Sweep(fanout=10, repeats=1)
    one, two = (sweep.dry_run(tmp_path, threads=n).seconds for n in (1, 2))
    assert one / two == pytest.approx(2, rel=0.2)
