"""What the paper states of Fig. 2, combining networks of fan-out 20, each judged by the rule.

One network is judged on all networks of the run, two on disjoint pairs of them, twenty on ensembles
that share no network. The paper repeated each ensemble size ten times, with new networks: its numbers
are independent of each other. Ours are compared within the pair or ensemble that they come from.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from elmlda import paper
from elmlda.core.arrays import FloatArray
from elmlda.ranges import format_ranges
from elmlda.reports.claims.evidence import ALL_SIZES, LDA, Evidence
from elmlda.reports.claims.rule import (
    NETWORKS,
    PAIRS,
    RATE_MARGIN,
    Check,
    Claim,
    Region,
    Statement,
    around,
    decide,
    decide_all,
)
from elmlda.reports.claims.statements import slope_weights
from elmlda.reports.estimates import RATE_ROUNDING, Sample, sample_mean, take_means

NAMES = {1: "one network", 2: "two networks", 20: "twenty networks"}
FULL = {1: (NETWORKS, "networks"), 2: (PAIRS, "pairs"), 20: (paper.ENSEMBLE_REPEATS, "ensembles")}
"""Networks combined -> repeats that make the verdict final, and what they are."""
WHERE = "Section 3, Fig. 2"


def judge_ensembles(evidence: Evidence) -> Iterator[Claim]:
    """All of them."""
    one = evidence.at((paper.LARGEST_FANOUT,), (LDA,))[:, 0, 0]
    two = evidence.pairs[:, 0]
    twenty = evidence.combined((paper.ENSEMBLE_SIZE,))[:, 0]
    for size, rates in ((1, one), (2, two), (20, twenty)):
        yield _judge_rate(size, rates)
    yield _judge_fewer(1, 2, _two_against_one(evidence.pairs, one))
    few_and_many = evidence.combined((2, paper.ENSEMBLE_SIZE))
    yield _judge_fewer(2, 20, take_means(few_and_many).combine(np.array([1.0, -1.0])))
    yield _judge_trend(evidence)
    yield _judge_best(evidence)


def _statement(size: int, key: str, text: str, short: str, unit: str = "points") -> Statement:
    """Judged on what is recorded of so many networks combined."""
    full, repeats_are = FULL[size]
    return Statement(
        key=key, text=text, short=short, where=WHERE, unit=unit, full=full, repeats_are=repeats_are
    )


def _judge_rate(size: int, rates: FloatArray) -> Claim:
    printed = paper.ENSEMBLE_ERROR_PERCENT[size]
    text = f"The error rate of {NAMES[size]} of fan-out {paper.LARGEST_FANOUT} is {printed:.2f} %"
    statement = _statement(size, f"ensemble-{size}", text, f"the rate of {NAMES[size]}", "%")
    region = around(printed, RATE_MARGIN * printed)
    check = Check(sample_mean(rates), region, printed, RATE_ROUNDING, paper.ENSEMBLE_REPEATS)
    return decide(statement, check)


def _two_against_one(pairs: FloatArray, one: FloatArray) -> Sample:
    """What two lose against the mean of each alone, in the pairs whose networks are both recorded.

    The paper's single networks vary like all of ours, not like the mean of two.
    """
    pairs = pairs[~np.isnan(pairs[:, 1])]
    sample = sample_mean(pairs[:, 1] - pairs[:, 0])
    spread = sum(sample_mean(rates).paper_variance for rates in (pairs[:, 0], one))
    return replace(sample, paper_variance=spread)


def _judge_fewer(few: int, many: int, sample: Sample) -> Claim:
    statement = _statement(
        many,
        f"ensemble-{many}-beats-{few}",
        f"{NAMES[many].capitalize()} combined have fewer errors than {NAMES[few]}",
        f"{NAMES[many]} better than {NAMES[few].split()[0]}",
    )
    printed = paper.ENSEMBLE_ERROR_PERCENT[few] - paper.ENSEMBLE_ERROR_PERCENT[many]
    check = Check(sample, Region(low=0), printed, RATE_ROUNDING * np.sqrt(2), paper.ENSEMBLE_REPEATS)
    return decide(statement, check)


def _judge_trend(evidence: Evidence) -> Claim:
    """Beyond two networks: the fall with each doubling, by least squares over the logarithm.

    The paper prints two points of that curve, which have no such slope, so there is no z.
    """
    sizes = np.array(ALL_SIZES[1:])
    weights = -slope_weights(np.log2(sizes))
    sample = take_means(evidence.combined(sizes.tolist())).combine(weights)
    statement = _statement(
        paper.ENSEMBLE_SIZE,
        "more-networks-fewer-errors",
        "Adding networks beyond two further reduces the error: it falls with each doubling",
        "more networks better",
    )
    return decide(statement, Check(sample, Region(low=0), paper_repeats=paper.ENSEMBLE_REPEATS))


def _judge_best(evidence: Evidence) -> Claim:
    """The lowest error with twenty networks: no other number of them is better by 2 % or more.

    Nineteen networks differ from twenty by far less than ten ensembles can tell, so that twenty are
    better than each could never be shown. It is a claim about every other size: twenty's rate minus
    that size's, within an ensemble, is below 2 % of the printed rate. It fails if some size is better
    by more than that, beyond chance.
    """
    most = paper.ENSEMBLE_SIZE
    margin = RATE_MARGIN * paper.ENSEMBLE_ERROR_PERCENT[most]
    printed = paper.ENSEMBLE_ERROR_PERCENT
    checks = {}
    for size in ALL_SIZES[:-1]:
        sample = take_means(evidence.combined((most, size))).combine(np.array([1.0, -1.0]))
        theirs = printed[most] - printed.get(size, np.nan)
        checks[size] = Check(
            sample, Region(high=margin), theirs, RATE_ROUNDING * np.sqrt(2), paper.ENSEMBLE_REPEATS
        )
    percent = f"{100 * RATE_MARGIN:.0f} %"
    statement = _statement(
        most,
        "twenty-networks-best",
        f"The lowest error comes with twenty networks: no other number is lower by {percent}",
        "twenty networks best",
    )
    return decide_all(statement, checks, _name_sizes)


def _name_sizes(sizes: Sequence[int]) -> str:
    return f"{format_ranges(tuple(sizes))} network" + ("" if tuple(sizes) == (1,) else "s")
