"""The command line in an empty folder, and small data in files."""

import subprocess

import numpy as np
import pandas as pd
import pytest
from command_line import ELMLDA, invoke_here


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def succeed():
    """A command that must work; what it prints."""

    def run(command, *more):
        result = invoke_here(*command.split(), *more)
        assert result.exit_code == 0, result.stderr
        return result.stdout

    return run


@pytest.fixture
def refusal():
    """The one line that a command says against its arguments."""

    def run(command, *more, exit_code=1):
        result = invoke_here(*command.split(), *more)
        assert result.exit_code == exit_code, (result.exit_code, result.output)
        assert result.stdout == ""
        *others, line = result.stderr.splitlines()
        assert exit_code == 2 or others == []
        assert line.startswith("Error: ")
        return line

    return run


@pytest.fixture
def process(tmp_path):
    """The installed command."""

    def run(command, **options):
        words = [ELMLDA, *command.split()]
        return subprocess.run(words, capture_output=True, text=True, timeout=120, **options)

    return run


@pytest.fixture
def blobs(tmp_path):
    """blobs.csv: two inputs, two classes that hardly overlap, 60 rows."""
    rng = np.random.default_rng(0)
    kinds = np.arange(60) % 2
    width, height = rng.normal(3 * kinds[:, None], 0.7, (60, 2)).T.round(2)
    table = pd.DataFrame({"width": width, "height": height, "kind": np.where(kinds, "b", "a")})
    table.to_csv(tmp_path / "blobs.csv", index=False)
    return table
