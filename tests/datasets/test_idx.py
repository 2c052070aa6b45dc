"""IDX files, and the data set that a folder of four of them is."""

import gzip
import hashlib

import numpy as np
import pytest
from idx_files import idx_bytes
from refusals import refusal_of

from elmlda.datasets.arrays import parse_idx, read_content
from elmlda.datasets.catalogue import CATALOGUE, load_dataset

PIXELS = np.arange(9 * 8).reshape(9, 2, 4)
SMALL = {
    "train-images-idx3-ubyte": idx_bytes(PIXELS[:6]),
    "train-labels-idx1-ubyte": idx_bytes([3, 5, 9, 9, 5, 3]),
    "t10k-images-idx3-ubyte": idx_bytes(PIXELS[6:]),
    "t10k-labels-idx1-ubyte": idx_bytes([9, 3, 3]),
}


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    for name, content in SMALL.items():
        (folder / name).write_bytes(content)
    return folder


# One file


@pytest.mark.parametrize("shape", [(5,), (2, 3), (2, 3, 2), (0,), (1, 1, 1, 2)])
def test_every_rank(tmp_path, shape):
    values = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
    read = parse_idx(idx_bytes(values), tmp_path)
    np.testing.assert_array_equal(read, values)
    assert (read.shape, read.dtype) == (shape, np.uint8)


GOOD = idx_bytes(PIXELS)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not an IDX file of bytes: it starts with nothing, expected"),
        (b"PK\3\4" + bytes(20), "not an IDX file of bytes: it starts with 50 4b 03 04"),
        (b"\0\0\x07\1" + bytes(8), "not an IDX file of bytes: it starts with 00 00 07 01"),
        (b"\0\0\x08\0" + bytes(8), "not an IDX file of bytes: it starts with 00 00 08 00"),
        (GOOD[:9], "not an IDX file of bytes: it starts with 00 00 08 03"),
        (GOOD[:-1], "87 bytes, expected 88 for 9 × 2 × 4 images: the file is cut off."),
        (GOOD + b"x", "89 bytes, expected 88 for 9 × 2 × 4 images: the file is too long."),
        (idx_bytes([1, 2])[:-1], "9 bytes, expected 10 for 2 values: the file is cut off."),
    ],
)
def test_what_is_no_idx_file(tmp_path, content, message):
    assert refusal_of(parse_idx, content, tmp_path).startswith(f"{tmp_path}: {message}")


def test_gzip_is_seen_from_the_content(tmp_path):
    path = tmp_path / "x"
    packed = gzip.compress(GOOD)
    path.write_bytes(packed)
    assert read_content(path) == GOOD
    for broken in (packed[:-9], packed[:12] + b"\xff" * 9 + packed[21:], packed + b"x"):
        path.write_bytes(broken)
        assert refusal_of(read_content, path).startswith(f"{path}: broken gzip data, or cut off")


# A folder


@pytest.mark.parametrize("pattern", ["{}", "{}.gz", "dotted", "short"])
def test_a_folder_of_four_files(folder, pattern):
    for name, content in SMALL.items():
        (folder / name).unlink()
        other = {"dotted": name.replace("-idx", ".idx"), "short": name.removesuffix("-ubyte")}
        path = folder / other.get(pattern, pattern.format(name))
        path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    data = load_dataset(folder)
    assert data.name == "mine"
    np.testing.assert_array_equal(data.train.inputs, PIXELS[:6].reshape(6, 8))
    np.testing.assert_array_equal(data.test.inputs, PIXELS[6:].reshape(3, 8))
    assert data.train.labels.tolist() == [0, 1, 2, 2, 1, 0]
    assert data.test.labels.tolist() == [2, 0, 0]
    assert data.classes == ("3", "5", "9")
    assert (data.image_shape, data.input_scale) == ((2, 4), 1 / 255)
    assert not data.is_standardised
    parts = ["train-images", "train-labels", "t10k-images", "t10k-labels"]
    sums = [hashlib.sha256(content).hexdigest() for content in SMALL.values()]
    assert data.checksums == dict(zip(parts, sums, strict=True))
    assert data.split() is data


def test_files_that_are_missing(folder):
    (folder / "t10k-labels-idx1-ubyte").unlink()
    (folder / "train-images-idx3-ubyte").unlink()
    assert refusal_of(load_dataset, folder) == (
        f"{folder}: no train-images and t10k-labels; looked for names like train-images-idx3-ubyte or "
        "train-images.idx3-ubyte, with or without .gz."
    )


def test_a_copy_of_a_known_set_has_its_name_and_classes(folder, monkeypatch):
    kmnist = CATALOGUE["kmnist"]
    sums = {part: ("packed", sha256) for part, sha256 in load_dataset(folder).checksums.items()}
    known = type(kmnist)(**{**vars(kmnist), "name": "tiny", "files": sums, "classes": ("x", "y", "z")})
    monkeypatch.setitem(CATALOGUE, "tiny", known)
    data = load_dataset(folder)
    assert (data.name, data.classes) == ("tiny", ("x", "y", "z"))
