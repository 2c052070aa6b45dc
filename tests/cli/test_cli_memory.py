"""Memory: what --dry-run predicts, what a process takes, and what is refused for want of it."""

import re
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from command_line import ELMLDA, TWO_CORES
from processes import alive_in_session, unmeasured

from elmlda.networks import cost

MOST_BYTES = 4.5e9
WITH_PROC = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peaks are in /proc")


@pytest.fixture
def predict(invoke, monkeypatch):
    """What --dry-run says of memory, in bytes."""
    monkeypatch.setattr(cost, "measure_matmul_speed", lambda *_: 1e11)

    def run(*arguments):
        said = invoke(*arguments, "--dry-run").stdout
        return 1e9 * float(re.search(r"^peak memory +(\d+\.\d\d) GB$", said, re.MULTILINE)[1])

    return run


def measure(folder, *arguments):
    """The most memory that a command and its workers take, files that they share counted once.

    Not getrusage's maxrss: on Linux a child starts with the peak of the process it came from.
    """
    command = [ELMLDA, *arguments, "--quiet"]
    peaks: dict[int, tuple[int, int]] = {}
    with subprocess.Popen(command, cwd=folder, env=unmeasured(), start_new_session=True) as process:
        while process.poll() is None:
            for pid in alive_in_session(process.pid):
                try:
                    status = Path(f"/proc/{pid}/status").read_text()
                except (FileNotFoundError, ProcessLookupError):
                    continue
                found = [re.search(rf"{name}:\s*(\d+) kB", status) for name in ("VmHWM", "RssFile")]
                if all(found):
                    peaks[pid] = tuple(1024 * int(one[1]) for one in found)
            time.sleep(0.01)
    assert process.returncode == 0
    files = [shared for _, shared in peaks.values()]
    return sum(peak for peak, _ in peaks.values()) - sum(files) + max(files)


@WITH_PROC
@pytest.mark.parametrize(
    "arguments",
    [
        # The same memory again for the second network: what the first has freed stays or goes.
        "sweep --fanout 1 --repeats 2",
        *(
            pytest.param(arguments, marks=pytest.mark.slow)
            for arguments in (
                "sweep --fanout 1-2 --repeats 1 --chunk 1000 --precision double",
                "sweep --fanout 1-3 --repeats 1 --chunk 10000",
                "ensemble --fanout 1 --n 2 --repeats 1",
                "timing --fanout 1 --repeats 1 --chunk 10000 --precision double",
                "sweep --fanout 1-5 --repeats 2 --chunk 1000",
                "sweep --fanout 5 --repeats 2",
                "sweep --fanout 5 --repeats 2 --chunk 10000",
                "sweep --fanout 1-5 --repeats 1 --precision double --chunk 10000",
                "ensemble --fanout 5 --n 2 --repeats 1 --precision double",
                "timing --fanout 5 --repeats 1 --chunk 1000",
                "sweep --fanout 10 --repeats 1 --chunk 1000",
                "sweep --fanout 1-10 --repeats 1 --chunk 10000",
                "sweep --fanout 1-10 --repeats 1 --precision double",
                "sweep --fanout 20 --repeats 1",
                "ensemble --dataset iris --fanout 10 --n 300 --repeats 1",
            )
        ),
        *(
            pytest.param(arguments, marks=[pytest.mark.slow, TWO_CORES])
            for arguments in (
                "sweep --fanout 1 --repeats 4 --jobs 2",
                "sweep --fanout 5 --repeats 4 --jobs 2",
            )
        ),
    ],
)
def test_memory_is_predicted_within_15_percent(predict, tmp_path, arguments):
    # One thread: while other tests run beside it, threads wait for each other.
    words = [*arguments.split(), "--threads", "1", "--out", "run"]
    predicted = predict(*words)
    measured = measure(tmp_path, *words)
    print(f"{measured / 1e9:.3f} GB measured, {predicted / 1e9:.2f} GB predicted")
    assert measured == pytest.approx(predicted, rel=0.15)
    assert predicted < MOST_BYTES


@WITH_PROC
def test_memory_of_categories_is_predicted(predict, tmp_path):
    """A small file of words becomes many inputs, which are standardised."""
    rng = np.random.default_rng(0)
    cells = np.char.mod("v%d", rng.integers(0, 90, (9000, 10)))
    labels = np.char.mod("%d", np.arange(9000) % 3)
    lines = [",".join("abcdefghijy"), *map(",".join, np.column_stack([cells, labels]).tolist())]
    (tmp_path / "words.csv").write_text("\n".join(lines))
    arguments = "sweep --dataset words.csv --label y --hidden 50 --repeats 1"
    test_memory_is_predicted_within_15_percent(predict, tmp_path, arguments)


