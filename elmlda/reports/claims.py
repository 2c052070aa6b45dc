"""What the paper states, and the rule of results/PROTOCOL.md: a row for each claim.

A claim says in which region a number lies. z of a combination of numbers: the paper drew new networks
for each of its numbers, so their variances add up; PI-ELM and LDA-ELM had the same networks, there as
here. Where the paper prints no number that ours can be compared with (such as a time on another
computer), the border of the region, the nearest that it can have had, stands in for it without a z.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

from elmlda import paper
from elmlda.core import FloatArray
from elmlda.reports import stats, tables
from elmlda.reports.load import Run, percents
from elmlda.reports.stats import LEVEL, NAN, Estimate, Sample, estimate_mean
from elmlda.reports.tables import IMPROVEMENT_ROUNDING, PRINTED, RATE_ROUNDING

RATE_MARGIN, IMPROVEMENT_MARGIN, AVERAGE_MARGIN = 0.02, 1.0, 0.5
"""Regions: a share of a printed rate; percentage points of an improvement, and of their average."""
DIFFERENCE_ROUNDING = math.sqrt(2) * RATE_ROUNDING
SMALL_FANOUT = 5
ALL_FANOUTS = tuple(range(1, paper.LARGEST_FANOUT + 1))
ALL_SIZES = tuple(range(1, paper.ENSEMBLE_SIZE + 1))
DOUBLINGS = ((2, 4), (4, 8), (8, 16))
EQ5, CONSTANT = "Eq. (5)", "with a constant unit"
READINGS = {EQ5: "pi", CONSTANT: "pi_constant"}
"""What PI-ELM is -> its columns. Eq. (5) gives it no constant unit; Eq. (16) gives LDA-ELM one."""
LOG_RATIO = "log ratio"
"""The unit of what is judged as the logarithm of a ratio and shown in per cent."""
REPRODUCED, NOT_REPRODUCED, INCONCLUSIVE, NOT_RUN = VERDICTS = (
    "reproduced", "not reproduced", "inconclusive", "not run",
)  # fmt: skip


@dataclass(frozen=True)
class Check:
    """One number of ours, the region where the claim puts it, and the paper's number."""

    at: str
    ours: Estimate
    low: float = -math.inf
    high: float = math.inf
    printed: float = NAN
    rounding: float = 0.0
    paper_repeats: int = paper.REPEATS

    @property
    def z(self) -> float:
        return self.ours.z(self.printed, self.paper_repeats, self.rounding)

    @property
    def closeness(self) -> float:
        """Slack in half-widths of the interval: small if it is close to failing."""
        slack, half = min(self.ours.value - self.low, self.high - self.ours.value), self.ours.half()
        return slack / half if half > 0 else math.copysign(math.inf, slack)

    def judge(self, level: float = LEVEL) -> str:
        """The rule for one number."""
        low, high = self.ours.interval(level)
        if math.isnan(low):
            return INCONCLUSIVE if self.ours.n else NOT_RUN
        if self.low < low and high < self.high:
            return REPRODUCED
        nearest = min(max(self.ours.value, self.low), self.high)
        printed = nearest if math.isnan(self.printed) else self.printed
        z = self.ours.z(printed, self.paper_repeats, self.rounding)
        is_outside = high <= self.low or low >= self.high
        is_chance = not abs(z) > ndtri(0.5 + level / 2)
        return INCONCLUSIVE if is_chance or not is_outside else NOT_REPRODUCED


@dataclass(frozen=True)
class Claim:
    """What the paper says, and the numbers that have to be where it says."""

    key: str
    text: str
    place: str
    checks: Sequence[Check]
    kind: str = "statement"
    reading: str = ""
    unit: str = "points"

    def decide(self) -> dict[str, Any]:
        """The rule for all numbers together, and the one that is closest to failing."""
        level = 1 - (1 - LEVEL) / len(self.checks)
        failing = [check for check in self.checks if check.judge(level) == NOT_REPRODUCED]
        single = {check.judge() for check in self.checks}
        known = [check for check in self.checks if check.ours.n]
        shown = min(failing or known or self.checks, key=lambda check: check.closeness)
        verdict = REPRODUCED if single == {REPRODUCED} else INCONCLUSIVE
        if failing or NOT_RUN in single:
            verdict = NOT_REPRODUCED if failing else NOT_RUN
        numbers = [shown.low, shown.high, shown.ours.value, *shown.ours.interval()]
        if self.unit == LOG_RATIO:
            numbers = [float(100 * np.expm1(number)) for number in numbers]
        region_low, region_high, ours, low, high = numbers
        is_counted = self.kind != "improvement" and self.reading != CONSTANT
        unit = "%" if self.unit == LOG_RATIO else self.unit
        repeats = min((check.ours.n for check in known), default=0)
        return {
            "key": self.key, "claim": self.text, "place": self.place, "kind": self.kind,
            "reading": self.reading, "counted": is_counted, "unit": unit, "paper": shown.printed,
            "region_low": region_low, "region_high": region_high, "at": shown.at, "ours": ours,
            "low": low, "high": high, "z": shown.z, "repeats": repeats, "verdict": verdict,
        }  # fmt: skip


