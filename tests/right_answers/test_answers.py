"""Numbers that people read: only right ones, and the paper's only beside networks like its own."""

import pandas as pd
import pytest

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


def test_small_networks_do_not_stand_beside_the_papers_ensembles(succeed):
    printed = succeed("ensemble", "--hidden", 20, "--n", 2, "--repeats", 1, "--out", "run")
    assert not names_the_paper(printed)


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
