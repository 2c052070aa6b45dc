"""Several processes, here and on a Dask cluster: the same rows, whoever is killed."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from processes import unmeasured, wait_until
from run_folders import assert_same_counts, files_in

from elmlda import Compare, Ensemble, Sweep
from elmlda.errors import ElmldaError
from elmlda.experiments import pool
from elmlda.runs.folder import read_rows
from elmlda.runs.tables import SWEEP as TABLE

SWEEP = Sweep(dataset="digits", hidden=[20, 60], repeats=6)
LONG = {"dataset": "digits", "hidden": [100, 500]}
SCRIPT = """
from elmlda import Sweep
print(len(Sweep(dataset="digits", hidden=[100, 500], repeats=4).run("run", jobs=2)))
"""
"""As a user writes it: nothing protects it from being imported."""


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The rows of one process."""
    return SWEEP.run(tmp_path_factory.mktemp("alone"))


@pytest.mark.parametrize(
    "experiment",
    [
        SWEEP,
        Sweep(dataset="iris", hidden=[4, 8], repeats=2, folds=3, ridge=[0, "loo"]),
        Ensemble(dataset="iris", hidden=8, n=3, repeats=2),
        Compare(dataset="iris,wine", hidden=[4], folds=3, repeats=1),
    ],
    ids=["sweep", "folds", "ensemble", "compare"],
)
def test_two_processes_give_the_rows_of_one(tmp_path, experiment):
    rows = experiment.run(tmp_path / "two", jobs=2)
    assert_same_counts(rows, experiment.run(tmp_path / "one"))
    assert set(files_in(tmp_path / "two")) == set(files_in(tmp_path / "one"))


def test_a_script_without_a_main_guard(tmp_path):
    (tmp_path / "my script.py").write_text(SCRIPT)
    words, pipes = (
        [sys.executable, "-W", "error", "my script.py"],
        {"capture_output": True, "text": True},
    )
    done = subprocess.run(words, **pipes, cwd=tmp_path, env=unmeasured())
    assert (done.returncode, done.stdout, done.stderr) == (0, "8\n", "")


# Dask


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster:
        yield cluster


def test_a_cluster_gives_the_rows_of_one_process(tmp_path, cluster, alone):
    address = cluster.scheduler_address
    assert SWEEP.dry_run(tmp_path, cluster=address).n_networks == 6
    assert_same_counts(SWEEP.run(tmp_path, cluster=address), alone)
    ensemble = Ensemble(dataset="iris", hidden=8, n=3, repeats=2)
    rows = ensemble.run(tmp_path / "iris", cluster=address)
    assert_same_counts(rows, ensemble.run(tmp_path / "here"))


@pytest.mark.faults
def test_a_killed_worker_of_a_cluster_costs_nothing_but_time(tmp_path, cluster):
    sweep = Sweep(**LONG, repeats=60)

    def kill_one():
        wait_until(lambda: len(read_rows(tmp_path / "cluster", TABLE)) >= 10)
        os.kill(next(iter(cluster.workers.values())).process.pid, signal.SIGKILL)

    killer = threading.Thread(target=kill_one)
    killer.start()
    rows = sweep.run(tmp_path / "cluster", cluster=cluster.scheduler_address)
    killer.join()
    assert_same_counts(rows, sweep.run(tmp_path / "here"))


@pytest.mark.parametrize("where", ["tcp://127.0.0.1:9", "nonsense://x", "tcp://"])
def test_a_cluster_that_is_not_there(tmp_path, monkeypatch, where):
    pytest.importorskip("distributed")
    monkeypatch.setattr(pool, "CLUSTER_SECONDS", 2)
    start = time.monotonic()
    with pytest.raises(ElmldaError) as caught:
        SWEEP.run(tmp_path / "run", cluster=where)
    assert time.monotonic() - start < 15
    assert "cluster" in caught.value.settings
    assert len(SWEEP.run(tmp_path / "run")) == 12, "the folder is free"
