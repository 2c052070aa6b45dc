"""The rule for verdicts, the claims, and the rule's errors on simulated runs with known truth."""

import math

import numpy as np
import pandas as pd
import pytest
from made_runs import make_run, simulate_draws, simulate_sweep, simulate_timing, sweep

from elmlda import paper
from elmlda.reports import claims
from elmlda.reports.claims import Check, Claim
from elmlda.reports.load import read_records
from elmlda.reports.stats import Estimate

RNG = np.random.default_rng


def check(value, se, low=1.0, high=2.0, printed=1.5, n=200, **rest):
    return Check("here", Estimate(value, se, n, spread=0.0), low, high, printed, **rest)


@pytest.mark.parametrize(
    ("value", "se", "printed", "verdict"),
    [
        (1.5, 0.1, 1.5, "reproduced"),
        (1.9, 0.1, 1.5, "inconclusive"),  # reaches out of the region
        (1.5, 0.5, 1.5, "inconclusive"),  # reaches out on both sides
        (2.5, 0.1, 1.5, "not reproduced"),
        (0.5, 0.1, 1.5, "not reproduced"),
        (2.5, 0.1, 2.4, "inconclusive"),  # outside, but |z| is 1
        (2.5, 0.1, np.nan, "not reproduced"),  # the border stands in for the paper's number
        (2.0, 0.0, 1.5, "not reproduced"),  # the border does not belong to the region
    ],
)
def test_the_rule_for_one_number(value, se, printed, verdict):
    assert check(value, se, printed=printed).judge() == verdict


def test_chance_on_the_papers_side_can_explain_a_number_outside():
    ours = Estimate(2.5, 0.1, 200, spread=200.0)
    assert Check("", ours, 1.0, 2.0, 1.5).judge() == "inconclusive"
    assert Check("", ours, 1.0, 2.0, 1.5, paper_repeats=10_000_000).judge() == "not reproduced"


@pytest.mark.parametrize(
    ("n", "verdict"),
    [(0, "not run yet"), (1, "too few networks"), (19, "too few networks"), (20, "reproduced")],
)
def test_too_few_repeats_decide_nothing(n, verdict):
    ours = Estimate(1.5, 0.1, n, spread=0.0) if n else Estimate()
    assert Check("", ours, 1.0, 2.0, 1.5).judge() == verdict


def decide(*checks):
    return Claim("lda-better", checks).decide()


def test_a_claim_about_several_numbers_needs_all_of_them():
    good, open_, missing = check(1.5, 0.1), check(1.9, 0.1), Check("", Estimate(), 1.0, 2.0)
    assert decide(good, good)["verdict"] == "reproduced"
    assert decide(good, open_)["verdict"] == "inconclusive"
    assert decide(good, missing)["verdict"] == "not run yet"
    assert decide(good, check(3.0, 0.1), missing)["verdict"] == "not reproduced"


def test_one_of_many_fails_only_by_the_wider_interval():
    beyond = check(2.0 + 2.2 * 0.1, 0.1, printed=2.0)  # outside by 2.2 standard errors
    assert decide(beyond)["verdict"] == "not reproduced"
    assert decide(beyond, *[check(1.5, 0.1)] * 19)["verdict"] == "inconclusive"


def test_the_number_closest_to_failing_is_shown():
    assert decide(check(1.5, 0.1), check(1.7, 0.1))["ours"] == 1.7
    assert decide(check(1.9, 0.1), check(3.0, 0.1))["ours"] == 3.0


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    """Simulate a run of the paper's size in which the paper is right."""
    rng = RNG(0)
    tables = {
        "sweep": simulate_sweep(rng),
        "draws": simulate_draws(rng),
        "timing": simulate_timing(rng),
    }
    return read_records(make_run(tmp_path_factory.mktemp("full") / "run", **tables))


def test_the_protocols_claims_are_all_there(full):
    table = claims.judge_claims(full)
    assert table["key"].is_unique
    counted = table[table["counted"]]
    assert counted["kind"].value_counts().to_dict() == {"rate": 26, "statement": 11}
    constant = table[table["reading"] == claims.CONSTANT]
    assert constant["kind"].value_counts().to_dict() == {"rate": 13, "improvement": 13, "statement": 4}
    assert (table["kind"] == "improvement").sum() == 26
    assert not set(table["verdict"]) - set(claims.VERDICTS)


