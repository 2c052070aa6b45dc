"""The loop that all experiments share: what is missing is computed, and nothing else."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from processes import started, unmeasured, wait_until, workers_in_session
from run_folders import assert_same_counts, files_in

from elmlda import Ensemble, Sweep, Timing
from elmlda.errors import ElmldaError
from elmlda.networks import cost
from elmlda.runs.folder import read_rows
from elmlda.runs.kept import read_kept
from elmlda.runs.tables import SWEEP, TABLES

IRIS = {"dataset": "iris", "hidden": [4, 8, 12]}
INDEPENDENT = {"repeats": 2, "design": "independent"}
ALL = {
    "nested": Sweep(**IRIS, repeats=2),
    "ridges": Sweep(**IRIS, repeats=2, ridge=[0, 1, "loo"]),
    "folds": Sweep(**IRIS, repeats=1, folds=3, ridge=[0, "loo"]),
    "independent": Sweep(**IRIS, **INDEPENDENT),
    "ensemble": Ensemble(dataset="iris", hidden=8, n=3, repeats=2),
}


def rows_by_network(rows, *names):
    """Each row's own time of computation: a network that was trained again has another one."""
    return {tuple(row[name] for name in names): row["seconds"] for _, row in rows.iterrows()}


@pytest.mark.parametrize(
    ("few", "more", "n_networks"),
    [
        ({"repeats": 2}, {"repeats": 5}, 3),
        ({"repeats": 3, "hidden": [4, 8]}, {"repeats": 3, "hidden": [2, 4, 8, 12]}, 3),
        ({"repeats": 2, "hidden": [8]}, {"repeats": 3, "hidden": [4, 8]}, 3),
        (INDEPENDENT | {"hidden": 8}, INDEPENDENT, 4),
        ({"repeats": 1, "folds": 3}, {"repeats": 2, "folds": 3}, 3),
        ({"repeats": 2, "hidden": [4]}, {"repeats": 1, "hidden": [4]}, 0),
    ],
)
def test_a_run_that_grows_trains_only_what_is_missing(tmp_path, few, more, n_networks):
    small, large = Sweep(**IRIS | few), Sweep(**IRIS | more)
    before = small.run(tmp_path / "grown")
    promised = large.dry_run(tmp_path / "grown")
    after = large.run(tmp_path / "grown")
    key = "repeat", "n_hidden", "fold"
    old, new = (rows_by_network(rows.fillna(-1), *key) for rows in (before, after))
    assert {place: new[place] for place in old.keys() & new} == {
        place: old[place] for place in old.keys() & new
    }
    assert promised.n_networks == n_networks
    assert promised.n_recorded == len(old.keys() & new)
    assert len(after) == promised.n_rows
    lines = (tmp_path / "grown/sweep.csv").read_text().splitlines()
    assert len(lines) == 1 + len(old.keys() | new.keys()), "no row is appended again"
    alone = large.run(tmp_path / "alone")
    assert_same_counts(after, alone)
    assert large.dry_run(tmp_path / "grown").n_networks == 0


def test_a_timing_that_grows_times_no_pair_twice(tmp_path):
    few, more = (Timing(dataset="iris", hidden=[4, 8], pairs=pairs) for pairs in (1, 3))
    first = few.run(tmp_path)
    assert more.dry_run(tmp_path).n_networks == 4
    rows = more.run(tmp_path)
    assert not rows.duplicated(["pair", "n_hidden", "method"]).any()
    assert rows.groupby("method").size().to_dict() == {"both": 4, "lda": 6, "pi": 6}
    old = rows.merge(first, on=["pair", "n_hidden", "method", "cpu_seconds", "seconds"])
    assert len(old) == len(first)


def test_rows_are_in_order_whatever_the_order_in_which_they_came(tmp_path):
    Sweep(dataset="iris", hidden=[12], repeats=3).run(tmp_path)
    rows = Sweep(**IRIS, repeats=5).run(tmp_path)
    places = rows[["repeat", "n_hidden"]].to_numpy().tolist()
    assert places == [[repeat, size] for repeat in range(5) for size in (4, 8, 12)]
    fewer = Sweep(dataset="iris", hidden=[8], repeats=2).run(tmp_path)
    assert fewer[["repeat", "n_hidden"]].to_numpy().tolist() == [[0, 8], [1, 8]]


