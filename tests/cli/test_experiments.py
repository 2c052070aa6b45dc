"""sweep, ensemble, timing, compare, report and verify: what they print, write and refuse."""

import json

import numpy as np
import pandas as pd
import pytest
from command_line import TWO_CORES, invoke_here, read_rows
from made_runs import make_run, simulate_sweep

from elmlda import Sweep
from elmlda.cli.terminal import show_rows
from elmlda.runs.folder import read_rows as load_rows

SWEEP = "sweep --dataset iris --hidden 4,8 --repeats 3"
COMMANDS = {
    "sweep.csv": SWEEP,
    "ensemble.csv": "ensemble --dataset iris --hidden 8 --n 3 --repeats 2",
    "timing.csv": "timing --dataset iris --fanout 1-2 --pairs 2",
}


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("name", COMMANDS)
def test_rows_a_table_and_what_to_do_next(succeed, tmp_path, name):
    shown = succeed(COMMANDS[name])
    assert f"Rows: results/iris/{name}" in shown
    assert "Next: elmlda report results/iris" in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert len(read_rows(tmp_path / "results/iris" / name)) > 0


@pytest.mark.parametrize("command", [*COMMANDS.values(), "compare --dataset iris,wine --repeats 1"])
def test_a_dry_run_writes_nothing(succeed, tmp_path, command):
    shown = succeed(f"{command} --dry-run")
    for fact in ("results/", "iris", "100 to train on" if "compare" not in command else "wine", "GB"):
        assert fact in shown
    assert files(tmp_path) == []


@pytest.mark.parametrize(
    "command", [*COMMANDS.values(), "compare --dataset iris --hidden 4 --folds 2 --repeats 1"]
)
def test_quiet(command):
    result = invoke_here(*command.split(), "--quiet")
    assert (result.exit_code, result.output) == (0, "")


def test_the_rates_are_those_of_the_rows(succeed, tmp_path):
    shown = succeed(SWEEP)
    rows = pd.read_csv(tmp_path / "results/iris/sweep.csv")
    for size, found in rows.groupby("n_hidden"):
        (line,) = [line.split() for line in shown.splitlines() if line.split()[1:2] == [str(size)]]
        assert line[0] == f"{size / 4:g}"
        assert line[2] == "3"
        assert line[3] == f"{100 * found['pi_errors'].mean() / 50:.2f}"
        assert line[6] == f"{100 * found['lda_errors'].mean() / 50:.2f}"


def test_a_table_beside_the_papers_numbers(tmp_path):
    run = make_run(tmp_path / "run", sweep=simulate_sweep(np.random.default_rng(0)))
    rows = load_rows(run / "sweep.csv")
    shown = show_rows("sweep", run, rows[rows["fanout"].isin([1, 11, 20])]).splitlines()
    assert len(shown) == 5
    assert max(map(len, shown)) <= 80
    for line, printed in zip(shown[1:4], (["7.20", "6.84"], [], ["2.15", "2.08"]), strict=True):
        assert [line.split()[i] for i in (6, 10) if printed] == printed
        assert "± 0.0" in line


@pytest.mark.parametrize("name", COMMANDS)
def test_the_same_command_trains_nothing_twice(succeed, tmp_path, name):
    succeed(COMMANDS[name])
    before = (tmp_path / "results/iris" / name).read_bytes()
    again = invoke_here(*COMMANDS[name].split())
    assert again.exit_code == 0
    assert "no network to train" in again.stderr
    assert (tmp_path / "results/iris" / name).read_bytes() == before


def sorted_rows(folder):
    """A sweep's rows without times: the file has them as networks were done."""
    rows = read_rows(folder / "sweep.csv", ["seconds"])
    return sorted(rows, key=lambda row: (int(row["repeat"]), int(row["n_hidden"])))


def test_a_run_may_grow(succeed, tmp_path):
    succeed("sweep --dataset iris --hidden 4 --repeats 2 --out part")
    succeed("sweep --dataset iris --hidden 4,8 --repeats 3 --out part")
    succeed(f"{SWEEP} --out whole")
    assert sorted_rows(tmp_path / "part") == sorted_rows(tmp_path / "whole")
    manifest = json.loads((tmp_path / "part/manifest.json").read_text())
    assert len(manifest["commands"]) == 2
    assert len(manifest["machines"]) == 1


