"""Digits from drawings and photographs, in MNIST's form."""

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFilter

from elmlda.datasets.images import normalise_digit, read_digit
from elmlda.errors import ElmldaError
from elmlda.networks.model import Recipe, fit_network
from elmlda.settings import NetworkSettings

SEVEN = [(60, 44), (176, 44), (100, 204)]


def draw(ink="black", paper="white", mode="RGB", width=12, size=(240, 240), shift=(0, 0)):
    image = Image.new(mode, size, paper)
    line = [(x + shift[0], y + shift[1]) for x, y in SEVEN]
    ImageDraw.Draw(image).line(line, fill=ink, width=width, joint="curve")
    return image


def read(image, tmp_path, name="digit.png", **options):
    image.save(tmp_path / name)
    return read_digit(tmp_path / name, (28, 28), **options).image


def assert_in_form(digit):
    """As every digit of MNIST: 20 pixels at the longer side, the centre of mass at (14, 14)."""
    assert (digit.shape, digit.dtype, digit.max()) == ((28, 28), np.uint8, 255)
    rows, columns = (np.flatnonzero(digit.sum(axis=axis)) for axis in (1, 0))
    assert 19 <= max(np.ptp(rows), np.ptp(columns)) + 1 <= 21
    mass = digit / digit.sum()
    for axis in (0, 1):
        assert abs((np.indices(digit.shape)[axis] * mass).sum() - 14) <= 0.75


def same(one, other, within=0.1):
    """The share of ink that differs."""
    difference = np.abs(one.astype(float) - other).sum()
    return difference / (one.astype(float).sum() + other.sum()) <= within


DRAWINGS = {
    "dark on light": draw(),
    "light on dark": draw("white", "black"),
    "grey": draw(90, 170, "L"),
    "colours": draw("darkblue", "lightyellow"),
    "palette": draw().convert("P"),
    "one bit": draw().convert("1"),
    "elsewhere": draw(shift=(50, 25), size=(500, 300)),
    "dark, on nothing": draw((0, 0, 0, 255), (0, 0, 0, 0), "RGBA"),
    "light, on nothing": draw((255, 255, 255, 255), (0, 0, 0, 0), "RGBA"),
    "sixteen bits": Image.fromarray(np.asarray(draw().convert("L")).astype(np.uint16) * 257),
    "large": draw().resize((2400, 2400)),
}


@pytest.mark.parametrize("image", DRAWINGS.values(), ids=DRAWINGS)
def test_a_drawing_is_brought_to_mnists_form(image, tmp_path):
    found = read(image, tmp_path)
    assert_in_form(found)
    assert same(found, read(draw(), tmp_path))


def test_a_photograph(tmp_path):
    """Jpeg, blurred, noisy, lit from one side, turned by its Exif, with a speck."""
    rng = np.random.default_rng(0)
    grey = np.asarray(draw("black", "#d0d0d0", "RGB").convert("L"), float) * 0.6 + 60
    grey += np.linspace(-25, 25, 240)[:, None] + rng.normal(0, 4, grey.shape)
    grey[20:24, 200:204] = 50
    photograph = Image.fromarray(np.clip(grey, 0, 255).astype(np.uint8))
    photograph = photograph.filter(ImageFilter.GaussianBlur(1))
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned clockwise
    photograph.rotate(90).save(tmp_path / "photo.jpg", exif=exif)
    found = read_digit(tmp_path / "photo.jpg", (28, 28)).image
    assert_in_form(found)
    assert same(found, read(draw(), tmp_path), within=0.2)


@pytest.mark.parametrize("width", [1, 2, 4])
def test_a_fine_pens_strokes_are_seen(width, tmp_path):
    found = read(draw(width=width), tmp_path)
    assert_in_form(found)
    assert np.count_nonzero(found > 128) >= 40


