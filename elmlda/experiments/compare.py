"""The paper's further work: PI-ELM against LDA-ELM on other data sets.

Both methods see the same input weights and the same samples. A set with a split of its own keeps it,
and repeats are networks; one without is divided by repeated stratified cross-validation, and every
fold of every repeat has a network of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from elmlda.core.input_weights import InputSpace
from elmlda.datasets import Dataset, Table, draw_stratified_folds, require_two_of_each
from elmlda.datasets.dataset import STANDARDISED
from elmlda.errors import ElmldaError
from elmlda.execute.local import execute
from elmlda.experiments.command_options import CompareOneOptions, CompareOptions
from elmlda.experiments.experiment import Experiment, Plans, Study
from elmlda.experiments.options import Share, select
from elmlda.experiments.plan import Plan, Step, Work, note_double
from elmlda.networks.cost import Problem, predict_peak_bytes, predict_ridge_bytes
from elmlda.networks.jobs import job_generator, load_job_source
from elmlda.networks.train import Readout, Scored, train_network
from elmlda.runs.record import Record
from elmlda.settings import PRECISIONS, RULES, DatasetRef, NetworkJob


@dataclass(frozen=True)
class CompareRecord(Record):
    """One row of compare.csv: both methods' test errors at one hidden size of one network."""

    FILE, EXPERIMENT, FIXED = "compare.csv", "compare", ("folds",)
    KEY = ("repeat", "fold", "n_hidden", "rule")
    POSITIVE = ("fanout", "n_hidden", "n_train", "n_test")
    AT_MOST: ClassVar = dict.fromkeys(("pi_errors", "pi_constant_errors", "lda_errors"), "n_test")
    ONE_OF: ClassVar = {"rule": RULES, "precision": PRECISIONS}
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
        super().__post_init__()
        by_class = [self.class_counts, self.pi_class_errors, self.lda_class_errors]
        samples, pi, lda = ([int(count) for count in text.split(" ")] for text in by_class)
        rows = zip(samples, pi, lda, strict=True)
        if not all(0 <= min(errors) <= max(errors) <= n for n, *errors in rows):
            raise ValueError("a class has more errors than samples")
        if (sum(samples), sum(pi), sum(lda)) != (self.n_test, self.pi_errors, self.lda_errors):
            raise ValueError("the classes' counts do not sum to the counts of all")


@dataclass(frozen=True, kw_only=True)
class CompareJob(NetworkJob):
    """One network to be trained by every rule and tested, on one division of the data.

    The key of its weights, (repeat, 1 + fold), is the same for every rule, size and precision.
    """

    n_folds: int
    sizes_by_rule: Mapping[str, tuple[int, ...]]
    """Rule -> hidden sizes, ascending."""


