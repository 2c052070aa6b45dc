"""Verdicts on the paper's claims by the rule of results/PROTOCOL.md, a row for each claim.

A claim says in which region a number lies. The paper drew new networks for each of its numbers, so the
variances of its numbers add up; PI-ELM and LDA-ELM share their networks, in the paper and here. Some
claims have no printed number that ours can be compared with, such as a time on another computer. The
nearest border of the region replaces the printed number there, and z is not shown.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

from elmlda import paper
from elmlda.core import FloatArray
from elmlda.reports import stats, tables
from elmlda.reports.load import METHODS, Records, percents
from elmlda.reports.stats import FEWEST_REPEATS, LEVEL, NAN, Estimate, Sample, estimate_mean
from elmlda.reports.tables import IMPROVEMENT_ROUNDING, IMPROVEMENTS, PRINTED, RATE_ROUNDING, ROUNDING

RATE_MARGIN, IMPROVEMENT_MARGIN, AVERAGE_MARGIN = 0.02, 1.0, 0.5
"""Half-widths of regions: share of a printed rate; points of an improvement, and of their average."""
DIFFERENCE_ROUNDING = math.sqrt(2) * RATE_ROUNDING
SMALL_FANOUT = 5
ALL_FANOUTS = tuple(range(1, paper.LARGEST_FANOUT + 1))
ALL_SIZES = tuple(range(1, paper.ENSEMBLE_SIZE + 1))
DOUBLINGS = ((2, 4), (4, 8), (8, 16))
EQ5, CONSTANT = "Eq. (5)", "with a constant unit"
READINGS = {EQ5: "pi", CONSTANT: "pi_constant"}
"""Reading of PI-ELM -> its method. Eq. (5) has no constant unit; Eq. (16) gives LDA-ELM one."""
LOG_RATIO = "log ratio"
"""Unit of a ratio that is judged as a logarithm and shown in per cent."""
REPRODUCED, NOT_REPRODUCED, INCONCLUSIVE, NOT_RUN, TOO_FEW = VERDICTS = (
    "reproduced", "not reproduced", "inconclusive", "not run yet", "too few networks",
)  # fmt: skip
FEWEST_NETWORKS = 20
"""Error rates of fewer networks get no verdict: Student's interval of so few may miss by chance."""


@dataclass(frozen=True)
class Check:
    """One of our numbers, the region in which the claim puts it, and the paper's number."""

    at: str
    ours: Estimate
    low: float = -math.inf
    high: float = math.inf
    printed: float = NAN
    rounding: float = 0.0
    paper_repeats: int = paper.REPEATS
    fewest: int = FEWEST_NETWORKS

    def z(self, printed: float) -> float:
        """Return ours minus a printed number in standard errors of the difference."""
        return self.ours.z(printed, self.paper_repeats, self.rounding)

    @property
    def slack(self) -> float:
        """Distance to the nearest border in half-widths of the interval; negative outside."""
        distance, half = min(self.ours.value - self.low, self.high - self.ours.value), self.ours.half()
        return distance / half if half > 0 else math.copysign(math.inf, distance)

    def judge(self, level: float = LEVEL) -> str:
        """Return the rule's verdict on this number alone."""
        if self.ours.n < self.fewest:
            return TOO_FEW if self.ours.n else NOT_RUN
        low, high = self.ours.interval(level)
        if self.low < low and high < self.high:
            return REPRODUCED
        nearest = min(max(self.ours.value, self.low), self.high)
        z = self.z(nearest if math.isnan(self.printed) else self.printed)
        is_outside = high <= self.low or low >= self.high
        return NOT_REPRODUCED if is_outside and abs(z) > ndtri(0.5 + level / 2) else INCONCLUSIVE


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, and the numbers that decide it."""

    key: str
    text: str
    place: str
    checks: Sequence[Check]
    kind: str = "statement"
    reading: str = ""
    unit: str = "points"

    def decide(self) -> dict[str, Any]:
        """Return the verdict on all numbers together, with the number that is closest to failing.

        A single number can fail the claim, at a level that is corrected for the number of checks.
        """
        level = 1 - (1 - LEVEL) / len(self.checks)
        failing = [check for check in self.checks if check.judge(level) == NOT_REPRODUCED]
        single = {check.judge() for check in self.checks}
        computed = [check for check in self.checks if check.ours.n]
        shown = min(failing or computed or self.checks, key=lambda check: check.slack)
        verdict = REPRODUCED if single == {REPRODUCED} else INCONCLUSIVE
        for missing in (TOO_FEW, NOT_RUN):
            verdict = missing if missing in single else verdict
        verdict = NOT_REPRODUCED if failing else verdict
        numbers = [shown.low, shown.high, shown.ours.value, *shown.ours.interval()]
        if self.unit == LOG_RATIO:
            numbers = [float(100 * np.expm1(number)) for number in numbers]
        region_low, region_high, ours, low, high = numbers
        return {
            "key": self.key, "claim": self.text, "place": self.place, "kind": self.kind,
            "reading": self.reading,
            "counted": self.kind != "improvement" and self.reading != CONSTANT,
            "unit": "%" if self.unit == LOG_RATIO else self.unit, "paper": shown.printed,
            "region_low": region_low, "region_high": region_high, "at": shown.at, "ours": ours,
            "low": low, "high": high, "z": shown.z(shown.printed),
            "repeats": min((check.ours.n for check in computed), default=0),
            "needed": shown.fewest, "verdict": verdict,
        }  # fmt: skip


def judge_claims(run: Records) -> pd.DataFrame:
    """Judge the paper's statements and the cells of Table 1, by both readings of PI-ELM."""
    rates = percents(run.primary) if len(run.primary) else pd.DataFrame()
    claims = [
        *_claim_methods(rates, EQ5),
        _claim_time(run.timing),
        *_claim_ensembles(run),
        *_claim_methods(rates, CONSTANT),
        *_claim_cells(run.primary),
    ]
    return pd.DataFrame([claim.decide() for claim in claims])


