"""A real Dask scheduler and real workers on loopback, started by Dask's own commands."""

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from enum import Enum
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from command_line import ELMLDA, TWO_CORES, read_rows
from faults import finish, finish_here, n_rows, refused, started, the_error
from processes import alive_in_session, unmeasured, wait_until

import elmlda
from elmlda.errors import ElmldaError
from elmlda.execute.cluster import find_scheduler
from elmlda.execute.worker import prepare_worker
from elmlda.experiments.experiment import find_anywhere
from elmlda.machine import count_cores
from elmlda.settings import DatasetRef

DASK = str(Path(sys.executable).with_name("dask"))
TIMED = ("seconds", "crc32")
"""Columns that depend on the time that a network took."""
PLAN = "--hidden", "40-120:40", "--ridge", "1e-3", "--repeats", "40", "--chunk", "50"
PLAN += "--precision", "double"  # in float32, blocks of rows may round a count to its neighbour
ELSEWHERE = """
from functools import partial
from elmlda.datasets import catalogue
def redirect(load, _path, *more):
    return load(catalogue.Path({!r}), *more)
catalogue.load_idx_folder = partial(redirect, catalogue.load_idx_folder)
"""
IMPATIENT = """
import elmlda.execute.cluster
elmlda.execute.cluster.CONNECT_SECONDS = elmlda.execute.cluster.NO_WORKER_SECONDS = 1.0
from elmlda.cli import main
main()
"""
SHORT_OF_TIME = """
import elmlda.execute.cluster as cluster
cluster.CONNECT_SECONDS = cluster.CLOSE_SECONDS = 1.0
cluster.ANSWER_SECONDS = 5.0
from elmlda.cli import main
main()
"""
DEADLY = "import os, elmlda.execute.worker\nelmlda.execute.worker.run_here = lambda *_: os._exit(1)\n"
ANOTHER_VERSION = "import elmlda.version\nelmlda.version.__version__ = '0.0.9'\n"


class DaskCluster:
    """A scheduler and its workers, each in a session of its own."""

    def __init__(self, folder):
        self.folder = folder
        self.file = folder / "scheduler.json"
        self.processes = []
        self.scheduler = self._start(
            "scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", self.file
        )
        self.workers = []

    def add_workers(self, n, *options):
        """Workers of one thread, once the scheduler has them."""
        words = "worker", "--scheduler-file", self.file, "--host", "127.0.0.1", "--nthreads", "1"
        words += "--local-directory", self.folder, "--no-nanny", *options
        logs = [self.folder / f"worker-{len(self.processes) + i}.log" for i in range(n)]
        self.workers += (new := [self._start(*words, log=log) for log in logs])
        for worker, log in zip(new, logs, strict=True):
            wait_until(lambda log=log: "Registered to:" in log.read_text())
            assert worker.poll() is None
        return new

    def alive_workers(self):
        return [worker for worker in self.workers if worker.poll() is None]

    def kill(self, process):
        for pid in alive_in_session(process.pid):
            os.kill(pid, signal.SIGKILL)
        process.wait()

    def close(self):
        for process in self.processes:
            self.kill(process)

    def _start(self, *words, log=None):
        with (log or self.folder / "scheduler.log").open("w") as output:
            process = subprocess.Popen(
                [DASK, *map(str, words), "--no-dashboard"],
                stdout=output,
                stderr=output,
                cwd=self.folder,
                env=unmeasured(),
                start_new_session=True,
            )
        self.processes.append(process)
        return process


@pytest.fixture(scope="module")
def clusters(tmp_path_factory):
    """Starting takes seconds: a cluster is used by the next test too, as far as it is alive."""
    found = []

    def get():
        if not found or found[-1].scheduler.poll() is not None:
            found.append(DaskCluster(tmp_path_factory.mktemp("dask")))
        return found[-1]

    yield get
    for cluster in found:
        cluster.close()


