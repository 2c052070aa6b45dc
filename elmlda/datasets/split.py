"""A data set, and how it is divided into a training and a test part."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elmlda.core.arrays import IntArray
from elmlda.core.input_weights import InputSpace
from elmlda.datasets.scaling import Scaling, standardise
from elmlda.errors import ElmldaError
from elmlda.text import join_words

STANDARDISED = "standardised by the training part"
SPLIT = "stratified, two thirds to train on and one to test on, seed 0"
LARGEST_DEVIATION = 1e30
"""A standardised input beyond this would leave float32 on its way through the hidden layer."""


# eq=False: arrays do not compare to one truth value, so what holds them compares by identity.
@dataclass(frozen=True, eq=False)
class Split:
    """Samples and their classes."""

    inputs: NDArray[Any]
    """n_samples × n_inputs, C-contiguous: uint8 as it was stored, otherwise float32 or float64."""
    labels: IntArray
    """n_samples class indices, 0 to n_classes - 1."""

    def take(self, rows: IntArray) -> Split:
        """The samples with these indices, in their order."""
        return Split(self.inputs[rows], self.labels[rows])

    def count_classes(self, n_classes: int) -> IntArray:
        """Samples of each class."""
        return np.bincount(self.labels, minlength=n_classes)

    @property
    def nbytes(self) -> int:
        return self.inputs.nbytes + self.labels.nbytes


@dataclass(frozen=True, eq=False)
class Dataset:
    """A training part, a test part if there is one, and what they mean.

    Without a test part the inputs are as they were stored, with missing values as NaN if they are to
    be filled: `split`, `divide` and `folds` make the parts that a network takes.
    """

    name: str
    train: Split
    test: Split | None = None
    _: KW_ONLY
    classes: tuple[str, ...]
    """The label of each class index."""
    checksums: dict[str, str] = field(default_factory=dict)
    """Logical file name -> SHA-256 of the content after decompression."""
    input_scale: float = 1.0
    """Inputs are multiplied by this before the hidden layer: bytes by 1 over their largest value."""
    feature_names: tuple[str, ...] | None = None
    image_shape: tuple[int, int] | None = None
    """Rows and columns of one sample, where samples are images."""
    is_standardised: bool = False
    """Whether inputs have mean 0 and variance 1 in the training part, once there is a test part."""
    scaling: Scaling | None = None
    """What standardised the inputs, for samples that come later."""
    preparation: dict[str, str] = field(default_factory=dict)
    """Choices that made it from its files, such as the label's column, for a run's manifest."""
    columns: list[dict[str, Any]] | None = None
    """How a table's columns become inputs; see `elmlda.datasets.columns`."""

    @property
    def n_inputs(self) -> int:
        return int(self.train.inputs.shape[1])

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @property
    def nbytes(self) -> int:
        return self.train.nbytes + (self.test.nbytes if self.test else 0)

    @property
    def has_own_split(self) -> bool:
        """Whether it came with a training and a test part."""
        return self.test is not None and "rows" not in self.preparation

    @property
    def loading_bytes(self) -> int:
        """Memory while it was loaded: also as it was read, if it was divided or standardised then."""
        return self.nbytes * (1 if self.has_own_split and not self.is_standardised else 2)

    @property
    def input_space(self) -> InputSpace:
        """What input weights are drawn for, and may be shaped by: the training samples."""
        return InputSpace(self.n_inputs, self.image_shape, self.train.inputs, self.train.labels)

    def split(self) -> Dataset:
        """Itself, or always the same two thirds of the samples to train on and one to test on.

        The test part is the first of three folds, drawn with the seed 0 whatever the run's seed.
        """
        if self.test is not None:
            return self
        dataset = next(self.folds(3, np.random.default_rng(0)))
        return replace(dataset, preparation={**dataset.preparation, "split": SPLIT})

    def join(self) -> Dataset:
        """All samples to train on, and none to test on; inputs are standardised by all of them."""
        parts = [part for part in (self.train, self.test) if part]
        train = Split(
            *(np.concatenate([getattr(part, key) for part in parts]) for key in ("inputs", "labels"))
        )
        if not self.is_standardised:
            return replace(self, train=train, test=None)
        whole = replace(self, train=train, test=train).standardise()
        # Inputs that were standardised before have been so twice.
        scaling = self.scaling.then(whole.scaling) if self.scaling and whole.scaling else whole.scaling
        return replace(whole, test=None, scaling=scaling)

    def folds(self, n_folds: int, rng: np.random.Generator) -> Iterator[Dataset]:
        """Each of some stratified folds as the test part in turn, the others as the training part."""
        counts, n_samples = self.train.count_classes(self.n_classes), len(self.train.labels)
        if self.test is not None:
            fact = f"{self.name} has a test part of its own, folds are for data without one."
            raise ElmldaError(fact, "Leave out {folds}.", folds=None)
        if single := [name for name, count in zip(self.classes, counts, strict=True) if count < 2]:
            column = self.preparation.get("label", "y")
            is_odd = 2 * len(single) > self.n_classes
            raise ElmldaError(
                f"{self.name}: {len(single):,} of {self.n_classes:,} classes have a single sample "
                f"({join_words(single)}), expected two or more: one to train on and one to test on. "
                + (f"Is '{column}' a class at all?" if is_odd else "Leave them out, or join classes.")
            )
        if not 2 <= n_folds <= n_samples:
            fact = f"{self.name}: {n_samples:,} samples cannot be divided into {n_folds} folds."
            raise ElmldaError(fact, "Use at most {folds}.", folds=n_samples)
        folds = draw_stratified_folds(self.train.labels, n_folds, rng)
        numbers = range(n_folds)
        return (self.divide(np.flatnonzero(folds != i), np.flatnonzero(folds == i)) for i in numbers)

    def hold_out(self, n_validation: int) -> Dataset:
        """The training part alone, its last samples to test on: to choose settings by them.

        Where the split is not the set's own, the samples may be in any order, and are shuffled first.
        """
        if self.test is None:
            return self.split().hold_out(n_validation)
        n_train = len(self.train.labels)
        if not 0 < n_validation < n_train:
            fact = f"{self.name}: {n_validation:,} samples cannot be held out of {n_train:,}"
            raise ElmldaError(f"{fact}: expected 1 to {n_train - 1:,}.")
        rows = np.arange(n_train)
        if not self.has_own_split:
            rows = np.random.default_rng(0).permutation(n_train)
        return self.divide(rows[:-n_validation], rows[-n_validation:])

    def divide(self, train_rows: IntArray, test_rows: IntArray) -> Dataset:
        """Make a data set of some training samples (their indices), and others of them to test on.

        Inputs are standardised, if they are to be, by the new training part alone: inputs that are
        standardised already come to the same values. The preparation has a checksum of the rows, so
        that a run goes on only with the same ones. A class without a training sample is refused.
        """
        train, test = self.train.take(train_rows), self.train.take(test_rows)
        counts = train.count_classes(self.n_classes)
        if lacking := [name for name, count in zip(self.classes, counts, strict=True) if not count]:
            fact = f"{self.name}: no sample of class {join_words(lacking, 'or')} in the training part"
            raise ElmldaError(f"{fact}, expected one or more.")
        preparation = {**self.preparation, "rows": _hash_rows(train_rows, test_rows)}
        dataset = replace(self, train=train, test=test, preparation=preparation)
        return dataset.standardise(in_place=True) if self.is_standardised else dataset

    def standardise(self, in_place: bool = False) -> Dataset:
        """The same with each input at mean 0 and variance 1 in the training part."""
        assert self.test is not None
        train, test, scaling = standardise(self.train.inputs, self.test.inputs, in_place)
        if not np.abs(test).max() < LARGEST_DEVIATION:
            fact = f"{self.name}: a test input is more than {LARGEST_DEVIATION:g} standard deviations"
            raise ElmldaError(f"{fact} from the training part's mean.")
        return replace(
            self,
            train=Split(train, self.train.labels),
            test=Split(test, self.test.labels),
            input_scale=1.0,
            is_standardised=True,
            preparation={**self.preparation, "inputs": STANDARDISED},
            scaling=scaling,
        )


def draw_stratified_folds(labels: IntArray, n_folds: int, rng: np.random.Generator) -> IntArray:
    """Deal the samples out to folds, class by class: the fold of each, 0 to n_folds - 1.

    Folds differ by at most one sample, in all and in each class. So a class of two or more samples has
    at least one outside of each fold.
    """
    shuffled = rng.permutation(len(labels))
    by_class = shuffled[np.argsort(labels[shuffled], kind="stable")]
    folds = np.empty(len(labels), np.int64)
    folds[by_class] = np.arange(len(labels)) % n_folds
    return folds


def _hash_rows(*parts: IntArray) -> str:
    content = b"".join(np.asarray([len(rows), *rows], "<i8").tobytes() for rows in parts)
    return hashlib.sha256(content).hexdigest()[:16]