@pytest.mark.parametrize("experiment", ALL.values(), ids=ALL)
def test_a_run_that_was_torn_goes_on_wherever_it_was_torn(tmp_path, experiment):
    """Every network once, every row once, and all that was kept."""
    expected = experiment.run(tmp_path)
    path = tmp_path / f"{experiment.name}.csv"
    whole = path.read_bytes()
    kept = {name: read_kept(tmp_path, name, range(6)) for name in ("log_posteriors", "wrong", "sizes")}
    lines = np.cumsum([len(line) for line in whole.splitlines(keepends=True)])
    for cut in [0, 5, *(end + more for end in lines[:-1] for more in (0, 7)), lines[-1] - 1]:
        path.write_bytes(whole[:cut])
        promised = experiment.dry_run(tmp_path)
        assert promised.n_recorded == max(0, whole[:cut].count(b"\n") - 1)
        assert_same_counts(experiment.run(tmp_path), expected)
        assert len(read_rows(tmp_path, TABLES[experiment.name])) == len(expected)
        for name, arrays in kept.items():
            again = read_kept(tmp_path, name, range(6))
            assert again.keys() == arrays.keys()
            for network, values in arrays.items():
                np.testing.assert_array_equal(again[network], values)


@pytest.mark.parametrize("experiment", ALL.values(), ids=ALL)
def test_a_dry_run_promises_what_the_run_does(tmp_path, experiment, capsys):
    folder = tmp_path / "run"
    promised = experiment.dry_run(folder)
    assert not folder.exists(), "nothing is written"
    assert promised.n_recorded == 0
    rows = experiment.run(folder, progress=True)
    assert f" {promised.n_networks}/{promised.n_networks} " in capsys.readouterr().err
    assert len(rows) == promised.n_rows
    done = experiment.dry_run(folder)
    assert (done.n_recorded, done.n_networks, done.seconds) == (len(rows), 0, 0.0)
    assert f"{promised.n_networks} networks" in str(promised)
    for show in (str, repr, lambda dry_run: dry_run._repr_html_()):
        assert ("GB" in show(promised), "GB" in show(done)) == (True, False)
        assert str(folder) in show(promised)
    assert len(repr(promised).splitlines()) == 1


def test_memory_is_asked_for_only_where_something_is_to_be_trained(tmp_path, monkeypatch):
    sweep, ensemble = Sweep(**IRIS, repeats=4), Ensemble(dataset="iris", hidden=12, n=2, repeats=2)
    sweep.run(tmp_path)
    monkeypatch.setattr(cost, "free_memory", lambda: 1)
    assert len(sweep.run(tmp_path)) == 12
    assert len(ensemble.run(tmp_path)) == 4, "of networks that are kept"
    assert Sweep(**IRIS, repeats=9).dry_run(tmp_path).n_networks == 5
    before = files_in(tmp_path)
    for larger in (Sweep(**IRIS, repeats=5), Ensemble(dataset="iris", hidden=12, n=2, repeats=3)):
        with pytest.raises(ElmldaError, match="GB"):
            larger.run(tmp_path)
    changed = {name for name, content in files_in(tmp_path).items() if before.get(name) != content}
    assert changed <= {"manifest.json"}


INTERRUPTED = """
import sys, time
from elmlda import Sweep
sweep = Sweep(dataset="digits", hidden=[100, 300], repeats=5000)
try:
    sweep.run(sys.argv[1], jobs=int(sys.argv[2]), threads=1)
except KeyboardInterrupt:
    start = time.process_time()
    time.sleep(1)
    print("idle" if time.process_time() - start < 0.1 else "a thread works on")
    rows = Sweep(dataset="digits", hidden=[100, 300], repeats=2).run(sys.argv[1])
    print(len(rows), flush=True)
    sys.stdin.read()
"""


@pytest.mark.faults
@pytest.mark.parametrize("jobs", [1, 2])
def test_an_interrupted_run_leaves_no_one_behind_and_its_folder_free(tmp_path, jobs):
    # An interrupt between open() and its `with` leaves the file to the garbage collector, which closes
    # it and says so. Python offers no way around that.
    warn = "-W", "error", "-W", "ignore:unclosed file:ResourceWarning"
    words = [sys.executable, *warn, "-c", INTERRUPTED, str(tmp_path), str(jobs)]
    with started(words, stdin=subprocess.PIPE, env=unmeasured()) as process:
        wait_until(lambda: len(read_rows(tmp_path, SWEEP)) > 10)
        os.kill(process.pid, signal.SIGINT)
        assert process.stdout.readline() == "idle\n"
        assert process.stdout.readline() == "4\n"
        assert workers_in_session(process.pid) == []
        output, errors = process.communicate()
    assert (process.returncode, output, errors) == (0, "", "")
    sweep = Sweep(dataset="digits", hidden=[100, 300], repeats=3)
    assert_same_counts(sweep.run(tmp_path), sweep.run(tmp_path / "alone"))
