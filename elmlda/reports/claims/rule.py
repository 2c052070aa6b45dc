"""The rule: how the records decide a claim of the paper.

A claim says where a number lies: above 0, say, or within 2 % of what is printed. The records give that
number with a 95 % interval over repeats, and z, its distance from the paper's in standard errors of the
difference. `RULE` in `elmlda.reports.claims.words` says how a verdict follows; reports print it.

Where the paper prints no number that ours can be compared with (such as a time on another computer),
there is no z. Chance is ruled out all the same: the border of the claim, the nearest that the paper can
have had, stands in for the printed number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from elmlda import paper
from elmlda.reports.estimates import LEVEL, NAN, UNKNOWN, Estimate, Sample, normal_quantile

MINIMUM_REPEATS = 3
RATE_MARGIN = 0.02
"""An error rate counts as the printed one within 2 % of it: more than what 200 repeats leave open,
which is under 1 %. PI-ELM's printed rate lies outside LDA-ELM's region at every fan-out, but the two
regions overlap at 12 of 13: a rate between the two may count for both. That LDA-ELM is better has
claims of its own, which compare the methods network by network."""
IMPROVEMENT_MARGIN = 1.0
"""A cell of "% improvement" within one percentage point: the paper's own 200 repeats leave 0.3 open."""
AVERAGE_MARGIN = 0.5
"""Their average within half a point."""
NETWORKS, PAIRS, TIMINGS = paper.REPEATS, 90, 3
"""Repeats that make a verdict final: the paper's 200 networks; disjoint pairs of them; timings."""


class Verdict(StrEnum):
    """What the records say of a claim."""

    REPRODUCED = "reproduced"
    NOT_REPRODUCED = "not reproduced"
    INCONCLUSIVE = "inconclusive"
    OPEN = "not decided yet"
    NOT_TESTED = "not tested"


class Reading(StrEnum):
    """What PI-ELM is. Eq. (5) gives it no constant hidden unit; Eq. (16) gives LDA-ELM one."""

    EQ5 = "Eq. (5)"
    CONSTANT = "with a constant unit"
    NONE = ""
    """The claim is not about PI-ELM."""


class Kind(StrEnum):
    """Kinds of claims; statements and rates are counted."""

    STATEMENT = "statement"
    RATE = "rate"
    IMPROVEMENT = "improvement"
    """A cell of "% improvement": it follows from the rates."""
    FURTHER = "further"
    """A number beside a statement."""
    UNTESTED = "untested"
    """What no record can decide."""


@dataclass(frozen=True)
class Region:
    """Where a claim says that a number lies: above `low` and below `high`."""

    low: float = -math.inf
    high: float = math.inf

    def judge(self, estimate: Estimate, z: float, level: float = LEVEL) -> Verdict:
        """The rule for one number; the interval's level also sets what |z| must exceed."""
        if estimate.repeats < MINIMUM_REPEATS or math.isnan(estimate.half):
            return Verdict.INCONCLUSIVE
        if self.low < estimate.low and estimate.high < self.high:
            return Verdict.REPRODUCED
        is_outside = estimate.high <= self.low or estimate.low >= self.high
        if is_outside and abs(z) > normal_quantile(level):
            return Verdict.NOT_REPRODUCED
        return Verdict.INCONCLUSIVE

    def nearest(self, value: float) -> float:
        """The value itself, or the border that it lies beyond."""
        return min(max(value, self.low), self.high)

    def slack(self, value: float) -> float:
        """Distance to the nearer border; negative outside."""
        return min(value - self.low, self.high - value)


def around(printed: float, margin: float) -> Region:
    """Less than `margin` away from a printed number."""
    return Region(printed - margin, printed + margin)


def near(rate: float) -> Region:
    """What counts as a printed error rate."""
    return around(rate, RATE_MARGIN * rate)


ABOVE_ZERO = Region(low=0)


@dataclass(frozen=True)
class Check:
    """One number of ours, where the claim says that it lies, and the paper's number.

    Attributes
    ----------
    printed : NaN where the paper prints none that ours can be compared with
    rounding : standard deviation of what rounding took from it
    paper_repeats : how many repeats it is the mean of
    """

    sample: Sample
    region: Region
    printed: float = NAN
    rounding: float = 0.0
    paper_repeats: int = paper.REPEATS

    @property
    def z(self) -> float:
        """Ours minus the paper's in standard errors of the difference."""
        return self._distance(self.printed)

    def judge(self, level: float = LEVEL) -> Verdict:
        """The rule; the border of the claim stands in for a number that the paper does not print."""
        estimate = self.sample.estimate(level)
        is_printed = not math.isnan(self.printed)
        printed = self.printed if is_printed else self.region.nearest(estimate.value)
        return self.region.judge(estimate, self._distance(printed), level)

    @property
    def closeness(self) -> tuple[float, float]:
        """Small if it is close to failing: slack in half-widths of the interval, then in units."""
        estimate = self.sample.estimate()
        slack = self.region.slack(estimate.value)
        if math.isnan(estimate.half):
            return 0.0, slack
        return (slack / estimate.half if estimate.half > 0 else math.copysign(math.inf, slack)), slack

    def _distance(self, printed: float) -> float:
        return self.sample.distance(printed, self.paper_repeats, self.rounding)