def judge_claims(run: Run) -> pd.DataFrame:
    """A row for each claim and reading of PI-ELM: statements, then Table 1's cells."""
    rates = percents(run.primary) if len(run.primary) else pd.DataFrame()
    claims = [
        *_compare_methods(rates, EQ5),
        _limit_time(run.timing),
        *_combine_networks(run),
        *_compare_methods(rates, CONSTANT),
        *_list_cells(rates),
    ]
    return pd.DataFrame([claim.decide() for claim in claims])


def take(rates: pd.DataFrame, columns: Sequence[tuple[str, int]]) -> FloatArray:
    """The rates (n_repeats × n_columns) of those repeats that have all of these (method, fan-out)."""
    places: dict[Any, int] = {name: place for place, name in enumerate(rates.columns)}
    if not set(columns) <= places.keys():
        return np.empty((0, len(columns)))
    return tables.drop_missing(rates.to_numpy()[:, [places[name] for name in columns]])


def take_both(rates: pd.DataFrame, reading: str, fanouts: Sequence[int]) -> FloatArray:
    """PI's and LDA's rates: n_repeats × n_fanouts × 2."""
    found = take(rates, [(m, f) for f in fanouts for m in (READINGS[reading], "lda")])
    return found.reshape(len(found), len(fanouts), 2)


def _compare_methods(rates: pd.DataFrame, reading: str) -> Iterator[Claim]:
    """Statements 1 to 4: PI-ELM and LDA-ELM beside each other."""
    suffix = "" if reading == EQ5 else "-constant"

    def state(key: str, text: str, place: str, checks: Sequence[Check], unit: str = "points") -> Claim:
        return Claim(key + suffix, text, place, checks, reading=reading, unit=unit)

    text = f"LDA-ELM has fewer errors than PI-ELM at every fan-out from 1 to {paper.LARGEST_FANOUT}"
    checks = [_check_advantage(rates, reading, fanout) for fanout in ALL_FANOUTS]
    yield state("lda-better", text, "Section 3, Fig. 1", checks)
    gains = stats.jackknife(stats.improvement, take_both(rates, reading, paper.FANOUTS))
    average, n = paper.AVERAGE_IMPROVEMENT_PERCENT, len(paper.FANOUTS)
    region = average - AVERAGE_MARGIN, average + AVERAGE_MARGIN
    check = Check("", gains.combine(np.full(n, 1 / n)), *region, average, IMPROVEMENT_ROUNDING)
    text = f"LDA-ELM's error rate is {average} % lower on average over the {n} printed fan-outs"
    yield state("average-improvement", text, "Section 3, Conclusion", [check], "%")
    text = f"The benefit is larger at small fan-outs: up to {SMALL_FANOUT} against above; the slope"
    yield state("larger-at-small-fanouts", text, "Section 3", list(_check_decline(gains)))
    text = "The error rate falls from each printed fan-out to the next, for both methods"
    checks = list(_check_falls(rates, READINGS[reading]))
    yield state("error-falls", text, "Fig. 1, Table 1", checks)


def _check_advantage(rates: pd.DataFrame, reading: str, fanout: int) -> Check:
    both = take_both(rates, reading, [fanout])[:, 0]
    printed = PRINTED["pi"].get(fanout, NAN) - PRINTED["lda"].get(fanout, NAN)
    ours = estimate_mean(both[:, 0] - both[:, 1])
    return Check(f"fan-out {fanout}", ours, 0, math.inf, printed, DIFFERENCE_ROUNDING)