@TWO_CORES
def test_processes_side_by_side_give_the_same_rows(process, succeed, tmp_path):
    done = process(f"{SWEEP} --out two --jobs 2 --quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    succeed(f"{SWEEP} --out one")
    assert sorted_rows(tmp_path / "one") == sorted_rows(tmp_path / "two")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("--seed 1", ["seed 1"]),
        ("--bias", ["bias true"]),
        ("--activation relu", ["activation relu"]),
        ("--priors frequencies", ["priors frequencies"]),
        ("--folds 3", ["folds 3"]),
        ("--dataset wine --out results/iris", ["other data"]),
    ],
)
@pytest.mark.parametrize("more", ["", " --dry-run"])
def test_other_settings_are_refused_by_name(succeed, refusal, tmp_path, change, words, more):
    succeed(SWEEP)
    before = {name: (tmp_path / name).read_bytes() for name in files(tmp_path)}
    message = refusal(f"{SWEEP} {change}{more}")
    for word in [*words, "results/iris", "--out"]:
        assert word in message
    assert {name: (tmp_path / name).read_bytes() for name in files(tmp_path)} == before


def test_a_call_from_python_records_the_command_that_continues_it(succeed, blobs, tmp_path):
    blobs.assign(one=1, two=2).to_csv(tmp_path / "blobs.csv", index=False)
    data = {"dataset": "blobs.csv", "label": "kind", "drop": ["one", "two"]}
    settings = {"bias": True, "ridge": [0.5, "loo"], "input_scale": 2, "keep": False}
    Sweep(**data, **settings, hidden=[4, 8], repeats=2).run("run")
    (entry,) = json.loads((tmp_path / "run/manifest.json").read_text())["commands"]
    shown = succeed(entry["command"].removeprefix("elmlda "), "--dry-run")
    assert "8 of 8 rows" in shown


def test_an_ensemble_uses_what_a_sweep_has_kept(succeed, tmp_path):
    succeed(SWEEP)
    shown = succeed("ensemble --dataset iris --hidden 8 --n 3 --repeats 2 --dry-run")
    assert "3 networks" in shown  # of six


def test_compare(succeed, tmp_path):
    shown = succeed(
        "compare --dataset iris,wine --fanout 1 --folds 3 --repeats 2 --ridge 0,loo --out c"
    )
    assert "Next: elmlda report c" in shown
    for name in ("iris", "wine"):
        rows = pd.read_csv(tmp_path / "c" / name / "sweep.csv")
        assert len(rows) == 2 * 3 * 2
        assert set(rows["rule"]) == {"fixed", "loo"}
        assert rows.groupby(["repeat", "rule"])["n_test"].sum().nunique() == 1
    assert not (tmp_path / "c/manifest.json").exists()
    succeed("report c")
    assert (tmp_path / "c/report.html").exists()


@pytest.mark.parametrize(
    "change", ["--validation 20", "--folds 3", "--design independent", "--ridge 1"]
)
def test_designs(succeed, tmp_path, change):
    succeed(f"{SWEEP} {change}")
    rows = pd.read_csv(tmp_path / "results/iris/sweep.csv")
    assert len(rows) == 6 * (3 if "folds" in change else 1)
    assert (rows["n_test"] == (20 if "validation" in change else 50)).all()


def test_report_and_verify(succeed, tmp_path):
    for command in COMMANDS.values():
        succeed(command)
    before = (tmp_path / "results/iris/sweep.csv").read_bytes()
    assert "results/iris" in succeed("report results/iris")
    for name in ("report.md", "report.html", "table1.csv", "fig1.svg", "table2.csv", "fig2.svg"):
        assert (tmp_path / "results/iris" / name).stat().st_size > 0
    shown = succeed("verify results/iris --n 4")
    assert "12 counts" in shown
    assert (tmp_path / "results/iris/sweep.csv").read_bytes() == before


def test_a_report_without_a_run_is_that_of_mnist(succeed, refusal, tmp_path):
    (tmp_path / "results/paper").mkdir(parents=True)
    line = refusal("report")
    assert "elmlda sweep" in line
    assert "results/paper" in line
    succeed(f"{SWEEP} --out results/mnist")
    assert "results/mnist" in succeed("report --format csv")


def test_a_report_of_some_formats(succeed, tmp_path):
    succeed(SWEEP)
    succeed("report results/iris --format csv")
    made = {path.suffix for path in (tmp_path / "results/iris").iterdir() if path.is_file()}
    assert ".csv" in made
    assert not made & {".svg", ".md", ".html", ".png"}


