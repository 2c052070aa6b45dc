"""A full disk: the file is named, nothing is torn, and the run goes on when there is room."""

import shutil
import subprocess
import sys

import pytest
from command_line import ELMLDA, read_raw_manifest
from faults import (
    ENSEMBLE,
    SWEEP,
    build,
    finish,
    finish_here,
    n_rows,
    refused,
    results,
    with_room,
)

pytestmark = pytest.mark.faults
PAGE = 4096


@pytest.fixture
def disk(tmp_path):
    """A disk of half a megabyte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("only root can mount a disk; no_room_* try the same with a limit")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def fill(disk, room):
    """Leave that many bytes."""
    filler = disk / "filler"
    filler.unlink(missing_ok=True)
    with filler.open("wb", buffering=0) as file:
        try:
            while file.write(b"\0" * PAGE):
                pass
        except OSError:
            file.truncate(file.tell() - room)


def assert_whole(folder):
    """Whatever there is, is whole."""
    for path in folder.glob("*.csv"):
        lines = path.read_bytes().split(b"\n")
        assert lines[-1] == b""
        assert len({line.count(b",") for line in lines[:-1]}) <= 1
    if (folder / "manifest.json").exists():
        read_raw_manifest(folder)
    assert not list(folder.rglob(".elmlda-*"))


@pytest.mark.parametrize("plan", [SWEEP, ENSEMBLE], ids=lambda plan: plan[0])
def test_a_full_disk(command, undisturbed, disk, plan):
    """With more and more room: first for the lock alone, then for some posteriors and records."""
    folder, named = disk / "run", set()
    for n_pages in (0, 1, 2, 3, 4, 6):
        fill(disk, n_pages * PAGE)
        message = refused(command(folder, plan))
        assert message.startswith(f"{folder}")
        assert ": cannot be written: No space left on device. What was recorded before is " in message
        assert message.endswith("run the same command again, or use another --out.")
        named.add(message.partition(": ")[0].removeprefix(f"{folder}").partition("-")[0])
        assert_whole(folder)
    assert len(named) >= 2, named
    (disk / "filler").unlink()
    finish(command(folder, plan))
    assert results(folder) == results(undisturbed[plan])


def test_a_disk_that_is_full_in_the_middle_of_a_record(command, disk, tmp_path):
    """A page each for the lock and the manifest, and one for records: the next is torn, and cut off."""
    plan = "sweep", "--hidden", "40-120:40", "--repeats", "40", "--no-posteriors"
    folder, whole = disk / "run", tmp_path / "whole"
    finish_here(command(whole, plan))
    fill(disk, 3 * PAGE)
    assert refused(command(folder, plan)).startswith(f"{folder / 'sweep.csv'}: cannot be written: ")
    assert PAGE - 500 < (folder / "sweep.csv").stat().st_size <= PAGE
    assert_whole(folder)
    (disk / "filler").unlink()
    finish(command(folder, plan))
    assert results(folder) == results(whole)


def test_no_room_for_records(command, tmp_path):
    plan = "sweep", "--hidden", "40-200:40", "--repeats", "20", "--no-posteriors"
    folder, whole, n_bytes = tmp_path / "run", tmp_path / "whole", 3000
    message = refused(with_room(n_bytes, command(folder, plan)))
    assert message.startswith(f"{folder / 'sweep.csv'}: cannot be written: ")
    assert "run the same command again" in message
    content = (folder / "sweep.csv").read_bytes()
    assert content.endswith(b"\n")
    assert n_bytes / 2 < len(content) <= n_bytes
    assert n_rows(folder) % 5 == 0, "whole networks"
    for each in (folder, whole):
        finish_here(command(each, plan))
    assert (folder / "sweep.csv").read_bytes().startswith(content)
    assert results(folder) == results(whole)


def test_no_room_for_posteriors(command, undisturbed, tmp_path):
    folder = tmp_path / "run"
    message = refused(with_room(2000, command(folder, SWEEP)))
    assert message.startswith(f"{folder / 'posteriors'}/0-120.npz: cannot be written: ")
    assert list((folder / "posteriors").iterdir()) == []
    finish(command(folder, SWEEP))
    assert results(folder) == results(undisturbed[SWEEP])


@pytest.mark.parametrize("n_bytes", [0, 100])
def test_no_room_for_the_manifest(command, tmp_path, n_bytes):
    folder = tmp_path / "run"
    message = refused(with_room(n_bytes, command(folder, SWEEP)))
    assert message.startswith(f"{folder}")
    assert "cannot be written: File too large" in message
    assert [path.name for path in folder.iterdir()] == [".lock"]


@pytest.mark.parametrize("file", ["ensemble.csv", "mistakes.csv"])
def test_no_room_for_records_of_the_ensemble(command, undisturbed, tmp_path, file):
    """From networks that are kept: only the records lack room."""
    folder = tmp_path / "run"
    finish(command(folder, ENSEMBLE, "--repeats", "3"))
    n_bytes = (folder / file).stat().st_size
    others = {path.name: path.stat().st_size for path in folder.glob("*.csv")}
    # Beyond this, nothing grows: whichever is longer is refused.
    message = refused(with_room(max(n_bytes, 3500), command(folder, ENSEMBLE)))
    assert message.startswith(f"{folder}/")
    assert ": cannot be written: File too large. " in message
    assert {path.name: path.stat().st_size for path in folder.glob("*.csv")} == others
    finish(command(folder, ENSEMBLE))
    assert results(folder) == results(undisturbed[ENSEMBLE])


@pytest.fixture(scope="module")
def made(undisturbed, tmp_path_factory):
    """A run with its report."""
    folder = tmp_path_factory.mktemp("reported") / "run"
    shutil.copytree(undisturbed[SWEEP], folder)
    assert finish_here([ELMLDA, "report", str(folder)]).exit_code == 0
    return folder


@pytest.fixture
def reported(made, tmp_path):
    """The same, one's own."""
    return shutil.copytree(made, tmp_path / "run")


