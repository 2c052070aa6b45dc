"""How fast a network is: beside the processor's limit, and beside what one would otherwise use.

All contestants of a race have the same input weights and count their errors on the same test samples.
Where their counts differ they do not compute the same thing, and the race is void.
"""

from __future__ import annotations

import resource
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import nnls
from threadpoolctl import threadpool_limits

from elmlda.bench.peers import PEERS, Task, why_absent, why_too_large
from elmlda.core.arrays import FloatArray, IntArray
from elmlda.core.input_weights import draw_weights
from elmlda.datasets import Dataset, load_dataset
from elmlda.execute.local import execute
from elmlda.networks.cost import Problem, count_operations, measure_matmul_speed
from elmlda.networks.steps import HIDDEN_DTYPES
from elmlda.networks.train import NetworkResult, run_network
from elmlda.ranges import format_ranges
from elmlda.settings import DatasetRef, NetworkJob, NetworkSettings, Resources

PRODUCT_SIZE = 4096
PRODUCT_SECONDS = 3.0
NESTED, LIMIT, INDEPENDENT = "nested", "limit", "independent"
CONTESTANTS = (INDEPENDENT, *PEERS)
"""Who may race against the nested network."""
METHODS = {"pi": "PI", "lda": "LDA"}
TOLERATED_ERRORS = 1
"""By so many errors the counts at one fan-out may differ: rounding decides ties."""
FEWEST_FITTED = 3
"""Fan-outs that the cost law, which has three coefficients, is fitted to."""


@dataclass(frozen=True)
class BenchmarkResult:
    """One network's time, and the time of its bare floating-point operations."""

    network: NetworkResult
    seconds: float
    limit_seconds: float
    hidden_speed: float
    """Operations a second of matrix products in the hidden layer's precision."""
    solver_speed: float
    """The same in float64."""
    peak_bytes: int
    """Of this process, up to the end of the network."""


def run_benchmark(
    dataset: Dataset,
    sizes: tuple[int, ...],
    seed: int,
    settings: NetworkSettings,
    resources: Resources,
    problem: Problem,
) -> BenchmarkResult:
    """Time a network between two measurements of matrix products' speed; the faster is the limit."""
    speeds = [_measure_speeds(settings, resources.threads)]
    start = time.perf_counter()
    network = run_network(dataset, np.random.default_rng(seed), sizes, settings, resources)
    seconds = time.perf_counter() - start
    peak = measure_peak_bytes()
    speeds.append(_measure_speeds(settings, resources.threads))
    hidden_speed, solver_speed = (max(measured) for measured in zip(*speeds, strict=True))
    limit = count_operations(problem).seconds(hidden_speed, solver_speed)
    return BenchmarkResult(network, seconds, limit, hidden_speed, solver_speed, peak)


def _measure_speeds(settings: NetworkSettings, threads: int) -> tuple[float, float]:
    with threadpool_limits(threads, user_api="blas"):
        hidden, solver = (
            measure_matmul_speed(HIDDEN_DTYPES[precision], PRODUCT_SIZE, PRODUCT_SECONDS)
            for precision in (settings.precision, "double")
        )
    return hidden, solver


def measure_peak_bytes() -> int:
    """The most memory that this process has held.

    Not ru_maxrss where the system tells more: Linux lets a new process inherit its parent's.
    """
    try:
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


# The race


@dataclass(frozen=True)
class Measurement:
    """One contestant trained and tested once: a row of measurements.csv."""

    contestant: str
    fanouts: tuple[int, ...]
    """All that were trained in this time: several only in the nested network."""
    seconds: float
    pi_errors: tuple[int, ...]
    """At each of the fan-outs; empty if it is not the contestant's method."""
    lda_errors: tuple[int, ...]

    def errors(self, method: str) -> dict[int, int]:
        """Counts by fan-out; none of a method that it does not have."""
        counts = self.pi_errors if method == "pi" else self.lda_errors
        return dict(zip(self.fanouts, counts, strict=False))


@dataclass(frozen=True)
class Absence:
    """A contestant that was not run at some fan-outs, and why."""

    contestant: str
    fanouts: tuple[int, ...]
    reason: str


@dataclass(frozen=True)
class RacePlan:
    """Who races over what."""

    dataset: Dataset
    fanouts: tuple[int, ...]
    contestants: tuple[str, ...]
    """Some of `CONTESTANTS`, beside the nested network and the limit."""
    peer_fanouts: tuple[int, ...]
    """Those of the fan-outs at which the peers are timed; their sum over all is fitted."""
    seed: int
    settings: NetworkSettings
    resources: Resources

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(self.size(fanout) for fanout in self.fanouts)

    def size(self, fanout: int) -> int:
        return self.dataset.n_inputs * fanout


