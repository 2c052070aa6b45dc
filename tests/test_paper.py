"""The paper's printed numbers are consistent with each other, so they were copied correctly."""

import statistics

import pytest

from elmlda import paper

TABLES = {
    "PI_ERROR_PERCENT": paper.PI_ERROR_PERCENT,
    "LDA_ERROR_PERCENT": paper.LDA_ERROR_PERCENT,
    "IMPROVEMENT_PERCENT": paper.IMPROVEMENT_PERCENT,
    "PI_SECONDS": paper.PI_SECONDS,
    "LDA_SECONDS": paper.LDA_SECONDS,
}
HALF_CENT = 0.005
HALF_TENTH = 0.05


@pytest.mark.parametrize("fanout", paper.FANOUTS)
def test_improvements_follow_from_the_error_rates(fanout):
    """Table 1: within what rounding of the three printed values allows."""
    pi, lda = paper.PI_ERROR_PERCENT[fanout], paper.LDA_ERROR_PERCENT[fanout]
    least = 100 * (1 - (lda + HALF_CENT) / (pi - HALF_CENT))
    most = 100 * (1 - (lda - HALF_CENT) / (pi + HALF_CENT))
    assert least - HALF_TENTH <= paper.IMPROVEMENT_PERCENT[fanout] <= most + HALF_TENTH


def test_the_average_improvement_is_the_one_in_the_text():
    assert round(statistics.mean(paper.IMPROVEMENT_PERCENT.values()), 1) == 3.1


@pytest.mark.parametrize("method", ["PI", "LDA"])
def test_more_hidden_units_err_less_and_take_longer(method):
    errors, seconds = TABLES[f"{method}_ERROR_PERCENT"], TABLES[f"{method}_SECONDS"]
    assert sorted(errors.values(), reverse=True) == list(errors.values())
    assert sorted(seconds.values()) == list(seconds.values())


@pytest.mark.parametrize("fanout", paper.FANOUTS)
def test_lda_costs_less_than_12_percent_more(fanout):
    """Check Table 2 against the statement in the text."""
    overhead = paper.LDA_SECONDS[fanout] / paper.PI_SECONDS[fanout] - 1
    assert 0 <= overhead < 0.12


def test_an_ensemble_of_one_is_the_single_network():
    """Fig. 2's first point is Table 1's last."""
    assert paper.ENSEMBLE_ERROR_PERCENT[1] == paper.LDA_ERROR_PERCENT[20]
