"""elmlda ensemble on a small data set: against the sweep, by hand, and when disturbed."""

import csv
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from elmlda.core.evaluate import combine_posteriors
from elmlda.datasets import load_dataset
from elmlda.networks.jobs import run_job
from elmlda.runs.posteriors import PosteriorStore, UntrustedPosteriorsWarning
from elmlda.settings import COMBINATIONS, DatasetRef, NetworkJob, NetworkSettings

ELMLDA = Path(sys.executable).with_name("elmlda")
DOUBLE = NetworkSettings(precision="double")
"""As the command has it for so small a data set."""
ALL_SCHEMES = [word for scheme in COMBINATIONS for word in ("--combine", scheme)]


@pytest.fixture(scope="module")
def swept(run_elmlda, tmp_path_factory):
    """A run's folder after a sweep of four networks, and the ensemble.csv that it leads to."""
    folder = tmp_path_factory.mktemp("swept")
    run_elmlda("sweep", folder / "run", "--fanout", "2", "--repeats", "4")
    shutil.copytree(folder / "run", folder / "reference")
    run_elmlda("ensemble", folder / "reference", "--n", "2", "--fanout", "2", "--repeats", "2")
    return folder / "run", (folder / "reference/ensemble.csv").read_text()


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_after_a_sweep_nothing_is_trained_and_size_one_is_the_sweeps(elmlda, tmp_path):
    elmlda("sweep", "--fanout", "1-3", "--repeats", "8")
    before = {p: p.stat().st_mtime_ns for p in (tmp_path / "run/posteriors").iterdir()}
    assert len(before) == 8
    elmlda("ensemble", "--n", "4", "--fanout", "3", "--repeats", "2")
    assert {p: p.stat().st_mtime_ns for p in before} == before
    assert len(list((tmp_path / "run/posteriors").iterdir())) == 8
    lda = {
        int(row["repeat"]): row["lda_errors"]
        for row in read_csv(tmp_path / "run/sweep.csv")
        if row["fanout"] == "3"
    }
    rows = read_csv(tmp_path / "run/ensemble.csv")
    assert {int(r["repeat"]): r["errors"] for r in rows if r["size"] == "1"} == {0: lda[0], 1: lda[4]}
    assert len(rows) == 8


def test_an_empty_folder_gives_the_same_records(elmlda, tmp_path):
    elmlda("sweep", "--fanout", "1-3", "--repeats", "8", out="with")
    elmlda("ensemble", "--n", "4", "--fanout", "3", "--repeats", "2", *ALL_SCHEMES, out="with")
    elmlda("ensemble", "--n", "4", "--fanout", "3", "--repeats", "2", *ALL_SCHEMES, out="without")
    elmlda(
        "ensemble",
        "--n",
        "4",
        "--fanout",
        "3",
        "--repeats",
        "2",
        *ALL_SCHEMES,
        "--jobs",
        "2",
        out="jobs",
    )
    for name in ("ensemble.csv", "mistakes.csv"):
        files = [(tmp_path / out / name).read_text() for out in ("with", "without", "jobs")]
        assert files[0] == files[1] == files[2]


def test_every_scheme_and_size_by_hand(elmlda, clouds, tmp_path):
    elmlda("ensemble", "--n", "3", "--fanout", "2", "--repeats", "2", "--seed", "7", *ALL_SCHEMES)
    rows = read_csv(tmp_path / "run/ensemble.csv")
    assert len(rows) == 2 * 3 * len(COMBINATIONS)
    labels = load_dataset(None, clouds).test.labels
    networks = [
        run_job(NetworkJob(DatasetRef(None, clouds), 7, (index,), (18,), DOUBLE)).posteriors
        for index in range(6)
    ]
    for row in rows:
        first = 3 * int(row["repeat"])
        members = np.stack(networks[first : first + int(row["size"])])
        combined = combine_posteriors(members, row["combine"])[-1]
        if row["combine"] == "mean":
            assert (combined.argmax(axis=1) == members.mean(axis=0, dtype=float).argmax(axis=1)).all()
        wrong = np.flatnonzero(combined.argmax(axis=1) != labels)
        assert int(row["errors"]) == len(wrong)
        if row["size"] == "3":
            mistakes = [
                mistake
                for mistake in read_csv(tmp_path / "run/mistakes.csv")
                if (mistake["repeat"], mistake["combine"]) == (row["repeat"], row["combine"])
            ]
            assert [int(mistake["sample"]) for mistake in mistakes] == wrong.tolist()
            for mistake, i in zip(mistakes, wrong, strict=True):
                chosen = combined[i].argmax()
                assert (int(mistake["label"]), int(mistake["chosen"])) == (labels[i], chosen)
                assert float(mistake["posterior"]) == pytest.approx(combined[i, chosen], rel=1e-5)
                right = combined[i, labels[i]]
                assert float(mistake["label_posterior"]) == pytest.approx(right, rel=1e-5)


def test_a_scheme_and_repeats_can_be_added_later(elmlda, tmp_path):
    elmlda("ensemble", "--n", "2", "--fanout", "2", "--repeats", "1")
    elmlda("ensemble", "--n", "2", "--fanout", "2", "--repeats", "2", "--combine", "vote")
    keys = [(r["repeat"], r["size"], r["combine"]) for r in read_csv(tmp_path / "run/ensemble.csv")]
    expected = [("0", s, c) for s in "12" for c in ("mean", "vote")] + [("1", s, "vote") for s in "12"]
    assert keys == expected
    ensembles = {(r["repeat"], r["combine"]) for r in read_csv(tmp_path / "run/mistakes.csv")}
    assert ensembles == {("0", "mean"), ("0", "vote"), ("1", "vote")}


