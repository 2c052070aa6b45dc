"""NPZ files of the user's own: never unpickled, never trusted with memory."""

import contextlib
import io
import pickle
import struct
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from refusals import refusal_of_file

from elmlda.datasets import Table, content, load_dataset, load_source
from elmlda.datasets.npz_file import load_npz
from elmlda.errors import ElmldaError

properties = settings(derandomize=True, deadline=None)

RNG = np.random.default_rng(0)
X = RNG.normal(5, 2, (12, 4))
Y = np.arange(12) % 3
GOOD = {"x_train": X[:9], "y_train": Y[:9], "x_test": X[9:], "y_test": Y[9:]}


@pytest.fixture
def write(tmp_path):
    def write(save=np.savez, /, **arrays):
        path = tmp_path / "mine.npz"
        save(path, **arrays)
        return path

    return write


def refusal(path):
    return refusal_of_file(load_npz, path)


# What a file means


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_four_arrays(write, save):
    path = write(save, **GOOD)
    dataset = load_dataset(str(path))
    assert (dataset.name, dataset.classes) == ("mine", ("0", "1", "2"))
    assert dataset.has_own_split
    assert dataset.is_standardised
    mean, deviation = X[:9].mean(axis=0), X[:9].std(axis=0)
    np.testing.assert_allclose(dataset.train.inputs, (X[:9] - mean) / deviation)
    np.testing.assert_allclose(dataset.test.inputs, (X[9:] - mean) / deviation)
    assert dataset.train.labels.tolist() == Y[:9].tolist()
    assert dataset.test.labels.tolist() == Y[9:].tolist()
    assert set(dataset.checksums) == set(GOOD)


def test_two_arrays_are_a_table(write):
    table = load_source(str(write(x=X, y=Y)))
    assert isinstance(table, Table)
    np.testing.assert_array_equal(table.samples.inputs, X)
    assert table.is_standardised


def test_checksums_do_not_depend_on_compression(write):
    plain = load_npz(write(**GOOD)).checksums
    assert load_npz(write(np.savez_compressed, **GOOD)).checksums == plain
    changed = load_npz(write(**{**GOOD, "x_test": X[9:] + 1})).checksums
    assert [key for key in plain if plain[key] != changed[key]] == ["x_test"]


@pytest.mark.parametrize("shape", [(12, 2, 2), (12, 4)])
def test_bytes_stay_bytes(write, shape):
    x = RNG.integers(0, 256, (12, 4), np.uint8).reshape(shape)
    dataset = load_npz(write(**{**GOOD, "x_train": x[:9], "x_test": x[9:]}))
    assert dataset.train.inputs.dtype == np.uint8
    assert dataset.train.inputs.flags.c_contiguous
    assert dataset.input_scale == 1 / 255
    assert not dataset.is_standardised
    assert dataset.image_shape == ((2, 2) if len(shape) == 3 else None)
    table = load_npz(write(x=x, y=Y))
    assert (table.is_standardised, table.input_scale) == (False, 1 / 255)
    assert table.divide(np.arange(9), np.arange(9, 12)).input_scale == 1 / 255


@pytest.mark.parametrize(
    "y",
    [
        np.array(["cat", "cow", "é"])[Y],
        np.array([b"cat", b"cow", b"emu"])[Y],
        Y.astype(np.float32),
        Y.astype(">i2"),
        (Y - 1).astype(np.int8),
        Y[:, None],
        np.array([2**64 - 1, 2**63, 0], np.uint64)[Y],
    ],
)
def test_labels_of_every_kind(write, y):
    dataset = load_npz(write(**{**GOOD, "y_train": y[:9], "y_test": y[9:]}))
    assert dataset.n_classes == 3
    # Equal where they were equal.
    same = (y[:9].ravel()[:, None] == y[9:].ravel()).tolist()
    assert (dataset.train.labels[:, None] == dataset.test.labels).tolist() == same


def test_truth_values(write):
    dataset = load_npz(write(x=X > 5, y=Y > 0))
    assert dataset.classes == ("False", "True")
    assert dataset.samples.inputs.dtype == np.float32


