"""sweep, ensemble, timing, compare, report and verify: what they print, write and refuse."""

import json

import numpy as np
import pandas as pd
import pytest
from command_line import invoke_here, read_rows
from made_runs import simulate_sweep

from elmlda import Sweep
from elmlda.reports.summary import summarise
from elmlda.runs.tables import SWEEP as TABLE

SWEEP = "sweep --dataset iris --hidden 4,8 --repeats 3"
COMMANDS = {
    "sweep.csv": SWEEP,
    "ensemble.csv": "ensemble --dataset iris --hidden 8 --n 3 --repeats 2",
    "timing.csv": "timing --dataset iris --fanout 1-2 --pairs 2",
}


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("name", COMMANDS)
def test_rows_a_table_what_to_do_next_and_nothing_twice(succeed, tmp_path, name):
    shown = succeed(COMMANDS[name])
    assert f"Rows: results/iris/{name}" in shown
    assert "Next: elmlda report results/iris" in shown
    assert max(map(len, shown.splitlines())) <= 80
    before = read_rows(tmp_path / "results/iris" / name)
    assert len(before) > 0
    assert "0 networks to train" in invoke_here(*COMMANDS[name].split()).stderr
    assert read_rows(tmp_path / "results/iris" / name) == before


@pytest.mark.parametrize("command", [*COMMANDS.values(), "compare --dataset iris,wine --repeats 1"])
def test_a_dry_run_writes_nothing(succeed, tmp_path, command):
    shown = succeed(f"{command} --dry-run")
    for fact in ("results/", "iris", "100 training" if "compare" not in command else "wine", "GB"):
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
    for size, group in rows.groupby("n_hidden"):
        (line,) = [line.split() for line in shown.splitlines() if line.split()[1:2] == [str(size)]]
        assert line[0] == f"{size / 4:g}"
        assert line[2] == "3"
        assert line[3] == f"{100 * group['pi_errors'].mean() / 50:.2f}"
        assert line[6] == f"{100 * group['lda_errors'].mean() / 50:.2f}"


def test_a_table_beside_the_papers_numbers():
    rows = simulate_sweep(np.random.default_rng(0), fanouts=[1, 11, 20])
    shown = summarise(TABLE, rows, beside_paper=True).splitlines()
    assert max(map(len, shown)) <= 80
    expected = ["7.20", "6.84", "4.9"], [], ["2.15", "2.08", "3.3"]
    for line, printed in zip(shown[-3:], expected, strict=True):
        assert [line.split()[i] for i in (5, 9, 11) if printed] == printed
        assert "± 0.0" in line


def test_small_networks_do_not_stand_beside_the_papers_ensembles(succeed):
    assert "paper" not in succeed("ensemble --hidden 20 --n 2 --repeats 1")


def test_other_ridges_do_not_stand_beside_the_paper():
    rows = [simulate_sweep(np.random.default_rng(0), n=3, fanouts=[1]).assign(ridge=r) for r in (0, 1)]
    assert summarise(TABLE, pd.concat(rows), beside_paper=True).count("7.20") == 1


def test_a_call_from_python_records_the_command_that_continues_it(succeed, blobs, tmp_path):
    blobs.assign(one=1, two=2).to_csv(tmp_path / "blobs.csv", index=False)
    data = {"dataset": "blobs.csv", "label": "kind", "drop": ["one", "two"]}
    settings = {"bias": True, "ridge": [0.5, "loo"], "input_scale": 2, "keep": False}
    Sweep(**data, **settings, hidden=[4, 8], repeats=2).run("run")
    (entry,) = json.loads((tmp_path / "run/manifest.json").read_text())["commands"]
    shown = succeed(entry["command"].removeprefix("elmlda "), "--dry-run")
    assert "8 of 8 rows" in shown


def test_compare(succeed, tmp_path):
    run = "compare --dataset iris,wine --fanout 1 --folds 3 --repeats 2 --ridge 0,loo --out c"
    assert "Next: elmlda report c" in succeed(run)
    for name in ("iris", "wine"):
        rows = pd.read_csv(tmp_path / "c" / name / "sweep.csv")
        assert rows.groupby("rule")["fold"].count().to_dict() == {"fixed": 6, "loo": 6}
    succeed("report c")
    assert (tmp_path / "c/report.html").exists()


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


