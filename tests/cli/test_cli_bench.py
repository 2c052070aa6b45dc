"""elmlda bench: races on a tiny data set, run, void, absent and refused."""

import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from elmlda.bench import limit
from elmlda.bench.peers import PEERS
from elmlda.bench.race import CONTESTANTS
from elmlda.cli.bench import bench
from elmlda.core.bfloat16 import choose_multiplier
from elmlda.machine import measure_peak_bytes

OUR_PEERS = "independent,sklearn-ridge,sklearn-lda,pinv"


@pytest.fixture(autouse=True)
def _quick_products(monkeypatch):
    monkeypatch.setattr(limit, "PRODUCT_SIZE", 64)
    monkeypatch.setattr(limit, "PRODUCT_SECONDS", 0.01)


@pytest.fixture
def arguments(clouds):
    return (
        "bench", "--data-dir", clouds, "--fanout", "1-4", "--threads", 1,
        "--weight-range", 1, "--precision", "double",
    )  # fmt: skip


def rows_of(output):
    """The lines of the race's table, by contestant."""
    lines = output.split("agree\n")[1].splitlines()
    return {line.split()[0]: line for line in lines if line and ":" not in line.split()[0]}


def test_alone_it_prints_the_ratio_and_writes_nothing(invoke, arguments, tmp_path):
    result = invoke(*arguments)
    assert result.exit_code == 0
    values = {line[:14].strip(): line[14:].split() for line in result.stdout.splitlines()}
    assert list(values)[-4:] == ["nested sweep", "limit", "ratio", "peak memory"]
    assert float(values["ratio"][0]) > 0
    assert list(tmp_path.iterdir()) == []


def test_with_out_it_writes_what_it_prints(invoke, arguments, tmp_path):
    invoke(*arguments, "--out", "here")
    table = pd.read_csv(tmp_path / "here" / "bench.csv")
    assert list(table["contestant"]) == ["nested", "limit"]
    assert (tmp_path / "here" / "bench.svg").exists()
    assert list(pd.read_csv(tmp_path / "here" / "measurements.csv")["contestant"]) == ["nested"]


def test_precisions_race(invoke, arguments, tmp_path):
    said = invoke(*arguments, "--precisions", "--ridge", 1, "--out", "run").stdout
    lines = said[said.index("precision  ") :].splitlines()
    assert [line.split()[0] for line in lines[1:4]] == ["mixed", "double", "bfloat16"]
    assert lines[4] == f"bfloat16 {choose_multiplier()}."
    table = pd.read_csv(tmp_path / "run/precisions.csv").set_index("precision")
    assert (table["gram_seconds"] < table["seconds"]).all()
    ratios = table["seconds"] / table["limit_seconds"]
    assert np.allclose(table["ratio_to_limit"], ratios, rtol=1e-4)
    ratios = table["seconds"] / table.loc["mixed", "limit_seconds"]
    assert np.allclose(table["ratio_to_float32_limit"], ratios, rtol=1e-4)
    assert table.loc["mixed", "differing_counts"] == 0
    assert table["largest_difference"].max() <= 2


def test_peers_race(invoke, arguments, tmp_path):
    result = invoke(*arguments, "--peers", OUR_PEERS)
    assert result.exit_code == 0
    assert "ABSENT" not in result.output
    rows = rows_of(result.stdout)
    assert list(rows)[:6] == ["nested", "limit", *OUR_PEERS.split(",")]
    for name in ("nested", *OUR_PEERS.split(",")):
        assert " measured " in rows[name]
        assert rows[name].endswith(" yes")
    assert result.stderr.count("fan-out") == 16
    folder = tmp_path / "results" / "bench"
    names = {path.name for path in folder.iterdir()}
    suffixes = ("csv", "md", "html", "png", "svg")
    assert names == {"measurements.csv", *(f"bench.{suffix}" for suffix in suffixes)}
    table = pd.read_csv(folder / "bench.csv").set_index("contestant")
    assert table.loc["nested", "ratio_to_nested"] == 1
    expected = table["seconds"] / table.loc["nested", "seconds"]
    assert np.allclose(table["ratio_to_nested"], expected, rtol=1e-4)
    assert len(pd.read_csv(folder / "measurements.csv")) == 1 + 16
    command = f"elmlda bench --fanout 1-4 --peers {OUR_PEERS} --data-dir"
    assert f"\n{command}" in (folder / "bench.md").read_text()


def test_peers_at_some_fanouts_are_fitted(invoke, arguments, tmp_path):
    result = invoke(
        *arguments, "--peers", "independent,pinv", "--peer-fanouts", "1,2,4", "--out", "run"
    )
    rows = rows_of(result.stdout)
    assert " measured " in rows["independent"]
    assert " fitted " in rows["pinv"]
    assert "pinv: timed at fan-outs 1,2,4, where the fitted law is off by " in result.stdout
    table = pd.read_csv(tmp_path / "run" / "bench.csv").set_index("contestant")
    assert table.loc["pinv", "kind"] == "fitted"
    assert "| fitted |" in (tmp_path / "run" / "bench.md").read_text()


