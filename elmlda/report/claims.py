"""Every claim of the paper, held against the records.

The rule
--------
A claim says where a number lies: above 0, say, or within 2 % of what is printed. The records give
that number with a 95 % interval over repeats.

- *reproduced*: the whole interval lies where the claim says;
- *not reproduced*: the whole interval lies elsewhere;
- *not enough data yet*: it lies across the border, or there are fewer than three repeats, or what the
  claim speaks of has not been run.

A claim about every fan-out is reproduced if it is at each of them, and not reproduced if it fails at
one of them by an interval widened for their number (Bonferroni: 95 % for all together).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

import numpy as np
import pandas as pd

from elmlda import paper
from elmlda.core.arrays import FloatArray
from elmlda.experiments.ensemble import EnsembleRecord
from elmlda.experiments.sweep import SweepRecord
from elmlda.experiments.timing import TimingRecord
from elmlda.ranges import format_ranges
from elmlda.report.estimates import LEVEL, UNKNOWN, Estimate, estimate_mean, estimate_statistic
from elmlda.report.tables import improvement_percent, pair_timings, pivot_ensemble, pivot_rates

MINIMUM_REPEATS = 3
RATE_MARGIN = 0.02
"""An error rate counts as the printed one within 2 % of it: less than LDA's advantage of 3 %, so that
PI's rate can't pass for LDA's, and more than what 200 repeats leave open, under 1 %."""
IMPROVEMENT_MARGIN = 1.0
"""A cell of "% improvement" within one percentage point: the paper's own 200 repeats leave 0.3 open."""
AVERAGE_MARGIN = 0.5
"""Their average within half a point."""
SMALL_FANOUT = 5
"""Up to here fan-outs are small: the paper's introduction calls 5 to 20 the usual ones."""
CELL = "table1-"
ALL_FANOUTS = tuple(range(1, paper.LARGEST_FANOUT + 1))


class Verdict(StrEnum):
    """What the records say of a claim."""

    REPRODUCED = "reproduced"
    NOT_REPRODUCED = "not reproduced"
    OPEN = "not enough data yet"


@dataclass(frozen=True)
class Region:
    """Where a claim says that a number lies: above `low` and below `high`."""

    low: float = -math.inf
    high: float = math.inf

    def judge(self, estimate: Estimate) -> Verdict:
        """The rule, for one number."""
        if estimate.repeats < MINIMUM_REPEATS or math.isnan(estimate.half):
            return Verdict.OPEN
        if self.low < estimate.low and estimate.high < self.high:
            return Verdict.REPRODUCED
        if estimate.high <= self.low or estimate.low >= self.high:
            return Verdict.NOT_REPRODUCED
        return Verdict.OPEN


@dataclass(frozen=True)
class Claim:
    """One claim, what the records say about it, and the verdict."""

    key: str
    text: str
    where: str
    """Its place in the paper."""
    unit: str
    printed: float
    """The paper's value; where it states none itself, the one that follows from its tables."""
    region: Region
    ours: Estimate
    verdict: Verdict
    because: str
    """Why, in half a sentence."""

    @property
    def is_cell(self) -> bool:
        """Whether it is one cell of Table 1, and not a statement of the text."""
        return self.key.startswith(CELL)


def judge_claims(
    sweep: Sequence[SweepRecord],
    timing: Sequence[TimingRecord],
    ensemble: Sequence[EnsembleRecord],
) -> list[Claim]:
    """Every claim of the paper, from a run on its data; `ensemble` of fan-out 20."""
    return [
        _judge_better_everywhere(sweep),
        *_judge_improvement(sweep),
        _judge_overhead(timing),
        *_judge_ensemble(ensemble),
        *_judge_cells(sweep),
    ]


def _judge_better_everywhere(records: Sequence[SweepRecord]) -> Claim:
    def estimate(fanout: int, level: float) -> Estimate:
        pi, lda = pivot_rates(records, (fanout,))[:, 0].T
        return estimate_mean(pi - lda, level)

    return _judge_everywhere(
        "lda-better-everywhere",
        f"LDA-ELM has fewer errors than PI-ELM at every fan-out from 1 to {paper.LARGEST_FANOUT}",
        "Section 3, Fig. 1",
        "points",
        min(paper.PI_ERROR_PERCENT[f] - paper.LDA_ERROR_PERCENT[f] for f in paper.FANOUTS),
        Region(low=0),
        estimate,
    )


