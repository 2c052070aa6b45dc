"""Tables as people have them: read right, or one line that names the file's line and column."""

import contextlib
import csv
import gzip
import hashlib
import io
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refusal_of, refusal_of_file

from elmlda.datasets.catalogue import load_dataset
from elmlda.datasets.tables import join_names, split_names
from elmlda.errors import ElmldaError

PETS = """size,fur,age,kind
1.5,yes,3,cat
2,no,4,cow
0.5,yes,5,cat
4e1,some,6,cow
"""
INPUTS = [[1.5, 0, 0, 1, 3], [2, 1, 0, 0, 4], [0.5, 0, 0, 1, 5], [40, 0, 1, 0, 6]]


@pytest.fixture
def write(tmp_path):
    def write(content, name="pets.csv"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def load(path, label="kind", **options):
    return load_dataset(path, label=label, **options)


def refusal(path, label="kind", **options):
    return refusal_of_file(lambda path: load(path, label, **options), path)


def read_inputs(path, label="kind", **options):
    return load(path, label, **options).train.inputs.tolist()


# What a table means


def test_numbers_categories_and_classes(write):
    data = load(write(PETS))
    assert data.name == "pets"
    assert data.test is None
    assert data.classes == ("cat", "cow")
    assert data.train.labels.tolist() == [0, 1, 0, 1]
    assert data.feature_names == ("size", "fur=no", "fur=some", "fur=yes", "age")
    assert data.train.inputs.tolist() == INPUTS
    assert data.is_standardised
    assert data.checksums == {"pets.csv": hashlib.sha256(PETS.encode()).hexdigest()}
    assert data.preparation == {"label": "kind"}


@pytest.mark.parametrize(
    "drop", [["fur", "age"], ["2", 3], ("age", "2", "fur"), pd.Index(["fur", "age"]), np.array([2, 3])]
)
def test_columns_that_are_no_inputs(write, drop):
    data = load(write(PETS.replace("4e1,some", "4e1,")), drop=drop)
    assert data.feature_names == ("size",)
    assert data.train.inputs.tolist() == [[1.5], [2], [0.5], [40]]
    assert data.preparation == {"label": "kind", "drop": "fur, age"}
    for one in ("age", 3, "3"):
        assert load(write(PETS), drop=one).feature_names == ("size", "fur=no", "fur=some", "fur=yes")


@pytest.mark.parametrize(("label", "expected"), [("kind", 2), (4, 2), ("4", 2), ("age", 4), (1, 4)])
def test_the_class_may_be_any_column_by_name_or_number(write, label, expected):
    assert load(write(PETS), label).n_classes == expected


def test_the_index_that_pandas_and_r_write_goes(write):
    frame = pd.read_csv(io.StringIO(PETS))
    data = load(write(frame.to_csv()))
    assert data.train.inputs.tolist() == INPUTS
    assert data.preparation == {"label": "kind", "drop": "Unnamed: 0"}
    assert load(write(frame.to_csv()), drop=1).preparation == data.preparation
    twice = pd.read_csv(io.StringIO(frame.to_csv()))
    assert load(write(twice.to_csv())).train.inputs.tolist() == INPUTS


@pytest.mark.parametrize("name", ["None", "NA", "null", "nan", "n/a", "NaN", "-", "#N/A"])
def test_a_class_may_be_called_so(write, name):
    assert set(load(write(PETS.replace("cat", name))).classes) == {name, "cow"}


# Numbers


def column(cells, delimiter=",", others=None):
    """A file with these cells in column a, and these in column b."""
    rows = zip(cells, others or map(str, range(len(cells))), "xy" * len(cells), strict=False)
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter).writerows([("a", "b", "kind"), *rows])
    return out.getvalue()


def test_the_file_says_what_a_comma_or_point_means(write):
    cells = ["1,234", "2,345", "3,456"]
    others = ["1,5", "2,5", "3,25"]
    assert read_inputs(write(column(cells, ";", others))) == [[1.234, 1.5], [2.345, 2.5], [3.456, 3.25]]
    points = ["1.234", "2.345", "3.456"]
    assert [row[0] for row in read_inputs(write(column(points, ";", others)))] == [1234, 2345, 3456]
    assert [row[0] for row in read_inputs(write(column(points, ";")))] == [1.234, 2.345, 3.456]
    assert [row[0] for row in read_inputs(write(column(cells, ",")))] == [1234, 2345, 3456]
    message = refusal(write(column(cells, ";")))
    assert message.startswith(", line 2: '1,234' in column 'a', expected a number like 1234.5")
    assert "one way" in message


