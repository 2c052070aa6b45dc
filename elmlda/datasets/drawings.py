"""A drawn or photographed digit in MNIST's form.

MNIST's digits are light on dark, scaled with their proportions kept so that they fit a box of 20 × 20,
and placed with their centre of mass at pixel (14, 14) of 28 × 28. A network trained on such images is
of use for others only if they are brought to the same form.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from elmlda.core.arrays import FloatArray
from elmlda.datasets.strokes import Strokes, find_strokes

BOX_SHARE = 20 / 28
"""Of the image's sides: the box that a digit fits."""
LEAST_CONTRAST = 16
"""Grey levels of 255 between paper and ink: less is an empty image."""
LEAST_SIGNAL = 6
"""Standard deviations of the paper's grain: less is not ink."""
FLAT = 12
"""Grey levels of 255 by which the border of plain paper may differ from a plane."""
SMALLEST_PHOTOGRAPH = 64
"""Pixels at the longer side: what is smaller is a drawing."""
THINNEST = 0.08
"""Strokes thinner than this share of the box would fade away in it: MNIST's have some 0.1 to 0.2."""

VIEWS = (
    (0, 0, 1, 0),
    *((down, right, 1, 0) for down, right in ((-1, 0), (1, 0), (0, -1), (0, 1))),
    *((0, 0, scale, 0) for scale in (0.88, 1.12)),
    *((0, 0, 1, slant) for slant in (-0.18, 0.18)),
)
"""How a digit is moved down and right, in pixels, made larger, and slanted."""


@dataclass(frozen=True, eq=False)
class Digit:
    """A digit that was found in a picture."""

    image: NDArray[np.uint8]
    """In the form of the training data."""
    grey: FloatArray
    """The picture that it was found in, 0 to 255."""
    touches_border: bool = False


def normalise_digit(grey: FloatArray, shape: tuple[int, int] = (28, 28)) -> Digit:
    """Bring the digit in a grey image to MNIST's form; ValueError if there is none, or two."""
    ink, strokes = _find_digit(grey)
    box = max(1, math.floor(BOX_SHARE * min(shape) + 1e-9))
    ink = _thicken(ink * _with_margin(strokes.mask), strokes, box)
    return Digit(_place(_fit(_crop(ink), box), shape), grey, strokes.touches_border)


def vary_digit(image: NDArray[np.uint8]) -> NDArray[np.float64]:
    """The digit as it might as well have been brought to its form: n_views × rows × columns.

    A network is sure of what it sees, and answers otherwise for a digit that lies a pixel farther
    to the right. The mean of its posteriors over such views is as often right and seldom sure of what
    is wrong.
    """
    return np.stack([_transform(image.astype(np.float64), *view) for view in VIEWS])


def _transform(image: FloatArray, down: float, right: float, scale: float, slant: float) -> FloatArray:
    """Move the digit, make it larger, lean it to the right; `slant` is the tangent of the angle."""
    matrix = np.array([[1, 0], [slant, 1]]) / scale
    middle = (np.array(image.shape) - 1) / 2
    return np.asarray(
        ndimage.affine_transform(image, matrix, middle - matrix @ middle - (down, right), order=1)
    )


def _find_digit(grey: FloatArray) -> tuple[FloatArray, Strokes]:
    """The ink everywhere, and where it is the digit's: plain drawings need no library for it."""
    paper, is_flat = _fit_paper(grey)
    if is_flat or max(grey.shape) < SMALLEST_PHOTOGRAPH:
        ink = _find_ink(grey - paper)
        strokes = find_strokes(ink)
        if not strokes.is_blob or max(grey.shape) < SMALLEST_PHOTOGRAPH:
            return ink, strokes
    try:
        from elmlda.datasets.photographs import find_photographed_ink

        ink = find_photographed_ink(grey)
    except ImportError as error:
        raise ValueError(
            "not a plain drawing, and photographs need scikit-image: pip install 'elmlda[photos]'"
        ) from error
    strokes = find_strokes(ink)
    if strokes.is_blob:
        raise ValueError("no digit found: what stands out is a spot, not a stroke")
    return ink, strokes