@pytest.fixture
def cluster(clusters):
    """A scheduler and two workers."""
    cluster = clusters()
    for worker in cluster.alive_workers()[2:]:
        cluster.kill(worker)
    cluster.add_workers(2 - len(cluster.alive_workers()))
    return cluster


@pytest.fixture(scope="module")
def command(clouds):
    """The words of an experiment's command into a folder."""

    def build(folder, *more, experiment="sweep", plan=PLAN):
        options = "--data-dir", clouds, "--out", folder, "--quiet"
        return [str(word) for word in (ELMLDA, experiment, *options, *plan, *more)]

    return build


@pytest.fixture(scope="module")
def alone(command, tmp_path_factory):
    """The folder of the run in one process."""
    folder = tmp_path_factory.mktemp("alone") / "run"
    complete_here(command(folder, "--jobs", "1", "--threads", "1"))
    return folder


def complete_here(words):
    """Without the time that a process takes to start."""
    result = finish_here(words)
    assert (result.exit_code, result.output) == (0, "")


def refusal_here(words):
    result = finish_here(words)
    return the_error(result.exit_code, result.stdout, result.stderr)


def rows(folder, name="sweep.csv"):
    """Records without their times."""
    return read_rows(folder / name, without=TIMED)


# The same results


def test_the_same_sweep_as_in_one_process(cluster, command, alone, clouds, tmp_path):
    """By the scheduler's address, and with a path that is not the worker's."""
    address = json.loads(cluster.file.read_text())["address"]
    (tmp_path / "clouds").symlink_to(clouds)
    finish(command("run", "--cluster", address, "--data-dir", "clouds"), cwd=tmp_path)
    assert rows(tmp_path / "run") == rows(alone)
    assert len(rows(alone)) == 3 * 40
    kept = [{p.name for p in (folder / "posteriors").iterdir()} for folder in (tmp_path / "run", alone)]
    assert kept[0] == kept[1]
    assert len(kept[0]) == 40


@pytest.mark.parametrize(
    ("experiment", "plan"),
    [
        ("ensemble", ("--fanout", "10", "--n", "3", "--repeats", "2")),
        ("compare", ("--hidden", "50,100", "--repeats", "2", "--dataset", "clouds")),
    ],
)
def test_other_experiments(cluster, command, tmp_path, experiment, plan):
    here, there = tmp_path / "here", tmp_path / "there"
    finish(command(there, "--cluster", cluster.file, experiment=experiment, plan=plan))
    complete_here(command(here, experiment=experiment, plan=plan))
    paths = sorted(path.relative_to(here) for path in here.rglob("*.csv"))
    assert paths
    for path in paths:
        assert rows(there, path) == rows(here, path)


def test_rows_split_on_the_cluster(cluster, command, alone, tmp_path):
    finish(command(tmp_path / "run", "--split-rows", "4", "--cluster", cluster.file))
    assert rows(tmp_path / "run") == rows(alone)


@pytest.mark.parametrize("n_blocks", [3, 4])
def test_rows_split_here(command, alone, tmp_path, n_blocks):
    complete_here(command(tmp_path / "run", "--split-rows", n_blocks, "--threads", "1"))
    assert rows(tmp_path / "run") == rows(alone)


@TWO_CORES
def test_rows_split_over_processes(command, alone, tmp_path):
    complete_here(command(tmp_path / "run", "--split-rows", "4", "--jobs", "2"))
    assert rows(tmp_path / "run") == rows(alone)


def test_no_more_blocks_than_rows(command, tmp_path):
    words = command(tmp_path / "run", "--split-rows", "601")
    assert (
        "600 training samples cannot be divided into 601 blocks. Lower --split-rows."
        in refusal_here(words)
    )


# Workers that come and go


