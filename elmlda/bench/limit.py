"""The machine's limit: the nested network's time beside that of its bare floating-point operations."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
from threadpoolctl import threadpool_limits

from elmlda.bench.race import RacePlan
from elmlda.machine import measure_peak_bytes
from elmlda.networks.cost import Problem, Speeds, count_operations, measure_speeds
from elmlda.networks.train import NetworkResult, run_network
from elmlda.settings import PRECISIONS

PRODUCT_SIZE = 4096
PRODUCT_SECONDS = 3.0
FLOAT32 = "mixed"
"""The precision whose limit is float32's, and whose counts the others are compared with."""


@dataclass(frozen=True)
class TimedNetwork:
    """One network's time, and the time of its bare floating-point operations."""

    precision: str
    """That was asked for; the network's is double where float32 was not enough."""
    network: NetworkResult
    seconds: float
    limit_seconds: float
    speeds: Speeds
    peak_bytes: int
    """Of this process, up to the end of the network."""


def time_network(plan: RacePlan) -> TimedNetwork:
    """Time a network between two measurements of matrix products' speed; the faster is the limit."""
    measured = [_measure_speeds(plan)]
    start = time.perf_counter()
    rng = np.random.default_rng(plan.seed)
    network = run_network(plan.dataset, rng, plan.sizes, plan.settings, plan.resources)
    seconds = time.perf_counter() - start
    peak = measure_peak_bytes()
    measured.append(_measure_speeds(plan))
    speeds = Speeds(*map(max, *measured))
    limit = count_operations(Problem.of(plan.dataset, plan.sizes)).seconds(speeds)
    return TimedNetwork(plan.settings.precision, network, seconds, limit, speeds, peak)


def _measure_speeds(plan: RacePlan) -> Speeds:
    with threadpool_limits(plan.resources.threads, user_api="blas"):
        return measure_speeds(plan.settings.precision, PRODUCT_SIZE, PRODUCT_SECONDS)


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
    """Time the plan's network in the other precisions, and compare all of them."""
    found = {timed.precision: timed}
    for precision in PRECISIONS:
        if precision not in found:
            settings = replace(plan.settings, precision=precision)
            found[precision] = time_network(replace(plan, settings=settings))
    return [_compare(found[precision], found[FLOAT32]) for precision in PRECISIONS]


def _compare(timed: TimedNetwork, float32: TimedNetwork) -> PrecisionStanding:
    counts, expected = (one.network.pi_errors + one.network.lda_errors for one in (timed, float32))
    differences = [abs(a - b) for a, b in zip(counts, expected, strict=True)]
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
