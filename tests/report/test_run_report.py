"""elmlda report: the same records give the same files, and what is missing is no obstacle."""

import json

import pandas as pd
import pytest
from click.testing import CliRunner

from elmlda.cli import cli
from elmlda.datasets.catalogue import MNIST_SHA256
from elmlda.experiments.ensemble import EnsembleRecord
from elmlda.experiments.sweep import SweepRecord
from elmlda.experiments.timing import METHODS, TimingRecord
from elmlda.store import RecordFile

SWEEP = [
    SweepRecord(
        repeat, fanout, 784 * fanout, 700 // fanout + repeat, 0, 690 // fanout, 10_000, 1.0, "mixed"
    )
    for repeat in range(3)
    for fanout in (1, 2, 11)
]
ENSEMBLE = [
    EnsembleRecord(repeat, size, scheme, 210 - 5 * size + repeat, 10_000)
    for repeat in range(2)
    for size in (1, 2, 3)
    for scheme in ("mean", "vote")
]
TIMING = [TimingRecord(0, 1, 784, method, 2.0, 0.5, 0.1, 1.0, 0.1, 0.1, 0.0, 0.1) for method in METHODS]


@pytest.fixture
def folder(tmp_path):
    manifest = {
        "schema": 1,
        "run": {"dataset": "mnist", "sha256": MNIST_SHA256},
        "experiments": {"ensemble": {"n_hidden": 15680}},
        "machines": [],
    }
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    return tmp_path


def record(folder, name, records):
    RecordFile(folder / name, type(records[0])).append(records)


def report(*arguments):
    return CliRunner().invoke(cli, ["report", *map(str, arguments)])


def test_everything_is_written_and_named(folder):
    record(folder, "sweep.csv", SWEEP)
    record(folder, "ensemble.csv", ENSEMBLE)
    record(folder, "timing.csv", TIMING)
    result = report(folder)
    assert result.exit_code == 0, result.output
    names = {line.rsplit("/", 1)[1] for line in result.output.splitlines()}
    assert names == {
        *("table1.csv", "fig1.png", "fig1.svg", "table2.csv"),
        *("ensemble_table.csv", "fig2.png", "fig2.svg"),
    }
    assert all((folder / name).stat().st_size > 0 for name in names)
    table = pd.read_csv(folder / "table1.csv").set_index("fanout")
    assert table.loc[1, "pi_error_percent"] == pytest.approx(7.01)
    assert table.loc[1, "paper_pi_error_percent"] == 7.20
    assert pd.isna(table.loc[11, "paper_pi_error_percent"])


def test_the_same_records_give_the_same_bytes(folder):
    record(folder, "sweep.csv", SWEEP)
    record(folder, "ensemble.csv", ENSEMBLE)
    contents = []
    for _ in range(2):
        report(folder)
        contents.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert contents[0] == contents[1]


@pytest.mark.parametrize("n_repeats", [1, 3])
def test_a_part_of_a_run_is_enough(folder, n_repeats):
    record(folder, "sweep.csv", [row for row in SWEEP if row.repeat < n_repeats])
    result = report(folder)
    assert result.exit_code == 0, result.output
    assert not (folder / "fig2.png").exists()
    said = "one repeat" if n_repeats == 1 else "mean of 3 repeats with 95 % interval"
    assert said in (folder / "fig1.svg").read_text()


def test_other_data_are_not_shown_beside_the_paper(folder):
    record(folder, "sweep.csv", SWEEP)
    report(folder)
    assert "the paper" in (folder / "fig1.svg").read_text()
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["run"]["sha256"] = {}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    report(folder)
    assert "the paper" not in (folder / "fig1.svg").read_text()


def test_what_is_no_run_is_refused(folder, tmp_path_factory, monkeypatch):
    assert "no records yet" in report(folder).output
    empty = tmp_path_factory.mktemp("empty")
    assert "no manifest.json" in report(empty).output
    monkeypatch.chdir(empty)
    result = report()
    assert result.exit_code == 1
    assert result.output.startswith("Error: no run below results/.")
