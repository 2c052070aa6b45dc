"""scripts/panel, and the records, report and README table that it made."""

import re
from pathlib import Path

import pandas as pd
import pytest
from simulated import load_script

from elmlda import ELMClassifier

ROOT = Path(__file__).parents[2]
script = load_script("panel")
PANEL, CHOICE = (pd.read_csv(ROOT / f"results/panel/{name}.csv") for name in ("panel", "choice"))
STANDARDISED = script.tabulate(PANEL, "standardised")
CHANCE = {"digits": 20, "abalone": 40, "satimage": 30, "iris": 40, "wine": 50}


def test_readme_has_the_numbers_of_the_panel():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    means = STANDARDISED.mean().rename("**mean**").to_frame().T
    for name, row in pd.concat([STANDARDISED, means]).iterrows():
        assert f"| {name} | {' | '.join(f'{value:.1f}' for value in row)} |" in readme
    behind = STANDARDISED[list(script.PEERS)].max(axis=1).mean() - STANDARDISED.mean()
    network, ensemble = (behind[name] for name in script.OURS)
    assert f"{network:.1f} points behind the best of the four on each set" in readme
    assert f"an ensemble of ten {ensemble:.1f}." in readme
    raw = script.tabulate(PANEL, "raw").loc["wine"]
    wine = f"{raw['ELMClassifier']:.1f} against {raw['RandomForestClassifier']:.1f} %"
    assert wine in re.sub(r"\s+", " ", readme)


def test_the_report_is_made_of_the_records():
    report = (ROOT / "results/panel/report.md").read_text(encoding="utf-8")
    assert script.describe(PANEL, CHOICE) == report
    assert len(PANEL) == 10 * 2 * 6
    assert len(CHOICE) == 10 * 3 * 4 * 5 * 2


def test_ours_are_within_a_point_of_the_best_and_never_at_chance():
    best = STANDARDISED[list(script.PEERS)].max(axis=1)
    for name in script.OURS:
        assert (best - STANDARDISED[name]).mean() < 1
    for inputs in script.INPUTS:
        ours = script.tabulate(PANEL, inputs)[list(script.OURS)].min(axis=1)
        assert all(ours[name] > CHANCE.get(name, 70) for name in ours.index)
        assert ours[["circles", "circles, off centre"]].min() > 95


def test_the_defaults_are_the_point_that_was_chosen():
    X, y = script.load_sets(script.CHOICE_SEED)["make_classification"]
    chosen = script.make_network(script.CHOSEN, X.shape[1])
    usual = ELMClassifier(random_state=script.CHOICE_SEED)
    assert (chosen.fit(X, y).decision_function(X) == usual.fit(X, y).decision_function(X)).all()


@pytest.mark.parametrize("dataset", ["moons", "wine"])
def test_a_row_comes_out_again(dataset):
    key = {"dataset": dataset, "inputs": "standardised", "classifier": "ELMClassifier"}
    sets = {dataset: script.load_sets(script.REPORT_SEED)[dataset]}
    (compute,) = (compute for found, compute in script.list_panel(sets) if found == key)
    assert compute() == pytest.approx(STANDARDISED.loc[dataset, "ELMClassifier"], abs=0.2)


def test_rows_that_are_there_are_not_computed_again(tmp_path):
    computed = []

    def jobs():
        for i in range(4):
            yield {"dataset": f"set {i}", "ridge": i / 2}, lambda i=i: computed.append(i) or 10.5 * i

    path = tmp_path / "table.csv"
    whole = script.complete(path, jobs())
    content = path.read_text()
    lines = content.splitlines()
    path.write_text("\n".join([lines[0], lines[3], lines[1]]) + "\n")
    pd.testing.assert_frame_equal(script.complete(path, jobs()), whole, check_dtype=False)
    assert path.read_text() == content
    assert computed == [0, 1, 2, 3, 1, 3]
