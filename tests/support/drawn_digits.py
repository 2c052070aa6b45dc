"""Digits drawn by several hands and photographed in several styles, all from a seed.

A hand gives the ink's cover, 0 to 1, on a canvas; a style makes a photograph's grey levels of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont
from scipy import interpolate, ndimage

SIDE = 480
Ink = NDArray[np.float64]
Rng = np.random.Generator

ROUND = {
    0: ["52 5, 25 20, 18 50, 28 85, 52 95, 76 82, 82 48, 74 16, 50 5"],
    1: ["54 5, 52 50, 50 96"],
    2: ["22 26, 38 8, 62 8, 72 28, 60 52, 38 74, 20 92, 40 90, 80 92"],
    3: ["24 14, 48 5, 70 16, 68 36, 46 48, 72 58, 76 80, 52 96, 22 86"],
    4: ["66 5, 60 10, 20 64, 24 68, 84 64", "62 34, 62 70, 60 97"],
    5: ["76 6, 34 8, 30 10, 26 44, 30 44, 58 40, 78 62, 64 92, 34 96, 20 86"],
    6: ["66 5, 40 28, 26 62, 34 90, 58 95, 74 78, 62 58, 40 60, 28 76"],
    7: ["20 8, 50 9, 80 8, 78 12, 58 48, 42 96"],
    8: ["66 14, 44 6, 28 20, 40 40, 66 58, 74 80, 54 96, 30 86, 30 68, 58 44, 72 24, 64 12"],
    9: ["74 18, 52 6, 30 20, 32 44, 54 50, 72 32, 74 18, 74 50, 66 96"],
}
"""Points of each stroke in a box of 100 × 100, x from the left and y from the top; joined by curves."""
ANGULAR = {
    0: ["50 5, 26 25, 24 75, 50 96, 76 75, 76 25, 50 5"],
    1: ["36 24, 54 5, 54 96"],
    2: ["24 24, 34 8, 64 8, 72 26, 24 94, 78 94"],
    3: ["24 8, 72 8, 46 42, 66 48, 74 72, 60 94, 24 92"],
    4: ["34 6, 24 56, 78 56", "64 28, 62 96"],
    5: ["32 8, 28 44, 62 44, 76 64, 66 90, 26 94", "32 8, 74 8"],
    6: ["60 5, 32 44, 26 74, 42 95, 66 88, 72 66, 54 54, 28 70"],
    7: ["22 8, 78 8, 44 96"],
    8: ["50 48, 28 28, 40 6, 62 6, 72 26, 50 48, 26 72, 38 94, 64 94, 76 72, 50 48"],
    9: ["72 26, 56 6, 32 12, 28 36, 46 50, 72 26, 70 60, 58 96"],
}
CONTINENTAL = {
    **ANGULAR,
    1: ["30 36, 58 5, 56 96"],
    4: ["52 5, 20 62, 84 62", "62 40, 60 97"],
    7: ["20 8, 78 8, 44 96", "36 50, 72 48"],
}


def draw_strokes(strokes: list[str], rng: Rng, height: float, width: float, is_round: bool) -> Ink:
    """Draw strokes with a pen, each point a little off, as no two digits of a hand are the same."""
    image = Image.new("L", (2 * SIDE, 2 * SIDE))
    pen = ImageDraw.Draw(image)
    for stroke in strokes:
        points = np.array([point.split() for point in stroke.split(",")], float)
        points += rng.normal(0, 2.0, points.shape)
        if is_round and len(points) > 3:
            curve, _ = interpolate.splprep(points.T, s=0, k=3)
            points = np.column_stack(interpolate.splev(np.linspace(0, 1, 120), curve))
        points = (points - 50) * 2 * height / 100 + SIDE
        pen.line([tuple(point) for point in points], fill=255, width=round(2 * width), joint="curve")
        for x, y in points:
            pen.ellipse((x - width, y - width, x + width, y + width), fill=255)
    return np.asarray(image.resize((SIDE, SIDE), Image.Resampling.BOX), float) / 255


def draw_mnist(digit: NDArray[np.uint8], height: float, grow: float) -> Ink:
    """Draw one of MNIST's digits large; `grow` makes its strokes thicker, in pixels."""
    zoom = height / 20
    large = ndimage.zoom(digit.reshape(28, 28).astype(float), zoom, order=3)
    inside = ndimage.gaussian_filter(large, zoom / 2) > 110
    signed = ndimage.distance_transform_edt(inside) - ndimage.distance_transform_edt(~inside)
    cover = np.clip(signed + grow + 0.5, 0, 1)
    before = (SIDE - cover.shape[0]) // 2
    return np.pad(cover, (before, SIDE - cover.shape[0] - before))


