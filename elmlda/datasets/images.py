"""A drawn or photographed digit in MNIST's form.

MNIST's digits are light on dark, scaled with their proportions kept so that they fit a box of 20 × 20,
and placed with their centre of mass at pixel (14, 14) of 28 × 28. A network trained on such images is
of use for others only if they are brought to the same form.
"""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from elmlda.core.arrays import FloatArray
from elmlda.datasets.content import open_input
from elmlda.errors import ElmldaError

if TYPE_CHECKING:
    from PIL.Image import Image

BOX_SHARE = 20 / 28
"""Of the image's sides: the box that a digit fits."""
LARGEST_SIDE = 400
"""Photographs are made smaller than this first: many times what is needed."""
LEAST_CONTRAST = 16
"""Grey levels of 255 between paper and ink: less is an empty image."""
MOST_PIXELS = 64_000_000
"""More than a camera has: a small file can hold an image of one colour that fills the memory."""
FORMATS = ("PNG", "JPEG", "BMP", "GIF", "TIFF", "WEBP")
"""Others, by whatever name, could have Pillow run another program (EPS) or take long."""
SPECK = 0.03
"""Spots with less than this share of the largest stroke's pixels are dirt."""
THINNEST = 0.08
"""Strokes thinner than this share of the box would fade away in it: MNIST's have some 0.1 to 0.2."""


def read_image(path: Path, shape: tuple[int, int], as_is: bool = False) -> NDArray[np.uint8]:
    """Read an image file as one sample: an array of `shape`, light on dark.

    Parameters
    ----------
    shape : rows and columns of the data that the network was trained on
    as_is : the image is in that form already, and is only read
    """
    grey = _read_grey(path, shape, as_is)
    if not as_is:
        try:
            return normalise_digit(grey, shape)
        except ValueError as error:
            raise ElmldaError(f"{path}: {error}.") from error
    if grey.shape != shape:
        found, expected = (f"{columns} × {rows}" for rows, columns in (grey.shape, shape))
        raise ElmldaError(f"{path}: {found} pixels, the model was trained on {expected}.")
    return grey.astype(np.uint8)


def normalise_digit(grey: FloatArray, shape: tuple[int, int] = (28, 28)) -> NDArray[np.uint8]:
    """Bring the digit in a grey image to MNIST's form; ValueError if there is nothing in it."""
    ink = _find_ink(grey)
    strokes = _find_strokes(ink > 0.5)
    box = max(1, math.floor(BOX_SHARE * min(shape) + 1e-9))
    ink = _thicken(ink * _with_margin(strokes), strokes, box)
    return _place(_fit(_crop(ink), box), shape)


def _read_grey(path: Path, shape: tuple[int, int], as_is: bool) -> FloatArray:
    from PIL import Image, ImageOps, UnidentifiedImageError

    with open_input(path, "an image") as file:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of its size, and of damage beside the pixels
                with Image.open(file, formats=FORMATS) as opened:
                    _require_size(opened.size, shape if as_is else None)
                    if not as_is:
                        opened.thumbnail((LARGEST_SIDE, LARGEST_SIDE))
                    return _as_grey(ImageOps.exif_transpose(opened))
        except UnidentifiedImageError as error:
            known = ", ".join(FORMATS)
            raise ElmldaError(f"{path}: not an image that can be read: {known}.") from error
        except Exception as error:  # Pillow's decoders raise anything on damaged files
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            reason = " ".join(reason.split())[:200].rstrip(".")
            raise ElmldaError(f"{path}: cannot be read: {reason}.") from error


def _require_size(size: tuple[int, int], shape: tuple[int, int] | None) -> None:
    """Refuse an image for its size before its pixels take memory."""
    columns, rows = size
    if shape and sorted(size) != sorted(shape):
        raise ValueError(f"{columns} × {rows} pixels, the model was trained on {shape[1]} × {shape[0]}")
    if columns * rows > MOST_PIXELS:
        raise ValueError(f"{columns:,} × {rows:,} pixels, expected at most {MOST_PIXELS:,}")


