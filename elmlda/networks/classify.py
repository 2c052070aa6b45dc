"""Classify the samples in a file with a model, and compare with their labels if the file has them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from elmlda.core import FloatArray, IntArray
from elmlda.datasets.arrays import find_parts, index_classes, parse_idx, read_arrays, read_content
from elmlda.datasets.images import IMAGE_SUFFIXES, read_digit
from elmlda.datasets.tables import NO_LABEL, TABLE_SUFFIXES, read_table, read_texts
from elmlda.errors import ElmldaError, ElmldaValueError, format_shape, join_words
from elmlda.networks.model import Model

UNKNOWN = -1
"""Instead of a class index: the sample has no label, or one that the model does not know."""


@dataclass(frozen=True, eq=False)
class Answers:
    """Posteriors of the samples in a file, or the scores of PI-ELM."""

    path: Path
    values: FloatArray
    """n_samples × n_classes."""
    truth: IntArray | None
    """Each sample's class index or UNKNOWN; None if the file has no labels."""
    numbers: Any
    """Where each sample is: its line in a table, else its index."""

    def name(self, sample: int) -> str:
        """As in new.csv:2 or new.npy[0]."""
        if is_table(self.path):
            return f"{self.path}:{self.numbers[sample]}"
        return f"{self.path}[{sample}]" if len(self.values) > 1 else str(self.path)


def is_table(path: Path) -> bool:
    """Whether a file's name says that it has a sample in each line."""
    return path.name.lower().endswith(TABLE_SUFFIXES)


def classify(path: Path, model: Model) -> Answers:
    """Classify the samples in a file: a table, arrays, an IDX file or a folder of four, or an image."""
    if is_table(path):
        inputs, labels, numbers = _read_table(path, model)
    else:
        inputs, labels = _read_arrays(path, model)
        numbers = np.arange(len(inputs))
    try:
        values = model.values(inputs)
    except ElmldaValueError as error:
        raise ElmldaError(f"{path}: {error}") from error
    return Answers(path, values, _match_labels(labels, model), numbers)


def _read_table(path: Path, model: Model) -> tuple[FloatArray, NDArray[Any] | None, Any]:
    """Inputs, labels and lines; missing values are NaN if they are to be filled.

    Columns are found by their names; without names they are the model's, in its order.
    """
    table, label, declared = read_table(path).keep(), None, model.columns
    names = [*table.cells]
    wanted = [{"name": ""}] * model.recipe.n_inputs
    if declared:
        wanted = [column for column in declared if "label" not in column]
    if declared and table.has_names:
        label = next((column["name"] for column in declared if "label" in column), None)
        if lacking := [each["name"] for each in wanted if each["name"] not in names]:
            table.fail(f"no column {join_words(lacking, 'or')}, which the model was trained with.")
        names = [column["name"] for column in wanted]
    if len(names) != len(wanted):
        fact = f"{len(names):,} columns, the model takes {len(wanted):,}."
        table.fail(f"{fact} Name them in the first line, as in the training data, or leave others out.")
    parts = []
    for name, column in zip(names, wanted, strict=True):
        parts.append(table.encode(name, column)[1])
        lacks = np.isnan(parts[-1]).any(axis=1) & ("missing" not in column)
        table.require_values(name, lacks, "Fill it in, or train the model with {missing_}.")
    labels = None
    if label in table.cells:
        texts = read_texts(table.cells[label], NO_LABEL)
        labels = texts.reindex(table.cells.index, fill_value="").to_numpy(str)
    return np.hstack(parts), labels, table.rows


def _read_arrays(path: Path, model: Model) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Inputs, and labels of an .npz file's x_test or x, or of an IDX folder's test part."""
    labels, shape, n_inputs = None, model.recipe.image_shape, model.recipe.n_inputs
    if path.name.lower().endswith(IMAGE_SUFFIXES):
        values: NDArray[Any] = read_digit(path, shape) * ((model.largest_input or 255) / 255)
    elif path.suffix in (".npz", ".npy"):
        arrays = read_arrays(path)
        key = next((key for key in ("x_test", "x", "") if key in arrays), None)
        if key is None:
            raise ElmldaError(f"{path}: no x; expected x or x_test.")
        values, labels = arrays[key], arrays.get(f"y{key[1:]}")
    elif path.is_dir():
        *_, images, classes = find_parts(path).values()
        values, labels = (parse_idx(read_content(file), file) for file in (images, classes))
    else:
        values = parse_idx(read_content(path), path)
    samples = values[None] if values.shape in (shape, (n_inputs,)) else values
    n_values, is_numeric = math.prod(samples.shape[1:]), values.dtype.kind in "buif"
    if not is_numeric or samples.ndim < 2 or not len(samples) or n_values != n_inputs:
        wanted = f"{n_inputs:,} numbers" + (f" ({format_shape(shape)})" if shape else "")
        found = f"{format_shape(values.shape)} of {values.dtype}"
        raise ElmldaError(f"{path}: {found}, the model takes samples of {wanted}.")
    if labels is not None and labels.size != len(samples):
        raise ElmldaError(f"{path}: {len(samples):,} samples, but {labels.size:,} labels.")
    samples = samples.reshape(len(samples), -1)
    if len(bad := np.flatnonzero(~np.isfinite(samples).all(axis=1))):
        raise ElmldaError(f"{path}[{bad[0]}]: a value is missing, NaN or infinite.")
    return samples, labels


def _match_labels(labels: NDArray[Any] | None, model: Model) -> IntArray | None:
    """The class index of each label, or UNKNOWN; 1.0 is the same class as 1."""
    if labels is None:
        return None
    texts, known = labels.ravel().astype(str), model.classes
    truth = np.full(len(texts), UNKNOWN)
    given = np.flatnonzero(texts != "")
    _, indices = index_classes(np.concatenate([known, texts[given]]))
    truth[given] = pd.Index(indices[: len(known)]).get_indexer(pd.Index(indices[len(known) :]))
    return truth
