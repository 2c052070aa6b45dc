"""Parts of a table with each class in its share: for cross-validation, and the default split."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from elmlda.core.arrays import IntArray
from elmlda.datasets.dataset import Dataset, Table
from elmlda.errors import ElmldaError
from elmlda.text import join_words

N_PARTS = 3
SPLIT = "stratified, two thirds to train on and one to test on, seed 0"
"""What `split_table` does, for manifests and people."""


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
    counts = np.bincount(table.samples.labels, minlength=table.n_classes)
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
