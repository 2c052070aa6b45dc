"""CSV files of the user's own: what they mean, and one line for what is wrong."""

import contextlib
import csv
import gzip
import hashlib
import io
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refusal_of_file

from elmlda.datasets import Table, content, csv_file, load_dataset, load_source
from elmlda.datasets.csv_file import load_csv
from elmlda.errors import ElmldaError

properties = settings(derandomize=True, deadline=None)

PETS = """size,fur,age,kind
1.5,yes,3,cat
2,no,4,cow
0.5,yes,5,cat
4e1,some,6,cow
"""


@pytest.fixture
def write(tmp_path):
    def write(content, name="pets.csv"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def refusal(path, label="kind"):
    return refusal_of_file(load_csv, path, label)


# What a file means


def test_numbers_categories_and_classes(write):
    path = write(PETS)
    table = load_source(str(path), label="kind")
    assert isinstance(table, Table)
    assert table.name == "pets"
    assert table.classes == ("cat", "cow")
    assert table.samples.labels.tolist() == [0, 1, 0, 1]
    assert table.feature_names == ("size", "fur=no", "fur=some", "fur=yes", "age")
    assert table.samples.inputs.tolist() == [
        [1.5, 0, 0, 1, 3],
        [2, 1, 0, 0, 4],
        [0.5, 0, 0, 1, 5],
        [40, 0, 1, 0, 6],
    ]
    assert table.samples.inputs.dtype == np.float64
    assert table.is_standardised
    assert table.checksums == {"pets.csv": hashlib.sha256(PETS.encode()).hexdigest()}
    assert table.preparation == {"label": "kind"}


@pytest.mark.parametrize("drop", [["fur", "age"], ["2", "3"], ["age", "2", "fur"]])
def test_columns_that_are_no_inputs(write, drop):
    table = load_source(str(write(PETS.replace("4e1,some", "4e1,"))), label="kind", drop=drop)
    assert table.feature_names == ("size",)
    assert table.samples.inputs.tolist() == [[1.5], [2], [0.5], [40]]
    assert table.preparation == {"label": "kind", "drop": ", ".join(drop)}


def test_columns_that_cannot_be_dropped(write):
    path = write(PETS)
    for drop, message in [
        (["9"], "no column '9' to drop among 4."),
        (["kind"], "'kind' has the class and can't be dropped."),
        (["size", "fur", "age"], "no column but 'kind', expected inputs beside it."),
    ]:
        assert refusal_of_file(load_csv, path, "kind", drop) == f": {message}"
    with pytest.raises(ElmldaError, match=r"^iris: not a \.csv file.* Leave out drop\.$"):
        load_dataset("iris", drop=["y"])


@pytest.mark.parametrize("label", ["size", "age"])
def test_the_class_may_be_a_number_and_in_any_column(write, label):
    table = load_csv(write(PETS), label)
    assert table.n_classes == 4
    assert list(map(float, table.classes)) == sorted(map(float, table.classes))
    assert "kind=cat" in table.feature_names


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace(",", ";"),
        lambda text: text.replace(",", "\t"),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace(",", ", "),
        lambda text: text.replace(",", " ,"),
        lambda text: "\ufeff" + text,
        lambda text: text.replace("\n", "\n\n"),
        lambda text: text.rstrip("\n"),
        lambda text: text.replace("cat", '"cat"').replace("2,", '"2",'),
        lambda text: gzip.compress(text.encode()),
    ],
)
def test_ways_to_write_the_same(write, change):
    table, plain = load_csv(write(change(PETS), "other.csv"), "kind"), load_csv(write(PETS), "kind")
    np.testing.assert_array_equal(table.samples.inputs, plain.samples.inputs)
    np.testing.assert_array_equal(table.samples.labels, plain.samples.labels)
    assert (table.feature_names, table.classes) == (plain.feature_names, plain.classes)


