"""Samples from IDX, NPZ and CSV, and what is said against files that do not fit."""

import gzip
import struct

import numpy as np
import pytest
from PIL import Image
from refusals import refusal_of_file

from elmlda.datasets.samples import Reading, read_samples

SAMPLES = np.arange(2, 26).reshape(4, 6)
READING = Reading(6, (2, 3))


def refusal(path, reading=READING):
    return refusal_of_file(read_samples, path, reading).removeprefix(": ")


@pytest.fixture
def write(tmp_path):
    def write(name, text):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path / name

    return write


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_idx(tmp_path, compress):
    path = tmp_path / "some-idx3-ubyte"
    path.write_bytes(compress(struct.pack(">2xBB3I", 8, 3, 4, 2, 3) + bytes(range(2, 26))))
    np.testing.assert_array_equal(read_samples(path, READING), SAMPLES)
    assert "the model takes samples of 5 inputs." in refusal(path, Reading(5))
    path.write_bytes(path.read_bytes()[:-1])
    assert "cut off" in refusal(path)


def test_arrays(tmp_path):
    np.savez(tmp_path / "one.npz", x=SAMPLES)
    np.savez(tmp_path / "two.npz", x=SAMPLES, y=np.arange(4), words=np.array(["a"]))
    for shape in ((4, 6), (4, 2, 3), (4, 3, 2)):
        np.save(tmp_path / "array.npy", SAMPLES.reshape(shape))
        np.testing.assert_array_equal(read_samples(tmp_path / "array.npy", READING), SAMPLES)
    for shape in ((6,), (2, 3), (1, 6)):
        np.save(tmp_path / "array.npy", SAMPLES[1].reshape(shape))
        np.testing.assert_array_equal(read_samples(tmp_path / "array.npy", READING), SAMPLES[1:2])
    np.testing.assert_array_equal(read_samples(tmp_path / "one.npz", READING), SAMPLES)
    assert refusal(tmp_path / "two.npz") == "3 arrays: x, y, words. Choose one with key."
    assert refusal(tmp_path / "two.npz", Reading(6, key="z")).startswith(
        "no array 'z', but x, y, words. Choose"
    )
    np.testing.assert_array_equal(read_samples(tmp_path / "two.npz", Reading(6, key="x")), SAMPLES)
    assert refusal(tmp_path / "two.npz", Reading(6, (2, 3), key="y")) == (
        "4 values, the model takes samples of 6 inputs (2 × 3)."
    )
    assert "expected numbers" in refusal(tmp_path / "two.npz", Reading(6, key="words"))
    np.save(tmp_path / "objects.npy", np.array([{}], object))
    assert refusal(tmp_path / "objects.npy").startswith("an array of Python objects")
    np.save(tmp_path / "empty.npy", np.empty((0, 6)))
    assert "0 × 6 values" in refusal(tmp_path / "empty.npy")
    (tmp_path / "one.npz").write_bytes((tmp_path / "one.npz").read_bytes()[:100])
    assert "not a sound .npz file" in refusal(tmp_path / "one.npz")
    np.save(tmp_path / "nan.npy", np.where(SAMPLES == 9, np.nan, SAMPLES))
    assert refusal(tmp_path / "nan.npy") == "sample 1 has values that are missing, NaN or infinite."


ROWS = "\n".join(",".join(map(str, row)) for row in SAMPLES)


@pytest.mark.parametrize("end", ["", "\n", "\n\n"])
def test_csv(write, end):
    np.testing.assert_array_equal(read_samples(write("a.csv", ROWS + end), READING), SAMPLES)
    np.testing.assert_array_equal(
        read_samples(write("a.csv", "a,b,c,d,e,f\n" + ROWS), READING), SAMPLES
    )
    tabs = write("a.tsv", ROWS.replace(",", "\t"))
    np.testing.assert_array_equal(read_samples(tabs, READING), SAMPLES)


def test_csv_with_more_columns_than_inputs(write):
    rows = "\n".join(f"seven,{row},x" for row in ROWS.splitlines())
    path = write("a.csv", "label,a,b,c,d,e,f,note\n" + rows)
    assert refusal(path) == (
        "8 columns, the model takes 6. Use drop for columns that are no inputs, such as labels."
    )
    for drop in (("label", "note"), ("1", "8"), ("note", "1")):
        np.testing.assert_array_equal(read_samples(path, Reading(6, drop=drop)), SAMPLES)
    assert refusal(path, Reading(6, drop=("9",))) == "no column '9' to drop among 8."
    assert refusal(path, Reading(7, drop=("note",))) == "column label has words, expected numbers."