def _as_grey(image: Image) -> FloatArray:
    """Grey levels 0 to 255; what is transparent becomes paper."""
    if image.mode.startswith("I") or image.mode == "F":
        values = np.asarray(image, np.float64)  # 16 bits, which Pillow would clip to 8
        if not (np.isfinite(values).all() and values.min() >= 0):
            raise ValueError("pixels that are negative or no numbers")
        return np.asarray(values * (255 / max(values.max(), 255)))
    if not image.has_transparency_data:
        return np.asarray(image.convert("L"), np.float64)
    both = np.asarray(image.convert("LA"), np.float64)
    grey, opacity = both[..., 0], both[..., 1] / 255
    total = opacity.sum()
    is_dark = total == 0 or (grey * opacity).sum() / total < 128
    return np.asarray(grey * opacity + (255 if is_dark else 0) * (1 - opacity))


def _find_ink(grey: FloatArray) -> FloatArray:
    """How much each pixel differs from the paper: 0 to 1, the strokes above 0.5."""
    difference = grey - _fit_paper(grey)
    if -difference.min() > difference.max():  # dark on light
        difference = -difference
    difference = np.maximum(difference, 0)
    if difference.max() < LEAST_CONTRAST:
        raise ValueError("no digit found: the image is all of one grey")
    threshold = _split_in_two(difference)
    full = np.median(difference[difference > threshold])
    # Half way from the threshold to nothing begins the ink, so the edges stay soft.
    return np.asarray(np.clip((difference - threshold / 2) / (full - threshold / 2), 0, 1))


def _fit_paper(grey: FloatArray) -> FloatArray:
    """The paper's brightness everywhere: a plane through the border, for light from one side."""
    rows, columns = np.indices(grey.shape)
    border = np.ones(grey.shape, bool)
    border[1:-1, 1:-1] = False
    terms = np.stack([np.ones(grey.shape), rows, columns], axis=-1)
    # Strokes may touch the border: only what is near its median counts.
    near = border & (np.abs(grey - np.median(grey[border])) <= 48)
    plane: FloatArray = np.linalg.lstsq(terms[near], grey[near], rcond=None)[0]
    return np.asarray(terms @ plane)


def _split_in_two(values: FloatArray) -> float:
    """Otsu's threshold: where two groups of values differ most from each other."""
    counts, edges = np.histogram(values, bins=128)
    centres = (edges[:-1] + edges[1:]) / 2
    below = np.cumsum(counts)[:-1]
    above = counts.sum() - below
    sums = np.cumsum(counts * centres)
    between = (
        below
        * above
        * (sums[:-1] / np.maximum(below, 1) - (sums[-1] - sums[:-1]) / np.maximum(above, 1)) ** 2
    )
    return float(edges[1 + int(between.argmax())])


def _find_strokes(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The mask without its specks."""
    spots, n_spots = ndimage.label(mask, np.ones((3, 3)))
    sizes = np.bincount(spots.ravel(), minlength=n_spots + 1)
    sizes[0] = 0
    return np.asarray((sizes >= SPECK * sizes.max())[spots] & mask)


def _with_margin(strokes: NDArray[np.bool_]) -> NDArray[Any]:
    """The strokes with their soft edges."""
    return ndimage.binary_dilation(strokes, np.ones((3, 3), bool), iterations=2)


def _thicken(ink: FloatArray, strokes: NDArray[np.bool_], box: int) -> FloatArray:
    """Make a fine pen's strokes as thick as they must be to be seen in the box."""
    rows, columns = (np.ptp(np.flatnonzero(strokes.any(axis=axis))) + 1 for axis in (1, 0))
    wanted = THINNEST * max(rows, columns)
    distances = ndimage.distance_transform_edt(np.pad(strokes, 1))
    thickness = 2 * float(np.percentile(distances[distances > 0], 90))
    missing = math.ceil((wanted - thickness) / 2)
    if missing <= 0 or max(rows, columns) <= box:
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