def test_the_papers_table_2_fits_as_the_sweep_does(predict):
    """LDA-ELM by its own factorisation takes what PI-ELM takes."""
    timing, sweep = (predict(command, "--fanout", "20") for command in ("timing", "sweep"))
    assert timing == sweep < MOST_BYTES


@pytest.fixture
def free(monkeypatch):
    """So much memory is there for this process, with what it has already."""

    def set_free(n_bytes):
        monkeypatch.setattr(cost, "available_memory", lambda: n_bytes)
        monkeypatch.setattr(cost, "held_memory", lambda: 0)

    return set_free


def test_what_this_process_holds_already_counts_as_free(refusal, monkeypatch):
    monkeypatch.setattr(cost, "available_memory", lambda: 10**9)
    monkeypatch.setattr(cost, "held_memory", lambda: 5 * 10**8)
    assert ", 1.50 GB are free." in refusal("sweep", "--fanout", "20")


@pytest.mark.parametrize("command", ["sweep", "ensemble", "timing", "train"])
def test_the_largest_fanout_that_fits_is_said(refusal, predict, free, tmp_path, command):
    free(10**9)
    message = refusal(command, "--fanout", "20")
    assert message.startswith("15,680 hidden units need 3.")
    fanout = int(re.search(r"1\.00 GB are free. At most --fanout (\d+) would fit.$", message)[1])
    assert list(tmp_path.iterdir()) == []
    if command != "train":  # which has no --dry-run
        assert predict(command, "--fanout", fanout) <= 1e9
    assert f"At most --fanout {fanout} " in refusal(command, "--fanout", fanout + 1)


def test_everything_that_would_help_is_said(refusal, predict, free):
    free(650 * 10**6)
    options = "sweep", "--fanout", "1-3", "--jobs", "2", "--threads", "1", "--chunk", "20000"
    message = refusal(*options)
    pattern = (
        r"2,352 hidden units need \d\.\d\d GB of memory for 2 networks at a time, 0\.65 GB are free. "
    )
    assert re.match(pattern, message)
    fanout, jobs, chunk = re.search(
        r"At most --fanout (\d+) or --jobs (\d+) or --chunk (\d+) would fit.$", message
    ).groups()
    for advice in (("--fanout", f"1-{fanout}"), ("--jobs", jobs), ("--chunk", chunk)):
        assert predict(*options, *advice) <= 0.65e9


def test_hidden_units_that_fit_are_said(refusal, predict, free):
    free(10**9)
    message = refusal("sweep", "--hidden", "1000,20000")
    n_hidden = int(re.search(r"At most --hidden (\d+) would fit.$", message)[1])
    assert predict("sweep", "--hidden", f"1000,{n_hidden}") == pytest.approx(1e9, rel=0.01)
    assert f"At most --hidden {n_hidden} " in refusal("sweep", "--hidden", f"1000,{n_hidden + 1}")


def test_a_system_that_does_not_say_refuses_nothing(predict, monkeypatch):
    monkeypatch.setattr(cost, "available_memory", lambda: None)
    assert predict("sweep", "--fanout", "40") > 10e9


def test_nothing_fits(refusal, free):
    free(10**8)
    message = refusal("sweep", "--fanout", "1")
    assert message.endswith("0.10 GB are free. Nothing smaller would fit: free some memory first.")


@pytest.mark.parametrize(
    "options",
    [["--output", "pi"], ["--n", "20", "--fanout", "3"], ["--ridge", "auto", "--fanout", "8"]],
)
def test_train_counts_what_it_keeps_and_the_choice_of_the_ridge(refusal, free, tmp_path, options):
    """PI-ELM too; 20 networks that are kept; the eigenvectors of a ridge's choice."""
    free(410 * 10**6 if "--n" in options else 8 * 10**8)
    assert "would fit" in refusal("train", *options)
    assert list(tmp_path.iterdir()) == []


def test_compare_counts_its_data_and_the_choice_of_the_ridge(refusal, free):
    free(2 * 10**8)
    assert "At most --hidden " in refusal("compare", "--dataset", "abalone", "--hidden", "3001")
    message = refusal("compare", "--dataset", "mnist", "--fanout", "1-3")
    assert message.startswith(
        "2,352 hidden units need 0.25 GB of memory, 0.20 GB are free. At most --fanout 1 "
    )
