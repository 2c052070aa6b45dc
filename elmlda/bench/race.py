"""A race: other ways to train the same networks, timed at each fan-out.

All contestants have the same input weights and count their errors on the same test samples. If their
counts differ, they do not compute the same thing: their times must not be compared, the race is void.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

import numpy as np
from threadpoolctl import threadpool_limits

from elmlda.bench.growth import FEWEST_FITTED, fit_law
from elmlda.bench.peers import PEERS, PeerTask, why_absent, why_too_large
from elmlda.core.arrays import FloatArray
from elmlda.core.input_weights import draw_weights
from elmlda.datasets import Dataset
from elmlda.errors import ElmldaError
from elmlda.networks.steps import HIDDEN_DTYPES
from elmlda.networks.train import run_network
from elmlda.ranges import format_ranges
from elmlda.settings import NetworkSettings, Resources

if TYPE_CHECKING:
    from elmlda.bench.limit import TimedNetwork

NESTED, LIMIT = "nested", "limit"
INDEPENDENT = "independent"
"""elmlda itself, with a network for each fan-out."""
CONTESTANTS = (INDEPENDENT, *PEERS)
"""Who may race against the nested network."""
METHOD_NAMES = {"pi": "PI", "lda": "LDA"}
TOLERATED_ERRORS = 1
"""Allowed difference of two counts at one fan-out: rounding decides ties."""


class PeerWarning(UserWarning):
    """A warning of a peer's library."""


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
    """Contestants, fan-outs and settings of a race."""

    dataset: Dataset
    fanouts: tuple[int, ...]
    contestants: tuple[str, ...]
    """Some of `CONTESTANTS`, beside the nested network and the limit."""
    peer_fanouts: tuple[int, ...]
    """The fan-outs at which the peers are timed; their sum over all is fitted."""
    seed: int
    settings: NetworkSettings
    resources: Resources

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(self.size(fanout) for fanout in self.fanouts)

    def size(self, fanout: int) -> int:
        return self.dataset.n_inputs * fanout

    @property
    def title(self) -> str:
        threads = self.resources.threads
        return (
            f"{self.dataset.name}, fan-outs {format_ranges(self.fanouts)}, "
            f"{threads} thread{'s' if threads > 1 else ''}"
        )

    def refuse_unfair(self) -> None:
        """Refuse a race that the peers cannot run, or whose sums cannot be fitted."""
        all_fanouts, timed = format_ranges(self.fanouts), format_ranges(self.peer_fanouts)
        is_part = self.peer_fanouts != self.fanouts
        if not self.contestants:
            if is_part:
                raise ElmldaError("", "{peer_fanouts} needs {peers}.", peer_fanouts=None, peers=None)
            return
        if self.settings.ridge:
            raise ElmldaError(
                "",
                "{peers} and {ridge} exclude each other: the peers have none.",
                peers=None,
                ridge=None,
            )
        if self.settings.priors != "frequencies":
            raise ElmldaError(
                "",
                "{peers} and {priors} exclude each other: scikit-learn's LDA agrees with the paper's "
                "only with the class frequencies.",
                peers=None,
                priors=self.settings.priors,
            )
        if self.settings.precision == "bfloat16" and set(self.contestants) & PEERS.keys():
            raise ElmldaError(
                "",
                "{peers} and {precision} exclude each other: the peers do not round.",
                peers=None,
                precision="bfloat16",
            )
        unknown = tuple(fanout for fanout in self.peer_fanouts if fanout not in self.fanouts)
        if unknown:
            found = format_ranges(unknown)
            raise ElmldaError(
                "", "{peer_fanouts}: not among {fanout}.", peer_fanouts=found, fanout=all_fanouts
            )
        if is_part and len(self.peer_fanouts) < FEWEST_FITTED:
            problem = f"a sum over fan-outs {all_fanouts} is fitted to {FEWEST_FITTED} of them or more."
            raise ElmldaError(problem, "Add some to {peer_fanouts}.", peer_fanouts=timed)


def run_race(plan: RacePlan) -> Iterator[Measurement | Absence]:
    """Each contestant at each fan-out, as it finishes; or why it does not take part."""
    if INDEPENDENT in plan.contestants:
        for fanout in plan.fanouts:
            yield _time_independent(plan, fanout)
    names = [name for name in PEERS if name in plan.contestants]
    if not names:
        return
    task = PeerTask.prepare(plan.dataset, plan.settings, plan.resources.chunk)
    rng, dtype = np.random.default_rng(plan.seed), HIDDEN_DTYPES[plan.settings.precision]
    n_hidden = plan.size(plan.peer_fanouts[-1])
    weights = draw_weights(rng, plan.dataset.input_space, n_hidden, plan.settings, dtype)
    for name in names:
        if reason := why_absent(name, plan.settings.activation):
            yield Absence(name, plan.peer_fanouts, reason)
            continue
        for fanout in plan.peer_fanouts:
            size = plan.size(fanout)
            if reason := why_too_large(name, task, size):
                yield Absence(name, (fanout,), reason)
            else:
                yield _time_peer(plan, name, fanout, task, weights[:, :size])


