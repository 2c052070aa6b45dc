"""A data set, its division into a training and a test part, and standardised inputs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elmlda.core import IntArray
from elmlda.errors import ElmldaError, join_words

STANDARDISED = "standardised by the training part"
SPLIT = "stratified, two thirds to train on and one to test on, seed 0"
LARGEST_DEVIATION = 1e30
"""A larger standardised input would overflow float32 in the hidden layer."""


# eq=False: arrays have no single truth value, so these classes compare by identity.
@dataclass(frozen=True, eq=False)
class Split:
    """Samples and their classes."""

    inputs: NDArray[Any]
    """n_samples × n_inputs, C-contiguous: uint8 as it was stored, otherwise float32 or float64."""
    labels: IntArray
    """n_samples class indices, 0 to n_classes - 1."""

    def count_classes(self, n_classes: int) -> IntArray:
        """Count the samples of each class."""
        return np.bincount(self.labels, minlength=n_classes)


@dataclass(frozen=True, eq=False)
class Dataset:
    """A training part, a test part if there is one, and their description.

    A loaded data set has the inputs as they were stored, with NaN for missing values to be filled.
    `split` and `folds` return the parts for a network.
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
    """Factor of the inputs before the hidden layer; for bytes 1 over their largest value."""
    image_shape: tuple[int, int] | None = None
    """Rows and columns of a sample, if samples are images."""
    is_standardised: bool = False
    """Whether `split` and `folds` give inputs mean 0 and variance 1 in the training part."""
    preparation: dict[str, str] = field(default_factory=dict)
    """Choices that turned files into this data set, such as the label, for a run's manifest."""
    feature_names: tuple[str, ...] | None = None
    """Names of a table's inputs: `size`, or `fur=long` for a category."""
    n_filled: dict[str, int] = field(default_factory=dict)
    """Column or input -> number of missing values that are filled with means."""

    @property
    def n_inputs(self) -> int:
        return int(self.train.inputs.shape[1])

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @property
    def nbytes(self) -> int:
        parts = [self.train, *([self.test] if self.test else [])]
        return sum(part.inputs.nbytes + part.labels.nbytes for part in parts)

    @property
    def filled(self) -> str:
        """How many missing values are filled, by column, in words; empty if none are."""
        counts = [f"{n:,} in {name}" for name, n in self.n_filled.items()]
        return f"{join_words(counts)} filled with training means" if counts else ""

    def split(self, n_validation: int = 0) -> Dataset:
        """Return the training and the test part for a network.

        A data set without a test part is always divided in the same way: two thirds of the samples for
        training, one third for testing. The test part is the first of three folds, drawn with seed 0
        whatever the run's seed.

        Parameters
        ----------
        n_validation : if not 0, the last samples of the training part become the test part, to choose
            hyperparameters by; a drawn training part may be in any order, and is shuffled first
        """
        divided = self
        if self.test is None:
            train_rows, test_rows = self._draw_folds(3, np.random.default_rng(0))[0]
            divided = self.divide(train_rows, test_rows)
            divided = replace(divided, preparation={**divided.preparation, "split": SPLIT})
        if n_validation:
            n_train = len(divided.train.labels)
            if not 0 < n_validation < n_train:
                fact = f"{self.name}: {n_validation:,} samples cannot be held out of {n_train:,}"
                raise ElmldaError(f"{fact}: expected 1 to {n_train - 1:,}.")
            rows = np.arange(n_train)
            if self.test is None:
                rows = np.random.default_rng(0).permutation(n_train)
            divided = divided.divide(rows[:-n_validation], rows[-n_validation:])
        return divided._standardise()

    def folds(self, n_folds: int, rng: np.random.Generator) -> Iterator[Dataset]:
        """Yield a data set for each stratified fold: that fold for testing, the others for training."""
        return (self.divide(*rows)._standardise() for rows in self._draw_folds(n_folds, rng))

    def _draw_folds(self, n_folds: int, rng: np.random.Generator) -> list[tuple[IntArray, IntArray]]:
        """Return the training and the test rows of each stratified fold."""
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
        return [(np.flatnonzero(folds != i), np.flatnonzero(folds == i)) for i in range(n_folds)]

    def divide(self, train_rows: IntArray, test_rows: IntArray) -> Dataset:
        """Divide the training part by indices of samples; a class without training samples is refused.

        Inputs stay as they were stored. The preparation gets a checksum of the rows, so that a run
        continues only with the same rows.
        """
        parts = [
            Split(self.train.inputs[part], self.train.labels[part]) for part in (train_rows, test_rows)
        ]
        counts = parts[0].count_classes(self.n_classes)
        if lacking := [name for name, count in zip(self.classes, counts, strict=True) if not count]:
            fact = f"{self.name}: no sample of class {join_words(lacking, 'or')} in the training part"
            raise ElmldaError(f"{fact}, expected one or more.")
        rows = [len(train_rows), *train_rows, len(test_rows), *test_rows]
        checksum = hashlib.sha256(np.asarray(rows, "<i8").tobytes()).hexdigest()[:16]
        return replace(
            self, train=parts[0], test=parts[1], preparation={**self.preparation, "rows": checksum}
        )

    def _standardise(self) -> Dataset:
        """Return a copy with inputs standardised by the training part, if the data set is to be."""
        assert self.test is not None
        if not self.is_standardised or "inputs" in self.preparation:
            return self
        parts = standardise(self.train.inputs, self.test.inputs)
        if not all(np.abs(inputs).max() < LARGEST_DEVIATION for inputs in parts):
            fact = f"{self.name}: an input is more than {LARGEST_DEVIATION:g} standard deviations"
            raise ElmldaError(f"{fact} from the training part's mean.")
        return replace(
            self,
            train=replace(self.train, inputs=parts[0]),
            test=replace(self.test, inputs=parts[1]),
            preparation={**self.preparation, "inputs": STANDARDISED},
        )


def standardise(train: NDArray[Any], test: NDArray[Any]) -> list[NDArray[Any]]:
    """Shift and scale both, n_samples × n_inputs, to mean 0 and variance 1 in `train`.

    A missing value (NaN) becomes 0, the mean. An input that is constant in `train` becomes 0 too: it
    has no scale for other values in `test`.
    """
    with np.errstate(all="ignore"):  # the caller refuses what overflows
        n_present = np.maximum(1, (~np.isnan(train)).sum(axis=0))
        means = np.nansum(train, axis=0, dtype=np.float64) / n_present
        variances = np.nansum((train - means) ** 2, axis=0) / n_present
        variances[np.isinf(variances)] = np.nan  # otherwise all values would become 0
        # Compares values, because the mean of a constant column may be rounded.
        varies = np.fmax.reduce(train, axis=0) > np.fmin.reduce(train, axis=0)
        factors = np.where(varies, 1 / np.sqrt(variances), 0.0)
        scaled = (np.where(np.isnan(x), 0.0, (x - means) * factors) for x in (train, test))
        dtype = np.result_type(train.dtype, np.float32)  # float32 for bytes
        return [x.astype(dtype, copy=False) for x in scaled]


def draw_stratified_folds(labels: IntArray, n_folds: int, rng: np.random.Generator) -> IntArray:
    """Assign samples to folds, class by class; return the fold of each sample, 0 to n_folds - 1.

    Fold sizes differ by at most one sample, in total and in each class. Therefore a class of two or
    more samples has at least one outside each fold.
    """
    shuffled = rng.permutation(len(labels))
    by_class = shuffled[np.argsort(labels[shuffled], kind="stable")]
    folds = np.empty(len(labels), np.int64)
    folds[by_class] = np.arange(len(labels)) % n_folds
    return folds
