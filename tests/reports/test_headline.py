"""The first lines of a report follow from the claims."""

from dataclasses import replace

import pytest
from made_up import sweep_records

from elmlda.reports.claims.evidence import gather_evidence
from elmlda.reports.claims.rule import Kind, Reading, Verdict
from elmlda.reports.claims.statements import judge_claims
from elmlda.reports.claims.words import (
    describe_cells,
    describe_claims,
    summarise_claims,
    summarise_other_reading,
)

YES, NO = Verdict.REPRODUCED, Verdict.NOT_REPRODUCED
BETWEEN, OPEN = Verdict.INCONCLUSIVE, Verdict.OPEN
SWEEP = sweep_records({1: [(7.2, 6.9)] * 3})


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


def test_all_reproduced(claims):
    expected = "Reproduced: 12 of 12 statements, 26 of 26 rates; not reproduced: none."
    assert summarise_claims(claims) == (expected, "good")


def test_what_is_not_reproduced_is_named(claims):
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
    assert summarise_claims(change(claims, changes)) == (expected, "bad")


def test_improvements_and_further_numbers_are_not_counted(claims):
    changes = {claim.key: NO for claim in claims if claim.kind in (Kind.IMPROVEMENT, Kind.FURTHER)}
    assert summarise_claims(change(claims, changes))[1] == "good"


def test_each_reading_has_its_line(claims):
    changed = change(claims, {"table1-pi-4": NO, "average-improvement-constant": BETWEEN})
    assert "not reproduced: PI-ELM at fan-out 4." in summarise_claims(changed)[0]
    assert summarise_other_reading(changed) == (
        "With a constant hidden unit in PI-ELM, which Eq. (5) lacks, reproduced: 11 of 12 statements, "
        "26 of 26 rates; not reproduced: none; inconclusive: the average improvement."
    )


def test_many_are_counted_not_named(claims):
    keys = [claim.key for claim in claims if claim.kind == Kind.STATEMENT]
    text, tone = summarise_claims(change(claims, dict.fromkeys([*keys, "table1-pi-4"], BETWEEN)))
    assert text.endswith("; not reproduced: none; inconclusive: 12 statements, 1 rate.")
    assert tone == "open"


def test_an_interim_verdict_says_so(claims):
    interim = [
        replace(claim, interim=True, ours=replace(claim.ours, repeats=30))
        if claim.repeats_are == "networks" and claim.kind != Kind.UNTESTED
        else claim
        for claim in claims
    ]
    text, tone = summarise_claims(interim)
    so_far = "Interim (30 of 200 networks): consistent with the paper so far. Reproduced: 12 of 12"
    assert text.startswith(so_far)
    assert tone == "consistent"
    row = next(row for row in rows_of(describe_claims(interim)[0], 0) if "every fan" in row["Claim"])
    assert row["Verdict"] == "reproduced (interim)"
    assert row["Repeats"] == "30 of 200"


def test_what_is_not_decided_yet_agrees_with_the_paper_so_far_or_not():
    """Four networks at fan-out 1: PI-ELM as printed but uncertain, LDA-ELM far off, others not run."""
    rates = [(7.2 + e, 8.0 + e / 9) for e in (-0.3, -0.1, 0.1, 0.3)]
    claims = judge_claims(gather_evidence(sweep_records({1: rates}), [], [], {}))
    pi, lda, _, later, *_ = rows_of(describe_cells(claims)[0], 0)
    assert pi["Verdict"] == "consistent with the paper so far"
    assert lda["Verdict"] == "not reproduced (interim)"
    assert later["Verdict"] == "not decided yet"
    text, tone = summarise_claims(claims)
    assert text.startswith("Interim (4 of 200 networks, 0 of 3 timings, 0 of 90 pairs, 0 of 10 ensem")
    assert "so far" not in text
    assert tone == "bad"


def rows_of(section, place):
    """A table's rows, column -> text."""
    table = section.tables[place]
    titles = [column.title for column in table.columns]
    return [dict(zip(titles, [cell.text for cell in row], strict=True)) for row in table.rows]


def test_groups_are_by_reading(claims):
    statements, _, untested = describe_claims(claims)
    assert [len(table.rows) for table in statements.tables] == [13, 5]
    (cells,) = describe_cells(claims)
    assert [len(table.rows) for table in cells.tables] == [39, 26]
    assert len(untested.items) == 5
    assert describe_claims([]) == describe_cells([]) == []


def test_what_counts_stands_beside_what_is_found(claims):
    rows = rows_of(describe_claims(claims)[0], 0)
    counts = {row["Claim"]: row["Required"] for row in rows}
    assert counts["LDA-ELM has fewer errors than PI-ELM at every fan-out from 1 to 20"] == "above 0"
    assert counts["The error rate of twenty networks of fan-out 20 is 1.69 %"] == "1.66 to 1.72"
    assert [counts[claim] for claim in counts if "less than 12 %" in claim] == ["below 12"]


def test_a_number_beside_a_statement_is_marked(claims):
    table = describe_claims(claims)[0].tables[0]
    assert [row[0].text for row in table.rows if "not counted" in row[0].note] == [
        "LDA-ELM's error rate is 3.1 % lower on average, over all 20 fan-outs"
    ]


def test_readings_are_told_apart(claims):
    both = {claim.reading for claim in claims if claim.kind == Kind.RATE}
    assert both == {Reading.EQ5, Reading.CONSTANT, Reading.NONE}
