"""A data set, how it is divided into a training and a test part, and how inputs are standardised."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elmlda.core import FloatArray, IntArray
from elmlda.core.input_weights import InputSpace
from elmlda.errors import ElmldaError, join_words

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
        """A copy of the samples with these indices, in their order."""
        return Split(self.inputs[rows], self.labels[rows])

    def count_classes(self, n_classes: int) -> IntArray:
        """Samples of each class."""
        return np.bincount(self.labels, minlength=n_classes)


@dataclass(frozen=True, eq=False)
class Scaling:
    """How inputs as they were stored become standardised: (inputs - offsets) * factors."""

    offsets: FloatArray
    factors: FloatArray
    """0 for an input that is constant in the training part: nothing was learnt of it, and a value that
    only later samples have would come in unscaled."""

    @classmethod
    def by(cls, train: NDArray[Any]) -> Scaling:
        """Mean 0 and variance 1 in the training part, n_samples × n_inputs; NaN is a missing value."""
        n_known = np.maximum(1, (~np.isnan(train)).sum(axis=0))
        with np.errstate(all="ignore"):  # what leaves float64 is refused afterwards
            means = np.nansum(train, axis=0, dtype=np.float64) / n_known
            variances = np.nansum((train - means) ** 2, axis=0) / n_known
            variances[np.isinf(variances)] = np.nan  # else its inputs would all be 0
            # Seen from the values: those of a constant column may have a mean that is rounded.
            varies = np.fmax.reduce(train, axis=0) > np.fmin.reduce(train, axis=0)
            return cls(means, np.where(varies, 1 / np.sqrt(variances), 0.0))

    def apply(self, inputs: NDArray[Any]) -> FloatArray:
        """Standardised inputs; a missing value (NaN) becomes 0, the training part's mean."""
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows has no finite score
            return np.where(np.isnan(inputs), 0.0, (inputs - self.offsets) * self.factors)


@dataclass(frozen=True, eq=False)
class Dataset:
    """A training part, a test part if there is one, and what they mean.

    As it is loaded, inputs are as they were stored, with missing values as NaN if they are to be
    filled: `split`, `join` and `folds` make the parts that a network takes.
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
    image_shape: tuple[int, int] | None = None
    """Rows and columns of one sample, where samples are images."""
    is_standardised: bool = False
    """Whether `split`, `join` and `folds` give inputs mean 0 and variance 1 in the training part."""
    scaling: Scaling | None = None
    """What standardised the inputs, for samples that come later."""
    preparation: dict[str, str] = field(default_factory=dict)
    """Choices that made it from its files, such as the label's column, for a run's manifest."""
    columns: list[dict[str, Any]] | None = None
    """What a table's columns became; see `elmlda.datasets.tables`."""

    @property
    def n_inputs(self) -> int:
        return int(self.train.inputs.shape[1])

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of a table's inputs: `size`, or `fur=long` for a category."""
        if self.columns is None:
            return None
        names = list[str]()
        for column in self.columns:
            if "categories" in column:
                names += [f"{column['name']}={word}" for word in column["categories"]]
            elif "label" not in column:
                names.append(column["name"])
        return tuple(names)

    @property
    def nbytes(self) -> int:
        parts = [self.train, *([self.test] if self.test else [])]
        return sum(part.inputs.nbytes + part.labels.nbytes for part in parts)

    @property
    def input_space(self) -> InputSpace:
        """What input weights are drawn for, and may be shaped by: the training samples."""
        return InputSpace(self.n_inputs, self.image_shape, self.train.inputs, self.train.labels)

    def split(self) -> Dataset:
        """The training and the test part that networks take.

        Without a test part of its own these are always the same two thirds of the samples and one: the
        test part is the first of three folds, drawn with the seed 0 whatever the run's seed.
        """
        if self.test is None:
            dataset = next(self.folds(3, np.random.default_rng(0)))
            return replace(dataset, preparation={**dataset.preparation, "split": SPLIT})
        if self.scaling or not self.is_standardised:
            return self
        return self._with_parts(self.train, self.test)

    def join(self) -> Dataset:
        """All samples of a set as it was loaded to train on, and none to test on."""
        parts = [part for part in (self.train, self.test) if part]
        inputs = np.concatenate([part.inputs for part in parts])
        return self._with_parts(Split(inputs, np.concatenate([part.labels for part in parts])), None)

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
        n_train = len(self.train.labels)
        if not 0 < n_validation < n_train:
            fact = f"{self.name}: {n_validation:,} samples cannot be held out of {n_train:,}"
            raise ElmldaError(f"{fact}: expected 1 to {n_train - 1:,}.")
        rows = np.arange(n_train)
        if "rows" in self.preparation:
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
        divided = self._with_parts(train, test)
        rows = {"rows": _hash_rows(train_rows, test_rows)}
        return replace(divided, preparation={**divided.preparation, **rows})

    def _with_parts(self, train: Split, test: Split | None) -> Dataset:
        """The same with these parts, which are standardised if they are to be."""
        if not self.is_standardised:
            return replace(self, train=train, test=test)
        scaling = Scaling.by(train.inputs)

        def standardise(part: Split) -> Split:
            inputs = scaling.apply(part.inputs).astype(part.inputs.dtype, copy=False)
            if not np.abs(inputs).max() < LARGEST_DEVIATION:
                fact = f"{self.name}: an input is more than {LARGEST_DEVIATION:g} standard deviations"
                raise ElmldaError(f"{fact} from the training part's mean.")
            return replace(part, inputs=inputs)

        return replace(
            self,
            train=standardise(train),
            test=test and standardise(test),
            scaling=scaling,
            preparation={**self.preparation, "inputs": STANDARDISED},
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
