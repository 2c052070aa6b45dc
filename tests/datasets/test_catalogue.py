"""The catalogue: MNIST as it is embedded, and folders of a user's own IDX files."""

import gzip
import hashlib
import shutil

import numpy as np
import pytest
from idx_files import idx_bytes
from refusals import refusal_of

from elmlda.datasets import catalogue, list_datasets, load_dataset, read_idx, verify_dataset
from elmlda.datasets.catalogue import CATALOGUE, MNIST_SHA256
from elmlda.datasets.idx import PARTS, load_idx_folder, verify_idx_folder
from elmlda.errors import ElmldaError

MNIST_FOLDER = CATALOGUE["mnist"].info.where
NAMES = {
    "train-images": "train-images-idx3-ubyte",
    "train-labels": "train-labels-idx1-ubyte",
    "t10k-images": "t10k-images-idx3-ubyte",
    "t10k-labels": "t10k-labels-idx1-ubyte",
}
TRAIN_COUNTS = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
TEST_COUNTS = [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
LOOKED_FOR = (
    "looked for names like train-images-idx3-ubyte or train-images.idx3-ubyte, with or without .gz."
)


def small_set():
    """Return the content of four files: 6 and 3 images of 2 × 4 pixels, in 3 classes."""
    pixels = np.arange(9 * 8).reshape(9, 2, 4)
    return {
        "train-images": idx_bytes(pixels[:6]),
        "train-labels": idx_bytes([3, 5, 9, 9, 5, 3]),
        "t10k-images": idx_bytes(pixels[6:]),
        "t10k-labels": idx_bytes([9, 3, 3]),
    }


@pytest.fixture
def folder(tmp_path):
    """Return a folder that holds the small set, raw."""
    folder = tmp_path / "mine"
    folder.mkdir()
    for part, content in small_set().items():
        (folder / NAMES[part]).write_bytes(content)
    return folder


def put(folder, part, values, kind="u1"):
    """Replace one file's content."""
    path = folder / NAMES[part]
    path.write_bytes(idx_bytes(values, kind))
    return path


def refusal(folder):
    return refusal_of(load_dataset, data_dir=folder)


@pytest.fixture(scope="module")
def mnist():
    """Return MNIST, loaded once."""
    return load_dataset()


# MNIST


def test_mnist_has_the_known_class_counts(mnist):
    assert np.bincount(mnist.train.labels).tolist() == TRAIN_COUNTS
    assert np.bincount(mnist.test.labels).tolist() == TEST_COUNTS


def test_mnist_is_as_it_is_described(mnist):
    (info,) = [info for info in list_datasets() if info.name == "mnist"]
    assert mnist.name == "mnist"
    assert mnist.train.inputs.shape == (info.n_train, info.n_inputs) == (60_000, 784)
    assert mnist.test.inputs.shape == (info.n_test, info.n_inputs) == (10_000, 784)
    assert mnist.n_inputs == info.n_inputs
    assert mnist.classes == info.classes == tuple("0123456789")
    assert mnist.n_classes == 10
    assert mnist.image_shape == info.image_shape == (28, 28)
    assert mnist.input_scale == 1 / 255
    assert info.licence == "CC BY-SA 3.0"
    assert "LeCun" in info.origin
    assert info.where.is_dir()


def test_mnist_inputs_are_kept_as_bytes(mnist):
    for split in (mnist.train, mnist.test):
        assert split.inputs.dtype == np.uint8
        assert split.inputs.flags.c_contiguous
        assert split.labels.dtype == np.int64
        assert (split.inputs.min(), split.inputs.max()) == (0, 255)


def test_mnist_checksums_are_the_known_ones(mnist):
    assert mnist.checksums == MNIST_SHA256


def test_the_readme_beside_mnist_gives_its_checksums():
    readme = (MNIST_FOLDER / "README.md").read_text(encoding="utf-8")
    for part, name in NAMES.items():
        content = gzip.decompress((MNIST_FOLDER / f"{name}.gz").read_bytes())
        md5 = hashlib.md5(content, usedforsecurity=False).hexdigest()
        assert f"| `{name}` | {len(content):,} | `{md5}` | `{MNIST_SHA256[part]}` |" in readme


def test_mnist_verifies():
    checks = verify_dataset("mnist")
    assert [check.name for check in checks] == list(PARTS)
    assert all(check.ok for check in checks)
    assert [check.n_bytes for check in checks] == [47_040_016, 60_008, 7_840_016, 10_008]
    assert checks[0].message == "60000 × 28 × 28, uint8"
    for check in checks:
        assert check.path.is_file()
        assert check.found_sha256 == check.expected_sha256 == MNIST_SHA256[check.name]


@pytest.fixture
def changed_mnist(tmp_path):
    """Return a copy of MNIST in which one test label is another."""
    folder = shutil.copytree(MNIST_FOLDER, tmp_path / "mnist")
    path = folder / "t10k-labels-idx1-ubyte.gz"
    content = bytearray(gzip.decompress(path.read_bytes()))
    content[-1] ^= 1
    path.write_bytes(gzip.compress(bytes(content)))
    return folder, path, hashlib.sha256(content).hexdigest()


def test_a_changed_label_of_mnist_is_noticed(changed_mnist):
    folder, path, found = changed_mnist
    with pytest.raises(ElmldaError) as caught:
        load_idx_folder(folder, "mnist", MNIST_SHA256)
    expected = MNIST_SHA256["t10k-labels"]
    message = f"{path}: SHA-256 {found}, expected {expected}: the content is not the original."
    assert str(caught.value) == message
    checks = verify_idx_folder(folder, MNIST_SHA256)
    assert [check.ok for check in checks] == [True, True, True, False]
    assert checks[3].message == message
    assert (checks[3].expected_sha256, checks[3].found_sha256) == (expected, found)


# The catalogue


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("minst", "unknown data set 'minst'. Did you mean 'mnist'? Known: mnist."),
        ("MNIST", "unknown data set 'MNIST'. Did you mean 'mnist'? Known: mnist."),
        ("zebra", "unknown data set 'zebra'. Known: mnist."),
        ("", "unknown data set ''. Known: mnist."),
    ],
)
@pytest.mark.parametrize("call", [load_dataset, verify_dataset])
def test_an_unknown_name(monkeypatch, call, name, message):
    monkeypatch.setattr(catalogue, "CATALOGUE", {"mnist": catalogue.CATALOGUE["mnist"]})
    with pytest.raises(ElmldaError) as caught:
        call(name)
    assert str(caught.value) == message