class ComparePlan(Plan["CompareOne"]):
    """Every fold of every repeat on one data set, with every rule."""

    varied = frozenset({"ridge"})  # it is the rule's

    @cached_property
    def n_folds(self) -> int:
        """1 where the set has a split of its own."""
        return 1 if isinstance(self.data, Dataset) else self.experiment.folds

    @property
    def n_train(self) -> int:
        """Samples that every network can be trained on."""
        if isinstance(self.data, Dataset):
            return len(self.data.train.labels)
        return self.data.n_samples - -(-self.data.n_samples // self.n_folds)

    @cached_property
    def sizes_by_rule(self) -> dict[str, tuple[int, ...]]:
        """Rule -> hidden sizes that it can have; rules without any are left out."""
        # Without a ridge LDA needs more samples than hidden units.
        fewer = tuple(size for size in self.wanted_sizes if size < self.n_train)
        sizes = {rule: fewer if rule == "none" else self.wanted_sizes for rule in self.experiment.rules}
        return {rule: some for rule, some in sizes.items() if some}

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        return tuple(sorted({size for sizes in self.sizes_by_rule.values() for size in sizes}))

    @cached_property
    def identity(self) -> dict[str, Any]:
        inputs = {"inputs": STANDARDISED} if self.data.is_standardised else {}
        return {**super().identity, **inputs}

    @property
    def fixed(self) -> dict[str, Any]:
        return {"folds": self.n_folds}

    @property
    def extent(self) -> dict[str, Any]:
        rules = sorted(self.sizes_by_rule)
        return {"repeats": self.experiment.repeats, "n_hidden": list(self.sizes), "rules": rules}

    def network_bytes(self, problem: Problem, itemsize: int) -> int:
        """With copies of the parts that a table is divided into, standardised."""
        data, inputs = self.data, self.data.nbytes
        if isinstance(data, Table):
            inputs += 8 * data.n_samples * data.n_inputs
        needed = predict_peak_bytes(problem, self.share.chunk, itemsize, inputs)
        if "gcv" in self.sizes_by_rule:
            needed = max(needed, predict_ridge_bytes(problem, itemsize, inputs))
        return needed

    def problem(self, sizes: tuple[int, ...]) -> Problem:
        data, n_train = self.data, self.n_train
        n_test = len(data.test.labels) if isinstance(data, Dataset) else data.n_samples - n_train
        return Problem(n_train, n_test, data.n_inputs, data.n_classes, sizes)

    def check(self) -> None:
        data, n_folds = self.data, self.n_folds
        if isinstance(data, Table) and n_folds > data.n_samples:
            fact = f"{data.name}: {data.n_samples} samples, fewer than {n_folds} folds."
            raise ElmldaError(fact, "Use {folds}.", folds=data.n_samples)
        if not self.sizes_by_rule:
            raise ElmldaError(
                f"{data.name}: {self.n_train:,} training samples, "
                f"{self.wanted_sizes[0]:,} hidden units or more. Without a ridge LDA needs fewer:",
                "use {rule}.",
                rule="gcv",
            )
        InputSpace(data.n_inputs, data.image_shape).require(self.settings)

    def keys(self) -> list[tuple[int, int, int, str]]:
        return [
            (repeat, fold, size, rule)
            for repeat in range(self.experiment.repeats)
            for fold in range(self.n_folds)
            for rule, sizes in self.sizes_by_rule.items()
            for size in sizes
        ]

    def jobs(self, recorded: Collection[tuple[int, int, int, str]] = ()) -> list[CompareJob]:
        """The networks whose records are not all there."""
        places = dict.fromkeys(key[:2] for key in self.keys() if key not in recorded)
        settings = self.settle_precision(self.settings, self.sizes[-1])
        return [
            CompareJob(
                self.ref, self.experiment.seed, (repeat, 1 + fold), self.sizes, settings,
                self.resources, n_folds=self.n_folds, sizes_by_rule=self.sizes_by_rule,
            )
            for repeat, fold in places
        ]  # fmt: skip

    def steps(self, work: Work) -> Iterator[Step]:
        for job, records in execute(run_job, work.jobs, work.backend):
            yield Step(records, note=note_double(job.key[0], records[0].precision, job.settings))


def run_job(job: CompareJob) -> list[CompareRecord]:
    """Train and test the job's network, in this process."""
    place = repeat, fold = job.key[0], job.key[1] - 1
    dataset = divide(load_job_source(job.dataset), job.seed, repeat, fold, job.n_folds)
    rules, readouts = [], []
    for rule, sizes in job.sizes_by_rule.items():
        # One ridge serves all sizes, but GCV's choice is each size's own.
        wanted = [Readout(sizes, 0.0)] if rule == "none" else [Readout((n,), None) for n in sizes]
        readouts += wanted
        rules += [rule] * len(wanted)
    trained = train_network(dataset, job_generator(job), readouts, job.settings, job.resources)
    return [
        record
        for rule, scored in zip(rules, trained.readouts, strict=True)
        for record in _make_records(place, dataset, rule, scored, trained.precision)
    ]


def divide(source: Dataset | Table, seed: int, repeat: int, fold: int, n_folds: int) -> Dataset:
    """The set's own split, or one fold of a repeat's stratified cross-validation to test on."""
    if isinstance(source, Dataset):
        return source
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(repeat, 0)))
    folds = draw_stratified_folds(source.samples.labels, n_folds, rng)
    return source.divide(np.flatnonzero(folds != fold), np.flatnonzero(folds == fold))


def _make_records(
    place: tuple[int, int], dataset: Dataset, rule: str, scored: Scored, precision: str
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
            *place, size / dataset.n_inputs, size, rule, scored.ridge,
            int(pi_errors.sum()), with_constant[i], int(lda_errors.sum()),
            len(dataset.train.labels), len(labels), precision,
            *(" ".join(map(str, c)) for c in (pi_errors, lda_errors, counts)),
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class CompareOne(CompareOneOptions, Experiment):
    """PI-ELM against LDA-ELM on one data set."""

    name = "compare"
    record_types = (CompareRecord,)
    plan_type = ComparePlan
    job_loader = staticmethod(load_job_source)
    design = None

    def load(self, ref: DatasetRef) -> Dataset | Table:
        source = super().load(ref)
        if isinstance(source, Table):
            require_two_of_each(source)
        return source


@dataclass(frozen=True, kw_only=True)
class Compare(CompareOptions, Study):
    """PI-ELM against LDA-ELM on several data sets, each in a folder of its own."""

    default_folder = Path("results/compare")
    part_column = "dataset"

    def plans(self, folder: Path | None, share: Share) -> Plans:
        words = [self.datasets] if isinstance(self.datasets, str) else self.datasets
        names = dict.fromkeys(name for word in words for name in word.split(",") if name)
        if not names:
            raise ElmldaError("no data set named: see elmlda data list.")
        if self.data_dir and len(names) > 1:
            raise ElmldaError(
                f"{len(names)} data sets are named.",
                "{data_dir} is for one {dataset}.",
                data_dir=None,
                dataset=None,
            )
        for name in names:
            plan = CompareOne(dataset=name, **select(self, CompareOneOptions)).bind(None, share)
            yield name, replace(plan, folder=(folder or self.default_folder) / plan.data.name)
