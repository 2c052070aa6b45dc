"""Tables from made-up records, against the formulas and scipy's own interval."""

import math

import numpy as np
import pytest
from scipy import stats

from elmlda import paper
from elmlda.experiments.sweep import SweepRecord
from elmlda.report.tables import half_interval, tabulate_sweep

N_TEST = 400


def record(repeat, n_hidden, pi_errors, lda_errors, n_inputs=784):
    return SweepRecord(
        repeat, n_hidden / n_inputs, n_hidden, pi_errors, 999, lda_errors, N_TEST, 1.5, "mixed"
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


@pytest.mark.parametrize("level", [0.5, 0.95, 0.99])
def test_half_an_interval(level):
    values = np.array([1.0, 2.0, 4.0, 8.0])
    low, high = stats.t.interval(level, 3, values.mean(), stats.sem(values))
    assert half_interval(values, level) == pytest.approx((high - low) / 2, rel=1e-12)


def test_equal_values_have_an_interval_of_no_width():
    assert half_interval(np.full(5, 2.5)) == 0
    assert math.isnan(half_interval(np.array([2.5])))