def test_proportions_are_kept(tmp_path):
    image = Image.new("L", (100, 100), 255)
    ImageDraw.Draw(image).rectangle((20, 40, 59, 49), fill=0)
    found = read(image, tmp_path)
    assert np.count_nonzero(found.any(axis=1)) in (5, 6)
    assert np.count_nonzero(found.any(axis=0)) in (20, 21)


def test_other_sizes():
    grey = np.asarray(draw().convert("L"), float)
    for shape in ((28, 28), (8, 8), (16, 20)):
        found = normalise_digit(grey, shape).image
        assert found.shape == shape
        assert found.max() == 255


def test_a_stroke_from_edge_to_edge():
    """The mass of a long line can lie so that the line does not fit; what is beyond is cut off."""
    grey = np.full((60, 60), 255.0)
    grey[:12, :] = 0
    grey[:, :4] = 0
    found = normalise_digit(grey).image
    assert found.shape == (28, 28)
    assert found.any()


def test_as_is(tmp_path, mnist):
    digit = mnist.test.inputs[0].reshape(28, 28)
    np.testing.assert_array_equal(read(Image.fromarray(digit), tmp_path, as_is=True), digit)
    with pytest.raises(ElmldaError, match="240 × 240 pixels, the model was trained on 28 × 28"):
        read(draw(), tmp_path, as_is=True)


def test_as_is_but_turned_by_the_camera(tmp_path):
    """The size counts as it is seen."""
    turned = Image.Exif()
    turned[0x0112] = 6
    Image.new("L", (30, 20), 7).save(tmp_path / "turned.png", exif=turned)
    with pytest.raises(ElmldaError, match="20 × 30 pixels, the model was trained on 30 × 20"):
        read_digit(tmp_path / "turned.png", (20, 30), as_is=True)


def test_files_that_are_no_digits(tmp_path):
    def refusal(name, content):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ElmldaError) as error:
            read_digit(tmp_path / name, (28, 28))
        return str(error.value)

    draw().save(tmp_path / "whole.png")
    whole = (tmp_path / "whole.png").read_bytes()
    assert refusal("text.png", b"hello").endswith(
        "not an image that can be read: PNG, JPEG, BMP, GIF, TIFF, WEBP."
    )
    assert "cannot be read" in refusal("cut.png", whole[: len(whole) // 2])
    for value in (0, 128, 255):
        Image.new("L", (40, 40), value).save(tmp_path / "blank.png")
        message = refusal("blank.png", (tmp_path / "blank.png").read_bytes())
        assert message.endswith("no digit found: the image is all of one grey.")
    for value in (-3.0, float("nan")):
        Image.fromarray(np.full((9, 9), value, np.float32)).save(tmp_path / "odd.tiff")
        message = refusal("odd.tiff", (tmp_path / "odd.tiff").read_bytes())
        assert message.endswith("pixels that are negative or no numbers.")
    Image.new("L", (1, 1), 3).save(tmp_path / "one.png")
    assert "no digit" in refusal("one.png", (tmp_path / "one.png").read_bytes())


def test_mnists_digits_drawn_large_are_recognised_as_before(mnist):
    """400 test digits, ten times as large and dark on light: as many errors as of the originals."""
    seed = np.random.SeedSequence(0, spawn_key=(0,))
    recipe = Recipe(seed, 784, 784, NetworkSettings(input_scale=1 / 255))
    train = mnist.train
    network = fit_network(recipe, train.inputs, train.labels, 1.0, np.full(10, 0.1), 10)
    originals, labels = mnist.test.inputs[:400], mnist.test.labels[:400]

    def enlarge(digit):
        large = Image.fromarray(digit.reshape(28, 28)).resize((280, 280), Image.Resampling.BICUBIC)
        return 255 - np.asarray(large, float)

    drawn = np.stack([normalise_digit(enlarge(digit)).image.ravel() for digit in originals])
    errors = [(network.scores(each).argmax(axis=1) != labels).sum() for each in (originals, drawn)]
    assert errors[1] <= errors[0] + 8
