"""Classify the samples in a file with a model, and compare with their labels."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from elmlda.core.arrays import FloatArray
from elmlda.datasets.csv_file import CsvFile
from elmlda.datasets.images import Digit, vary_digit
from elmlda.datasets.samples import Reading, is_image, read_drawing, read_samples
from elmlda.errors import ElmldaError, ElmldaValueError
from elmlda.networks.model import Model

TrueLabels = Callable[[Path, int], str | None]
"""A file and the number of a sample in it -> its label, or None if that is not known."""


@dataclass(frozen=True, eq=False)
class Answers:
    """Posteriors of the samples in a file, or the scores of PI-ELM."""

    path: Path
    values: FloatArray
    """n_samples × n_classes."""
    truth: list[str | None]
    """Each sample's label where it is known."""
    digit: Digit | None = None
    """The digit found in an image."""

    def name(self, sample: int) -> str:
        return str(self.path) if len(self.values) == 1 else f"{self.path}:{sample}"

    def right(self, classes: NDArray[Any]) -> list[bool]:
        """Whether the samples that have a label were classified as that."""
        pairs = zip(classes[self.values.argmax(axis=1)], self.truth, strict=True)
        return [str(label) == true for label, true in pairs if true is not None]


def classify(path: Path, model: Model, reading: Reading, truth: TrueLabels) -> Answers:
    """Classify the samples in a file.

    Posteriors of a drawn or photographed digit are the mean over views of it, because how it was
    brought to its form is not certain.
    """
    digit = read_drawing(path, reading) if is_image(path) else None
    if digit is None:
        samples = read_samples(path, reading)
    else:
        # Full ink is 255 in an image, and the largest input in the training data.
        scale = (model.largest_input or 255) / 255
        views = digit.image[None] if reading.as_is else scale * vary_digit(digit.image)
        samples = views.reshape(len(views), -1)
    try:
        values = model.values(samples)
    except ElmldaValueError as error:
        raise ElmldaError(f"{path}: {error}") from error
    if digit is not None:
        values = values.mean(axis=0, keepdims=True)
    labels = [_check_label(path, model, truth(path, i)) for i in range(len(values))]
    return Answers(path, values, labels, digit)


def _check_label(path: Path, model: Model, label: str | None) -> str | None:
    known = [str(each) for each in model.classes]
    if label is not None and label not in known:
        raise ElmldaError(
            f"{path}: its label is '{label}', the model's are {', '.join(known[:20])}.",
            "Say with {labels} where labels are.",
            labels=None,
        )
    return label


def find_labels(source: str | None) -> TrueLabels:
    """Labels by their source.

    folder is the name of the folder that a file is in; name the file's own up to the first character
    that is no letter or digit; anything else a CSV file with the columns file and label, and sample
    where a file has several.
    """
    if source is None:
        return lambda _path, _sample: None
    if source == "folder":
        return lambda path, _sample: path.absolute().parent.name
    if source == "name":
        return lambda path, _sample: re.split(r"[\W_]", path.stem)[0]
    labels = _read_labels(Path(source))
    return lambda path, sample: labels.get((os.path.abspath(path), sample))  # noqa: PTH100  keeps links


def _read_labels(path: Path) -> dict[tuple[str, int], str]:
    """Labels by file, as seen from here and from the table's own folder, and sample."""
    file = CsvFile(path)
    missing = {"file", "label"} - set(file.names)
    if missing:
        raise ElmldaError(f"{path}: no column {' or '.join(sorted(missing))}, expected file and label.")
    columns = [file.names.index(name) for name in ("file", "label", "sample") if name in file.names]
    texts, _ = file.read_columns(columns, set(columns))
    files, labels, *samples = (texts[column] for column in columns)
    try:
        numbers = list(map(int, samples[0])) if samples else [0] * len(files)
    except ValueError as error:
        raise ElmldaError(f"{path}: column sample is not of whole numbers: {error}.") from error
    found: dict[tuple[str, int], str] = {}
    for folder in (path.parent, Path()):
        for name, sample, label in zip(files, numbers, labels, strict=True):
            known = found.setdefault((os.path.abspath(folder / name), sample), label)  # noqa: PTH100
            if known != label:
                raise ElmldaError(
                    f"{path}: two labels, '{known}' and '{label}', for sample {sample} of {name}."
                )
    return found