def test_names_of_the_catalogue_are_those_of_its_entries():
    assert [info.name for info in list_datasets()] == list(catalogue.CATALOGUE)


# A folder of the user's own


def test_a_folder_of_raw_files(folder):
    dataset = load_dataset(data_dir=folder)
    assert dataset.name == "mine"
    assert dataset.train.inputs.tolist() == np.arange(48).reshape(6, 8).tolist()
    assert dataset.test.inputs.tolist() == np.arange(48, 72).reshape(3, 8).tolist()
    assert dataset.train.labels.tolist() == [0, 1, 2, 2, 1, 0]
    assert dataset.test.labels.tolist() == [2, 0, 0]
    assert dataset.train.labels.dtype == dataset.test.labels.dtype == np.int64
    assert dataset.classes == ("3", "5", "9")
    assert dataset.image_shape == (2, 4)
    assert (dataset.n_inputs, dataset.n_classes) == (8, 3)
    assert dataset.checksums == {
        part: hashlib.sha256(content).hexdigest() for part, content in small_set().items()
    }


def test_the_name_is_the_one_given_or_the_folders(folder, monkeypatch):
    assert load_dataset("mnist", folder).name == "mnist"
    assert load_dataset("anything", str(folder)).name == "anything"
    monkeypatch.chdir(folder)
    assert load_dataset(data_dir=".").name == "mine"


@pytest.mark.parametrize("gz", ["", ".gz"])
@pytest.mark.parametrize(
    "pattern",
    [
        "{}-idx{}-ubyte",
        "{}.idx{}-ubyte",
        "{}-idx{}-float",
        "{}.idx{}.float64",
        "{}-idx{}",
    ],
)
def test_names_that_are_looked_for(tmp_path, pattern, gz):
    for part, content in small_set().items():
        name = pattern.format(part, 3 if part.endswith("images") else 1) + gz
        (tmp_path / name).write_bytes(gzip.compress(content) if gz else content)
    assert load_dataset(data_dir=tmp_path).train.inputs.shape == (6, 8)


def test_checksums_do_not_depend_on_names_or_compression(folder, tmp_path):
    for part, content in small_set().items():
        (tmp_path / f"{part}.idx1-ubyte.gz").write_bytes(gzip.compress(content))
    assert load_dataset(data_dir=tmp_path).checksums == load_dataset(data_dir=folder).checksums


def test_raw_is_preferred_to_gzip_of_the_same_name(folder):
    (folder / f"{NAMES['train-images']}.gz").write_bytes(b"broken")
    assert load_dataset(data_dir=folder).train.inputs.shape == (6, 8)


def test_other_files_and_folders_are_left_alone(folder):
    (folder / "train-images.idx3-ubyte").mkdir()
    (folder / "train-images-idx3-ubyte.zip").write_bytes(b"")
    (folder / "old-train-images-idx3-ubyte").write_bytes(b"")
    (folder / "README.md").write_bytes(b"")
    assert load_dataset(data_dir=folder).train.inputs.shape == (6, 8)