def measure_nested(plan: RacePlan, result: BenchmarkResult) -> Measurement:
    """The benchmark's network as a contestant: all fan-outs at once."""
    network = result.network
    return Measurement(NESTED, plan.fanouts, result.seconds, network.pi_errors, network.lda_errors)


def run_race(plan: RacePlan) -> Iterator[Measurement | Absence]:
    """Each contestant at each fan-out, as it finishes; or why it does not take part."""
    if INDEPENDENT in plan.contestants:
        for fanout in plan.fanouts:
            yield _time_independent(plan, fanout)
    names = [name for name in PEERS if name in plan.contestants]
    if not names:
        return
    task = Task.prepare(plan.dataset, plan.settings, plan.resources.chunk)
    weights = draw_weights(
        np.random.default_rng(plan.seed),
        plan.dataset.input_space,
        plan.size(plan.peer_fanouts[-1]),
        plan.settings,
        HIDDEN_DTYPES[plan.settings.precision],
    )
    for name in names:
        reason = why_absent(name, plan.settings.activation)
        if reason:
            yield Absence(name, plan.peer_fanouts, reason)
            continue
        for fanout in plan.peer_fanouts:
            size = plan.size(fanout)
            reason = why_too_large(name, task, size)
            if reason:
                yield Absence(name, (fanout,), reason)
            else:
                yield _time_peer(plan, name, fanout, task, weights[:, :size])


class PeerWarning(UserWarning):
    """What a peer's library warns of."""


def _time_independent(plan: RacePlan, fanout: int) -> Measurement:
    """Train and test a network of one fan-out: the nested network's first units."""
    rng = np.random.default_rng(plan.seed)
    start = time.perf_counter()
    result = run_network(plan.dataset, rng, (plan.size(fanout),), plan.settings, plan.resources)
    seconds = time.perf_counter() - start
    return Measurement(INDEPENDENT, (fanout,), seconds, result.pi_errors, result.lda_errors)