def test_a_report_without_a_run_is_that_of_mnist_or_of_the_run_that_is_shipped(succeed, refusal):
    assert "elmlda sweep" in refusal("report")
    succeed(f"{SWEEP} --out results/paper")
    first, *others = succeed("report --format csv").splitlines()
    assert "elmlda sweep" in first
    assert "results/paper" in "\n".join(others)
    succeed(f"{SWEEP} --out results/mnist")
    assert "results/paper" not in succeed("report --format csv")


def test_verify_finds_a_wrong_count(succeed, tmp_path):
    succeed(SWEEP)
    path = tmp_path / "results/iris/sweep.csv"
    rows = pd.read_csv(path)
    rows["lda_errors"] += 5
    rows.to_csv(path, index=False)
    result = invoke_here("verify", "results/iris")
    assert result.exit_code == 1
    assert "off by 5" in result.stdout


def test_sizes_without_a_solution_are_told(succeed, tmp_path):
    """Two inputs of 0 and 1: the hidden outputs have rank 4, whatever their number."""
    lines = [f"{i % 2},{i // 2 % 2},{'ab'[i * i % 7 > 2]}" for i in range(60)]
    for name in ("alpha", "beta"):
        (tmp_path / f"{name}.csv").write_text("\n".join(["x,y,kind", *lines, ""]))
    run = "--label kind --hidden 2,10 --repeats 1 --folds 2 --out run"
    assert succeed(f"compare --dataset alpha.csv,beta.csv {run}").count("no solution") == 2
    rows = pd.read_csv(tmp_path / "run/beta/sweep.csv").set_index("n_hidden")["lda_errors"]
    assert rows.loc[2].notna().all()
    assert rows.loc[10].isna().any()
    assert "2 of 4" not in succeed("report run/beta --format md")


@pytest.mark.parametrize("datasets", ["{0}/one.npz", "iris,{0}/one.npz,{0}/two.npz"])
def test_no_absolute_path_is_in_a_manifest(succeed, tmp_path, datasets):
    rng = np.random.default_rng(0)
    for name in ("one", "two"):
        np.savez(tmp_path / f"{name}.npz", x=rng.normal(size=(40, 3)), y=np.arange(40) % 2)
    run = "--hidden 4 --repeats 1 --folds 2 --out run"
    succeed(f"compare --dataset {datasets.format(tmp_path)} {run}")
    manifests = {path.parent.name: path.read_text() for path in tmp_path.rglob("manifest.json")}
    assert "--dataset one.npz" in manifests["one"]
    assert [name for name, text in manifests.items() if str(tmp_path) in text] == []


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("sweep --dataset nosuch", ["'nosuch'", "iris"]),
        ("sweep --dataset nosuch.csv", ["nosuch.csv"]),
        ("sweep --dataset iris --hidden 500", ["500", "--ridge 0.001", "--hidden 97"]),
        ("sweep --dataset iris --fanout 100", ["400", "--ridge 0.001", "--hidden 97"]),
        ("ensemble --dataset iris --hidden 500", ["500", "--ridge"]),
        ("sweep --dataset iris --input-weights receptive-field", ["receptive"]),
        ("sweep --dataset satimage --folds 3", ["--folds", "test part"]),
        ("sweep --dataset iris --validation 100", ["100"]),
        ("sweep --dataset iris --label x", ["label"]),
        ("timing --dataset iris --fanout 1 --jobs 2", ["--jobs"]),
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
        ("sweep --repeats 1e3", ["--repeats", "'1e3'"]),
        ("sweep --priors 0.5,0.6", ["--priors", "0.5,0.6", "sum 1"]),
        ("sweep --fanout 1 --hidden 4", ["--fanout", "--hidden"]),
        ("sweep --cluster nosuch.json", ["nosuch.json", "--cluster"]),
        ("sweep --cluster tcp://nowhere:1 --jobs 2", ["--cluster", "--jobs"]),
        ("timing --ridge loo", ["--ridge", "'loo'"]),
        ("report run --format bmp", ["--format"]),
        ("report run --open --format csv", ["--open"]),
        ("verify run --n 0", ["--n"]),
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
