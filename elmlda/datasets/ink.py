"""The ink of one digit in a drawing or photograph, apart from paper, shadows, ruled lines and dirt."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from elmlda.core.arrays import FloatArray

Mask = NDArray[np.bool_]

# Drawings
LEAST_CONTRAST = 16  # grey levels of 255 between paper and ink: less is an empty image
LEAST_SIGNAL = 6  # standard deviations of the paper's grain: less is not ink
FLAT = 12  # grey levels of 255 by which the border of plain paper may differ from a plane

# Photographs; shares are of the longer side unless another whole is named
SMALLEST_PHOTOGRAPH = 64  # pixels at the longer side: what is smaller is a drawing
WIDEST_STROKE = 0.2  # what is dark and wider than this is a shadow or a desk
FAINTEST = 0.08  # darkness, as a share of the paper's brightness, that may be ink
FAINTEST_DIGIT = 0.16  # darkness that most of a digit must have
LEAST_CHALK = 24  # grey levels by which chalk is lighter than the board: less is a lamp's spot
DEEPEST_TILT = 12  # degrees by which ruled lines may be off the horizontal
LINE_SHARE = 0.5  # of a row or column that a ruled line covers
THICKEST_LINE = 0.04
NEAR = 0.4  # weight of the centre, see `_weigh_centre`, at some quarter of the side from it

# Strokes; shares are of the digit's size
CENTRE = 0.2  # of the longer side: standard deviation of how near to the centre a digit is expected
SPECK = 0.03  # of the digit's pixels: what has fewer is dirt
WIDEST_GAP = 0.1  # what is nearer to the digit belongs to it
FARTHEST_PART = 0.3  # what is small and nearer than this is a part, like the bar of a 5
BLOB = 0.55  # strokes are not as wide as this


@dataclass(frozen=True, eq=False)
class Strokes:
    """The ink in a picture, and where it is the digit's."""

    ink: FloatArray
    """Of the whole picture: 0 to 1, strokes above 0.5."""
    mask: Mask

    @property
    def touches_border(self) -> bool:
        return bool(self.mask[[0, -1]].any() or self.mask[:, [0, -1]].any())

    @property
    def size(self) -> int:
        """The longer side of the box around the digit."""
        return max(_box(self.mask))

    @property
    def thickness(self) -> float:
        """How wide the pen was; the widest tenth of the strokes is left out."""
        return 2 * float(np.percentile(self._depths, 90))

    @property
    def is_blob(self) -> bool:
        """Whether no pen drew it: a sheet of paper, a stain."""
        return 2 * float(self._depths.max()) > BLOB * self.size

    @cached_property
    def _depths(self) -> FloatArray:
        """Distances of the digit's pixels to what is no stroke."""
        depths = ndimage.distance_transform_edt(np.pad(self.mask, 1))
        return np.asarray(depths[depths > 0])


def find_digit(grey: FloatArray) -> Strokes:
    """Find the digit in a grey picture; ValueError if there is none, or two.

    Only photographs need scikit-image.
    """
    paper, is_flat = _fit_paper(grey)
    is_small = max(grey.shape) < SMALLEST_PHOTOGRAPH
    if is_flat or is_small:
        strokes = _find_strokes(_find_drawn_ink(grey - paper))
        if is_small or not strokes.is_blob:
            return strokes
    try:
        strokes = _find_strokes(_find_photographed_ink(grey))
    except ImportError as error:
        raise ValueError(
            "not a plain drawing, and photographs need scikit-image: pip install 'elmlda[photos]'"
        ) from error
    if strokes.is_blob:
        raise ValueError("no digit found: what stands out is a spot, not a stroke")
    return strokes


def _fit_paper(grey: FloatArray) -> tuple[FloatArray, bool]:
    """A plane through the border, for light from one side; and whether the border is so flat."""
    border = np.ones(grey.shape, bool)
    border[1:-1, 1:-1] = False
    terms = np.stack([np.ones(grey.shape), *np.indices(grey.shape)], axis=-1)
    # Strokes may touch the border: only what is near its median counts.
    near = border & (np.abs(grey - np.median(grey[border])) <= 48)
    paper = np.asarray(terms @ np.linalg.lstsq(terms[near], grey[near], rcond=None)[0])
    return paper, bool(np.mean(np.abs(grey - paper)[border] <= FLAT) > 0.97)


