"""elmlda timing: real runs on a tiny data set, stopped, killed, continued and refused."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from elmlda.core.solve import LostPrecisionError, solve_pi
from elmlda.experiments import timing
from elmlda.experiments.timing import TimingRecord, order_methods
from elmlda.machine import describe_machine
from elmlda.networks import cost, jobs, train
from elmlda.networks.cost import Problem, Speeds, count_operations

OLD_HEADER = (
    "repeat,fanout,n_hidden,method,seconds,projection,activation,gram,factorisation,solve,lda,test"
)
HEADER = OLD_HEADER.replace("method", "method,turn") + ",crc32"
N_INPUTS = 9
ELMLDA = Path(sys.executable).with_name("elmlda")
CONFIGS = Path(__file__).parents[2] / "configs"


@pytest.fixture
def arguments(clouds):
    return ("timing", "--data-dir", clouds, "--out", "run", "--threads", 1)


@pytest.fixture
def trained(monkeypatch):
    """Return the list of networks that are trained from now on."""
    networks = []

    def note(job, methods, *, direct):
        networks.append((job.key, methods))
        return jobs.run_job(job, methods, direct=direct)

    monkeypatch.setattr(timing, "run_job", note)
    return networks


def read_lines(tmp_path):
    return (tmp_path / "run" / TimingRecord.FILE).read_text().splitlines()


def keys(lines):
    return [(int(r), int(n), method) for r, _, n, method, *_ in (line.split(",") for line in lines)]


def expected_keys(repeats, fanouts):
    return [
        (r, N_INPUTS * f, method)
        for r in range(repeats)
        for f in fanouts
        for method in order_methods(r, f)
    ]


def test_every_method_is_recorded_and_tabulated(invoke, arguments, tmp_path):
    result = invoke(*arguments, "--fanout", "1-2,11", "--repeats", 2)
    header, *lines = read_lines(tmp_path)
    assert header == HEADER
    assert keys(lines) == expected_keys(2, (1, 2, 11))
    for line in lines:
        turn, seconds, *parts = map(float, line.split(",")[4:-1])
        assert turn in (1, 2, 3)
        assert sum(parts) <= seconds * (1 + 1e-4)  # records have six digits
    assert [line.split(",")[4] for line in lines] == ["1", "2", "3"] * 6
    table = result.stdout.splitlines()
    start = next(i for i, line in enumerate(table) if line.startswith("Fan-out  Repeats"))
    assert all(method in "".join(table[: start + 1]) for method in ("PI-ELM", "LDA-ELM", "both in"))
    rows = table[start + 1 : start + 4]
    assert [row.split()[:2] for row in rows] == [["1", "2"], ["2", "2"], ["11", "2"]]
    assert all("±" in row for row in rows)
    assert "paper" not in result.stdout
    assert "nan" not in result.stdout.lower()
    assert table[-3] == "Records: run/timing.csv"


@pytest.mark.parametrize("quiet", [(), ("--quiet",)])
def test_a_second_attempt_in_double_is_told(invoke, arguments, monkeypatch, quiet):
    def fail_in_float32(statistics, *further):
        if statistics.gram.dtype == np.float32:
            raise LostPrecisionError("not enough")
        return solve_pi(statistics, *further)

    monkeypatch.setattr(train, "solve_pi", fail_in_float32)
    monkeypatch.setattr("elmlda.experiments.plan.CHEAP_IN_DOUBLE", 0)
    result = invoke(*arguments, "--fanout", 2, "--repeats", 1, *quiet)
    notice = "repeat 0: float32 was not enough, computed in double"
    assert (notice in result.stderr) == (not quiet)
    assert "float32" not in result.stdout


def test_quiet_prints_nothing(invoke, arguments, tmp_path):
    result = invoke(*arguments, "--fanout", 1, "--repeats", 1, "--quiet")
    assert result.output == ""
    assert len(read_lines(tmp_path)) == 1 + 3


def test_dry_run_counts_what_is_missing_and_leaves_no_trace(invoke, arguments, tmp_path, trained):
    result = invoke(*arguments, "--fanout", "1-2", "--repeats", 2, "--dry-run")
    assert "recorded       0 of 12 records" in result.stdout
    assert "to be trained  12 networks (independent design), in 1 × 1 threads" in result.stdout
    assert not (tmp_path / "run").exists()
    assert trained == []
    invoke(*arguments, "--fanout", "1-3", "--repeats", 1)
    result = invoke(*arguments, "--fanout", "1-2", "--repeats", 2, "--dry-run")
    assert "recorded       6 of 12 records" in result.stdout
    assert "to be trained  6 networks" in result.stdout


def test_dry_run_counts_the_time_of_three_networks_at_each_fanout(invoke, arguments, monkeypatch):
    monkeypatch.setattr(cost, "measure_matmul_speed", lambda *_: 1e6)
    said = invoke(*arguments, "--fanout", "1-2", "--repeats", 2, "--dry-run").stdout
    networks = [Problem(600, 200, N_INPUTS, 4, (N_INPUTS * fanout,)) for fanout in (1, 2)]
    once = sum(count_operations(network).seconds(Speeds(1e6, 1e6, 1e6)) for network in networks)
    assert f"time           about {1.15 * 2 * 3 * once:.0f} s, " in said


def test_a_finished_run_trains_nothing_and_a_grown_one_only_what_is_new(
    invoke, arguments, tmp_path, trained
):
    invoke(*arguments, "--fanout", 1, "--repeats", 1)
    first = read_lines(tmp_path)
    trained.clear()
    again = invoke(*arguments, "--fanout", 1, "--repeats", 1)
    assert trained == []
    assert read_lines(tmp_path) == first
    assert "Records:" in again.stdout
    invoke(*arguments, "--fanout", "1-2", "--repeats", 2)
    grown = read_lines(tmp_path)
    assert len(trained) == 1 + 9  # a warm-up, and no (0, 1)
    assert set(first) <= set(grown)
    assert keys(grown[1:]) == expected_keys(2, (1, 2))
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["experiments"]["timing"] == {
        "threads": 1, "chunk": 4000, "repeats": 2, "n_hidden": [9, 18],
        "cpus": [describe_machine()["cpu"]],
    }  # fmt: skip


def test_after_a_kill_only_the_missing_networks_are_trained(invoke, arguments, tmp_path, trained):
    command = (*arguments, "--fanout", "1-2", "--repeats", 30)
    path = tmp_path / "run" / TimingRecord.FILE
    process = subprocess.Popen([ELMLDA, *map(str, command), "--quiet"], cwd=tmp_path)
    deadline = time.monotonic() + 60
    try:
        while not path.exists() or path.read_bytes().count(b"\n") < 8:
            assert process.poll() is None, "it ended before it could be killed"
            assert time.monotonic() < deadline, "no records within a minute"
            time.sleep(0.001)
    finally:
        process.kill()
    assert process.wait() == -signal.SIGKILL
    with path.open("a") as file:
        file.write("29,1,9,pi,1,0.0")  # as if it was killed while it wrote
    before = path.read_text().splitlines()[:-1]
    n_recorded = len(before) - 1
    assert 7 <= n_recorded < 180
    invoke(*command)
    assert len(trained) == 1 + 180 - n_recorded
    after = read_lines(tmp_path)
    assert set(before) <= set(after)
    assert keys(after[1:]) == expected_keys(30, (1, 2))


@pytest.mark.parametrize(
    ("other", "was", "now"),
    [(("--threads", 2), "threads 1", "threads 2"), (("--chunk", 99), "chunk 4000", "chunk 99")],
)
@pytest.mark.parametrize("dry_run", [(), ("--dry-run",)])
def test_timings_of_other_threads_and_chunks_do_not_mix(
    invoke, refusal, arguments, tmp_path, other, was, now, dry_run
):
    invoke(*arguments, "--fanout", 1, "--repeats", 1)
    before = read_lines(tmp_path)
    message = refusal(*arguments, "--fanout", 1, "--repeats", 2, *other, *dry_run)
    assert message.startswith(f"run was made with {was}; this command has {now}. ")
    assert read_lines(tmp_path) == before


@pytest.mark.parametrize("dry_run", [(), ("--dry-run",)])
def test_timings_of_an_older_version_are_refused_in_a_line_that_says_what_to_do(
    invoke, refusal, arguments, tmp_path, dry_run
):
    """Those had no turns, and another LDA-ELM."""
    assert invoke("sweep", *arguments[1:], "--fanout", 1, "--repeats", 1).exit_code == 0
    old = f"{OLD_HEADER}\n0,1,9,pi,1,{','.join(['0.1'] * 5)},0,0.1\n"
    path = tmp_path / "run" / TimingRecord.FILE
    path.write_text(old)
    message = refusal(*arguments, "--fanout", 1, "--repeats", 1, *dry_run)
    assert message.startswith(f"run/timing.csv: the first line is '{OLD_HEADER}', expected ")
    assert "remove it to have it computed again" in message
    assert path.read_text() == old
    path.unlink()
    assert invoke(*arguments, "--fanout", 1, "--repeats", 1, *dry_run).exit_code == 0


def test_it_shares_the_folder_of_a_sweep(invoke, arguments, tmp_path):
    options = ("--fanout", "1-2", "--repeats", 1)
    assert invoke("sweep", *arguments[1:], *options, "--chunk", 99).exit_code == 0
    assert invoke(*arguments, *options).exit_code == 0
    assert keys(read_lines(tmp_path)[1:]) == expected_keys(1, (1, 2))
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert set(manifest["experiments"]) == {"sweep", "timing"}


def test_networks_are_never_side_by_side(refusal, arguments):
    message = refusal(*arguments, "--jobs", 2, exit_code=2)
    assert re.match(r"No such option:? '?--jobs", message)  # by click's version


@pytest.mark.parametrize(("config", "n_networks"), [("paper.toml", 20 * 3 * 3), ("quick.toml", 2 * 3)])
def test_configurations_have_a_section_for_it(invoke, arguments, config, n_networks):
    result = invoke(*arguments, "--config", CONFIGS / config, "--dry-run")
    assert f"to be trained  {n_networks} networks" in result.stdout
