"""Image files: six formats, read as grey levels without trusting what is in them."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from elmlda.core.arrays import FloatArray
from elmlda.datasets.content import open_input
from elmlda.datasets.drawings import Digit, normalise_digit
from elmlda.errors import ElmldaError

if TYPE_CHECKING:
    from PIL.Image import Image

LARGEST_SIDE = 400
"""Photographs are made smaller than this first: many times what is needed."""
MOST_PIXELS = 64_000_000
"""More than a camera has: a small file can hold an image of one colour that fills the memory."""
FORMATS = ("PNG", "JPEG", "BMP", "GIF", "TIFF", "WEBP")
"""Others, by whatever name, could have Pillow run another program (EPS) or take long."""


def read_digit(path: Path, shape: tuple[int, int], as_is: bool = False) -> Digit:
    """Read the digit in an image file: `shape` pixels, light on dark.

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
    return Digit(grey.astype(np.uint8), grey)


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