@pytest.mark.faults
def test_workers_are_killed_and_one_is_added(cluster, command, alone, tmp_path):
    """First one of two, then the other; what they had in work is done by a third."""
    folder = tmp_path / "run"
    first, second = cluster.alive_workers()
    with started(command(folder, "--cluster", cluster.file)) as process:
        wait_until(lambda: n_rows(folder) >= 6)
        cluster.kill(first)
        n_before = n_rows(folder)
        wait_until(lambda: n_rows(folder) > n_before)
        cluster.kill(second)
        time.sleep(1)
        assert n_rows(folder) < len(rows(alone)), "too late: nothing was tested"
        cluster.add_workers(1)
        assert process.communicate(timeout=120) == ("", "")
        assert process.returncode == 0
    assert rows(folder) == rows(alone)


@pytest.mark.faults
def test_the_scheduler_is_killed(cluster, command, alone, tmp_path):
    folder = tmp_path / "run"
    with started(command(folder, "--cluster", cluster.file)) as process:
        wait_until(lambda: n_rows(folder))
        cluster.kill(cluster.scheduler)
        start = time.monotonic()
        stdout, stderr = process.communicate(timeout=60)
        assert time.monotonic() - start < 15
    assert (process.returncode, stdout) == (1, "")
    assert stderr == (
        f"Error: {cluster.file}: the Dask scheduler went away. What was recorded is safe: the same "
        "command goes on from there, with or without --cluster.\n"
    )
    assert 0 < n_rows(folder) < len(rows(alone))
    complete_here(command(folder, "--threads", "1"))
    assert rows(folder) == rows(alone)


@pytest.mark.faults
def test_the_scheduler_hangs(cluster, command, alone, tmp_path):
    """It is stopped while networks are under way, and then before the first."""
    folder = tmp_path / "run"
    words = [sys.executable, "-P", "-c", SHORT_OF_TIME, *command(folder, "--cluster", cluster.file)[1:]]
    with started(words) as process:
        wait_until(lambda: n_rows(folder))
        try:
            cluster.scheduler.send_signal(signal.SIGSTOP)
            message = the_error(*finished(process))
            again = refused(words)
        finally:
            cluster.scheduler.send_signal(signal.SIGCONT)
    assert message.startswith(f"{cluster.file}: the Dask scheduler has not answered for 5 s. What was")
    assert again == f"{cluster.file}: the Dask scheduler cannot be reached: no answer for 5 s."
    assert 0 < n_rows(folder) < len(rows(alone))


@pytest.mark.faults
def test_a_worker_hangs(cluster, command, tmp_path):
    folder = tmp_path / "run"
    words = [sys.executable, "-P", "-c", SHORT_OF_TIME, *command(folder, "--cluster", cluster.file)[1:]]
    worker = cluster.alive_workers()[0]
    try:
        worker.send_signal(signal.SIGSTOP)
        message = refused(words)
    finally:
        worker.send_signal(signal.SIGCONT)
    assert message.startswith("worker tcp://127.0.0.1:")
    assert message.endswith(": it does not answer. Continue it, or stop that worker.")


@pytest.mark.faults
def test_ctrl_c(cluster, command, alone, tmp_path):
    folder = tmp_path / "run"
    with started(command(folder, "--cluster", cluster.file)) as process:
        wait_until(lambda: n_rows(folder))
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=15)
    assert (process.returncode, stdout) == (130, "")
    assert [line for line in stderr.splitlines() if line] == [
        "Stopped. Every finished network is recorded; the same command goes on from there."
    ]
    assert 0 < n_rows(folder) < len(rows(alone))
    finish(command(folder, "--cluster", cluster.file))
    assert rows(folder) == rows(alone)


# Workers that are different


@pytest.mark.faults
def test_another_version(cluster, command, alone, tmp_path):
    """One that joins later gets no work; one that is there already is refused."""
    folder, preload = tmp_path / "run", tmp_path / "another.py"
    preload.write_text(ANOTHER_VERSION)
    with started(command(folder, "--cluster", cluster.file)) as process:
        wait_until(lambda: n_rows(folder))
        process.send_signal(signal.SIGSTOP)
        cluster.add_workers(1, "--preload", preload)
        process.send_signal(signal.SIGCONT)
        stdout, stderr = process.communicate(timeout=120)
    assert (process.returncode, stdout) == (0, "")
    assert stderr.startswith("Warning: worker tcp://127.0.0.1:")
    assert "gets no work: elmlda is 0.0.9 there, " in stderr
    assert stderr.count("\n") == 1
    assert rows(folder) == rows(alone)

    message = refused(command(tmp_path / "second", "--cluster", cluster.file))
    assert message.startswith("worker tcp://127.0.0.1:")
    assert ": elmlda is 0.0.9 there, " in message
    assert n_rows(tmp_path / "second") == 0


