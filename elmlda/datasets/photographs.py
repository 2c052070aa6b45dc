"""Ink on a photographed sheet, without shadows, ruled lines and the sheet's edge."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from elmlda.datasets.strokes import weigh_centre

if TYPE_CHECKING:
    from elmlda.core.arrays import FloatArray

    Mask = NDArray[np.bool_]

WIDEST_STROKE = 0.2
"""Of the longer side: what is dark and wider than this is a shadow or a desk."""
FAINTEST = 0.08
"""Darkness, as a share of the paper's brightness, that may be ink."""
FAINTEST_DIGIT = 0.16
"""Darkness that most of a digit must have."""
LEAST_CHALK = 24
"""Grey levels of 255 by which light strokes are lighter than the board: less is a lamp's spot."""
DEEPEST_TILT = 12
"""Degrees by which ruled lines may be off the horizontal."""
LINE_SHARE = 0.5
"""Of a row or column that a ruled line covers."""
NEAR = 0.4
"""Weight of the centre, see `weigh_centre`, at some quarter of the longer side from it."""
THICKEST_LINE = 0.04
"""Of the longer side."""


def find_photographed_ink(grey: FloatArray) -> FloatArray:
    """How dark each pixel is beside the paper around it: 0 to 1, the strokes above 0.5.

    ValueError if there is no ink.
    """
    ink = _measure_darkness(grey if _is_dark_on_light(grey) else 255 - grey)
    tilt = _measure_tilt(ink > FAINTEST)
    if tilt:
        ink = ndimage.rotate(ink, -tilt, reshape=False, order=1)
    margin = round(max(ink.shape) / 2 * np.sin(np.radians(abs(tilt))))  # turned away from the border
    kept = _without_border(_without_lines(_without_lines(ink > FAINTEST).T).T, margin)
    central = ink[kept & (weigh_centre(ink.shape) > NEAR)]
    full = np.percentile(central, 80) if central.size else 0.0
    if full < FAINTEST_DIGIT:
        raise ValueError("no digit found: nothing stands out near the centre")
    return np.asarray(np.clip(ink / full, 0, 1) * kept)


def _is_dark_on_light(grey: FloatArray) -> bool:
    """Whether what differs from most of its surroundings, near the centre, is darker."""
    step = max(1, max(grey.shape) // 50)
    small = ndimage.uniform_filter(grey, step)[::step, ::step]
    difference = small - ndimage.median_filter(small, 13, mode="nearest")
    is_light = (weigh_centre(small.shape) ** 2 * difference**3).sum() > 0
    return not (is_light and difference.max() > LEAST_CHALK)


def _measure_darkness(grey: FloatArray) -> FloatArray:
    """What is missing of the brightness of the paper: a share of it.

    A closing fills what is dark and narrow, and keeps the edges of what is dark and wide: it is the
    paper with its shadows.
    """
    smooth = ndimage.gaussian_filter(grey, 1.0)
    paper = ndimage.grey_closing(smooth, (2 * round(WIDEST_STROKE / 2 * max(grey.shape)) + 1,) * 2)
    darkness = 1 - smooth / np.maximum(paper, 1)
    return np.asarray(np.maximum(darkness - np.median(darkness), 0))


def _measure_tilt(mask: Mask) -> float:
    """Degrees by which ruled lines, if there are any, are turned anticlockwise."""
    from skimage.transform import hough_line

    degrees = np.arange(-DEEPEST_TILT, DEEPEST_TILT + 0.1, 0.25)
    tilts = []
    for upright in (90, 0):
        votes, *_ = hough_line(mask, theta=np.radians(degrees + upright))
        longest = votes.max(axis=0)
        if longest.max() > LINE_SHARE * min(mask.shape):
            tilts.append((longest.max(), degrees[int(longest.argmax())]))
    return -max(tilts)[1] if tilts else 0.0


def _without_lines(mask: Mask) -> Mask:
    """The mask without horizontal lines that go all the way across, but with what crosses them."""
    side = max(mask.shape)
    runs = ndimage.grey_closing(mask.view(np.uint8), (1, 9))
    runs = ndimage.grey_opening(runs, (1, side // 12))
    is_line = ndimage.maximum_filter1d(runs, 3, axis=0).mean(axis=1) > LINE_SHARE
    kept = mask.copy()
    for (band,) in ndimage.find_objects(ndimage.label(is_line)[0]):
        thickness = band.stop - band.start
        if thickness <= THICKEST_LINE * side:
            crossing = ndimage.grey_opening(mask.view(np.uint8), (thickness + 3, 1))
            rows = slice(max(0, band.start - 1), band.stop + 1)
            kept[rows] &= crossing[rows] > 0
    return kept


def _without_border(mask: Mask, margin: int) -> Mask:
    """The mask without what touches the border, unless there is nothing else near the centre."""
    from skimage.segmentation import clear_border

    inner = clear_border(mask, margin)
    weights = weigh_centre(mask.shape)
    is_alone = (weights * inner).sum() < 0.05 * (weights * mask).sum()
    return mask if is_alone and weights[mask].max(initial=0) > NEAR else inner
