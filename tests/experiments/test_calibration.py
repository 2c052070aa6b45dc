"""elmlda calibration on a small data set: against scikit-learn, the ensemble, and when disturbed."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import sklearn.metrics
from command_line import read_records
from plans import make_plan, work_of

from elmlda import Calibration
from elmlda.cli.tables import show_records
from elmlda.core.calibration import N_BINS
from elmlda.datasets import load_dataset
from elmlda.errors import ElmldaError
from elmlda.experiments.calibration import (
    CalibrationRecord,
    Group,
    count_groups,
)
from elmlda.networks.jobs import run_job
from elmlda.runs.records import RecordFile
from elmlda.settings import DatasetRef, NetworkJob, NetworkSettings

CALIBRATION = "calibration", "--fanout", "1-3", "--n", "1,2,4", "--repeats", "2"
"""Eight networks of 27 hidden units, two of 9 and 18."""


@pytest.fixture
def read(tmp_path):
    """The records in a folder, by (n_hidden, size, group)."""

    def read_by_key(out="run"):
        records = read_records(tmp_path / out, CalibrationRecord)
        return {record.key: record for record in records}

    return read_by_key


@pytest.fixture
def posteriors_of(tmp_path):
    """What is kept of a network."""
    return lambda i, n_hidden: np.load(tmp_path / f"run/posteriors/{i}-{n_hidden}.npz")["posteriors"]


def kept_files(tmp_path, out="run"):
    return {path.name: path.stat().st_mtime_ns for path in (tmp_path / out / "posteriors").iterdir()}


def test_every_group_against_scikit_learn(elmlda, read, clouds, posteriors_of):
    elmlda(*CALIBRATION)
    labels = load_dataset(None, clouds).test.labels
    kinds = {(9, 1): 2, (18, 1): 2, (27, 1): 8, (27, 2): 4, (27, 4): 2}
    assert list(read()) == [Group(*kind, i) for kind, n in kinds.items() for i in range(n)]
    for (n_hidden, size, group), record in read().items():
        members = [posteriors_of(group * size + i, n_hidden) for i in range(size)]
        mean = np.mean(members, axis=0, dtype=float)
        right = mean.argmax(axis=1) == labels
        assert (record.fanout, record.n_test) == (n_hidden / 9, 200)
        assert record.errors == np.count_nonzero(~right)
        assert record.confidence == pytest.approx(mean.max(axis=1).mean(), rel=1e-5)
        exact = mean / mean.sum(axis=1, keepdims=True)  # as it was before it was rounded to float32
        expected = sklearn.metrics.log_loss(labels, exact, labels=range(4))
        assert record.log_loss == pytest.approx(expected, rel=1e-5)
        assert record.brier == pytest.approx(((mean - np.eye(4)[labels]) ** 2).sum() / 200, rel=1e-5)
        bins = pd.cut(mean.max(axis=1), np.arange(N_BINS + 1) / N_BINS, labels=False)
        samples = pd.DataFrame({"bin": bins, "confidence": mean.max(axis=1), "right": right})
        sums = samples.groupby("bin").sum()
        assert record.ece == pytest.approx(
            (sums["confidence"] - sums["right"]).abs().sum() / 200, abs=1e-5
        )
        found = record.reliability
        assert found.counts[sums.index].tolist() == samples["bin"].value_counts().sort_index().tolist()
        np.testing.assert_allclose(found.confidence_sums[sums.index], sums["confidence"], rtol=1e-5)
        assert found.correct[sums.index].tolist() == sums["right"].tolist()


def test_posteriors_are_those_of_networks_trained_alone(elmlda, clouds, posteriors_of):
    """In double precision: float32 rounds the first units otherwise than in the whole network."""
    elmlda(*CALIBRATION, "--precision", "double")
    settings = NetworkSettings(precision="double")
    for index, n_hidden in [(0, 9), (1, 18), (1, 27), (7, 27)]:
        alone = run_job(NetworkJob(DatasetRef(None, clouds), 0, (index,), (n_hidden,), settings))
        np.testing.assert_allclose(posteriors_of(index, n_hidden), alone.posteriors, rtol=1e-4)


def test_after_sweep_and_ensemble_only_small_networks_are_trained(elmlda, read, tmp_path):
    elmlda("sweep", "--fanout", "3", "--repeats", "8")
    elmlda("ensemble", "--n", "4", "--fanout", "3", "--repeats", "2")
    before = kept_files(tmp_path)
    told = elmlda(*CALIBRATION, "--dry-run").stdout
    assert "recorded       0 of " in told
    assert "to be trained  2 networks" in told
    assert kept_files(tmp_path) == before
    elmlda(*CALIBRATION)
    after = kept_files(tmp_path)
    assert before.items() <= after.items()
    assert after.keys() - before.keys() == {f"{i}-{n}.npz" for i in (0, 1) for n in (9, 18)}
    assert "to be trained  0 networks" in elmlda(*CALIBRATION, "--dry-run").stdout
    errors = {key: record.errors for key, record in read().items()}
    ensemble = pd.read_csv(tmp_path / "run/ensemble.csv").set_index(["repeat", "size"])["errors"]
    assert [errors[27, 4, i] for i in range(2)] == [ensemble[i, 4] for i in range(2)]
    pairs = pd.read_csv(tmp_path / "run/pairs.csv")["errors"]
    assert [errors[27, 2, i] for i in range(4)] == pairs.tolist()
    swept = pd.read_csv(tmp_path / "run/sweep.csv")["lda_errors"]
    assert [errors[27, 1, i] for i in range(8)] == swept.tolist()


def test_smaller_sizes_are_the_runs_own_networks(elmlda, read, tmp_path):
    elmlda("sweep", "--fanout", "1-3", "--repeats", "2", "--no-posteriors")
    elmlda(*CALIBRATION)
    swept = pd.read_csv(tmp_path / "run/sweep.csv").set_index(["n_hidden", "repeat"])["lda_errors"]
    for key in [(n_hidden, repeat) for n_hidden in (9, 18, 27) for repeat in (0, 1)]:
        assert read()[key[0], 1, key[1]].errors == swept[key]


def test_without_training_what_is_not_kept_is_left_out(elmlda, read, tmp_path):
    elmlda("sweep", "--fanout", "3", "--repeats", "7")
    (tmp_path / "run/posteriors/2-27.npz").unlink()
    before = kept_files(tmp_path)
    elmlda(*CALIBRATION, "--no-train")
    assert kept_files(tmp_path) == before
    assert [tuple(key) for key in read()] == [
        *((27, 1, i) for i in (0, 1, 3, 4, 5, 6)),
        (27, 2, 0),
        (27, 2, 2),
    ]
    elmlda(*CALIBRATION)
    assert len(read()) == 2 + 2 + 8 + 4 + 2


@pytest.mark.parametrize("options", [("--jobs", "2"), ("--design", "independent")])
def test_it_may_be_done_otherwise(elmlda, read, options, tmp_path):
    elmlda(*CALIBRATION, *options)
    assert len(read()) == 18
    elmlda(*CALIBRATION, out="other")
    same = [key for key in read() if read()[key] == read("other")[key]]
    assert len(same) == (18 if options[0] == "--jobs" else 0)


def test_more_may_be_asked_for_later(elmlda, read):
    elmlda("calibration", "--fanout", "1,3", "--n", "2", "--repeats", "1")
    assert [tuple(key) for key in read()] == [(9, 1, 0), (27, 2, 0)]
    few = read()
    elmlda(*CALIBRATION)
    assert len(read()) == 18
    assert few.items() <= read().items()


@pytest.mark.parametrize("lost", ["a record", "posteriors", "posteriors and records"])
def test_what_was_lost_comes_back_the_same(elmlda, tmp_path, lost):
    elmlda(*CALIBRATION)
    path = tmp_path / "run/calibration.csv"
    whole = path.read_text()
    lines = whole.splitlines(keepends=True)
    if "posteriors" in lost:  # the small sizes of network 0 were kept, its largest not yet
        (tmp_path / "run/posteriors/0-27.npz").unlink()
    if "record" in lost:
        path.write_text("".join(lines[:3] + lines[4:5] + lines[6:-2]))
    elmlda(*CALIBRATION)
    assert path.read_text() == whole


def test_a_folder_of_another_seed_is_refused(elmlda, tmp_path):
    elmlda(*CALIBRATION)
    done = elmlda(*CALIBRATION, "--seed", "1", check=False)
    assert done.exit_code == 1
    assert "was made with seed 0; this command has seed 1" in done.stderr


def test_too_many_networks_are_refused(elmlda):
    done = elmlda("calibration", "--n", "1,2000", "--repeats", "60", check=False)
    assert done.exit_code == 1
    expected = "60 groups of 2,000 are 120,000 networks, expected at most 100,000."
    assert done.stderr == f"Error: {expected} Lower --n or --repeats.\n"


@pytest.mark.parametrize("train", [True, False])
def test_posteriors_that_go_away_meanwhile_are_missed(clouds, train):
    calibration = Calibration(fanouts=1, n=2, repeats=1, train=train)
    plan = make_plan(calibration, load_dataset(None, clouds), DatasetRef(None, clouds))
    assert len(plan.missing({CalibrationRecord: []})) == (2 if train else 0)
    steps = plan.steps(work_of(plan, [], records={CalibrationRecord: []}))
    if train:
        with pytest.raises(ElmldaError, match="posteriors of networks 0 to 1 went away"):
            next(steps)
    else:
        assert next(steps).records == []


def test_what_is_kept_needs_no_room_for_training(clouds, tmp_path, monkeypatch):
    monkeypatch.setattr("elmlda.networks.cost.free_memory", lambda: 1000)
    with pytest.raises(ElmldaError, match=r"need .* of memory"):
        Calibration(data_dir=clouds, fanouts=1, n=1).run(tmp_path / "run")
    assert Calibration(data_dir=clouds, fanouts=1, n=1, train=False).run(tmp_path / "run").empty


def test_from_python(elmlda, clouds, tmp_path):
    found = Calibration(data_dir=clouds, fanouts=range(1, 4), n=[1, 2, 4], repeats=2).run(
        tmp_path / "python", threads=1
    )
    elmlda(*CALIBRATION)
    shell = pd.read_csv(tmp_path / "run/calibration.csv").drop(columns="crc32")
    pd.testing.assert_frame_equal(found, shell, check_dtype=False)
    calibration = Calibration(data_dir=clouds, fanouts=range(1, 4), n=[1, 2, 4], repeats=2)
    assert calibration.outlook(tmp_path / "run").n_networks == 0


def test_groups_are_counted():
    assert count_groups((9, 18), (1, 2, 5), 2) == {(9, 1): 2, (18, 1): 10, (18, 2): 5, (18, 5): 2}
    assert count_groups((9,), (2, 3), 1) == {(9, 2): 1, (9, 3): 1}


EMPTY = " ".join("0" * 7)
RECORD = CalibrationRecord(
    1.0, 9, 2, 0, 10, 3, 0.8, 0.5, 1, 0.2, 0.12,
    f"{EMPTY} 4 0 0 0 0 0 0 6", f"{EMPTY} 2.1 0 0 0 0 0 0 5.9", f"{EMPTY} 1 0 0 0 0 0 0 6",
)  # fmt: skip


def test_a_record_comes_back_from_its_file(tmp_path):
    file = RecordFile(tmp_path / "calibration.csv", CalibrationRecord, "")
    file.append([RECORD, replace(RECORD, group=1)])
    assert file.read() == [RECORD, replace(RECORD, group=1)]
    assert RECORD.key == Group(9, 2, 0)
    networks = Group(*replace(RECORD, group=3).key).networks
    assert [network.number for network in networks] == [6, 7]
    assert RECORD.reliability.accuracy == 0.7


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"size": 0}, "size is 0"),
        ({"errors": 11}, "errors is 11, expected 0 to 10"),
        ({"floored": 11}, "floored is 11"),
        ({"confidence": 1.1}, "confidence is 1.1"),
        ({"log_loss": float("nan")}, "log_loss is nan"),
        ({"brier": 2.1}, "brier is 2.1"),
        ({"errors": 2}, "the bins' counts do not sum"),
        ({"n_test": 11}, "the bins' counts do not sum"),
        ({"confidence": 0.81}, "another confidence or ece"),
        ({"ece": 0.13}, "another confidence or ece"),
        ({"bin_counts": "4 6"}, "expected 15 bins"),
        ({"bin_counts": f"{EMPTY} 4 0 0 0 0 0 0 x"}, "invalid literal"),
        ({"bin_correct": f"{EMPTY} 5 0 0 0 0 0 0 2"}, "more than its samples"),
        ({"bin_correct": f"{EMPTY} -1 0 0 0 0 0 0 8"}, "more than its samples"),
        ({"bin_confidences": f"{EMPTY} 4.1 0 0 0 0 0 0 3.9"}, "more than its samples"),
        ({"bin_confidences": f"{EMPTY} nan 0 0 0 0 0 0 5.9"}, "more than its samples"),
        ({"bin_counts": f"{EMPTY} {10**30} 0 0 0 0 0 0 6"}, "do not sum"),
    ],
)
def test_what_cannot_be_is_refused(changes, reason):
    with pytest.raises(ValueError, match=reason):
        replace(RECORD, **changes)


def test_the_table():
    records = [RECORD, replace(RECORD, group=1), replace(RECORD, n_hidden=18, fanout=2.0, size=1)]
    lines = show_records(
        SimpleNamespace(experiment=Calibration(), is_papers_data=False), records
    ).splitlines()
    *_, combined, single = lines
    assert combined.split()[:12] == [
        "1", "2", "2", "0.500", "±", "0.000", "1.0", "0.1200", "±", "0.0000", "+10.00", "±",
    ]  # fmt: skip
    assert single.split()[:5] == ["2", "1", "1", "0.500", "1.0"]
    assert max(map(len, lines)) <= 80
