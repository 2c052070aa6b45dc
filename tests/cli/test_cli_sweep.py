"""elmlda sweep from outside: what it writes, prints, continues and refuses."""

import csv
import json
import math
import re
import resource
import subprocess
import sys

import pytest

from elmlda import paper
from elmlda.machine import count_cores
from elmlda.networks import train

TIMED = ("seconds", "crc32")
"""Columns that depend on the time that a network took."""
HEAVY = ("numpy", "scipy", "pandas", "matplotlib", "tqdm")
IMPORTED = f"""
import sys
from elmlda.cli import main
try:
    main()
finally:
    print(*[name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)
"""


@pytest.fixture
def small(clouds):
    """Arguments of a sweep that takes a fraction of a second."""
    return "sweep", "--data-dir", clouds, "--fanout", "1-4", "--repeats", "3", "--out", "run"


def rows(folder):
    """Records without their times."""
    with (folder / "sweep.csv").open(encoding="utf-8", newline="") as file:
        return [{k: v for k, v in row.items() if k not in TIMED} for row in csv.DictReader(file)]


def everything(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# Starting up


def test_help_is_there_at_once(elmlda):
    """In time on a core, so that a busy machine does not count."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = elmlda("--help")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert result.returncode == 0
    assert "sweep" in result.stdout
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 0.5


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["sweep", "--help"], ["sweep", "--nope"]]
)
def test_help_imports_nothing_heavy(arguments):
    command = [sys.executable, "-P", "-c", IMPORTED, *arguments]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert result.stderr.splitlines()[-1] == ""


def test_the_check_for_heavy_imports_sees_them(clouds):
    command = [sys.executable, "-P", "-c", IMPORTED, "data", "verify", "--data-dir", str(clouds)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert result.stderr.splitlines()[-1] == "numpy"


# What it writes


def test_a_sweep_as_a_process(elmlda, small, tmp_path):
    result = elmlda(*small)
    assert result.returncode == 0
    lines = result.stdout.splitlines()
    assert lines[-3] == "Records: run/sweep.csv"
    assert lines[-1] == "Next: elmlda report run"
    assert result.stderr.startswith("run: 3 networks to train, 0.")
    assert [line.split()[:2] for line in lines if re.match(r" +\d", line)] == [
        ["1", "3"],
        ["2", "3"],
        ["3", "3"],
        ["4", "3"],
    ]
    records = rows(tmp_path / "run")
    assert [(r["repeat"], r["fanout"], r["n_hidden"]) for r in records] == [
        (str(repeat), str(fanout), str(9 * fanout)) for repeat in range(3) for fanout in range(1, 5)
    ]
    assert {r["n_test"] for r in records} == {"200"}
    assert len({(r["pi_errors"], r["lda_errors"]) for r in records}) > 6


def test_the_manifest_says_how_the_records_were_made(invoke, small, tmp_path):
    invoke(*small, "--seed", "7", "--ridge", "0.5", "--design", "independent")
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text(encoding="utf-8"))
    run = manifest["run"]
    assert (run["dataset"], run["seed"], run["ridge"], run["design"]) == (
        "clouds",
        7,
        0.5,
        "independent",
    )
    assert run["input_scale"] == pytest.approx(1 / 255)
    assert sorted(run["sha256"]) == ["t10k-images", "t10k-labels", "train-images", "train-labels"]
    assert manifest["experiments"]["sweep"] == {"repeats": 3, "n_hidden": [9, 18, 27, 36]}
    (machine,) = manifest["machines"]
    assert {"cpu", "cores", "memory_gb", "blas", "numpy", "scipy", "python"} <= machine.keys()


def test_the_folder_is_named_after_the_data(invoke, small, tmp_path):
    assert invoke(*small[:-2]).exit_code == 0
    assert (tmp_path / "results" / "clouds" / "sweep.csv").exists()


def test_quiet_prints_nothing(elmlda, small, tmp_path):
    result = elmlda(*small, "--quiet")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert len(rows(tmp_path / "run")) == 12


def test_settings_reach_the_networks(invoke, small, tmp_path):
    counts = set()
    for options in (
        [],
        ["--seed", "1"],
        ["--activation", "logistic"],
        ["--weight-range", "3"],
        ["--input-scale", "0.02"],
        ["--ridge", "100"],
        ["--priors", "0.7,0.1,0.1,0.1"],
        ["--design", "independent"],
    ):
        assert invoke(*small, *options, "--out", "-".join(options) or "plain").exit_code == 0
        folder = tmp_path / ("-".join(options) or "plain")
        counts.add(tuple((r["pi_errors"], r["lda_errors"]) for r in rows(folder)))
    assert len(counts) == 8


@pytest.mark.parametrize("options", [["--precision", "double"], ["--chunk", "77"], ["--threads", "1"]])
def test_resources_and_precision_do_not_change_the_counts(invoke, small, tmp_path, options):
    invoke(*small)
    invoke(*small, *options, "--out", "other")
    plain, other = (
        [{**r, "precision": ""} for r in rows(tmp_path / name)] for name in ("run", "other")
    )
    assert plain == other


def test_hidden_sizes_instead_of_fanouts(invoke, clouds, tmp_path):
    result = invoke(
        "sweep", "--data-dir", clouds, "--hidden", "5,9-27:9", "--repeats", "2", "--out", "run"
    )
    assert result.exit_code == 0
    records = rows(tmp_path / "run")
    assert [r["n_hidden"] for r in records[:4]] == ["5", "9", "18", "27"]
    assert [r["fanout"] for r in records[:4]] == ["0.555556", "1", "2", "3"]


def test_whole_fanouts_are_the_same_networks_by_either_name(invoke, small, clouds, tmp_path):
    for design in ("nested", "independent"):
        invoke(*small, "--design", design, "--out", f"{design}-fanout")
        sizes = ["--hidden", "9-36:9", "--repeats", "3", "--design", design]
        invoke("sweep", "--data-dir", clouds, *sizes, "--out", f"{design}-hidden")
        assert rows(tmp_path / f"{design}-fanout") == rows(tmp_path / f"{design}-hidden")


# Going on


def test_the_same_command_again_computes_nothing(invoke, small, tmp_path):
    first = invoke(*small)
    before = everything(tmp_path)
    inode = (tmp_path / "run" / "sweep.csv").stat().st_ino
    again = invoke(*small)
    assert again.stdout == first.stdout
    assert {**everything(tmp_path), tmp_path / "run" / ".lock": b""} == {
        **before,
        tmp_path / "run" / ".lock": b"",
    }
    assert (tmp_path / "run" / "sweep.csv").stat().st_ino == inode


def test_a_run_grows(invoke, small, tmp_path):
    """Repeats, fan-outs in between and above, and what is there stays as it is."""
    invoke(*small, "--out", "whole")
    invoke(*small, "--repeats", "2", "--fanout", "2")
    first = (tmp_path / "run" / "sweep.csv").read_text().splitlines()
    invoke(*small, "--repeats", "2", "--fanout", "1-2,4")
    invoke(*small, "--repeats", "3", "--fanout", "1-4")
    assert rows(tmp_path / "run") == rows(tmp_path / "whole")
    last = (tmp_path / "run" / "sweep.csv").read_text().splitlines()
    assert set(first) <= set(last), "with their times: not computed again"


def test_less_than_is_recorded_is_shown_but_not_lost(invoke, small, tmp_path):
    invoke(*small)
    before = rows(tmp_path / "run")
    result = invoke(*small, "--repeats", "2", "--fanout", "3")
    table = [line.split()[:2] for line in result.stdout.splitlines() if re.match(r" +\d", line)]
    assert table == [["3", "2"]]
    assert rows(tmp_path / "run") == before


def test_a_record_that_was_taken_out_is_computed_again(invoke, small, tmp_path):
    invoke(*small)
    before = rows(tmp_path / "run")
    path = tmp_path / "run" / "sweep.csv"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:3] + lines[5:]))
    invoke(*small)
    assert rows(tmp_path / "run") == before


@pytest.mark.skipif(count_cores() < 2, reason="--jobs 2 needs two cores")
def test_two_jobs_give_what_one_gives(elmlda, invoke, small, tmp_path):
    one = invoke(*small, "--design", "independent", "--threads", "1")
    two = elmlda(*small, "--design", "independent", "--threads", "1", "--jobs", "2", "--out", "two")
    assert (one.exit_code, two.returncode) == (0, 0), two.stderr
    assert rows(tmp_path / "run") == rows(tmp_path / "two")
    assert one.stdout.replace("run/", "two/").replace("report run", "report two") == two.stdout


# Saying what it would do


def test_a_dry_run_writes_nothing(invoke, small, tmp_path):
    result = invoke(*small, "--dry-run")
    assert result.exit_code == 0
    assert "3 networks (nested design)" in result.stdout
    assert re.search(r"recorded +0 of 12 records", result.stdout)
    assert re.search(r"peak memory +0\.\d\d GB", result.stdout)
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_leaves_a_folder_as_it_is(invoke, small, tmp_path, monkeypatch):
    monkeypatch.setattr("elmlda.networks.cost.measure_matmul_speed", lambda *_: 1e11)
    invoke(*small, "--repeats", "2")
    path = tmp_path / "run" / "sweep.csv"
    path.write_bytes(path.read_bytes()[:-5])
    before = everything(tmp_path)
    result = invoke(*small, "--dry-run")
    assert re.search(r"recorded +7 of 12 records", result.stdout)
    assert "2 networks" in result.stdout, "the torn line's and the new repeat's"
    assert everything(tmp_path) == before


def test_a_dry_run_of_what_is_done(invoke, small):
    invoke(*small)
    result = invoke(*small, "--dry-run")
    assert re.search(r"recorded +12 of 12 records", result.stdout)
    assert "to be trained  0 networks" in result.stdout


# The table


def test_a_single_repeat_prints_no_nan(invoke, small):
    result = invoke(*small, "--repeats", "1")
    assert result.exit_code == 0
    assert "nan" not in result.stdout.lower()
    assert "±" not in result.stdout
    assert "paper" not in result.stdout


def test_the_table_is_of_the_records(invoke, small, tmp_path):
    result = invoke(*small)
    line = next(line for line in result.stdout.splitlines() if line.startswith("      2 "))
    mine = [r for r in rows(tmp_path / "run") if r["fanout"] == "2"]
    pi, lda = (sum(int(r[f"{m}_errors"]) for r in mine) / 3 / 2 for m in ("pi", "lda"))
    assert re.match(
        rf" +2 +3 +{pi:.2f} ± *[\d.]+ +{lda:.2f} ± *[\d.]+ +{100 * (pi - lda) / pi:.1f} ±", line
    )


def test_mnist_is_shown_beside_the_paper(invoke):
    """A size that the paper has, and one that it has not."""
    result = invoke("sweep", "--hidden", "50,784", "--repeats", "1", "--out", "run")
    assert result.exit_code == 0
    assert "paper" in result.stdout
    assert "nan" not in result.stdout.lower()
    without, with_paper = [line for line in result.stdout.splitlines() if re.match(r" *\d", line)]
    papers = [f"{paper.PI_ERROR_PERCENT[1]:.2f}", f"{paper.LDA_ERROR_PERCENT[1]:.2f}", "4.9"]
    _, _, _, _, pi, _, lda, _, improvement, *_ = with_paper.split()
    assert [pi, lda, improvement] == papers
    assert len(without.split()) == len(with_paper.split()) - 3


# Refusals


def test_a_refusal_as_a_process(elmlda, small, tmp_path):
    result = elmlda(*small, "--ridge", "-1")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == "Error: ridge is -1.0: expected a number that is not negative.\n"
    assert list(tmp_path.iterdir()) == []


def test_wrong_usage_as_a_process(elmlda):
    result = elmlda("sweep", "--fanout", "x")
    assert (result.returncode, result.stdout) == (2, "")
    assert "Traceback" not in result.stderr
    assert result.stderr.splitlines()[-1].startswith("Error: Invalid value for '--fanout': 'x'")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--fanout", "x"], "neither a number nor a range"),
        (["--fanout", ""], "neither a number nor a range"),
        (["--fanout", "0"], "not an ascending range"),
        (["--fanout", "5-1"], "not an ascending range"),
        (["--fanout", "1-3:0"], "not an ascending range"),
        (["--fanout", "-1"], "neither a number nor a range"),
        (["--fanout", "1.5"], "neither a number nor a range"),
        (["--fanout", "1-99999"], "more than 10,000 numbers"),
        (["--fanout", "1-2", "--hidden", "9"], "--fanout and --hidden exclude each other"),
        (["--hidden", "9,"], "neither a number nor a range"),
        (["--repeats", "0"], "--repeats"),
        (["--repeats", "many"], "--repeats"),
        (["--seed", "-1"], "--seed"),
        (["--activation", "step"], "--activation"),
        (["--design", "nestd"], "--design"),
        (["--precision", "single"], "--precision"),
        (["--ridge", "much"], "--ridge"),
        (["--jobs", "0"], "--jobs"),
        (["--threads", "0"], "--threads"),
        (["--chunk", "0"], "--chunk"),
        (["--fan-out", "1"], "--fan-out"),
        (["extra"], "extra"),
    ],
)
def test_wrong_usage(refusal, clouds, tmp_path, options, words):
    assert words in refusal("sweep", "--data-dir", clouds, *options, exit_code=2)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--priors", "0.5,0.5"], ["2 priors", "4 classes"]),
        (["--priors", "0.2,0.2,0.2,0.2,0.2"], ["5 priors", "4 classes"]),
        (["--priors", "1,1,1,-1"], ["'1,1,1,-1'", "above zero"]),
        (["--priors", "1,1,1,0"], ["above zero"]),
        (["--priors", "1,1,1,nan"], ["above zero"]),
        (["--priors", "equal"], ["'equal'", "uniform, frequencies"]),
        (["--ridge", "-0.5"], ["ridge is -0.5"]),
        (["--ridge", "nan"], ["ridge is nan"]),
        (["--ridge", "inf"], ["ridge is inf"]),
        (["--weight-range", "0"], ["weight range is 0.0"]),
        (["--input-scale", "-1"], ["input scale is -1.0"]),
        (["--fanout", "67"], ["at most 596", "603", "--ridge 1e-3"]),
        (["--hidden", "600"], ["at most --hidden 596"]),
        (["--hidden", "9999999", "--ridge", "1"], ["9,999,999 hidden units need", "GB are free"]),
        (["--jobs", "64", "--threads", "64"], ["--jobs 64 × --threads 64 is more: lower", "cores"]),
        (["--jobs", "64"], ["--jobs 64 × --threads 1", "cores"]),
        (["--data-dir", "nowhere"], ["nowhere: No such file or directory", "four IDX files"]),
        (["--data-dir", "."], ["no train-images, train-labels, t10k-images and t10k-labels"]),
        (["--config", "nowhere.toml"], ["nowhere.toml: cannot be read: No such file"]),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_done(refusal, clouds, tmp_path, options, words):
    message = refusal("sweep", "--data-dir", clouds, *options)
    assert all(word in message for word in words), message
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("dry", [[], ["--dry-run"]])
def test_an_unknown_data_set(refusal, dry):
    assert refusal("sweep", "--dataset", "mnits", *dry).startswith(
        "unknown data set 'mnits'. Did you mean 'mnist'? Known: mnist, "
    )


def test_broken_data(refusal, clouds, tmp_path):
    broken = tmp_path / "broken"
    broken.mkdir()
    for path in clouds.iterdir():
        (broken / path.name).write_bytes(path.read_bytes())
    cut = broken / "t10k-images-idx3-ubyte"
    cut.write_bytes(cut.read_bytes()[:-1])
    assert refusal("sweep", "--data-dir", broken, "--fanout", "1") == (
        f"{cut}: 1,815 bytes, expected 1,816 for 200 × 3 × 3 images: the file is cut off."
    )


@pytest.mark.parametrize("dry", [[], ["--dry-run"]])
def test_a_folder_of_another_configuration(refusal, invoke, small, tmp_path, dry):
    invoke(*small, "--seed", "1")
    before = everything(tmp_path / "run")
    assert refusal(*small, "--seed", "2", *dry) == (
        "run was made with seed 1; this command has seed 2. "
        "Use --seed 1 to continue it, or another --out for a new run."
    )
    assert refusal(*small, "--seed", "1", "--ridge", "1", "--activation", "relu", *dry).startswith(
        "run was made with activation tanh, ridge 0.0; this command has activation relu, ridge 1.0."
    )
    after = everything(tmp_path / "run")
    assert {path.name: after[path] for path in after if path.name != ".lock"} == {
        path.name: before[path] for path in before if path.name != ".lock"
    }


def test_a_folder_of_other_data(refusal, invoke, small, clouds, tmp_path):
    invoke(*small)
    other = tmp_path / "clouds"
    other.mkdir()
    for path in clouds.iterdir():
        (other / path.name).write_bytes(path.read_bytes())
    images = other / "train-images-idx3-ubyte"
    images.write_bytes(images.read_bytes()[:-1] + b"\7")
    assert "other data (train-images differ)" in refusal(*small, "--data-dir", other)


@pytest.mark.parametrize("folder", ["a file", "a file/run", "/proc/elmlda"])
def test_a_folder_that_cannot_be_written(refusal, small, tmp_path, folder):
    (tmp_path / "a file").touch()
    message = refusal(*small, "--out", folder)
    assert message.startswith(f"{folder}: cannot be written: ")
    assert "--out" in message


def test_damaged_records(refusal, invoke, small, tmp_path):
    invoke(*small)
    path = tmp_path / "run" / "sweep.csv"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines[:3], "0,3,27,x,1,1,200,0.1,mixed\n", *lines[4:]]))
    assert refusal(*small).startswith(
        "run/sweep.csv, line 4: '0,3,27,x,1,1,200,0.1,mixed' is not a record"
    )
    path.write_text("".join([*lines, lines[1]]))
    message = refusal(*small)
    assert message.startswith("run/sweep.csv, lines 2 and ")
    assert "Remove both lines" in message


def test_a_network_that_cannot_be_solved_is_said_in_one_line(invoke, clouds):
    """Weights so small that the hidden units are copies of the inputs."""
    result = invoke(
        "sweep", "--data-dir", clouds, "--weight-range", "1e-7", "--fanout", "3", "--repeats", "1",
        "--out", "run", "--quiet",
    )  # fmt: skip
    assert result.exit_code == 1
    assert result.stderr.startswith(
        "Error: run: LDA has no solution at 27 hidden units in 1 of 1 repeats. "
    )
    assert len(result.stderr.splitlines()) == 1


# Slow


@pytest.mark.slow
def test_mnist_agrees_with_table_1(elmlda, tmp_path):
    """Every mean of 30 repeats within three of its standard errors of the paper's."""
    result = elmlda("sweep", "--fanout", "1-3", "--repeats", "30", "--out", "run")
    assert result.returncode == 0, result.stderr
    print(result.stdout)
    records = rows(tmp_path / "run")
    for fanout in (1, 2, 3):
        for method, printed in (("pi", paper.PI_ERROR_PERCENT), ("lda", paper.LDA_ERROR_PERCENT)):
            percents = [int(r[f"{method}_errors"]) / 100 for r in records if r["fanout"] == str(fanout)]
            assert len(percents) == 30
            mean = math.fsum(percents) / 30
            variance = math.fsum((percent - mean) ** 2 for percent in percents) / 29
            assert abs(mean - printed[fanout]) < 3 * math.sqrt(variance / 30), (fanout, method, mean)


def test_the_same_counts_with_one_and_two_threads_of_blas(invoke, tmp_path):
    """On MNIST, since threads share out only what is large enough."""
    counts = []
    for threads in (1, 2):
        options = "--repeats", 1, "--threads", threads, "--out", f"run-{threads}"
        assert invoke("sweep", "--hidden", 300, "--quiet", *options).exit_code == 0
        counts.append(rows(tmp_path / f"run-{threads}"))
    assert len(counts[0]) == 1
    assert counts[0] == counts[1]


def test_memory_that_runs_out_is_said_in_one_line(refusal, clouds, monkeypatch):
    def fail(*arguments):
        raise MemoryError("Unable to allocate 9.00 GiB")

    monkeypatch.setattr(train, "accumulate_statistics", fail)
    message = refusal("sweep", "--data-dir", clouds, "--fanout", "1", "--repeats", "1", "--quiet")
    assert message.startswith("the memory is not enough: Unable to allocate 9.00 GiB. Use fewer hidden")


def test_a_bias_makes_another_run(invoke, small, tmp_path):
    *words, _ = small
    for name, more in (("without", []), ("with", ["--bias"])):
        assert invoke(*words, name, *more).exit_code == 0
    without, with_bias = (rows(tmp_path / name) for name in ("without", "with"))
    assert without != with_bias
    assert [row["n_hidden"] for row in without] == [row["n_hidden"] for row in with_bias]
    assert json.loads((tmp_path / "with" / "manifest.json").read_text())["run"]["bias"] is True
    assert "bias" in invoke(*words, "with").stderr
    assert rows(tmp_path / "with") == with_bias