def _time_independent(plan: RacePlan, fanout: int) -> Measurement:
    """Train and test a network of one fan-out: the nested network's first units."""
    rng = np.random.default_rng(plan.seed)
    start = time.perf_counter()
    result = run_network(plan.dataset, rng, (plan.size(fanout),), plan.settings, plan.resources)
    seconds = time.perf_counter() - start
    return Measurement(INDEPENDENT, (fanout,), seconds, result.pi_errors, result.lda_errors)


def _time_peer(
    plan: RacePlan, name: str, fanout: int, task: PeerTask, input_weights: FloatArray
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
    pi_errors, lda_errors = (errors if peer.method == method else () for method in METHOD_NAMES)
    return Measurement(name, (fanout,), seconds, pi_errors, lda_errors)


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
            f"{self.contestant}, {METHOD_NAMES[self.method]} at fan-out {self.fanout}: "
            f"{self.errors} errors, nested has {self.expected}"
        )


def find_differences(nested: Measurement, others: Iterable[Measurement]) -> list[Difference]:
    """Compare every count with the nested network's."""
    return [
        Difference(other.contestant, method, fanout, errors, expected)
        for other in others
        for method in METHOD_NAMES
        for fanout, errors in other.errors(method).items()
        if errors != (expected := nested.errors(method)[fanout])
    ]


@dataclass(frozen=True)
class Standing:
    """A contestant's time for all fan-outs: a row of bench.csv."""

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


@dataclass
class Outcome:
    """The results of a race so far."""

    plan: RacePlan
    nested: Measurement
    limit_seconds: float
    others: list[Measurement] = field(default_factory=list)
    absences: list[Absence] = field(default_factory=list)

    @classmethod
    def begin(cls, plan: RacePlan, timed: TimedNetwork) -> Self:
        """With the nested network's time alone."""
        counts = timed.network.pi_errors, timed.network.lda_errors
        nested = Measurement(NESTED, plan.fanouts, timed.seconds, *counts)
        return cls(plan, nested, timed.limit_seconds)

    def add(self, result: Measurement | Absence) -> None:
        """Record one contestant's result at one fan-out."""
        if isinstance(result, Absence):
            self.absences.append(result)
        else:
            self.others.append(result)

    @property
    def measurements(self) -> list[Measurement]:
        return [self.nested, *self.others]

    @property
    def differences(self) -> list[Difference]:
        return find_differences(self.nested, self.others)

    def refuse_void(self) -> None:
        """End with an error if contestants did not compute the same thing."""
        voiding = [str(difference) for difference in self.differences if difference.voids]
        if voiding:
            raise ElmldaError(
                "THE RACE IS VOID: error counts differ, so the times must not be compared. "
                f"{'; '.join(voiding)}."
            )

    @property
    def standings(self) -> list[Standing]:
        """The nested network, its limit, and each contestant of the plan."""
        both, fanouts = " and ".join(METHOD_NAMES.values()), format_ranges(self.plan.fanouts)
        seconds, limit = self.nested.seconds, self.limit_seconds
        about = "the nested network's operations at matrix-multiply speed"
        return [
            Standing(NESTED, both, fanouts, seconds, "measured", 1.0, "yes", ""),
            Standing(LIMIT, both, fanouts, limit, "measured", limit / seconds, "", about),
            *(self._rank(name) for name in CONTESTANTS if name in self.plan.contestants),
        ]

    def _rank(self, name: str) -> Standing:
        own = [measurement for measurement in self.others if measurement.contestant == name]
        methods = METHOD_NAMES.values() if name == INDEPENDENT else [METHOD_NAMES[PEERS[name].method]]
        seconds, kind, notes = self._sum_seconds({m.fanouts[0]: m.seconds for m in own})
        notes += [
            f"fan-out {format_ranges(absence.fanouts)}: {absence.reason}"
            for absence in self.absences
            if absence.contestant == name
        ]
        agree = "yes" if own else ""
        if differences := find_differences(self.nested, own):
            voids = any(difference.voids for difference in differences)
            agree = "no" if voids else f"within {TOLERATED_ERRORS}"
        fanouts, ratio = format_ranges(self.plan.fanouts), seconds / self.nested.seconds
        return Standing(
            name, " and ".join(methods), fanouts, seconds, kind, ratio, agree, "; ".join(notes)
        )

    def _sum_seconds(self, timed: dict[int, float]) -> tuple[float, str, list[str]]:
        """Seconds over all fan-outs from those timed, whether measured or fitted, and a remark."""
        plan = self.plan
        missing = [fanout for fanout in plan.fanouts if fanout not in timed]
        if not missing:
            return sum(timed.values()), "measured", []
        if len(timed) < FEWEST_FITTED:
            return float("nan"), "absent", []
        n_train = len(plan.dataset.train.labels)
        law = fit_law(n_train, [plan.size(fanout) for fanout in timed], list(timed.values()))
        worst = max(abs(law.seconds(plan.size(f)) / seconds - 1) for f, seconds in timed.items())
        remark = (
            f"timed at fan-outs {format_ranges(tuple(timed))}, where the fitted law is off by "
            f"{100 * worst:.1f} % at most"
        )
        fitted = sum(law.seconds(plan.size(fanout)) for fanout in missing)
        return sum(timed.values()) + fitted, "fitted", [remark]
