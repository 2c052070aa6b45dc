"""Tables from made-up records, against the formulas and scipy's own interval."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from elmlda import paper
from elmlda.experiments.ensemble import EnsembleRecord
from elmlda.experiments.sweep import SweepRecord
from elmlda.reports.model import Column, make_table
from elmlda.reports.subjects.ensemble import tabulate_ensemble
from elmlda.reports.subjects.sweep import AS_PRINTED, tabulate_as_printed, tabulate_sweep

N_TEST = 400


def record(repeat, n_hidden, pi_errors, lda_errors, n_inputs=784):
    """With a constant unit PI makes two errors less."""
    constant = max(pi_errors - 2, 0)
    return SweepRecord(
        repeat, n_hidden / n_inputs, n_hidden, pi_errors, constant, lda_errors, N_TEST, 1.5, "mixed"
    )


def made_up(n_hidden, n_repeats, seed):
    rng = np.random.default_rng(seed)
    pi, lda = rng.integers(10, 60, n_repeats).tolist(), rng.integers(5, 50, n_repeats).tolist()
    return pi, lda, [record(i, n_hidden, pi[i], lda[i]) for i in range(n_repeats)]


@pytest.mark.parametrize("n_repeats", [2, 5, 200])
def test_means_and_intervals(n_repeats):
    pi, lda, records = made_up(784, n_repeats, seed=n_repeats)
    (row,) = tabulate_sweep(records).to_dict("records")
    assert (row["fanout"], row["n_hidden"], row["repeats"]) == (1, 784, n_repeats)
    for method, errors in (("pi", pi), ("lda", lda)):
        percent = 100 * np.array(errors) / N_TEST
        mean, half = row[f"{method}_error_percent"], row[f"{method}_interval"]
        assert mean == pytest.approx(percent.mean(), rel=1e-12)
        low, high = stats.t.interval(0.95, n_repeats - 1, percent.mean(), stats.sem(percent))
        assert (mean - half, mean + half) == pytest.approx((low, high), rel=1e-12)


def test_improvement_is_of_the_means_as_in_the_paper():
    records = [record(0, 784, 40, 20), record(1, 784, 10, 10)]
    (row,) = tabulate_sweep(records).to_dict("records")
    assert row["improvement_percent"] == pytest.approx(100 * (50 - 30) / 50)


def test_a_row_for_each_size_in_order():
    records = [*made_up(2 * 784, 3, 1)[2], *made_up(100, 2, 2)[2], *made_up(784, 4, 3)[2]]
    table = tabulate_sweep(records)
    assert list(table["n_hidden"]) == [100, 784, 1568]
    assert list(table["repeats"]) == [2, 4, 3]
    assert list(table["fanout"]) == [100 / 784, 1, 2]


def test_the_papers_columns():
    fanouts = [*paper.FANOUTS, 11]
    table = tabulate_sweep([record(0, 784 * fanout, 40, 30) for fanout in fanouts])
    table = table.set_index("fanout")
    columns = {
        "paper_pi_error_percent": paper.PI_ERROR_PERCENT,
        "paper_lda_error_percent": paper.LDA_ERROR_PERCENT,
        "paper_improvement_percent": paper.IMPROVEMENT_PERCENT,
    }
    for name, printed in columns.items():
        assert math.isnan(table.loc[11, name])
        assert table[name].dropna().to_dict() == printed


def test_a_single_repeat_has_no_interval():
    (row,) = tabulate_sweep([record(0, 784, 40, 30)]).to_dict("records")
    assert row["pi_error_percent"] == 10
    assert math.isnan(row["pi_interval"])
    assert math.isnan(row["lda_interval"])


def test_no_errors_at_all_have_no_improvement():
    (row,) = tabulate_sweep([record(i, 784, 0, 0) for i in range(3)]).to_dict("records")
    assert (row["pi_error_percent"], row["pi_interval"]) == (0, 0)
    assert math.isnan(row["improvement_percent"])


@pytest.mark.parametrize("n_repeats", [3, 50])
def test_differences_are_of_pairs(n_repeats):
    pi, lda, records = made_up(784, n_repeats, seed=n_repeats)
    (row,) = tabulate_sweep(records).to_dict("records")
    differences = 100 * (np.array(pi) - np.array(lda)) / N_TEST
    paired = stats.ttest_rel(pi, lda)
    low, high = paired.confidence_interval(0.95)
    assert row["difference"] == pytest.approx(differences.mean())
    assert row["difference_interval"] == pytest.approx(100 * (high - low) / 2 / N_TEST)
    without_zeros = differences[differences.round(9) != 0].round(9)
    assert row["wilcoxon_p"] == pytest.approx(stats.wilcoxon(without_zeros).pvalue)
    assert row["pi_sd"] == pytest.approx(100 * np.std(pi, ddof=1) / N_TEST)
    assert row["lda_sd"] == pytest.approx(100 * np.std(lda, ddof=1) / N_TEST)


def test_distance_from_the_paper_in_standard_errors():
    """By hand: rates 7.0, 7.25, 7.5 % have a variance of 1/16; the paper has 7.20 of 200."""
    (row,) = tabulate_sweep([record(i, 784, 28 + i, 20) for i in range(3)]).to_dict("records")
    error = math.sqrt(1 / 16 / 3 + 1 / 16 / 200 + 0.01**2 / 12)
    assert row["pi_distance"] == pytest.approx((7.25 - 7.20) / error)
    assert row["lda_distance"] == pytest.approx((5 - 6.84) / math.sqrt(0.01**2 / 12))


def test_pi_with_a_constant_unit_stands_beside():
    """By hand: 26, 27 and 28 errors of 400, LDA 20, 22 and 24; fan-out 1."""
    records = [record(i, 784, 28 + i, 20 + 2 * i) for i in range(3)]
    (row,) = tabulate_sweep(records).to_dict("records")
    assert row["pi_constant_error_percent"] == pytest.approx(6.75)
    assert row["pi_constant_sd"] == pytest.approx(0.25)
    error = math.sqrt(1 / 16 / 3 + 1 / 16 / 200 + 0.01**2 / 12)
    assert row["pi_constant_distance"] == pytest.approx((6.75 - 7.20) / error)
    assert row["constant_improvement_percent"] == pytest.approx(100 * (27 - 22) / 27)
    without = np.array([100 * (1 - (22 + 24) / (27 + 28)), 100 * (1 - 44 / 54), 100 * (1 - 42 / 53)])
    pseudo = 3 * row["constant_improvement_percent"] - 2 * without
    low, high = stats.t.interval(0.95, 2, 0, stats.sem(pseudo))
    assert row["constant_improvement_interval"] == pytest.approx((high - low) / 2)
    spread = np.var(pseudo, ddof=1)
    z = (100 * 5 / 27 - 4.9) / math.sqrt(spread / 3 + spread / 200 + 0.1**2 / 12)
    assert row["constant_improvement_distance"] == pytest.approx(z)


def test_equal_methods_have_no_p():
    (row,) = tabulate_sweep([record(i, 784, 20 + i, 20 + i) for i in range(3)]).to_dict("records")
    assert (row["difference"], row["difference_interval"]) == (0, 0)
    assert math.isnan(row["wilcoxon_p"])


def test_as_printed_has_the_papers_columns_in_its_order():
    records = [record(0, 784 * fanout, 40, 30) for fanout in (1, 3, 11, 20)]
    printed = tabulate_as_printed(tabulate_sweep(records), AS_PRINTED)
    assert list(printed.columns) == ["fan-out", *paper.FANOUTS]
    printed = printed.set_index("fan-out")
    assert printed.loc["PI-ELM", 1] == 10
    assert printed.loc["PI-ELM, the paper", 1] == 7.20
    assert printed.loc["% improvement", 20] == 25
    assert printed.loc["PI-ELM", [2, 10]].isna().all()


def test_ensembles():
    records = [EnsembleRecord(r, 2, "mean", errors, 400) for r, errors in enumerate((8, 4, 6))]
    (row,) = tabulate_ensemble(records).to_dict("records")
    low, high = stats.t.interval(0.95, 2, 1.5, stats.sem([2, 1, 1.5]))
    assert (row["size"], row["combine"], row["repeats"]) == (2, "mean", 3)
    assert (row["error_percent"], row["best_percent"]) == (1.5, 1)
    assert row["interval"] == pytest.approx((high - low) / 2)


def test_words_are_aligned_on_the_left():
    frame = pd.DataFrame({"kind": ["uniform", ""], "rate": [1.5, math.nan]})
    columns = [Column("Kind", "kind"), Column("Rate", "rate", ".2f")]
    assert make_table("", frame, columns).are_words == [True, False]
    three = [*columns, Column("Again", "rate", ".2f")]
    assert make_table("", frame, three, kind="claims").are_words == [True, False, True]
