"""Comparisons: a sweep for each data set, in folds where it has no test part of its own."""

import json

import pandas as pd
from run_folders import assert_as_before, assert_same_counts, files_in

from elmlda import Compare, Sweep


def test_counts_are_those_of_the_version_before(tmp_path):
    compare = Compare(dataset="iris,wine,digits", fanout="1-3", folds=5, repeats=2)
    rows = compare.run(tmp_path)
    assert list(rows["dataset"].unique()) == ["iris", "wine", "digits"]
    for name, own in rows.groupby("dataset"):
        expected = pd.read_csv(tmp_path / name / "sweep.csv")
        assert_same_counts(own.drop(columns="dataset"), expected)
        order = ["repeat", "fold", "n_hidden", "rule"]  # as that version had it
        own = own.sort_values(order, key=lambda each: each.replace({"fixed": "none"}))
        assert_as_before(own.reset_index(drop=True), f"compare-{name}")
    before = files_in(tmp_path)
    pd.testing.assert_frame_equal(compare.run(tmp_path), rows)
    assert files_in(tmp_path) == before
    assert not (tmp_path / "manifest.json").exists()
    assert [each.n_networks for each in compare.dry_run(tmp_path)] == [0, 0, 0]


def test_a_set_with_a_test_part_keeps_it(tmp_path):
    options = {"fanout": [1], "repeats": 2, "ridge": 0.5}
    rows = Compare(dataset=["satimage", "iris"], folds=3, **options).run(tmp_path)
    assert rows["dataset"].tolist() == ["satimage"] * 2 + ["iris"] * 6
    assert rows["fold"].notna().tolist() == [False] * 2 + [True] * 6
    alone = Sweep(dataset="satimage", keep=False, **options).run(tmp_path / "alone")
    assert_same_counts(rows[:2].drop(columns="dataset"), alone)
    manifest = json.loads((tmp_path / "iris" / "manifest.json").read_bytes())
    assert manifest["experiments"] == {"sweep": {"folds": 3}}
