"""A small data set in files, and the command line as a process and in this one."""

import subprocess

import pytest
from command_line import ELMLDA, invoke_here


@pytest.fixture
def elmlda(tmp_path):
    """`elmlda` with arguments, as a process in an empty folder."""

    def run(*arguments):
        command = [ELMLDA, *map(str, arguments)]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=900)

    return run


@pytest.fixture
def invoke(tmp_path, monkeypatch):
    """`elmlda` with arguments, in this process and an empty folder."""
    monkeypatch.chdir(tmp_path)
    return invoke_here


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
