"""elmlda compare as users meet it: records, resume, refusals, and the report of all sets."""

import csv
import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from made_up import make_run, sweep_records

ELMLDA = Path(sys.executable).with_name("elmlda")
SMALL = ("--fanout", "1,2", "--folds", "3", "--repeats", "2", "--threads", "1")


def rows(path):
    with path.open() as file:
        return list(csv.DictReader(file))


def test_records_tables_and_where_they_are(invoke, tmp_path):
    result = invoke("compare", "--dataset", "iris,wine", *SMALL, "--out", "runs")
    assert result.exit_code == 0, result.output
    for name, sizes in (("iris", {"4", "8"}), ("wine", {"13", "26"})):
        found = rows(tmp_path / f"runs/{name}/compare.csv")
        assert len(found) == 2 * 3 * 2 * 2
        assert {row["n_hidden"] for row in found} == sizes
        assert f"{name}\n" in result.stdout
        assert f"Records: runs/{name}/compare.csv" in result.stdout
    manifest = json.loads((tmp_path / "runs/iris/manifest.json").read_text())
    assert manifest["run"]["inputs"] == "standardised by the training part"
    assert manifest["experiments"]["compare"] == {
        "repeats": 2, "n_hidden": [4, 8], "rules": ["gcv", "none"], "folds": 3,
    }  # fmt: skip


def test_it_goes_on_and_grows(invoke, tmp_path):
    invoke("compare", "--dataset", "iris", *SMALL, "--out", "whole", "--quiet")
    options = ("--folds", "3", "--threads", "1", "--out", "grown", "--quiet")
    invoke("compare", "--dataset", "iris", "--fanout", "1", "--repeats", 1, *options, "--rule", "none")
    first = rows(tmp_path / "grown/iris/compare.csv")
    invoke("compare", "--dataset", "iris", "--fanout", "1,2", "--repeats", 2, *options)
    assert [row for row in rows(tmp_path / "grown/iris/compare.csv") if row in first] == first
    same = [(tmp_path / name / "iris/compare.csv").read_text() for name in ("whole", "grown")]
    assert same[0] == same[1]


def test_killed_it_ends_the_same(invoke, tmp_path):
    options = (
        "--dataset",
        "digits",
        "--fanout",
        "2",
        "--folds",
        "5",
        "--repeats",
        "2",
        "--threads",
        "1",
    )
    invoke("compare", *options, "--out", "undisturbed", "--quiet")
    path = tmp_path / "run/digits/compare.csv"
    n_killed = 0
    for n_lines in (1, 5, 9):
        process = subprocess.Popen(
            [ELMLDA, "compare", *options, "--out", tmp_path / "run", "--quiet"],
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and process.poll() is None:
            if path.exists() and path.read_text().count("\n") > n_lines:
                break
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        n_killed += process.wait() == -signal.SIGKILL
    assert n_killed >= 2
    invoke("compare", *options, "--out", "run", "--quiet")
    assert path.read_text() == (tmp_path / "undisturbed/digits/compare.csv").read_text()


def test_own_files(invoke, tmp_path):
    lines = [f"{'ab'[i % 2]},{i % 7},{(i * i) % 5},{'xy'[i % 3 == 0]}" for i in range(60)]
    (tmp_path / "mine.csv").write_text("\n".join(["kind,one,two,three", *lines]) + "\n")
    options = ("--label", "kind", "--hidden", "3,6", "--folds", "2", "--repeats", "1", "--out", "runs")
    result = invoke("compare", "--dataset", "mine.csv", *options)
    assert result.exit_code == 0, result.output
    assert len(rows(tmp_path / "runs/mine/compare.csv")) == 2 * 2 * 2


def test_dry_run_leaves_no_trace(invoke, tmp_path):
    result = invoke("compare", "--dataset", "iris,satimage", *SMALL, "--out", "runs", "--dry-run")
    iris, satimage, _ = result.stdout.split("\n\n")
    assert "data           iris: 150 samples\n" in iris
    assert "to be trained  6 networks" in iris
    assert "data           satimage: 4,435 to train on, 2,000 to test on\n" in satimage
    assert "to be trained  2 networks" in satimage
    assert list(tmp_path.iterdir()) == []


def test_dry_run_knows_what_is_there(invoke, refusal):
    words = "compare", "--dataset", "iris", *SMALL, "--out", "runs"
    assert invoke(*words, "--quiet").exit_code == 0
    assert "to be trained  0 networks" in invoke(*words, "--dry-run").stdout
    assert "was made with seed 0; this command has seed 1" in refusal(*words, "--seed", 1, "--dry-run")


def test_a_comparison_that_is_not_finished_says_so(invoke, tmp_path):
    words = "compare", "--dataset", "iris", *SMALL, "--out", "runs", "--quiet"
    assert invoke(*words).exit_code == 0
    path = tmp_path / "runs/iris/compare.csv"
    kept = [line for line in path.read_text().splitlines() if not line.startswith("1,2,")]
    path.write_text("\n".join(kept) + "\n")
    assert invoke("report", "runs/iris", "--format", "md").exit_code == 0
    page = (tmp_path / "runs/iris/report.md").read_text()
    assert "The comparison has 5 of 6 planned networks." in page.replace("\\", "")


def test_a_folder_without_comparisons(refusal, tmp_path):
    make_run(tmp_path / "runs/one", sweep=sweep_records({1: [(7.2, 6.8)]}))
    assert "neither a run nor a folder of comparisons" in refusal("report", "runs")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--dataset", "irs"), "unknown data set 'irs'. Did you mean 'iris'?"),
        (("--dataset", "iris", "--hidden", "500", "--rule", "none"), "use --rule gcv"),
        (("--dataset", "iris", "--folds", "151"), "fewer than 151 folds. Use --folds 150."),
        (("--dataset", "iris,wine", "--data-dir", "x"), "--data-dir is for one --dataset"),
        (("--dataset", "iris", "--priors", "0.5,0.5"), "2 priors given, 3 classes"),
        (("--dataset", ","), "no data set named"),
        (("--dataset", "abalone", "--hidden", "200000"), "GB of memory"),
    ],
)
def test_refusals(refusal, tmp_path, arguments, message):
    assert message in refusal("compare", *arguments, "--quiet")
    assert not list(tmp_path.rglob("*.csv"))


