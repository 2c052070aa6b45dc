"""Arrays in memory and in NumPy's files: what they mean, and one line for what is wrong."""

import numpy as np
import pandas as pd
import pytest
from refusals import refusal_of

from elmlda.datasets.arrays import index_classes
from elmlda.datasets.catalogue import load_dataset
from elmlda.errors import ElmldaError

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
        assert data.feature_names is None
    np.testing.assert_array_equal(file.split().train.inputs, pair.split().train.inputs)


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
    message = refusal_of(load_dataset, path)
    assert f"{path}, x: 2 of 72 values are missing" in message
    assert "[3, 1]" in message
    assert "missing='drop' or missing='mean'" in message
    dropped = load_dataset(path, missing="drop")
    kept = np.delete(np.arange(12), [3, 5])
    np.testing.assert_array_equal(dropped.train.inputs, x[kept])
    np.testing.assert_array_equal(dropped.train.labels, Y[kept])
    filled = load_dataset((x, Y), missing="mean").split()
    assert np.isfinite(filled.train.inputs).all()
    assert np.isfinite(filled.test.inputs).all()
    assert dropped.preparation["missing"] != filled.preparation["missing"]
    assert filled.n_filled == {"input 0": 1, "input 1": 1}
    assert dropped.n_filled == {}
    assert "missing" not in load_dataset((X, Y), missing="mean").preparation


def test_missing_labels_are_refused_or_dropped():
    labels = Y.astype(float)
    labels[4] = np.nan
    for missing in (None, "mean"):
        message = refusal_of(load_dataset, (X, labels), missing=missing)
        assert "y: 1 of 12 values are missing" in message
        assert "missing='drop'" in message
        assert "'mean'" not in message
    dropped = load_dataset((X, labels), missing="drop")
    assert dropped.train.labels.tolist() == np.delete(Y, 4).tolist()


@pytest.mark.parametrize("missing", [None, "drop", "mean"])
def test_infinite_values_are_not_missing_ones(missing):
    x = X.copy()
    x[2, 1, 0] = -np.inf
    message = refusal_of(load_dataset, (x, Y), missing=missing)
    assert "1 of 72 values are infinite, first at [2, 1, 0]" in message
    assert "missing=" not in message


def test_samples_that_all_lack_a_value_cannot_be_left_out():
    x = X.reshape(12, 6).copy()
    x[:, 3] = np.nan
    message = refusal_of(load_dataset, (x, Y), missing="drop")
    assert "12 samples" in message
    assert "missing='mean'" in message


def test_a_class_whose_samples_are_all_left_out_is_no_class(save):
    x = X.reshape(12, 6).copy()
    x[Y == 1, 0] = np.nan
    assert load_dataset((x, Y), missing="drop").classes == ("0", "2")
    path = save(x_train=x, y_train=Y, x_test=X.reshape(12, 6), y_test=Y)
    assert "no training sample has the label 1" in refusal_of(load_dataset, path, missing="drop")


@pytest.mark.parametrize("name", ["x", "y", "x_train", "y_test"])
def test_a_single_value_is_no_array_of_samples(save, name):
    parts = ("x", "y") if len(name) == 1 else ("x_train", "y_train", "x_test", "y_test")
    arrays = {part: X if part.startswith("x") else Y for part in parts}
    path = save(**arrays | {name: np.float64(3)})
    message = refusal_of(load_dataset, path)
    assert message.startswith(f"{path}, {name}: ")
    assert "single value" in message


@pytest.mark.parametrize("name", ["mine.NPZ", "Mine.Npz", "~mine.npz"])
def test_names_of_files_that_are_not_lower_case_or_start_with_a_tilde(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    with (tmp_path / name).open("wb") as file:
        np.savez(file, x=X, y=Y)
    assert load_dataset(name).n_inputs == 6


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
    assert refusal_of(load_dataset, path).startswith(f"{path}: not a valid .npz file: ")


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
    assert "not a valid .npz file" in refusal_of(load_dataset, tmp_path / "x.npz")
    np.savez(tmp_path / "x.npz", x=X, y=Y, names=np.array(["a", None], object))
    assert load_dataset(tmp_path / "x.npz").n_inputs == 6  # what is not needed is not read


# Classes

LARGE = 2**53
"""From here on float64 no longer tells whole numbers apart."""


@pytest.mark.parametrize(
    ("labels", "kind", "classes", "indices"),
    [
        (["b", "a", "b"], "U", ("a", "b"), [1, 0, 1]),
        (["1", "01", "2"], "U", ("01", "1", "2"), [1, 0, 2]),  # codes
        (["-1", "+1", "1.0"], "U", ("-1", "1"), [0, 1, 1]),
        (["0.5", "1e0", ".5"], "U", ("0.5", "1"), [0, 1, 0]),
        (["1", "a", "1.0"], "U", ("1", "1.0", "a"), [0, 2, 1]),
        (["1_0", "10"], "U", ("10", "1_0"), [1, 0]),
        (["inf", "1"], "U", ("1", "inf"), [1, 0]),
        (["é", "", "٣"], "U", ("", "é", "٣"), [1, 0, 2]),
        ([10, 9, 1, 9], "u1", ("1", "9", "10"), [2, 1, 0, 1]),
        ([10, -9, 1, -9], "i8", ("-9", "1", "10"), [2, 0, 1, 0]),
        ([LARGE - 1, 5], "i8", ("5", f"{LARGE - 1}"), [1, 0]),
        ([LARGE + 1, LARGE, 5], "i8", ("5", f"{LARGE}", f"{LARGE + 1}"), [2, 1, 0]),
        ([LARGE, 200, 5], "u8", ("200", "5", f"{LARGE}"), [2, 0, 1]),  # as strings
        ([1.5, 10, 2, -0.0, 0.0], "f4", ("0", "1.5", "2", "10"), [1, 3, 2, 0, 0]),
        ([1e300, 200, 5], "f8", ("1e+300", "200.0", "5.0"), [0, 1, 2]),
        ([True, False, True], "?", ("False", "True"), [1, 0, 1]),
    ],
)
def test_classes_and_their_order(labels, kind, classes, indices):
    array = np.array(labels, kind)
    for variant in (array, array.astype(str)):
        names, numbers = index_classes(variant)
        assert (names, numbers.tolist()) == (classes, indices)
        assert numbers.dtype == np.int64


@pytest.mark.parametrize(("train", "test"), [(np.int64, np.uint8), (float, int), (str, int)])
def test_labels_of_two_types_are_compared_by_their_texts(save, train, test):
    path = save(x_train=X, y_train=Y.astype(train), x_test=X, y_test=Y.astype(test))
    data = load_dataset(path)
    assert data.classes == ("0", "1", "2")
    assert data.train.labels.tolist() == data.test.labels.tolist() == Y.tolist()


def test_truth_values_and_numbers_are_different_labels(save):
    path = save(x_train=X, y_train=Y > 0, x_test=X, y_test=(Y > 0).astype(int))
    message = refusal_of(load_dataset, path)
    assert "no training sample has the label 0 or 1, expected False or True" in message
