"""Images of one digit, brought to the form of MNIST's."""

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont
from refusals import refusal_of_file

from elmlda.datasets.images import read_digit

SHAPE = (28, 28)


def draw(text="7", size=(200, 260), at=(90, 120), height=120, paper=255, ink=0):
    image = Image.new("L", size, paper)
    ImageDraw.Draw(image).text(at, text, ink, ImageFont.load_default(height), anchor="mm")
    return image


def save(image, tmp_path, name="x.png"):
    image.save(tmp_path / name)
    return tmp_path / name


def read(image, tmp_path, name="x.png", shape=SHAPE):
    return read_digit(save(image, tmp_path, name), shape)


@pytest.mark.parametrize(("paper", "ink"), [(255, 0), (0, 255), (230, 90), (20, 140)])
def test_a_digit_is_cropped_scaled_and_centred_by_mass(tmp_path, paper, ink):
    digit = read(draw(paper=paper, ink=ink), tmp_path)
    assert digit.max() == 255
    assert (digit[0] == 0).all()
    rows, columns = (np.flatnonzero((digit > 60).any(axis=axis)) for axis in (1, 0))
    assert np.ptp(rows) + 1 in (19, 20, 21)
    centre = [(index * digit).sum() / digit.sum() for index in np.indices(digit.shape)]
    np.testing.assert_allclose(centre, 14, atol=0.6)
    np.testing.assert_allclose(digit, read(draw(), tmp_path), atol=60)
    assert len(columns) < len(rows)


def test_transparent_paper_and_turned_photographs(tmp_path):
    grey = np.asarray(draw())
    clear = Image.fromarray(np.dstack([0 * grey, 0 * grey, 0 * grey, 255 - grey]), "RGBA")
    assert np.abs(read(clear, tmp_path) - read(draw(), tmp_path)).mean() < 2
    turned, exif = draw().rotate(90, expand=True), Image.Exif()
    exif[0x0112] = 6
    turned.save(tmp_path / "x.jpg", exif=exif)
    found = read_digit(tmp_path / "x.jpg", SHAPE)
    assert np.abs(found - read(draw(), tmp_path)).mean() < 2


def test_specks_and_grain_do_not_matter(tmp_path):
    rng = np.random.default_rng(0)
    grey = np.asarray(draw(), float) * 0.8 + rng.normal(20, 4, (260, 200))
    grey[5, 5] = grey[250, 190] = 0
    noisy = Image.fromarray(np.clip(grey, 0, 255).astype(np.uint8))
    assert np.abs(read(noisy, tmp_path) - read(draw(), tmp_path)).mean() < 4


def test_a_fine_pen_is_seen(tmp_path):
    image = Image.new("L", (400, 400), 255)
    ImageDraw.Draw(image).line([(100, 60), (300, 60), (150, 340)], 0, 2)
    assert (read(image, tmp_path) > 200).sum() > 25


def test_mnists_digits_stay_what_they_are(tmp_path, mnist):
    alike = []
    for values in mnist.test.inputs[:20].reshape(-1, 28, 28):
        found = read(Image.fromarray(values).resize((140, 140), Image.Resampling.BICUBIC), tmp_path)
        alike.append(np.corrcoef(found.ravel(), values.ravel())[0, 1])
    assert np.mean(alike) > 0.85
    assert min(alike) > 0.7


@pytest.mark.parametrize("shape", [(8, 8), (16, 12), (40, 40)])
def test_models_of_other_images(tmp_path, shape):
    digit = read(draw(), tmp_path, shape=shape)
    assert digit.max() == 255
    assert np.ptp(np.flatnonzero((digit > 60).any(axis=1))) + 1 <= 20 / 28 * min(shape) + 1


@pytest.mark.parametrize(
    "grey",
    [
        np.full((90, 90), 200.0),
        np.full((90, 90), 200.0) - 20 * (np.indices((90, 90))[0] == 40),
        np.indices((90, 90))[1] * 2.5,  # a shadow
        np.where(np.abs(np.indices((90, 90)) - 45).max(axis=0) < 40, 230.0, 60.0),  # a sheet on a desk
    ],
    ids=["empty", "faint", "shadow", "desk"],
)
def test_pictures_without_a_clean_digit(tmp_path, grey):
    path = save(Image.fromarray(grey.astype(np.uint8)), tmp_path)
    assert (
        refusal_of_file(read_digit, path, SHAPE)
        == ": no digit found, expected one on plain paper, in a clean scan."
    )


@pytest.mark.parametrize("content", [b"", b"\x89PNG\r\n\x1a\n", b"GIF89a", b"plain text"])
def test_what_is_no_image(tmp_path, content):
    path = tmp_path / "x.png"
    path.write_bytes(content)
    assert refusal_of_file(read_digit, path, SHAPE).startswith(": not an image that can be read (")


def test_a_model_that_was_not_trained_on_images(tmp_path):
    assert "not trained on images" in refusal_of_file(read_digit, save(draw(), tmp_path), None)
