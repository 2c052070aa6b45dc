"""What a race gives: counts that differ, sums and ratios."""

from dataclasses import replace

import numpy as np
import pytest
from races import measurement

from elmlda.bench.growth import CostLaw
from elmlda.bench.race import Absence, Difference, Measurement, Outcome, Standing, find_differences


def test_the_nested_network_is_the_first_contestant(timed, plan):
    nested = Outcome.begin(plan, timed).nested
    assert nested.errors("pi") == dict(zip(plan.fanouts, timed.network.pi_errors, strict=True))
    assert nested.errors("lda") == dict(zip(plan.fanouts, timed.network.lda_errors, strict=True))


def test_one_error_is_rounding_and_two_are_not():
    nested = Measurement("nested", (1, 2), 1.0, (50, 40), (45, 35))
    others = [
        measurement("a", 1, pi=50),
        measurement("b", 2, pi=41),
        measurement("c", 2, lda=33),
        measurement("d", 1, pi=49, lda=45),
    ]
    differences = find_differences(nested, others)
    assert differences == [
        Difference("b", "pi", 2, 41, 40),
        Difference("c", "lda", 2, 33, 35),
        Difference("d", "pi", 1, 49, 50),
    ]
    assert [difference.voids for difference in differences] == [False, True, False]
    assert str(differences[1]) == "c, LDA at fan-out 2: 33 errors, nested has 35"


def standings_of(plan, others, absences=()):
    nested = Measurement("nested", plan.fanouts, 2.0, (9,) * 4, (8,) * 4)
    outcome = Outcome(plan, nested, 1.0)
    for result in (*others, *absences):
        outcome.add(result)
    return {row.contestant: row for row in outcome.standings}


def test_measured_sums_and_ratios(plan):
    plan = replace(plan, contestants=("independent", "pinv"))
    others = [measurement("independent", f, f, pi=9, lda=8) for f in plan.fanouts]
    others += [measurement("pinv", f, 2 * f, pi=9 + (f == 2)) for f in plan.fanouts]
    standings = standings_of(plan, others)
    assert list(standings) == ["nested", "limit", "independent", "pinv"]
    assert standings["nested"] == Standing(
        "nested", "PI and LDA", "1-4", 2.0, "measured", 1.0, "yes", ""
    )
    assert standings["limit"].ratio_to_nested == 0.5
    assert standings["limit"].errors_agree == ""
    assert standings["independent"] == Standing(
        "independent", "PI and LDA", "1-4", 10.0, "measured", 5.0, "yes", ""
    )
    assert standings["pinv"] == Standing("pinv", "PI", "1-4", 20.0, "measured", 10.0, "within 1", "")


def test_wrong_counts_show_in_the_table(plan):
    plan = replace(plan, contestants=("pinv",))
    others = [measurement("pinv", f, pi=9 + 2 * (f == 3)) for f in plan.fanouts]
    assert standings_of(plan, others)["pinv"].errors_agree == "no"


def test_sums_over_fanouts_that_were_not_timed_are_fitted(plan):
    plan = replace(plan, contestants=("sklearn-lda",), peer_fanouts=(1, 2, 4))
    law = CostLaw(600, 1e-7, 1e-6, 1e-6)
    others = [measurement("sklearn-lda", f, law.seconds(6 * f), lda=8) for f in (1, 2, 4)]
    row = standings_of(plan, others)["sklearn-lda"]
    assert row.kind == "fitted"
    assert row.methods == "LDA"
    assert row.seconds == pytest.approx(sum(law.seconds(6 * f) for f in plan.fanouts))
    assert row.note == "timed at fan-outs 1,2,4, where the fitted law is off by 0.0 % at most"


def test_too_few_fanouts_are_no_sum(plan):
    plan = replace(plan, contestants=("pinv",))
    others = [measurement("pinv", f, pi=9) for f in (1, 2)]
    absences = [Absence("pinv", (f,), "too large") for f in (3, 4)]
    row = standings_of(plan, others, absences)["pinv"]
    assert row.kind == "absent"
    assert np.isnan(row.seconds)
    assert np.isnan(row.ratio_to_nested)
    assert row.note == "fan-out 3: too large; fan-out 4: too large"