def _fit_paper(grey: FloatArray) -> tuple[FloatArray, bool]:
    """A plane through the border, for light from one side; and whether the border is so flat."""
    rows, columns = np.indices(grey.shape)
    border = np.ones(grey.shape, bool)
    border[1:-1, 1:-1] = False
    terms = np.stack([np.ones(grey.shape), rows, columns], axis=-1)
    # Strokes may touch the border: only what is near its median counts.
    near = border & (np.abs(grey - np.median(grey[border])) <= 48)
    plane: FloatArray = np.linalg.lstsq(terms[near], grey[near], rcond=None)[0]
    paper = np.asarray(terms @ plane)
    return paper, bool(np.mean(np.abs(grey - paper)[border] <= FLAT) > 0.97)


def _find_ink(difference: FloatArray) -> FloatArray:
    """How much each pixel differs from the paper: 0 to 1, the strokes above 0.5."""
    if -difference.min() > difference.max():  # dark on light
        difference = -difference
    difference = np.maximum(difference, 0)
    if difference.max() < LEAST_CONTRAST:
        raise ValueError("no digit found: the image is all of one grey")
    threshold = _split_in_two(difference)
    full = np.median(difference[difference > threshold])
    if full < LEAST_SIGNAL * _measure_noise(difference):
        raise ValueError("no digit found: nothing stands out from the paper's grain")
    # Half way from the threshold to nothing begins the ink, so the edges stay soft.
    return np.asarray(np.clip((difference - threshold / 2) / (full - threshold / 2), 0, 1))


def _measure_noise(values: FloatArray) -> float:
    """The standard deviation of the paper's grain, from differences between neighbours."""
    along = int(np.argmax(values.shape))  # where there are some
    return float(np.median(np.abs(np.diff(values, axis=along)))) / 0.95


def _split_in_two(values: FloatArray) -> float:
    """Otsu's threshold: where two groups of values differ most from each other."""
    counts, edges = np.histogram(values, bins=128)
    centres = (edges[:-1] + edges[1:]) / 2
    below = np.cumsum(counts)[:-1]
    above = counts.sum() - below
    sums = np.cumsum(counts * centres)
    means = sums[:-1] / np.maximum(below, 1), (sums[-1] - sums[:-1]) / np.maximum(above, 1)
    between = below * above * (means[0] - means[1]) ** 2
    return float(edges[1 + int(between.argmax())])


def _with_margin(strokes: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The strokes with their soft edges."""
    return np.asarray(ndimage.binary_dilation(strokes, np.ones((3, 3), bool), iterations=2))


def _thicken(ink: FloatArray, strokes: Strokes, box: int) -> FloatArray:
    """Make a fine pen's strokes as thick as they must be to be seen in the box."""
    missing = math.ceil((THINNEST * strokes.size - strokes.thickness) / 2)
    if missing <= 0 or strokes.size <= box:
        return ink
    return np.asarray(ndimage.grey_dilation(np.pad(ink, missing), size=(2 * missing + 1,) * 2))


def _crop(ink: FloatArray) -> FloatArray:
    seen = ink > 0.1
    rows, columns = (np.flatnonzero(seen.any(axis=axis)) for axis in (1, 0))
    return ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]


def _fit(ink: FloatArray, box: int) -> FloatArray:
    """Scale with the proportions kept, so that the longer side is the box's."""
    from PIL import Image

    scale = box / max(ink.shape)
    rows, columns = (max(1, round(scale * side)) for side in ink.shape)
    picture = Image.fromarray(ink.astype(np.float32))
    fitted = np.asarray(picture.resize((columns, rows), Image.Resampling.BICUBIC), np.float64)
    return np.asarray(np.clip(fitted / fitted.max(), 0, 1))


def _place(ink: FloatArray, shape: tuple[int, int]) -> NDArray[np.uint8]:
    """Put the ink with its centre of mass in the middle, cut off where that is beyond the sides."""
    placed = np.zeros(shape)
    weights = ink / ink.sum()
    centre = [float((np.indices(ink.shape)[axis] * weights).sum()) for axis in (0, 1)]
    starts = [round(side / 2 - middle) for side, middle in zip(shape, centre, strict=True)]
    ends = [start + side for start, side in zip(starts, ink.shape, strict=True)]
    inside = [slice(max(0, a), min(side, b)) for a, b, side in zip(starts, ends, shape, strict=True)]
    kept = [
        slice(part.start - start, part.stop - start) for part, start in zip(inside, starts, strict=True)
    ]
    placed[inside[0], inside[1]] = ink[kept[0], kept[1]]
    return np.rint(255 * placed).astype(np.uint8)
