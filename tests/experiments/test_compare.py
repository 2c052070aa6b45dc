"""Comparisons: a sweep for each data set, in folds where it has no test part of its own."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from run_folders import assert_as_before, assert_same_counts, files_in

from elmlda import Compare, Sweep
from elmlda.errors import ElmldaError

ROOT = Path(__file__).parents[2]


def test_counts_are_those_of_the_version_before(tmp_path):
    compare = Compare(dataset="iris,wine,digits", fanout="1-3", folds=5, repeats=2)
    rows = compare.run(tmp_path)
    assert list(rows["dataset"].unique()) == ["iris", "wine", "digits"]
    for name, own in rows.groupby("dataset"):
        order = ["repeat", "fold", "n_hidden", "rule"]
        recorded = pd.read_csv(tmp_path / name / "sweep.csv").sort_values(order)
        assert_same_counts(own.drop(columns="dataset").sort_values(order), recorded)
        fixed, chosen = (own[own["rule"] == rule] for rule in ("fixed", "loo"))
        fixed = fixed.sort_values(order)  # as that version had it
        assert_as_before(fixed.reset_index(drop=True), f"compare-{name}")
        assert len(chosen) == len(fixed)
        assert (chosen["ridge"] > 0).all()
    before = files_in(tmp_path)
    pd.testing.assert_frame_equal(compare.run(tmp_path), rows)
    assert files_in(tmp_path) == before
    assert not (tmp_path / "manifest.json").exists()
    assert [preview.n_networks for preview in compare.dry_run(tmp_path)] == [0, 0, 0]


def test_a_set_with_a_test_part_keeps_it(tmp_path):
    options = {"fanout": [1], "repeats": 2, "ridge": 0.5}
    rows = Compare(dataset=["satimage", "iris"], folds=3, **options).run(tmp_path)
    assert rows["dataset"].tolist() == ["satimage"] * 2 + ["iris"] * 6
    assert rows["fold"].notna().tolist() == [False] * 2 + [True] * 6
    alone = Sweep(dataset="satimage", keep=False, **options).run(tmp_path / "alone")
    assert_same_counts(rows[:2].drop(columns="dataset"), alone)
    manifest = json.loads((tmp_path / "iris" / "manifest.json").read_bytes())
    assert manifest["experiments"] == {"sweep": {"folds": 3}}


def test_a_tables_columns_are_not_asked_of_other_sets(tmp_path):
    rng = np.random.default_rng(0)
    own = pd.DataFrame({"id": range(60), "x": rng.normal(size=60), "z": rng.normal(size=60)})
    own.assign(kind=rng.choice(["a", "b"], 60)).to_csv(tmp_path / "own.csv", index=False)
    options = {"label": "kind", "drop": "id", "fanout": 1, "folds": 3, "repeats": 1}
    compare = Compare(dataset=["iris", tmp_path / "own.csv"], **options)
    rows = compare.run(tmp_path)
    assert rows.groupby("dataset")["n_hidden"].first().to_dict() == {"iris": 4, "own": 2}
    with pytest.raises(ElmldaError, match="label"):  # no table has it
        Compare(dataset=["iris", "wine"], **options).run(tmp_path / "none")


def test_the_default_folder_is_not_that_of_the_shipped_comparison():
    ((folder, _),) = Compare(dataset="iris").plans()
    assert folder == Path("results/compared/iris")
    assert "results/compared/" in (ROOT / ".gitignore").read_text().split()


def test_two_files_of_one_name_are_refused_before_anything_is_written(tmp_path):
    table = "x,kind\n" + "".join(f"{n},{'ab'[n % 2]}\n" for n in range(60))
    files = [tmp_path / folder / "own.csv" for folder in ("one", "two")]
    for file in files:
        file.parent.mkdir()
        file.write_text(table)
    compare = Compare(dataset=files, label="kind", fanout=1, folds=3, repeats=1)
    with pytest.raises(ElmldaError) as refused:
        compare.run(tmp_path / "out")
    assert str(files[1]) in str(refused.value)
    assert not (tmp_path / "out").exists()
