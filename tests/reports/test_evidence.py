"""Records laid out as arrays."""

import numpy as np
from made_up import ensemble_records, pair_records, sweep_records

from elmlda.reports.claims.evidence import LDA, PI, PI_CONSTANT, gather_evidence

SWEEP = sweep_records(
    {1: [(7, 6.5, 6), (7.2, 6.9, 6.2)], 20: [(2.2, 2.15, 2.1), (2.4, 2.3, 2.2)], 30: [(1, 1)]}
)


def test_rates_are_of_networks_that_have_all_fanouts():
    records = [record for record in SWEEP if (record.repeat, record.fanout) != (0, 20)]
    evidence = gather_evidence(records, [], [], {})
    np.testing.assert_allclose(evidence.at((1,), (PI, LDA))[:, 0], [[7, 6], [7.2, 6.2]])
    np.testing.assert_allclose(evidence.at((20, 1), (PI_CONSTANT,)), [[[2.3], [6.9]]])
    assert evidence.at((1, 2), (PI,)).shape == (0, 2, 1)


def test_the_order_of_records_does_not_matter():
    forwards, backwards = (gather_evidence(records, [], [], {}) for records in (SWEEP, SWEEP[::-1]))
    np.testing.assert_array_equal(forwards.rates, backwards.rates)


def test_pairs_stand_beside_the_mean_of_their_networks():
    evidence = gather_evidence(SWEEP, pair_records([1.9, 1.8])[::-1], [], {})
    np.testing.assert_allclose(evidence.pairs, [[1.9, 2.15], [1.8, np.nan]])


def test_ensembles_are_those_by_the_mean():
    records = ensemble_records({1: [2.1, 2.2], 2: [1.9]}) + ensemble_records({2: [1.7]}, "vote")
    evidence = gather_evidence([], [], records, {})
    np.testing.assert_allclose(evidence.combined((1,)), [[2.1], [2.2]])
    np.testing.assert_allclose(evidence.combined((1, 2)), [[2.1, 1.9]])


def test_nothing_is_recorded():
    evidence = gather_evidence([], [], [], {})
    assert evidence.at((1, 2), (PI, LDA)).shape == (0, 2, 2)
    assert evidence.pairs.shape == (0, 2)
    assert evidence.combined((1, 20)).shape == (0, 2)