BAD = [
    "-", "--", "–", ".", "*", "n.a.", "N.A.", "n. a.", "not available", "unknown", "missing", "nil",
    "1,234", "1 234", "1'234", "1_234", "0,5", "1.234,5", "5kg", "5 kg", "5%", "$5", "~5", "<5", ">5",
    "5?", "5*", "(5)", "1.2.3", "1e", "0x1F", "l.5", "O.5", "#DIV/0!", "#REF!", "#VALUE!", "#NAME?",
    "#NUM!", "#NULL!", "=A1", "TRUE", "2020-01-31", "12:30", "½", "inf", "-inf", "1e999", "e5",
    "+", ",5,",
]  # fmt: skip


@pytest.mark.parametrize("cell", BAD)
@pytest.mark.parametrize("n_rows", [6, 60, 600])
def test_a_cell_that_is_no_number_is_named(write, cell, n_rows):
    cells = [f"{0.13 * i - 2:.2f}" for i in range(n_rows)]
    cells[4] = cell
    message = refusal(write(column(cells)))
    assert message.startswith(f", line 6: '{cell}' in column 'a', expected a number like 1234.5")
    assert "Correct it, " in message


def test_lines_are_those_of_the_file(write):
    text = 'a,b,kind\n\n1,"two\nlines",x\n  \n,,\n2,w,y\n\n?,w,x\n'
    assert refusal(write(text)).startswith(", line 9: no value in column 'a'.")
    assert refusal(write(text.replace("?", "3").replace('"two\nlines"', ""))).startswith(
        ", line 3: no value in column 'b'."
    )


def test_words_and_a_few_numbers_are_categories(write):
    doors = ["2", "3", "4", "5more"] * 10  # as in a well-known data set of cars
    data = load(write(column(doors)))
    assert data.feature_names == ("a=2", "a=3", "a=4", "a=5more", "b")
    assert data.train.inputs[:4, :4].tolist() == np.eye(4).tolist()


def test_names_of_people_are_no_categories(write):
    message = refusal(write(column([f"person {i}" for i in range(150)])))
    assert message.startswith(
        ", line 2: 'person 0' in column 'a', expected a number like 1234.5, or at most"
    )
    assert "75 words as categories. " in message
    units = [f"{i} kg" for i in range(30)]
    assert refusal(write(column(units))).startswith(", line 2: '0 kg' in column 'a'")
    assert load(write(column(units * 2))).n_inputs == 31  # 30 categories, and column b


# Missing values


@pytest.mark.parametrize("cell", ["", " ", "?", "NA", "NaN", "-nan", "NULL", "n/a", "None", "#N/A"])
@pytest.mark.parametrize("column", ["size", "fur"])
def test_a_missing_value_is_named_dropped_or_filled(write, cell, column):
    row = {"size": "1", "fur": "yes", "age": "2", "kind": "cat", column: cell}
    path = write(PETS + ",".join(row.values()) + "\n1,yes,2,cat\n")
    assert refusal(path) == (
        f", line 6: no value in column '{column}'. Fill it in, or use missing='drop' or missing='mean'."
    )
    dropped = load(path, missing="drop")
    assert dropped.train.inputs.tolist() == [*INPUTS, [1, 0, 0, 1, 2]]
    assert dropped.preparation["missing"] == "samples with missing values left out"
    filled = load(path, missing="mean")
    expected = {"size": [np.nan, 0, 0, 1, 2], "fur": [1, np.nan, np.nan, np.nan, 2]}[column]
    np.testing.assert_array_equal(filled.train.inputs[4], expected)
    assert filled.preparation["missing"] == "filled with training means"
    assert filled.n_filled == {column: 1}
    assert np.isfinite(filled.split().train.inputs).all()


