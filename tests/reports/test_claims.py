"""The rule, on numbers where the answer is known, each verdict both ways."""

import math
from dataclasses import replace

import numpy as np
import pytest

from elmlda import paper
from elmlda.reports.claims.rule import (
    NETWORKS,
    RATE_MARGIN,
    Check,
    Region,
    Statement,
    Verdict,
    around,
    decide,
)
from elmlda.reports.estimates import Estimate, sample_mean

YES, NO = Verdict.REPRODUCED, Verdict.NOT_REPRODUCED
BETWEEN, OPEN = Verdict.INCONCLUSIVE, Verdict.OPEN
NAN = float("nan")
STATEMENT = Statement(key="a", text="A is 1.", short="a", where="here", unit="%", full=10)


def decide_one(check):
    return decide(replace(STATEMENT, checks={0: check}))


def decide_all(checks):
    return decide(replace(STATEMENT, checks=checks, name=name))


@pytest.mark.parametrize(
    ("low", "high", "repeats", "z", "verdict"),
    [
        (1.1, 1.9, 3, 0.0, YES),
        (1.1, 1.9, 3, 9.0, YES),
        (0.9, 1.9, 3, 9.0, BETWEEN),
        (1.1, 2.1, 3, 9.0, BETWEEN),
        (0.5, 2.5, 3, 9.0, BETWEEN),
        (2.1, 2.5, 3, 1.97, NO),
        (2.1, 2.5, 3, 1.95, BETWEEN),
        (0.1, 0.9, 3, -1.97, NO),
        (0.1, 0.9, 3, -1.95, BETWEEN),
        (2.0, 2.5, 3, 9.0, NO),
        (0.5, 1.0, 3, 9.0, NO),
        (1.0, 1.5, 3, 9.0, BETWEEN),
        (1.1, 1.9, 2, 0.0, BETWEEN),
        (2.1, 2.5, 2, 9.0, BETWEEN),
        (NAN, NAN, 3, 9.0, BETWEEN),
        (2.1, 2.5, 3, NAN, BETWEEN),
    ],
)
def test_the_rule(low, high, repeats, z, verdict):
    assert Region(1, 2).judge(Estimate((low + high) / 2, low, high, repeats), z) == verdict


def test_a_widened_level_asks_more_of_z_too():
    outside = Estimate(3.0, 2.5, 3.5, 10)
    assert Region(1, 2).judge(outside, 2.5) == NO
    assert Region(1, 2).judge(outside, 2.5, 1 - 0.05 / 20) == BETWEEN
    assert Region(1, 2).judge(outside, 3.1, 1 - 0.05 / 20) == NO


def test_two_per_cent_around_both_methods_overlap_at_all_fanouts_but_one():
    """What the rule's text says of them."""
    overlapping = [
        fanout
        for fanout in paper.FANOUTS
        if paper.PI_ERROR_PERCENT[fanout] * (1 - RATE_MARGIN)
        < paper.LDA_ERROR_PERCENT[fanout] * (1 + RATE_MARGIN)
    ]
    assert set(paper.FANOUTS) - set(overlapping) == {1}
    for fanout, lda in paper.LDA_ERROR_PERCENT.items():
        assert paper.PI_ERROR_PERCENT[fanout] > around(lda, RATE_MARGIN * lda).high


def spread(mean, half, n):
    """n values with exactly that mean, and an interval of about that half-width."""
    if n == 1:
        return np.array([mean])
    values = np.linspace(-1, 1, n)
    error = values.std(ddof=1) / math.sqrt(n)
    return mean + half / 2 * values / error


def check(mean, half, n=10, region=None, **paper_side):
    return Check(sample_mean(spread(mean, half, n)), region or Region(0.9, 1.1), **paper_side)


def test_verdicts_are_interim_until_all_repeats_are_there():
    final, interim = (decide_one(check(1.0, 0.05, n, printed=1.0)) for n in (10, 9))
    assert (final.verdict, final.interim, final.ours.repeats) == (YES, False, 10)
    assert (interim.verdict, interim.interim, interim.ours.repeats) == (YES, True, 9)
    wide, earlier = (decide_one(check(1.05, 0.2, n, printed=1.0)) for n in (10, 9))
    assert (wide.verdict, earlier.verdict) == (BETWEEN, OPEN)
    assert wide.because == earlier.because == "the interval reaches beyond the required range"