def take(rates: pd.DataFrame, columns: Sequence[tuple[str, int]]) -> FloatArray:
    """Return the rates at these (method, fan-out), n_repeats × n_columns, of the complete repeats."""
    return rates.reindex(columns=pd.MultiIndex.from_tuples(columns)).dropna().to_numpy()


def take_both(rates: pd.DataFrame, reading: str, fanouts: Sequence[int]) -> FloatArray:
    """Return the rates of PI and LDA, n_repeats × n_fanouts × 2, of the complete repeats."""
    complete = take(rates, [(m, f) for f in fanouts for m in (READINGS[reading], "lda")])
    return complete.reshape(len(complete), len(fanouts), 2)


def _claim_methods(rates: pd.DataFrame, reading: str) -> Iterator[Claim]:
    """Compare PI-ELM with LDA-ELM: statements 1 to 4."""
    suffix = "" if reading == EQ5 else "-constant"

    def state(key: str, text: str, place: str, checks: Sequence[Check], unit: str = "points") -> Claim:
        return Claim(key + suffix, text, place, checks, reading=reading, unit=unit)

    text = f"LDA-ELM has fewer errors than PI-ELM at every fan-out from 1 to {paper.LARGEST_FANOUT}"
    checks = []
    for fanout in ALL_FANOUTS:
        pi, lda = take_both(rates, reading, [fanout])[:, 0].T
        printed = PRINTED["pi"].get(fanout, NAN) - PRINTED["lda"].get(fanout, NAN)
        gap = estimate_mean(pi - lda)
        checks += [
            Check(
                f"PI − LDA at fan-out {fanout}", gap, 0, printed=printed, rounding=DIFFERENCE_ROUNDING
            )
        ]
    yield state("lda-better", text, "Section 3, Fig. 1", checks)
    gains = stats.jackknife(stats.improvement, take_both(rates, reading, paper.FANOUTS))
    average, n = paper.AVERAGE_IMPROVEMENT_PERCENT, len(paper.FANOUTS)
    region = average - AVERAGE_MARGIN, average + AVERAGE_MARGIN
    check = Check(
        "average improvement", gains.combine(np.full(n, 1 / n)), *region, average, IMPROVEMENT_ROUNDING
    )
    text = f"LDA-ELM's error rate is {average} % lower on average over the {n} printed fan-outs"
    yield state("average-improvement", text, "Section 3, Conclusion", [check], "%")
    text = "The improvement is larger at small fan-outs"
    yield state("larger-at-small-fanouts", text, "Section 3", list(_check_decline(gains)))
    text = "The error rate falls from each printed fan-out to the next, for both methods"
    checks = list(_check_falls(rates, READINGS[reading]))
    yield state("error-falls", text, "Fig. 1, Table 1", checks)


def _check_decline(gains: Sample) -> Iterator[Check]:
    """Check the mean improvement up to fan-out 5 minus the mean above, and the fall per doubling."""
    fanouts, printed = np.array(paper.FANOUTS), np.array(list(paper.IMPROVEMENT_PERCENT.values()))
    is_small = fanouts <= SMALL_FANOUT
    cut = np.where(is_small, 1 / is_small.sum(), -1 / (~is_small).sum())
    doublings = np.log2(fanouts) - np.log2(fanouts).mean()
    for at, weights in (
        (f"up to fan-out {SMALL_FANOUT} minus above", cut),
        ("fall per doubling of the fan-out", -doublings / (doublings @ doublings)),
    ):
        rounding = IMPROVEMENT_ROUNDING * float(np.linalg.norm(weights))
        yield Check(at, gains.combine(weights), 0, math.inf, float(weights @ printed), rounding)


def _check_falls(rates: pd.DataFrame, pi: str) -> Iterator[Check]:
    for method, name in ((pi, "PI-ELM"), ("lda", "LDA-ELM")):
        for less, more in pairwise(paper.FANOUTS):
            both = stats.sample_means(take(rates, [(method, less), (method, more)]))
            fall, at = both.combine(np.array([1.0, -1.0])), f"{name}'s fall from {less} to {more}"
            printed = PRINTED[method][less] - PRINTED[method][more]
            yield Check(at, fall, 0, math.inf, printed, DIFFERENCE_ROUNDING)