@pytest.mark.parametrize("cell", ["", "?"])
def test_a_missing_label_is_named_or_dropped(write, cell):
    path = write(f"{PETS}7,yes,7,{cell}\n")
    for missing in (None, "mean"):
        assert refusal(path, missing=missing).startswith(", line 6: no value in column 'kind'. ")
    assert load(path, missing="drop").train.inputs.tolist() == INPUTS
    everywhere = write(re.sub(r"(?m),\w+$", f",{cell}", PETS).replace(f"age,{cell}", "age,kind"))
    assert refusal(everywhere, missing="drop").startswith(", line 2: no value in column 'kind'")


def test_columns_without_any_value(write):
    path = write("a,b,kind\n1,,x\n2,NA,y\n3,,x\n4,?,y\n")
    assert refusal(path).startswith(", line 2: no value in column 'b'")
    split = load(path, missing="mean").split()
    assert (split.train.inputs[:, 1] == 0).all()
    assert (split.test.inputs[:, 1] == 0).all()
    frame = pd.DataFrame({"a": [1, 2.5], "b": [np.nan, np.nan], "kind": ["x", "y"]})
    assert "row 0: no value in column 'b'" in refusal_of(load, frame)
    assert "row 0: no value in column 'b'" in refusal_of(load, frame, "b")


# What is wrong


@pytest.mark.parametrize(
    ("content", "label", "message"),
    [
        (PETS, None, ": which column has the class: size, fur, age and kind? Name it with label."),
        ("", "y", ": empty, expected the columns' names and samples."),
        ("a,y\n", "y", ": no lines below the first, expected samples."),
        ("y\n1\n2\n", "y", ": 'y' has the class, expected to keep it and inputs."),
        ("a,y\n1,p\n2,p\n", "y", ", column 'y': all labels are p, expected two or more."),
        ("a,a,y\n1,2,p\n", "y", ": several columns are named a, expected one each."),
        ("b,a,b,a,y\n1,2,3,4,p\n", "y", ": several columns are named a and b, expected one each."),
        ("a,y\n1,p,3\n", "y", ", line 2: 3 cells, expected 2 as in the first line."),
        ('a,y\n\n1,"p\nq"\n\n1,p,3\n', "y", ", line 6: 3 cells, expected 2 as in the first line."),
        ("a,y\n1,p\n2\n", "y", ", line 3: no value in column 'y'. Fill it in, or use missing='drop'"),
        ('a,y\n\n1,"p\n2,q\n', "y", ", line 3: a quote is opened here that is never closed."),
        ('a,y\n1,"p' + 99_999 * "\n2,q", "y", ", line 2: a quote is opened here that is never closed."),
        (gzip.compress(PETS.encode(), mtime=0)[:-9], "y", ": broken gzip data, or cut off"),
        (PETS.encode("utf-16"), "kind", ", line 1: not text in UTF-8"),
        (PETS.encode("utf-16-le"), "kind", ", line 1: not text in UTF-8"),
        (PETS.replace("cat", "ß").encode("latin-1"), "kind", ", line 2: not text in UTF-8"),
        (PETS.encode() + b"4,\0,q\n", "kind", ", line 6: not text in UTF-8"),
        (PETS.encode() + b"\x1a", "kind", ", line 6: no value in column 'kind'"),
        (b"a;b;kind\n1;2;p\n3;4;5;q\n", "kind", ", line 3: 4 cells, expected 3"),
        (b'"a","b"\n"1",1,"p"\n"2",2,"q"\n', "kind", ", line 2: 3 cells, expected 2"),  # R's row names
        (b"# made by x\na,kind\n1,p\n2,q\n", "kind", ", line 2: 2 cells, expected 1"),
    ],
)  # fmt: skip
def test_what_is_refused(write, content, label, message):
    assert refusal(write(content), label).startswith(message)


def test_columns_without_a_name(write):
    data = load(write("a,,kind,\n1,2,p,\n2,3,q,\n"))  # the last one has no value either
    assert data.feature_names == ("a", "Unnamed: 1")
    assert data.preparation["drop"] == "Unnamed: 3"
    message = refusal(write("a,,kind,\n1,2,p,\n2,3,q,7\n"))
    assert message.startswith(", line 2: no value in column 'Unnamed: 3'")


# With and without names


