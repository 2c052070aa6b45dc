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

from elmlda.datasets import load_dataset
from elmlda.errors import ElmldaError

properties = settings(derandomize=True, deadline=None)

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
    assert data.columns == [
        {"name": "size"}, {"name": "fur", "categories": ["no", "some", "yes"]}, {"name": "age"},
        {"name": "kind", "label": True},
    ]  # fmt: skip


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize(
    "change",
    [
        lambda text: text,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace(",", ", "),
        lambda text: text.replace(",", " ,"),
        lambda text: "\ufeff" + text,
        lambda text: text.replace("\n", "\n\n"),
        lambda text: text.replace("\n", "\n   \n") + ",,,\n , , ,\n",
        lambda text: text.rstrip("\n"),
        lambda text: re.sub(r"[^,\n]+", lambda cell: f'"{cell[0]}"', text),
    ],
    ids=["plain", "CRLF", "blanks after", "blanks before", "BOM", "empty lines", "blank lines",
         "no end", "quotes"],
)  # fmt: skip
@pytest.mark.parametrize(
    "pack", [str.encode, lambda text: gzip.compress(text.encode())], ids=["raw", "gzip"]
)
def test_ways_to_write_the_same(write, change, delimiter, pack):
    data = load(write(pack(change(PETS).replace(",", delimiter))))
    assert data.train.inputs.tolist() == INPUTS
    assert data.classes == ("cat", "cow")


def test_delimiters_and_quotes_in_names_and_values(write):
    data = load(write('"Length, cm";"Width, cm";"the ""kind"""\n1,5;2;"x; y"\n2,5;3;z\n'), 'the "kind"')
    assert data.feature_names == ("Length, cm", "Width, cm")
    assert data.classes == ("x; y", "z")
    assert data.train.inputs.tolist() == [[1.5, 2], [2.5, 3]]
    bare = load(write("Length, cm;Width, cm;kind\n1,5;2,25;x\n2,5;3,5;z\n"))
    assert bare.train.inputs.tolist() == [[1.5, 2.25], [2.5, 3.5]]


@pytest.mark.parametrize("line", ["sep=;", "SEP=;", '"sep=;"'])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_excels_separator_line(write, line, end):
    path = write(end.join([line, "a;kind", "1,5;x", "2,5;y", "-;x", ""]))
    assert refusal(path).startswith(", line 5: '-' in column 'a', expected a number")
    assert read_inputs(write(end.join([line, "a,b;kind", "1;x", "2;y"]))) == [[1], [2]]


def test_excels_unicode_text(write):
    text = PETS.replace(",", "\t").replace("cat", "größe").replace("\n", "\r\n")
    assert load(write(text.encode("utf-16"))).classes == ("cow", "größe")


def test_text_that_is_not_utf8(write):
    message = refusal(write("a,kind\n1,x\n2,größe\n".encode("latin-1")))
    assert message.startswith(", line 3: not text in UTF-8.")


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
    for drop in ("1", "Unnamed: 0", 1):
        assert load(write(frame.to_csv()), drop=drop).preparation == data.preparation
    twice = pd.read_csv(io.StringIO(frame.to_csv()))
    assert load(twice).train.inputs.tolist() == INPUTS
    assert load(write(twice.to_csv())).train.inputs.tolist() == INPUTS


@pytest.mark.parametrize("labels", [["1.0", "2.0"], ["1", "2.0"], ["+1", "2"]])
def test_whole_numbers_as_labels_have_no_point(write, labels):
    lines = "".join(f"{i},{labels[i % 2]}\n" for i in range(6))
    assert load(write(f"a,kind\n{lines}")).classes == ("1", "2")


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