def test_outside_is_not_enough():
    """The paper's one repeat varies as much as one of ours: 1.16 is no news, 1.9 is."""
    near = decide_one(check(1.16, 0.05, printed=1.0, paper_repeats=1))
    assert near.ours.low > 1.1
    assert abs(near.z) < 1.96 < abs(near.z) * math.sqrt(11)
    assert near.verdict == BETWEEN
    assert near.because.startswith("the interval lies outside, but chance can explain")
    far = decide_one(check(1.9, 0.05, printed=1.0, paper_repeats=1))
    assert far.z > 1.96
    assert (far.verdict, far.because) == (
        NO,
        "the interval lies outside, and chance does not explain the distance",
    )


def test_without_a_printed_number_the_border_stands_in_for_it():
    """At 0 ± 0.05 the border is 2.5 standard errors away without the paper's, 1.8 with them."""
    below = Region(low=0)
    near = check(-0.063, 0.05, region=below, paper_repeats=10)
    assert near.sample.estimate().high < 0
    assert math.isnan(near.z)
    assert near.judge() == BETWEEN
    assert check(-0.063, 0.05, region=below, paper_repeats=10_000).judge() == NO
    assert check(-0.1, 0.05, region=below, paper_repeats=10).judge() == NO
    assert check(0.1, 0.05, region=below, paper_repeats=10).judge() == YES


def name(keys):
    return "size " + ",".join(map(str, keys))


def test_every_number_has_to_be_there():
    checks = {i: check(1.0, 0.05, printed=1.0) for i in range(4)}
    claim = decide_all(checks)
    assert (claim.verdict, claim.interim) == (YES, False)
    few = decide_all({**checks, 2: check(1.0, 0.05, n=9, printed=1.0)})
    assert (few.verdict, few.interim) == (YES, True)
    one_wide = decide_all({**checks, 2: check(1.05, 0.2, printed=1.0)})
    assert (one_wide.verdict, one_wide.because) == (BETWEEN, "undecided at size 2")
    one_off = decide_all({**checks, 3: check(1.9, 0.05, printed=1.0)})
    assert (one_off.verdict, one_off.because) == (NO, "fails at size 3")
    assert one_off.ours.value == pytest.approx(1.9)
    assert one_off.z == pytest.approx(check(1.9, 0.05, printed=1.0).z)


def test_one_of_many_that_fails_by_chance_does_not_refute_all():
    """Beyond the border at 95 %, but not at the level that twenty looks need."""
    good = {i: check(1.0, 0.05, printed=1.0) for i in range(19)}
    off = check(1.16, 0.05, printed=1.0)
    assert off.judge() == NO
    assert decide_all({**good, 19: off}).verdict == BETWEEN
    assert decide_all({19: off}).verdict == NO


def test_the_one_that_is_closest_to_failing_is_shown():
    checks = {1: check(1.0, 0.05), 2: check(1.02, 0.05), 3: check(1.05, 0.01)}
    assert decide_all(checks).because == "closest to failing: size 2"
    single = {1: check(1.0, 0.05, n=1), 2: check(1.02, 0.05, n=1)}
    claim = decide_all(single)
    assert (claim.verdict, claim.because) == (OPEN, "1 repeat, at least 3 are needed")


def test_what_has_not_been_run():
    empty = Check(sample_mean(np.empty(0)), Region(0.9, 1.1), 1.0)
    claim = decide_one(empty)
    assert (claim.verdict, claim.because, claim.interim) == (OPEN, "not run yet", True)
    assert math.isnan(claim.ours.value)
    assert math.isnan(claim.z)
    some = decide_all({1: check(1.0, 0.05, printed=1.0), 2: empty})
    assert (some.verdict, some.because, some.interim) == (OPEN, "size 2 not run yet", True)
    none = decide_all({1: empty, 2: empty})
    assert (none.verdict, none.because) == (OPEN, "not run yet")


def test_the_papers_repeats_are_what_it_takes():
    assert NETWORKS == paper.REPEATS == 200


def test_whether_the_records_so_far_speak_against_it():
    """Of an interim claim; fewer than three repeats have to lie where the claim says."""
    inside, outside = 1.0, 1.9
    assert decide_one(check(inside, 0.05, n=9, printed=1.0)).is_consistent
    assert decide_one(check(1.05, 0.2, n=9, printed=1.0)).is_consistent
    assert not decide_one(check(outside, 0.05, n=9, printed=1.0)).is_consistent
    for few in (1, 2):
        assert decide_one(check(inside, 0.05, n=few, printed=1.0)).is_consistent
        assert not decide_one(check(outside, 0.05, n=few, printed=1.0)).is_consistent
    assert not decide_one(Check(sample_mean(np.empty(0)), Region(0.9, 1.1), 1.0)).is_consistent
