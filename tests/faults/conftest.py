import pytest
from faults import ENSEMBLE, SWEEP, build, finish


@pytest.fixture(scope="session")
def command(clouds):
    """The command line of a plan into a folder."""
    return lambda folder, plan, *more: build(clouds, folder, plan, *more)


@pytest.fixture(scope="session")
def undisturbed(command, tmp_path_factory):
    """The folder of each plan's undisturbed run."""
    folders = {}
    for plan in (SWEEP, ENSEMBLE):
        folders[plan] = tmp_path_factory.mktemp("undisturbed") / "run"
        finish(command(folders[plan], plan))
    return folders
