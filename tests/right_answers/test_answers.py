"""Numbers that people read: only right ones, and the paper's only beside networks like its own."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import elmlda as package

# The paper's numbers


def names_the_paper(text):
    return "paper" in text.lower()


def has_papers_numbers(path):
    """Tables of all runs have the same columns: the paper's are empty where they do not belong."""
    table = pd.read_csv(path)
    columns = [name for name in table if name.startswith("paper") or name.endswith("_z")]
    return bool(table[columns].notna().any(axis=None))


@pytest.mark.parametrize("experiment", ["sweep", "timing"])
def test_other_data_do_not_stand_beside_the_paper(succeed, tmp_path, experiment):
    times = "--pairs" if experiment == "timing" else "--repeats"
    succeed(experiment, "--dataset", "iris", "--fanout", "1-2", times, 3, "--out", "run")
    succeed("report", "run", "--format", "csv")
    tables = list((tmp_path / "run").glob("table*.csv"))
    assert tables
    for path in tables:
        assert not has_papers_numbers(path)


def test_a_users_own_data_do_not_stand_beside_the_paper(succeed, blobs, tmp_path):
    blobs().to_csv(tmp_path / "mine.csv", index=False)
    run = "sweep --dataset mine.csv --label kind --fanout 1-2 --repeats 3 --out run"
    assert not names_the_paper(succeed(*run.split()))
    succeed("report", "run", "--format", "csv")
    assert not has_papers_numbers(tmp_path / "run" / "table1.csv")


def test_small_networks_do_not_stand_beside_the_papers_ensembles(succeed):
    printed = succeed("ensemble", "--hidden", 20, "--n", 2, "--repeats", 1, "--out", "run")
    assert not names_the_paper(printed)


# Wilcoxon's signed-rank test


def exact_p(differences):
    """Two-sided, by all signs that the differences could have had."""
    ranks = stats.rankdata(np.abs(differences))
    found = abs(np.sum(np.sign(differences) * ranks))
    sums = [abs(np.dot(signs, ranks)) for signs in itertools.product((-1, 1), repeat=len(ranks))]
    return np.mean(np.array(sums) >= found - 1e-9)


@pytest.mark.parametrize(("dataset", "hidden"), [("wine", "20,40"), ("satimage", "40,80,160")])
def test_wilcoxon_is_exact_for_few_repeats(tmp_path, dataset, hidden):
    rows = package.Sweep(dataset=dataset, hidden=hidden, repeats=5).run(tmp_path / "run")
    package.report(tmp_path / "run", ["csv"])
    table = pd.read_csv(tmp_path / "run" / "table1.csv").set_index("n_hidden")
    for n_hidden, network in rows.groupby("n_hidden"):
        differences = (network["pi_errors"] - network["lda_errors"]).to_numpy()
        differences = differences[differences != 0]
        p = table.loc[n_hidden, "wilcoxon_p"]
        assert p >= 2 / 2 ** len(differences)
        if len(np.unique(np.abs(differences))) == len(differences):
            assert p == pytest.approx(exact_p(differences), rel=1e-4)


# Tests of several data sets


def test_tests_over_folds_are_a_family_of_their_own(succeed, tmp_path):
    """What was found on iris and wine does not depend on satimage, whose test part is its own."""
    run = "compare --dataset iris,wine,satimage --fanout 2 --repeats 3 --folds 3 --out run"
    succeed(*run.split())
    assert count_sets(succeed, tmp_path / "run") == 3
    together = read_adjusted(tmp_path / "run")
    (tmp_path / "run" / "satimage").rename(tmp_path / "satimage")
    assert count_sets(succeed, tmp_path / "run") == 2
    assert read_adjusted(tmp_path / "run") == together


def count_sets(succeed, folder):
    """Those in a comparison's report, which is made anew."""
    succeed("report", folder, "--format", "csv")
    return pd.read_csv(folder / "compare.csv")["dataset"].nunique()


def read_adjusted(folder):
    """The corrected p-values of the sets that were divided into folds."""
    summary = pd.read_csv(folder / "compare.csv")
    return summary[summary["dataset"] != "satimage"]["p_holm"].tolist()
