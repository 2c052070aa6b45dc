"""Whatever a file holds: it is read and right, or refused. Never a traceback, never a hang."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from damage import REFUSALS, damage, damaged, read_or_refuse, within
from hypothesis import HealthCheck, given, seed, settings
from targets import TARGETS, Target

from elmlda.errors import ElmldaError

CRASHERS = Path(__file__).parent / "crashers"
FUZZER = Path(__file__).parents[1] / "support" / "fuzzer.py"
N_PARTS = 2
"""Of the long run of each target, for two cores."""
SHARES = [
    pytest.param(0, id="few"),
    *(pytest.param(part, id=f"part{part}", marks=pytest.mark.fuzz) for part in range(1, N_PARTS + 1)),
]


def count_inputs(target: Target, part: int) -> int:
    return target.n_inputs // N_PARTS if part else max(10, target.n_inputs // 100)


@pytest.mark.parametrize("part", SHARES)
@pytest.mark.parametrize("name", TARGETS)
def test_what_hypothesis_makes_of_it(name, part, tmp_path, record_property):
    target, n_seen = TARGETS[name], 0

    @seed(part)
    @settings(
        max_examples=count_inputs(target, part),
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(damaged(*target.seeds()))
    def check(content):
        nonlocal n_seen
        n_seen += 1
        target.check(content, tmp_path)

    check()
    record_property("inputs", n_seen)


@pytest.mark.parametrize("name", TARGETS)
def test_what_is_sound_is_read(name, tmp_path):
    """Else refusing everything would do."""
    REFUSALS.clear()
    TARGETS[name].check(TARGETS[name].seeds()[0], tmp_path)
    assert not REFUSALS


@pytest.mark.parametrize("path", sorted(CRASHERS.iterdir()), ids=lambda path: path.name)
def test_what_once_went_wrong(path, tmp_path):
    """Inputs that were a traceback, a hang or wrong once; their names begin with a target's."""
    TARGETS[path.name.partition(".")[0]].check(path.read_bytes(), tmp_path)


@pytest.mark.fuzz
@pytest.mark.parametrize("name", [name for name, target in TARGETS.items() if target.n_guided])
def test_what_atheris_makes_of_it(name, tmp_path, record_property):
    """Led by coverage, in a process of its own, with a fixed seed."""
    pytest.importorskip("atheris", reason="atheris is not installed: pip install atheris")
    n_runs = TARGETS[name].n_guided
    command = [sys.executable, str(FUZZER), name, f"-runs={n_runs}", "-seed=1", str(tmp_path)]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=1800,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert f"Done {n_runs} runs" in done.stderr, done.stderr[-3000:]
    record_property("inputs", n_runs)


def test_there_are_a_hundred_thousand():
    assert sum(target.n_inputs + target.n_guided for target in TARGETS.values()) >= 100_000


# The contract itself: what breaks it is found


def test_damage_changes_content():
    changed = [
        damage(b"0,1,784,711\n" * 5, random.Random(i)) != b"0,1,784,711\n" * 5 for i in range(200)
    ]
    assert sum(changed) > 150


@pytest.mark.parametrize("fault", [ValueError("x"), ElmldaError(""), ElmldaError("x" * 5000)])
def test_a_traceback_or_a_message_without_use_is_found(fault):
    def read():
        raise fault

    with pytest.raises((ValueError, AssertionError)):
        read_or_refuse(read)


def test_a_hang_is_found():
    def read():
        while True:
            pass

    with pytest.raises(AssertionError, match="took more than"), within(0.05):
        read()
