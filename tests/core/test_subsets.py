"""Ensembles over random subsets, against combining posteriors one by one."""

from itertools import combinations

import numpy as np
import pytest
from made_runs import draw_posteriors

from elmlda.core.subsets import N_BATCHES, count_subset_errors, draw_subsets


@pytest.fixture(scope="module")
def kept():
    posteriors, labels = draw_posteriors(np.random.default_rng(0), n_networks=9)
    posteriors[:, :40] = np.round(posteriors[:, :40] * 4) / 4  # ties
    posteriors[:, 40:60] = 0.25  # nothing but ties
    return posteriors, labels


def by_hand(posteriors, labels, order):
    return [
        int((posteriors[order[: n + 1]].astype(float).sum(axis=0).argmax(axis=1) != labels).sum())
        for n in range(len(order))
    ]


def test_counts_are_those_of_sums_and_argmax(kept):
    rng = np.random.default_rng(1)
    orders = np.array([rng.permutation(9)[:6] for _ in range(100)])
    expected = [by_hand(*kept, order) for order in orders]
    np.testing.assert_array_equal(count_subset_errors(*kept, orders), expected)


def test_the_table_has_all_draws_each_network_left_out_and_batches(kept):
    table = draw_subsets(*kept, 500, 4, np.random.default_rng(3))
    left_out, size, errors = (np.array(table[name]) for name in ("left_out", "size", "errors"))
    assert sorted(set(left_out)) == [*range(-1 - N_BATCHES, 0), *range(9)]
    rng = np.random.default_rng(3)
    orders = rng.permuted(np.tile(np.arange(9), (500, 1)), axis=1)[:, :4]
    counts = np.array([by_hand(*kept, order) for order in orders])
    np.testing.assert_allclose(errors[left_out == -1], counts.mean(axis=0))
    for network in range(9):
        lacking = ~(orders == network).any(axis=1)
        np.testing.assert_allclose(errors[left_out == network], counts[lacking].mean(axis=0))
        assert set(table["draws"][left_out == network]) == {lacking.sum()}
    batches = [errors[(left_out < -1) & (size == n)].mean() for n in range(1, 5)]
    sizes = table["draws"][(left_out < -1) & (size == 1)]
    assert sizes.sum() == 500
    assert batches == pytest.approx(counts.mean(axis=0), rel=0.02)


def test_means_approach_those_over_all_subsets(kept):
    table = draw_subsets(*kept, 20_000, 2, np.random.default_rng(4))
    subsets = [by_hand(*kept, list(pair))[1] for pair in combinations(range(9), 2)]
    assert table["errors"][1] == pytest.approx(np.mean(subsets), abs=0.2)


def test_all_networks_in_every_draw_leave_none_out(kept):
    table = draw_subsets(kept[0][:3], kept[1], 20, 3, np.random.default_rng(5))
    lacking = table["left_out"] >= 0
    assert set(table["draws"][lacking]) == {0}
    assert np.isnan(table["errors"][lacking]).all()


def test_networks_that_never_err_have_no_errors():
    perfect = np.tile(np.eye(3, dtype=np.float16), (4, 1, 1))
    table = draw_subsets(perfect, np.arange(3), 10, 2, np.random.default_rng(0))
    assert not np.nan_to_num(table["errors"]).any()
