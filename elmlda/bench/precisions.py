"""The nested network in every precision, timed one after the other against the limits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from elmlda.bench.limit import TimedNetwork, time_network
from elmlda.bench.race import RacePlan
from elmlda.networks.train import NetworkResult
from elmlda.settings import PRECISIONS

FLOAT32 = "mixed"
"""The precision whose limit is float32's, and whose counts the others are compared with."""


@dataclass(frozen=True)
class PrecisionStanding:
    """One precision's times: a row of precisions.csv."""

    precision: str
    seconds: float
    gram_seconds: float
    limit_seconds: float
    """At the speed of products in that precision, the Gram matrix at that of matrix units, if any."""
    ratio_to_limit: float
    ratio_to_float32_limit: float
    differing_counts: int
    """Of PI's and LDA's at all fan-outs, from those in mixed precision."""
    largest_difference: int


def race_precisions(plan: RacePlan, timed: TimedNetwork) -> list[PrecisionStanding]:
    """Time the plan's network in the precisions that `timed` has not, and compare all of them."""
    found = {timed.precision: timed}
    for precision in PRECISIONS:
        if precision not in found:
            settings = replace(plan.settings, precision=precision)
            found[precision] = time_network(
                plan.dataset, plan.sizes, plan.seed, settings, plan.resources
            )
    return [_compare(found[precision], found[FLOAT32]) for precision in PRECISIONS]


def _compare(timed: TimedNetwork, float32: TimedNetwork) -> PrecisionStanding:
    differences = list(_differences(timed.network, float32.network))
    return PrecisionStanding(
        timed.precision,
        timed.seconds,
        timed.network.part_seconds["gram"],
        timed.limit_seconds,
        timed.seconds / timed.limit_seconds,
        timed.seconds / float32.limit_seconds,
        sum(difference > 0 for difference in differences),
        max(differences),
    )


def _differences(found: NetworkResult, expected: NetworkResult) -> Iterator[int]:
    for method in ("pi_errors", "lda_errors"):
        both = zip(getattr(found, method), getattr(expected, method), strict=True)
        yield from (abs(a - b) for a, b in both)
