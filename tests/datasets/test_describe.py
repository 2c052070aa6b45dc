"""What is said of a table, whether it can be loaded or not."""

import numpy as np
import pandas as pd
import pytest

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
    for source in (FRAME, path, str(path)):
        columns = read_table(source).describe(label)
        assert columns.index.tolist() == FRAME.columns.tolist()
        assert columns["kind"].tolist() == ["numbers", "words", "unclear", "empty", "class"]
        assert columns["missing"].tolist() == [1, 2, 0, 4, 1]
        assert columns["values"].tolist() == ["0.5 to 40", "no and yes", "", "", "NA and b"]
        (problem,) = columns["problem"].dropna()
        assert "'4kg' in column 'odd'" in str(problem)


def test_other_classes_and_columns_that_are_left_out():
    table = read_table(FRAME)
    columns = table.describe("kind", ["nothing", "odd", "fur"])
    assert columns["kind"].tolist() == ["numbers", "left out", "left out", "left out", "class"]
    assert columns["problem"].isna().all()
    assert table.describe("nothing").loc["nothing"].tolist()[:3] == ["class", 4, ""]
    assert table.describe().loc["kind", "kind"] == "words"


def test_counts_are_those_of_loading(tmp_path):
    rng = np.random.default_rng(0)
    cells = rng.integers(0, 30, (40, 3)).astype(str)
    cells[rng.random((40, 3)) < 0.2] = "?"
    path = tmp_path / "gaps.csv"
    lines = [",".join([*row, "pq"[i % 2]]) for i, row in enumerate(cells)]
    path.write_text("\n".join(["a,b,c,kind", *lines]))
    filled = load_dataset(path, label="kind", missing="mean").n_filled
    missing = read_table(path).describe("kind")["missing"]
    assert filled == {name: n for name, n in missing.items() if n}
