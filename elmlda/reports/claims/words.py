"""Verdicts in words: a report's first lines, its tables of claims, and the rule."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import pandas as pd

from elmlda import paper
from elmlda.ranges import format_ranges
from elmlda.reports.claims import rule
from elmlda.reports.claims.rule import Claim, Kind, Reading, Verdict
from elmlda.reports.claims.statements import SMALL_FANOUT
from elmlda.reports.model import Column, Section, Table, make_table
from elmlda.text import format_number

MOST_NAMES = 4
"""More claims than this are counted, not named."""
SO_FAR = "consistent with the paper so far"


def summarise_claims(claims: Sequence[Claim]) -> tuple[str, str]:
    """One sentence on whether the paper was reproduced, PI-ELM as Eq. (5) has it, and its tone."""
    counted = select_counted(claims, Reading.EQ5)
    text = f"{_describe_interim(counted)}Reproduced: {_describe_verdicts(counted)}"
    return text, _choose_tone(counted)


def summarise_other_reading(claims: Sequence[Claim]) -> str:
    """The same for PI-ELM with a constant hidden unit."""
    verdicts = _describe_verdicts(select_counted(claims, Reading.CONSTANT))
    return f"With a constant hidden unit in PI-ELM, which Eq. (5) lacks, reproduced: {verdicts}"


def select_counted(claims: Sequence[Claim], reading: Reading) -> list[Claim]:
    """The statements and rates of a reading, and those that PI-ELM has no part in."""
    return [
        claim
        for claim in claims
        if claim.kind in (Kind.STATEMENT, Kind.RATE) and claim.reading in (reading, Reading.NONE)
    ]


def _describe_interim(claims: Sequence[Claim]) -> str:
    """How much there is of what was fixed in advance; empty if all verdicts are final."""
    if not any(claim.interim for claim in claims):
        return ""
    found: dict[tuple[int, str], int] = {}
    for claim in claims:
        what = claim.full, claim.repeats_are
        found[what] = max(claim.ours.repeats, found.get(what, 0))
    lacking = [f"{n} of {full} {name}" for (full, name), n in found.items() if n < full]
    interim = f"Interim ({', '.join(lacking)})" if lacking else "Interim"
    return f"{interim}: {SO_FAR}. " if _is_consistent(claims) else f"{interim}. "


def _is_consistent(claims: Sequence[Claim]) -> bool:
    """Whether there is something, and none of it speaks against the paper."""
    known = [claim for claim in claims if claim.ours.repeats]
    return bool(known) and Verdict.NOT_REPRODUCED not in {claim.verdict for claim in known}


def _describe_verdicts(claims: Sequence[Claim]) -> str:
    counts = []
    for name, kind in (("statements", Kind.STATEMENT), ("rates", Kind.RATE)):
        if verdicts := [claim.verdict for claim in claims if claim.kind == kind]:
            counts.append(f"{verdicts.count(Verdict.REPRODUCED)} of {len(verdicts)} {name}")
    parts = [", ".join(counts)]
    for verdict in (Verdict.NOT_REPRODUCED, Verdict.INCONCLUSIVE, Verdict.OPEN):
        some = [claim for claim in claims if claim.verdict == verdict]
        if some or verdict == Verdict.NOT_REPRODUCED:
            parts.append(f"{verdict}: {_name_claims(some) or 'none'}")
    return "; ".join(parts) + "."


def _name_claims(claims: Sequence[Claim]) -> str:
    """Statements by name and rates by fan-out, or their numbers if they are many."""
    statements = [claim.short for claim in claims if claim.kind == Kind.STATEMENT]
    fanouts: dict[str, list[int]] = {}
    for claim in claims:
        if claim.fanout is not None:
            fanouts.setdefault(claim.short, []).append(claim.fanout)
    rates = [f"{name} at fan-out {format_ranges(tuple(some))}" for name, some in fanouts.items()]
    if len(statements) + len(rates) <= MOST_NAMES:
        return ", ".join([*statements, *rates])
    numbers = Counter("statement" if claim.fanout is None else "rate" for claim in claims)
    return ", ".join(f"{n} {name}{'' if n == 1 else 's'}" for name, n in numbers.items())


def _choose_tone(claims: Sequence[Claim]) -> str:
    verdicts = {claim.verdict for claim in claims}
    if Verdict.NOT_REPRODUCED in verdicts:
        return "bad"
    if any(claim.interim for claim in claims):
        return "consistent" if _is_consistent(claims) else "open"
    return "good" if verdicts == {Verdict.REPRODUCED} else "open"


def name_verdict(claim: Claim) -> str:
    """For display; while repeats are missing, whether it agrees with the paper so far."""
    if not claim.interim:
        return str(claim.verdict)
    if claim.verdict == Verdict.OPEN:
        return SO_FAR if claim.is_consistent else str(claim.verdict)
    return f"{claim.verdict} (interim)"


COLUMNS = [
    Column("Claim", "text", note="where"),
    Column("Paper", "paper"),
    Column("Required", "required"),
    Column("Ours", "ours"),
    Column("95 % interval", "interval"),
    Column("z", "z"),
    Column("Repeats", "repeats"),
    Column("Verdict", "verdict", note="because", tone="tone"),
]


def describe_claims(claims: Sequence[Claim]) -> list[Section]:
    """What the paper states, what no record can decide, and the rule."""
    if not claims:
        return []
    tables = _tabulate(
        [claim for claim in claims if claim.kind in (Kind.STATEMENT, Kind.FURTHER)],
        "What the paper states, and what the records say; PI-ELM as Eq. (5) has it",
        "The same, PI-ELM with a constant hidden unit",
    )
    untested = [each for each in claims if each.kind == Kind.UNTESTED]
    items = [f"{claim.text} ({claim.where}): {claim.because}." for claim in untested]
    summary = BRIEF_RULE + (INTERIM_RULE if any(claim.interim for claim in claims) else "")
    return [
        Section("claims", "The paper's claims", summary=summary, tables=tables),
        Section("rule", "How verdicts are made", items=RULE, folded=True),
        Section("untested", "Not tested", items=items, folded=True),
    ]


def describe_cells(claims: Sequence[Claim]) -> list[Section]:
    """The cells of Table 1, one by one."""
    if not claims:
        return []
    tables = _tabulate(
        [claim for claim in claims if claim.kind in (Kind.RATE, Kind.IMPROVEMENT)],
        "Rates and improvements; PI-ELM as Eq. (5) has it",
        "Those that differ, PI-ELM with a constant hidden unit",
    )
    return [Section("cells", "Every cell of Table 1", tables=tables, folded=True)]


def _tabulate(claims: Sequence[Claim], caption: str, other_caption: str) -> list[Table]:
    """By Eq. (5), then those that differ by the other reading."""
    rows: dict[str, list[dict[str, str]]] = {caption: [], other_caption: []}
    for claim in claims:
        rows[other_caption if claim.reading == Reading.CONSTANT else caption].append(_row(claim))
    return [
        make_table(title, pd.DataFrame(some), COLUMNS, kind="claims") for title, some in rows.items()
    ]


def _row(claim: Claim) -> dict[str, str]:
    """A claim's cells, by field."""
    ours, unit = claim.ours, claim.unit
    is_soft = claim.verdict == Verdict.OPEN and claim.is_consistent
    low, high = _digits(ours.low, unit), _digits(ours.high, unit)
    return {
        "text": claim.text,
        "where": claim.where + (", not counted" if claim.kind == Kind.FURTHER else ""),
        "paper": "" if math.isnan(claim.printed) else f"{_digits(claim.printed, unit)} {unit}",
        "required": _describe_region(claim.region, unit),
        "ours": "–" if math.isnan(ours.value) else f"{_digits(ours.value, unit)} {unit}",
        "interval": "" if math.isnan(ours.low) else f"{low} to {high}",
        "z": "" if math.isnan(claim.z) else format_number(claim.z, "+.1f"),
        "repeats": f"{ours.repeats} of {claim.full}" if claim.interim else str(ours.repeats),
        "verdict": name_verdict(claim),
        "because": f"{claim.verdict}: {claim.because}" if is_soft else claim.because,
        "tone": "consistent" if is_soft else claim.verdict.name.lower(),
    }