def test_csv_by_feature_names(write):
    path = write("a.csv", "f,e,label,d,c,b,a\n" + "\n".join("5,4,9,3,2,1,0" for _ in range(2)))
    names = ("a", "b", "c", "d", "e", "f")
    found = read_samples(path, Reading(6, feature_names=names))
    np.testing.assert_array_equal(found, [[0, 1, 2, 3, 4, 5]] * 2)
    assert refusal(path, Reading(6, feature_names=("g", *names[1:]))) == (
        "no column 'g', which the model was trained with."
    )
    bare = write("bare.csv", ROWS)
    np.testing.assert_array_equal(read_samples(bare, Reading(6, feature_names=names)), SAMPLES)


@pytest.mark.parametrize("header", ["0,1,2,3,4,5", ",0,1,2,3,4,5", "0.0,1.0,2,3,4,5", "1,2,3,4,5,6"])
def test_the_numbers_of_columns_are_no_sample(write, header):
    """As pandas and others write them. Nor are they skipped: a first sample may be 0, 1, 2, …"""
    message = refusal(write("a.csv", f"{header}\n{ROWS}"))
    assert message.startswith("the first line is ")
    assert ": the columns' numbers, as pandas writes them, or a sample?" in message


def test_csv_names_that_could_be_two_inputs(write):
    path = write("a.csv", "a,a=x\nx,1\ny,2\n")
    assert refusal(path, Reading(2, feature_names=("a=x", "a=y"))) == (
        "the input 'a=x' could be the column 'a=x' or 'x' in the column 'a'. Rename a column."
    )
    found = read_samples(path, Reading(1, feature_names=("a=x",), drop=("a",)))
    np.testing.assert_array_equal(found, [[1], [2]])


def test_a_model_that_takes_a_column_and_its_values(write):
    """No data set has such inputs, but a model's file may name any."""
    reading = Reading(2, feature_names=("a", "a=x"))
    assert refusal(write("a.csv", "a\nx\nx\n"), reading) == "column a has words, expected numbers."


def test_csv_that_is_none(write, tmp_path):
    assert refusal(write("a.csv", "")) == "no first line, expected the columns' names."
    assert refusal(write("a.csv", ROWS + "\n1,2,3,4,,6")) == (
        ", line 5: no value in column '5'. Fill it in, or leave the line out."
    )
    assert refusal(write("a.csv", ROWS + "\n1,2,x,4,5,6")) == "column 3 has words, expected numbers."
    assert refusal(write("a.csv", ROWS + "\n1,2,1_0,4,5,6")) == "column 3 has words, expected numbers."
    assert "no lines below the first" in refusal(write("a.csv", "a,b,c,d,e,f\n"))
    assert "not a CSV file" in refusal(write("a.csv", '"'))
    (tmp_path / "a.csv").write_bytes(b"\xff\xfe\x00\x80" * 30)
    refusal(tmp_path / "a.csv")


@pytest.mark.parametrize("names", ["", "a,b,c,d,e,f\n"])
def test_csv_with_a_line_that_has_a_value_more(write, names):
    """It would be read as another sample: the first value as the line's name, the others moved up."""
    longer = "\n".join(f"9,{row}" for row in ROWS.splitlines())
    path = write("a.csv", names + ROWS.splitlines()[0] + "\n" + longer)
    assert refusal(path).endswith("7 values, expected 6 as in the first line.")
    if names:
        assert refusal(write("a.csv", names + longer)).endswith(
            "7 values, expected 6 as in the first line."
        )


def test_files_of_no_kind(write, tmp_path):
    assert refusal(tmp_path / "nowhere.csv") == "cannot be read: No such file or directory."
    assert refusal(tmp_path) == "a folder, expected a file of samples."
    assert refusal(write("a.bin", "hello there")).startswith(
        "not an IDX file, nor does its name end with"
    )


def test_images_need_a_model_of_images(tmp_path):
    Image.new("L", (2, 3)).save(tmp_path / "a.png")
    assert "does not know what images" in refusal(tmp_path / "a.png", Reading(6))
    np.testing.assert_array_equal(
        read_samples(tmp_path / "a.png", Reading(6, (3, 2), as_is=True)), np.zeros((1, 6))
    )
