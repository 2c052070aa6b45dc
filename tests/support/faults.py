"""Runs of elmlda as processes, their faults, and what they have computed."""

import dataclasses
import os
import signal
import subprocess
import sys
from contextlib import contextmanager

from command_line import ELMLDA, invoke_here, read_rows
from processes import alive_in_session, wait_until

from elmlda.experiments.timing import TimingRecord

GOES_ON = "Stopped. Every finished network is recorded; the same command goes on from there.\n"
SWEEP = "sweep", "--hidden", "40-120:40", "--repeats", "12"
ENSEMBLE = "ensemble", "--n", "3", "--fanout", "4", "--repeats", "4"
LIMITED = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
os.execv(sys.argv[2], sys.argv[2:])
"""
TIMES = {"seconds", *(field.name for field in dataclasses.fields(TimingRecord)[5:])}
LONG = "sweep", "--hidden", "40-200:40", "--repeats", "5000"


def build(data, folder, plan, *more):
    """The command line of a plan on the four IDX files in `data`, into a folder."""
    command, *options = plan
    into = "--data-dir", data, "--out", folder, "--quiet", "--threads", "1"
    return [str(word) for word in (ELMLDA, command, *into, *options, *more)]


@contextmanager
def started(words, **options):
    """A process in a session of its own, ended with all that it has started."""
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell has it in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)
    with subprocess.Popen(words, text=True, start_new_session=True, **options) as process:
        try:
            yield process
        finally:
            for pid in alive_in_session(process.pid):
                os.kill(pid, signal.SIGKILL)


def finish(words, **options):
    """Run to the end, which has nothing to say."""
    result = subprocess.run(words, capture_output=True, text=True, timeout=300, **options)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def finish_here(words):
    """The same in this process, which is faster."""
    return invoke_here(*words[1:])


def refused(words, **options):
    """The one line with which a process ends that has met a fault."""
    result = subprocess.run(words, capture_output=True, text=True, timeout=300, **options)
    return the_error(result.returncode, result.stdout, result.stderr)


def the_error(exit_code, stdout, stderr):
    assert (exit_code, stdout) == (1, ""), stderr
    assert stderr.startswith("Error: ")
    assert stderr.count("\n") == 1
    return stderr.removeprefix("Error: ").rstrip("\n")


def with_room(n_bytes, words):
    """As on a full disk: no file of the process can grow beyond that (Python ignores SIGXFSZ)."""
    return [sys.executable, "-P", "-c", LIMITED, str(n_bytes), *words]


def wait_for_lock(folder, process):
    """Until the process has loaded the data and has the folder."""
    lock = folder / ".lock"
    wait_until(lambda: lock.exists() and lock.read_text() == f"{process.pid}\n")


def n_rows(folder, name="sweep.csv"):
    path = folder / name
    return max(0, path.read_bytes().count(b"\n") - 1) if path.exists() else 0


def n_steps(folder):
    """How far a run has come: lines and posteriors."""
    lines = sum(path.read_bytes().count(b"\n") for path in folder.glob("*.csv"))
    return lines + len(list(folder.glob("posteriors/[!.]*")))


def results(folder):
    """All that a run has computed: its records without their times, and its posteriors."""
    records = {}
    for path in folder.glob("*.csv"):
        records[path.name] = read_rows(path, without=TIMES | {"crc32"})
    kept = {path.name: path.read_bytes() for path in (folder / "posteriors").glob("[!.]*")}
    return records, kept