def test_regions_are_the_protocols(full):
    table = claims.judge_claims(full).set_index("key")
    regions = table[["region_low", "region_high"]]
    for fanout, rate in paper.LDA_ERROR_PERCENT.items():
        assert regions.loc[f"table1-lda-{fanout}"].tolist() == pytest.approx([0.98 * rate, 1.02 * rate])
    assert regions.loc["average-improvement"].tolist() == pytest.approx([2.6, 3.6])
    assert regions.loc["table1-pi-improvement-20"].tolist() == pytest.approx([2.3, 4.3])
    assert regions.loc["ensemble-20"].tolist() == pytest.approx([1.6562, 1.7238])
    assert table.loc["twenty-best", "region_high"] == pytest.approx(0.0338)
    assert table.loc["time", "region_high"] == pytest.approx(12)
    assert regions.loc["lda-better"].tolist() == [0, math.inf]


def judge_many(n_runs, tmp_path, **shifts):
    """Return the verdicts of simulated runs, runs × claims."""
    verdicts = []
    for i in range(n_runs):
        folder = make_run(tmp_path / str(i), sweep=simulate_sweep(RNG(i), **shifts))
        table = claims.judge_claims(read_records(folder)).set_index("key")
        verdicts.append(table["verdict"])
    return pd.DataFrame(verdicts)


def test_the_rule_reproduces_a_paper_that_is_right(tmp_path):
    verdicts = judge_many(12, tmp_path)
    rates = verdicts.filter(regex=r"^table1-(pi|lda)-\d+$")
    assert (rates == "reproduced").mean(axis=None) > 0.97
    assert not (verdicts == "not reproduced").any(axis=None)


def test_the_rule_finds_a_method_that_is_four_per_cent_off(tmp_path):
    verdicts = judge_many(5, tmp_path, pi_shift=0.30)
    rates = verdicts.filter(regex=r"^table1-pi-\d+$")[[f"table1-pi-{f}" for f in (3, 5, 10, 20)]]
    assert (rates == "not reproduced").mean(axis=None) > 0.95
    assert (verdicts["lda-better"] == "reproduced").all()
    assert (verdicts["average-improvement"] == "not reproduced").all()
    assert (verdicts.filter(regex=r"^table1-lda-\d+$") == "reproduced").mean(axis=None) > 0.97
    reversed_ = judge_many(2, tmp_path / "reversed", lda_shift=0.6)
    assert (reversed_["lda-better"] == "not reproduced").all()


def test_ensembles_and_times_are_judged(full, tmp_path):
    table = claims.judge_claims(full).set_index("key")
    keys = ["ensemble-2", "ensemble-2-beats-1", "ensemble-20-beats-2", "ensemble-falls", "twenty-best"]
    assert set(table.loc[[*keys, "time"], "verdict"]) == {"reproduced"}
    assert table.loc["time", ["ours", "repeats"]].tolist() == pytest.approx([5, 5], abs=1)
    rng = RNG(1)
    tables = {"draws": simulate_draws(rng, shift=12.0), "timing": simulate_timing(rng, extra=0.2)}
    other = read_records(make_run(tmp_path / "run", sweep=simulate_sweep(rng, n=3), **tables))
    table = claims.judge_claims(other).set_index("key")
    assert table.loc["time", "verdict"] == "not reproduced"
    assert table.loc["ensemble-20", "ours"] == pytest.approx(1.81, abs=0.03)
    assert table.loc["ensemble-20", "verdict"] != "reproduced"


def test_another_ensembles_size_is_not_the_papers(tmp_path):
    experiments = {"ensemble": {"n": 20, "n_hidden": 784}}
    tables = {"sweep": simulate_sweep(RNG(2), n=3), "draws": simulate_draws(RNG(2), n=30)}
    run = read_records(make_run(tmp_path / "run", experiments=experiments, **tables))
    table = claims.judge_claims(run).set_index("key")
    assert set(table.filter(like="ensemble", axis=0)["verdict"]) == {"not run yet"}


def test_missing_fanouts_are_not_run(tmp_path):
    run = read_records(make_run(tmp_path / "run", sweep=simulate_sweep(RNG(3), n=30, fanouts=(1, 2))))
    table = claims.judge_claims(run).set_index("key")
    assert table.loc["table1-pi-1", "verdict"] != "not run yet"
    assert table.loc["table1-pi-3", "verdict"] == "not run yet"
    assert table.loc["lda-better", "verdict"] == "not run yet"


def test_a_size_without_lda_counts_for_pi_alone(tmp_path):
    counts = {1: [(720, 718, None)] * 5, 2: [(521, 520, 503), (522, 520, 502), (520, 519, 503)]}
    run = read_records(make_run(tmp_path / "run", sweep=sweep(counts)))
    table = claims.judge_claims(run).set_index("key")
    assert table.loc["table1-pi-1", "repeats"] == 5
    assert table.loc["table1-lda-1", "verdict"] == "not run yet"
    assert table.loc["table1-lda-2", "repeats"] == 3
