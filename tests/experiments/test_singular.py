"""Sizes at which LDA has no solution do not lose a sweep: the others are recorded, they are named."""

import numpy as np
import pandas as pd
import pytest
from command_line import invoke_here, read_records

from elmlda import Sweep
from elmlda.experiments.experiment import GapsWarning
from elmlda.experiments.sweep import SingularRecord, SweepRecord

N_DIFFERENT = 40
MESSAGE = (
    "LDA has no solution at 60, 100 hidden units in 2 of 2 repeats; other sizes are recorded. "
    "LDA's covariance is singular: 60 hidden units have rank"
)


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    """400 samples, 40 of them different: more hidden units are dependent."""
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("data") / "few.npz"
    inputs = rng.normal(size=(N_DIFFERENT, 3))[rng.integers(0, N_DIFFERENT, 400)]
    np.savez(path, X=inputs, y=rng.integers(0, 3, 400))
    return path


@pytest.fixture
def sweep(few, tmp_path):
    def run(*options, hidden="5,20,60,100"):
        words = "sweep", "--dataset", few, "--hidden", hidden, "--repeats", 2, "--threads", 1
        return invoke_here(*words, "--out", tmp_path / "run", *options)

    return run


@pytest.mark.parametrize(
    "options", [(), ("--design", "independent"), ("--split-rows", "3")], ids=["nested", "alone", "rows"]
)
def test_the_other_sizes_are_recorded(sweep, tmp_path, options):
    done = sweep(*options)
    assert done.exit_code == 1
    assert f"Error: {tmp_path / 'run'}: {MESSAGE}" in done.stderr
    assert done.stderr.endswith("or --ridge 1e-3 with another --out for a new run.\n")
    assert "Warning" not in done.stderr
    assert [line.split()[1] for line in done.stdout.splitlines()[2:4]] == ["5", "20"]
    keys = [record.key for record in read_records(tmp_path / "run", SweepRecord)]
    assert keys == [(0, 5), (0, 20), (1, 5), (1, 20)]
    keys = [record.key for record in read_records(tmp_path / "run", SingularRecord)]
    assert keys == [(0, 60), (0, 100), (1, 60), (1, 100)]


def test_their_records_are_those_of_a_sweep_without_the_singular_sizes(few, sweep, tmp_path):
    sweep()
    alone = Sweep(dataset=str(few), hidden="5,20", repeats=2).run(tmp_path / "alone", threads=1)
    found = pd.read_csv(tmp_path / "run/sweep.csv").drop(columns="crc32")
    pd.testing.assert_frame_equal(
        found.drop(columns="seconds"), alone.drop(columns="seconds"), check_dtype=False
    )


def test_what_is_known_to_be_singular_is_not_trained_again(sweep, tmp_path, monkeypatch):
    sweep()
    before = (tmp_path / "run/singular.csv").read_bytes()
    monkeypatch.setattr("elmlda.experiments.sweep.run_job", None)
    again = sweep()
    assert again.exit_code == 1
    assert "4 of 8 records are there, no network to train." in again.stderr
    assert MESSAGE in again.stderr
    assert (tmp_path / "run/singular.csv").read_bytes() == before
    assert "to be trained  0 networks" in sweep("--dry-run").stdout


def test_a_smaller_sweep_of_the_folder_is_whole(sweep):
    sweep()
    assert sweep(hidden="5,20").exit_code == 0


def test_a_sweep_without_any_solution_has_no_table(sweep, tmp_path):
    done = sweep(hidden="60,100")
    assert (done.exit_code, done.stdout) == (1, "")
    assert not (tmp_path / "run/sweep.csv").exists()


def test_python_warns_and_returns_what_there_is(few, tmp_path):
    with pytest.warns(GapsWarning, match=r"at 60 hidden units in 1 of 1 repeats.*ridge=1e-3 with"):
        table = Sweep(dataset=str(few), hidden=(5, 60), repeats=1).run(tmp_path / "run", threads=1)
    assert table["n_hidden"].tolist() == [5]