def test_another_configuration_is_refused(invoke, refusal):
    invoke("compare", "--dataset", "iris", *SMALL, "--quiet")
    said = refusal("compare", "--dataset", "iris", *SMALL, "--quiet", "--seed", "1")
    assert "was made with seed 0; this command has seed 1" in said
    said = refusal("compare", "--dataset", "iris", "--fanout", "1", "--folds", "4", "--quiet")
    assert "folds 3" in said


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compared")
    subprocess.run(
        [ELMLDA, "compare", "--dataset", "iris,wine,breast-cancer", "--quiet", *SMALL],
        cwd=folder,
        check=True,
    )
    return folder


def test_the_report_of_each_set_and_of_all(invoke, compared, monkeypatch):
    monkeypatch.chdir(compared)
    output = invoke("report").stdout
    assert "results/compare: Without a ridge, at fan-out 2, LDA-ELM has fewer errors" in output
    assert "results/compare/iris: LDA-ELM has fewer errors than PI-ELM at " in output
    folder = compared / "results/compare"
    for name in ("summary.csv", "ranks.csv", "summary.png", "summary.svg", "report.md", "report.html"):
        assert (folder / name).stat().st_size > 0
    for name in ("compare_table.csv", "compare.png", "compare.svg", "report.md", "report.html"):
        assert (folder / "iris" / name).stat().st_size > 0
    summary = pd.read_csv(folder / "summary.csv")
    table = pd.read_csv(folder / "iris/compare_table.csv")
    ours = summary[summary["dataset"] == "iris"].reset_index(drop=True)
    pd.testing.assert_frame_equal(ours[table.columns], table, check_dtype=False)
    for page in folder.rglob("report.*"):
        text = re.sub(r"base64,[A-Za-z0-9+/=]+", "", page.read_text())
        assert not re.search(r"\bnan\b", text, re.IGNORECASE), page
    markdown = (folder / "report.md").read_text()
    assert re.search(r"^elmlda compare --dataset .*--fanout 1,2 --folds 3 --repeats 2", markdown, re.M)
    contents = {path: path.read_bytes() for path in folder.rglob("*.*")}
    invoke("report", "results/compare")
    assert {path: path.read_bytes() for path in folder.rglob("*.*")} == contents


def test_the_committed_configuration_is_read(invoke):
    config = Path(__file__).parents[2] / "configs/compare.toml"
    output = invoke("compare", "--config", config, "--dry-run").stdout
    found = [line.split("/")[-1] for line in output.splitlines() if line.startswith("folder")]
    assert found == [
        "iris", "wine", "breast-cancer", "digits", "abalone", "satimage",
    ]  # fmt: skip
