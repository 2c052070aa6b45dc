"""The paper's further work: PI-ELM against LDA-ELM on other data sets.

Both methods see the same input weights and the same samples. A set with a split of its own keeps it,
and repeats are networks; one without is divided by repeated stratified cross-validation, and every
fold of every repeat has a network of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from threadpoolctl import threadpool_limits

from elmlda.core.evaluate import count_errors
from elmlda.core.hidden import HiddenLayer
from elmlda.core.ridge import choose_ridge
from elmlda.core.solve import LostPrecisionError, derive_lda, solve_pi
from elmlda.core.statistics import Statistics
from elmlda.datasets import Dataset, Table, draw_stratified_folds, load_source
from elmlda.execute.local import Place, execute
from elmlda.networks.train import accumulate_statistics, draw_layer, resolve_priors, score_pi
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
    with threadpool_limits(job.resources.threads, user_api="blas"):
        try:
            return _compare(job, dataset)
        except LostPrecisionError:
            return _compare(replace(job, settings=job.settings.in_double()), dataset)


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


def _compare(job: CompareJob, dataset: Dataset) -> list[CompareRecord]:
    n_hidden = max(size for sizes in job.sizes.values() for size in sizes)
    layer = draw_layer(dataset, job_generator(job), n_hidden, job.settings, job.resources)
    train, chunk = dataset.train, job.resources.chunk
    statistics = accumulate_statistics(layer, train.inputs, train.labels, dataset.n_classes, chunk)
    records: list[CompareRecord] = []
    for rule, sizes in job.sizes.items():
        if rule == "none" and sizes:
            records += _test(job, dataset, layer, statistics, sizes, rule, 0.0)
        elif rule == "gcv":
            for size in sizes:
                ridge = choose_ridge(_leading(statistics, size))
                records += _test(job, dataset, layer, statistics, (size,), rule, ridge)
    return records


def _test(
    job: CompareJob,
    dataset: Dataset,
    layer: HiddenLayer,
    statistics: Statistics,
    sizes: tuple[int, ...],
    rule: str,
    ridge: float,
) -> Iterator[CompareRecord]:
    """Both methods at these sizes, all with one ridge."""
    pi = solve_pi(_leading(statistics, sizes[-1]), sizes, ridge)
    lda = derive_lda(pi, resolve_priors(job.settings.priors, pi.class_counts))
    test = dataset.test
    leading = replace(layer, input_weights=layer.input_weights[:, : sizes[-1]])
    scores = score_pi(leading, pi, test.inputs, job.resources.chunk)
    with_constant = count_errors(pi.add_constant_unit(scores), test.labels)
    by_class = [
        np.array(
            [count_errors(found[test.labels == c], np.full(1, c)) for c in range(dataset.n_classes)]
        )
        for found in (scores, lda.scores(scores))
    ]
    counts = np.bincount(test.labels, minlength=dataset.n_classes)
    for i, size in enumerate(sizes):
        pi_errors, lda_errors = (found[:, i] for found in by_class)
        yield CompareRecord(
            job.repeat, job.fold, size / dataset.n_inputs, size, rule, ridge,
            int(pi_errors.sum()), int(with_constant[i]), int(lda_errors.sum()),
            len(dataset.train.labels), len(test.labels), job.settings.precision,
            *(" ".join(map(str, c)) for c in (pi_errors, lda_errors, counts)),
        )  # fmt: skip


def _leading(statistics: Statistics, size: int) -> Statistics:
    """Of the first units alone."""
    return Statistics(
        statistics.gram[:size, :size], statistics.class_sums[:size], statistics.class_counts
    )
