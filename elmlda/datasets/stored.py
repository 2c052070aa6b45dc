"""Arrays as files have them, and the data set that four of them make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from elmlda.datasets.dataset import BYTE_SCALE, Dataset, Split
from elmlda.datasets.labels import index_classes
from elmlda.errors import ElmldaError
from elmlda.text import format_shape, join_words


@dataclass(frozen=True, eq=False)
class StoredArray:
    """An array of a file, in native byte order."""

    path: Path
    values: NDArray[Any]
    sha256: str
    """Of the file's content, or of the .npy file in an archive."""
    n_bytes: int
    """Of the same content."""
    key: str | None = None
    """The array's name in an archive."""

    @property
    def name(self) -> str:
        """Short, for messages that have the path already."""
        return self.key or str(self.path)

    @property
    def where(self) -> str:
        return str(self.path) if self.key is None else f"{self.path}, {self.key}"

    @property
    def is_byte(self) -> bool:
        return self.values.dtype == np.uint8

    @property
    def image_shape(self) -> tuple[int, int] | None:
        """Rows and columns of a sample, where samples are images."""
        shape = self.values.shape[1:]
        return (shape[0], shape[1]) if len(shape) == 2 else None

    @property
    def input_scale(self) -> float:
        return BYTE_SCALE if self.is_byte else 1.0

    def fail(self, what: str) -> NoReturn:
        """Raise an error that names the array."""
        raise ElmldaError(f"{self.where}: {what}.") from None

    def require_inputs(self) -> None:
        """Refuse what are not finite numbers of one sample or more."""
        if self.values.dtype.kind not in "biuf" or self.values.ndim == 0:
            self.fail(f"{self._describe()}, expected n_samples × … numbers")
        self._require_samples()

    def require_labels(self, kinds: str = "biufUS", expected: str = "whole numbers or strings") -> None:
        """Refuse what is not a label for each of some samples."""
        values = self.values
        # In archives a column will do, too: numpy's users have them.
        is_row = values.ndim == 1 or (self.key and values.ndim == 2 and values.shape[1] == 1)
        if values.dtype.kind not in kinds or not is_row:
            self.fail(f"{self._describe()}, expected labels: one dimension of {expected}")
        self._require_samples()

    def _require_samples(self) -> None:
        values = self.values
        if values.size == 0:
            self.fail(f"{self._describe()}: no samples, expected at least one")
        if values.dtype.kind == "f" and not (finite := np.isfinite(values)).all():
            n_bad = values.size - np.count_nonzero(finite)
            place = ", ".join(map(str, np.argwhere(~finite)[0]))
            self.fail(
                f"{n_bad:,} of {values.size:,} values are missing (NaN) or infinite, the first at "
                f"[{place}]; expected finite numbers"
            )

    def _describe(self) -> str:
        return f"{format_shape(self.values.shape) or 'no dimensions'} of {self.values.dtype}"

    def require_as_many(self, labels: StoredArray) -> None:
        """Refuse labels for another number of samples than these inputs have."""
        n_samples, n_labels = len(self.values), len(labels.values)
        if n_samples != n_labels:
            raise ElmldaError(
                f"{self.where} has {n_samples:,} samples, {labels.name} has {n_labels:,} labels, "
                "expected as many of each."
            )

    def require_two(self, classes: Sequence[str]) -> None:
        """Refuse labels that are all the same."""
        if len(classes) < 2:
            self.fail(f"all labels are {classes[0]}, expected two or more")

    def flatten(self, *others: StoredArray) -> NDArray[Any]:
        """One row a sample: bytes as they are, anything else as floats that hold all values exactly.

        The floats are wide enough for the other arrays' values, too.
        """
        inputs = self.values.reshape(len(self.values), -1)
        if self.is_byte:
            return np.ascontiguousarray(inputs)
        wide = np.result_type(np.float32, inputs, *(other.values for other in others))
        return np.ascontiguousarray(inputs, np.float64 if wide.itemsize > 8 else wide)

    def name_labels(self) -> list[str]:
        """Labels as strings: whole numbers without a point."""
        values, kind = self.values.ravel(), self.values.dtype.kind
        if kind == "f" and (wrong := values[values != np.floor(values)]).size:
            self.fail(f"{wrong[0]} is no class, expected whole numbers or strings")
        try:
            if kind == "f":
                return [str(int(value)) for value in values.tolist()]
            return [value.decode() if kind == "S" else str(value) for value in values.tolist()]
        except UnicodeDecodeError as error:
            self.fail(
                f"the label {error.object!r} is not text in UTF-8. Decode it before it is stored: "
                f"{self.key} = numpy.char.decode({self.key}, 'latin-1')"
            )
        except ValueError as error:  # code points that are none
            self.fail(f"labels that are no text: {error}")


def assemble_split(name: str, parts: Mapping[str, StoredArray]) -> Dataset:
    """Make a data set of four arrays, or say why they do not belong together.

    Parameters
    ----------
    parts : inputs and labels to train on, inputs and labels to test on, in this order
    """
    x_train, y_train, x_test, y_test = parts.values()
    x_train.require_as_many(y_train)
    x_test.require_as_many(y_test)
    _require_same_inputs(x_train, x_test)
    train_labels, test_labels = y_train.name_labels(), y_test.name_labels()
    classes, indices = index_classes([*train_labels, *test_labels])
    train, test = np.split(indices, [len(train_labels)])
    both = np.unique(train), np.setdiff1d(test, train)
    known, unknown = ([classes[i] for i in some] for some in both)
    y_train.require_two(known)
    if unknown:
        y_test.fail(
            f"no training sample has the label {join_words(unknown, 'or')}, "
            f"expected {join_words(known, 'or')}"
        )
    return Dataset(
        name,
        Split(x_train.flatten(x_test), train),
        Split(x_test.flatten(x_train), test),
        classes=classes,
        checksums={part: array.sha256 for part, array in parts.items()},
        input_scale=x_train.input_scale,
        image_shape=x_train.image_shape,
    )


def _require_same_inputs(train: StoredArray, test: StoredArray) -> None:
    if train.values.shape[1:] != test.values.shape[1:] or train.is_byte != test.is_byte:
        expected, found = (
            f"{format_shape(array.values.shape[1:]) or '1'} values of {array.values.dtype}"
            for array in (train, test)
        )
        test.fail(f"each sample is {found}, expected {expected} as in {train.name}")
