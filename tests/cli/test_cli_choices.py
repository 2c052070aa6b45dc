"""elmlda choices and its report, as users meet them."""

import csv
import json
from pathlib import Path

import pytest

from elmlda import Choices

NAMES = {"tanh-1", "tanh-255", "softsign-1", "softsign-255"}
QUIET = "--ridge", 0.01, "--quiet"
PLAN = "--fanout", "1-2", "--repeats", 4, "--ridge", 0.01  # raw pixels of so few samples need one
CONFIG = Path(__file__).parents[2] / "configs/choices.toml"


def read_rows(path):
    with path.open() as file:
        return [
            {name: value for name, value in row.items() if name not in ("seconds", "crc32")}
            for row in csv.DictReader(file)
        ]


@pytest.fixture
def choices(clouds):
    activations = "--activation", "tanh", "--activation", "softsign"
    return "choices", "--data-dir", clouds, *activations, *PLAN


def test_each_combination_is_a_sweep_of_its_own(elmlda, choices, clouds, tmp_path):
    result = elmlda(*choices)
    assert result.returncode == 0, result.stderr
    folder = tmp_path / "results/choices"
    assert {path.name for path in folder.iterdir()} == NAMES
    assert all(f"{name}\n" in result.stdout for name in NAMES)
    for name in NAMES:
        activation, _, divisor = name.partition("-")
        run = json.loads((folder / name / "manifest.json").read_text())["run"]
        assert (run["activation"], run["input_scale"]) == (activation, 1 / int(divisor))
        assert not (folder / name / "posteriors").exists()
    alone = "sweep", "--data-dir", clouds, *PLAN, "--activation", "softsign", "--out", "alone"
    assert elmlda(*alone).returncode == 0
    assert read_rows(tmp_path / "alone/sweep.csv") == read_rows(folder / "softsign-255/sweep.csv")
    assert len({str(read_rows(folder / name / "sweep.csv")) for name in NAMES}) == len(NAMES)


def test_it_goes_on_where_it_stopped(elmlda, choices, tmp_path):
    assert elmlda(*choices, "--repeats", 2, "--divisor", 255, "--quiet").stdout == ""
    folder = tmp_path / "results/choices"
    assert {path.name for path in folder.iterdir()} == {"tanh-255", "softsign-255"}
    few = read_rows(folder / "tanh-255/sweep.csv")
    assert elmlda(*choices, "--quiet").returncode == 0
    assert read_rows(folder / "tanh-255/sweep.csv")[: len(few)] == few
    before = {path: path.read_bytes() for path in folder.rglob("*.csv")}
    assert len(before) == len(NAMES)
    assert elmlda(*choices, "--quiet").returncode == 0
    assert {path: path.read_bytes() for path in folder.rglob("*.csv")} == before


def test_its_report(elmlda, choices, tmp_path):
    """Of the folder by name and, without a name, of everything below results/: the same bytes."""
    assert elmlda(*choices, "--quiet").returncode == 0
    folder = tmp_path / "results/choices"
    result = elmlda("report", "results/choices")
    assert result.stdout.startswith("results/choices: Nothing printed to compare with"), result.stderr
    assert (folder / "report.html").exists()
    names = ("choices.csv", "report.md")
    before = [(folder / name).read_bytes() for name in names]
    rows = read_rows(folder / "choices.csv")
    assert len(rows) == 4 * 3 * 2
    for row in rows:
        errors = [
            int(record[f"{row['method']}_errors"])
            for record in read_rows(folder / row["choice"] / "sweep.csv")
            if record["n_hidden"] == row["n_hidden"]
        ]
        assert float(row["error_percent"]) == pytest.approx(sum(errors) / len(errors) / 2, rel=1e-5)
    assert "results/choices: " in elmlda("report", "--format", "csv", "--format", "md").stdout
    assert [(folder / name).read_bytes() for name in names] == before


def test_the_config_is_the_commands_default(invoke, clouds, tmp_path):
    for out, options in (("a", ("--config", CONFIG)), ("b", ())):
        result = invoke("choices", "--data-dir", clouds, "--out", out, *options, *QUIET)
        assert result.exit_code == 0, result.output
    made = [{p.parent.name: read_rows(p) for p in (tmp_path / out).glob("*/sweep.csv")} for out in "ab"]
    assert made[0] == made[1]
    assert len(made[0]) == 6
    assert all(len(rows) == 90 for rows in made[0].values())


def test_a_dry_run_tells_of_every_combination(invoke, choices, tmp_path):
    result = invoke(*choices, "--dry-run")
    assert result.stdout.count("to be trained  4 networks") == len(NAMES)
    assert not (tmp_path / "results").exists()


def test_from_python(invoke, choices, clouds, tmp_path):
    table = Choices(data_dir=clouds, fanouts="1-2", repeats=4, ridge=0.01, divisors=255).run(
        tmp_path / "python", threads=1
    )
    assert list(dict.fromkeys(table["choice"])) == ["tanh-255", "logistic-255", "softsign-255"]
    assert invoke(*choices, "--threads", 1, "--out", "typed", "--quiet").exit_code == 0
    for name in ("tanh-255", "softsign-255"):
        ours, theirs = (tmp_path / made / name / "sweep.csv" for made in ("python", "typed"))
        assert read_rows(ours) == read_rows(theirs)
        counts = table.loc[table["choice"] == name, "lda_errors"]
        assert list(counts) == [int(row["lda_errors"]) for row in read_rows(theirs)]


def test_what_is_refused(refusal, clouds, choices, invoke):
    small = "choices", "--data-dir", clouds
    assert refusal(*small, "--divisor", "0,255") == "divisor is 0: expected a number above zero."
    assert "'gabor'" in refusal(*small, "--activation", "gabor", exit_code=2)
    assert invoke(*choices, "--quiet").exit_code == 0
    assert "was made with seed 0; this command has seed 1" in refusal(*choices, "--seed", 1, "--quiet")