def _describe_region(region: rule.Region, unit: str) -> str:
    """Where the whole interval has to lie."""
    if math.isinf(region.high):
        return f"above {region.low:g}"
    if math.isinf(region.low):
        return f"below {region.high:.3g}"
    return f"{_digits(region.low, unit)} to {_digits(region.high, unit)}"


def _digits(value: float, unit: str) -> str:
    """Two decimals like the paper's; a difference of two such numbers has one more."""
    return format_number(value, ".3f" if unit == "points" else ".2f")


def tabulate_claims(claims: Sequence[Claim]) -> pd.DataFrame:
    """claims.csv: a row for each claim.

    `counts_from` and `counts_to` are where it holds; its verdict is interim until there are
    `full_repeats`.
    """
    rows = [
        {
            "key": claim.key,
            "claim": claim.text,
            "reading": str(claim.reading),
            "kind": str(claim.kind),
            "where": claim.where,
            "unit": claim.unit,
            "paper": claim.printed,
            "counts_from": claim.region.low,
            "counts_to": claim.region.high,
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
    return pd.DataFrame(rows).replace([math.inf, -math.inf], math.nan)


BRIEF_RULE = (
    "Required: where the claim puts the number. Reproduced: our whole 95 % interval lies there. Not "
    "reproduced: it lies wholly elsewhere, and chance is ruled out, |z| > 1.96; z is ours minus the "
    "paper's in standard errors of that difference. Inconclusive: anything else."
)
INTERIM_RULE = (
    " While repeats are missing, verdicts are interim, and inconclusive claims are not decided yet: "
    f"such a claim is {SO_FAR} if its interval reaches the required range, or chance explains the "
    "distance."
)
RULE = [
    "A claim says where a number lies: above 0, say, or within 2 % of what is printed. The records "
    "give that number with a 95 % interval over repeats, and z: ours minus the paper's in standard "
    "errors of that difference, which are made up of our sampling, the paper's (its repeats are taken "
    "to vary like ours) and the rounding of what it prints (last digit / √12).",
    "Reproduced: the whole interval lies where the claim says. Not reproduced: the whole interval lies "
    "elsewhere, and chance is ruled out on both sides, |z| > 1.96. Inconclusive: anything else.",
    f"How much is enough was fixed in advance: {rule.NETWORKS} networks; {rule.PAIRS} disjoint pairs "
    f"of them for two networks combined; {paper.ENSEMBLE_REPEATS} ensembles for more; {rule.TIMINGS} "
    "timings. With less a verdict is interim, and what would be inconclusive is not decided yet.",
    "A claim about every fan-out is reproduced if it is at each of them. It is not reproduced if it "
    "fails at one of them by an interval and a z widened for their number (Bonferroni). The one that "
    "comes closest to failing is shown.",
    f"An error rate counts as the printed one within {100 * rule.RATE_MARGIN:.0f} % of it, more than "
    f"what {rule.NETWORKS} repeats leave open. PI-ELM's printed rate lies outside LDA-ELM's region at "
    "every fan-out, but the two regions overlap at 12 of 13, so a rate between the two may count for "
    "both: that LDA-ELM is better is judged network by network. A cell of % improvement counts within "
    f"{rule.IMPROVEMENT_MARGIN:.0f} percentage point, the average improvement within "
    f"{rule.AVERAGE_MARGIN} points.",
    "Counted are the statements and the 26 rates of Table 1. Its improvements follow from the rates: "
    "they are judged, but not counted.",
    "Eq. (5) gives PI-ELM no constant hidden unit, while Eq. (16) gives LDA-ELM one. What is said of "
    "PI-ELM is judged by both readings; the first line is Eq. (5)'s.",
    "Where the paper prints no number that ours can be compared with, there is no z, and the border of "
    "the claim stands in for its number. The paper drew new networks for each fan-out and ensemble "
    "size: in a difference or an average of its numbers their variances add up.",
    f"That the benefit is larger at small fan-outs has to show in the mean up to {SMALL_FANOUT} minus "
    "the mean above, and in the slope over the logarithm of the fan-out. That twenty networks have the "
    "lowest error means that no other number of networks is lower by 2 % of the printed rate.",
    "Intervals are Student's t over repeats; of ratios of means, the jackknife's.",
]
