"""Jobs in this process or side by side: same results, no more under way than said, clean ends.

What runs in other processes comes from the standard library or the package: they cannot import tests.
"""

import math
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from faults import started
from processes import alive_in_session, wait_until, workers_in_session

from elmlda.errors import ElmldaError
from elmlda.execute.local import _merge_tree, execute
from elmlda.ranges import parse_ranges

SESSION = """
import time
from elmlda.execute.local import _merge_tree, execute
for job, _ in execute(time.sleep, [0.0, 0.0, 60.0, 60.0], 2):
    print(job, flush=True)
"""


@pytest.mark.parametrize("n_processes", [1, 2, 3])
def test_every_job_comes_with_its_result(n_processes):
    jobs = list(range(20))
    done = list(execute(math.factorial, jobs, n_processes))
    assert sorted(done) == [(job, math.factorial(job)) for job in jobs]
    if n_processes == 1:
        assert [job for job, _ in done] == jobs


@pytest.mark.parametrize("n_processes", [1, 2])
def test_no_jobs_no_results(n_processes):
    assert list(execute(math.factorial, [], n_processes)) == []


def test_one_process_is_this_one():
    assert {result for _, result in execute(lambda _: os.getpid(), range(3))} == {os.getpid()}


def test_two_processes_are_others():
    job = "__import__('time').sleep(0.5) or __import__('os').getpid()"
    processes = {result for _, result in execute(eval, [job, job, job], 2)}
    assert len(processes) == 2
    assert os.getpid() not in processes


def test_what_finishes_first_comes_first():
    assert [job for job, _ in execute(time.sleep, [1.5, 0.0, 0.0], 2)] == [0.0, 0.0, 1.5]


@pytest.fixture
def new_children():
    """What this process has started since; other tests' pools may outlive them."""
    before = set(multiprocessing.active_children())
    return lambda: [child for child in multiprocessing.active_children() if child not in before]


@pytest.mark.parametrize("n_processes", [1, 2])
def test_no_more_jobs_are_under_way_than_processes(n_processes):
    n_started = n_stored = most = 0

    def jobs():
        nonlocal n_started, most
        for job in range(12):
            n_started += 1
            most = max(most, n_started - n_stored)
            yield job

    for _ in execute(math.factorial, jobs(), n_processes):
        # The generator is asked for the next job only after this body has stored the result.
        assert n_started - n_stored <= n_processes
        n_stored += 1
    assert n_stored == 12
    assert most == n_processes


@pytest.mark.parametrize("n_processes", [1, 2])
def test_a_jobs_error_comes_through(n_processes, new_children):
    with pytest.raises(ElmldaError, match=r"'x': 'x' is neither a number nor a range\."):
        list(execute(parse_ranges, ["1-2", "x", "3"], n_processes))
    assert new_children() == []


def test_a_jobs_error_does_not_wait_for_the_others():
    start = time.monotonic()
    with pytest.raises(ValueError, match="sleep length must be non-negative"):
        list(execute(time.sleep, [60.0, -1.0], 2))
    assert time.monotonic() - start < 30


def test_a_worker_that_is_killed_is_explained(new_children):
    with pytest.raises(ElmldaError) as caught:
        list(execute(signal.raise_signal, [signal.SIGKILL, signal.SIGKILL], 2))
    message = str(caught.value)
    assert "a worker process died" in message
    assert "run the same command again, with fewer jobs or a smaller chunk" in message
    assert "\n" not in message
    assert new_children() == []


def test_who_stops_listening_leaves_no_process(new_children):
    results = execute(time.sleep, [0.0, 60.0, 60.0], 2)
    assert next(results) == (0.0, None)
    results.close()
    assert new_children() == []


def test_who_stops_listening_does_not_wait_for_a_thread():
    before = set(threading.enumerate())
    results = execute(time.sleep, [0.0, 60.0])
    next(results)
    results.close()
    assert all(thread.daemon for thread in set(threading.enumerate()) - before)


def session():
    """A process that has two others work for it, all in a session of their own."""
    return started([sys.executable, "-P", "-c", SESSION], stderr=subprocess.DEVNULL)


def test_workers_end_with_a_parent_that_is_killed():
    with session() as parent:
        assert [parent.stdout.readline() for _ in range(2)] == ["0.0\n", "0.0\n"]
        assert len(workers_in_session(parent.pid)) == 2
        parent.send_signal(signal.SIGKILL)
        parent.wait()
        wait_until(lambda: alive_in_session(parent.pid) == [])


def test_workers_leave_signals_to_their_parent_from_their_first_moment():
    with session() as parent:
        wait_until(lambda: workers_in_session(parent.pid))
        (worker, *_) = workers_in_session(parent.pid)
        status = Path(f"/proc/{worker}/status").read_text()
    masks = dict(line.split(":\t", 1) for line in status.splitlines())
    deaf_to = int(masks["SigBlk"], 16) | int(masks["SigIgn"], 16)
    for number in (signal.SIGINT, signal.SIGTERM):
        assert deaf_to & 1 << (number - 1), number.name


FEW_HANDLES = """
import resource
from elmlda.errors import ElmldaError
from elmlda.execute.local import execute
resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24))
try:
    list(execute(abs, range(40), 12))
except ElmldaError as error:
    print(error)
"""


def test_too_few_handles_for_so_many_processes():
    with started([sys.executable, "-P", "-c", FEW_HANDLES]) as parent:
        stdout, stderr = parent.communicate(timeout=120)
        wait_until(lambda: alive_in_session(parent.pid) == [])
    assert stdout.startswith(
        "a worker process cannot be started: Too many open files. Use fewer jobs, "
    )
    assert (stdout.count("\n"), stderr, parent.returncode) == (1, "", 0)


def test_parts_that_are_missing_are_not_made_up():
    assert _merge_tree([(2, "c"), (0, "a"), (1, "b")], 3, str.__add__) == "abc"
    with pytest.raises(ValueError, match="fewer than 3 parts"):
        _merge_tree([(0, "a"), (2, "c")], 3, str.__add__)