@dataclass(frozen=True)
class Statement:
    """What the paper says, as data: in words, and as numbers that must lie in a region.

    Attributes
    ----------
    short : its name in a list
    where : its place in the paper
    checks : key, such as a fan-out -> a number that must be where the claim says; empty if untested
    name : what a sentence calls some of the keys
    paper_value : the paper's number, if it is not the one of the check that is shown
    remark : ends the explanation of the verdict; why it is not tested, if there are no checks
    full : repeats that make the verdict final
    fanout : of a cell of Table 1
    """

    key: str
    text: str
    short: str
    where: str
    unit: str = "points"
    checks: Mapping[Any, Check] = field(default_factory=dict)
    name: Callable[[Sequence[Any]], str] = str
    paper_value: float | None = None
    remark: str = ""
    kind: Kind = Kind.STATEMENT
    reading: Reading = Reading.NONE
    full: int = NETWORKS
    repeats_are: str = "networks"
    fanout: int | None = None


@dataclass(frozen=True, kw_only=True)
class Claim(Statement):
    """A statement, what the records say about it, and the verdict.

    Attributes
    ----------
    printed : the paper's value; where it states none, the one that follows from its tables
    region, ours, z : of its one number, or of the one that comes closest to failing
    interim : whether there are fewer repeats than were fixed in advance
    because : why, in half a sentence
    """

    printed: float = NAN
    region: Region = Region()
    ours: Estimate = UNKNOWN
    z: float = NAN
    interim: bool = False
    verdict: Verdict = Verdict.NOT_TESTED
    because: str = ""

    @property
    def is_consistent(self) -> bool:
        """Whether there are records, and they do not speak against it.

        Repeats that are too few for the rule have to lie where the claim says.
        """
        if self.ours.repeats < MINIMUM_REPEATS:
            return self.region.slack(self.ours.value) > 0
        return self.verdict != Verdict.NOT_REPRODUCED


def decide(statement: Statement) -> Claim:
    """Apply the rule; of several numbers each has to be where the claim says."""
    checks = statement.checks
    if not checks:
        return Claim(**vars(statement), because=statement.remark)
    known = {key: check for key, check in checks.items() if check.sample.repeats}
    fewest = min((check.sample.repeats for check in known.values()), default=0)
    together = 1 - (1 - LEVEL) / len(checks)
    failing = [key for key in known if known[key].judge(together) == Verdict.NOT_REPRODUCED]
    shown = min(failing or known or checks, key=lambda key: checks[key].closeness)
    verdict, because = _judge(statement, known, failing, shown, fewest)
    interim = len(known) < len(checks) or fewest < statement.full
    if verdict == Verdict.INCONCLUSIVE and interim:
        verdict = Verdict.OPEN
    check = checks[shown]
    return Claim(
        **vars(statement),
        printed=check.printed if statement.paper_value is None else statement.paper_value,
        region=check.region,
        ours=check.sample.estimate() if known else UNKNOWN,
        z=check.z,
        interim=interim,
        verdict=verdict,
        because="; ".join(filter(None, [because, statement.remark if known else ""])),
    )


def _judge(
    statement: Statement, known: Mapping[Any, Check], failing: Sequence[Any], shown: Any, fewest: int
) -> tuple[Verdict, str]:
    """The verdict on all numbers together, and why; inconclusive if it is not decided yet."""
    if not known:
        return Verdict.INCONCLUSIVE, "not run yet"
    missing = [key for key in statement.checks if key not in known]
    undecided = [key for key in known if known[key].judge() != Verdict.REPRODUCED]
    if failing:
        verdict, because = Verdict.NOT_REPRODUCED, f"fails at {statement.name(failing)}"
    elif missing:
        return Verdict.INCONCLUSIVE, f"{statement.name(missing)} not run yet"
    elif undecided and fewest < MINIMUM_REPEATS:
        repeats = f"{fewest} repeat{'' if fewest == 1 else 's'}"
        return Verdict.INCONCLUSIVE, f"{repeats}, at least {MINIMUM_REPEATS} are needed"
    elif undecided:
        verdict, because = Verdict.INCONCLUSIVE, f"undecided at {statement.name(undecided)}"
    else:
        verdict, because = Verdict.REPRODUCED, f"closest to failing: {statement.name([shown])}"
    return verdict, because if len(statement.checks) > 1 else _explain(known[shown], verdict)


def _explain(check: Check, verdict: Verdict) -> str:
    """The verdict on one number."""
    if verdict == Verdict.REPRODUCED:
        return "the whole interval lies in the required range"
    if verdict == Verdict.NOT_REPRODUCED:
        return "the interval lies outside, and chance does not explain the distance"
    ours, region = check.sample.estimate(), check.region
    if ours.low < region.high and ours.high > region.low:
        return "the interval reaches beyond the required range"
    return "the interval lies outside, but chance can explain the distance from the paper's number"