NAMED = [  # first line and lines below
    ("0,1,2,kind", ["1.5,2,3,p", "4,5,6,q"]),  # as pandas writes the columns of an array
    (",0,1,kind", ["0,1.5,2,p", "1,4,5,q"]),
    ("1990,1991,kind", ["3,4,p", "5,6,q"]),
    ("fur,legs", ["red,two", "grey,four"]),
    ("size,NA,kind", ["1,2,p", "3,4,q"]),
]
UNNAMED = [
    ["5.1,3.5,1.4,0.2,setosa", "7.0,3.2,4.7,1.4,versicolor", "4.9,3.0,1.4,0.2,setosa",
     "6.4,3.2,4.5,1.5,versicolor"],
    ["0,0,5,13,7", "0,1,5,11,8"],
    ["5,3,7,p", "1,2,3,q", "4,5,6,p", "3,3,3,q"],
    ["red,two,p", "grey,two,q", "red,four,q", "grey,four,p"],
    ["1.5,9.5,1.5", "2,3,4"],
]  # fmt: skip
UNCLEAR = [
    ["1.5,9.5,0.5", "2,3,4"],
    ["7,3,9,kind", "1,2,3,p", "4,5,6,q"],
    ["350.5,351.0,352.5,kind", "1,2,3,p", "4,5,6,q"],  # wavelengths
    ["0,1,2", "1.5,red,p", "4,grey,q"],  # numbers above words
    ["5.1,apple,p", "4.9,pear,q", "4.7,plum,r", "4.6,pear,q", "4.5,plum,r"],
    ["1,2,3", "4,5,6"],
    ["0,1,2,3", "1,5,6,0"],
    ["5.1,3.5,1.4,0.2", "4.9,3.0,1.4,0.4"],
    ["male,smoker,kind", "male,no,p", "female,no,q"],
    ["5.1,9.5,1.4,setosa", "4.9,3.0,1.4,versicolor"],  # a class that has no other sample
    ["5kg,3.5,4.5,3.5,p", "4,3,3,4,q", "3,4,4,3,p"],
    ["0,3.5,4.5,mauve", "1,2,3,red", "0,1,5,blue", "1,2,4,red"],  # a word as rare as others
    ["350.5,1991,352.5", "1.5,red,p", "4,grey,q"],  # numbers above words, but in no order
]


@pytest.mark.parametrize(("first", "below"), NAMED)
@pytest.mark.parametrize("header", [None, True])
def test_a_first_line_of_names(write, first, below, header):
    data = load(write("\n".join([first, *below * 10])), first.count(",") + 1, header=header)
    assert len(data.train.labels) == 10 * len(below)
    assert data.preparation["label"] == first.split(",")[-1]
    assert "header" not in data.preparation


@pytest.mark.parametrize("lines", UNNAMED)
@pytest.mark.parametrize("header", [None, False])
def test_a_first_line_that_is_a_sample(write, lines, header):
    width = lines[0].count(",") + 1
    data = load(write("\n".join(lines)), width, header=header)
    labels = [line.split(",")[-1] for line in lines]
    assert [data.classes[i] for i in data.train.labels] == labels
    assert data.preparation == {"label": str(width), "header": "no"}
    names = {name.partition("=")[0] for name in data.feature_names}
    assert names == {str(i + 1) for i in range(width - 1)}


@pytest.mark.parametrize("lines", UNCLEAR)
def test_a_first_line_that_may_be_either_is_asked_about(write, lines):
    path, width = write("\n".join(lines)), lines[0].count(",") + 1
    with pytest.raises(ElmldaError) as caught:
        load(path, width)
    assert str(caught.value).startswith(f"{path}, line 1: ")
    assert "header=True or header=False" in str(caught.value)
    assert "--header or --no-header" in caught.value.for_command_line()
    assert len(load(path, width, header=False, drop=1).train.labels) == len(lines)


def test_without_names_columns_are_dropped_by_number_and_empty_ones_go(write):
    data = load(write("5,a,7,\n6,b,8,\n6,a,9,\n"), 2, header=False, drop=1)
    assert data.feature_names == ("3",)
    assert data.preparation == {"label": "2", "header": "no", "drop": "1, Unnamed: 3"}
    message = refusal(write("5,a,7,\n6,b,8,\n"), 5, header=False)
    assert message.startswith(": no column '5', but 1, 2, 3 and Unnamed: 3.")


