"""The examples run, print what their last comment says, and show what they are meant to show."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from processes import unmeasured

EXAMPLES = Path(__file__).parents[2] / "scripts" / "examples"
NUMBER = r"\d+(?:\.\d+)?"


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """A function that returns an example's numbers line by line, once its output is the recorded one."""

    def run(name):
        path = EXAMPLES / f"{name}.py"
        command = [sys.executable, "-W", "error", str(path)]
        result = subprocess.run(
            command, capture_output=True, text=True, timeout=300,
            cwd=tmp_path_factory.mktemp(name), env=unmeasured(),
        )  # fmt: skip
        assert (result.returncode, result.stderr) == (0, "")
        recorded = re.sub(
            "^# ?", "", path.read_text("utf-8").partition("# Output:\n")[2], flags=re.MULTILINE
        )
        assert re.sub(NUMBER, "", result.stdout).split() == re.sub(NUMBER, "", recorded).split()
        numbers = [
            [float(number) for number in re.findall(NUMBER, line)]
            for line in result.stdout.splitlines()
        ]
        old = [float(number) for number in re.findall(NUMBER, recorded)]
        assert [number for line in numbers for number in line] == pytest.approx(old, rel=0.3)
        return numbers

    return run


def test_head(printed):
    (ridge,), (logistic, logistic_loss), (head, loss), (estimate,) = printed("head")
    assert head >= max(ridge, logistic) - 0.5
    assert loss < logistic_loss
    assert estimate < 2 * loss


def test_table(printed):
    _, *peers, (right, loss) = printed("table")
    assert all(right > peer - 1 and loss < peer_loss for peer, peer_loss in peers)


def test_streaming(printed):
    (_, early), (*_, late), same = printed("streaming")
    assert late > early > 90
    assert same == []


def test_ensemble(printed):
    _, one, *_, twenty = printed("ensemble")
    assert twenty[1] < one[1]
    assert twenty[2] < one[2]


def test_calibration(printed):
    (_, paper), (_, sure, right), _, _, _, (tempered,), (_, less_sure, share), *_ = printed(
        "calibration"
    )
    assert tempered < 0.5 * paper
    assert less_sure - share < 10 < sure - right


def test_mislabelled(printed):
    *_, (_, n_found, n_wrong) = printed("mislabelled")
    assert n_found > 0.98 * n_wrong


def test_every_example_is_tested():
    tested = set(re.findall(r'printed\(\s*"(\w+)"\s*\)', Path(__file__).read_text(encoding="utf-8")))
    assert tested == {path.stem for path in EXAMPLES.glob("*.py")}


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_examples_are_short(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) < 40
