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
from elmlda.reports.render import read_words
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
    checks: Sequence[Check]
    reading: str = ""
    unit: str = "points"
    kind: str = "statement"

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
        text, place = read_words()["claims"][self.key if self.kind == "statement" else self.kind]
        suffix = "-constant" if self.kind == "statement" and self.reading == CONSTANT else ""
        return {
            "key": self.key + suffix, "claim": text.format(shown), "place": place, "kind": self.kind,
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
    checks = []
    for fanout in ALL_FANOUTS:
        pi, lda = take_both(rates, reading, [fanout])[:, 0].T
        printed = PRINTED["pi"].get(fanout, NAN) - PRINTED["lda"].get(fanout, NAN)
        at, gap = f"PI − LDA at fan-out {fanout}", estimate_mean(pi - lda)
        checks.append(Check(at, gap, 0, math.inf, printed, DIFFERENCE_ROUNDING))
    yield Claim("lda-better", checks, reading)
    gains = stats.jackknife(stats.improvement, take_both(rates, reading, paper.FANOUTS))
    average, n = paper.AVERAGE_IMPROVEMENT_PERCENT, len(paper.FANOUTS)
    region = average - AVERAGE_MARGIN, average + AVERAGE_MARGIN
    ours = gains.combine(np.full(n, 1 / n))
    check = Check("average improvement", ours, *region, average, IMPROVEMENT_ROUNDING)
    yield Claim("average-improvement", [check], reading, "%")
    yield Claim("larger-at-small-fanouts", list(_check_decline(gains)), reading)
    yield Claim("error-falls", list(_check_falls(rates, READINGS[reading])), reading)


def _check_decline(gains: Sample) -> Iterator[Check]:
    """Check the mean improvement up to fan-out 5 minus the mean above, and the fall per doubling."""
    fanouts, printed = np.array(paper.FANOUTS), np.array(list(paper.IMPROVEMENT_PERCENT.values()))
    is_small = fanouts <= SMALL_FANOUT
    cut = np.where(is_small, 1 / is_small.sum(), -1 / (~is_small).sum())
    doublings = np.log2(fanouts) - np.log2(fanouts).mean()
    for at, weights in (
        (f"mean improvement at fan-outs 1 to {SMALL_FANOUT} minus that above {SMALL_FANOUT}", cut),
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
    border, checks = math.log1p(paper.LARGEST_OVERHEAD_PERCENT / 100), []
    for fanout in paper.FANOUTS:
        ours = estimate_mean(tables.log_ratios(timing[timing["fanout"] == fanout]))
        at, fewest = f"fan-out {fanout}", FEWEST_REPEATS
        checks.append(Check(at, ours, high=border, paper_repeats=1, fewest=fewest))
    return Claim("time", checks, unit=LOG_RATIO)


def _claim_ensembles(run: Records) -> Iterator[Claim]:
    """Compare ensembles of different sizes: statements 6 to 11."""
    sample, largest = _sample_sizes(run), paper.ENSEMBLE_SIZE
    for size in (2, largest):
        rate = paper.ENSEMBLE_ERROR_PERCENT[size]
        margin = RATE_MARGIN * rate
        check = _check_sizes(sample, {size: 1}, rate - margin, rate + margin)
        yield Claim(f"ensemble-{size}", [check], unit="%")
    for few, many in ((1, 2), (2, largest)):
        check = _check_sizes(sample, {few: 1, many: -1}, 0)
        yield Claim(f"ensemble-{many}-beats-{few}", [check])
    steps = [_check_sizes(sample, {few: 1, many: -1}, 0) for few, many in DOUBLINGS]
    yield Claim("ensemble-falls", steps)
    high = RATE_MARGIN * paper.ENSEMBLE_ERROR_PERCENT[largest]
    others = [_check_sizes(sample, {largest: 1, n: -1}, high=high) for n in ALL_SIZES[:-1]]
    yield Claim("twenty-best", others)


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
            ours, printed = cells[fanout][name], PRINTED[name][fanout]
            if name in IMPROVEMENTS:
                kind, margin, what = "improvement", IMPROVEMENT_MARGIN, "LDA-ELM's improvement"
                key = f"table1-{IMPROVEMENTS[name]}-improvement-{fanout}"
            else:
                kind, margin = "rate", RATE_MARGIN * printed
                what, key = f"{METHODS[name].split()[0]}'s error rate", f"table1-{name}-{fanout}"
            at, region = f"{what} at fan-out {fanout}", (printed - margin, printed + margin)
            check = Check(at, ours, *region, printed, ROUNDING[name])
            yield Claim(key, [check], "" if name == "lda" else reading, "%", kind)
