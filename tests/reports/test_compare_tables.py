"""Comparisons over sets against hand calculation, scipy and published examples."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from elmlda.experiments.compare import CompareRecord
from elmlda.reports.comparison import (
    CONTESTANTS,
    choose_fanout,
    describe_findings,
    tabulate_ranks,
    tabulate_summary,
)
from elmlda.reports.estimates import estimate_mean
from elmlda.reports.rates import adjust_holm, corrected_p
from elmlda.reports.subjects.compare import tabulate_compare


def half_interval(values, overlap):
    return estimate_mean(values, overlap=overlap).half


def record(repeat, fold, pi, lda, n_hidden=10, rule="none", n_train=90, n_test=10, ridge=0.0):
    return CompareRecord(
        repeat, fold, n_hidden / 5, n_hidden, rule, ridge, pi, pi + 1, lda, n_train, n_test, "double",
        f"{pi} 0", f"0 {lda}", "5 5",
    )  # fmt: skip


def test_without_overlap_it_is_the_paired_t_test():
    rng = np.random.default_rng(0)
    pi, lda = rng.normal(5, 1, 12), rng.normal(4.5, 1, 12)
    expected = stats.ttest_rel(pi, lda)
    assert corrected_p(pi - lda, 0) == pytest.approx(expected.pvalue)
    low, high = expected.confidence_interval(0.95)
    assert half_interval(pi - lda, 0) == pytest.approx((high - low) / 2)


def test_nadeau_and_bengios_correction_by_hand():
    """Ten differences with variance 1 and mean 1; a ninth of the training part is tested on."""
    differences = np.array([1.0] * 10) + np.tile([1, -1], 5) * math.sqrt(9 / 10)
    assert np.var(differences, ddof=1) == pytest.approx(1)
    t = 1 / math.sqrt(1 / 10 + 1 / 9)
    assert corrected_p(differences, 1 / 9) == pytest.approx(2 * stats.t.sf(t, 9))
    assert half_interval(differences, 1 / 9) == pytest.approx(stats.t.ppf(0.975, 9) / t)


def test_the_correction_keeps_its_level_where_folds_overlap():
    """Two methods that are equally good: folds share their noise, and the naive test finds too much."""
    rng = np.random.default_rng(1)
    naive, corrected = [], []
    for _ in range(300):
        common = rng.normal(0, 1)  # what the sample has in store for all folds
        differences = common / 3 + rng.normal(0, 1, 10)
        naive.append(corrected_p(differences, 0) < 0.05)
        corrected.append(corrected_p(differences, 1 / 9) < 0.05)
    assert np.mean(corrected) < 0.07 < np.mean(naive)


def test_what_has_no_spread_has_no_p():
    assert corrected_p(np.zeros(5), 0.1) == 1
    assert math.isnan(corrected_p(np.full(5, 0.1), 0.1))
    assert math.isnan(corrected_p(np.array([1.0]), 0.1))
    assert math.isnan(half_interval(np.array([1.0]), 0.1))


def test_holm_by_hand():
    """The usual textbook case: 0.01, 0.04, 0.03, 0.005."""
    assert adjust_holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert adjust_holm([0.6, 0.5]) == pytest.approx([1, 1])
    found = adjust_holm([0.02, math.nan, 0.03])
    assert found[0] == pytest.approx(0.04)
    assert math.isnan(found[1])


def test_one_set():
    records = [record(r, f, 3 + f, 2, ridge=r) for r in (0, 1) for f in (0, 1)]
    records += [record(0, f, 1, 2, 20, "gcv", ridge=0.5) for f in (0, 1)]
    table = tabulate_compare(records)
    assert list(table["rule"]) == ["none", "gcv"]
    row = table.iloc[0]
    assert (row["fanout"], row["n_hidden"], row["networks"]) == (2, 10, 4)
    assert row["pi_error_percent"] == 35
    assert row["pi_constant_error_percent"] == 45
    assert row["lda_error_percent"] == 20
    assert row["difference"] == 15
    values = np.array([10.0, 20, 10, 20])
    assert row["difference_interval"] == pytest.approx(half_interval(values, 1 / 9))
    assert row["p"] == pytest.approx(corrected_p(values, 1 / 9))
    assert row["pi_worst_recall_percent"] == pytest.approx(100 * (1 - 14 / 20))
    assert row["lda_worst_recall_percent"] == pytest.approx(100 * (1 - 8 / 20))
    assert row["ridge"] == 0.5
    own_split = tabulate_compare([record(r, 0, 3 + r, 2) for r in range(3)]).iloc[0]
    assert own_split["p"] == pytest.approx(corrected_p(np.array([10.0, 20, 30]), 0))


def set_table(rates, fanout=2):
    """Rates of PI, LDA, PI with ridge, LDA with ridge."""
    rows = [
        {
            "rule": rule, "fanout": fanout, "n_hidden": 10, "networks": 5, "p": 0.01,
            "pi_error_percent": pi, "lda_error_percent": lda, "difference": pi - lda,
        }
        for rule, pi, lda in (("none", *rates[:2]), ("gcv", *rates[2:]))
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_average_ranks():
    tables = {
        "one": set_table([4, 3, 2, 1]),
        "two": set_table([4, 1, 2, 2]),
        "three": set_table([9, 7, 8, 6]),
    }
    (row,) = tabulate_ranks(tables).to_dict("records")
    names = list(CONTESTANTS.values())
    expected = np.mean([[4, 3, 2, 1], [4, 1, 2.5, 2.5], [4, 2, 3, 1]], axis=0)
    assert [row[name] for name in names] == pytest.approx(expected)
    errors = np.array([[4, 3, 2, 1], [4, 1, 2, 2], [9, 7, 8, 6]])
    assert row["friedman_p"] == pytest.approx(stats.friedmanchisquare(*errors.T).pvalue)


def test_the_critical_difference_is_demsars():
    """His q for four classifiers is 2.569 (Table 5 of the 2006 paper)."""
    tables = {str(i): set_table([4, 3, 2, 1 + i]) for i in range(14)}
    (row,) = tabulate_ranks(tables).to_dict("records")
    assert row["critical_difference"] == pytest.approx(2.569 * math.sqrt(4 * 5 / (6 * 14)), abs=2e-3)


def test_fanouts_that_a_set_lacks_are_left_out():
    assert tabulate_ranks({"one": set_table([4, 3, 2, 1]), "two": set_table([4, 3, 2, 1], 3)}).empty
    one_rule = set_table([4, 3, 2, 1]).iloc[:1]
    assert tabulate_ranks({"one": one_rule}).empty


def test_p_is_corrected_within_rule_and_fanout():
    summary = tabulate_summary({name: set_table([4, 3, 2, 1]) for name in ("one", "two", "three")})
    assert list(summary["dataset"]) == ["one", "one", "two", "two", "three", "three"]
    assert list(summary["p_holm"]) == pytest.approx([0.03] * 6)


def finding(**changes):
    row = {
        "dataset": "blobs", "rule": "none", "fanout": 5.0, "n_hidden": 20, "p_holm": 0.01,
        "pi_error_percent": 10.0, "pi_constant_error_percent": 10.0, "lda_error_percent": 4.0,
        "difference": 6.0, "pi_worst_recall_percent": 60.0, "lda_worst_recall_percent": 90.0,
    }  # fmt: skip
    return {**row, **changes}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "60 % by PI-ELM and at 90 % by LDA-ELM: least squares lets a class be outvoted"),
        ({"pi_constant_error_percent": 5.0}, "most of the gain is the constant's"),
        ({"lda_worst_recall_percent": 62.0}, "the gain is spread over the classes"),
        ({"p_holm": 0.2}, "On blobs they can't be told apart: the differences are at most 6.00 points"),
    ],
)
def test_findings_follow_from_the_numbers(changes, said):
    sentences = describe_findings(pd.DataFrame([finding(**changes)]), 5)
    assert said in " ".join(sentences)
    assert len(sentences) == 2


def test_findings_count_sets_both_ways():
    rows = [
        finding(),
        finding(dataset="worse", difference=-2.0),
        finding(dataset="unsure", difference=1.0, p_holm=0.5),
    ]
    (first, *_) = describe_findings(pd.DataFrame(rows), 5)
    assert first == (
        "Without a ridge, at fan-out 5, LDA-ELM has fewer errors than PI-ELM on 2 of 3 data sets: "
        "beyond chance (p < 0.05 after Holm's correction) on blobs (+6.00 points); PI-ELM on worse "
        "(−2.00 points)."
    )


def test_the_summary_is_at_the_usual_fanout_that_most_sets_have():
    both = pd.concat([set_table([4, 3, 2, 1], fanout) for fanout in (2, 5, 10)])
    small = set_table([4, 3, 2, 1], 2)
    assert choose_fanout({"one": both}) == 5
    assert choose_fanout({"one": both, "two": small}) == 2
    assert choose_fanout({"one": both, "two": both, "three": small.iloc[:1]}) == 5


@pytest.mark.parametrize(
    ("recall", "said"),
    [(70.0, "what LDA-ELM gains there it pays for"), (60.5, "there is no neglected class")],
)
def test_losses_are_explained_too(recall, said):
    row = finding(difference=-1.0, lda_error_percent=11.0, lda_worst_recall_percent=recall)
    sentences = describe_findings(pd.DataFrame([row]), 5)
    assert "PI-ELM has 10.00 %, LDA-ELM 11.00 %" in sentences[1]
    assert said in sentences[1]
