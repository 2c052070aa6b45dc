"""The one-standard-error rule, and where the grid is widened."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elmlda.experiments.selection import choose, widen
from elmlda.experiments.tune import TuneRecord


def tried(settings, method="lda"):
    """(size, ridge) -> errors of each network, of 10,000; the other method gets everything wrong."""
    errors = {"pi_errors": 10_000, "lda_errors": 10_000}
    return [
        TuneRecord(
            repeat=repeat, fanout=1, n_hidden=10, weight_size=size, ridge=ridge,
            n_validation=10_000, precision="mixed", **{**errors, f"{method}_errors": count},
        )
        for (size, ridge), counts in settings.items()
        for repeat, count in enumerate(counts)
    ]  # fmt: skip


def place(each):
    return each.weight_size, each.ridge


def test_the_simplest_setting_within_one_standard_error():
    # Standard error of the best: sd 10, over √4 networks: 5 errors.
    best = {(1.0, 1.0): [90, 90, 110, 110], (2.0, 1.0): [104] * 4}
    error = np.std([90, 90, 110, 110], ddof=1) / 2
    found = choose(tried(best), "lda")
    assert place(found.best) == place(found.chosen) == (1.0, 1.0), "of equal ridges the smaller norm"
    assert found.best.standard_error == pytest.approx(error / 100)
    assert found.best.error_percent == pytest.approx(1.0)
    within = choose(tried({**best, (2.0, 10.0): [105] * 4}), "lda")
    assert place(within.chosen) == (2.0, 10.0), "a larger ridge is simpler, whatever the norm"
    beyond = choose(tried({**best, (2.0, 10.0): [106] * 4}), "lda")
    assert place(beyond.chosen) == (1.0, 1.0)


def test_each_method_chooses_by_its_own_errors():
    pi = tried({(1.0, 1.0): [90] * 3, (2.0, 1.0): [80] * 3}, "pi")
    lda = tried({(1.0, 1.0): [70] * 3, (2.0, 1.0): [75] * 3}, "lda")
    both = [
        TuneRecord(**{**vars(one), "lda_errors": other.lda_errors})
        for one, other in zip(pi, lda, strict=True)
    ]
    assert place(choose(both, "pi").chosen) == (2.0, 1.0)
    assert place(choose(both, "lda").chosen) == (1.0, 1.0)


def test_fewer_than_three_networks_have_no_standard_error():
    found = choose(tried({(1.0, 1.0): [50, 150], (1.0, 10.0): [101, 101]}), "lda")
    assert place(found.chosen) == (1.0, 1.0)
    assert math.isnan(found.best.standard_error)


@given(
    counts=st.lists(st.lists(st.integers(0, 200), min_size=3, max_size=3), min_size=9, max_size=9),
)
def test_nothing_simpler_is_as_good(counts):
    grid = list(product((0.5, 1.0, 2.0), (0.1, 1.0, 10.0)))
    settings = dict(zip(grid, counts, strict=True))
    found = choose(tried(settings), "lda")
    means = {key: np.mean(value) for key, value in settings.items()}
    best = settings[place(found.best)]
    assert np.mean(best) == min(means.values())
    limit = np.mean(best) + np.std(best, ddof=1) / math.sqrt(3)
    assert means[place(found.chosen)] <= limit + 1e-9
    size, ridge = place(found.chosen)
    simpler = [key for key in grid if (-key[1], key[0]) < (-ridge, size)]
    assert all(means[key] > limit - 1e-9 for key in simpler)


SIZES, RIDGES = (0.5, 1.0, 2.0), (0.1, 1.0, 10.0)


@pytest.mark.parametrize(
    ("best", "sizes", "ridges"),
    [
        ((0.5, 1.0), (0.25, *SIZES), RIDGES),
        ((2.0, 1.0), (*SIZES, 4.0), RIDGES),
        ((1.0, 0.1), SIZES, (0.01, *RIDGES)),
        ((1.0, 10.0), SIZES, (*RIDGES, 100.0)),
        ((2.0, 0.1), (*SIZES, 4.0), (0.01, *RIDGES)),
    ],
)
def test_the_grid_is_widened_beyond_the_edge_that_the_best_lies_on(best, sizes, ridges):
    counts = {key: [100] * 3 for key in product(SIZES, RIDGES)}
    records = tried({**counts, best: [50] * 3})
    assert widen(records, [choose(records, "lda")]) == (sizes, ridges)


def test_a_best_inside_the_grid_needs_no_wider_one():
    counts = {key: [100] * 3 for key in product(SIZES, RIDGES)}
    records = tried({**counts, (1.0, 1.0): [50] * 3})
    assert widen(records, [choose(records, "lda")]) is None
    one = tried({(1.0, 0.0): [5] * 3, (1.0, 1.0): [9] * 3})
    assert widen(one, [choose(one, "lda")]) is None, "nothing is below a ridge of 0"
    above = tried({(1.0, 0.0): [9] * 3, (1.0, 1.0): [5] * 3})
    assert widen(above, [choose(above, "lda")]) == ((1.0,), (0.0, 1.0, 10.0))


def test_the_edge_is_named():
    records = tried({(1.0, 0.1): [5] * 3, (1.0, 1.0): [9] * 3})
    (edge,) = choose(records, "lda").edges
    assert edge.describe("norm") == "the smallest ridge that was tried (0.1)"
