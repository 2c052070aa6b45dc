"""New samples for a model, from tables, arrays, IDX files and images of one digit."""

import gzip

import numpy as np
import pytest
from idx_files import idx_bytes
from PIL import Image, ImageDraw, ImageFont
from refusals import refusal_of_file

from elmlda.datasets import load_dataset
from elmlda.datasets.samples import SampleFormat, read_samples

FOUR = SampleFormat(4)
IMAGES = SampleFormat(784, (28, 28))
VALUES = np.arange(12.0).reshape(3, 4)


def refusal(path, form):
    return refusal_of_file(read_samples, path, form)


# Arrays and IDX files


@pytest.mark.parametrize("kind", ["npy", "npz", "idx", "idx.gz", "csv", "txt", "tsv"])
def test_the_same_samples_from_any_file(tmp_path, kind):
    path = tmp_path / f"x.{kind}"
    if kind == "npy":
        np.save(path, VALUES)
    elif kind == "npz":
        np.savez(path, anything=VALUES)
    elif kind.startswith("idx"):
        content = idx_bytes(VALUES, "f8")
        path.write_bytes(gzip.compress(content) if kind.endswith("gz") else content)
    else:
        np.savetxt(path, VALUES, delimiter="\t" if kind == "tsv" else ",")
    samples = read_samples(path, FOUR)
    np.testing.assert_array_equal(samples, VALUES)
    assert samples.shape == (3, 4)


def test_an_array_is_chosen_by_its_name(tmp_path):
    path = tmp_path / "x.npz"
    np.savez(path, a=VALUES, b=2 * VALUES)
    np.testing.assert_array_equal(read_samples(path, SampleFormat(4, key="b")), 2 * VALUES)
    for form in (FOUR, SampleFormat(4, key="c")):
        assert refusal(path, form) == ": it has the arrays a and b. Choose one with key."


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (VALUES[:, :3], ": 3 × 3 of float64, the model takes samples of 4 numbers."),
        (VALUES[:0], ": 0 × 4 of float64, the model takes"),
        (VALUES.astype(str), ": 3 × 4 of <U32, the model takes"),
        (np.float64(3), ":  of float64, the model takes"),
        (
            np.where(VALUES == 6, np.nan, VALUES),
            ": sample 1 has values that are missing, NaN or infinite.",
        ),
    ],
)
def test_samples_that_do_not_fit(tmp_path, values, message):
    np.save(tmp_path / "x.npy", values)
    assert refusal(tmp_path / "x.npy", FOUR).startswith(message)


@pytest.mark.parametrize("name", ["x", "x.npy", "x.csv", "x.png"])
def test_what_is_no_file(tmp_path, name):
    path = tmp_path / name
    assert refusal(path, IMAGES).startswith(": ")
    path.mkdir()
    assert refusal(path, IMAGES).startswith(": ")


# Tables


@pytest.fixture
def pets(tmp_path):
    """The format of a model that was trained on a table, and a function that writes another one."""
    (tmp_path / "pets.csv").write_text("size,fur,kind\n1,no,cat\n2,yes,cow\n3,some,cat\n4,no,cow\n")

    def write(text):
        (tmp_path / "new.csv").write_text(text)
        return tmp_path / "new.csv"

    def form(**options):
        data = load_dataset(tmp_path / "pets.csv", label="kind", **options)
        return SampleFormat(data.n_inputs, columns=data.columns)

    return form, write


@pytest.mark.parametrize(
    "text",
    [
        "size,fur\n5,yes\n6,no\n",
        "fur,id,size,kind\nyes,x,5,cat\nno,?,6,\n",
        "fur;size\nyes;5\nno;6,0\n",
    ],
)
def test_columns_are_found_by_their_names(pets, text):
    form, write = pets
    assert read_samples(write(text), form()).tolist() == [[5, 0, 0, 1], [6, 1, 0, 0]]


def test_without_names_columns_are_taken_in_their_order(pets, tmp_path):
    _, write = pets
    path = write("1,2,9\n4,5,9\n")
    form = SampleFormat(2, columns=[{"name": "a"}, {"name": "b"}], drop=("3",))
    assert read_samples(path, form).tolist() == [[1, 2], [4, 5]]
    assert refusal(path, SampleFormat(2)) == (
        ": 3 columns, the model takes 2. Use drop for columns that are no inputs, such as labels."
    )
    assert read_samples(write("p,q\n1,2\n"), SampleFormat(2)).tolist() == [[1, 2]]


def test_a_known_sets_columns_are_its_inputs(tmp_path):
    data = load_dataset("abalone")
    names = [column["name"] for column in data.columns]
    (tmp_path / "x.csv").write_text(",".join([*names, "rings"]) + "\nI,1,2,3,4,5,6,7,9\n")
    form = SampleFormat(data.n_inputs, columns=data.columns)
    assert read_samples(tmp_path / "x.csv", form).tolist() == [[0, 0, 1, 1, 2, 3, 4, 5, 6, 7]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("size,fur\n1,no\n2,blue\n", ", line 3: 'blue' in column 'fur', which no training sample had, "
         "expected no, some or yes."),
        ("size,fur\nx,no\n", ", line 2: 'x' in column 'size', expected a number like 1234.5. Correct"),
        ("size,fur\n,no\n", ", line 2: no value in column 'size'."),
        ("size,fur\n1,?\n", ", line 2: no value in column 'fur'."),
        ("size,colour\n1,no\n", ": no column fur, which the model was trained with."),
        ("size,fur\n", ": no lines below the first, expected samples."),
    ],
)  # fmt: skip
def test_tables_that_do_not_fit(pets, text, message):
    form, write = pets
    assert refusal(write(text), form()).startswith(message)


def test_missing_values_are_filled_if_they_were_in_training(pets):
    form, write = pets
    samples = read_samples(write("size,fur\n,no\n7,?\n"), form(missing="mean"))
    nan = np.nan
    np.testing.assert_array_equal(samples, [[nan, 1, 0, 0], [7, nan, nan, nan]])


# Images of one digit


def draw(text="7", size=(200, 260), at=(90, 120), height=120, paper=255, ink=0):
    image = Image.new("L", size, paper)
    ImageDraw.Draw(image).text(at, text, ink, ImageFont.load_default(height), anchor="mm")
    return image


def save(image, tmp_path, name="x.png"):
    image.save(tmp_path / name)
    return tmp_path / name


def read(image, tmp_path, name="x.png", form=IMAGES):
    return read_samples(save(image, tmp_path, name), form).reshape(form.image_shape)


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
    found = read_samples(tmp_path / "x.jpg", IMAGES).reshape(28, 28)
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
    digit = read(draw(), tmp_path, form=SampleFormat(shape[0] * shape[1], shape))
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
    assert refusal(path, IMAGES) == ": no digit found, expected one on plain paper, in a clean scan."


@pytest.mark.parametrize("content", [b"", b"\x89PNG\r\n\x1a\n", b"GIF89a", b"plain text"])
def test_what_is_no_image(tmp_path, content):
    path = tmp_path / "x.png"
    path.write_bytes(content)
    assert refusal(path, IMAGES).startswith(": not an image that can be read (")
