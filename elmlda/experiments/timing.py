"""Table 2: the time that PI-ELM takes, LDA-ELM as the paper writes it, and both from one pass.

LDA-ELM's extra time is measured inside its own runs, so that changes in the machine's speed are not
part of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, ClassVar

from elmlda.execute.local import execute
from elmlda.experiments.command_options import TimingOptions
from elmlda.experiments.experiment import Experiment
from elmlda.experiments.plan import NetworkPlan, Step, Work, note_double
from elmlda.machine import describe_machine
from elmlda.networks.jobs import run_job
from elmlda.networks.train import NetworkResult
from elmlda.runs.record import Record
from elmlda.settings import NetworkJob

METHODS = {"pi": ("pi",), "lda": ("lda",), "both": ("pi", "lda")}
"""What is timed, each from scratch -> what the network is tested with.

`lda` has its own covariance and factorisation, Eqs (12) and (16); `both` has PI-ELM's factorisation
alone, and LDA-ELM by the map between classes."""
TimingKey = tuple[int, int, int, str]
"""Repeat, hidden units, turn and method: the order in which networks run."""
COMMON_PARTS = ("projection", "activation", "gram", "factorisation", "solve", "test")
"""Parts of the time that PI-ELM has too."""


@dataclass(frozen=True)
class TimingRecord(Record):
    """One row of timing.csv: a network trained on all training samples, tested on all test samples."""

    FILE, EXPERIMENT, FIXED = "timing.csv", "timing", ("threads", "chunk")
    KEY = ("repeat", "n_hidden", "turn", "method")
    POSITIVE = ("fanout", "n_hidden", "seconds", "gram")
    ONE_OF: ClassVar = {"method": tuple(METHODS)}
    repeat: int
    fanout: int
    n_hidden: int
    method: str
    turn: int
    """When it ran among the methods at this repeat and size: 1, 2 or 3."""
    seconds: float
    """Elapsed from the first random number to the last count; the parts below are most of it."""
    projection: float
    activation: float
    gram: float
    factorisation: float
    solve: float
    lda: float
    """What LDA takes beyond PI: covariance, means and constants, or the map; scores; posteriors."""
    test: float

    def __post_init__(self) -> None:
        super().__post_init__()
        turn = 1 + order_methods(self.repeat, self.fanout).index(self.method)
        if self.turn != turn:
            raise ValueError(f"turn is {self.turn}, expected {turn}")

    @property
    def overhead_percent(self) -> float:
        """What the run takes beyond the parts that PI-ELM has too, in per cent of those.

        Seconds that no part accounts for are in it, so that nothing of LDA's is left out.
        """
        common: float = sum(getattr(self, part) for part in COMMON_PARTS)
        return 100 * (self.seconds - common) / common


@dataclass(frozen=True)
class TimingJob:
    """One network to be trained and tested from scratch with one of `METHODS`."""

    network: NetworkJob
    method: str
    turn: int

    @property
    def key(self) -> TimingKey:
        return self.network.key[0], self.sizes[-1], self.turn, self.method

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.network.sizes


class TimingPlan(NetworkPlan["Timing"]):
    """Every method at every size, with new input weights for each size, as in the paper."""

    design = "independent"

    @property
    def fixed(self) -> dict[str, Any]:
        """Timings depend on these: other ones must not be mixed with them."""
        return vars(self.resources)

    @property
    def extent(self) -> dict[str, Any]:
        cpu = describe_machine()["cpu"]
        return {"repeats": self.experiment.repeats, "n_hidden": list(self.sizes), "cpus": [cpu]}

    def keys(self) -> list[TimingKey]:
        return [job.key for job in self.jobs()]

    def jobs(self, recorded: Collection[TimingKey] = ()) -> list[TimingJob]:
        """The networks that are not recorded yet, in their order."""
        jobs = (
            TimingJob(self.make_job(repeat, (size,)), method, turn)
            for repeat in range(self.experiment.repeats)
            for size in self.sizes
            for turn, method in enumerate(order_methods(repeat, size // self.data.n_inputs), start=1)
        )
        return [job for job in jobs if job.key not in recorded]

    def steps(self, work: Work) -> Iterator[Step]:
        """One network at a time, in the order of the jobs.

        A network of the smallest size runs first and is not recorded, since the first calls load
        libraries and data.
        """
        if not work.jobs:
            return
        smallest = min(work.jobs, key=lambda job: job.sizes)
        warm_up = replace(smallest, method="both")
        for job, result in islice(execute(_run, [warm_up, *work.jobs]), 1, None):
            repeat, n_hidden, turn, method = job.key
            fanout = n_hidden // self.data.n_inputs
            parts = {"lda": 0.0, **result.part_seconds}  # PI alone has none
            record = TimingRecord(repeat, fanout, n_hidden, method, turn, result.seconds, **parts)
            yield Step([record], note=note_double(repeat, result.precision, job.network.settings))


def order_methods(repeat: int, fanout: int) -> list[str]:
    """Which of the methods runs first, second and third.

    Over fan-outs: A B C, C B A, B C A, A C B, C A B, B A C, and so on; from repeat to repeat A B C
    becomes B C A. So in three repeats of a fan-out each method has each turn once, and in three repeats
    of the paper's twenty fan-outs each of the six orders comes ten times. The order depends on nothing
    else, so a run that goes on or grows keeps it.
    """
    methods = list(METHODS)
    first = (repeat + (fanout - 1) // 2) % len(methods)
    order = methods[first:] + methods[:first]
    is_turned = (fanout - 1 + repeat // len(methods)) % 2
    return order[::-1] if is_turned else order


def _run(job: TimingJob) -> NetworkResult:
    return run_job(job.network, METHODS[job.method], direct=job.method == "lda")


@dataclass(frozen=True, kw_only=True)
class Timing(TimingOptions, Experiment):
    """Table 2: training and test times of PI-ELM, of LDA-ELM, and of both from one pass."""

    name = "timing"
    record_types = (TimingRecord,)
    plan_type = TimingPlan
