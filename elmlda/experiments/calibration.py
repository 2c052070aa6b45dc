"""Are LDA-ELM's outputs posterior probabilities? Single networks at some fan-outs, and combinations."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
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
from elmlda.core.evaluate import Combination, posteriors, round_posteriors
from elmlda.execute.local import execute
from elmlda.experiments.experiment import Experiment
from elmlda.experiments.options import read_numbers
from elmlda.experiments.own_options import CalibrationOptions
from elmlda.experiments.plan import (
    NetworkPlan,
    NetworkPosteriors,
    Records,
    Step,
    Work,
    pop_whole,
    require_kept,
    require_listable,
)
from elmlda.networks.jobs import job_generator, load_job_data
from elmlda.networks.train import Readout, train_network
from elmlda.runs.record import Record
from elmlda.settings import NetworkJob

ROUNDING = 1e-5
"""Of what is recorded with six digits."""


class Network(NamedTuple):
    """A network of the run, at one of its hidden sizes."""

    number: int
    n_hidden: int


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


class CalibrationPlan(NetworkPlan["Calibration"]):
    """Groups of networks of the largest hidden size, and single networks of the others."""

    @cached_property
    def group_sizes(self) -> tuple[int, ...]:
        """Networks in a group, ascending."""
        return read_numbers(self.experiment.n)

    @property
    def extent(self) -> dict[str, Any]:
        """Nothing if nothing is trained: what is kept is no plan."""
        if not self.experiment.train:
            return {}
        sizes, n = list(self.sizes), list(self.group_sizes)
        return {"repeats": self.experiment.repeats, "n_hidden": sizes, "n": n}

    def require_room(self) -> None:
        if self.experiment.train:  # what is kept takes hardly any
            super().require_room()

    def keys(self) -> list[Group]:
        """Groups that are disjoint at each hidden and group size."""
        counts = count_groups(self.sizes, self.group_sizes, self.experiment.repeats)
        return [Group(*kind, i) for kind, n_groups in counts.items() for i in range(n_groups)]

    def jobs(self, recorded: Collection[Any] = ()) -> list[NetworkJob]:
        """The networks of the groups that are not recorded, their posteriors kept or not."""
        open_groups = (group for group in self.keys() if group not in recorded)
        return self.make_jobs(sorted({network for group in open_groups for network in group.networks}))

    def missing(self, records: Records) -> list[NetworkJob]:
        """The networks of those groups whose posteriors are not kept."""
        if not self.experiment.train:
            return []
        needed = (
            Network(job.key[0], n_hidden) for job in super().missing(records) for n_hidden in job.sizes
        )
        return self.make_jobs(network for network in needed if self._read(network) is None)

    def _read(self, network: Network) -> FloatArray | None:
        """What is kept of a network."""
        return self.posteriors.read(self.key(*network), network.n_hidden)

    def steps(self, work: Work) -> Iterator[Step]:
        """Groups that are whole already, then each network and what becomes whole by it."""
        recorded = {record.key for record in work.records[CalibrationRecord]}
        lacking = {Network(job.key[0], size) for job in work.jobs for size in job.sizes}
        open_groups = (group for group in self.keys() if group not in recorded)
        waiting = {group: lacking.intersection(group.networks) for group in open_groups}
        for group in pop_whole(waiting):
            yield Step(self._measure(group), n_done=0)
        for job, found in execute(score_job, work.jobs, work.backend):
            # The largest is kept last: until it is, the network is trained again as large as it was,
            # and its smaller sizes are rounded as they were.
            for n_hidden, of_size in zip(job.sizes, found, strict=True):
                kept = NetworkPosteriors(job.key, n_hidden, of_size)
                yield Step(posteriors=kept, n_done=int(n_hidden == job.sizes[-1]))
            for group in pop_whole(waiting, [Network(job.key[0], size) for size in job.sizes]):
                yield Step(self._measure(group), n_done=0)

    def _measure(self, group: Group) -> list[CalibrationRecord]:
        """The group's record; none if nothing is trained and its posteriors are not there."""
        combination, networks = Combination(), group.networks
        name = f"posteriors of networks {networks[0].number} to {networks[-1].number}"
        for network in networks:
            member = self._read(network)
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


def score_job(job: NetworkJob) -> list[FloatArray]:
    """LDA-ELM's test posteriors at each of the job's hidden sizes (float32), in this process."""
    readout = Readout(job.sizes, job.settings.ridge)
    (scored,) = train_network(
        load_job_data(job.dataset), job_generator(job), [readout], job.settings, job.resources, ("lda",)
    ).readouts
    scores = scored.scores["lda"]
    return [round_posteriors(posteriors(scores[:, i])) for i in range(len(job.sizes))]


def measure_group(group: Group, mean: FloatArray, labels: IntArray, n_inputs: int) -> CalibrationRecord:
    """What the mean of the group's posteriors (n_test × n_classes) is worth."""
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
