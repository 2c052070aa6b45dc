"""The embedded tables: what they hold, and that a change is noticed."""

import gzip
import hashlib
import shutil
from dataclasses import replace

import numpy as np
import pytest
from sklearn import datasets as sklearn_datasets

from elmlda.datasets import Table, load_dataset, load_source, verify_dataset
from elmlda.datasets.catalogue import CATALOGUE
from elmlda.datasets.known_sets import TextSet
from elmlda.errors import ElmldaError

TEXT_SETS = [entry for entry in CATALOGUE.values() if isinstance(entry, TextSet)]
INFOS = {text_set.info.name: text_set.info for text_set in TEXT_SETS}


@pytest.mark.parametrize("name", INFOS)
def test_it_is_as_it_is_described(name):
    info, dataset = INFOS[name], load_dataset(name)
    assert dataset.name == name
    assert dataset.train.inputs.shape == (info.n_train, info.n_inputs)
    assert dataset.test.inputs.shape == (info.n_test, info.n_inputs)
    assert dataset.classes == info.classes
    assert dataset.feature_names == info.feature_names
    assert dataset.image_shape == info.image_shape
    assert dataset.has_own_split == info.has_own_split
    assert dataset.is_standardised == info.is_standardised == (name != "digits")
    assert dataset.input_scale == (1 if info.is_standardised else 1 / 16)
    if dataset.feature_names:
        assert len(set(dataset.feature_names)) == dataset.n_inputs
    for split in (dataset.train, dataset.test):
        assert split.inputs.dtype == (np.float64 if info.is_standardised else np.uint8)
        assert split.inputs.flags.c_contiguous
        assert split.labels.dtype == np.int64
        assert set(split.labels) == set(range(dataset.n_classes))
        assert np.isfinite(split.inputs).all()
    if info.is_standardised:
        np.testing.assert_allclose(dataset.train.inputs.mean(axis=0), 0, atol=1e-12)


@pytest.mark.parametrize("name", INFOS)
def test_it_verifies(name):
    checks = verify_dataset(name)
    assert all(check.ok for check in checks)
    assert all(check.expected_sha256 == check.found_sha256 for check in checks)


@pytest.mark.parametrize("text_set", TEXT_SETS, ids=lambda text_set: text_set.info.name)
def test_the_readme_gives_licence_citation_and_checksums(text_set):
    readme = (text_set.info.where / "README.md").read_text(encoding="utf-8")
    assert text_set.info.licence in readme
    citation = text_set.info.citation.replace("-", "–").split()
    assert " ".join(citation[-3:]) in " ".join(readme.replace("-", "–").split())
    for name, sha256 in text_set.content_sha256.items():
        path = text_set.info.where / name
        packed = path.with_name(f"{name}.gz")
        content = path.read_bytes() if path.exists() else gzip.decompress(packed.read_bytes())
        assert hashlib.sha256(content).hexdigest() == sha256
        assert f"| `{name}` | {len(content):,} | `{sha256}` |" in readme


@pytest.mark.parametrize(
    ("name", "loader"),
    [("iris", "iris"), ("wine", "wine"), ("breast-cancer", "breast_cancer"), ("digits", "digits")],
)
def test_the_same_as_scikit_learns(name, loader):
    table, theirs = load_source(name), getattr(sklearn_datasets, f"load_{loader}")()
    np.testing.assert_array_equal(table.samples.inputs, theirs.data)
    np.testing.assert_array_equal(table.samples.labels, theirs.target)
    assert table.classes == tuple(map(str, theirs.target_names))


def test_iris_is_fishers_not_ucis():
    inputs = load_source("iris").samples.inputs
    assert inputs[34].tolist() == [4.9, 3.1, 1.5, 0.2]
    assert inputs[37].tolist() == [4.9, 3.6, 1.4, 0.1]


def test_abalone_has_three_classes_and_sex_as_three_inputs():
    table = load_source("abalone")
    assert np.bincount(table.samples.labels).tolist() == [1407, 1323, 1447]
    assert table.samples.inputs.shape == (4177, 10)
    assert table.samples.inputs[0].tolist() == [
        1, 0, 0, 0.455, 0.365, 0.095, 0.514, 0.2245, 0.101, 0.15,
    ]  # fmt: skip
    assert table.samples.labels[:3].tolist() == [2, 0, 1]  # 15, 7 and 9 rings
    assert table.samples.inputs[:, :3].sum(axis=0).tolist() == [1528, 1307, 1342]


def test_satimage_has_its_own_split_and_no_class_6():
    dataset = load_dataset("satimage")
    assert np.bincount(dataset.train.labels).tolist() == [1072, 479, 961, 415, 470, 1038]
    assert np.bincount(dataset.test.labels).tolist() == [461, 224, 397, 211, 237, 470]
    assert dataset.preparation == {"inputs": "standardised by the training part"}


def test_wine_has_the_known_class_counts():
    assert np.bincount(load_source("wine").samples.labels).tolist() == [59, 71, 48]


def test_digits_are_images_with_constant_pixels():
    table = load_source("digits")
    assert isinstance(table, Table)
    assert table.image_shape == (8, 8)
    assert table.samples.inputs.max() == 16
    assert (np.ptp(table.samples.inputs, axis=0) == 0).sum() == 3


@pytest.fixture
def moved(tmp_path):
    """A copy of an embedded set, to be broken."""

    def move(text_set):
        folder = shutil.copytree(text_set.info.where, tmp_path / text_set.info.name)
        return replace(text_set, info=replace(text_set.info, where=folder)), folder

    return move


def test_a_changed_number_is_noticed(moved):
    text_set, folder = moved(CATALOGUE["iris"])
    path = folder / "iris.csv"
    path.write_bytes(path.read_bytes().replace(b"5.1,3.5", b"5.1,3.6", 1))
    with pytest.raises(ElmldaError, match=r"SHA-256 .*, expected f13f.*: the content is not the orig"):
        text_set.load()
    (check,) = text_set.verify()
    assert not check.ok
    assert check.message.startswith(f"{path}: SHA-256 ")


def test_verify_goes_on_after_a_missing_file(moved):
    text_set, folder = moved(CATALOGUE["satimage"])
    (folder / "sat.trn.txt.gz").unlink()
    first, second = text_set.verify()
    assert (first.ok, second.ok) == (False, True)
    assert first.message == f"{folder / 'sat.trn.txt.gz'}: cannot be read: No such file or directory."
