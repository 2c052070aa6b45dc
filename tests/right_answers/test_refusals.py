"""What is refused without need, and what a report says of runs that are odd but sound."""

import os
import resource
import subprocess

import pandas as pd
import pytest
from command_line import ELMLDA

# Memory: only where something is to be trained

LARGE = "--dataset iris --hidden 7600 --ridge 1 --out run"
"""Networks of 0.8 GB that take seconds."""
LITTLE = 700 << 20
"""Bytes that the libraries fit into."""


def run_in(folder, command, limit=resource.RLIM_INFINITY):
    """`elmlda` as a process with so much address space, in one thread."""
    return subprocess.run(
        [ELMLDA, *command.split()],
        cwd=folder,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A folder with a run of a network that is large."""
    folder = tmp_path_factory.mktemp("finished")
    done = run_in(folder, f"sweep {LARGE} --repeats 1")
    assert done.returncode == 0, done.stderr
    return folder


def test_a_network_that_does_not_fit_is_refused(tmp_path):
    done = run_in(tmp_path, f"sweep {LARGE} --repeats 1", LITTLE)
    assert done.returncode == 1
    assert "GB" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_dry_run_is_not_refused_for_lack_of_memory(tmp_path):
    done = run_in(tmp_path, f"sweep {LARGE} --repeats 1 --dry-run", LITTLE)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("experiment", ["sweep --repeats 1", "ensemble --repeats 1 --n 1"])
def test_what_needs_no_training_is_not_refused_for_lack_of_memory(finished, experiment):
    done = run_in(finished, f"{experiment} {LARGE}", LITTLE)
    assert done.returncode == 0, done.stderr


# Folders


def test_a_run_may_be_made_beside_the_data(succeed, blobs, tmp_path):
    blobs().to_csv(tmp_path / "mine.csv", index=False)
    run = "sweep --dataset mine.csv --label kind --hidden 4 --repeats 2 --out ."
    succeed(*run.split())
    assert (tmp_path / "manifest.json").exists()


# Runs with gaps


def test_a_comparison_is_reported_without_the_set_that_has_no_records(succeed, tmp_path):
    run = "compare --dataset iris,wine --hidden 4 --repeats 1 --folds 2 --out run"
    succeed(*run.split())
    for path in (tmp_path / "run" / "wine").glob("*.csv"):
        path.unlink()
    succeed("report", "run", "--format", "md")
    assert "iris" in (tmp_path / "run" / "report.md").read_text()


def write_four_kinds_of_samples(path):
    """Two inputs of 0 and 1: hidden outputs have rank 4 at most, whatever their number."""
    lines = [f"{i % 2},{i // 2 % 2},{'ab'[i * i % 7 > 2]}" for i in range(60)]
    path.write_text("\n".join(["x,y,kind", *lines, ""]))


def test_sizes_without_a_solution_are_not_missing(elmlda, succeed, tmp_path):
    write_four_kinds_of_samples(tmp_path / "mine.csv")
    run = "sweep --dataset mine.csv --label kind --hidden 2,10 --repeats 2 --out run"
    assert "10" in elmlda(*run.split()).stderr
    printed = succeed("report", "run", "--format", "md")
    assert "2 of 4" not in printed


def test_all_gaps_are_told(elmlda, tmp_path):
    for name in ("alpha", "beta"):
        write_four_kinds_of_samples(tmp_path / f"{name}.csv")
    data = "--dataset", "alpha.csv,beta.csv", "--label", "kind", "--hidden", "2,10"
    done = elmlda("compare", *data, "--repeats", 1, "--folds", 2, "--out", "run")
    assert done.returncode == 0
    assert done.stdout.count("no solution") == 2
    for name in ("alpha", "beta"):
        rows = pd.read_csv(tmp_path / "run" / name / "sweep.csv").set_index("n_hidden")
        assert rows.loc[2, "lda_errors"].notna().all()
        assert rows.loc[10, "lda_errors"].isna().any()