def test_verify_finds_a_wrong_count(succeed, tmp_path):
    succeed(SWEEP)
    path = tmp_path / "results/iris/sweep.csv"
    rows = pd.read_csv(path)
    rows["lda_errors"] += 5
    rows.to_csv(path, index=False)
    result = invoke_here("verify", "results/iris")
    assert result.exit_code == 1
    assert "off by 5" in result.stdout


@pytest.mark.parametrize("command", ["sweep", "compare"])
def test_data_are_loaded_after_the_options_were_checked(command):
    result = invoke_here(*f"{command} --dataset iris --hidden 4 --repeats 1".split())
    assert result.stderr.startswith("Loading iris.\n")
    result = invoke_here(command, "--dataset", "iris", "--cluster", "nosuch.json")
    assert "nosuch.json" in result.stderr
    assert "Loading" not in result.stderr


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("sweep --dataset nosuch", ["'nosuch'", "iris"]),
        ("sweep --dataset nosuch.csv", ["nosuch.csv"]),
        ("sweep --dataset iris --hidden 500", ["500", "--ridge 1e-3", "--hidden 97"]),
        ("sweep --dataset iris --fanout 100", ["400", "--ridge 1e-3", "--fanout 24"]),
        ("ensemble --dataset iris --hidden 500", ["500", "--ridge"]),
        ("sweep --dataset iris --priors 0.5,0.5", ["priors"]),
        ("sweep --dataset iris --input-weights receptive-field", ["receptive"]),
        ("sweep --dataset satimage --folds 3", ["--folds", "test part"]),
        ("sweep --dataset iris --validation 100", ["100"]),
        ("sweep --dataset iris --cluster nosuch.json", ["nosuch.json", "--cluster"]),
        ("sweep --dataset iris --jobs 1000", ["cores", "--jobs"]),
        ("sweep --dataset iris --label x", ["label"]),
        ("compare --dataset iris,nosuch --hidden 4 --repeats 1", ["nosuch"]),
        ("report nosuch", ["nosuch"]),
        ("verify nosuch", ["nosuch"]),
    ],
)
def test_what_cannot_work_is_one_line(refusal, tmp_path, command, words):
    message = refusal(command)
    for word in words:
        assert word in message
    assert files(tmp_path) == []


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("sweep --fanout 0", ["--fanout", "'0'"]),
        ("sweep --fanout 3-1", ["--fanout", "'3-1'"]),
        ("sweep --hidden many", ["--hidden", "'many'"]),
        ("sweep --repeats 0", ["--repeats", "'0'"]),
        ("sweep --repeats 1e3", ["--repeats", "'1e3'"]),
        ("sweep --seed -1", ["--seed"]),
        ("sweep --ridge -1", ["--ridge"]),
        ("sweep --ridge nan", ["--ridge"]),
        ("sweep --weight-range 0", ["--weight-range"]),
        ("sweep --priors 0.5,0.6", ["--priors", "1.1"]),
        ("sweep --activation tanhh", ["--activation", "tanh"]),
        ("sweep --jobs 0", ["--jobs"]),
        ("sweep --fanout 1 --hidden 4", ["--fanout", "--hidden"]),
        ("sweep --folds 3 --validation 4", ["--folds", "--validation"]),
        ("sweep --folds 3 --design independent", ["--folds", "--design"]),
        ("sweep --cluster tcp://nowhere:1 --jobs 2", ["--cluster", "--jobs"]),
        ("ensemble --fanout 1-3", ["--fanout"]),
        ("timing --pairs 0", ["--pairs"]),
        ("compare --folds 1", ["--folds"]),
        ("report run --format pdf", ["--format"]),
        ("report run --open --format csv", ["--open"]),
        ("verify run --n 0", ["--n"]),
        ("train --n 0", ["--n"]),
        ("train --output lad", ["--output"]),
    ],
)
def test_a_wrong_option_is_named(refusal, tmp_path, command, words):
    message = refusal(command, exit_code=2)
    for word in words:
        assert word in message
    assert files(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("manifest.json", b""),
        ("manifest.json", b"[]"),
        ("manifest.json", b'{"schema": 3, "run": {}, "experiments": {}}'),
        ("sweep.csv", b"repeat,n_hidden\n0,x,y\n\xff\n"),
    ],
)
@pytest.mark.parametrize("command", [SWEEP, "report results/iris", "verify results/iris"])
def test_a_run_that_somebody_broke_is_one_line(succeed, refusal, tmp_path, name, content, command):
    succeed(SWEEP)
    path = tmp_path / "results/iris" / name
    path.write_bytes(content)
    assert "results/iris" in refusal(command)
    assert path.read_bytes() == content