def test_compression_does_not_change_name_or_checksum(write):
    packed = load_csv(write(gzip.compress(PETS.encode()), "pets.csv.gz"), "kind")
    plain = load_csv(write(PETS), "kind")
    assert (packed.name, packed.checksums) == (plain.name, plain.checksums)


def test_quoted_names_and_values_with_commas(write):
    table = load_csv(write('"a, b","the ""kind"""\n1,"x, y"\n2,z\n'), 'the "kind"')
    assert table.feature_names == ("a, b",)
    assert table.classes == ("x, y", "z")


def test_numbers_after_many_lines_that_had_none(write, monkeypatch):
    monkeypatch.setattr(csv_file, "ROWS_AT_A_TIME", 3)
    lines = ["a,b,y", *(f"{i},{i},{i % 2}" for i in range(10)), "x,10,0", "3,11,1"]
    table = load_csv(write("\n".join(lines)), "y")
    assert table.feature_names == (*(f"a={v}" for v in sorted({*map(str, range(10)), "x"})), "b")
    assert table.samples.inputs[:, -1].tolist() == list(range(12))
    assert table.samples.inputs[:, :-1].sum(axis=1).tolist() == [1] * 12


def test_a_constant_column_is_fine(write):
    path = write("a,b,y\n" + "1,7,p\n2,7,q\n3,7,p\n4,7,q\n")
    dataset = load_dataset(str(path), label="y")
    assert np.isfinite(dataset.train.inputs).all()
    assert (dataset.train.inputs[:, 1] == 0).all()


def test_underscores_make_no_number(write):
    table = load_csv(write("a,y\n1_0,p\n2_0,q\n"), "y")
    assert table.feature_names == ("a=1_0", "a=2_0")


def test_whole_numbers_beyond_64_bits(write):
    assert load_csv(write(f"a,y\n{10**25},p\n1,q\n"), "y").samples.inputs.tolist() == [[1e25], [1.0]]


# What is wrong


@pytest.mark.parametrize("missing", ["", " ", "?", "NA", "nan", "NaN", "null", "N/A", "None"])
@pytest.mark.parametrize("column", ["size", "fur", "kind"])
def test_a_missing_value_is_named(write, missing, column):
    row = {"size": "1", "fur": "yes", "age": "2", "kind": "cat", column: missing}
    path = write(PETS + ",".join(row.values()) + "\n1,yes,2,cat\n")
    shown = f" ('{missing}')" if missing.strip() else ""
    assert refusal(path) == (
        f", line 6: no value in column '{column}'{shown}. Fill it in, or leave the line out."
    )


def test_lines_are_counted_as_an_editor_does(write):
    path = write('a,b,y\n\n1,"x\ny",p\n\n2,,q\n')
    assert refusal(path, "y").startswith(", line 6: no value in column 'b'")


@pytest.mark.parametrize("value", ["inf", "-inf", "1e999"])
def test_a_number_that_is_not_finite(write, value):
    assert refusal(write(PETS + f"{value},no,3,cat\n")) == (
        f", line 6: column 'size' is {value}, expected a finite number."
    )


