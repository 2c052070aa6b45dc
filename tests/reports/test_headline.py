"""The first lines of a report follow from the claims."""

from dataclasses import replace

import pytest
from made_up import make_run, sweep_records

from elmlda.reports.claims import Kind, Reading, Verdict
from elmlda.reports.evidence import gather_evidence
from elmlda.reports.headline import (
    group_cells,
    group_statements,
    list_untested,
    summarise,
    summarise_other_reading,
)
from elmlda.reports.judge import judge_claims
from elmlda.reports.records import read_run

YES, NO = Verdict.REPRODUCED, Verdict.NOT_REPRODUCED
BETWEEN, OPEN = Verdict.INCONCLUSIVE, Verdict.OPEN
SWEEP = sweep_records({1: [(7.2, 6.9)] * 3})


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return read_run(make_run(tmp_path_factory.mktemp("headline") / "run", sweep=SWEEP))


@pytest.fixture(scope="module")
def claims():
    """All of them, as if everything had been run and was reproduced."""
    judged = judge_claims(gather_evidence(SWEEP, [], [], {}))
    return [
        replace(claim, verdict=YES, interim=False, ours=replace(claim.ours, repeats=claim.full))
        if claim.kind != Kind.UNTESTED
        else claim
        for claim in judged
    ]


def change(claims, changes):
    """Some verdicts changed, by key."""
    return [replace(claim, verdict=changes.get(claim.key, claim.verdict)) for claim in claims]


def test_all_reproduced(run, claims):
    expected = "Reproduced: 12 of 12 statements, 26 of 26 rates; not reproduced: none."
    assert summarise(run, claims) == (expected, "good")


def test_what_is_not_reproduced_is_named(run, claims):
    changes = {
        "average-improvement": NO,
        "table1-pi-4": NO,
        "table1-pi-5": NO,
        "table1-pi-6": NO,
        "table1-lda-20": BETWEEN,
        "ensemble-2": BETWEEN,
    }
    expected = (
        "Reproduced: 10 of 12 statements, 22 of 26 rates; not reproduced: the average improvement, "
        "PI-ELM at fan-out 4-6; inconclusive: the rate of two networks, LDA-ELM at fan-out 20."
    )
    assert summarise(run, change(claims, changes)) == (expected, "bad")


def test_improvements_and_further_numbers_are_not_counted(run, claims):
    changes = {claim.key: NO for claim in claims if claim.kind in (Kind.IMPROVEMENT, Kind.FURTHER)}
    assert summarise(run, change(claims, changes))[1] == "good"


def test_each_reading_has_its_line(run, claims):
    changed = change(claims, {"table1-pi-4": NO, "average-improvement-constant": BETWEEN})
    assert "not reproduced: PI-ELM at fan-out 4." in summarise(run, changed)[0]
    assert summarise_other_reading(changed) == (
        "With a constant hidden unit in PI-ELM, which Eq. (5) lacks, reproduced: 11 of 12 statements, "
        "26 of 26 rates; not reproduced: none; inconclusive: the average improvement."
    )


def test_many_are_counted_not_named(run, claims):
    keys = [claim.key for claim in claims if claim.kind == Kind.STATEMENT]
    text, tone = summarise(run, change(claims, dict.fromkeys([*keys, "table1-pi-4"], BETWEEN)))
    assert text.endswith("; not reproduced: none; inconclusive: 12 statements, 1 rate.")
    assert tone == "open"


def test_an_interim_verdict_says_so(run, claims):
    interim = [
        replace(claim, interim=True, ours=replace(claim.ours, repeats=30))
        if claim.repeats_are == "networks" and claim.kind != Kind.UNTESTED
        else claim
        for claim in claims
    ]
    text, tone = summarise(run, interim)
    assert text.startswith("Interim (30 of 200 networks). Reproduced: 12 of 12 statements")
    assert tone == "open"
    (row,) = [row for row in group_statements(interim)[0].rows if "every fan-out" in row["text"]][:1]
    assert row["verdict"] == "reproduced (interim)"
    assert row["repeats"] == "30 of 200"


def test_groups_are_by_reading(claims):
    statements, others = group_statements(claims)
    assert (len(statements.rows), len(others.rows)) == (13, 5)
    cells, other_cells = group_cells(claims)
    assert (len(cells.rows), len(other_cells.rows)) == (39, 26)
    assert len(list_untested(claims)) == 5
    assert group_statements([]) == group_cells([]) == []


def test_a_number_beside_a_statement_is_marked(claims):
    rows = [row for row in group_statements(claims)[0].rows if "not counted" in row["where"]]
    assert [row["text"] for row in rows] == [
        "LDA-ELM's error rate is 3.1 % lower on average, over all 20 fan-outs"
    ]


def test_readings_are_told_apart(claims):
    both = {claim.reading for claim in claims if claim.kind == Kind.RATE}
    assert both == {Reading.EQ5, Reading.CONSTANT, Reading.NONE}