def _claim_time(timing: pd.DataFrame) -> Claim:
    """Compare the methods' times: statement 5.

    The paper timed one run on another computer. Its times are assumed to vary like ours.
    """
    border = math.log1p(paper.LARGEST_OVERHEAD_PERCENT / 100)
    ratios = {f: tables.log_ratios(timing[timing["fanout"] == f]) for f in paper.FANOUTS}
    checks = [
        Check(
            f"at fan-out {fanout}",
            estimate_mean(logs),
            high=border,
            paper_repeats=1,
            fewest=FEWEST_REPEATS,
        )
        for fanout, logs in ratios.items()
    ]
    text = f"LDA-ELM takes less than {paper.LARGEST_OVERHEAD_PERCENT:.0f} % more time than PI-ELM"
    return Claim("time", text, "Conclusion, Table 2", checks, unit=LOG_RATIO)


def _claim_ensembles(run: Records) -> Iterator[Claim]:
    """Compare ensembles of different sizes: statements 6 to 11."""
    sample, place, largest = _sample_sizes(run), "Section 3, Fig. 2", paper.ENSEMBLE_SIZE
    printed = paper.ENSEMBLE_ERROR_PERCENT
    for size, name in ((2, "Two"), (largest, "Twenty")):
        rate = printed[size]
        text = f"{name} networks of fan-out {paper.LARGEST_FANOUT} have {rate:.2f} % errors"
        margin = RATE_MARGIN * rate
        check = _check_sizes(sample, {size: 1}, rate - margin, rate + margin)
        yield Claim(f"ensemble-{size}", text, place, [check], unit="%")
    for few, many, text in (
        (1, 2, "Two networks have fewer errors than one"),
        (2, largest, "Twenty networks have fewer errors than two"),
    ):
        check = _check_sizes(sample, {few: 1, many: -1}, 0)
        yield Claim(f"ensemble-{many}-beats-{few}", text, place, [check])
    steps = [_check_sizes(sample, {few: 1, many: -1}, 0) for few, many in DOUBLINGS]
    text = "The error falls with each doubling of the number of networks from 2 to 16"
    yield Claim("ensemble-falls", text, place, steps)
    rate = printed[largest]
    high = RATE_MARGIN * rate
    others = [_check_sizes(sample, {largest: 1, n: -1}, high=high) for n in ALL_SIZES[:-1]]
    text = f"No other number of networks up to {largest} has an error rate lower by more than 2 %"
    yield Claim("twenty-best", text, place, others)


def _sample_sizes(run: Records) -> Sample:
    """Estimate error rates by number of networks, from random subsets or else separate ensembles."""
    if tables.is_papers_ensemble(run) and set(run.draws["size"]) == set(ALL_SIZES):
        return tables.sample_draws(run)
    rows = run.ensemble if tables.is_papers_ensemble(run) else run.ensemble.head(0)
    wide = rows.assign(rate=100 * rows["errors"] / rows["n_test"]).pivot_table("rate", "repeat", "size")
    return stats.sample_means(wide.reindex(columns=list(ALL_SIZES)).dropna().to_numpy(float))


def _check_sizes(
    sample: Sample, parts: dict[int, int], low: float = -math.inf, high: float = math.inf
) -> Check:
    """Check a weighted sum of error rates; the paper has ten ensembles of each size."""
    weights = np.zeros(len(ALL_SIZES))
    for size, weight in parts.items():
        weights[size - 1] = weight
    printed = sum(w * paper.ENSEMBLE_ERROR_PERCENT.get(size, NAN) for size, w in parts.items())
    rounding = RATE_ROUNDING * math.sqrt(len(parts))
    at, ours = " minus ".join(str(size) for size in parts) + " networks", sample.combine(weights)
    n = paper.ENSEMBLE_REPEATS
    return Check(at, ours, low, high, printed, rounding, n, fewest=FEWEST_REPEATS)


def _claim_cells(primary: pd.DataFrame) -> Iterator[Claim]:
    """Compare Table 1: 26 rates and 13 improvements, and both for PI-ELM with a constant unit."""
    cells = {f: tables.estimate_rates(primary[primary["fanout"] == f]) for f in paper.FANOUTS}
    for reading, names in (
        (EQ5, ("pi", "lda", "improvement")),
        (CONSTANT, ("pi_constant", "constant_improvement")),
    ):
        for fanout, name in product(paper.FANOUTS, names):
            ours, printed, at = cells[fanout][name], PRINTED[name][fanout], f"fan-out {fanout}"
            if name in IMPROVEMENTS:
                kind, margin = "improvement", IMPROVEMENT_MARGIN
                key = f"{IMPROVEMENTS[name]}-improvement"
                text = f"LDA-ELM's improvement at {at} is {printed:.1f} %"
            else:
                kind, key, margin = "rate", name, RATE_MARGIN * printed
                text = f"{METHODS[name].split()[0]}'s error rate at {at} is {printed:.2f} %"
            check = Check(at, ours, printed - margin, printed + margin, printed, ROUNDING[name])
            by = "" if name == "lda" else reading
            yield Claim(f"table1-{key}-{fanout}", text, "Table 1", [check], kind, by, "%")
