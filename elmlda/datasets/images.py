"""A digit from an image file, in MNIST's form; the file is not trusted.

MNIST's digits are light on dark, scaled with their proportions kept so that they fit a box of 20 × 20,
and placed with their centre of mass at pixel (14, 14) of 28 × 28. A network trained on such images is
of use for others only if they are brought to the same form.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from elmlda.core.arrays import FloatArray
from elmlda.datasets.content import open_input
from elmlda.datasets.ink import Strokes, find_digit
from elmlda.errors import ElmldaError

if TYPE_CHECKING:
    from PIL.Image import Image

LARGEST_SIDE = 400
"""Photographs are made smaller than this first: many times what is needed."""
MOST_PIXELS = 64_000_000
"""More than a camera has: a small file can hold an image of one colour that fills the memory."""
FORMATS = ("PNG", "JPEG", "BMP", "GIF", "TIFF", "WEBP")
"""Others, by whatever name, could have Pillow run another program (EPS) or take long."""
BOX_SHARE = 20 / 28
"""Of the image's sides: the box that a digit fits."""
THINNEST = 0.08
"""Strokes thinner than this share of the box would fade away in it: MNIST's have some 0.1 to 0.2."""
VIEWS = (
    (0, 0, 1, 0),
    *((down, right, 1, 0) for down, right in ((-1, 0), (1, 0), (0, -1), (0, 1))),
    *((0, 0, scale, 0) for scale in (0.88, 1.12)),
    *((0, 0, 1, slant) for slant in (-0.18, 0.18)),
)
"""How a digit is moved down and right, in pixels, made larger, and slanted to the right (tangent)."""


@dataclass(frozen=True, eq=False)
class Digit:
    """A digit that was found in a picture."""

    image: NDArray[np.uint8]
    """In the form of the training data."""
    grey: FloatArray
    """The picture that it was found in, 0 to 255."""
    touches_border: bool = False


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


def normalise_digit(grey: FloatArray, shape: tuple[int, int] = (28, 28)) -> Digit:
    """Bring the digit in a grey image to MNIST's form; ValueError if there is none, or two."""
    strokes = find_digit(grey)
    box = max(1, math.floor(BOX_SHARE * min(shape) + 1e-9))
    return Digit(_place(_fit(_thicken(strokes, box), box), shape), grey, strokes.touches_border)


def vary_digit(image: NDArray[np.uint8]) -> NDArray[np.float64]:
    """The digit as it might as well have been brought to its form: n_views × rows × columns.

    A network's posteriors may change much if a digit moves by a pixel. Their mean over such views is
    right as often, and less often close to 1 for a wrong class.
    """
    middle = (np.array(image.shape) - 1) / 2
    views = []
    for down, right, scale, slant in VIEWS:
        matrix = np.array([[1, 0], [slant, 1]]) / scale
        offset = middle - matrix @ middle - (down, right)
        views.append(ndimage.affine_transform(image.astype(np.float64), matrix, offset, order=1))
    return np.stack(views)


def _thicken(strokes: Strokes, box: int) -> FloatArray:
    """The digit's ink with its soft edges; a fine pen's is thickened so that it is seen in the box."""
    around = ndimage.binary_dilation(strokes.mask, np.ones((3, 3), bool), iterations=2)
    ink = strokes.ink * around
    missing = math.ceil((THINNEST * strokes.size - strokes.thickness) / 2)
    if missing > 0 and strokes.size > box:
        ink = ndimage.grey_dilation(np.pad(ink, missing), size=(2 * missing + 1,) * 2)
    return np.asarray(ink)


def _fit(ink: FloatArray, box: int) -> FloatArray:
    """Crop, and scale with the proportions kept so that the longer side is the box's."""
    from PIL import Image

    rows, columns = (np.flatnonzero((ink > 0.1).any(axis=axis)) for axis in (1, 0))
    ink = ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    height, width = (max(1, round(box / max(ink.shape) * side)) for side in ink.shape)
    picture = Image.fromarray(ink.astype(np.float32))
    fitted = np.asarray(picture.resize((width, height), Image.Resampling.BICUBIC), np.float64)
    return np.asarray(np.clip(fitted / fitted.max(), 0, 1))


def _place(ink: FloatArray, shape: tuple[int, int]) -> NDArray[np.uint8]:
    """Put the ink with its centre of mass in the middle, cut off where that is beyond the sides."""
    weights = ink / ink.sum()
    centre = [float((index * weights).sum()) for index in np.indices(ink.shape)]
    # A window of the ink with a whole image's margin on each side.
    starts = (side - round(side / 2 - middle) for side, middle in zip(shape, centre, strict=True))
    window = tuple(slice(start, start + side) for start, side in zip(starts, shape, strict=True))
    padded = np.pad(ink, [(side, side) for side in shape])
    return np.rint(255 * padded[window]).astype(np.uint8)
