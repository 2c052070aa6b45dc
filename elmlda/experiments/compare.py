"""The paper's further work: PI-ELM against LDA-ELM on other data sets.

Both methods see the same input weights and the same samples. A set with a split of its own keeps it,
and repeats are networks; one without is divided by repeated stratified cross-validation, and every
fold of every repeat has a network of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from elmlda.datasets import Dataset, Table, draw_stratified_folds, load_source
from elmlda.execute.local import Place, execute
from elmlda.networks.train import Readout, Scored, train_network
from elmlda.runs.plausible import require_plausible
from elmlda.settings import PRECISIONS, RULES, DatasetRef, NetworkSettings, Resources

FILE = "compare.csv"


@dataclass(frozen=True)
class CompareRecord:
    """One row of compare.csv: both methods' test errors at one hidden size of one network."""

    repeat: int
    fold: int
    """The part of the set that was tested on; 0 where the set has a split of its own."""
    fanout: float
    n_hidden: int
    rule: str
    """Of `elmlda.settings.RULES`."""
    ridge: float
    pi_errors: int
    pi_constant_errors: int
    """PI-ELM with a constant hidden unit, which LDA-ELM has anyway."""
    lda_errors: int
    n_train: int
    n_test: int
    precision: str
    pi_class_errors: str
    """Of each class's test samples, in the order of the classes, with blanks between."""
    lda_class_errors: str
    class_counts: str
    """Test samples of each class."""

    def __post_init__(self) -> None:
        counts = ("pi_errors", "pi_constant_errors", "lda_errors")
        require_plausible(
            self,
            positive=("fanout", "n_hidden", "n_train", "n_test"),
            at_most=dict.fromkeys(counts, self.n_test),
            one_of={"rule": RULES, "precision": PRECISIONS},
        )
        by_class = [self.class_counts, self.pi_class_errors, self.lda_class_errors]
        samples, pi, lda = ([int(count) for count in text.split(" ")] for text in by_class)
        rows = zip(samples, pi, lda, strict=True)
        if not all(0 <= min(errors) <= max(errors) <= n for n, *errors in rows):
            raise ValueError("a class has more errors than samples")
        if (sum(samples), sum(pi), sum(lda)) != (self.n_test, self.pi_errors, self.lda_errors):
            raise ValueError("the classes' counts do not sum to the counts of all")

    @property
    def key(self) -> tuple[int, int, int, str]:
        return self.repeat, self.fold, self.n_hidden, self.rule


@dataclass(frozen=True)
class CompareJob:
    """One network to be trained by every rule and tested, on one division of the data."""

    dataset: DatasetRef
    seed: int
    repeat: int
    fold: int
    n_folds: int
    sizes: Mapping[str, tuple[int, ...]]
    """Rule -> hidden sizes, ascending; the network has the largest."""
    settings: NetworkSettings
    resources: Resources


@dataclass(frozen=True)
class ComparePlan:
    """What is to be compared on one data set."""

    dataset: DatasetRef
    sizes: Mapping[str, tuple[int, ...]]
    repeats: int
    n_folds: int
    """1 where the set has a split of its own."""
    seed: int
    settings: NetworkSettings
    resources: Resources

    def keys(self) -> list[tuple[int, int, int, str]]:
        """Of every record that the plan asks for."""
        return [
            (repeat, fold, size, rule)
            for repeat in range(self.repeats)
            for fold in range(self.n_folds)
            for rule, sizes in self.sizes.items()
            for size in sizes
        ]

    def jobs(self, recorded: Collection[tuple[int, int, int, str]] = ()) -> list[CompareJob]:
        """The networks whose records are not all there."""
        places = dict.fromkeys(key[:2] for key in self.keys() if key not in recorded)
        return [
            CompareJob(
                self.dataset, self.seed, repeat, fold, self.n_folds, self.sizes, self.settings,
                self.resources,
            )
            for repeat, fold in places
        ]  # fmt: skip


def choose_sizes(
    source: Dataset | Table, sizes: tuple[int, ...], n_folds: int, rules: Sequence[str]
) -> dict[str, tuple[int, ...]]:
    """Rule -> sizes that it can have: without a ridge LDA needs more samples than hidden units."""
    n_train = smallest_training_part(source, n_folds)
    return {rule: tuple(size for size in sizes if rule != "none" or size < n_train) for rule in rules}


def smallest_training_part(source: Dataset | Table, n_folds: int) -> int:
    """Samples that every network can be trained on."""
    if isinstance(source, Dataset):
        return len(source.train.labels)
    return source.n_samples - -(-source.n_samples // n_folds)


def run_compare(jobs: Sequence[CompareJob], place: Place | int = 1) -> Iterator[list[CompareRecord]]:
    """The records of each network as it finishes."""
    for _, records in execute(run_job, jobs, place):
        yield records


def run_job(job: CompareJob) -> list[CompareRecord]:
    """Train and test the job's network, in this process."""
    dataset = divide(load_job_data(job.dataset), job.seed, job.repeat, job.fold, job.n_folds)
    rules, readouts = [], []
    for rule, sizes in job.sizes.items():
        # One ridge serves all sizes, but GCV's choice is each size's own.
        wanted = [Readout(sizes, 0.0)] if rule == "none" else [Readout((n,), None) for n in sizes]
        readouts += wanted
        rules += [rule] * len(wanted)
    trained = train_network(dataset, job_generator(job), readouts, job.settings, job.resources)
    return [
        record
        for rule, scored in zip(rules, trained.readouts, strict=True)
        for record in _make_records(job, dataset, rule, scored, trained.precision)
    ]


@lru_cache(maxsize=1)
def load_job_data(ref: DatasetRef) -> Dataset | Table:
    """Load the data of a process's jobs, which keeps them."""
    return load_source(ref.name, ref.data_dir, ref.label)


def divide(source: Dataset | Table, seed: int, repeat: int, fold: int, n_folds: int) -> Dataset:
    """The set's own split, or one fold of a repeat's stratified cross-validation to test on."""
    if isinstance(source, Dataset):
        return source
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(repeat, 0)))
    folds = draw_stratified_folds(source.samples.labels, n_folds, rng)
    return source.divide(np.flatnonzero(folds != fold), np.flatnonzero(folds == fold))


def job_generator(job: CompareJob) -> np.random.Generator:
    """Of the network's weights: the same ones for every rule, size and precision."""
    seed = np.random.SeedSequence(job.seed, spawn_key=(job.repeat, 1 + job.fold))
    return np.random.default_rng(seed)


def _make_records(
    job: CompareJob, dataset: Dataset, rule: str, scored: Scored, precision: str
) -> Iterator[CompareRecord]:
    """Both methods at each of a readout's sizes."""
    labels, n_classes = dataset.test.labels, dataset.n_classes
    with_constant = scored.errors("pi_constant", labels)
    by_class = [
        np.array([scored.errors_in_class(method, labels, c) for c in range(n_classes)])
        for method in ("pi", "lda")
    ]
    counts = np.bincount(labels, minlength=n_classes)
    for i, size in enumerate(scored.sizes):
        pi_errors, lda_errors = (found[:, i] for found in by_class)
        yield CompareRecord(
            job.repeat, job.fold, size / dataset.n_inputs, size, rule, scored.ridge,
            int(pi_errors.sum()), with_constant[i], int(lda_errors.sum()),
            len(dataset.train.labels), len(labels), precision,
            *(" ".join(map(str, c)) for c in (pi_errors, lda_errors, counts)),
        )  # fmt: skip
