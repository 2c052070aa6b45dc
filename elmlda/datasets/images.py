"""Image files of one digit.

MNIST's digits are light on dark, scaled with their proportions kept so that they fit a box of 20 × 20,
and placed with their centre of mass in the middle of 28 × 28. One digit in a clean scan or drawing is
brought to the same form.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from PIL import Image, ImageFilter, ImageOps

from elmlda.core import FloatArray
from elmlda.errors import ElmldaError

IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp")
LARGEST_SIDE = 400
"""Scans are made smaller than this first: many times what is needed."""
LEAST_CONTRAST = 32
"""Grey levels of 255 between paper and ink."""
THINNEST = 0.08
"""Strokes thinner than this share of the digit would fade away: MNIST's have some 0.1 to 0.2."""


def read_digit(path: Path, shape: tuple[int, int] | None) -> FloatArray:
    """The digit in an image file, rows × columns as in `shape`, full ink 255.

    An image of that shape is taken as it is.
    """
    if shape is None:
        raise ElmldaError(f"{path}: an image, and the model was not trained on images.")
    try:
        with Image.open(path) as opened:
            picture = ImageOps.exif_transpose(opened).convert("RGBA")
    except Exception as error:  # Pillow's decoders raise anything on damaged files
        raise ElmldaError(f"{path}: not an image that can be read ({type(error).__name__}).") from error
    paper = Image.new("RGBA", picture.size, "white")
    grey = Image.alpha_composite(paper, picture).convert("L")
    if grey.size == shape[::-1]:
        return np.rint(255 * _find_ink(path, grey))
    grey.thumbnail((LARGEST_SIDE, LARGEST_SIDE))
    if min(grey.size) > 100:  # specks, but not the strokes of a small drawing
        grey = grey.filter(ImageFilter.MedianFilter(3))
    ink = _fit(_find_ink(path, grey), round(20 / 28 * min(shape)))
    # A window of the ink with margins, its middle at the centre of mass.
    centre = [(index * ink).sum() / ink.sum() for index in np.indices(ink.shape)]
    starts = (side - round(side / 2 - middle) for side, middle in zip(shape, centre, strict=True))
    rows, columns = (slice(start, start + side) for start, side in zip(starts, shape, strict=True))
    return np.rint(255 * np.pad(ink, [(side, side) for side in shape])[rows, columns])


def _find_ink(path: Path, picture: Image.Image) -> FloatArray:
    """How much ink each pixel has, 0 to 1: what differs from the paper, which the border shows."""
    grey = np.asarray(picture, np.float64)
    border = np.concatenate([grey[[0, -1]].ravel(), grey[:, [0, -1]].ravel()])
    difference = grey - np.median(border)
    if -difference.min() > difference.max():  # dark on light
        difference, border = -difference, -border
    full = float(np.median(difference[difference >= difference.max() / 2]))
    is_uneven = np.mean(np.abs(border - np.median(border)) > full / 4) > 0.1
    if full < LEAST_CONTRAST or is_uneven or np.mean(difference > full / 2) > 0.4:
        raise ElmldaError(f"{path}: no digit found, expected one on plain paper, in a clean scan.")
    return np.asarray(np.clip((difference / full - 0.2) / 0.8, 0, 1))


def _fit(ink: FloatArray, box: int) -> FloatArray:
    """Crop, and scale with the proportions kept so that the longer side is the box's."""
    rows, columns = (np.flatnonzero((ink > 0.4).any(axis=axis)) for axis in (1, 0))
    ink = ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    edges = np.abs(np.diff(ink, axis=0)).sum() + np.abs(np.diff(ink, axis=1)).sum()
    lacking = math.ceil((THINNEST * max(ink.shape) - 2.5 * ink.sum() / max(edges, 1)) / 2)
    picture = Image.fromarray(np.pad(255 * ink, max(lacking, 0)).astype(np.uint8))
    if lacking > 0 and max(ink.shape) > box:  # a fine pen's strokes would fade away
        picture = picture.filter(ImageFilter.MaxFilter(2 * lacking + 1))
    width, height = (max(1, round(box / max(picture.size) * side)) for side in picture.size)
    fitted = np.asarray(picture.resize((width, height), Image.Resampling.BICUBIC), np.float64)
    return np.asarray(fitted / fitted.max())
