"""Every claim of the paper, judged, and as a table."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd

from elmlda.reports.claims.ensembles import judge_ensembles
from elmlda.reports.claims.evidence import Evidence
from elmlda.reports.claims.rule import Claim, Reading
from elmlda.reports.claims.statements import (
    judge_average_improvement,
    judge_better_everywhere,
    judge_error_falls,
    judge_larger_at_small_fanouts,
    judge_overhead,
    list_untested,
)
from elmlda.reports.claims.table1 import judge_cells


def judge_claims(evidence: Evidence) -> list[Claim]:
    """Statements by Eq. (5) and those that PI-ELM has no part in, the other reading's, then cells."""
    return [
        *_judge_methods(evidence, Reading.EQ5),
        judge_overhead(evidence.overheads),
        *judge_ensembles(evidence),
        *_judge_methods(evidence, Reading.CONSTANT),
        *list_untested(),
        *judge_cells(evidence),
    ]


def _judge_methods(evidence: Evidence, reading: Reading) -> list[Claim]:
    """What is said of PI-ELM and LDA-ELM beside each other."""
    return [
        judge_better_everywhere(evidence, reading),
        *judge_average_improvement(evidence, reading),
        judge_larger_at_small_fanouts(evidence, reading),
        judge_error_falls(evidence, reading),
    ]


def tabulate_claims(claims: Sequence[Claim]) -> pd.DataFrame:
    """claims.csv: a row for each claim.

    `counts_from` and `counts_to` are where it holds; its verdict is interim until there are
    `full_repeats`.
    """
    return pd.DataFrame(
        [
            {
                "key": claim.key,
                "claim": claim.text,
                "reading": str(claim.reading),
                "kind": str(claim.kind),
                "where": claim.where,
                "unit": claim.unit,
                "paper": claim.printed,
                "counts_from": _or_nothing(claim.region.low),
                "counts_to": _or_nothing(claim.region.high),
                "ours": claim.ours.value,
                "low": claim.ours.low,
                "high": claim.ours.high,
                "z": claim.z,
                "repeats": claim.ours.repeats,
                "full_repeats": claim.full,
                "interim": "yes" if claim.interim else "no",
                "verdict": str(claim.verdict),
                "because": claim.because,
            }
            for claim in claims
        ]
    )


def _or_nothing(bound: float) -> float:
    return bound if math.isfinite(bound) else math.nan