@pytest.mark.parametrize("there", ["another content", "nothing"])
def test_other_data_are_refused(cluster, command, clouds, tmp_path, there):
    """A worker on whose machine the same path leads to something else."""
    elsewhere = tmp_path / "elsewhere"
    if there == "another content":
        shutil.copytree(clouds, elsewhere)
        replace_labels(elsewhere)
    preload = tmp_path / "elsewhere.py"
    preload.write_text(ELSEWHERE.format(str(elsewhere)))
    cluster.add_workers(1, "--preload", preload)
    message = refused(command(tmp_path / "run", "--cluster", cluster.file))
    assert message.startswith("worker tcp://127.0.0.1:")
    expected = "started with: other content in t10k-labels. Make" if elsewhere.exists() else elsewhere
    assert str(expected) in message


def test_a_worker_that_lives_on_loads_data_that_were_edited(cluster, command, clouds, tmp_path):
    """The command started anew has other data than the worker has kept."""
    data, small = tmp_path / "clouds", ("--hidden", "40", "--ridge", "1", "--repeats", "4")

    def run(name, *more):
        finish(command(tmp_path / name, "--data-dir", data, *more, plan=small))
        return rows(tmp_path / name)

    shutil.copytree(clouds, data)
    before = run("before", "--cluster", cluster.file)
    replace_labels(data)
    after = run("after", "--cluster", cluster.file)
    assert after != before
    assert after == run("here")


@pytest.mark.faults
def test_data_are_replaced_while_a_worker_does_something_else(cluster, command, clouds, tmp_path):
    """Workers were checked before the first network, but have to load again for a later one."""
    data, folder = tmp_path / "clouds", tmp_path / "run"
    shutil.copytree(clouds, data)
    with started(command(folder, "--data-dir", data, "--cluster", cluster.file)) as process:
        wait_until(lambda: n_rows(folder) >= 6)
        process.send_signal(signal.SIGSTOP)
        replace_labels(data)
        finish(command(tmp_path / "other", "--cluster", cluster.file, plan=(*PLAN, "--repeats", "4")))
        process.send_signal(signal.SIGCONT)
        message = the_error(*finished(process))
    assert "is not the one that the run started with: other content in t10k-labels. Re" in message
    complete_here(command(tmp_path / "here", "--data-dir", clouds, "--threads", "1"))
    expected = rows(tmp_path / "here")
    assert 6 <= n_rows(folder) < len(expected)
    assert all(row in expected for row in rows(folder))


def replace_labels(folder):
    """Another class for the first half of the test samples."""
    labels = folder / "t10k-labels-idx1-ubyte"
    content = bytearray(labels.read_bytes())
    content[8:108] = bytes((label + 1) % 4 for label in content[8:108])
    labels.write_bytes(content)


def finished(process):
    stdout, stderr = process.communicate(timeout=120)
    return process.returncode, stdout, stderr


def test_too_little_memory_is_refused(clusters, command, tmp_path):
    cluster = clusters()
    for worker in cluster.alive_workers():
        cluster.kill(worker)
    cluster.add_workers(1, "--memory-limit", "400MB")
    plan = "--hidden", "6000", "--ridge", "1", "--repeats", "1"
    message = refused(command(tmp_path / "run", "--cluster", cluster.file, plan=plan))
    assert "a network takes 0.5 GB of memory, no worker offers more than 0.4 GB" in message
    assert "a larger memory limit, or use fewer hidden units or a smaller --chunk." in message
    cluster.kill(cluster.alive_workers()[0])