def _check_decline(gains: Sample) -> Iterator[Check]:
    """The mean improvement up to fan-out 5 less the mean above, and the fall with each doubling."""
    fanouts, printed = np.array(paper.FANOUTS), np.array(list(paper.IMPROVEMENT_PERCENT.values()))
    is_small = fanouts <= SMALL_FANOUT
    cut = np.where(is_small, 1 / is_small.sum(), -1 / (~is_small).sum())
    doublings = np.log2(fanouts) - np.log2(fanouts).mean()
    for at, weights in (("the cut", cut), ("the slope", -doublings / (doublings @ doublings))):
        rounding = IMPROVEMENT_ROUNDING * float(np.linalg.norm(weights))
        yield Check(at, gains.combine(weights), 0, math.inf, float(weights @ printed), rounding)


def _check_falls(rates: pd.DataFrame, pi: str) -> Iterator[Check]:
    for method, name in ((pi, "PI-ELM"), ("lda", "LDA-ELM")):
        for less, more in pairwise(paper.FANOUTS):
            both = stats.sample_means(take(rates, [(method, less), (method, more)]))
            fall, at = both.combine(np.array([1.0, -1.0])), f"{name} from {less} to {more}"
            printed = PRINTED[method][less] - PRINTED[method][more]
            yield Check(at, fall, 0, math.inf, printed, DIFFERENCE_ROUNDING)


def _limit_time(timing: pd.DataFrame) -> Claim:
    """Statement 5. The paper's times are one run on another computer, taken to vary like ours."""
    border = math.log1p(paper.LARGEST_OVERHEAD_PERCENT / 100)
    ratios = {f: tables.log_ratios(timing[timing["fanout"] == f]) for f in paper.FANOUTS}
    checks = [
        Check(f"fan-out {fanout}", estimate_mean(found), high=border, paper_repeats=1)
        for fanout, found in ratios.items()
    ]
    text = f"LDA-ELM takes less than {paper.LARGEST_OVERHEAD_PERCENT:.0f} % more time than PI-ELM"
    return Claim("time", text, "Conclusion, Table 2", checks, unit=LOG_RATIO)


def judge_times(timing: pd.DataFrame) -> dict[int, str]:
    """Printed fan-out that was timed -> the rule's verdict on its time alone."""
    checks = zip(paper.FANOUTS, _limit_time(timing).checks, strict=True)
    return {fanout: check.judge() for fanout, check in checks if check.ours.n}


def _combine_networks(run: Run) -> Iterator[Claim]:
    """Statements 6 to 11: ensembles over random subsets, or else the run's separate ensembles."""
    sample, where, most = _sample_sizes(run), "Section 3, Fig. 2", paper.ENSEMBLE_SIZE
    printed = paper.ENSEMBLE_ERROR_PERCENT
    for size, name in ((2, "Two"), (most, "Twenty")):
        rate = printed[size]
        text = f"{name} networks of fan-out {paper.LARGEST_FANOUT} have {rate:.2f} % errors"
        margin = RATE_MARGIN * rate
        check = _check_sizes(sample, {size: 1}, rate - margin, rate + margin)
        yield Claim(f"ensemble-{size}", text, where, [check], unit="%")
    for few, many, text in (
        (1, 2, "Two networks have fewer errors than one"),
        (2, most, "Twenty networks have fewer errors than two"),
    ):
        check = _check_sizes(sample, {few: 1, many: -1}, 0)
        yield Claim(f"ensemble-{many}-beats-{few}", text, where, [check])
    steps = [_check_sizes(sample, {few: 1, many: -1}, 0) for few, many in DOUBLINGS]
    text = "The error falls with each doubling of the number of networks from 2 to 16"
    yield Claim("ensemble-falls", text, where, steps)
    margin = RATE_MARGIN * printed[most]
    others = [_check_sizes(sample, {most: 1, n: -1}, high=margin) for n in ALL_SIZES[:-1]]
    text = f"No other number of networks up to {most} has an error rate lower by 2 % of {printed[most]}"
    yield Claim("twenty-best", text, where, others)


def _sample_sizes(run: Run) -> Sample:
    """Error rates in per cent by number of networks, 1 to 20."""
    missing = stats.sample_means(np.empty((0, len(ALL_SIZES))))
    if not tables.is_papers_ensemble(run):
        return missing
    if set(run.draws["size"]) == set(ALL_SIZES):
        return tables.sample_draws(run)
    rows = run.ensemble
    rates = (100 * rows["errors"] / rows["n_test"]).groupby([rows["repeat"], rows["size"]]).mean()
    wide = rates.unstack().reindex(columns=list(ALL_SIZES)) if len(rates) else rates
    return stats.sample_means(np.asarray(wide.dropna())) if len(wide) else missing