@pytest.mark.parametrize("lost", ["all", "last"])
def test_mistakes_that_were_lost_are_found_again(elmlda, tmp_path, lost):
    options = ("ensemble", "--n", "2", "--fanout", "2", "--repeats", "2")
    elmlda(*options)
    path = tmp_path / "run/mistakes.csv"
    whole = path.read_text()
    if lost == "all":
        path.unlink()
    else:
        path.write_text("".join(whole.splitlines(keepends=True)[:-1]))
    elmlda(*options)
    assert path.read_text() == whole


def test_another_fanout_is_refused_by_its_name(elmlda, tmp_path):
    elmlda("ensemble", "--n", "2", "--fanout", "2", "--repeats", "1")
    done = elmlda("ensemble", "--n", "2", "--fanout", "3", "--repeats", "1", check=False)
    assert done.stderr == (
        f"Error: {tmp_path / 'run'} was made with fanout 2; this command has fanout 3. Use --fanout 2 "
        "to continue it, or another --out for a new run.\n"
    )


def test_a_sweep_of_another_fanout_is_named_before_networks_are_trained(elmlda):
    elmlda("sweep", "--fanout", "1-2", "--repeats", "5")
    done = elmlda("ensemble", "--n", "3", "--fanout", "3", "--repeats", "2")
    start, advice = done.stderr.splitlines()[:2]
    assert "run: 6 networks to train, " in start
    assert advice == (
        "Networks of fan-out 3 will be trained; the posteriors that are there are of 5 networks of "
        "fan-out 2. Use --fanout 2 --n 3 --repeats 1 to combine those instead."
    )


def test_whole_records_need_no_posteriors(elmlda, tmp_path):
    words = "ensemble", "--n", "2", "--fanout", "2", "--repeats", "2"
    elmlda(*words)
    shutil.rmtree(tmp_path / "run/posteriors")
    done = elmlda(*words)
    assert done.stderr == f"{tmp_path / 'run'}: all 4 records are there, no network to train.\n"


def test_another_n_is_refused_and_nothing_changes(elmlda, tmp_path):
    elmlda("ensemble", "--n", "2", "--fanout", "2", "--repeats", "1")
    before = (tmp_path / "run/ensemble.csv").read_bytes()
    done = elmlda("ensemble", "--n", "3", "--fanout", "2", "--repeats", "1", check=False)
    assert done.exit_code == 1
    assert "was made with n 2; this command has n 3" in done.stderr
    assert (tmp_path / "run/ensemble.csv").read_bytes() == before


@pytest.mark.parametrize("damage", ["cut", "flipped", "foreign", "empty", "not a number"])
def test_a_file_that_cannot_be_trusted_is_recomputed(elmlda, swept, tmp_path, damage):
    folder, expected = swept
    shutil.copytree(folder, tmp_path / "run")
    path, other = (tmp_path / f"run/posteriors/{index}-18.npz" for index in (1, 2))
    whole = path.read_bytes()
    if damage == "not a number":
        with np.load(path) as stored:
            content = dict(stored)
        content["posteriors"][:] = np.nan
        np.savez(path, **content)
    else:
        middle = len(whole) // 2
        path.write_bytes(
            {
                "cut": whole[:middle],
                "flipped": whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :],
                "foreign": other.read_bytes(),
                "empty": b"",
            }[damage]
        )
    done = elmlda("ensemble", "--n", "2", "--fanout", "2", "--repeats", "2")
    assert "1-18.npz: not used, the network is trained again" in done.stderr
    assert path.read_bytes() == whole
    assert (tmp_path / "run/ensemble.csv").read_text() == expected


def test_posteriors_of_another_seed_are_foreign(tmp_path):
    posteriors = np.full((3, 2), 0.5, np.float32)
    PosteriorStore(tmp_path, {"seed": 1}, (3, 2)).write((0,), 18, posteriors)
    assert PosteriorStore(tmp_path, {"seed": 1}, (3, 2)).read((0,), 18) is not None
    with pytest.warns(UntrustedPosteriorsWarning, match="another run or network"):
        assert PosteriorStore(tmp_path, {"seed": 2}, (3, 2)).read((0,), 18) is None


def test_no_posteriors_keeps_none(elmlda, tmp_path):
    elmlda("sweep", "--fanout", "1-2", "--repeats", "2", "--no-posteriors")
    assert not (tmp_path / "run/posteriors").exists()


@pytest.mark.slow
def test_more_members_err_less_on_mnist(tmp_path):
    """The paper's Fig. 2 in small: ten networks are clearly better than one, two in between."""
    words = [ELMLDA, "ensemble", "--fanout", "1", "--n", "10", "--repeats", "2", "--out", tmp_path]
    subprocess.run(words, check=True, capture_output=True)
    rows = read_csv(tmp_path / "ensemble.csv")
    errors = {s: sum(int(r["errors"]) for r in rows if r["size"] == s) / 2 for s in ("1", "2", "10")}
    assert errors["10"] < errors["2"] - 20 < errors["1"] - 60
