"""One digit among the ink of a picture: its strokes, joined where the pen skipped, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

if TYPE_CHECKING:
    from elmlda.core.arrays import FloatArray

    Mask = NDArray[np.bool_]

CENTRE = 0.2
"""Of the longer side: standard deviation of how near to the centre a digit is expected."""
SPECK = 0.03
"""What has less than this share of the digit's pixels is dirt."""
WIDEST_GAP = 0.1
"""Of the digit's size: what is nearer to it belongs to it."""
FARTHEST_PART = 0.3
"""Of the digit's size: what is small and nearer than this is a part, like the bar of a 5."""
BLOB = 0.55
"""Of the digit's size: strokes are not as wide as this."""


@dataclass(frozen=True)
class Strokes:
    """Where the digit is in a picture."""

    mask: NDArray[np.bool_]
    touches_border: bool

    @property
    def size(self) -> int:
        """The longer side of the box around it."""
        return max(_box(self.mask))

    @property
    def thickness(self) -> float:
        """How wide the pen was; the widest tenth of the strokes is left out."""
        return 2 * float(np.percentile(self._depths, 90))

    @property
    def is_blob(self) -> bool:
        """Whether no pen drew it: a sheet of paper, a stain."""
        return 2 * float(self._depths.max()) > BLOB * self.size

    @property
    def _depths(self) -> FloatArray:
        """Distances of the strokes' pixels to what is no stroke."""
        depths = ndimage.distance_transform_edt(np.pad(self.mask, 1))
        return np.asarray(depths[depths > 0])


def weigh_centre(shape: tuple[int, ...]) -> FloatArray:
    """1 in the centre of the picture, less farther from it."""
    rows, columns = (np.arange(side) - (side - 1) / 2 for side in shape)
    squares = rows[:, None] ** 2 + columns**2
    return np.asarray(np.exp(-squares / (2 * (CENTRE * max(shape)) ** 2)))


def find_strokes(ink: FloatArray) -> Strokes:
    """Find the one digit near the centre; ValueError if there are two, or none.

    Parameters
    ----------
    ink : 0 to 1, the strokes above 0.5
    """
    mask = ink > 0.5
    if not mask.any():
        raise ValueError("no digit found: nothing stands out from the paper")
    weights = weigh_centre(ink.shape)
    reach = 1.0
    for _ in range(3):  # a pen's bits are joined by their own size at first
        spots, digit = _choose(mask, reach, weights)
        reach = max(1.0, WIDEST_GAP / 2 * max(_box(spots == digit)))
    found = _with_parts(spots, digit, weights)
    edges = np.concatenate([found[[0, -1]].ravel(), found[:, [0, -1]].ravel()])
    return Strokes(found, bool(edges.any()))


def _choose(mask: Mask, reach: float, weights: FloatArray) -> tuple[NDArray[np.int32], int]:
    """Number the spots of ink that are more than twice `reach` apart, and choose the digit's."""
    near = ndimage.distance_transform_edt(~mask) <= reach
    spots = np.asarray(ndimage.label(near, np.ones((3, 3)))[0] * mask, np.int32)
    return spots, int(np.bincount(spots.ravel(), (weights * mask).ravel())[1:].argmax()) + 1


def _with_parts(spots: NDArray[np.int32], digit: int, weights: FloatArray) -> Mask:
    """The digit with its parts that lie apart; ValueError if another digit is beside it."""
    found = spots == digit
    n_pixels, height, size = found.sum(), _box(found)[0], max(_box(found))
    distances = ndimage.distance_transform_edt(~found)
    parts = [digit]
    for other, place in enumerate(ndimage.find_objects(spots), 1):
        spot = spots[place] == other
        if other == digit or spot.sum() < SPECK * n_pixels:
            continue
        looks_whole = spot.shape[0] >= 0.5 * max(height, 0.5 * size) and spot.sum() >= 0.2 * n_pixels
        nearness = weights[place][spot]
        is_central = nearness.max() > 0.25 and nearness.sum() >= 0.15 * weights[found].sum()
        if looks_whole and is_central:
            raise ValueError("two digits, or more, expected one in each picture")
        if not looks_whole and distances[place][spot].min() <= FARTHEST_PART * size:
            parts.append(other)
    return np.asarray(np.isin(spots, parts))


def _box(mask: Mask) -> tuple[int, int]:
    rows, columns = (np.flatnonzero(mask.any(axis=axis)) for axis in (1, 0))
    return int(np.ptp(rows)) + 1, int(np.ptp(columns)) + 1
