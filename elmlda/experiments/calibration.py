"""Are LDA-ELM's outputs posterior probabilities? Single networks at some fan-outs, and combinations."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from elmlda.core.arrays import FloatArray, IntArray
from elmlda.core.calibration import (
    N_BINS,
    Reliability,
    brier_score,
    count_floored,
    log_loss,
    measure_reliability,
)
from elmlda.core.evaluate import Combination
from elmlda.experiments.command_options import CalibrationOptions
from elmlda.experiments.experiment import Experiment
from elmlda.experiments.groups import GroupPlan, Network, require_kept, require_listable
from elmlda.experiments.options import read_numbers
from elmlda.experiments.plan import Records
from elmlda.runs.record import Record
from elmlda.settings import NetworkJob

ROUNDING = 1e-5
"""Of what is recorded with six digits."""


class Group(NamedTuple):
    """Networks whose posteriors are averaged: those from group·size on, as many as the size says."""

    n_hidden: int
    size: int
    group: int

    @property
    def networks(self) -> list[Network]:
        first = self.group * self.size
        return [Network(number, self.n_hidden) for number in range(first, first + self.size)]


@dataclass(frozen=True)
class CalibrationRecord(Record):
    """One row of calibration.csv: the mean posteriors of `size` networks on the test samples."""

    FILE, EXPERIMENT = "calibration.csv", "calibration"
    KEY = ("n_hidden", "size", "group")
    POSITIVE = ("fanout", "n_hidden", "size", "n_test")
    AT_MOST: ClassVar = {
        "errors": "n_test", "floored": "n_test",
        "confidence": 1 + ROUNDING, "brier": 2 + ROUNDING, "ece": 1 + ROUNDING,
    }  # fmt: skip
    fanout: float
    n_hidden: int
    size: int
    group: int
    """Its networks are group·size to group·size + size - 1 of the run."""
    n_test: int
    errors: int
    confidence: float
    """Mean posterior of the class that is chosen."""
    log_loss: float
    floored: int
    """Samples whose class has a posterior below `elmlda.core.calibration.SMALLEST`."""
    brier: float
    ece: float
    """Expected calibration error, over the bins below."""
    bin_counts: str
    """Samples by confidence: in each of `N_BINS` equal bins from 0 to 1, with blanks between."""
    bin_confidences: str
    """Sums of their confidences."""
    bin_correct: str
    """How many of them are right."""

    def __post_init__(self) -> None:
        super().__post_init__()
        counts, correct = (
            [int(count) for count in text.split(" ")] for text in (self.bin_counts, self.bin_correct)
        )
        sums = [float(total) for total in self.bin_confidences.split(" ")]
        if not len(counts) == len(correct) == len(sums) == N_BINS:
            raise ValueError(f"expected {N_BINS} bins")
        bins = zip(counts, correct, sums, strict=True)
        if not all(0 <= right <= n and 0 <= total <= n * (1 + ROUNDING) for n, right, total in bins):
            raise ValueError("a bin has more than its samples")
        if (sum(counts), sum(correct)) != (self.n_test, self.n_test - self.errors):
            raise ValueError("the bins' counts do not sum to the counts of all")
        of_bins = self.reliability.confidence, self.reliability.ece
        if not np.allclose(of_bins, (self.confidence, self.ece), rtol=0, atol=ROUNDING):
            raise ValueError("the bins have another confidence or ece")

    @property
    def reliability(self) -> Reliability:
        """The bins as arrays."""
        return Reliability(
            np.array(self.bin_counts.split(" "), np.int64),
            np.array(self.bin_confidences.split(" "), np.float64),
            np.array(self.bin_correct.split(" "), np.int64),
        )


class CalibrationPlan(GroupPlan["Calibration"]):
    """Groups of networks of the largest hidden size, and single networks of the others."""

    @cached_property
    def group_sizes(self) -> tuple[int, ...]:
        """Networks in a group, ascending."""
        return read_numbers(self.experiment.n)

    @property
    def extent(self) -> dict[str, Any]:
        """Empty if nothing is trained: then only kept posteriors are used."""
        if not self.experiment.train:
            return {}
        sizes, n = list(self.sizes), list(self.group_sizes)
        return {"repeats": self.experiment.repeats, "n_hidden": sizes, "n": n}

    def require_room(self) -> None:
        if self.experiment.train:  # reading kept posteriors takes hardly any
            super().require_room()

    def keys(self) -> list[Group]:
        """Groups that are disjoint at each hidden and group size."""
        counts = count_groups(self.sizes, self.group_sizes, self.experiment.repeats)
        return [Group(*kind, i) for kind, n_groups in counts.items() for i in range(n_groups)]

    def groups(self, recorded: Collection[Any] = ()) -> list[Group]:
        return [group for group in self.keys() if group not in recorded]

    def members(self, group: Group) -> list[Network]:
        return group.networks

    def missing(self, records: Records) -> list[NetworkJob]:
        return super().missing(records) if self.experiment.train else []

    def combine(self, group: Group) -> list[CalibrationRecord]:
        """The group's record; none if nothing is trained and its posteriors are not there."""
        combination, networks = Combination(), group.networks
        name = f"posteriors of networks {networks[0].number} to {networks[-1].number}"
        for network in networks:
            member = self.read(network)
            if member is None and not self.experiment.train:
                return []
            mean = combination.add(require_kept(member, name))
        return [measure_group(group, mean, self.dataset.test.labels, self.data.n_inputs)]


def count_groups(
    hidden_sizes: Sequence[int], group_sizes: Sequence[int], repeats: int
) -> dict[tuple[int, int], int]:
    """Hidden and group size -> groups; both sizes are ascending."""
    *smaller, largest = hidden_sizes
    n_networks = repeats * group_sizes[-1]
    single = {(n_hidden, 1): repeats for n_hidden in smaller}
    return single | {(largest, size): n_networks // size for size in group_sizes}


def measure_group(group: Group, mean: FloatArray, labels: IntArray, n_inputs: int) -> CalibrationRecord:
    """Calibration of the mean of the group's posteriors (n_test × n_classes)."""
    bins = measure_reliability(mean, labels)
    return CalibrationRecord(
        group.n_hidden / n_inputs,
        *group,
        n_test=len(labels),
        errors=int((bins.counts - bins.correct).sum()),
        confidence=bins.confidence,
        log_loss=log_loss(mean, labels),
        floored=count_floored(mean, labels),
        brier=brier_score(mean, labels),
        ece=bins.ece,
        bin_counts=" ".join(map(str, bins.counts)),
        bin_confidences=" ".join(f"{total:.6g}" for total in bins.confidence_sums),
        bin_correct=" ".join(map(str, bins.correct)),
    )


@dataclass(frozen=True, kw_only=True)
class Calibration(CalibrationOptions, Experiment):
    """LDA-ELM's posterior probabilities against what comes true on the test samples."""

    name = "calibration"
    record_types = (CalibrationRecord,)
    plan_type = CalibrationPlan

    def __post_init__(self) -> None:
        super().__post_init__()
        require_listable(self.repeats, read_numbers(self.n)[-1])
