"""Processes that tests start, and looking at them by /proc."""

import os
import signal
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

HAS_PROC = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")


@contextmanager
def started(words, **options):
    """A process in a session of its own, ended with all that it has started."""
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    # A shell's background jobs ignore Ctrl-C, and so would what they start.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = subprocess.Popen(words, text=True, start_new_session=True, **options)
    finally:
        signal.signal(signal.SIGINT, before)
    with process:
        try:
            yield process
        finally:
            for pid in alive_in_session(process.pid):
                os.kill(pid, signal.SIGKILL)


def alive_in_session(session):
    """Return the ids of a session's processes, without dead ones that are not collected yet."""
    alive = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, owner = stat.read_text().rpartition(")")[2].split()[:4]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(owner) == session and state not in "ZX":
            alive.append(int(stat.parent.name))
    return alive


def workers_in_session(session):
    """Those of its processes that do jobs."""
    workers = []
    for pid in alive_in_session(session):
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if b"loky" in command and b"resource_tracker" not in command:
            workers.append(pid)
    return workers


def wait_until(condition, seconds=300):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "took too long"
        time.sleep(0.002)


def unmeasured():
    """The environment of processes whose coverage is not asked for: they start faster, and smaller."""
    return {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
