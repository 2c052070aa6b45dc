"""One process at a time writes a folder, and a dead one is no one."""

import os
import signal
import subprocess
import sys

import pytest
from run_folders import make_rows, opened

from elmlda.errors import ElmldaError
from elmlda.runs.folder import read_rows
from elmlda.runs.tables import SWEEP

HOLD = """
import sys, time
sys.path.insert(0, {support!r})
from elmlda.runs.tables import SWEEP
from run_folders import make_rows, opened
with opened(sys.argv[1]) as run:
    run.append(SWEEP, make_rows(0))
    print("open", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def writer(tmp_path):
    """A process that has the folder."""
    support = os.path.dirname(sys.modules["run_folders"].__file__)  # noqa: PTH120
    words = [sys.executable, "-c", HOLD.format(support=support), str(tmp_path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "open\n"
        yield process
        process.kill()


def test_a_second_writer_is_refused(tmp_path, writer):
    before = (tmp_path / "sweep.csv").read_bytes()
    with pytest.raises(ElmldaError) as caught, opened(tmp_path):
        pass
    assert str(tmp_path) in str(caught.value)
    assert (tmp_path / "sweep.csv").read_bytes() == before
    assert len(read_rows(tmp_path, SWEEP)) == 2, "reading needs no lock"


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_writers_folder_is_free(tmp_path, writer, how):
    os.kill(writer.pid, how)
    writer.wait()
    (tmp_path / ".elmlda-half").write_text("of a file")
    (tmp_path / "notes.txt").write_text("mine")
    with opened(tmp_path) as run:
        run.append(SWEEP, make_rows(1))
        assert read_rows(run.folder, SWEEP)["repeat"].tolist() == [0, 0, 1, 1]
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"sweep.csv", "manifest.json", ".lock", "notes.txt"}


def test_a_second_writer_in_the_same_process_is_refused(tmp_path):
    with opened(tmp_path), pytest.raises(ElmldaError), opened(tmp_path):
        pass
    with pytest.raises(KeyboardInterrupt), opened(tmp_path):
        raise KeyboardInterrupt
    with opened(tmp_path):
        pass