@pytest.mark.faults
def test_no_worker_comes_or_one_comes_late(clusters, command, alone, tmp_path):
    cluster = clusters()
    for worker in cluster.alive_workers():
        cluster.kill(worker)
    words = command(tmp_path / "run", "--cluster", cluster.file)
    result = subprocess.run(
        [sys.executable, "-P", "-c", IMPATIENT, *words[1:]], capture_output=True, text=True, timeout=60
    )
    warning, error = result.stderr.splitlines()
    assert result.returncode == 1
    assert warning.endswith(" has no worker yet: waiting 1 s for one.")
    assert "no worker that can take a network for 1 s. Start one with dask worker. What was" in error

    with started(words) as process:
        assert process.stderr.readline().endswith(" has no worker yet: waiting 60 s for one.\n")
        cluster.add_workers(1)
        assert process.communicate(timeout=120) == ("", "")
    assert process.returncode == 0
    assert rows(tmp_path / "run") == rows(alone)


@pytest.mark.slow
def test_a_network_that_kills_every_worker(command, tmp_path, monkeypatch):
    monkeypatch.setenv("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "1")
    (tmp_path / "deadly.py").write_text(DEADLY)
    cluster = DaskCluster(tmp_path)
    try:
        cluster.add_workers(3, "--preload", tmp_path / "deadly.py")
        message = refused(command(tmp_path / "run", "--cluster", cluster.file))
    finally:
        cluster.close()
    assert ": several workers died one after the other at the same network, most likely " in message


# What a worker says of itself, asked in this process


class Status(Enum):
    running = "running"
    paused = "paused"


class FakeWorker:
    """As much of a Dask worker as is looked at."""

    def __init__(self, memory_limit=None, **resources):
        self.state = SimpleNamespace(nthreads=1, total_resources=resources)
        self.memory_manager = SimpleNamespace(memory_limit=memory_limit)
        self.status = Status.running

    async def set_resources(self, **resources):
        self.state.total_resources.update(resources)


def ask(worker, load=lambda _: None, **versions):
    ours = {"elmlda": elmlda.__version__, "numpy": np.__version__}
    expected = {**ours, **versions}
    return asyncio.run(prepare_worker(expected, DatasetRef("mine"), load, "turn", worker))


@pytest.mark.parametrize(
    ("worker", "memory"),
    [
        (FakeWorker(), os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")),
        (FakeWorker(10**9), 950_000_000),
        (FakeWorker(10**9, MEMORY=3 * 10**8), 3 * 10**8),
    ],
)
def test_a_worker_offers_its_memory(worker, memory):
    assert ask(worker) == memory
    assert worker.state.total_resources == {"MEMORY": memory, "turn": 1}
    assert worker.status is Status.running


def test_a_worker_that_is_not_fit_says_why():
    def missing(_):
        raise ElmldaError("mine.csv: cannot be read.", "Mend it.")

    def broken(_):
        raise RuntimeError("no\nidea")

    worker = FakeWorker()
    assert ask(worker, numpy="1.0") == f"numpy is {np.__version__} there, 1.0 here."
    assert ask(worker, missing) == "mine.csv: cannot be read."
    assert ask(worker, broken) == "RuntimeError: no."
    assert worker.state.total_resources == {}


# Addresses that lead nowhere


def test_nobody_listens(command, tmp_path):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{unused.getsockname()[1]}"
        words = command(tmp_path / "run", "--cluster", address)
        message = refused([sys.executable, "-P", "-c", IMPATIENT, *words[1:]])
    assert message.startswith(f"{address}: the Dask scheduler cannot be reached: ")


@pytest.mark.faults
@pytest.mark.parametrize(
    ("says", "answer"),
    [
        (b"", "no answer for 5 s"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "what answers there is no Dask scheduler"),
    ],
)
def test_something_else_listens(command, tmp_path, says, answer):
    with socket.create_server(("127.0.0.1", 0)) as server:
        accepted = []

        def accept():
            with suppress(OSError):
                while True:
                    accepted.append(server.accept()[0])
                    accepted[-1].sendall(says)

        threading.Thread(target=accept, daemon=True).start()
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        words = command(tmp_path / "run", "--cluster", address)
        message = refused([sys.executable, "-P", "-c", SHORT_OF_TIME, *words[1:]])
    assert message == f"{address}: the Dask scheduler cannot be reached: {answer}."


@pytest.mark.parametrize("scheme", ["tls", "ucx"])
def test_another_scheme(command, tmp_path, scheme):
    words = command(tmp_path / "run", "--cluster", f"{scheme}://127.0.0.1:8786")
    message = refused([sys.executable, "-P", "-c", SHORT_OF_TIME, *words[1:]])
    assert message.startswith(f"{scheme}://127.0.0.1:8786: the Dask scheduler cannot be reached: ")


def test_own_files_are_found_from_another_folder():
    here = Path.cwd()
    assert find_anywhere(DatasetRef("mine.csv", None, "kind")).name == str(here / "mine.csv")
    assert find_anywhere(DatasetRef("mnist")) == DatasetRef("mnist")
    assert find_anywhere(DatasetRef("own", Path("data"))).data_dir == here / "data"


def test_jobs_and_threads_are_the_workers_own_matter(command, tmp_path):
    words = command(tmp_path / "run", "--cluster", "tcp://127.0.0.1:1")
    assert "--cluster and --jobs 2 exclude each other" in refusal_here([*words, "--jobs", "2"])
    assert "--cluster and --threads exclude each other" in refusal_here([*words, "--threads", "2"])


@pytest.mark.parametrize(
    "where", ["nowhere", "no/such/file.json", "tcp://host:port", ":8786", "http://host:1", "x://host:1"]
)
def test_no_address(where):
    with pytest.raises(
        ElmldaError, match="Use a scheduler file, or an address such as cluster='tcp://"
    ):
        find_scheduler(where)


@pytest.mark.parametrize("content", ["", "[]", '{"id": 1}', '{"address": 3}', '{"address": "nowhere"}'])
def test_a_file_that_is_no_scheduler_file(tmp_path, content):
    path = tmp_path / "scheduler.json"
    path.write_text(content)
    with pytest.raises(ElmldaError, match="not a scheduler file"):
        find_scheduler(str(path))


def test_a_scheduler_file_that_cannot_be_read(tmp_path):
    (tmp_path / "scheduler.json").symlink_to("/proc/self/mem")
    with pytest.raises(ElmldaError, match="Input/output error"):
        find_scheduler(str(tmp_path / "scheduler.json"))
    with pytest.raises(ElmldaError, match="File name too long"):
        find_scheduler("x" * 300)


def test_dask_is_not_installed(command, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    words = command(tmp_path / "run", "--cluster", "tcp://127.0.0.1:1")
    assert refusal_here(words).startswith("a cluster needs Dask: pip install 'elmlda[cluster]'")


# Speed


@pytest.mark.slow
@pytest.mark.skipif(count_cores() < 2, reason="two workers need two cores")
def test_two_workers_do_1_8_times_the_work_of_one_process(cluster, tmp_path, capsys):
    """Of networks under way: what it takes to start is in both of the times that are compared."""

    def seconds_each(*place):
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        words = ELMLDA, "sweep", "--fanout", "1-4", "--out", folder, "--quiet", *place, "--repeats"

        def seconds(repeats):
            start = time.monotonic()
            subprocess.run([*map(str, words), str(repeats)], check=True)
            return time.monotonic() - start

        seconds(2)  # the data are loaded, BLAS is warm
        two_more, twelve_more = seconds(4), seconds(16)
        return (twelve_more - two_more) / 10

    one = seconds_each("--threads", "1")
    two = seconds_each("--cluster", cluster.file)
    with capsys.disabled():
        print(f"\na network each {one:.2f} s and {two:.2f} s: {one / two:.2f} times the work")
    assert one / two >= 1.8