def _time_peer(
    plan: RacePlan, name: str, fanout: int, task: Task, input_weights: FloatArray
) -> Measurement:
    peer = PEERS[name]
    with (
        threadpool_limits(plan.resources.threads, user_api="blas"),
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always", RuntimeWarning)  # each time, not only the first
        start = time.perf_counter()
        predicted = peer.predict(task, input_weights)
        seconds = time.perf_counter() - start
    for warning in caught:
        warnings.warn(f"{name} at fan-out {fanout}: {warning.message}", PeerWarning, stacklevel=2)
    errors = (int(np.count_nonzero(predicted != plan.dataset.test.labels)),)
    pi_errors, lda_errors = (errors if peer.method == method else () for method in METHODS)
    return Measurement(name, (fanout,), seconds, pi_errors, lda_errors)


# The outcome


@dataclass(frozen=True)
class Difference:
    """Where a contestant's count is not the nested network's."""

    contestant: str
    method: str
    fanout: int
    errors: int
    expected: int

    @property
    def voids(self) -> bool:
        return abs(self.errors - self.expected) > TOLERATED_ERRORS

    def __str__(self) -> str:
        return (
            f"{self.contestant}, {METHODS[self.method]} at fan-out {self.fanout}: "
            f"{self.errors} errors, nested has {self.expected}"
        )


@dataclass(frozen=True)
class Standing:
    """What a contestant takes for all fan-outs: a row of bench.csv."""

    contestant: str
    methods: str
    fanouts: str
    seconds: float
    """NaN if it is absent."""
    kind: str
    """measured, fitted (measured at some fan-outs, the others by the cost law) or absent."""
    ratio_to_nested: float
    errors_agree: str
    """yes, within 1 or no; empty if it counts none."""
    note: str


def find_differences(nested: Measurement, others: Iterable[Measurement]) -> list[Difference]:
    """Compare every count with the nested network's."""
    return [
        Difference(other.contestant, method, fanout, errors, nested.errors(method)[fanout])
        for other in others
        for method in METHODS
        for fanout, errors in other.errors(method).items()
        if errors != nested.errors(method)[fanout]
    ]


def rank_contestants(
    plan: RacePlan,
    nested: Measurement,
    limit_seconds: float,
    others: Sequence[Measurement],
    absences: Sequence[Absence],
) -> list[Standing]:
    """The nested network, its limit, and each contestant of the plan."""
    both, fanouts = " and ".join(METHODS.values()), format_ranges(plan.fanouts)
    standings = [
        Standing(NESTED, both, fanouts, nested.seconds, "measured", 1.0, "yes", ""),
        Standing(
            LIMIT, both, fanouts, limit_seconds, "measured", limit_seconds / nested.seconds, "",
            "the nested network's operations at matrix-multiply speed",
        ),
    ]  # fmt: skip
    for name in CONTESTANTS:
        if name in plan.contestants:
            seconds, kind, notes = _sum_seconds(plan, name, others, absences)
            own = [measurement for measurement in others if measurement.contestant == name]
            standings.append(
                Standing(
                    name,
                    both if name == INDEPENDENT else METHODS[PEERS[name].method],
                    fanouts,
                    seconds,
                    kind,
                    seconds / nested.seconds,
                    _agreement(find_differences(nested, own)) if own else "",
                    "; ".join(notes),
                )
            )
    return standings


def _sum_seconds(
    plan: RacePlan, name: str, measurements: Iterable[Measurement], absences: Iterable[Absence]
) -> tuple[float, str, list[str]]:
    """A contestant's seconds over all fan-outs, whether measured or fitted, and remarks."""
    timed = {m.fanouts[0]: m.seconds for m in measurements if m.contestant == name}
    missing = [fanout for fanout in plan.fanouts if fanout not in timed]
    notes = [
        f"fan-out {format_ranges(absence.fanouts)}: {absence.reason}"
        for absence in absences
        if absence.contestant == name
    ]
    if not missing:
        return sum(timed.values()), "measured", notes
    if len(timed) < FEWEST_FITTED:
        return float("nan"), "absent", notes
    n_train = len(plan.dataset.train.labels)
    law = fit_law(n_train, [plan.size(fanout) for fanout in timed], list(timed.values()))
    worst = max(abs(law.seconds(plan.size(f)) / seconds - 1) for f, seconds in timed.items())
    notes.insert(
        0,
        f"timed at fan-outs {format_ranges(tuple(timed))}, where the fitted law is off by "
        f"{100 * worst:.1f} % at most",
    )
    fitted = sum(law.seconds(plan.size(fanout)) for fanout in missing)
    return sum(timed.values()) + fitted, "fitted", notes


def _agreement(differences: Sequence[Difference]) -> str:
    if any(difference.voids for difference in differences):
        return "no"
    return f"within {TOLERATED_ERRORS}" if differences else "yes"


# How cost grows


@dataclass(frozen=True)
class CostLaw:
    """Seconds of one network by its hidden size M: a·K·M² + b·M³ + c·K·M, K training samples."""

    n_train: int
    gram: float
    """a: hidden outputs times hidden outputs."""
    factorisation: float
    """b."""
    projection: float
    """c: hidden outputs, and what else is done with each of them."""

    def seconds(self, n_hidden: int) -> float:
        return float(
            _law_terms(self.n_train, np.array([n_hidden]))[0]
            @ (self.gram, self.factorisation, self.projection)
        )


def fit_law(n_train: int, sizes: Sequence[int], seconds: Sequence[float]) -> CostLaw:
    """Fit the cost law by least squares of relative errors; no coefficient is negative."""
    terms = _law_terms(n_train, np.array(sizes)) / np.array(seconds)[:, None]
    scale = terms.max(axis=0)
    coefficients, _ = nnls(terms / scale, np.ones(len(sizes)))
    gram, factorisation, projection = (coefficients / scale).tolist()
    return CostLaw(n_train, gram, factorisation, projection)


def _law_terms(n_train: int, sizes: IntArray) -> FloatArray:
    m = sizes.astype(np.float64)
    return np.column_stack([n_train * m**2, m**3, n_train * m])


@dataclass(frozen=True)
class GrowthPoint:
    """Time and memory of one nested network of fan-outs 1 to `fanout`: a row of growth.csv."""

    fanout: int
    n_hidden: int
    seconds: float
    peak_bytes: int


def nested_sizes(n_inputs: int, fanout: int) -> tuple[int, ...]:
    """Hidden sizes of fan-outs 1 to `fanout`."""
    return tuple(n_inputs * f for f in range(1, fanout + 1))


def run_growth(
    ref: DatasetRef,
    n_inputs: int,
    fanouts: Iterable[int],
    seed: int,
    settings: NetworkSettings,
    resources: Resources,
) -> Iterator[GrowthPoint]:
    """The nested network of each largest fan-out, in a process of its own, one after the other."""
    for fanout in fanouts:
        sizes = nested_sizes(n_inputs, fanout)
        job = NetworkJob(ref, seed, (), sizes, settings, resources)
        # More than one process is what makes `execute` start new ones.
        for _, (seconds, peak) in execute(_time_alone, [job], 2):
            yield GrowthPoint(fanout, sizes[-1], seconds, peak)


def _time_alone(job: NetworkJob) -> tuple[float, int]:
    """Seconds and peak memory of a network, in a process that has done nothing else."""
    dataset = load_dataset(job.dataset.name, job.dataset.data_dir, job.dataset.label)
    rng = np.random.default_rng(job.seed)
    start = time.perf_counter()
    run_network(dataset, rng, job.sizes, job.settings, job.resources)
    return time.perf_counter() - start, measure_peak_bytes()