@pytest.mark.parametrize(
    "source", ["iris", ([[1.0], [2.0]], [0, 1]), pd.DataFrame({"a": [1, 2]})], ids=str
)
@pytest.mark.parametrize("header", [True, False])
def test_only_csv_files_may_have_a_header(source, header):
    assert f"header={header}" in refusal_of(load_dataset, source, header=header)


# DataFrames


FRAME = pd.DataFrame(
    {
        "size": [1.5, 2, 0.1, 4e-300, 5, 6],
        "n": [1, 2, 3, 4, 5, 6],
        "fur": ["no", "yes", "a, b", "no", "no", "yes"],
        "flag": [True, False, True, True, False, False],
        "kind": [1.0, 2.0, 1.0, 2.0, 1.0, 2.0],
    }
)


@pytest.mark.parametrize(
    "change", [{}, {"fur": "category", "n": "Int64"}, {"n": "int8", "kind": "object"}]
)
def test_a_data_frame_is_as_its_file(write, change):
    path = write(FRAME.to_csv(index=False), "data.csv")
    file, frame = load(path), load(FRAME.astype(change))
    for one, other in zip((file, file.split()), (frame, frame.split()), strict=True):
        np.testing.assert_array_equal(one.train.inputs, other.train.inputs)
        np.testing.assert_array_equal(one.train.labels, other.train.labels)
    for name in ("name", "classes", "feature_names", "preparation"):
        assert getattr(file, name) == getattr(frame, name)
    assert list(file.checksums.values()) == list(load(FRAME).checksums.values())


def test_a_data_frame_and_labels(write):
    inputs, labels = FRAME.drop(columns="kind"), FRAME["kind"]
    expected = load(FRAME)
    for pair in ((inputs, labels), (inputs, labels.tolist()), (inputs, labels.set_axis(range(9, 15)))):
        data = load_dataset(pair)
        np.testing.assert_array_equal(data.train.inputs, expected.train.inputs)
        assert (data.classes, data.feature_names) == (("1", "2"), expected.feature_names)
    assert load_dataset((inputs.rename(columns={"n": "y"}), labels)).feature_names[1] == "y"


def test_a_data_frame_that_lacks_values():
    frame = FRAME.copy().set_index(pd.Index(list("abcdef")))
    frame.loc["c", "size"] = np.nan
    frame.loc["e", "fur"] = None
    assert refusal_of(load, frame).startswith("data, row c: no value in column 'size'. ")
    assert refusal_of(load, frame, drop="size").startswith("data, row e: no value in column 'fur'. ")
    assert len(load(frame, missing="drop").train.labels) == 4
    frame.loc["b", "kind"] = np.nan
    message = refusal_of(load, frame, missing="mean")
    assert message == "data, row b: no value in column 'kind'. Fill it in, or use missing='drop'."


def test_a_data_frame_with_infinite_or_odd_values():
    frame = FRAME.copy()
    frame.loc[3, "size"] = np.inf
    for missing in (None, "mean"):
        assert "row 3: 'inf' in column 'size'" in refusal_of(load, frame, missing=missing)
    frame["size"] = [1.5, 2.5, 3.5, "5kg", 7.5, 8.5]
    assert refusal_of(load, frame).startswith("data, row 3: '5kg' in column 'size', expected a number")
    assert "several columns" in refusal_of(load, pd.DataFrame([[1, 2, 3]], columns=["a", "a", "kind"]))
    for empty in (pd.DataFrame(), frame[:0]):
        assert refusal_of(load, empty).startswith("data: an empty DataFrame")


# Properties


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("csv")


@settings(derandomize=True, deadline=None, max_examples=300)
@given(
    st.one_of(st.binary(max_size=60), st.text('ab,;|\t"\n\r1.e?\x00 é', max_size=60).map(str.encode)),
    st.sampled_from(["a", "b", 1, None]),
    st.sampled_from([None, "drop", "mean"]),
)
def test_arbitrary_content_is_read_or_refused(folder, content, label, missing):
    path = folder / "y.csv"
    path.write_bytes(b"a,b\n" + content)
    with contextlib.suppress(ElmldaError):
        data = load(path, label, missing=missing)
        assert data.n_inputs == len(data.feature_names) >= 1


@given(st.lists(st.text(st.sampled_from('ab, "\n\\;'), max_size=6)))
def test_names_that_are_joined_can_be_split(names):
    assert split_names(join_names(names)) == names
