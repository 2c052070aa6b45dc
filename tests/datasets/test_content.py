"""Files that are no files, and paths that are none: refused in one line by every reader, at once."""

import os
import sys

import numpy as np
import pytest
from damage import within

from elmlda.datasets import load_dataset, read_idx
from elmlda.datasets.images import read_digit
from elmlda.datasets.npz_file import read_npy
from elmlda.datasets.samples import Reading, read_samples
from elmlda.errors import ElmldaError
from elmlda.networks.model_file import read_model

READERS = {
    "a.csv": lambda path: load_dataset(str(path), label="y"),
    "a.npz": lambda path: load_dataset(str(path)),
    "a-idx1-ubyte": read_idx,
    "a.npy": read_npy,
    "a.png": lambda path: read_digit(path, (28, 28)),
    "model.npz": read_model,
    "samples.csv": lambda path: read_samples(path, Reading(3)),
    "samples.png": lambda path: read_samples(path, Reading(784, (28, 28))),
}


@pytest.fixture(params=READERS.items(), ids=READERS)
def reader(request):
    return request.param


def refusal(read, path):
    with within(5), pytest.raises(ElmldaError) as error:
        read(path)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_pipe_is_not_waited_for(reader, tmp_path):
    name, read = reader
    os.mkfifo(tmp_path / name)
    assert ": a pipe or device, expected a" in refusal(read, tmp_path / name)


def test_a_device_is_not_read(reader, tmp_path):
    name, read = reader
    (tmp_path / name).symlink_to("/dev/zero")
    assert ": a pipe or device, expected a" in refusal(read, tmp_path / name)


@pytest.mark.parametrize(
    ("part", "reason"),
    [("\0", "null"), ("x" * 300, "File name too long"), ("y/" * 3000, "File name too long")],
)
def test_what_no_file_can_be_called(reader, tmp_path, part, reason):
    name, read = reader
    assert reason in refusal(read, tmp_path / f"{part}{name}")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_must_not_be_read(reader, tmp_path):
    name, read = reader
    (tmp_path / name).touch(0)
    assert "Permission denied" in refusal(read, tmp_path / name)


@pytest.mark.parametrize("part", ["\0", "x" * 300, "y/" * 3000])
def test_folders_that_can_be_none(tmp_path, part):
    refusal(load_dataset, f"{tmp_path}/{part}")
    refusal(lambda path: load_dataset(data_dir=path), f"{tmp_path}/{part}")


def test_a_home_of_nobody():
    assert "home directory" in refusal(load_dataset, "~nobody-of-this-name/a.npz")


def test_a_pipe_among_four_files(tmp_path):
    os.mkfifo(tmp_path / "train-images-idx3-ubyte")
    for part in ("train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"):
        (tmp_path / part).write_bytes(b"")
    assert "train-images-idx3-ubyte: a pipe or device" in refusal(load_dataset, str(tmp_path))


@pytest.mark.skipif(sys.platform == "darwin", reason="its file system knows UTF-8 only")
def test_a_name_that_is_not_utf_8(reader, tmp_path):
    name, read = reader
    assert "No such file" in refusal(read, tmp_path / f"\udcff{name}")
    np.save(tmp_path / "\udcff.npy", np.arange(3))
    assert read_npy(tmp_path / "\udcff.npy").tolist() == [0, 1, 2]
