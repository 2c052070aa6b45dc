"""What is said of a table, whether it can be loaded or not."""

import numpy as np
import pandas as pd
import pytest
from refusals import refusal_of

from elmlda.datasets.catalogue import load_dataset
from elmlda.datasets.tables import read_table

FRAME = pd.DataFrame(
    {
        "size": [1.5, None, 0.5, 40.0],
        "fur": ["yes", "no", None, None],
        "odd": ["1", "2.5", "3", "4kg"],
        "nothing": [None] * 4,
        "kind": ["NA", "b", "?", "b"],
    },
    index=[10, 11, 12, 13],
)


@pytest.mark.parametrize("label", ["kind", 5])
def test_columns_of_a_data_frame_and_of_its_file(tmp_path, label):
    path = tmp_path / "frame.csv"
    FRAME.to_csv(path, index=False)
    for source, rows in ((FRAME, [11, 12, 10, 12]), (path, [3, 4, 2, 4]), (str(path), [3, 4, 2, 4])):
        table = read_table(source)
        columns, n_incomplete = table.describe(label)
        assert columns.index.tolist() == FRAME.columns.tolist()
        assert columns["kind"].tolist() == ["numbers", "words", "unclear", "empty", "class"]
        assert columns["missing"].tolist() == [1, 2, 0, 4, 1]
        gaps = columns["first_missing"].tolist()
        assert [gaps[i] for i in (0, 1, 3, 4)] == rows
        assert columns["values"].tolist() == ["0.5 to 40", "no and yes", "", "", "NA and b"]
        (problem,) = columns["problem"].dropna()
        assert "'4kg' in column 'odd'" in str(problem)
        assert (len(table.cells), n_incomplete, table.has_names) == (4, 4, True)


def test_columns_that_are_left_out_need_no_values():
    columns, n_incomplete = read_table(FRAME).describe("kind", ["nothing", "odd", "fur"])
    assert columns["kind"].tolist() == ["numbers", "left out", "left out", "left out", "class"]
    assert n_incomplete == 2
    assert columns["problem"].isna().all()


def test_a_class_without_any_value_is_described():
    columns, _ = read_table(FRAME).describe("nothing")
    assert columns.loc["nothing", ["kind", "missing", "values"]].tolist() == ["class", 4, ""]


def test_without_a_class_every_column_is_described():
    assert read_table(FRAME).describe()[0].loc["kind", "kind"] == "words"


def test_counts_are_those_of_loading(tmp_path):
    rng = np.random.default_rng(0)
    cells = rng.integers(0, 30, (40, 3)).astype(str)
    cells[rng.random((40, 3)) < 0.2] = "?"
    path = tmp_path / "gaps.csv"
    lines = [",".join([*row, "pq"[i % 2]]) for i, row in enumerate(cells)]
    path.write_text("\n".join(["a,b,c,kind", *lines]))
    columns, n_incomplete = read_table(path).describe("kind")
    assert len(load_dataset(path, label="kind", missing="drop").train.labels) == 40 - n_incomplete
    filled = load_dataset(path, label="kind", missing="mean").n_filled
    assert filled == {name: n for name, n in columns["missing"].items() if n}


@pytest.mark.parametrize("label", [1, "3"])
def test_a_file_without_names(tmp_path, label):
    path = tmp_path / "bare.csv"
    path.write_text("1,2,3\n4,5,6\n")
    assert "header=True or header=False" in refusal_of(read_table, path)
    table = read_table(path, header=False)
    assert table.describe(label)[0].index.tolist() == ["1", "2", "3"]
    assert (len(table.cells), table.has_names) == (2, False)
