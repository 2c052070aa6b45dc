"""Choosing the ridge and the size of the input weights by samples held out of the training part.

The test part is not touched. One network's statistics give every ridge; each size of the weights has
the same random numbers, so that differences are those of the setting.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from elmlda.datasets import Dataset
from elmlda.execute.local import Place, execute
from elmlda.networks.jobs import job_generator, load_job_data
from elmlda.networks.train import Readout, train_network
from elmlda.runs.plausible import require_plausible
from elmlda.settings import PRECISIONS, DatasetRef, NetworkJob, NetworkSettings, Resources

FILE = "tune.csv"


@dataclass(frozen=True)
class TuneRecord:
    """One row of tune.csv: both methods' errors on the held-out samples with one setting."""

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

    def __post_init__(self) -> None:
        require_plausible(
            self,
            positive=("fanout", "n_hidden", "weight_size", "n_validation"),
            at_most=dict.fromkeys(("pi_errors", "lda_errors"), self.n_validation),
            one_of={"precision": PRECISIONS},
        )

    @property
    def key(self) -> tuple[int, int, float, float]:
        return self.repeat, self.n_hidden, self.weight_size, self.ridge


@dataclass(frozen=True)
class TuneJob(NetworkJob):
    """One network to be trained with several ridges and tested on held-out samples."""

    ridges: tuple[float, ...] = ()
    n_validation: int = 0

    @property
    def weight_size(self) -> float:
        return weight_size(self.settings)


@dataclass(frozen=True)
class TunePlan:
    """What is to be tried."""

    dataset: DatasetRef
    n_hidden: int
    weight_sizes: tuple[float, ...]
    ridges: tuple[float, ...]
    repeats: int
    n_validation: int
    seed: int
    settings: NetworkSettings
    resources: Resources

    def keys(self) -> list[tuple[int, int, float, float]]:
        """Of every record that the plan asks for."""
        return [
            (repeat, self.n_hidden, size, ridge)
            for repeat in range(self.repeats)
            for size in self.weight_sizes
            for ridge in self.ridges
        ]

    def jobs(self, recorded: Collection[tuple[int, int, float, float]] = ()) -> list[TuneJob]:
        """The networks whose records are not all there."""
        missing: dict[tuple[int, float], list[float]] = {}
        for repeat, n_hidden, size, ridge in self.keys():
            if (repeat, n_hidden, size, ridge) not in recorded:
                missing.setdefault((repeat, size), []).append(ridge)
        return [
            TuneJob(
                self.dataset,
                self.seed,
                (repeat,),
                (self.n_hidden,),
                with_weight_size(self.settings, size),
                self.resources,
                tuple(ridges),
                self.n_validation,
            )
            for (repeat, size), ridges in missing.items()
        ]


def weight_size(settings: NetworkSettings) -> float:
    """Range or norm of the input weights, whichever the scheme has."""
    is_uniform = settings.input_weights == "uniform"
    return settings.weight_range if is_uniform else settings.weight_norm


def with_weight_size(settings: NetworkSettings, size: float) -> NetworkSettings:
    """The same with another range or norm of the input weights."""
    if settings.input_weights == "uniform":
        return replace(settings, weight_range=size)
    return replace(settings, weight_norm=size)


def run_tune(jobs: Sequence[TuneJob], place: Place | int = 1) -> Iterator[list[TuneRecord]]:
    """The records of each network as it finishes."""
    for _, records in execute(run_job, jobs, place):
        yield records


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
            weight_size=job.weight_size,
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


@dataclass(frozen=True)
class Choice:
    """The setting with the fewest errors on the held-out samples."""

    n_hidden: int
    weight_size: float
    ridge: float
    pi_error_percent: float
    lda_error_percent: float
    repeats: int


def choose(records: Sequence[TuneRecord]) -> Choice:
    """The best setting for LDA-ELM, by the mean of the repeats; of equals the first in order."""
    settings: dict[tuple[int, float, float], list[TuneRecord]] = {}
    for record in sorted(records, key=lambda record: record.key):
        settings.setdefault(record.key[1:], []).append(record)
    choices = [
        Choice(*key, _percent(found, "pi_errors"), _percent(found, "lda_errors"), len(found))
        for key, found in settings.items()
    ]
    return min(choices, key=lambda choice: choice.lda_error_percent)


def _percent(records: Sequence[TuneRecord], errors: str) -> float:
    counts = [getattr(record, errors) / record.n_validation for record in records]
    return float(100 * np.mean(counts))