def _judge_improvement(records: Sequence[SweepRecord]) -> Iterator[Claim]:
    rates = pivot_rates(records, paper.FANOUTS)
    is_small = np.array(paper.FANOUTS) <= SMALL_FANOUT

    def at_each_fanout(rates: FloatArray) -> FloatArray:
        return np.array([improvement_percent(rates[:, i]) for i in range(rates.shape[1])])

    def advantage_of_small(improvements: FloatArray) -> float:
        return float(improvements[is_small].mean() - improvements[~is_small].mean())

    average = paper.AVERAGE_IMPROVEMENT_PERCENT
    yield _judge(
        "average-improvement",
        f"LDA-ELM's error rate is {average} % lower on average",
        "Section 3, Conclusion",
        "%",
        average,
        _around(average, AVERAGE_MARGIN),
        estimate_statistic(lambda rates: float(at_each_fanout(rates).mean()), rates),
    )
    yield _judge(
        "larger-at-small-fanouts",
        f"The benefit is larger at small fan-outs (up to {SMALL_FANOUT}, against those above)",
        "Section 3",
        "points",
        advantage_of_small(np.array(list(paper.IMPROVEMENT_PERCENT.values()))),
        Region(low=0),
        estimate_statistic(lambda rates: advantage_of_small(at_each_fanout(rates)), rates),
    )


def _judge_overhead(records: Sequence[TimingRecord]) -> Claim:
    pairs = pair_timings(records)

    def estimate(fanout: int, level: float) -> Estimate:
        rows = pairs[pairs["fanout"] == fanout]
        return estimate_mean(rows["overhead_percent"].to_numpy(), level)

    return _judge_everywhere(
        "little-extra-time",
        f"LDA-ELM takes less than {paper.LARGEST_OVERHEAD_PERCENT:.0f} % more time than PI-ELM "
        f"at every fan-out from 1 to {paper.LARGEST_FANOUT}",
        "Conclusion, Table 2",
        "%",
        max(100 * (paper.LDA_SECONDS[f] / paper.PI_SECONDS[f] - 1) for f in paper.FANOUTS),
        Region(high=paper.LARGEST_OVERHEAD_PERCENT),
        estimate,
    )


def _judge_ensemble(records: Sequence[EnsembleRecord]) -> Iterator[Claim]:
    printed, where = paper.ENSEMBLE_ERROR_PERCENT, "Section 3, Fig. 2"
    names = {1: "one network", 2: "two networks", 20: "twenty networks"}
    for size, rate in printed.items():
        rates = pivot_ensemble(records, (size,), "mean")
        yield _judge(
            f"ensemble-{size}",
            f"The error rate of {names[size]} of fan-out {paper.LARGEST_FANOUT} is {rate:.2f} %",
            where,
            "%",
            rate,
            _around(rate, RATE_MARGIN * rate),
            estimate_mean(rates[:, 0]),
        )
    for fewer, more in pairwise(printed):
        rates = pivot_ensemble(records, (fewer, more), "mean")
        yield _judge(
            f"ensemble-{more}-beats-{fewer}",
            f"{names[more].capitalize()} combined have fewer errors than {names[fewer]}",
            where,
            "points",
            printed[fewer] - printed[more],
            Region(low=0),
            estimate_mean(rates[:, 0] - rates[:, 1]),
        )


def _judge_cells(records: Sequence[SweepRecord]) -> Iterator[Claim]:
    for fanout in paper.FANOUTS:
        rates = pivot_rates(records, (fanout,))[:, 0]
        for method, ours in zip(("pi", "lda"), rates.T, strict=True):
            name = f"{method.upper()}-ELM"
            table = paper.PI_ERROR_PERCENT if method == "pi" else paper.LDA_ERROR_PERCENT
            printed = table[fanout]
            yield _judge(
                f"{CELL}{method}-{fanout}",
                f"{name}'s error rate at fan-out {fanout} is {printed:.2f} %",
                "Table 1",
                "%",
                printed,
                _around(printed, RATE_MARGIN * printed),
                estimate_mean(ours),
            )
        printed = paper.IMPROVEMENT_PERCENT[fanout]
        yield _judge(
            f"{CELL}improvement-{fanout}",
            f"LDA-ELM's improvement at fan-out {fanout} is {printed:.1f} %",
            "Table 1",
            "%",
            printed,
            _around(printed, IMPROVEMENT_MARGIN),
            estimate_statistic(improvement_percent, rates),
        )