def draw_font(digit: int, height: float, name: str) -> Ink:
    """Draw a printed digit, in a font that comes with matplotlib."""
    import matplotlib

    path = Path(matplotlib.get_data_path()) / "fonts/ttf" / f"{name}.ttf"
    image = Image.new("L", (SIDE, SIDE))
    font = ImageFont.truetype(path, round(1.35 * height))
    ImageDraw.Draw(image).text((SIDE / 2, SIDE / 2), str(digit), 255, font, anchor="mm")
    return np.asarray(image, float) / 255


def slant(ink: Ink, degrees: float) -> Ink:
    """Lean the digit to the right."""
    shear = np.tan(np.radians(degrees))
    middle = ink.shape[0] / 2
    return ndimage.affine_transform(ink, [[1, 0], [shear, 1]], [0, -shear * middle], order=1)


HANDS = (
    "round, fine pen",
    "round, felt pen, slanted",
    "angular",
    "angular, 1 and 7 as in Europe",
    "MNIST",
    "MNIST, fine pen",
    "MNIST, felt pen, leaning back",
    "printed, oblique",
)


def draw_hands(digit: int, samples: NDArray[np.uint8], rng: Rng, scale: float = 1.0) -> Iterator[Ink]:
    """Draw a digit by each of the eight hands.

    Parameters
    ----------
    samples : MNIST's test images of this digit
    scale : of the digit's height, which is some 40 % of the picture's
    """
    height = scale * rng.uniform(0.34, 0.48) * SIDE
    mnist = samples[rng.choice(len(samples), 3, replace=False)]
    yield draw_strokes(ROUND[digit], rng, height, 0.035 * height, is_round=True)
    yield slant(draw_strokes(ROUND[digit], rng, height, 0.06 * height, is_round=True), 14)
    yield draw_strokes(ANGULAR[digit], rng, height, 0.045 * height, is_round=False)
    yield draw_strokes(CONTINENTAL[digit], rng, height, 0.03 * height, is_round=False)
    yield draw_mnist(mnist[0], height, 0.0)
    yield draw_mnist(mnist[1], height, -0.012 * height)
    yield slant(draw_mnist(mnist[2], height, 0.01 * height), -6)
    yield draw_font(digit, height, "DejaVuSans-Oblique")


def _noise(rng: Rng, deviation: float, blur: float = 0.0) -> Ink:
    noise = rng.normal(0, 1, (SIDE, SIDE))
    if blur:
        noise = ndimage.gaussian_filter(noise, blur)
        noise /= noise.std()
    return deviation * noise


def _grid(rng: Rng, tilt: float) -> tuple[Ink, Ink]:
    """How far right and down each pixel is, on a sheet that is turned a little."""
    rows, columns = np.indices((SIDE, SIDE)) - SIDE / 2
    angle = np.radians(rng.uniform(-tilt, tilt))
    return columns * np.cos(angle) - rows * np.sin(angle), columns * np.sin(angle) + rows * np.cos(
        angle
    )


def _lines(places: Ink, pitch: float, width: float, rng: Rng) -> Ink:
    return np.clip(width / 2 + 0.5 - np.abs((places + rng.uniform(0, pitch)) % pitch - pitch / 2), 0, 1)


def _write(paper: Ink, ink: Ink, darkness: float) -> Ink:
    return paper * (1 - darkness * ink)


