"""Trying ridges and sizes of the input weights on samples held out of the training part.

The test part is not used. One network's statistics give every ridge; each size of the weights has the
same random numbers, so that only the setting makes a difference.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from elmlda.core.factor import smallest_sure_ridge
from elmlda.datasets import Dataset, Table
from elmlda.execute.local import execute
from elmlda.experiments.command_options import TuneOptions
from elmlda.experiments.experiment import Experiment
from elmlda.experiments.options import select
from elmlda.experiments.plan import AnyExperiment, Plan, Step, Work, note_double, require_possible
from elmlda.experiments.selection import as_recorded
from elmlda.networks.cost import Problem
from elmlda.networks.jobs import job_generator, load_job_data
from elmlda.networks.train import Readout, train_network
from elmlda.runs.record import Record
from elmlda.settings import PRECISIONS, DatasetRef, NetworkJob, NetworkSettings


@dataclass(frozen=True)
class TuneRecord(Record):
    """One row of tune.csv: both methods' errors on the held-out samples with one setting."""

    FILE, EXPERIMENT, FIXED = "tune.csv", "tune", ("n_hidden", "validation")
    KEY = ("repeat", "n_hidden", "weight_size", "ridge")
    POSITIVE = ("fanout", "n_hidden", "weight_size", "n_validation")
    AT_MOST: ClassVar = dict.fromkeys(("pi_errors", "lda_errors"), "n_validation")
    ONE_OF: ClassVar = {"precision": PRECISIONS}
    repeat: int
    fanout: float
    n_hidden: int
    weight_size: float
    """The norm of each unit's weights; of uniform weights, their range."""
    ridge: float
    pi_errors: int
    lda_errors: int
    n_validation: int
    precision: str


@dataclass(frozen=True, kw_only=True)
class TuneJob(NetworkJob):
    """One network to be trained with several ridges and tested on held-out samples."""

    ridges: tuple[float, ...]
    n_validation: int


class RidgesPlan(Plan[AnyExperiment]):
    """Networks with several ridges each, in double precision where float32 may not be enough."""

    @property
    @abstractmethod
    def ridges(self) -> Collection[float]:
        """Ridges of all networks."""

    def choose_precision(self, settings: NetworkSettings, ridges: Iterable[float]) -> NetworkSettings:
        """The same in double where float32 may not be enough for the smallest ridge, or it is cheap."""
        if min(ridges) <= smallest_sure_ridge(self.n_train):
            return settings.in_double()
        return self.settle_precision(settings, self.sizes[-1])

    def problem(self, sizes: tuple[int, ...]) -> Problem:
        """The one that takes the most memory."""
        enough = self.choose_precision(self.settings, self.ridges)
        return replace(super().problem(sizes), in_double=enough.precision == "double")

    def job_problem(self, job: Any) -> Problem:
        in_double = job.settings.precision == "double"
        return replace(self.problem(job.sizes), n_ridges=len(job.ridges), in_double=in_double)


class TunePlan(RidgesPlan["Tune"]):
    """Every size of the weights with every ridge."""

    varied = frozenset({"ridge", "weight_norm", "weight_range"})

    @property
    def ridges(self) -> tuple[float, ...]:
        return self.experiment.ridges

    @property
    def n_validation(self) -> int:
        return len(self.dataset.test.labels)

    @property
    def fixed(self) -> dict[str, Any]:
        return {"n_hidden": self.sizes[0], "validation": self.n_validation}

    @property
    def extent(self) -> dict[str, Any]:
        sizes, ridges = list(self.experiment.weight_sizes), list(self.ridges)
        return {"repeats": self.experiment.repeats, "weight_size": sizes, "ridge": ridges}

    def check(self) -> None:
        require_possible(self.dataset, self.settings, self.sizes[-1])

    def keys(self) -> list[tuple[int, int, float, float]]:
        return [
            (repeat, self.sizes[0], size, ridge)
            for repeat in range(self.experiment.repeats)
            for size in self.experiment.weight_sizes
            for ridge in self.ridges
        ]

    def jobs(self, recorded: Collection[tuple[int, int, float, float]] = ()) -> list[TuneJob]:
        """The networks whose records are not all there."""
        missing: dict[tuple[int, float], list[float]] = {}
        for key in self.keys():
            if key not in recorded:
                repeat, _, size, ridge = key
                missing.setdefault((repeat, size), []).append(ridge)
        return [
            TuneJob(
                self.ref, self.experiment.seed, (repeat,), self.sizes,
                self.choose_precision(with_weight_size(self.settings, size), ridges), self.resources,
                ridges=tuple(ridges), n_validation=self.n_validation,
            )
            for (repeat, size), ridges in missing.items()
        ]  # fmt: skip

    def steps(self, work: Work) -> Iterator[Step]:
        for job, records in execute(run_job, work.jobs, work.backend):
            yield Step(records, note=note_double(job.key[0], records[0].precision, job.settings))


