"""Experiments by their commands, on a small data set."""

import pytest
from click.testing import CliRunner

from elmlda.cli import cli


@pytest.fixture(scope="session")
def run_elmlda(clouds):
    def run(command, folder, *options, check=True):
        words = [command, "--data-dir", clouds, "--threads", "1", "--out", folder, *options]
        done = CliRunner().invoke(cli, list(map(str, words)))
        assert not check or done.exit_code == 0, done.output
        return done

    return run


@pytest.fixture
def elmlda(run_elmlda, tmp_path):
    """Run a command on the small data set, in a folder of the test's own."""

    def run(command, *options, out="run", check=True):
        return run_elmlda(command, tmp_path / out, *options, check=check)

    return run