def test_two_files_for_one_part(folder):
    (folder / "t10k-labels.idx1-ubyte.gz").write_bytes(b"")
    message = (
        f"{folder}: t10k-labels-idx1-ubyte and t10k-labels.idx1-ubyte.gz could each be "
        "t10k-labels, expected only one of them."
    )
    assert refusal(folder) == message
    assert verify_dataset(data_dir=folder)[3].message == message


@pytest.mark.parametrize(
    ("parts", "listed"),
    [
        (["t10k-labels"], "t10k-labels"),
        (["train-labels", "t10k-images"], "train-labels and t10k-images"),
        (PARTS, "train-images, train-labels, t10k-images and t10k-labels"),
    ],
)
def test_missing_files(folder, parts, listed):
    for part in parts:
        (folder / NAMES[part]).unlink()
    assert refusal(folder) == f"{folder}: no {listed}; {LOOKED_FOR}"


@pytest.mark.parametrize(
    ("name", "reason"),
    [("none", "No such file or directory"), (NAMES["train-images"], "Not a directory")],
)
def test_a_folder_that_is_none(folder, name, reason):
    path = folder / name
    message = f"{path}: {reason}, expected a folder of four IDX files."
    assert refusal(path) == message
    assert refusal_of(verify_dataset, data_dir=path) == message


def test_a_folder_that_cannot_be_read(folder, request):
    folder.chmod(0)
    request.getfixturevalue("unprivileged")
    message = f"{folder}: Permission denied, expected a folder of four IDX files."
    assert refusal(folder) == message


@pytest.mark.parametrize(
    ("kind", "stored_as", "scale"),
    [
        ("u1", np.uint8, 1 / 255),
        ("i1", np.float32, 1.0),
        ("i2", np.float32, 1.0),
        ("i4", np.float64, 1.0),
        ("f4", np.float32, 1.0),
        ("f8", np.float64, 1.0),
    ],
)
def test_every_element_type_of_inputs(folder, kind, stored_as, scale):
    top = np.finfo(kind).max if kind[0] == "f" else np.iinfo(kind).max
    train = put(folder, "train-images", np.full((6, 5), top, kind), kind)
    put(folder, "t10k-images", np.zeros((3, 5)), kind)
    dataset = load_dataset(data_dir=folder)
    assert dataset.train.inputs.dtype == dataset.test.inputs.dtype == stored_as
    assert dataset.train.inputs.flags.c_contiguous
    assert (dataset.train.inputs == read_idx(train)).all()
    assert dataset.input_scale == scale


@pytest.mark.parametrize("kind", ["u1", "i1", "i2", "i4"])
def test_every_element_type_of_labels(folder, kind):
    put(folder, "train-labels", [100, 7, 20, 20, 7, 100], kind)
    put(folder, "t10k-labels", [20, 100, 7], kind)
    dataset = load_dataset(data_dir=folder)
    assert dataset.classes == ("7", "20", "100")
    assert dataset.train.labels.tolist() == [2, 0, 1, 1, 0, 2]
    assert dataset.test.labels.tolist() == [1, 2, 0]


def test_negative_labels(folder):
    put(folder, "train-labels", [1, -1, -1, 1, 1, -1], "i1")
    put(folder, "t10k-labels", [-1, 1, -1], "i2")
    dataset = load_dataset(data_dir=folder)
    assert dataset.classes == ("-1", "1")
    assert dataset.test.labels.tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("shape", "n_inputs", "image_shape"),
    [
        ((), 1, None),
        ((7,), 7, None),
        ((1, 7), 7, (1, 7)),
        ((3, 2, 5), 30, None),
        ((1, 2, 1, 3, 1), 6, None),
    ],
)
def test_inputs_of_every_rank(folder, shape, n_inputs, image_shape):
    put(folder, "train-images", np.zeros((6, *shape)))
    put(folder, "t10k-images", np.zeros((3, *shape)))
    dataset = load_dataset(data_dir=folder)
    assert dataset.train.inputs.shape == (6, n_inputs)
    assert dataset.test.inputs.shape == (3, n_inputs)
    assert dataset.image_shape == image_shape


# Folders whose files are sound each, but not together; verify says so too


def assert_refused_together(folder, message):
    assert refusal(folder) == message
    checks = verify_dataset(data_dir=folder)
    assert [check.ok for check in checks] == [True, True, True, True, False]
    assert (checks[4].name, checks[4].path, checks[4].message) == ("all four", folder, message)


