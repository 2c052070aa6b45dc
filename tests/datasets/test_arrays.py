"""Arrays in memory and in NumPy's files: what they mean, and one line for what is wrong."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refusal_of

from elmlda.datasets import load_dataset
from elmlda.datasets.arrays import index_classes
from elmlda.errors import ElmldaError

properties = settings(derandomize=True, deadline=None)
RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(12, 2, 3)), np.arange(12) % 3


@pytest.fixture
def save(tmp_path):
    def save(**arrays):
        path = tmp_path / "mine.npz"
        np.savez_compressed(path, **arrays)
        return path

    return save


# What arrays mean


def test_a_file_and_the_same_arrays_are_the_same_data(save):
    file, pair = load_dataset(save(x=X, y=Y)), load_dataset((X, Y))
    assert (file.name, pair.name) == ("mine", "data")
    assert file.checksums == pair.checksums
    for data in (file, pair):
        assert data.test is None
        np.testing.assert_array_equal(data.train.inputs, X.reshape(12, 6))
        np.testing.assert_array_equal(data.train.labels, Y)
        assert data.classes == ("0", "1", "2")
        assert data.image_shape == (2, 3)
        assert data.is_standardised
        assert data.columns is None
    np.testing.assert_array_equal(file.split().train.inputs, pair.split().train.inputs)


def test_a_split_of_its_own_is_standardised_by_its_training_part(save):
    loaded = load_dataset(save(x_train=X[:8], y_train=Y[:8], x_test=X[8:], y_test=Y[8:]))
    np.testing.assert_array_equal(loaded.test.inputs, X[8:].reshape(4, 6))
    data = loaded.split()
    np.testing.assert_allclose(data.train.inputs.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(data.scaling.apply(X[8:].reshape(4, 6)), data.test.inputs, atol=1e-12)
    assert data.split() is data
    np.testing.assert_array_equal(loaded.test.inputs, X[8:].reshape(4, 6))


def test_bytes_stay_bytes(save):
    data = load_dataset(save(x=np.arange(24, dtype=np.uint8).reshape(12, 2), y=Y)).split()
    assert (data.train.inputs.dtype, data.input_scale) == (np.uint8, 1 / 255)
    assert not data.is_standardised


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [(("f4", "f4"), "f4"), (("f4", "f8"), "f8"), (("i2", "i2"), "f4"), (("i4", "i1"), "f8"),
     (("?", "?"), "f4"), (("g", "g"), "f8")],
)  # fmt: skip
def test_inputs_become_floats_that_hold_every_value(save, kinds, expected):
    x = [(10 * X).astype(kind) for kind in kinds]
    data = load_dataset(save(x_train=x[0], y_train=Y, x_test=x[1], y_test=Y))
    assert data.train.inputs.dtype == data.test.inputs.dtype == np.dtype(expected)


@pytest.mark.parametrize(
    "labels",
    [["a", "b"] * 6, np.array(["a", "b"] * 6, object), pd.Series(["a", "b"] * 6),
     pd.Categorical(["a", "b"] * 6), pd.Series(["a", "b"] * 6, index=range(5, 17))],
    ids=["list", "objects", "Series", "categories", "index"],
)  # fmt: skip
def test_labels_of_any_kind(labels):
    data = load_dataset((X, labels))
    assert data.classes == ("a", "b")
    assert data.train.labels.tolist() == [0, 1] * 6


# Missing values


def test_missing_values_are_refused_dropped_or_filled(save):
    x = X.reshape(12, 6).copy()
    x[3, 1] = x[5, 0] = np.nan
    path = save(x=x, y=Y)
    assert refusal_of(load_dataset, path) == (
        f"{path}, x: 2 of 72 values are missing (NaN) or infinite, first at [3, 1]. "
        "Fill it in, or use missing='drop' or missing='mean'."
    )
    dropped = load_dataset(path, missing="drop")
    kept = np.delete(np.arange(12), [3, 5])
    np.testing.assert_array_equal(dropped.train.inputs, x[kept])
    np.testing.assert_array_equal(dropped.train.labels, Y[kept])
    filled = load_dataset((x, Y), missing="mean").split()
    assert np.isfinite(filled.train.inputs).all()
    assert np.isfinite(filled.test.inputs).all()
    assert dropped.preparation["missing"] != filled.preparation["missing"]
    assert "missing" not in load_dataset((X, Y), missing="mean").preparation


# What is wrong


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (X, Y[:5], "X has 12 samples, y has 5 labels."),
        (X, Y * 0, "y: all labels are 0, expected two or more."),
        (X.astype(str), Y, "X: 12 × 2 × 3 of <U32, expected numbers."),
        (X[:0], Y[:0], "X: 0 × 2 × 3 of float64, expected numbers."),
        (X.astype(complex), Y, "X: 12 × 2 × 3 of complex128, expected numbers."),
        (X, [None, *"ab" * 5, "a"], "y: 12 of object, expected labels: numbers or strings."),
        ([["a", 1]] * 12, [*Y[:11], None], "X: 12 × 2 of <U21, expected numbers."),
    ],
)
def test_arrays_that_do_not_fit(x, y, message):
    assert refusal_of(load_dataset, (x, y)) == message


def test_parts_that_do_not_fit(save):
    parts = {"x_train": X, "y_train": Y, "x_test": X, "y_test": Y}
    for change, message in [
        ({"x_test": X[:, :, :2]}, "x_test: each sample is 2 × 2 of float64, expected 2 × 3 of float64"),
        ({"x_test": X.astype(np.uint8)}, "x_test: each sample is 2 × 3 of uint8, expected 2 × 3 of"),
        ({"y_test": Y + 1}, "y_test: no training sample has the label 3, expected 0, 1 or 2."),
    ]:
        path = save(**(parts | change))
        assert refusal_of(load_dataset, path).startswith(f"{path}, {message}")
    path = save(x_train=X, z=Y)
    message = refusal_of(load_dataset, path)
    assert message.startswith(f"{path}: no y_train, x_test and y_test; expected x_train, ")
    assert "no x and y;" in refusal_of(load_dataset, save())


@pytest.mark.parametrize("content", [b"", b"PK\3\4", b"\x93NUMPY\1\0", b"x,y\n1,2\n", b"\x80\4N."])
def test_what_is_no_file_of_arrays(tmp_path, content):
    path = tmp_path / "x.npz"
    path.write_bytes(content)
    assert refusal_of(load_dataset, path).startswith(f"{path}: not a sound file of NumPy's arrays: ")


def test_a_damaged_byte_is_refused_or_does_no_harm(save):
    """Also one that makes the archive encrypted, or its compression an unknown one."""
    path, messages = save(x=X, y=Y), ""
    sound = path.read_bytes()
    for place in range(len(sound)):
        path.write_bytes(sound[:place] + bytes([sound[place] ^ 1]) + sound[place + 1 :])
        try:
            load_dataset(path)
        except ElmldaError as error:
            messages += str(error)
    assert all(word in messages for word in ("encrypted", "compression", "CRC"))


def test_nothing_is_unpickled(tmp_path):
    class Trap:
        def __reduce__(self):
            return print, ("never",)

    np.savez(tmp_path / "x.npz", x=np.array([Trap()], object), y=Y)
    assert "not a sound file" in refusal_of(load_dataset, tmp_path / "x.npz")
    np.savez(tmp_path / "x.npz", x=X, y=Y, names=np.array(["a", None], object))
    assert load_dataset(tmp_path / "x.npz").n_inputs == 6  # what is not needed is not read


# Classes


@pytest.mark.parametrize(
    ("labels", "classes", "indices"),
    [
        (["b", "a", "b"], ("a", "b"), [1, 0, 1]),
        (["10", "9", "1"], ("1", "9", "10"), [2, 1, 0]),
        (["1.0", "2.0", "1"], ("1", "2"), [0, 1, 0]),
        (["1", "01", "2"], ("01", "1", "2"), [1, 0, 2]),  # codes
        (["-1", "+1", "1"], ("-1", "1"), [0, 1, 1]),
        (["0.5", "1e0", ".5"], ("0.5", "1"), [0, 1, 0]),
        (["1", "a", "1.0"], ("1", "1.0", "a"), [0, 2, 1]),
        (["1_0", "10"], ("10", "1_0"), [1, 0]),
        (["inf", "1"], ("1", "inf"), [1, 0]),
        (["9007199254740993", "9007199254740992"], ("9007199254740992", "9007199254740993"), [1, 0]),
    ],
)
def test_classes_and_their_order(labels, classes, indices):
    found, numbers = index_classes(np.array(labels))
    assert (found, numbers.tolist()) == (classes, indices)
    assert numbers.dtype == np.int64


@properties
@given(st.lists(st.text("01.e+-_aé٣ ", max_size=4), min_size=1))
def test_equal_labels_and_only_they_are_one_class_unless_all_are_numbers(labels):
    classes, indices = index_classes(np.array(labels))
    assert len(set(classes)) == len(classes)
    assert set(indices) == set(range(len(classes)))
    for label, index in zip(labels, indices, strict=True):
        assert classes[index] == label or float(classes[index]) == float(label)
