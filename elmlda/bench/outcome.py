"""The outcome of a race: who takes how long, and whose error counts differ from the nested network's.

If counts differ, the contestants do not compute the same thing, and the race is void.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Self

from elmlda.bench.growth import FEWEST_FITTED, fit_law
from elmlda.bench.limit import TimedNetwork
from elmlda.bench.peers import PEERS
from elmlda.bench.race import (
    CONTESTANTS,
    INDEPENDENT,
    METHOD_NAMES,
    Absence,
    Measurement,
    RacePlan,
)
from elmlda.errors import ElmldaError
from elmlda.ranges import format_ranges

NESTED, LIMIT = "nested", "limit"
TOLERATED_ERRORS = 1
"""Allowed difference of two counts at one fan-out: rounding decides ties."""


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


def find_differences(nested: Measurement, others: Iterable[Measurement]) -> list[Difference]:
    """Compare every count with the nested network's."""
    return [
        Difference(other.contestant, method, fanout, errors, nested.errors(method)[fanout])
        for other in others
        for method in METHOD_NAMES
        for fanout, errors in other.errors(method).items()
        if errors != nested.errors(method)[fanout]
    ]


def _agreement(differences: Sequence[Difference]) -> str:
    if any(difference.voids for difference in differences):
        return "no"
    return f"within {TOLERATED_ERRORS}" if differences else "yes"


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
        return Standing(
            name,
            " and ".join(methods),
            format_ranges(self.plan.fanouts),
            seconds,
            kind,
            seconds / self.nested.seconds,
            _agreement(find_differences(self.nested, own)) if own else "",
            "; ".join(notes),
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
