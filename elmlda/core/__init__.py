"""The mathematics, with numpy and scipy alone. This module names the kinds of arrays."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.floating[Any]]
RealArray: TypeAlias = NDArray[np.integer[Any]] | NDArray[np.floating[Any]]
IntArray: TypeAlias = NDArray[np.int64]


def as_dense(block: Any) -> RealArray:
    """Return rows or columns as a dense array; those of a sparse matrix are converted."""
    return np.asarray(block.toarray() if hasattr(block, "toarray") else block)
