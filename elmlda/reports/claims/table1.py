"""Every cell of Table 1, judged by the rule: PI-ELM by both readings, LDA-ELM, and the improvements."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from elmlda import paper
from elmlda.reports.claims.evidence import LDA, Evidence
from elmlda.reports.claims.rule import (
    IMPROVEMENT_MARGIN,
    RATE_MARGIN,
    Check,
    Claim,
    Kind,
    Reading,
    Statement,
    around,
    decide,
)
from elmlda.reports.claims.statements import PI_COLUMNS, key_of, measure_improvements
from elmlda.reports.estimates import IMPROVEMENT_ROUNDING, RATE_ROUNDING, sample_mean


def judge_cells(evidence: Evidence) -> Iterator[Claim]:
    """Rates and improvements, fan-out by fan-out; those of the other reading follow."""
    for fanout in paper.FANOUTS:
        yield _judge_rate(evidence, "PI-ELM", Reading.EQ5, fanout)
        yield _judge_rate(evidence, "LDA-ELM", Reading.NONE, fanout)
        yield _judge_improvement(evidence, Reading.EQ5, fanout)
    for fanout in paper.FANOUTS:
        yield _judge_rate(evidence, "PI-ELM", Reading.CONSTANT, fanout)
        yield _judge_improvement(evidence, Reading.CONSTANT, fanout)


def _judge_rate(evidence: Evidence, name: str, reading: Reading, fanout: int) -> Claim:
    column = PI_COLUMNS.get(reading, LDA)
    table = paper.LDA_ERROR_PERCENT if column == LDA else paper.PI_ERROR_PERCENT
    printed = table[fanout]
    statement = Statement(
        key=key_of(f"table1-{name.split('-')[0].lower()}-{fanout}", reading),
        text=f"{name}'s error rate at fan-out {fanout} is {printed:.2f} %",
        short=name,
        where="Table 1",
        unit="%",
        kind=Kind.RATE,
        reading=reading,
        fanout=fanout,
    )
    sample = sample_mean(evidence.at((fanout,), (column,))[:, 0, 0])
    return decide(
        statement, Check(sample, around(printed, RATE_MARGIN * printed), printed, RATE_ROUNDING)
    )


def _judge_improvement(evidence: Evidence, reading: Reading, fanout: int) -> Claim:
    printed = paper.IMPROVEMENT_PERCENT[fanout]
    statement = Statement(
        key=key_of(f"table1-improvement-{fanout}", reading),
        text=f"LDA-ELM's improvement at fan-out {fanout} is {printed:.1f} %",
        short="improvement",
        where="Table 1",
        unit="%",
        kind=Kind.IMPROVEMENT,
        reading=reading,
        fanout=fanout,
    )
    sample = measure_improvements(evidence, reading, (fanout,)).combine(np.ones(1))
    region = around(printed, IMPROVEMENT_MARGIN)
    return decide(statement, Check(sample, region, printed, IMPROVEMENT_ROUNDING))