def size_setting(input_weights: str) -> str:
    """The setting that has the size of the input weights: their range, or their norm."""
    return "weight_range" if input_weights == "uniform" else "weight_norm"


def with_weight_size(settings: NetworkSettings, size: float) -> NetworkSettings:
    """The same with another range or norm of the input weights."""
    changes: dict[str, Any] = {size_setting(settings.input_weights): size}
    return replace(settings, **changes)


def run_job(job: TuneJob) -> list[TuneRecord]:
    """Train and test the job's network, in this process."""
    dataset = load_validation_data(job.dataset, job.n_validation)
    readouts = [Readout(job.sizes, ridge) for ridge in job.ridges]
    trained = train_network(
        dataset, job_generator(job), readouts, job.settings, job.resources, ("pi", "lda")
    )
    (n_hidden,), labels = job.sizes, dataset.test.labels
    return [
        TuneRecord(
            repeat=job.key[0],
            fanout=n_hidden / dataset.n_inputs,
            n_hidden=n_hidden,
            weight_size=getattr(job.settings, size_setting(job.settings.input_weights)),
            ridge=scored.ridge,
            pi_errors=scored.errors("pi", labels)[0],
            lda_errors=scored.errors("lda", labels)[0],
            n_validation=len(labels),
            precision=trained.precision,
        )
        for scored in trained.readouts
    ]


@lru_cache(maxsize=1)
def load_validation_data(ref: DatasetRef, n_validation: int) -> Dataset:
    """Load the data of a process's jobs, which keeps them: the held-out samples are the test part."""
    return load_job_data(ref).hold_out(n_validation)


@dataclass(frozen=True, kw_only=True)
class Tune(TuneOptions, Experiment):
    """Errors on held-out training samples for every ridge and size of the input weights."""

    name = "tune"
    record_types = (TuneRecord,)
    plan_type = TunePlan

    def __post_init__(self) -> None:
        for ridge in self.ridges:
            replace(self.settings, ridge=ridge)
        for size in self.weight_sizes:
            with_weight_size(self.settings, size)

    @property
    def settings(self) -> NetworkSettings:
        """Settings of one network; ridge and size of the weights vary."""
        one = {"ridge": min(self.ridges), "weight_norm": 1.0, "weight_range": 1.0}
        return NetworkSettings(**{**select(self, NetworkSettings), **one})

    @property
    def ridges(self) -> tuple[float, ...]:
        return read_values(self.ridge)

    @property
    def weight_sizes(self) -> tuple[float, ...]:
        return read_values(getattr(self, size_setting(self.input_weights)))

    def load(self, ref: DatasetRef) -> Dataset | Table:
        """The held-out samples are the test part."""
        whole = super().load(ref)
        assert isinstance(whole, Dataset)
        require_possible(whole, self.settings)
        ref = ref.expecting(whole.checksums)
        return load_validation_data(ref, self.validation or len(whole.train.labels) // 6)

    def default_folder(self, data: Dataset | Table) -> Path:
        return Path("results") / "tune" / data.name / self.input_weights


def read_values(values: float | Iterable[float]) -> tuple[float, ...]:
    """Ascending, with the digits that records have, so that recorded values are found."""
    several = values if isinstance(values, Iterable) else (values,)
    return tuple(sorted({as_recorded(float(value)) for value in several}))