@pytest.mark.parametrize(
    ("content", "label", "message"),
    [
        (
            PETS,
            "knd",
            ": no column 'knd'. Did you mean 'kind'? It has the columns: size, fur, age and kind.",
        ),
        (
            PETS,
            "KIND",
            ": no column 'KIND'. Did you mean 'kind'? It has the columns: size, fur, age and kind.",
        ),
        (PETS, "zzz", ": no column 'zzz'. It has the columns: size, fur, age and kind."),
        (
            PETS,
            None,
            ": which column has the class: size, fur, age and kind? Name it with label.",
        ),
        ("", "y", ": no first line, expected the columns' names."),
        ("\n\n", "y", ": no first line, expected the columns' names."),
        ("a,y\n", "y", ": no lines below the first, expected samples."),
        ("y\n1\n2\n", "y", ": no column but 'y', expected inputs beside it."),
        ("a,y\n1,p\n2,p\n", "y", ": 'y' is p in every line, expected two or more."),
        ("a,a,y\n1,2,p\n", "y", ": two columns are named 'a', expected one of them."),
        ("a,,y\n1,2,p\n", "y", ": column 2 has no name in the first line."),
        (
            "1,2,3\n4,5,6\n",
            "3",
            ": the first line has only numbers, expected the columns' names there.",
        ),
        ("a,y\n1,p,3\n", "y", ", line 2: 3 values, expected 2 as in the first line."),
        ("a,y\n1,p\n2\n", "y", ", line 3: 1 values, expected 2 as in the first line."),
        ('a,y\n1,"p\n', "y", ", line 2: not a CSV file: unexpected end of data."),
        (
            b"a,y\n1,\xff\n",
            "y",
            ", line 2: not text in UTF-8, expected a CSV file. If it is in Latin-1, run "
            "iconv -f latin1 -t utf-8 on it first.",
        ),
        (
            gzip.compress(PETS.encode(), mtime=0)[:-9],
            "y",
            ": the gzip data stop after 70 bytes of content: the file is cut off.",
        ),
    ],
)
def test_what_is_refused(write, content, label, message):
    found = refusal(write(content), label)
    if "gzip" in message:
        assert found.endswith("the file is cut off.")
    else:
        assert found == message


def test_too_many_categories(write):
    rows = "".join(f"{i}.5,{i % 2}\n" for i in range(150))
    assert refusal(write(f"a,y\n{rows}3.O,1\n"), "y") == (
        ": column 'a' has 151 different values and not all are numbers ('3.O'), expected numbers or at "
        "most 100 categories. Mend it, or leave the column out."
    )


def test_a_quantity_for_a_class(write):
    path = write("a,y\n" + "".join(f"{i},{i / 7}\n" for i in range(20)))
    with pytest.raises(
        ElmldaError, match="20 of 20 classes have a single sample: is column 'y' a class"
    ):
        load_dataset(str(path), label="y")


def test_a_label_is_for_csv_only():
    with pytest.raises(ElmldaError, match=r"^iris: not a \.csv file.* Leave out label\.$"):
        load_dataset("iris", label="y")


@pytest.mark.parametrize("kind", ["folder", "nothing", "pipe"])
def test_what_is_no_file(tmp_path, kind):
    path = tmp_path / "x.csv"
    if kind == "folder":
        path.mkdir()
        assert refusal(path) == ": a folder, expected a CSV file."
    elif kind == "pipe":
        os.mkfifo(path)
        assert refusal(path) == ": a pipe or device, expected a CSV file."
    else:
        assert refusal(path) == ": cannot be read: No such file or directory."


@pytest.mark.parametrize("packed", [False, True])
def test_what_would_not_fit_in_memory(write, monkeypatch, packed):
    monkeypatch.setattr(csv_file, "available_memory", lambda: 12 << 20)
    content = b"a" * (3 << 20)
    message = refusal(write(gzip.compress(content) if packed else content))
    unpacked = " after decompression" if packed else ""
    assert message == (
        f": more than 1,048,576 bytes{unpacked}, which is what the free memory leaves room for."
    )


# Properties


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("csv")


NAMES = st.text("abcdeé xyz_-\"'", min_size=1, max_size=5).map(str.strip).filter(bool)
CELLS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(10**20), 10**20).map(str),
    st.text("abc, \"'\n;é", min_size=1, max_size=4),
)


@st.composite
def tables(draw):
    """Names, columns of numbers or of text, and labels."""
    names = draw(st.lists(NAMES, min_size=2, max_size=5, unique=True))
    n_rows = draw(st.integers(2, 8))
    numbers = st.floats(allow_nan=False, allow_infinity=False)
    words = st.sampled_from(["red", "a, b", 'say "x"', "two\nlines", "é"])
    columns = [
        draw(
            st.one_of(*(st.lists(kind, min_size=n_rows, max_size=n_rows) for kind in (numbers, words)))
        )
        for _ in names[1:]
    ]
    return names, columns, ["p", "q", *draw(st.lists(words, min_size=n_rows - 2, max_size=n_rows - 2))]


