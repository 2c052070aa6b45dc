"""The catalogue: what its sets hold, to the bit; and what a name, file or folder means."""

import gzip
import hashlib
import shutil

import numpy as np
import pytest
from refusals import refusal_of
from sklearn import datasets as sklearn_datasets

from elmlda.datasets import catalogue
from elmlda.datasets.catalogue import CATALOGUE, load_dataset

EMBEDDED = [info for info in CATALOGUE.values() if not info.mirrors]
RECORDED = {
    "mnist": ("86c620d4642a", None, "b4985a9b4376b4a9"),
    "iris": ("6e4a91582bcb", "b67019474de93825", "0e299356a79418f3"),
    "abalone": ("64cfed56bf40", "d7a51f671711a9f0", "46975948a8cc06ec"),
    "wine": ("d5891facbde8", "0148cda58fc71e43", "2e73e4a07b6d34a3"),
    "satimage": (None, None, "21bc855223ee845b"),
    "breast-cancer": ("002fbdfcbbed", "7bfee2911bd3b61c", "57b9aa6154289ff9"),
    "digits": ("de6bd4051f93", "a77a5583685263f7", "40183bbe7e8c7052"),
}
"""Digits of the SHA-256 of inputs and labels, the rows of the split, and those with 20 samples held
out: published results depend on them."""


def digest(*arrays):
    content = (np.ascontiguousarray(a).tobytes() + f"{a.dtype}{a.shape}".encode() for a in arrays)
    return hashlib.sha256(b"".join(content)).hexdigest()[:12]


@pytest.mark.parametrize("info", EMBEDDED, ids=lambda info: info.name)
class TestEmbedded:
    def test_inputs_labels_and_rows_are_those_of_published_results(self, info):
        arrays, rows, held_out = RECORDED[info.name]
        whole = load_dataset(info.name)
        data = whole.split()
        assert arrays in (None, digest(whole.train.inputs, whole.train.labels))
        assert data.preparation.get("rows") == rows
        assert whole.split(20).preparation["rows"] == held_out

    def test_it_is_as_it_is_described(self, info):
        whole = load_dataset(info.name)
        data = whole.split()
        assert data.name == info.name
        parts = [whole.train, whole.test] if whole.test else [whole.train]
        assert [len(part.inputs) for part in parts] == info.n_samples
        assert data.n_inputs == info.n_inputs
        assert data.classes == tuple(info.classes)
        assert list(data.image_shape or []) == (info.image_shape or [])
        assert data.is_standardised == (data.image_shape is None)
        scale = {"mnist": 1 / 255, "digits": 1 / 16}.get(info.name, 1)
        assert data.input_scale == whole.input_scale == scale
        for part in (data.train, data.test):
            assert part.inputs.dtype == (np.float64 if data.is_standardised else np.uint8)
            assert part.inputs.flags.c_contiguous
            assert part.labels.dtype == np.int64
            assert set(part.labels) == set(range(data.n_classes))
        if data.is_standardised:
            np.testing.assert_allclose(data.train.inputs.mean(axis=0), 0, atol=1e-12)
            np.testing.assert_allclose(data.train.inputs.std(axis=0), 1)
            assert len(set(data.feature_names)) == data.n_inputs

    def test_the_readme_has_licence_citation_and_checksums(self, info):
        readme = " ".join((info.where / "README.md").read_text("utf-8").replace("–", "-").split())
        assert info.licence in readme
        assert " ".join(info.citation.split()[-3:]) in readme
        for path in info.find_files().values():
            content = path.read_bytes()
            content = gzip.decompress(content) if path.suffix == ".gz" else content
            assert f"| `{path.name.removesuffix('.gz')}` | {len(content):,} |" in readme
            assert hashlib.sha256(content).hexdigest() in readme


@pytest.mark.parametrize("name", ["iris", "wine", "breast-cancer", "digits"])
def test_the_same_as_scikit_learns(name):
    ours = load_dataset(name)
    theirs = getattr(sklearn_datasets, f"load_{name.replace('-', '_')}")()
    np.testing.assert_array_equal(ours.train.inputs, theirs.data)
    np.testing.assert_array_equal(ours.train.labels, theirs.target)
    assert ours.classes == tuple(map(str, theirs.target_names))


def test_mnist_has_the_known_counts_and_checksums(mnist):
    counts = [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    assert mnist.test.count_classes(10).tolist() == counts
    assert mnist.checksums == CATALOGUE["mnist"].checksums
    assert mnist.feature_names is None


def test_a_changed_number_is_noticed(tmp_path, monkeypatch):
    shutil.copytree(CATALOGUE["iris"].where, tmp_path / "iris")
    path = tmp_path / "iris" / "iris.csv"
    path.write_bytes(path.read_bytes().replace(b"5.1,3.5", b"5.1,3.6", 1))
    monkeypatch.setattr(catalogue, "HERE", tmp_path)
    message = refusal_of(load_dataset, "iris")
    assert message.startswith(f"{path}: SHA-256 ")
    assert "expected f13f" in message
    path.unlink()
    assert "No such file" in refusal_of(load_dataset, "iris")


# Names, files and folders


@pytest.mark.parametrize("source", ["nowhere/x", "x.csvv", "no.such"])
def test_what_is_not_there(source):
    assert "no such file or folder, expected a .csv, " in refusal_of(load_dataset, source)


@pytest.mark.parametrize("options", [{"label": "y"}, {"drop": ["y"]}, {"drop": "y"}, {"drop": 3}])
@pytest.mark.parametrize("source", ["iris", ([[1], [2]], [0, 1])], ids=["name", "arrays"])
def test_columns_are_a_tables_only(source, options):
    assert refusal_of(load_dataset, source, **options).endswith(
        f" is no table with columns to name. Leave out {next(iter(options))}."
    )


def test_another_way_with_missing_values():
    assert (
        refusal_of(load_dataset, "iris", missing="zero") == "missing is 'zero', expected drop or mean."
    )
