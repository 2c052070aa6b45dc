"""Races: who takes part, and at which fan-outs."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import LinAlgWarning

from elmlda.bench import race
from elmlda.bench.peers import PEERS, why_absent
from elmlda.bench.race import Absence, Measurement, Outcome, PeerWarning, find_differences, run_race

INSTALLED = [name for name in PEERS if not why_absent(name, "tanh")]


def split(results):
    results = list(results)
    absences = [result for result in results if isinstance(result, Absence)]
    return [result for result in results if isinstance(result, Measurement)], absences


def test_contestants_agree_at_every_fanout(timed, plan):
    measurements, absences = split(run_race(plan))
    assert {absence.contestant for absence in absences} == set(PEERS) - set(INSTALLED)
    assert [(m.contestant, m.fanouts) for m in measurements] == [
        (name, (fanout,)) for name in ("independent", *INSTALLED) for fanout in plan.fanouts
    ]
    assert find_differences(Outcome.begin(plan, timed).nested, measurements) == []
    assert all(m.seconds > 0 for m in measurements)
    for m in measurements:
        methods = {method for method in ("pi", "lda") if m.errors(method)}
        if m.contestant == "independent":
            assert methods == {"pi", "lda"}
        else:
            assert methods == {PEERS[m.contestant].method}


def test_independent_is_measured_at_all_fanouts_whatever_the_peers_are(plan):
    plan = replace(plan, contestants=("pinv", "independent"), peer_fanouts=(1, 2, 4))
    measurements, _ = split(run_race(plan))
    timed = {name: [] for name in plan.contestants}
    for m in measurements:
        timed[m.contestant] += m.fanouts
    assert timed == {"independent": [1, 2, 3, 4], "pinv": [1, 2, 4]}


def test_without_contestants_nothing_is_run(plan):
    assert list(run_race(replace(plan, contestants=()))) == []


def test_a_contestant_with_wrong_counts_voids_the_race(timed, plan, monkeypatch):
    wrong = replace(PEERS["pinv"], predict=lambda task, weights: np.zeros(200, int))
    monkeypatch.setitem(PEERS, "pinv", wrong)
    measurements, _ = split(run_race(replace(plan, contestants=("independent", "pinv"))))
    differences = find_differences(Outcome.begin(plan, timed).nested, measurements)
    assert [(d.contestant, d.method, d.fanout) for d in differences] == [
        ("pinv", "pi", fanout) for fanout in plan.fanouts
    ]
    assert all(difference.voids for difference in differences)


def test_an_absent_peer_is_named(plan, monkeypatch):
    monkeypatch.setattr(race, "why_absent", lambda name, activation: "went for a walk")
    results = list(run_race(replace(plan, contestants=("hpelm",))))
    assert results == [Absence("hpelm", plan.fanouts, "went for a walk")]


def test_what_does_not_fit_is_named_and_the_rest_is_run(plan, monkeypatch):
    monkeypatch.setattr(
        race, "why_too_large", lambda name, task, size: "too large" if size > 12 else None
    )
    measurements, absences = split(run_race(replace(plan, contestants=("pinv",))))
    assert [m.fanouts for m in measurements] == [(1,), (2,)]
    assert absences == [Absence("pinv", (3,), "too large"), Absence("pinv", (4,), "too large")]


def test_a_peers_warning_says_whose_it_is(plan, monkeypatch):
    def warn(task, weights):
        warnings.warn("ill-conditioned", LinAlgWarning, stacklevel=2)
        return np.zeros(200, int)

    monkeypatch.setitem(PEERS, "pinv", replace(PEERS["pinv"], predict=warn))
    with pytest.warns(PeerWarning, match=r"^pinv at fan-out 4: ill-conditioned$"):
        list(run_race(replace(plan, contestants=("pinv",), peer_fanouts=(4,))))