@pytest.mark.parametrize("dtype", ["<f2", ">f4", "<f8", ">f8", "<i8", "u2", "g"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_inputs_of_every_kind(write, dtype, order):
    x = np.asarray(X.round(), dtype, order=order)
    table = load_npz(write(x=x, y=Y))
    assert table.samples.inputs.dtype in (np.float32, np.float64)
    assert table.samples.inputs.flags.c_contiguous
    np.testing.assert_array_equal(table.samples.inputs, X.round())


def test_other_arrays_are_left_alone(write):
    assert load_npz(write(**GOOD, notes=np.array([{}], object))).n_classes == 3


# What is wrong


class Bomb:
    """Leaves a trace if it is unpickled."""

    exploded = False

    def __reduce__(self):
        return (setattr, (Bomb, "exploded", True))


@pytest.mark.parametrize("key", GOOD)
def test_nothing_is_unpickled(write, key):
    arrays = {**GOOD, key: np.array([Bomb()] * len(GOOD[key]), object)}
    message = refusal(write(**arrays))
    assert message.startswith(f", {key}: an array of Python objects, which would have to be unpickled")
    assert not Bomb.exploded


def test_a_pickle_by_the_name_of_npz(tmp_path):
    path = tmp_path / "x.npz"
    path.write_bytes(pickle.dumps(Bomb()))
    assert refusal(path) == ": not a sound .npz file: File is not a zip file."
    assert not Bomb.exploded


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"x_test": None},
            ": no x_test in it, expected x_train, y_train, x_test and y_test, or x and "
            "y; it has x_train, y_train and y_test.",
        ),
        (
            {"y_train": Y[:8]},
            ", x_train has 9 samples, y_train has 8 labels, expected as many of each.",
        ),
        (
            {"x_test": X[9:, :3]},
            ", x_test: each sample is 3 values of float64, expected 4 values of float64 as in x_train.",
        ),
        (
            {"x_test": X[9:].astype(np.uint8)},
            ", x_test: each sample is 4 values of uint8, expected 4 values of float64 as in x_train.",
        ),
        (
            {"y_test": np.array([0, 7, 1])},
            ", y_test: no training sample has the label 7, expected 0, 1 or 2.",
        ),
        (
            {"y_train": np.full(9, 2), "y_test": np.full(3, 2)},
            ", y_train: all labels are 2, expected two or more.",
        ),
        ({"x_train": X[:9] + 1j}, ", x_train: 9 × 4 of complex128, expected n_samples × … numbers."),
        (
            {"x_train": np.array(3.0)},
            ", x_train: no dimensions of float64, expected n_samples × … numbers.",
        ),
        (
            {"y_train": np.eye(9)},
            ", y_train: 9 × 9 of float64, expected labels: one dimension of whole numbers or strings.",
        ),
        ({"y_train": Y[:9] + 0.5}, ", y_train: 0.5 is no class, expected whole numbers or strings."),
        (
            {"x_train": np.zeros((0, 4)), "y_train": Y[:0]},
            ", x_train: 0 × 4 of float64: no samples, expected at least one.",
        ),
        (
            {"x_train": np.where(X[:9] == X[4, 2], np.nan, X[:9])},
            ", x_train: 1 of 36 values are missing (NaN) or infinite, the first at [4, "
            "2]; expected finite numbers.",
        ),
        (
            {"y_train": np.where(Y[:9] == 1, np.inf, 0)},
            ", y_train: 3 of 9 values are missing (NaN) or infinite, the first at [1]; "
            "expected finite numbers.",
        ),
        (
            {"x_train": np.zeros(9, "M8[s]")},
            ", x_train: 9 of datetime64[s], expected n_samples × … numbers.",
        ),
        (
            {"x_train": np.zeros(9, "i4,f8")},
            ", x_train: 9 of [('f0', '<i4'), ('f1', '<f8')], expected n_samples × … numbers.",
        ),
    ],
)
def test_what_is_refused(write, change, message):
    arrays = {key: value for key, value in {**GOOD, **change}.items() if value is not None}
    assert refusal(write(**arrays)) == message


def test_a_large_x_will_do(write):
    small, large = (
        load_npz(write(**{key.replace("x", x): value for key, value in GOOD.items()})) for x in "xX"
    )
    np.testing.assert_array_equal(small.train.inputs, large.train.inputs)
    assert small.checksums == large.checksums


@pytest.mark.parametrize("names", [(), ("inputs", "labels")])
def test_other_names(write, names):
    has = "inputs and labels" if names else "nothing"
    assert refusal(write(**dict.fromkeys(names, X))) == (
        f": no x and y in it, expected x_train, y_train, x_test and y_test, or x and y; it has {has}."
    )


def npy_bytes(header, data=b""):
    text = header.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text + data


