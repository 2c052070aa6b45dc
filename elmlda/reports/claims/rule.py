"""The rule: how a claim of the paper is held against the records.

A claim says where a number lies: above 0, say, or within 2 % of what is printed. The records give that
number with a 95 % interval over repeats, and z, its distance from the paper's in standard errors of the
difference: our sampling, the paper's (its repeats are taken to vary like ours) and the rounding of what
it prints.

- *reproduced*: the whole interval lies where the claim says;
- *not reproduced*: the whole interval lies elsewhere, and chance is ruled out on both sides by
  |z| > 1.96;
- *inconclusive*: anything else. Until there are as many repeats as were fixed in advance, the word is
  *not decided yet*, and every verdict is interim.

Where the paper prints no number that ours can be compared with (such as a time on another computer),
there is no z. Chance is ruled out all the same: the border of the claim, the nearest that the paper can
have had, stands in for the printed number.

A claim about several numbers, such as every fan-out, is reproduced if each of them is. It is not
reproduced if one of them fails at a level widened for their number (Bonferroni: 95 % for all together),
by interval and z alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

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

Key = TypeVar("Key", int, str)


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
    """What a claim is; statements and rates are counted."""

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
        """The rule, for one number; `level` is of the interval, and what |z| has to exceed follows."""
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
        """How far inside the value lies; negative outside."""
        return min(value - self.low, self.high - value)


def around(printed: float, margin: float) -> Region:
    """Up to `margin` away from a printed number."""
    return Region(printed - margin, printed + margin)


@dataclass(frozen=True)
class Check:
    """One number, where the paper says that it lies, and the one that it prints.

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
        """The rule."""
        estimate = self.sample.estimate(level)
        if math.isnan(self.printed):
            return self.region.judge(
                estimate, self._distance(self.region.nearest(estimate.value)), level
            )
        return self.region.judge(estimate, self.z, level)

    @property
    def closeness(self) -> tuple[float, float]:
        """Small for what is close to failing: slack in half-widths of the interval, then as it is."""
        estimate = self.sample.estimate()
        slack = self.region.slack(estimate.value)
        if math.isnan(estimate.half):
            return 0.0, slack
        return (slack / estimate.half if estimate.half > 0 else math.copysign(math.inf, slack)), slack

    def _distance(self, printed: float) -> float:
        return self.sample.distance(printed, self.paper_repeats, self.rounding)


@dataclass(frozen=True, kw_only=True)
class Statement:
    """What the paper says, and how much it takes to decide it."""

    key: str
    text: str
    short: str
    """Its name in a list."""
    where: str
    """Its place in the paper."""
    unit: str
    kind: Kind = Kind.STATEMENT
    reading: Reading = Reading.NONE
    full: int = NETWORKS
    """Repeats that make its verdict final."""
    repeats_are: str = "networks"
    fanout: int | None = None
    """Of a cell of Table 1."""


@dataclass(frozen=True, kw_only=True)
class Claim(Statement):
    """A statement, what the records say about it, and the verdict."""

    printed: float
    """The paper's value; where it states none itself, the one that follows from its tables."""
    region: Region
    ours: Estimate
    z: float
    interim: bool
    """Whether there are fewer repeats than were fixed in advance."""
    verdict: Verdict
    because: str
    """Why, in half a sentence."""

    @property
    def is_cell(self) -> bool:
        """Whether it is one cell of Table 1, and not a statement of the text."""
        return self.kind in (Kind.RATE, Kind.IMPROVEMENT)


def decide(statement: Statement, check: Check) -> Claim:
    """A claim about one number."""
    ours, verdict = check.sample.estimate(), check.judge()
    because = _explain(ours, verdict, check.region)
    return _conclude(statement, check, ours.repeats < statement.full, verdict, because)


def decide_all(
    statement: Statement,
    checks: Mapping[Key, Check],
    name: Callable[[Sequence[Key]], str],
    printed: float | None = None,
) -> Claim:
    """A claim about several numbers: each of them has to be where the claim says.

    The one that comes closest to failing is shown.

    Parameters
    ----------
    name : what to call some of the checks in a sentence
    printed : what to show of the paper, if not its number for the one that is shown
    """
    known = {key: check for key, check in checks.items() if check.sample.repeats}
    if not known:
        first = next(iter(checks.values()))
        claim = _conclude(statement, first, True, Verdict.INCONCLUSIVE, "not run yet")
    else:
        together = 1 - (1 - LEVEL) / len(checks)
        failing = [k for k in known if known[k].judge(together) == Verdict.NOT_REPRODUCED]
        closest = min(failing or known, key=lambda key: known[key].closeness)
        missing = [key for key in checks if key not in known]
        verdict, because = _judge_all(known, failing, missing, closest, name)
        interim = bool(missing) or fewest_repeats(known.values()) < statement.full
        claim = _conclude(statement, known[closest], interim, verdict, because)
    return claim if printed is None else Claim(**{**vars(claim), "printed": printed})


def _judge_all(
    known: Mapping[Key, Check],
    failing: Sequence[Key],
    missing: Sequence[Key],
    closest: Key,
    name: Callable[[Sequence[Key]], str],
) -> tuple[Verdict, str]:
    undecided = [key for key in known if known[key].judge() != Verdict.REPRODUCED]
    fewest = fewest_repeats(known.values())
    if failing:
        return Verdict.NOT_REPRODUCED, f"fails at {name(failing)}"
    if missing:
        return Verdict.INCONCLUSIVE, f"{name(missing)} not run yet"
    if undecided and fewest < MINIMUM_REPEATS:
        return Verdict.INCONCLUSIVE, _too_few(fewest)
    if undecided:
        return Verdict.INCONCLUSIVE, f"undecided at {name(undecided)}"
    return Verdict.REPRODUCED, f"the closest is {name([closest])}"


def fewest_repeats(checks: Iterable[Check]) -> int:
    """Of all that are known."""
    return min(check.sample.repeats for check in checks)


def _conclude(
    statement: Statement, check: Check, interim: bool, verdict: Verdict, because: str
) -> Claim:
    if verdict == Verdict.INCONCLUSIVE and interim:
        verdict = Verdict.OPEN
    ours = check.sample.estimate() if check.sample.repeats else UNKNOWN
    return Claim(
        **vars(statement),
        printed=check.printed,
        region=check.region,
        ours=ours,
        z=check.z,
        interim=interim,
        verdict=verdict,
        because=because,
    )


def leave_untested(statement: Statement, reason: str) -> Claim:
    """A statement that no records can decide."""
    return Claim(
        **vars(statement),
        printed=NAN,
        region=Region(),
        ours=UNKNOWN,
        z=NAN,
        interim=False,
        verdict=Verdict.NOT_TESTED,
        because=reason,
    )


def _explain(ours: Estimate, verdict: Verdict, region: Region) -> str:
    if ours.repeats == 0:
        return "not run yet"
    if ours.repeats < MINIMUM_REPEATS:
        return _too_few(ours.repeats)
    if verdict == Verdict.REPRODUCED:
        return "the whole interval lies where the claim says"
    if verdict == Verdict.NOT_REPRODUCED:
        return "the whole interval lies elsewhere, and chance does not explain the distance"
    if ours.low < region.high and ours.high > region.low:
        return "the interval lies across the border"
    return "the interval lies elsewhere, but chance can explain the distance from the paper's number"


def _too_few(repeats: int) -> str:
    return f"{repeats} {'repeat' if repeats == 1 else 'repeats'}, at least {MINIMUM_REPEATS} are needed"
