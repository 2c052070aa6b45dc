"""A user's CSV file: columns of numbers stay numbers, or the line that prevents it is named."""

import pytest

from elmlda import Sweep
from elmlda.errors import ElmldaError

LINE = 31
"""That the odd cell is in; the first has the names."""


@pytest.fixture
def sweep(tmp_path):
    """The rows of a small sweep of a file's text."""

    def run(text, name="mine.csv", **options):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        options = {"label": "kind", "hidden": "2-3", "repeats": 2} | options
        return Sweep(dataset=str(path), **options).run(tmp_path / "run")

    return run


def with_cell(table, cell):
    """The table as CSV, with this cell in the column `width`."""
    table = table.astype({"width": object})
    table.loc[LINE - 2, "width"] = cell
    return table.to_csv(index=False)


def errors(rows):
    return rows[["repeat", "n_hidden", "pi_errors", "lda_errors"]].to_dict("list")


@pytest.mark.parametrize(
    "cell",
    [
        "-", "--", "–", ".", "*", "n.a.", "N.A.", "n. a.", "not available", "unknown", "missing", "nil",
        "1,234", "1 234", "1'234", "1_234", "0,5", "1.234,5", "5kg", "5 kg", "5%", "$5", "~5", "<5",
        ">5", "5?", "5*", "(5)", "1.2.3", "1e", "0x1F", "l.5", "O.5", "#DIV/0!", "#REF!", "#VALUE!",
        "#NAME?", "#NUM!", "#NULL!", "=A1", "TRUE", "2020-01-31", "12:30", "½",
    ],
)  # fmt: skip
def test_one_cell_that_is_no_number_is_named(sweep, blobs, cell):
    with pytest.raises(ElmldaError) as caught:
        sweep(with_cell(blobs(), cell))
    message = str(caught.value)
    assert "width" in message
    assert f"line {LINE}" in message


@pytest.mark.parametrize("n_rows", [600, 6000])
def test_one_cell_of_many_lines_is_named(sweep, blobs, n_rows):
    with pytest.raises(ElmldaError) as caught:
        sweep(with_cell(blobs(n_rows).round({"width": 1}), "-"))
    assert "width" in str(caught.value)
    assert f"line {LINE}" in str(caught.value)


def test_the_command_line_names_it_too(refusal, blobs, tmp_path):
    (tmp_path / "mine.csv").write_text(with_cell(blobs(), "-"))
    message = refusal(
        "sweep", "--dataset", "mine.csv", "--label", "kind", "--hidden", 2, "--repeats", 1
    )
    assert "width" in message
    assert f"line {LINE}" in message


@pytest.mark.parametrize("separator", [";", "\t"])
def test_decimal_commas_are_read(sweep, blobs, tmp_path, separator):
    table = blobs()
    plain = errors(sweep(table.to_csv(index=False), "plain.csv"))
    (tmp_path / "run").rename(tmp_path / "plain")
    assert errors(sweep(table.to_csv(index=False, sep=separator, decimal=","))) == plain


def test_words_stay_categories(sweep, blobs):
    table = blobs()
    table["colour"] = ["red", "green", "blue"] * 20
    rows = sweep(table.to_csv(index=False), hidden=None, ridge=1.0)
    assert rows["n_hidden"].min() == 5  # fan-out 1: two numbers, three colours


# What can be read


def test_commas_in_names_between_semicolons(sweep, blobs):
    table = blobs().rename(columns={"width": "Width, cm", "height": "Height, cm"})
    text = table.to_csv(index=False, sep=";")
    assert len(sweep(text.replace("Width, cm;Height, cm", '"Width, cm";"Height, cm"', 1))) == 4


def test_the_index_that_pandas_writes_can_be_dropped(sweep, blobs):
    plain = blobs()
    rows = sweep(plain.to_csv(), drop=["1"])
    assert len(rows) == 4


@pytest.mark.parametrize("name", ["None", "NA", "null", "nan", "n/a", "NaN"])
def test_a_class_may_be_called_so(sweep, blobs, name):
    assert len(sweep(blobs().replace({"kind": {"a": name}}).to_csv(index=False))) == 4


@pytest.mark.parametrize("cell", ["", "NA", "?"])
def test_a_value_that_is_missing_is_named(sweep, blobs, cell):
    with pytest.raises(ElmldaError) as caught:
        sweep(with_cell(blobs(), cell))
    assert "width" in str(caught.value)
    assert f"line {LINE}" in str(caught.value)