def _check_sizes(
    sample: Sample, parts: dict[int, int], low: float = -math.inf, high: float = math.inf
) -> Check:
    """A weighted sum over numbers of networks; the paper has each from ten repeats of its own."""
    weights = np.zeros(len(ALL_SIZES))
    for size, weight in parts.items():
        weights[size - 1] = weight
    printed = sum(w * paper.ENSEMBLE_ERROR_PERCENT.get(size, NAN) for size, w in parts.items())
    rounding = RATE_ROUNDING * math.sqrt(len(parts))
    at = " and ".join(str(size) for size in parts) + " networks"
    return Check(at, sample.combine(weights), low, high, printed, rounding, paper.ENSEMBLE_REPEATS)


def _list_cells(rates: pd.DataFrame) -> Iterator[Claim]:
    """Table 1: 26 rates, 13 improvements that follow from them, and both by the other reading."""
    for reading, pi in READINGS.items():
        for fanout in paper.FANOUTS:
            yield _state_rate(rates, pi, fanout, reading)
            if reading == EQ5:
                yield _state_rate(rates, "lda", fanout, "")
            both, printed = take_both(rates, reading, [fanout]), paper.IMPROVEMENT_PERCENT[fanout]
            gain = stats.jackknife(stats.improvement, both).combine(np.ones(1))
            region = printed - IMPROVEMENT_MARGIN, printed + IMPROVEMENT_MARGIN
            check = Check(f"fan-out {fanout}", gain, *region, printed, IMPROVEMENT_ROUNDING)
            key = f"table1-{pi}-improvement-{fanout}"
            text = f"LDA-ELM's improvement at fan-out {fanout} is {printed:.1f} %"
            yield Claim(key, text, "Table 1", [check], "improvement", reading, "%")


def _state_rate(rates: pd.DataFrame, method: str, fanout: int, reading: str) -> Claim:
    name, printed = method[:3].strip("_").upper(), PRINTED[method][fanout]
    margin = RATE_MARGIN * printed
    ours = estimate_mean(take(rates, [(method, fanout)])[:, 0])
    check = Check(f"fan-out {fanout}", ours, printed - margin, printed + margin, printed, RATE_ROUNDING)
    text = f"{name}-ELM's error rate at fan-out {fanout} is {printed:.2f} %"
    return Claim(f"table1-{method}-{fanout}", text, "Table 1", [check], "rate", reading, "%")


def judge_agreement(rates: pd.DataFrame, fanouts: Sequence[int] = paper.FANOUTS) -> pd.DataFrame:
    """Whether all rates at these fan-outs together agree with the paper's, by both readings."""
    printed = np.array([[PRINTED["pi"][f], PRINTED["lda"][f]] for f in fanouts])
    blocks, share = np.repeat(np.arange(len(fanouts)), 2), np.full(len(fanouts), 1 / len(fanouts))
    paper_gap = float(share @ (printed @ [1.0, -1.0]))
    rows = []
    for reading in READINGS:
        both = take_both(rates, reading, fanouts)
        found = both.reshape(len(both), printed.size)
        t, p = stats.joint_agreement(found, printed.ravel(), blocks, paper.REPEATS, paper.RATE_DIGIT)
        gap = stats.sample_means(both[..., 0] - both[..., 1]).combine(share)
        z = gap.z(paper_gap, paper.REPEATS, DIFFERENCE_ROUNDING / math.sqrt(len(fanouts)))
        row = {"reading": reading, "networks": len(both), "rates": printed.size, "t": t, "p": p}
        gaps = {"gap": gap.value, "gap_interval": gap.half(), "paper_gap": paper_gap, "gap_z": z}
        rows.append(row | gaps)
    return pd.DataFrame(rows)


def judge_hypothesis(agreement: pd.DataFrame) -> tuple[float, str]:
    """The registered hypothesis, that the paper's PI-ELM had a constant unit: log LR, verdict."""
    eq5, constant = agreement["gap_z"]
    log_ratio = (eq5**2 - constant**2) / 2
    if log_ratio > math.log(10) and abs(constant) < ndtri(0.5 + LEVEL / 2):
        return log_ratio, "supported"
    return log_ratio, "rejected" if log_ratio < -math.log(10) else "undecided"