@pytest.mark.parametrize("delimiter", [";", "\t", ","])
def test_pandas_decimal_commas_are_the_same_numbers(write, delimiter):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 3)) * 1e3, columns=list("abc"))
    frame["kind"] = ["x", "y"] * 20
    plain = load(write(frame.to_csv(index=False)))
    comma = load(write(frame.to_csv(index=False, sep=delimiter, decimal=","), "other.csv"))
    np.testing.assert_array_equal(plain.train.inputs, frame[list("abc")])
    np.testing.assert_array_equal(plain.train.inputs, comma.train.inputs)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1,234", "12,345,678", "999", "1,000.5"], [1234, 12345678, 999, 1000.5]),
        (["1'234", "12\u2019345.5", "1"], [1234, 12345.5, 1]),
        (["1 234", "12\u00a0345", "1\u202f234.5"], [1234, 12345, 1234.5]),
        (["1,5", "2", "-0,25", "1.234,5", "1e3", "0,125"], [1.5, 2, -0.25, 1234.5, 1000, 0.125]),
    ],
)
@pytest.mark.parametrize("delimiter", [",", "\t"])
def test_separators_of_thousands(write, cells, expected, delimiter):
    path = write(column(cells, delimiter))
    assert [row[0] for row in read_inputs(path)] == expected


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
    assert "two ways" in message


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


@pytest.mark.parametrize("words", [["True", "False"], ["1_0", "2_0"], ["x1", "x2"], ["a, b", "é"]])
def test_categories_are_in_the_order_of_strings(write, words):
    data = load(write(column(words * 10)))
    assert data.columns[0] == {"name": "a", "categories": sorted(words)}
    assert data.train.inputs[:, :2].sum(axis=1).tolist() == [1] * 20


def test_names_of_people_are_no_categories(write):
    message = refusal(write(column([f"person {i}" for i in range(150)])))
    assert message.startswith(
        ", line 2: 'person 0' in column 'a', expected a number like 1234.5, or at most"
    )
    assert "75 words as categories. " in message
    units = [f"{i} kg" for i in range(30)]
    assert refusal(write(column(units))).startswith(", line 2: '0 kg' in column 'a'")
    assert len(load(write(column(units * 2))).columns[0]["categories"]) == 30


# Missing values


@pytest.mark.parametrize("cell", ["", " ", "?", "NA", "nan", "NaN", "null", "N/A", "None", "#N/A"])
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
    assert filled.columns[0] == {"name": "size", "missing": "mean"}
    assert filled.preparation["missing"] == "filled with training means"
    assert np.isfinite(filled.split().train.inputs).all()


@pytest.mark.parametrize("cell", ["", "?"])
def test_a_missing_label_is_named_or_dropped(write, cell):
    path = write(f"{PETS}7,yes,7,{cell}\n")
    for missing in (None, "mean"):
        assert refusal(path, missing=missing).startswith(", line 6: no value in column 'kind'. ")
    assert load(path, missing="drop").train.inputs.tolist() == INPUTS


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
        (PETS, "knd", ": no column 'knd', but size, fur, age and kind."),
        (PETS, 5, ": no column '5', but size, fur, age and kind."),
        (PETS, None, ": which column has the class: size, fur, age and kind? Name it with label."),
        ("", "y", ": empty, expected the columns' names and samples."),
        ("\n\n", "y", ": empty, expected the columns' names and samples."),
        ("a,y\n", "y", ": no lines below the first, expected samples."),
        ("a,y\n,\n", "y", ": no lines below the first, expected samples."),
        ("y\n1\n2\n", "y", ": 'y' has the class, expected to keep it and inputs."),
        ("a,y\n1,p\n2,p\n", "y", ", column 'y': all labels are p, expected two or more."),
        ("a,a,y\n1,2,p\n", "y", ": several columns are named a, expected one each."),
        ("b,a,b,a,y\n1,2,3,4,p\n", "y", ": several columns are named a and b, expected one each."),
        ("1,2,3\n4,5,6\n", "3", ": the first line has only numbers, expected the columns' names"),
        ("a,y\n1,p,3\n", "y", ", line 2: 3 cells, expected 2 as in the line of names."),
        ('a,y\n\n1,"p\nq"\n\n1,p,3\n', "y", ", line 6: 3 cells, expected 2 as in the line of names."),
        ("a,y\n1,p\n2\n", "y", ", line 3: no value in column 'y'. Fill it in, or use missing='drop'"),
        ('a,y\n\n1,"p\n2,q\n', "y", ", line 3: a quote is opened here that is never closed."),
        ('a,y\n1,"p' + 99_999 * "\n2,q", "y", ", line 2: a quote is opened here that is never closed."),
        (gzip.compress(PETS.encode(), mtime=0)[:-9], "y", ": broken gzip data, or cut off"),
    ],
)  # fmt: skip
def test_what_is_refused(write, content, label, message):
    assert refusal(write(content), label).startswith(message)