@properties
@given(tables())
def test_what_the_csv_module_writes_is_read(folder, table):
    names, columns, labels = table
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(names)
    for i, label in enumerate(labels):
        cells = [column[i] for column in columns]
        writer.writerow([label, *(repr(c) if isinstance(c, float) else c for c in cells)])
    path = folder / "x.csv"
    path.write_bytes(out.getvalue().encode())
    read = load_csv(path, names[0])
    assert [read.classes[i] for i in read.samples.labels] == labels
    inputs = dict(zip(read.feature_names, read.samples.inputs.T.tolist(), strict=True))
    for name, column in zip(names[1:], columns, strict=True):
        if isinstance(column[0], float):
            assert inputs[name] == column
        else:
            for word in set(column):
                assert inputs[f"{name}={word}"] == [float(cell == word) for cell in column]


@settings(derandomize=True, deadline=None, max_examples=200)
@given(
    st.one_of(
        st.binary(max_size=60),
        st.text('ab,;"\n\r1.e?\x00', max_size=60).map(str.encode),
        st.lists(st.lists(CELLS, min_size=1, max_size=3), min_size=1, max_size=4).map(
            lambda rows: "\n".join(",".join(row) for row in rows).encode()
        ),
    ),
    st.sampled_from(["a", "b", None]),
)
def test_arbitrary_content_is_read_or_refused(folder, content, label):
    path = folder / "x.csv"
    path.write_bytes(b"a,b\n" + content)
    with contextlib.suppress(ElmldaError):
        table = load_csv(path, label)
        assert np.isfinite(table.samples.inputs).all()
        assert table.n_inputs == len(table.feature_names) >= 1


@pytest.mark.parametrize("name", ["pets.tsv", "pets.tsv.gz", "pets.csv.gz"])
def test_other_names_of_a_table(write, name):
    content = PETS.replace(",", "\t").encode()
    path = write(gzip.compress(content) if name.endswith(".gz") else content, name)
    assert load_source(str(path), label="kind").name == "pets"


def test_long_names_and_control_characters_are_shortened_and_escaped(write):
    message = refusal(write("\x1b[31m" + "x" * 300 + ",kind\n,cat\n"))
    assert "\\x1b[31mxxx" in message
    assert "\x1b" not in message
    assert len(message) < 200


# Inputs that would be taken for each other


def write_rows(write, header, rows):
    return write("\n".join([header, *rows]) + "\n")


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("a,a=x,kind", "{word},{number},{label}"),  # a value of `a`, and a column
        ("a,a=b,kind", "b={word},{word},{label}"),  # a=b=x twice
        ("a,a=z,kind", "{word},{number},{label}"),  # `a` has no z here, but may when it is used
    ],
)
def test_names_that_could_be_two_inputs_are_refused(write, header, row):
    rows = [
        row.format(word="xy"[i % 2], number=i * 0.5, label=("cat", "cow")[i // 2 % 2]) for i in range(8)
    ]
    assert " could be " in refusal(write_rows(write, header, rows))


def test_codes_with_leading_zeros_are_classes_of_their_own(write):
    table = load_csv(write_rows(write, "a,kind", ["1,01", "2,1", "3,2", "4,01"]), "kind")
    assert table.classes == ("01", "1", "2")
    assert table.samples.labels.tolist() == [0, 1, 2, 0]


def test_inputs_are_counted_before_there_is_memory_for_them(write, monkeypatch):
    rows = [f"{'ab'[i % 2]},{i % 100}x,{i % 3}" for i in range(1000)]
    path = write_rows(write, "a,b,kind", rows)
    assert load_csv(path, "kind").n_inputs == 102
    monkeypatch.setattr(content, "available_memory", lambda: 8 * 1000 * 102 - 1)
    assert refusal(path).startswith(
        ": 816,000 bytes for 102 inputs of 1,000 samples, one for each category, expected at most"
    )
