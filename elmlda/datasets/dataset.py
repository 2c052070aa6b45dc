"""What every data set is, wherever it comes from, and how a table is divided."""

from __future__ import annotations

import hashlib
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elmlda.core.input_weights import InputSpace
from elmlda.datasets.scaling import Scaling, standardise
from elmlda.errors import ElmldaError
from elmlda.text import join_words

BYTE_SCALE = 1 / 255
STANDARDISED = "standardised by the training part"
N_PARTS = 3
SPLIT = "stratified, two thirds to train on and one to test on, seed 0"
"""What `split_table` does, for manifests and people."""


# eq=False: arrays do not compare to one truth value, so what holds them compares by identity.
@dataclass(frozen=True, eq=False)
class Split:
    """Samples and their classes."""

    inputs: NDArray[Any]
    """n_samples × n_inputs, C-contiguous: uint8 as it was stored, otherwise float32 or float64."""
    labels: NDArray[np.int64]
    """n_samples class indices, 0 to n_classes - 1."""

    def take(self, rows: NDArray[np.integer]) -> Split:
        """The samples with these indices, in their order."""
        return Split(self.inputs[rows], self.labels[rows])

    def count_classes(self, n_classes: int) -> NDArray[np.int64]:
        """Samples of each class."""
        return np.bincount(self.labels, minlength=n_classes)

    @property
    def nbytes(self) -> int:
        """Memory of the samples and their labels."""
        return self.inputs.nbytes + self.labels.nbytes


@dataclass(frozen=True, eq=False)
class _Described:
    """What samples mean, divided or not."""

    name: str
    _: KW_ONLY
    classes: tuple[str, ...]
    """The label of each class index."""
    checksums: dict[str, str] = field(default_factory=dict)
    """Logical file name -> SHA-256 of the content after decompression."""
    input_scale: float = 1.0
    """Inputs are multiplied by this before the hidden layer, unless they are standardised: 1/255 for
    bytes unless their largest is known to be another, else 1."""
    feature_names: tuple[str, ...] | None = None
    image_shape: tuple[int, int] | None = None
    """Rows and columns of one sample, where samples are images."""
    is_standardised: bool = False
    """Whether inputs have mean 0 and variance 1 in the training part; a table's once it is divided."""
    preparation: dict[str, str] = field(default_factory=dict)
    """Choices that made it from its files, such as the label's column, for a run's manifest."""

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    def _describe(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(_Described)}


@dataclass(frozen=True, eq=False)
class Table(_Described):
    """Samples without a training and a test part, inputs as they are stored."""

    samples: Split

    @property
    def n_samples(self) -> int:
        return len(self.samples.labels)

    @property
    def n_inputs(self) -> int:
        return int(self.samples.inputs.shape[1])

    @property
    def nbytes(self) -> int:
        return self.samples.nbytes

    @property
    def loading_bytes(self) -> int:
        """Memory while it was loaded: its columns, too, as they were read."""
        return 2 * self.nbytes

    def divide(self, train_rows: NDArray[np.integer], test_rows: NDArray[np.integer]) -> Dataset:
        """Make a data set of some samples (their indices) to train on and others to test on.

        Inputs are standardised, if they are to be, by the training rows alone. The preparation has a
        checksum of the rows, so that a run goes on only with the same ones. A class without a sample
        in the training part is refused: LDA could not have its mean.
        """
        train, test = self.samples.take(train_rows), self.samples.take(test_rows)
        counts = train.count_classes(self.n_classes)
        if missing := [name for name, count in zip(self.classes, counts, strict=True) if not count]:
            raise ElmldaError(
                f"{self.name}: no sample of class {join_words(missing, 'or')} in the training part, "
                "expected one or more."
            )
        preparation = {**self.preparation, "rows": _hash_rows(train_rows, test_rows)}
        about = {**self._describe(), "preparation": preparation}
        dataset = Dataset(train=train, test=test, has_own_split=False, **about)
        return dataset.standardise(in_place=True) if self.is_standardised else dataset


