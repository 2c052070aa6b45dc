"""The power fails and files lose their ends: a run goes on to the same result, or refuses to."""

import re
import shutil

import pytest
from faults import build, finish_here, results, the_error

pytestmark = pytest.mark.faults
SWEEP = "sweep", "--hidden", "40,90", "--repeats", "3"
ENSEMBLE = "ensemble", "--n", "2", "--fanout", "10", "--repeats", "2"
TIMING = "timing", "--fanout", "1", "--repeats", "2"
CALIBRATION = "calibration", "--fanout", "10", "--n", "1,2", "--repeats", "1"
COMPARE = "compare", "--dataset", "iris", "--hidden", "3,4", "--folds", "2", "--repeats", "2"
PLANS = {
    "sweep.csv": SWEEP,
    **dict.fromkeys(("ensemble.csv", "mistakes.csv", "pairs.csv"), ENSEMBLE),
    "timing.csv": TIMING,
    "calibration.csv": CALIBRATION,
}
"""File -> the plan that writes it."""


@pytest.fixture(scope="module")
def whole(clouds, tmp_path_factory):
    """A folder with a run of every kind."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    for plan in (SWEEP, ENSEMBLE, TIMING, CALIBRATION):
        assert finish_here(build(clouds, folder, plan)).exit_code == 0
    return folder


@pytest.fixture
def lose(whole, tmp_path):
    """A copy of the folder whose files have lost their last n bytes."""

    def cut(n, names):
        folder = tmp_path / "run"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(whole, folder)
        for name in names:
            content = (folder / name).read_bytes()
            (folder / name).write_bytes(content[: max(0, len(content) - n)])
        return folder

    return cut


def two_records(path):
    """Their length, line breaks included."""
    return sum(sorted(len(line) + 1 for line in path.read_bytes().splitlines()[1:])[-2:])


@pytest.mark.parametrize("name", PLANS)
def test_records(clouds, whole, lose, name):
    step = 10 if name == "calibration.csv" else 1  # its lines are long
    for n in range(1, two_records(whole / name) + 1, step):
        folder = lose(n, [name])
        result = finish_here(build(clouds, folder, PLANS[name]))
        assert (result.exit_code, result.output) == (0, ""), n
        assert results(folder) == results(whole), n


def test_records_of_a_comparison(tmp_path):
    out, whole = tmp_path / "out", tmp_path / "whole"
    words = ["elmlda", *COMPARE, "--quiet", "--out", str(out)]
    finish_here(words)
    shutil.copytree(out / "iris", whole)
    path = out / "iris" / "compare.csv"
    content = path.read_bytes()
    for n in range(1, two_records(path) + 1):
        path.write_bytes(content[:-n])
        result = finish_here(words)
        assert (result.exit_code, result.output) == (0, ""), n
        assert results(out / "iris") == results(whole), n


def test_every_file_of_records_at_once(clouds, whole, lose):
    """And what was kept of networks, which are trained again where they are needed."""
    kept = [f"posteriors/{path.name}" for path in (whole / "posteriors").iterdir()]
    for n in range(1, two_records(whole / "sweep.csv") + 1, 3):
        folder = lose(n, [*PLANS, ".lock", *kept])
        for plan in (SWEEP, ENSEMBLE):
            result = finish_here(build(clouds, folder, plan))
            assert (result.exit_code, result.stdout) == (0, ""), n
            assert "Error" not in result.stderr
        for name in ("sweep.csv", "ensemble.csv", "mistakes.csv"):
            assert results(folder)[0][name] == results(whole)[0][name], (n, name)


def test_posteriors(clouds, whole, lose):
    """A file that is cut off is not used, and a warning says so."""
    name = "posteriors/3-90.npz"  # one that the ensemble has trained: the sweep's are rounded otherwise
    for n in range(1, 301):
        folder = lose(n, [name, "ensemble.csv"])
        result = finish_here(build(clouds, folder, ENSEMBLE))
        assert (result.exit_code, result.stdout) == (0, ""), n
        assert re.fullmatch(rf"(Warning: .*{name}: not used, .*\n)+", result.stderr), n
        assert results(folder) == results(whole), n


def test_the_manifest(clouds, whole, lose):
    """It is refused, and no record is touched; without its last line break it is still whole."""
    n_bytes = (whole / "manifest.json").stat().st_size
    for n in (*range(1, 201), *range(201, n_bytes, 10), n_bytes):
        folder = lose(n, ["manifest.json", "sweep.csv"])
        before = (folder / "sweep.csv").read_bytes()
        result = finish_here(build(clouds, folder, SWEEP))
        if n == 1:
            assert results(folder) == results(whole)
            continue
        message = the_error(result.exit_code, result.stdout, result.stderr)
        assert message.startswith(f"{folder / 'manifest.json'}: not a manifest that elmlda wrote (")
        assert message.endswith("Restore it, or use another --out for a new run.")
        assert (folder / "sweep.csv").read_bytes() == before


@pytest.mark.parametrize("tail", [b"\0" * 100, b"\0" * 5000, b"0,4.44444,40,1"])
def test_a_tail_that_never_was_written(clouds, whole, lose, tail):
    """Some file systems know of a file's length before they have its content."""
    folder = lose(70, ["sweep.csv"])
    with (folder / "sweep.csv").open("ab") as file:
        file.write(tail)
    result = finish_here(build(clouds, folder, SWEEP))
    assert (result.exit_code, result.output) == (0, "")
    assert results(folder) == results(whole)