def zip_of(path, members, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 4)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 4)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-1, 4)}",
        "{'descr': '<U0', 'fortran_order': False, 'shape': (1000000000000,)}",
        "{'descr': ('<f8', (1000000,)), 'fortran_order': False, 'shape': (1000000,)}",
        "{'descr': '<f8', 'fortran_order': False}",
        "__import__('os').abort()",
        "",
    ],
)
def test_a_header_that_lies(tmp_path, header):
    path = tmp_path / "x.npz"
    zip_of(path, {"x.npy": npy_bytes(header, bytes(8)), "y.npy": b""})
    assert refusal(path).startswith(", x: not a sound .npz file: ")


def test_a_format_of_arrays_that_numbers_need_not(tmp_path):
    content = b"\x93NUMPY\3\0" + npy_bytes("{}", b"")[8:]
    path = zip_of(tmp_path / "x.npz", {"x.npy": content, "y.npy": b""})
    assert "format 3.0 of arrays, expected 1.0 or 2.0" in refusal(path)


def test_what_does_not_fit_in_memory(write, monkeypatch):
    monkeypatch.setattr(content, "available_memory", lambda: 200)
    assert refusal(write(**GOOD)).startswith(", x_train: 288 bytes, expected at most the 200 bytes of ")


def test_a_compression_that_numpy_does_not_use(tmp_path):
    path = zip_of(tmp_path / "x.npz", {"x.npy": b"", "y.npy": b""}, zipfile.ZIP_LZMA)
    assert refusal(path).startswith(", x: not a sound .npz file: ")


def test_a_compression_that_nobody_knows(tmp_path):
    path = zip_of(tmp_path / "x.npz", {"x.npy": b"", "y.npy": b""}, zipfile.ZIP_STORED)
    content = bytearray(path.read_bytes())
    for signature, at in ((b"PK\3\4", 8), (b"PK\1\2", 10)):
        place = content.index(signature) + at
        content[place : place + 2] = b"\x63\0"
    path.write_bytes(content)
    assert refusal(path).startswith(", x: not a sound .npz file: ")


@pytest.mark.parametrize("kind", ["folder", "nothing"])
def test_what_is_no_file(tmp_path, kind):
    path = tmp_path / "x.npz"
    if kind == "folder":
        path.mkdir()
        assert refusal(path) == ": a folder, expected a .npz file."
    else:
        assert refusal(path) == ": cannot be read: No such file or directory."


# Properties


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("npz")


@properties
@given(
    x=hnp.arrays(
        st.sampled_from([np.float32, np.float64, np.int16, np.uint8, np.bool_]),
        st.tuples(st.integers(2, 6), st.integers(1, 4)),
    ),
    packed=st.booleans(),
    data=st.data(),
)
def test_what_numpy_writes_is_read(folder, x, packed, data):
    more = data.draw(st.lists(st.sampled_from("abc"), min_size=len(x) - 2, max_size=len(x) - 2))
    labels = np.array(["a", "b", *more])
    path = folder / "x.npz"
    (np.savez_compressed if packed else np.savez)(path, x=x, y=labels)
    if not np.isfinite(x).all():
        assert "missing (NaN) or infinite" in refusal(path)
        return
    table = load_npz(path)
    np.testing.assert_array_equal(table.samples.inputs, x)
    assert [table.classes[i] for i in table.samples.labels] == labels.tolist()


def sample(packed):
    out = io.BytesIO()
    (np.savez_compressed if packed else np.savez)(out, x=X, y=np.array(["cat", "cow", "é"])[Y])
    return out.getvalue()


SAMPLES = [sample(False), sample(True)]


@settings(derandomize=True, deadline=None, max_examples=300)
@given(
    content=st.sampled_from(SAMPLES),
    place=st.integers(0, max(map(len, SAMPLES))),
    new=st.binary(max_size=4),
    n_lost=st.integers(0, 8),
)
def test_a_damaged_file_is_read_or_refused(folder, content, place, new, n_lost):
    path = folder / "x.npz"
    path.write_bytes(content[:place] + new + content[place + n_lost :])
    with contextlib.suppress(ElmldaError):
        assert load_npz(path).n_classes >= 2


def test_byte_strings_in_another_encoding_are_not_joined_into_one_class(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, x=np.arange(8.0)[:, None], y=np.array([b"\xe9", b"\xe8"] * 4))
    assert refusal(path) == (
        r", y: the label b'\xe9' is not text in UTF-8. Decode it before it is stored: "
        "y = numpy.char.decode(y, 'latin-1')."
    )
    np.savez(path, x=np.arange(8.0)[:, None], y=np.array(["é".encode(), "è".encode()] * 4))
    assert load_npz(path).classes == ("è", "é")
