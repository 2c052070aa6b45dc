"""A race: other ways to train the same networks, timed at each fan-out.

All contestants have the same input weights and count their errors on the same test samples.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from elmlda.bench.growth import FEWEST_FITTED
from elmlda.bench.peers import PEERS, PeerTask, why_absent, why_too_large
from elmlda.core.arrays import FloatArray
from elmlda.core.input_weights import draw_weights
from elmlda.datasets import Dataset
from elmlda.errors import ElmldaError
from elmlda.networks.steps import HIDDEN_DTYPES
from elmlda.networks.train import run_network
from elmlda.ranges import format_ranges
from elmlda.settings import NetworkSettings, Resources

INDEPENDENT = "independent"
"""elmlda itself, with a network for each fan-out."""
CONTESTANTS = (INDEPENDENT, *PEERS)
"""Who may race against the nested network."""
METHOD_NAMES = {"pi": "PI", "lda": "LDA"}


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
    """Those of the fan-outs at which the peers are timed; their sum over all is fitted."""
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
    """A warning of a peer's library."""


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