@pytest.mark.parametrize(("part", "n"), [("train", 5), ("train", 7), ("t10k", 2), ("t10k", 4)])
def test_as_many_labels_as_images(folder, part, n):
    labels = put(folder, f"{part}-labels", [3, 5, 9, 3, 5, 9, 3][:n])
    n_images = {"train": 6, "t10k": 3}[part]
    assert_refused_together(
        folder,
        f"{folder / NAMES[f'{part}-images']} has {n_images} samples, {labels} has {n} labels, "
        "expected as many of each.",
    )


@pytest.mark.parametrize(
    ("shape", "kind", "found"),
    [
        ((4, 2), "u1", "4 × 2 values of uint8"),
        ((8,), "u1", "8 values of uint8"),
        ((), "u1", "1 values of uint8"),
        ((2, 4), "f4", "2 × 4 values of float32"),
    ],
)
def test_test_images_like_training_images(folder, shape, kind, found):
    path = put(folder, "t10k-images", np.zeros((3, *shape)), kind)
    train = folder / NAMES["train-images"]
    assert_refused_together(
        folder,
        f"{path}: each sample is {found}, expected 2 × 4 values of uint8 as in {train}.",
    )


def test_a_label_that_is_only_in_the_test_part(folder):
    path = put(folder, "t10k-labels", [9, 4, 250])
    assert_refused_together(
        folder, f"{path}: no training sample has the label 4 or 250, expected 3, 5 or 9."
    )


def test_a_long_list_of_labels_is_shortened(folder):
    put(folder, "train-images", np.zeros((50, 2, 4)))
    put(folder, "train-labels", np.arange(50))
    path = put(folder, "t10k-labels", [0, 1, 99])
    assert_refused_together(
        folder,
        f"{path}: no training sample has the label 99, expected 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, … or 49.",
    )


def test_a_single_class(folder):
    path = put(folder, "train-labels", [3] * 6)
    assert_refused_together(folder, f"{path}: all labels are 3, expected two or more.")


# Files that are not what they should be


@pytest.mark.parametrize(
    ("part", "values", "kind", "message"),
    [
        (
            "train-images",
            np.zeros((0, 28, 28)),
            "u1",
            "0 × 28 × 28 of uint8: no samples, expected at least one.",
        ),
        (
            "t10k-images",
            np.zeros((3, 0)),
            "u1",
            "3 × 0 of uint8: no samples, expected at least one.",
        ),
        ("train-labels", [], "u1", "0 of uint8: no samples, expected at least one."),
        ("t10k-labels", [], "u1", "0 of uint8: no samples, expected at least one."),
        (
            "train-labels",
            [3.0, 5.0],
            "f4",
            "2 of float32, expected labels: one dimension of integers.",
        ),
        (
            "t10k-labels",
            [[9], [3], [3]],
            "u1",
            "3 × 1 of uint8, expected labels: one dimension of integers.",
        ),
        (
            "train-images",
            [[np.nan, 1], [np.inf, -np.inf]],
            "f4",
            "3 of 4 values are missing (NaN) or infinite, the first at [0, 0]; expected finite "
            "numbers.",
        ),
        (
            "t10k-images",
            [np.nan] + [0] * 1999,
            "f8",
            "1 of 2,000 values are missing (NaN) or infinite, the first at [0]; expected finite "
            "numbers.",
        ),
    ],
)
def test_content_of_the_wrong_kind(folder, part, values, kind, message):
    path = put(folder, part, values, kind)
    assert refusal(folder) == f"{path}: {message}"
    checks = verify_dataset(data_dir=folder)
    assert [check.name for check in checks if not check.ok] == [part]
    assert [check.message for check in checks if not check.ok] == [f"{path}: {message}"]


def test_a_broken_file_is_refused(folder):
    path = folder / NAMES["t10k-images"]
    path.write_bytes(path.read_bytes()[:-4])
    message = f"{path}: 36 bytes, expected 40 for 3 × 2 × 4 images: the file is cut off."
    assert refusal(folder) == message


def test_verify_goes_on_after_broken_and_missing_files(folder):
    images = folder / NAMES["train-images"]
    images.write_bytes(b"junk")
    (folder / NAMES["t10k-images"]).unlink()
    broken, labels, missing, _ = checks = verify_dataset(data_dir=folder)
    assert [check.ok for check in checks] == [False, True, False, True]
    assert broken.path == images
    assert broken.message.startswith(f"{images}: starts with the bytes 6a 75 6e 6b")
    assert (broken.n_bytes, broken.found_sha256) == (None, None)
    assert missing.path == folder / "t10k-images"
    assert missing.message == f"{folder}: no t10k-images; {LOOKED_FOR}"
    assert labels.n_bytes == 14
    assert labels.found_sha256 == hashlib.sha256(small_set()["train-labels"]).hexdigest()
    assert labels.expected_sha256 is None
    assert labels.message == "6, uint8"
