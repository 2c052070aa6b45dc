"""The installed command as a process, and small data in files.

Nothing here knows the inside of the package: these tests are of what users see.
"""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from command_line import ELMLDA


@pytest.fixture
def run_python(tmp_path):
    """A script as a process, in an empty folder."""

    def run(script, **options):
        path = tmp_path / "script.py"
        path.write_text(script, encoding="utf-8")
        return _run([sys.executable, str(path)], tmp_path, **options)

    return run


@pytest.fixture
def elmlda(tmp_path):
    """`elmlda` with arguments, as a process in an empty folder."""
    return lambda *arguments, **options: _run([ELMLDA, *map(str, arguments)], tmp_path, **options)


def _run(command, folder, **options):
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, **options)


@pytest.fixture
def succeed(elmlda):
    """`elmlda` with arguments that must work; what it prints."""

    def run(*arguments, **options):
        done = elmlda(*arguments, **options)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture
def refusal(elmlda):
    """The one line that `elmlda` has to say against these arguments."""

    def run(*arguments, exit_code=1):
        done = elmlda(*arguments)
        assert done.returncode == exit_code, (done.returncode, done.stderr)
        assert "Traceback" not in done.stderr
        return done.stderr.splitlines()[-1]

    return run


@pytest.fixture
def blobs():
    """Two inputs, two classes that overlap: a table of 60 rows, or as many as asked for."""

    def make(n_rows=60, seed=0):
        rng = np.random.default_rng(seed)
        kinds = np.arange(n_rows) % 2
        width, height = rng.normal(kinds[:, None], 0.7, (n_rows, 2)).T.round(2)
        return pd.DataFrame({"width": width, "height": height, "kind": np.where(kinds, "b", "a")})

    return make
