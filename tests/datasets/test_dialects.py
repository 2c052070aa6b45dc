"""One table in many dialects of CSV, with and without names: the same data, or a refusal that says why."""

import gzip

import numpy as np
import pytest
from refusals import refusal_of_file

from elmlda.datasets.catalogue import load_dataset
from elmlda.errors import ElmldaError

NAMES = ["size, cm", "größe", "fur", "kind"]
SIZES = [1.5, -20.25, 0.125, 1000.5, 3.75, -0.5]
COUNTS = [3, 14, 15, 92, 65, 35]
WORDS = ["short", "long, thick", "short", "mixed; wild", "long, thick", 'the "best"']
KINDS = ["cat", "cow", "cow", "cat", "cow", "cat"]
CATEGORIES = ["long, thick", "mixed; wild", "short", 'the "best"']


def write_table(rows, delimiter=",", quote=False, end="\n"):
    """Lines of cells; all in quotes, or those that need them."""

    def write_cell(cell):
        special = any(sign in cell for sign in (delimiter, '"', "\n", "\r"))
        return f'"{cell.replace(chr(34), chr(34) * 2)}"' if quote or special else cell

    return end.join(delimiter.join(map(write_cell, row)) for row in rows) + end


def make_rows(decimal=".", header=True):
    sizes = [str(size).replace(".", decimal) for size in SIZES]
    rows = [list(row) for row in zip(sizes, map(str, COUNTS), WORDS, KINDS, strict=True)]
    return [NAMES, *rows] if header else rows


@pytest.fixture
def save(tmp_path):
    def save(content):
        path = tmp_path / "table.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return save


def require_table(data, header):
    """The data are those of the table above."""
    names = NAMES if header else ["1", "2", "3", "4"]
    assert data.feature_names == (*names[:2], *(f"{names[2]}={word}" for word in CATEGORIES))
    assert [data.classes[i] for i in data.train.labels] == KINDS
    fur = [[word == category for word in WORDS] for category in CATEGORIES]
    np.testing.assert_array_equal(data.train.inputs.T, [SIZES, COUNTS, *fur])
    assert data.preparation.get("header") == (None if header else "no")


# Every dialect


@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("quote", [False, True])
@pytest.mark.parametrize("decimal", [".", ","])
def test_delimiters_quotes_and_decimal_signs(save, header, delimiter, quote, decimal):
    path = save(write_table(make_rows(decimal, header=header), delimiter, quote))
    label = "kind" if header else 4
    require_table(load_dataset(path, label=label, header=header), header)
    try:
        require_table(load_dataset(path, label=label), header)
    except ElmldaError as error:  # the first sample alone has a number above words or words above none
        assert "header=True or header=False" in str(error)
        assert not header


@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_encodings_line_ends_and_compression(save, header, encoding, end, pack):
    content = write_table(make_rows(header=header), end=end).encode(encoding)
    data = load_dataset(save(pack(content)), label=NAMES[3] if header else 4, header=header)
    require_table(data, header)


@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize(
    "change",
    [
        lambda lines: ["", "", *lines],
        lambda lines: [*lines, "", "  ", ""],
        lambda lines: [part for line in lines for part in (line, ";;;")],
        lambda lines: [part for line in lines for part in (line, "   ")],
        lambda lines: [f"{line};" for line in lines],
        lambda lines: [f"  {line}" for line in lines],
        lambda lines: [f"{line}  " for line in lines],
        lambda lines: [line.replace(";", " ; ") for line in lines],
    ],
    ids=["before", "after", "empty cells", "blanks", "delimiter at the end", "blanks before",
         "blanks behind", "blanks around"],
)  # fmt: skip
def test_blank_lines_and_blanks(save, header, change):
    rows = [[cell.replace(";", ",") for cell in row] for row in make_rows(header=header)]
    lines = write_table(rows, ";").splitlines()
    data = load_dataset(save("\n".join(change(lines))), label=NAMES[3] if header else 4, header=header)
    assert data.train.inputs[:, 0].tolist() == SIZES
    assert data.train.inputs[:, 1].tolist() == COUNTS
    assert data.n_inputs == 6
    assert data.classes == ("cat", "cow")


# Numbers


@pytest.mark.parametrize(
    ("cells", "delimiter", "expected"),
    [
        (["437 949", "1 234", "999"], ";", [437949, 1234, 999]),
        (["1,234", "12,345,678", "1,000.5"], ",", [1234, 12345678, 1000.5]),
        (["1.234,5", "-0,25", "0,125"], ",", [1234.5, -0.25, 0.125]),
        (["1'234.5", "2\u2019345.25", "9"], ";", [1234.5, 2345.25, 9]),
        (["1 234,5", "2 345,25", "9"], ";", [1234.5, 2345.25, 9]),
        (["1.234.567", "2.345.678", "9"], ";", [1234567, 2345678, 9]),
        (["1,234,567", "2,345,678", "9"], ";", [1234567, 2345678, 9]),
        (["1,000", "0,500", "2,000"], ";", [1, 0.5, 2]),  # no thousands start with a zero
        (["1,5e3", "2,5E-3", "1e2"], ";", [1500, 0.0025, 100]),
        (["\u22121", "\u22122.5", "3"], ",", [-1, -2.5, 3]),
        (["\u22121,5", "+2,5", "3e\u22121"], ";", [-1.5, 2.5, 0.3]),
        (["1.", ".5", "-.25"], ",", [1, 0.5, -0.25]),
        (["007", "012", "-01.50"], ",", [7, 12, -1.5]),
        (["1" + "0" * 30, "2", "3"], ",", [1e30, 2, 3]),
    ],
)
@pytest.mark.parametrize("header", [True, False])
def test_numbers_as_people_write_them(save, header, cells, delimiter, expected):
    rows = [[cell, kind] for cell, kind in zip(cells, "pqp", strict=True)]
    path = save(write_table([["a", "kind"], *rows] if header else rows, delimiter))
    data = load_dataset(path, label=2, header=header)
    assert data.train.inputs[:, 0].tolist() == expected


# What is refused


TABLE = "size,fur,kind\n1,a,p\n2,b,q\n3,a,p\n"


@pytest.mark.parametrize("column", [0, -1, 4, "0", "04", "Kind", "kind ", " ", "2.0"])
@pytest.mark.parametrize("option", ["label", "drop"])
def test_columns_that_are_not_there(save, column, option):
    options = {"label": "kind"} | {option: column}
    message = refusal_of_file(lambda path: load_dataset(path, **options), save(TABLE))
    assert message.startswith(": no column ")
    assert "size, fur and kind" in message


def test_names_go_before_numbers(save):
    path = save("3,1,2\n5,6,p\n7,8,q\n")
    assert load_dataset(path, label=2, header=True).preparation["label"] == "2"
    assert load_dataset(path, label=2, header=True).classes == ("p", "q")
    assert load_dataset(path, label=3, header=True, drop="1").feature_names == ("2=p", "2=q")
