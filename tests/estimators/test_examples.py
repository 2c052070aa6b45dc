"""The examples run, and show what they are meant to show."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from processes import unmeasured

EXAMPLES = Path(__file__).parents[2] / "scripts" / "examples"


def run(name):
    command = [sys.executable, "-W", "error", str(EXAMPLES / name)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, env=unmeasured())
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout.splitlines()


def numbers(line):
    return [float(number) for number in re.findall(r"\d+\.\d+", line)]


def test_pipeline():
    unscaled, scaled, without_bias, circles = (numbers(line)[0] for line in run("pipeline.py"))
    assert scaled > unscaled + 3
    assert circles > 95 > 60 > without_bias


def test_grid_search():
    best, right = run("grid_search.py")
    assert "'fanout': 10" in best
    assert numbers(right)[0] > 98


def test_streaming():
    after_900, after_1500, same = run("streaming.py")
    assert min(numbers(after_900) + numbers(after_1500)) > 93
    assert same.endswith("True")


def test_ensemble():
    one, ten = run("ensemble.py")
    assert numbers(ten) > numbers(one)


def test_compare():
    _, *rows = run("compare.py")
    errors = {row.split("(")[0]: numbers(row)[0] for row in rows}
    assert errors["ELMEnsembleClassifier"] < errors["MLPClassifier"] < errors["LogisticRegression"]


def test_calibration():
    papers, one, calibrated, ten = (numbers(line)[1] for line in run("calibration.py"))
    assert one < 0.5 * papers
    assert one < 1.02 * calibrated
    assert ten < one


def test_every_example_is_tested():
    tested = set(re.findall(r'run\("(\w+\.py)"\)', Path(__file__).read_text(encoding="utf-8")))
    assert tested == {path.name for path in EXAMPLES.glob("*.py")}


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_examples_are_short(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 45