def _around(printed: float, margin: float) -> Region:
    return Region(printed - margin, printed + margin)


def _judge(
    key: str, text: str, where: str, unit: str, printed: float, region: Region, ours: Estimate
) -> Claim:
    """A claim about one number."""
    verdict = region.judge(ours)
    because = _explain(ours, verdict)
    return Claim(key, text, where, unit, printed, region, ours, verdict, because)


def _judge_everywhere(
    key: str,
    text: str,
    where: str,
    unit: str,
    printed: float,
    region: Region,
    estimate: Callable[[int, float], Estimate],
) -> Claim:
    """A claim about every fan-out; `estimate` takes a fan-out and the interval's level.

    The value shown is of the fan-out that comes closest to failing.
    """
    ours = {fanout: estimate(fanout, LEVEL) for fanout in ALL_FANOUTS}
    known = {f: number for f, number in ours.items() if not math.isnan(number.value)}
    if not known:
        return Claim(key, text, where, unit, printed, region, UNKNOWN, Verdict.OPEN, "not run yet")
    together = 1 - (1 - LEVEL) / len(ALL_FANOUTS)
    failing = [f for f in known if region.judge(estimate(f, together)) == Verdict.NOT_REPRODUCED]
    is_bounded_above = region.high < math.inf
    closest = max(failing or known, key=lambda f: known[f].value * (1 if is_bounded_above else -1))
    missing = [fanout for fanout in ALL_FANOUTS if fanout not in known]
    undecided = [f for f in known if region.judge(known[f]) != Verdict.REPRODUCED]
    if failing:
        verdict, because = Verdict.NOT_REPRODUCED, f"fails at fan-out {format_ranges(tuple(failing))}"
    elif missing:
        verdict, because = Verdict.OPEN, f"fan-out {format_ranges(tuple(missing))} not run yet"
    elif (
        undecided
        and (fewest := min(known.values(), key=lambda number: number.repeats)).repeats < MINIMUM_REPEATS
    ):
        verdict, because = Verdict.OPEN, _explain(fewest, Verdict.OPEN)
    elif undecided:
        verdict, because = Verdict.OPEN, f"undecided at fan-out {format_ranges(tuple(undecided))}"
    else:
        verdict, because = Verdict.REPRODUCED, f"the closest is fan-out {closest}"
    return Claim(key, text, where, unit, printed, region, known[closest], verdict, because)


def _explain(ours: Estimate, verdict: Verdict) -> str:
    if ours.repeats == 0:
        return "not run yet"
    if ours.repeats < MINIMUM_REPEATS:
        repeats = "repeat" if ours.repeats == 1 else "repeats"
        return f"{ours.repeats} {repeats}, at least {MINIMUM_REPEATS} are needed"
    return {
        Verdict.REPRODUCED: "the whole interval lies where the claim says",
        Verdict.NOT_REPRODUCED: "the whole interval lies elsewhere",
        Verdict.OPEN: "the interval lies across the border",
    }[verdict]


def tabulate_claims(claims: Sequence[Claim]) -> pd.DataFrame:
    """claims.csv: a row for each claim; `counts_from` and `counts_to` are where it holds."""
    return pd.DataFrame(
        [
            {
                "key": claim.key,
                "claim": claim.text,
                "where": claim.where,
                "unit": claim.unit,
                "paper": claim.printed,
                "counts_from": _or_nothing(claim.region.low),
                "counts_to": _or_nothing(claim.region.high),
                "ours": claim.ours.value,
                "low": claim.ours.low,
                "high": claim.ours.high,
                "repeats": claim.ours.repeats,
                "verdict": str(claim.verdict),
                "because": claim.because,
            }
            for claim in claims
        ]
    )


def _or_nothing(bound: float) -> float:
    return bound if math.isfinite(bound) else math.nan
