"""Looking at other processes, by /proc."""

import os
import time
from pathlib import Path


def alive_in_session(session):
    """Process ids of a session, without those that are dead and only not collected yet."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _parent, _group, of_session = stat.read_text().rpartition(")")[2].split()[:4]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(of_session) == session and state not in "ZX":
            found.append(int(stat.parent.name))
    return found


def workers_in_session(session):
    """Those of its processes that do jobs."""
    found = []
    for pid in alive_in_session(session):
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if b"multiprocessing.spawn" in command:
            found.append(pid)
    return found


def wait_until(condition, seconds=300):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "took too long"
        time.sleep(0.002)


def unmeasured():
    """The environment of processes whose coverage is not asked for: they start faster, and smaller."""
    return {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
