"""Classes from labels of any kind."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from decimal import Decimal

import numpy as np

from elmlda.core.arrays import IntArray

NUMBER = re.compile(r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
"""As people write numbers: without leading zeros, underscores or other scripts' digits."""


def index_classes(labels: Sequence[str]) -> tuple[tuple[str, ...], IntArray]:
    """Number the classes that labels name.

    Parameters
    ----------
    labels : sequence of str, n_samples

    Returns
    -------
    classes : tuple of str
        The different labels: as numbers, in their order, if all are numbers (so that 1 and 1.0 are
        the same class), else in the order of strings. 01 is no number but a code: 1 is another one.
    indices : int64 array, n_samples
    """
    names = {label: _normalise(label) for label in set(labels)}
    if None in names.values():
        names = {label: label for label in names}
    in_order = sorted({str(name) for name in names.values()})
    if all(name == _normalise(name) for name in in_order):
        in_order.sort(key=float)
    index = {name: i for i, name in enumerate(in_order)}
    of_label = {label: index[str(name)] for label, name in names.items()}
    return tuple(in_order), np.array([of_label[label] for label in labels], np.int64)


def _normalise(label: str) -> str | None:
    """A number without what does not change it, as in 7 for 7.0; None for anything else."""
    if not NUMBER.fullmatch(label) or not math.isfinite(value := float(label)):
        return None
    short = str(int(value)) if value == int(value) else repr(value)
    # Numbers that float64 does not hold are kept apart as they were written, large ones too.
    return short if abs(value) < 2**53 and Decimal(short) == Decimal(label) else label