@dataclass(frozen=True, eq=False)
class Dataset(_Described):
    """A training part, a test part, and what they mean: ready for a network."""

    train: Split
    test: Split
    has_own_split: bool = field(default=True, kw_only=True)
    """Whether the two parts are the data set's own, not drawn from a `Table`."""
    scaling: Scaling | None = field(default=None, kw_only=True)
    """What standardised the inputs, for samples that come later."""

    @property
    def input_space(self) -> InputSpace:
        """What input weights are drawn for, and may be shaped by: the training samples."""
        return InputSpace(self.n_inputs, self.image_shape, self.train.inputs, self.train.labels)

    @property
    def n_inputs(self) -> int:
        return int(self.train.inputs.shape[1])

    @property
    def nbytes(self) -> int:
        return self.train.nbytes + self.test.nbytes

    @property
    def loading_bytes(self) -> int:
        """Memory while it was loaded: also as it was read, if it was divided or standardised then."""
        is_as_read = self.has_own_split and not self.is_standardised
        return self.nbytes if is_as_read else 2 * self.nbytes

    def standardise(self, in_place: bool = False) -> Dataset:
        """The same with each input at mean 0 and variance 1 in the training part.

        The test part is moved and scaled alike. An input that is constant in the training part is 0
        in both. The inputs may be overwritten, if that is said, to save memory.
        """
        train, test, scaling = standardise(
            self.train.inputs, self.test.inputs, self.name, self.feature_names, in_place
        )
        return replace(
            self,
            train=Split(train, self.train.labels),
            test=Split(test, self.test.labels),
            input_scale=1.0,
            is_standardised=True,
            preparation={**self.preparation, "inputs": STANDARDISED},
            scaling=scaling,
        )

    def hold_out(self, n_validation: int) -> Dataset:
        """The training part alone, its last samples to test on: to choose settings by them.

        Where the split is not the set's own, the samples may be in any order, and are shuffled first.
        """
        n_train = len(self.train.labels)
        if not 0 < n_validation < n_train:
            raise ElmldaError(
                f"{self.name}: {n_validation:,} samples cannot be held out of {n_train:,}: expected 1 "
                f"to {n_train - 1:,}."
            )
        rows = np.arange(n_train)
        if not self.has_own_split:
            rows = np.random.default_rng(0).permutation(n_train)
        return self.train_table().divide(rows[:-n_validation], rows[-n_validation:])

    def train_table(self) -> Table:
        """The training part alone, to be divided again: to choose a setting without the test part.

        `Table.divide` standardises inputs that are standardised already to the same values as it
        would the stored ones.
        """
        return Table(samples=self.train, **self._describe())


def _hash_rows(*parts: NDArray[np.integer]) -> str:
    content = b"".join(np.asarray([len(rows), *rows], "<i8").tobytes() for rows in parts)
    return hashlib.sha256(content).hexdigest()[:16]


def draw_stratified_folds(
    labels: NDArray[np.int64], n_folds: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Deal the samples out to folds, class by class: the fold of each, 0 to n_folds - 1.

    Folds differ by at most one sample, in all and in each class. So a class of two or more samples has
    at least one outside of each fold.
    """
    shuffled = rng.permutation(len(labels))
    by_class = shuffled[np.argsort(labels[shuffled], kind="stable")]
    folds = np.empty(len(labels), np.int64)
    folds[by_class] = np.arange(len(labels)) % n_folds
    return folds


def split_table(table: Table) -> Dataset:
    """Divide a table as `sweep`, `ensemble` and `timing` do: always the same two thirds and one.

    The test part is the first of three stratified folds, drawn with the seed 0 whatever the seed of
    the run, so that all runs on a table have the same one. A class of a single sample is refused.
    """
    require_two_of_each(table)
    folds = draw_stratified_folds(table.samples.labels, N_PARTS, np.random.default_rng(0))
    dataset = table.divide(np.flatnonzero(folds != 0), np.flatnonzero(folds == 0))
    return replace(dataset, preparation={**dataset.preparation, "split": SPLIT})


def require_two_of_each(table: Table) -> None:
    """Refuse a table in which a class has a single sample: it can't be trained on and tested."""
    counts = table.samples.count_classes(table.n_classes)
    single = [name for name, count in zip(table.classes, counts, strict=True) if count < 2]
    if not single:
        return
    if len(single) > table.n_classes / 2:
        label = table.preparation.get("label")
        which = f"column '{label}'" if label else "what it has as labels"
        raise ElmldaError(
            f"{table.name}: {len(single):,} of {table.n_classes:,} classes have a single sample: is "
            f"{which} a class at all? A training and a test part need two of each."
        )
    have = "has a single sample" if len(single) == 1 else "have a single sample each"
    raise ElmldaError(
        f"{table.name}: class {join_words(single)} {have}, expected two or more: one to train on and "
        "one to test on. Leave it out, or join it to another class."
    )


@dataclass(frozen=True)
class FileCheck:
    """What verifying one file of a data set found."""

    name: str
    """The logical file name, as in `Dataset.checksums`."""
    path: Path
    ok: bool
    message: str
    """One line: what the file holds, or what is wrong with it."""
    n_bytes: int | None = None
    """Length of the content after decompression; None if it could not be read."""
    expected_sha256: str | None = None
    """None if the data set is the user's own."""
    found_sha256: str | None = None
    """None if the content could not be read."""
