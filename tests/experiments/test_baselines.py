"""Baselines beside a sweep: the counts of scikit-learn's own methods, recorded once."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression

from elmlda import Compare, Sweep, load_dataset
from elmlda.experiments.baselines import list_baselines
from elmlda.reports.load import read_records
from elmlda.runs.folder import read_rows
from elmlda.runs.tables import BASELINES

WINE = {"dataset": "wine", "hidden": 4, "repeats": 1}


@pytest.mark.parametrize("folds", [None, 3])
def test_counts_are_scikit_learns(tmp_path, folds):
    sweep = Sweep(**WINE, folds=folds, seed=5)
    sweep.run(tmp_path)
    data = load_dataset("wine")
    key = np.random.SeedSequence(5, spawn_key=(0, 0))
    parts = data.folds(folds, np.random.default_rng(key)) if folds else [data.split()]
    expected = []
    for fold, part in enumerate(parts):
        models = {"majority": DummyClassifier(), "logistic_regression": LogisticRegression()}
        for name, model in models.items():
            chosen = model.fit(part.train.inputs, part.train.labels).predict(part.test.inputs)
            n_test, errors = len(part.test.labels), (chosen != part.test.labels).sum()
            expected.append([fold if folds else -1, name, errors, n_test])
    rows = read_records(tmp_path).baselines
    assert (
        rows.fillna(-1).sort_values(["fold", "method"], ascending=[True, False]).to_numpy().tolist()
        == expected
    )
    path = tmp_path / "baselines.csv"
    whole = path.read_bytes()
    path.write_bytes(whole[:-3])  # as after a kill
    Sweep(**{**WINE, "repeats": 2}, folds=folds, seed=5).run(tmp_path)
    assert path.read_bytes() == whole


def test_each_set_of_a_comparison_has_its_own(tmp_path):
    Compare(dataset="iris,satimage", fanout=1, folds=2, repeats=1, ridge=0.5).run(tmp_path)
    assert [len(read_rows(tmp_path / name, BASELINES)) for name in ("iris", "satimage")] == [4, 2]


def test_which_methods_a_data_set_has(mnist, make_dataset, monkeypatch):
    assert list_baselines(mnist) == []
    assert list_baselines(replace(mnist, checksums={"other": "00"})) == ["majority"], (
        "the rest takes long"
    )
    small = make_dataset()
    assert list_baselines(small) == ["majority", "logistic_regression"]
    monkeypatch.setitem(sys.modules, "sklearn", None)
    assert list_baselines(small) == ["majority"]