def plain(ink: Ink, rng: Rng) -> Ink:
    return 255 * (1 - ink)


def pencil(ink: Ink, rng: Rng) -> Ink:
    grain = np.clip(0.8 + _noise(rng, 0.3, 1.0), 0.15, 1)
    paper = 228 + _noise(rng, 2.5, 1.5) + np.linspace(-12, 12, SIDE)
    return _write(paper, ndimage.gaussian_filter(ink * grain, 0.8), rng.uniform(0.3, 0.45))


def ruled(ink: Ink, rng: Rng) -> Ink:
    right, down = _grid(rng, 4)
    lines = 0.28 * _lines(down, rng.uniform(36, 60), 2.2, rng)
    lines = np.maximum(lines, 0.3 * (np.abs(right + rng.uniform(170, 210)) < 1.2))
    return _write((222 + np.linspace(-15, 10, SIDE)) * (1 - lines), ink, 0.72)


def squared(ink: Ink, rng: Rng) -> Ink:
    places, pitch = _grid(rng, 4), rng.uniform(24, 34)
    lines = 0.22 * np.maximum(*(_lines(place, pitch, 1.8, rng) for place in places))
    return _write(225 * (1 - lines), ink, 0.72)


def shadow(ink: Ink, rng: Rng) -> Ink:
    right, _ = _grid(rng, 180)
    is_dark = right + rng.uniform(-50, 50) > 0
    edge = ndimage.gaussian_filter(is_dark.astype(float), rng.uniform(1.5, 12))
    return _write(225 * (1 - rng.uniform(0.35, 0.55) * edge), ink, 0.7)


def desk(ink: Ink, rng: Rng) -> Ink:
    right, down = _grid(rng, 9)
    grain = _noise(rng, 1.0, 1.0)
    grain = ndimage.gaussian_filter1d(grain, 30, axis=1)
    wood = rng.uniform(45, 85) * (1 + 0.12 * grain / grain.std())
    inside = (np.abs(right) < rng.uniform(150, 195)) & (np.abs(down) < rng.uniform(160, 200))
    sheet = ndimage.gaussian_filter(inside.astype(float), 1.0)
    cast = ndimage.gaussian_filter(np.roll(inside, (6, 6), (0, 1)).astype(float), 5)
    return _write(218 * sheet + wood * (1 - 0.5 * cast) * (1 - sheet), ink * inside, 0.72)


def vignette(ink: Ink, rng: Rng) -> Ink:
    right, down = _grid(rng, 0)
    distance = np.hypot(right + rng.uniform(-40, 40), down + rng.uniform(-40, 40)) / (SIDE / 2)
    return _write(200 / (1 + rng.uniform(0.7, 1.0) * distance**2) + 12, ink, 0.7)


STYLES: dict[str, Callable[[Ink, Rng], Ink]] = {
    "plain": plain,
    "pencil": pencil,
    "ruled": ruled,
    "squared": squared,
    "shadow": shadow,
    "desk": desk,
    "vignette": vignette,
}


def photograph(style: str, ink: Ink, rng: Rng) -> Image.Image:
    """Put the ink somewhere near the middle of a sheet and take its picture."""
    moved = ndimage.shift(ink, rng.uniform(-25, 25, 2), order=1)
    grey = STYLES[style](moved, rng)
    if style != "plain":
        grey = ndimage.gaussian_filter(grey, 0.7) + _noise(rng, 2.5)
    return Image.fromarray(np.clip(grey, 0, 255).round().astype(np.uint8))


def draw_style(
    style: str, inputs: NDArray[np.uint8], labels: NDArray[np.int64], seed: int = 0
) -> Iterator[tuple[Image.Image, int]]:
    """Photographs of ten digits by eight hands, three of which draw MNIST's, with their labels."""
    rng = np.random.default_rng([seed, list(STYLES).index(style)])
    for digit in range(10):
        scale = 0.75 if style == "desk" else 1.0
        for ink in draw_hands(digit, inputs[labels == digit], rng, scale):
            yield photograph(style, ink, rng), digit
