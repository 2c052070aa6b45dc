"""One digit in a photograph: found in every style, or said not to be there."""

import sys

import numpy as np
import pytest
from drawn_digits import ROUND as ROUND_HAND
from drawn_digits import SIDE, STYLES, draw_strokes, draw_style, photograph

from elmlda.datasets.images import normalise_digit, vary_digit
from elmlda.networks.model import Model, Recipe, fit_network
from elmlda.settings import NetworkSettings

PHOTOGRAPHS = [style for style in STYLES if style not in ("plain", "pencil")]


@pytest.fixture(autouse=True)
def _scikit_image():
    pytest.importorskip("skimage")


def write(digit, size=200, width=9, seed=0):
    return draw_strokes(ROUND_HAND[digit], np.random.default_rng(seed), size, width, is_round=True)


def take(style, ink, seed=0):
    return np.asarray(photograph(style, ink, np.random.default_rng(seed)), float)


def difference(one, other):
    """The share of ink that is not the same, if one may be moved by a pixel."""
    one, other = one.astype(float), other.astype(float)
    moved = [np.roll(one, shift, (0, 1)) for shift in np.ndindex(3, 3)]
    return min(np.abs(each - np.roll(other, 1, (0, 1))).sum() for each in moved) / (one + other).sum()


@pytest.mark.parametrize("digit", [2, 5])
@pytest.mark.parametrize("style", STYLES)
def test_a_digit_is_found_in_every_style(style, digit):
    """Turned as its sheet may be, it is still much more like itself than like another digit."""
    ink = write(digit, 150)
    found = normalise_digit(take(style, ink)).image
    itself, other = (normalise_digit(255 * (1 - each)).image for each in (ink, write(0, 150)))
    assert difference(found, itself) < min(0.3, 0.6 * difference(found, other))


def test_chalk_on_a_board():
    ink = write(3)
    board = 255 - take("vignette", ink)
    assert difference(normalise_digit(board).image, normalise_digit(255 * (1 - ink)).image) < 0.25


@pytest.mark.parametrize("style", STYLES)
def test_nothing_on_the_paper(style):
    with pytest.raises(ValueError, match=r"^no digit found: "):
        normalise_digit(take(style, np.zeros((SIDE, SIDE))))


@pytest.mark.parametrize("style", ["plain", "ruled", "shadow"])
def test_two_digits(style):
    ink = np.roll(write(3, 150), -70, axis=1) + np.roll(write(8, 150), 70, axis=1)
    with pytest.raises(ValueError, match=r"^two digits"):
        normalise_digit(take(style, ink))


def test_strokes_that_do_not_touch_are_one_digit():
    """A five whose bar hangs in the air, drawn with a pen that skips."""
    ink = write(5)
    whole = normalise_digit(255 * (1 - ink)).image
    ink[:, 236:242] = 0
    ink[222:230] = 0
    assert difference(normalise_digit(255 * (1 - ink)).image, whole) < 0.2


def test_dust_and_a_far_corner_are_left_out():
    ink = write(7, 150)
    expected = normalise_digit(255 * (1 - ink)).image
    ink[100:104, 300:304] = ink[20:60, 20:24] = 1
    np.testing.assert_array_equal(normalise_digit(255 * (1 - ink)).image, expected)


@pytest.mark.parametrize("style", ["plain", "shadow"])
def test_ink_at_the_border_is_told(style):
    grey = take(style, write(1))
    assert not normalise_digit(grey).touches_border
    assert normalise_digit(grey[220:]).touches_border


def test_without_scikit_image(monkeypatch):
    """Plain drawings need nothing else; a photograph names what it needs."""
    for name in ("skimage", "skimage.transform", "skimage.segmentation"):
        monkeypatch.setitem(sys.modules, name, None)
    normalise_digit(take("plain", write(4)))
    normalise_digit(take("pencil", write(4)))
    for style in PHOTOGRAPHS:
        with pytest.raises(ValueError, match=r"scikit-image: pip install 'elmlda\[photos\]'$"):
            normalise_digit(take(style, write(4)))


def test_views_are_small_changes_of_the_digit():
    image = normalise_digit(255 * (1 - write(2))).image
    views = vary_digit(image)
    np.testing.assert_array_equal(views[0], image)
    np.testing.assert_array_equal(views[1][:-1], image[1:])  # a pixel higher
    assert all(difference(view, image) < 0.5 for view in views)
    assert views.shape == (9, 28, 28)


@pytest.mark.slow
@pytest.mark.parametrize("style", STYLES)
def test_every_style_is_read(style, mnist):
    """At least 80 % right; wrong with a posterior of 0.99 or more at most one in 40."""
    recipe = Recipe(np.random.SeedSequence(0), 784, 1568, NetworkSettings(input_scale=1 / 255))
    train, test = mnist.train, mnist.test
    network = fit_network(recipe, train.inputs, train.labels, 1.0, np.full(10, 0.1), 10)
    model = Model((network,), np.arange(10))
    n_right = n_surely_wrong = n = 0
    for image, label in draw_style(style, test.inputs, test.labels, seed=1):
        n += 1
        image.thumbnail((400, 400))
        try:
            views = vary_digit(normalise_digit(np.asarray(image, float)).image)
        except ValueError:
            continue
        posteriors = model.values(views.reshape(len(views), -1)).mean(axis=0)
        is_right = posteriors.argmax() == label
        n_right += is_right
        n_surely_wrong += not is_right and posteriors.max() >= 0.99
    assert n_right >= 0.8 * n
    assert n_surely_wrong <= n / 40
