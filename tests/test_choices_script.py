"""The map of set-ups: its rows, its inputs, and what it finds."""

from itertools import product
from pathlib import Path
from runpy import run_path

import numpy as np
import pandas as pd
import pytest
from article_statistics import SET_UP, judge_set_ups, take_whole
from rows import append_rows, list_missing

from elmlda import paper

CHOICES = run_path(str(Path(__file__).parents[1] / "scripts/choices"))


def test_rows_that_are_there_are_not_missing(tmp_path):
    path, keys = (
        tmp_path / "new/rows.csv",
        [(i, name, on) for i in range(2) for name, on in (("a", True), ("b", False))],
    )
    assert list_missing(path, ("i", "name", "on"), keys) == keys
    append_rows(path, [{"i": 0, "name": "b", "on": False, "x": 1 / 3}])
    append_rows(path, [{"i": 1, "name": "a", "on": True, "x": 2.0}])
    assert list_missing(path, ("i", "name", "on"), keys) == [(0, "a", True), (1, "b", False)]
    assert list_missing(path, ("i",), [(0,), (1,), (2,)]) == [(2,)]
    assert pd.read_csv(path)["x"].tolist() == pytest.approx([1 / 3, 2], rel=1e-5)


def test_scaled_inputs_and_the_bias_are_what_they_are_called(make_dataset):
    part = make_dataset(n_train=9, n_inputs=784, dtype=np.uint8).train
    inputs = CHOICES["add_input"](part, 1 / 255, True).inputs
    assert np.array_equal(inputs[:, :784], part.inputs * np.float32(1 / 255))
    assert (inputs[:, 784] == 1).all()
    assert CHOICES["add_input"](part, 1.0, False).inputs.shape == (9, 784)


def test_a_map_finds_the_set_up_that_made_table_1():
    rng, rows = np.random.default_rng(1), []
    for choice, shift in ((("divided by 255", "tanh", False), 0.0), (("0 to 255", "tanh", False), 1.9)):
        for repeat in range(20):
            for fanout in CHOICES["FANOUTS"]:
                pi, lda = (
                    table[fanout] + shift for table in (paper.PI_ERROR_PERCENT, paper.LDA_ERROR_PERCENT)
                )
                errors = {"pi_errors": pi, "pi_constant_errors": pi, "lda_errors": lda}
                rows.append(dict(zip(SET_UP, choice, strict=True))
                            | {"repeat": repeat, "fanout": fanout, "n_test": 10_000}
                            | {name: round(100 * value + rng.normal(0, 12)) for name, value in errors.items()})  # fmt: skip
    judged = judge_set_ups(pd.DataFrame(rows)).set_index(["scaling", "reading"])
    assert judged.loc["divided by 255", "p"].min() > 0.01
    assert judged.loc["0 to 255", "p"].max() == 0
    assert judged.loc["0 to 255", "pi_1"].tolist() == pytest.approx([9.1, 9.1], abs=0.2)
    lines = CHOICES["describe"](judged.reset_index()).splitlines()
    assert [line.split(" | ")[0] for line in lines if " tanh " in line and line.startswith("|")] == [
        "| divided by 255",
        "| 0 to 255",
    ]


def test_only_networks_that_all_set_ups_have_are_compared():
    frame = pd.DataFrame(
        list(product(range(3), ["raw", "scaled"], (1, 2))), columns=["repeat", "scaling", "fanout"]
    )
    frame = frame.assign(activation="tanh", bias=False)
    assert set(take_whole(frame.iloc[:-1])["repeat"]) == {0, 1}
