"""A small data set in files, and the command line as a process and in this one."""

import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from elmlda.cli import cli

ELMLDA = Path(sys.executable).with_name("elmlda")


@pytest.fixture(scope="session")
def clouds(make_dataset, tmp_path_factory):
    """The folder of four IDX files: 600 and 200 images of 3 × 3 in 4 classes."""
    folder = tmp_path_factory.mktemp("data") / "clouds"
    folder.mkdir()
    dataset = make_dataset(600, 200, 9, 4, np.uint8)
    for part, split in (("train", dataset.train), ("t10k", dataset.test)):
        for kind, values in (("images", split.inputs.reshape(-1, 3, 3)), ("labels", split.labels)):
            header = struct.pack(f">2xBB{values.ndim}I", 0x08, values.ndim, *values.shape)
            path = folder / f"{part}-{kind}-idx{values.ndim}-ubyte"
            path.write_bytes(header + values.astype(np.uint8).tobytes())
    return folder


@pytest.fixture
def elmlda(tmp_path):
    """`elmlda` with arguments, as a process in an empty folder."""

    def run(*arguments):
        command = [str(ELMLDA), *map(str, arguments)]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=900)

    return run


@pytest.fixture
def invoke(tmp_path, monkeypatch):
    """`elmlda` with arguments, in this process and an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        result = CliRunner().invoke(cli, list(map(str, arguments)))
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return run


@pytest.fixture
def refusal(invoke):
    """The one line that `elmlda` has to say against these arguments."""

    def run(*arguments, exit_code=1):
        result = invoke(*arguments)
        assert result.exit_code == exit_code, result.output
        assert result.stdout == ""
        lines = result.stderr.splitlines()
        if exit_code == 2:
            assert lines[0].startswith("Usage: ")
            assert lines[1].startswith("Try ")
            lines = lines[3:]
        assert len(lines) == 1
        assert lines[0].startswith("Error: ")
        return lines[0].removeprefix("Error: ")

    return run