@pytest.mark.parametrize(
    ("options", "n_bytes", "file"),
    [
        (["--format", "csv"], 100, "table1.csv"),
        (["--format", "figures"], 1000, "error_rates.png"),
        (["--format", "md"], 100, "report.md"),
        (["--format", "html"], 10_000, "report.html"),
    ],
)
def test_no_room_for_the_report(reported, options, n_bytes, file):
    """What was there before is still there, and the records are untouched."""
    before = {path: path.read_bytes() for path in reported.rglob("*") if path.is_file()}
    message = refused(with_room(n_bytes, [ELMLDA, "report", str(reported), *options]))
    assert ": cannot be written: File too large. The records are unchanged: " in message
    assert message.startswith(f"{reported}/")
    assert message.partition(": ")[0].endswith(file.rpartition(".")[2])
    assert {path: path.read_bytes() for path in reported.rglob("*") if path.is_file()} == before


def test_no_room_for_a_model(clouds, tmp_path):
    path = tmp_path / "model.npz"
    words = [ELMLDA, "train", "--data-dir", str(clouds), "--out", str(path), "--quiet"]
    expected = f"{path}: cannot be written: File too large. No model was written: "
    assert refused(with_room(500, words)).startswith(expected)
    assert list(tmp_path.iterdir()) == []
    finish(words)
    content = path.read_bytes()
    assert refused(with_room(500, [*words, "--force"])).startswith(expected)
    assert path.read_bytes() == content


# The output


@pytest.fixture(scope="module")
def model(clouds, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.npz"
    finish_here([ELMLDA, "train", "--data-dir", str(clouds), "--out", str(path)])
    return path


@pytest.fixture(params=["version", "help", "data list", "sweep", "predict", "predict --csv", "report"])
def printing(request, clouds, model, tmp_path):
    """Commands that print."""
    sweep = [*build(clouds, tmp_path / "run", SWEEP)]
    sweep.remove("--quiet")
    if request.param == "report":
        finish_here(sweep)
    images = str(clouds / "t10k-images-idx3-ubyte")
    return {
        "version": [ELMLDA, "--version"],
        "help": [ELMLDA, "sweep", "--help"],
        "data list": [ELMLDA, "data", "list"],
        "sweep": sweep,
        "predict": [ELMLDA, "predict", str(model), images],
        "predict --csv": [ELMLDA, "predict", "--csv", str(model), images],
        "report": [ELMLDA, "report", "--format", "csv", str(tmp_path / "run")],
    }[request.param]


def output_to(path, words):
    """Its exit code and standard error."""
    redirected = ["env", "-u", "PYTHONUNBUFFERED", "sh", "-c", f'exec "$@" > {path}', "sh", *words]
    result = subprocess.run(redirected, capture_output=True, text=True, timeout=300)
    return result.returncode, result.stderr


def test_a_full_output(printing, undisturbed, tmp_path):
    code, stderr = output_to("/dev/full", printing)
    *bar, line = stderr.splitlines()
    assert (code, line) == (
        1,
        "Error: the output cannot be written: No space left on device. Make room, or send it "
        "elsewhere; what was recorded is safe.",
    )
    assert "Traceback" not in "".join(bar)
    if "--data-dir" not in printing:
        assert bar == []
    else:
        assert results(tmp_path / "run") == results(undisturbed[SWEEP])


def test_full_outputs_both(command, undisturbed, tmp_path):
    """With nowhere to say it, the exit code says it."""
    words = command(tmp_path / "run", SWEEP)
    words.remove("--quiet")
    code, _ = output_to("/dev/full 2> /dev/full", words)
    assert code != 0
    finish_here(command(tmp_path / "run", SWEEP))
    assert results(tmp_path / "run") == results(undisturbed[SWEEP])


def test_a_closed_pipe_is_silent(printing):
    script = "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1:]).returncode)"
    quiet = [word for word in printing if word != "--quiet"]
    result = subprocess.run(
        ["bash", "-c", '"$@" | head -c 1', "bash", sys.executable, "-c", script, *quiet],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0
    assert len(result.stdout) == 1
    assert "Traceback" not in result.stderr
    assert "Error" not in result.stderr
    assert "Exception" not in result.stderr
