"""A data file that is replaced during a run: no record is of other data than the manifest says."""

import os
import shutil
import sys
from dataclasses import replace

import numpy as np
import pytest
from command_line import ELMLDA, TWO_CORES
from faults import finish, n_rows, refused, results, started, the_error
from processes import wait_until

from elmlda.errors import ElmldaError
from elmlda.experiments.tune import load_validation_data
from elmlda.networks.jobs import load_job_data, load_job_source
from elmlda.settings import DatasetRef

pytestmark = pytest.mark.faults
REPLACING = """
import os, sys
from elmlda.cli import main
from elmlda.execute.local import Local
mine, other, open_processes = sys.argv.pop(1), sys.argv.pop(1), Local.open
def replace_and_open(self):
    os.replace(other, mine)
    return open_processes(self)
Local.open = replace_and_open
main()
"""
"""The command, with its data file replaced once it has loaded it, before its workers start."""
SMALL = "--hidden", "20,40", "--repeats", "30"
COMMANDS = {
    "sweep": ("sweep", *SMALL),
    "split-rows": ("sweep", *SMALL, "--split-rows", "2"),
    "ensemble": ("ensemble", "--fanout", "4", "--n", "3", "--repeats", "2"),
    "compare": ("compare", *SMALL, "--rule", "none"),
    "tune": ("tune", "--hidden", "30", "--ridge", "1,2", "--repeats", "3"),
    "train": ("train", "--n", "3"),
}


@pytest.fixture
def files(tmp_path, make_dataset):
    """A data file, and another that may take its place."""
    paths = tmp_path / "mine.npz", tmp_path / "other.npz"
    for seed, path in enumerate(paths):
        dataset = make_dataset(seed=seed)
        np.savez(
            path,
            x_train=dataset.train.inputs,
            y_train=dataset.train.labels,
            x_test=dataset.test.inputs,
            y_test=dataset.test.labels,
        )
    return paths


def words(data, folder, plan, *more):
    command, *options = plan
    into = "--dataset", data, "--out", folder, "--quiet"
    return [str(word) for word in (ELMLDA, command, *into, *options, *more)]


@TWO_CORES
@pytest.mark.parametrize("plan", COMMANDS.values(), ids=COMMANDS)
def test_replaced_before_the_workers_load_it(files, tmp_path, plan):
    command = words(files[0], tmp_path / "run", plan, "--jobs", "2")
    message = refused([sys.executable, "-P", "-c", REPLACING, *map(str, files), *command[1:]])
    assert message.startswith("the data set mine is not the one that the run started with: ")
    assert not any(path.read_text().count("\n") > 1 for path in tmp_path.glob("run/**/*.csv"))


@TWO_CORES
@pytest.mark.parametrize("put", [os.replace, shutil.copy], ids=["at-once", "in-place"])
def test_replaced_between_networks(files, tmp_path, put):
    """A worker keeps what it has loaded; one that loads only now refuses what it finds.

    A copy overwrites the file in place, so that a worker may read it half written.
    """
    plan = "sweep", "--hidden", "40,80", "--repeats", "300", "--no-posteriors"
    folder, undisturbed = tmp_path / "run", tmp_path / "undisturbed"
    finish(words(files[0], undisturbed, plan))
    with started(words(files[0], folder, plan, "--jobs", "2")) as process:
        wait_until(lambda: n_rows(folder) > 4)
        put(files[1], files[0])
        assert n_rows(folder) < 300, "too late: nothing was tested"
        stdout, stderr = process.communicate(timeout=120)
    if process.returncode:
        message = the_error(1, stdout, stderr)
        is_half_written = put is shutil.copy and message.startswith(str(files[0]))
        assert is_half_written or "is not the one that the run started with" in message
    found, expected = (results(place)[0]["sweep.csv"] for place in (folder, undisturbed))
    assert len(found) == len(expected) or process.returncode == 1
    assert all(row in expected for row in found)


# One process, asked as a job asks


@pytest.mark.parametrize(
    "load", [load_job_data, load_job_source, lambda ref: load_validation_data(ref, 50)]
)
def test_a_process_keeps_what_its_jobs_expect(files, load):
    mine, other = (DatasetRef(str(path)) for path in files)
    first, second = load(mine), load(other)
    files[0].write_bytes(files[1].read_bytes())
    expects_first = mine.expecting(first.checksums)
    with pytest.raises(ElmldaError, match=r"the run started with: other content in x_train, y"):
        load(expects_first)
    expects_second = replace(expects_first, checksums=other.expecting(second.checksums).checksums)
    found = load(expects_second)
    assert found.checksums == second.checksums
    files[0].unlink()
    assert load(expects_second) is found