def test_an_absent_peer_is_named(invoke, arguments, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "hpelm", None)
    result = invoke(*arguments, "--peers", "hpelm,pinv")
    assert result.exit_code == 0
    assert "ABSENT: not installed (" in result.stderr
    assert rows_of(result.stdout)["hpelm"].split()[-1] == "absent"
    assert "hpelm: fan-out 1-4: not installed (" in result.stdout
    page = (tmp_path / "results" / "bench" / "bench.md").read_text()
    assert "| hpelm | PI | 1-4 |  | absent |  |  |" in page


def test_wrong_counts_void_the_race(invoke, arguments, tmp_path, monkeypatch):
    wrong = replace(PEERS["pinv"], predict=lambda task, weights: np.zeros(200, int))
    monkeypatch.setitem(PEERS, "pinv", wrong)
    result = invoke(*arguments, "--peers", "pinv", "--growth", "1,2")
    assert result.exit_code == 1
    last = result.stderr.splitlines()[-1]
    assert last.startswith("Error: THE RACE IS VOID: error counts differ, so the times must not be ")
    assert "pinv, PI at fan-out 1: 150 errors, nested has " in last
    assert rows_of(result.stdout)["pinv"].endswith(" no")
    folder = tmp_path / "results" / "bench"
    assert (folder / "bench.md").read_text().startswith("# VOID")
    assert not (folder / "growth.csv").exists()


def test_one_error_is_reported(invoke, arguments, monkeypatch):
    right = PEERS["pinv"].predict
    labels = {}

    def one_off(task, weights):
        predicted = right(task, weights)
        if weights.shape[1] == 18:
            labels["changed"] = predicted[0]
            predicted[0] = (predicted[0] + 1) % 4
        return predicted

    monkeypatch.setitem(PEERS, "pinv", replace(PEERS["pinv"], predict=one_off))
    result = invoke(*arguments, "--peers", "pinv")
    assert labels
    assert result.exit_code == 0
    assert rows_of(result.stdout)["pinv"].endswith(" within 1")
    assert "Differs: pinv, PI at fan-out 2: " in result.stdout


def test_growth(invoke, arguments, tmp_path):
    result = invoke(*arguments, "--growth", "1,2,4", "--out", "run")
    assert result.exit_code == 0
    table = pd.read_csv(tmp_path / "run" / "growth.csv")
    assert list(table["fanout"]) == [1, 2, 4]
    assert list(table["n_hidden"]) == [9, 18, 36]
    assert (table["seconds"] > 0).all()
    assert table["fitted_seconds"].notna().all()
    # Each of its own process: far less than the tests' with all their libraries.
    assert (table["peak_bytes"] < measure_peak_bytes()).all()
    assert (tmp_path / "run" / "growth.svg").exists()
    assert [line.split()[0] for line in result.stdout.splitlines() if line.startswith("1-")] == [
        "1-1", "1-2", "1-4",
    ]  # fmt: skip


def test_the_help_names_every_contestant():
    option = next(param for param in bench.params if param.name == "peers")
    assert f"some of {', '.join(CONTESTANTS)}, with commas" in option.help


def test_options_that_a_benchmark_has_no_use_for():
    assert not {"design", "jobs"} & {param.name for param in bench.params}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--peers", "matlab"],
            "Invalid value for '--peers': 'matlab': expected all, none, or some of independent, "
            "hpelm, sklearn-ridge, sklearn-lda, pinv, with commas.",
        ),
        (["--peer-fanouts", "1-3"], "--peer-fanouts needs --peers."),
        (
            ["--peers", "pinv", "--peer-fanouts", "1,2,7,9"],
            "--peer-fanouts 7,9: not among --fanout 1-4.",
        ),
        (
            ["--peers", "pinv", "--peer-fanouts", "1,4"],
            "a sum over fan-outs 1-4 is fitted to 3 of them or more. Add some to --peer-fanouts 1,4.",
        ),
        (
            ["--peers", "pinv", "--ridge", "0.1"],
            "--peers and --ridge exclude each other: the peers have none.",
        ),
        (
            ["--peers", "pinv", "--precision", "bfloat16"],
            "--peers and --precision bfloat16 exclude each other: the peers do not round.",
        ),
        (
            ["--peers", "pinv", "--priors", "uniform"],
            "--peers and --priors uniform exclude each other: scikit-learn's LDA agrees with the "
            "paper's only with the class frequencies.",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(refusal, arguments, options, message):
    assert refusal(*arguments, *options, exit_code=2) == message


def test_frequencies_may_be_said(invoke, arguments):
    assert invoke(*arguments, "--peers", "pinv", "--priors", "frequencies").exit_code == 0


def test_growth_that_cannot_be_is_refused_before_anything_is_timed(refusal, arguments, tmp_path):
    message = refusal(*arguments, "--growth", "1,70")
    assert message.startswith("600 training samples in ")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made(refusal, arguments, tmp_path):
    (tmp_path / "file").touch()
    message = refusal(*arguments, "--out", "file/deeper")
    assert message == "file/deeper: cannot be made: Not a directory. Use another --out."
