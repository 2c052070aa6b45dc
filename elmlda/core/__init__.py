"""The mathematics, with numpy and scipy alone. This module names the kinds of arrays."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.floating[Any]]
RealArray: TypeAlias = NDArray[np.integer[Any]] | NDArray[np.floating[Any]]
IntArray: TypeAlias = NDArray[np.int64]


class Rows(Protocol):
    """Samples that can be sliced: an array, or an object that computes slices on demand."""

    def __len__(self) -> int: ...

    def __getitem__(self, rows: slice, /) -> RealArray: ...
