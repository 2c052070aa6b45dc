"""Classify the samples in a file with a model, and compare with their labels."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from numpy.typing import NDArray

from elmlda.core.arrays import FloatArray
from elmlda.datasets.samples import SampleFormat, is_image, read_samples
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

    def name(self, sample: int) -> str:
        return str(self.path) if len(self.values) == 1 else f"{self.path}:{sample}"

    def right(self, classes: NDArray[Any]) -> list[bool]:
        """Whether the samples that have a label were classified as that."""
        pairs = zip(classes[self.values.argmax(axis=1)], self.truth, strict=True)
        return [str(label) == true for label, true in pairs if true is not None]


def classify(path: Path, model: Model, form: SampleFormat, truth: TrueLabels) -> Answers:
    """Classify the samples in a file; full ink of an image is the training data's largest input."""
    samples = read_samples(path, form)
    if is_image(path):
        samples = samples * ((model.largest_input or 255) / 255)
    try:
        values = model.values(samples, len(samples))
    except ElmldaValueError as error:
        raise ElmldaError(f"{path}: {error}") from error
    labels = [_check_label(path, model, truth(path, i)) for i in range(len(values))]
    return Answers(path, values, labels)


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
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
        table["sample"] = table["sample"].astype(int) if "sample" in table else 0
        rows = list(zip(table["file"], table["sample"], table["label"], strict=True))
    except KeyError as error:
        raise ElmldaError(f"{path}: no column {error}, expected file and label.") from error
    except (OSError, ValueError) as error:
        raise ElmldaError(f"{path}: not a table of labels: {error}.") from error
    labels: dict[tuple[str, int], str] = {}
    for name, sample, label in rows:
        for folder in {path.parent.absolute(), Path.cwd()}:
            key = os.path.abspath(folder / name), sample  # noqa: PTH100
            if labels.setdefault(key, label) != label:
                raise ElmldaError(
                    f"{path}: two labels for sample {sample} of {name}, '{labels[key]}' and '{label}'."
                )
    return labels