def _find_drawn_ink(difference: FloatArray) -> FloatArray:
    """How much each pixel differs from the paper: 0 to 1, strokes above 0.5."""
    if -difference.min() > difference.max():  # dark on light
        difference = -difference
    difference = np.maximum(difference, 0)
    if difference.max() < LEAST_CONTRAST:
        raise ValueError("no digit found: the image is all of one grey")
    threshold = _split_in_two(difference)
    full = np.median(difference[difference > threshold])
    # The paper's grain is measured by differences between neighbours, along the longer side.
    steps = np.abs(np.diff(difference, axis=int(np.argmax(difference.shape))))
    if full < LEAST_SIGNAL * float(np.median(steps)) / 0.95:
        raise ValueError("no digit found: nothing stands out from the paper's grain")
    # Ink begins half way from nothing to the threshold, so that edges stay soft.
    return np.asarray(np.clip((difference - threshold / 2) / (full - threshold / 2), 0, 1))


def _split_in_two(values: FloatArray) -> float:
    """Otsu's threshold: where two groups of values differ most from each other."""
    counts, edges = np.histogram(values, bins=128)
    below = np.cumsum(counts)[:-1]
    above = counts.sum() - below
    sums = np.cumsum(counts * (edges[:-1] + edges[1:]) / 2)
    means = sums[:-1] / np.maximum(below, 1), (sums[-1] - sums[:-1]) / np.maximum(above, 1)
    between = below * above * (means[0] - means[1]) ** 2
    return float(edges[1 + int(between.argmax())])


def _find_photographed_ink(grey: FloatArray) -> FloatArray:
    """How dark each pixel is beside the paper around it: 0 to 1, strokes above 0.5."""
    ink = _measure_darkness(grey if _is_dark_on_light(grey) else 255 - grey)
    tilt = _measure_tilt(ink > FAINTEST)
    if tilt:
        ink = ndimage.rotate(ink, -tilt, reshape=False, order=1)
    margin = round(max(ink.shape) / 2 * np.sin(np.radians(abs(tilt))))  # turned away from the border
    kept = _without_border(_without_lines(_without_lines(ink > FAINTEST).T).T, margin)
    central = ink[kept & (_weigh_centre(ink.shape) > NEAR)]
    full = np.percentile(central, 80) if central.size else 0.0
    if full < FAINTEST_DIGIT:
        raise ValueError("no digit found: nothing stands out near the centre")
    return np.asarray(np.clip(ink / full, 0, 1) * kept)


def _is_dark_on_light(grey: FloatArray) -> bool:
    """Whether what differs from most of its surroundings, near the centre, is darker."""
    step = max(1, max(grey.shape) // 50)
    small = ndimage.uniform_filter(grey, step)[::step, ::step]
    difference = small - ndimage.median_filter(small, 13, mode="nearest")
    is_light = (_weigh_centre(small.shape) ** 2 * difference**3).sum() > 0
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
    weights = _weigh_centre(mask.shape)
    is_alone = (weights * inner).sum() < 0.05 * (weights * mask).sum()
    return mask if is_alone and weights[mask].max(initial=0) > NEAR else inner


def _weigh_centre(shape: tuple[int, ...]) -> FloatArray:
    """1 in the centre of the picture, less farther from it."""
    rows, columns = (np.arange(side) - (side - 1) / 2 for side in shape)
    squares = rows[:, None] ** 2 + columns**2
    return np.asarray(np.exp(-squares / (2 * (CENTRE * max(shape)) ** 2)))


def _find_strokes(ink: FloatArray) -> Strokes:
    """The strokes of the one digit near the centre, joined where the pen skipped."""
    mask = ink > 0.5
    if not mask.any():
        raise ValueError("no digit found: nothing stands out from the paper")
    weights = _weigh_centre(ink.shape)
    reach = 1.0
    for _ in range(3):  # the digit grows as its parts are joined, and the reach with it
        spots, digit = _choose_spot(mask, reach, weights)
        reach = max(1.0, WIDEST_GAP / 2 * max(_box(spots == digit)))
    return Strokes(ink, _with_parts(spots, digit, weights))


def _choose_spot(mask: Mask, reach: float, weights: FloatArray) -> tuple[NDArray[np.int32], int]:
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
    """Rows and columns of the box around it."""
    rows, columns = (np.flatnonzero(mask.any(axis=axis)) for axis in (1, 0))
    return int(np.ptp(rows)) + 1, int(np.ptp(columns)) + 1
