"""Full disks, torn lines, two writers, folders that vanish: one line, and nothing is lost."""

import os
import resource
import signal

import pytest
from processes import started, wait_until

pytestmark = pytest.mark.faults


def limit_files(n_bytes):
    """As on a full disk: no file of the process can grow beyond that (Python ignores SIGXFSZ)."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))


@pytest.mark.parametrize(("plan", "n_bytes"), [("sweep", 100), ("sweep", 6_000), ("ensemble", 700)])
def test_a_full_disk(faults, undisturbed, tmp_path, plan, n_bytes):
    folder = tmp_path / "run"
    words = faults.build(plan, folder)
    message = faults.refused(words, preexec_fn=limit_files(n_bytes))
    assert str(folder) in message
    assert "cannot be written: " in message
    table = folder / f"{plan}.csv"
    assert not table.exists() or table.read_bytes()[-1:] in (b"", b"\n")
    n_before = faults.n_steps(folder)
    assert "cannot be written: " in faults.refused(words, preexec_fn=limit_files(n_bytes))
    assert faults.n_steps(folder) >= n_before
    faults.finish(words)
    assert faults.results(folder) == undisturbed[plan]


def test_output_that_cannot_be_written(faults, tmp_path):
    words = [word for word in faults.build("sweep", tmp_path / "run") if word != "--quiet"]
    with open("/dev/full", "w") as full, started(words, stdout=full) as process:  # noqa: PTH123
        _, stderr = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "Traceback" not in stderr
    assert stderr.splitlines()[-1].startswith("Error: the output cannot be written")
    assert faults.n_steps(tmp_path / "run") == 120


def test_two_writers(faults, undisturbed, tmp_path):
    words = faults.build("sweep", tmp_path / "run")
    with started(words) as process:
        wait_until(lambda: faults.n_steps(tmp_path / "run") or process.poll() is not None)
        process.send_signal(signal.SIGSTOP)  # so that it is there for certain
        message = faults.refused(words)
        process.send_signal(signal.SIGCONT)
        _, stderr = process.communicate(timeout=120)
    assert "another elmlda" in message
    assert "--out" in message
    assert (process.returncode, stderr) == (0, "")
    assert faults.results(tmp_path / "run") == undisturbed["sweep"]


@pytest.mark.parametrize("plan", ["sweep", "ensemble"])
def test_a_folder_that_vanishes(faults, undisturbed, tmp_path, plan):
    folder = tmp_path / "run"
    words = faults.build(plan, folder)
    with started(words) as process:
        wait_until(lambda: faults.n_steps(folder) >= 3 or process.poll() is not None)
        folder.rename(tmp_path / "away")
        stdout, stderr = process.communicate(timeout=60)
    message = faults.the_error(process.returncode, stdout, stderr)
    assert str(folder) in message
    (tmp_path / "away").rename(folder)
    faults.finish(words)
    assert faults.results(folder) == undisturbed[plan]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written(faults, tmp_path):
    tmp_path.chmod(0o500)
    assert "Permission denied" in faults.refused(faults.build("sweep", tmp_path / "run"))
    tmp_path.chmod(0o700)


@pytest.mark.parametrize("place", ["file", "file/run", "run/sweep.csv"])
def test_a_place_that_is_taken(faults, tmp_path, place):
    (tmp_path / "file").write_text("mine")
    if "csv" in place:
        (tmp_path / place).mkdir(parents=True)
    out = tmp_path / place.removesuffix("/sweep.csv")
    assert str(out) in faults.refused(faults.build("sweep", out))
    assert (tmp_path / "file").read_text() == "mine"