@pytest.mark.parametrize("drop", ["a", 1])
def test_which_of_two_columns_of_a_name_goes_is_not_guessed(write, drop):
    assert "several columns are named a" in refusal(write("a,a,kind\n1,2,p\n1,2,q\n"), drop=drop)


def test_a_word_is_not_several_columns(write):
    assert "no column 'ab'" in refusal(write("a,b,c,kind\n1,2,3,p\n1,2,3,q\n"), drop="ab")


def test_columns_without_a_name(write):
    data = load(write("a,,kind,\n1,2,p,\n2,3,q,\n"))  # the last one has no value either
    assert data.feature_names == ("a", "Unnamed: 1")
    assert data.preparation["drop"] == "Unnamed: 3"
    message = refusal(write("a,,kind,\n1,2,p,\n2,3,q,7\n"))
    assert message.startswith(", line 2: no value in column 'Unnamed: 3'")


def test_the_command_line_is_told_of_options(write):
    with pytest.raises(ElmldaError, match="missing='mean'") as caught:
        load(write("a,kind\n,x\n2,y\n"))
    assert caught.value.for_command_line().endswith("or use --missing drop or --missing mean.")


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
    for name in ("name", "classes", "feature_names", "columns", "preparation"):
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


NAMES = st.text("abcdeé xyz_-\"'", min_size=1, max_size=5).map(str.strip).filter(bool)
WORDS = st.sampled_from(["red", "a, b", 'say "x"', "two\nlines", "é"])
FLOATS = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def tables(draw):
    """Names, columns of numbers or of words, and labels."""
    names = draw(st.lists(NAMES, min_size=2, max_size=5, unique=True))
    n_rows = draw(st.integers(2, 8))
    kinds = [st.lists(kind, min_size=n_rows, max_size=n_rows) for kind in (FLOATS, WORDS)]
    columns = [draw(st.one_of(kinds)) for _ in names[1:]]
    return names, columns, ["p", "q", *draw(st.lists(WORDS, min_size=n_rows - 2, max_size=n_rows - 2))]


@properties
@given(tables(), st.sampled_from(",;\t|"))
def test_what_the_csv_module_writes_is_read(folder, table, delimiter):
    names, columns, labels = table
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter).writerows([names, *zip(labels, *columns, strict=True)])
    (folder / "x.csv").write_bytes(out.getvalue().encode())
    data = load(folder / "x.csv", names[0])
    assert [data.classes[i] for i in data.train.labels] == labels
    inputs = dict(zip(data.feature_names, data.train.inputs.T.tolist(), strict=True))
    for name, column in zip(names[1:], columns, strict=True):
        if isinstance(column[0], float):
            assert inputs[name] == column
        else:
            for word in set(column):
                assert inputs[f"{name}={word}"] == [float(cell == word) for cell in column]


CELLS = st.one_of(
    FLOATS.map(repr), st.integers().map(str), st.text("abc, \"'\n;é", min_size=1, max_size=4)
)


@settings(derandomize=True, deadline=None, max_examples=300)
@given(
    st.one_of(
        st.binary(max_size=60),
        st.text('ab,;|\t"\n\r1.e?\x00', max_size=60).map(str.encode),
        st.lists(st.lists(CELLS, min_size=1, max_size=3), min_size=1, max_size=4).map(
            lambda rows: "\n".join(",".join(row) for row in rows).encode()
        ),
    ),
    st.sampled_from(["a", "b", 1, None]),
    st.sampled_from([None, "drop", "mean"]),
)
def test_arbitrary_content_is_read_or_refused(folder, content, label, missing):
    path = folder / "y.csv"
    path.write_bytes(b"a,b\n" + content)
    with contextlib.suppress(ElmldaError):
        data = load(path, label, missing=missing)
        assert data.n_inputs == len(data.feature_names) >= 1
