"""elmlda predict on images: guesses, labels, pictures, and files that are no digits."""

import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw

from elmlda.networks.model import Model, Recipe, fit_network
from elmlda.networks.model_file import write_model
from elmlda.settings import NetworkSettings

SEVEN = [(60, 44), (176, 44), (100, 204)]
ONE = [(120, 40), (114, 200)]


@pytest.fixture(scope="session")
def digits_model(mnist, tmp_path_factory):
    recipe = Recipe(np.random.SeedSequence(0), 784, 300, NetworkSettings(input_scale=1 / 255))
    inputs, labels = mnist.train.inputs[:6000], mnist.train.labels[:6000]
    network = fit_network(recipe, inputs, labels, 1.0, np.full(10, 0.1), 10)
    path = tmp_path_factory.mktemp("model") / "digits.npz"
    write_model(path, Model((network,), np.arange(10), image_shape=(28, 28), largest_input=255.0))
    return path


@pytest.fixture
def predict(invoke, digits_model):
    return lambda *words: invoke("predict", digits_model, *words)


def draw(name, line=SEVEN):
    image = Image.new("L", (240, 240), "white")
    ImageDraw.Draw(image).line(line, fill="black", width=14, joint="curve")
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    image.save(name)
    return name


def test_the_second_guess(predict, tmp_path):
    result = predict(draw("seven.png"))
    assert (result.exit_code, result.stderr) == (0, "")
    first, rest = result.stdout.split(", second ")
    assert first.startswith("seven.png  7  posterior ")
    label, posterior = rest.replace("< ", "").split()
    assert label in set("012345689")
    assert 0 < float(posterior) < 0.5


def test_a_posterior_is_never_rounded_to_one(predict, mnist):
    """A thousand digits, among them some that the network is nearly certain of."""
    np.save("x.npy", mnist.test.inputs[:1000])
    lines = predict("x.npy").stdout.splitlines()
    assert len(lines) == 1000
    assert not any("1.0000" in line or " 0.0000" in line for line in lines)
    assert any("posterior > 0.9999, second " in line for line in lines)
    cells = [
        cell
        for line in predict("x.npy", "--csv").stdout.splitlines()[1:]
        for cell in line.split(",")[3:]
    ]
    assert "1" not in cells
    assert any(cell.startswith("0.999999") for cell in cells)


@pytest.mark.parametrize("source", ["folder", "name", "csv"])
def test_errors_are_counted(predict, source):
    files = [draw("right/7/7-a.png"), draw("right/1/1_b.png", ONE), draw("right/3/3.png")]
    Path("labels.csv").write_text("file,label\n" + "\n".join(f"{name},{name[6]}" for name in files))
    result = predict(*files, "--labels", "labels.csv" if source == "csv" else source)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines()[2].endswith(", wrong: it is 3")
    assert "wrong" not in "".join(result.stdout.splitlines()[:2])
    assert result.stdout.endswith("Errors: 1 of 3 (33.33 %)\n")


def test_labels_beside_csv(predict):
    Path("sub").mkdir()
    np.save("x.npy", np.zeros((2, 784), np.uint8))
    Path("sub/labels.csv").write_text("file,label,sample\n../x.npy,4,1\n")
    result = predict("x.npy", "--csv", "--labels", "sub/labels.csv")
    head, first, second = (line.split(",") for line in result.stdout.splitlines())
    assert (head[3], first[3], second[3]) == ("true", "", "4")
    assert result.stderr.startswith("Errors: ")
    assert " of 1 (" in result.stderr


def test_labels_that_cannot_be(predict, refusal, digits_model):
    draw("photos/seven.png")
    words = "predict", digits_model, "photos/seven.png", "--labels"
    result = predict("photos/seven.png", "--labels", "folder")
    assert result.exit_code == 1
    assert result.stderr == (
        "Error: photos/seven.png: its label is 'photos', the model's are 0, 1, 2, 3, 4, 5, 6, 7, 8, 9. "
        "Say with --labels where labels are.\n"
    )
    assert refusal(*words, "nowhere.csv") == "nowhere.csv: cannot be read: No such file or directory."
    Path("odd.csv").write_text("name,label\na,b\n")
    assert refusal(*words, "odd.csv") == "odd.csv: no column file, expected file and label."
    Path("words.csv").write_text("file,label,sample\na.png,7,first\n")
    assert refusal(*words, "words.csv").startswith("words.csv: column sample is not of whole numbers: ")
    Path("other.csv").write_text("file,label\na.png,7\n")
    result = predict("photos/seven.png", "--labels", "other.csv")
    assert result.stdout.endswith("Errors: none of the samples has a label.\n")


def test_show(predict):
    result = predict(draw("a.png"), draw("b.png", ONE), "--show", "shown.png")
    assert (result.exit_code, result.stderr) == (0, "")
    with Image.open("shown.png") as shown:
        assert shown.format == "PNG"
        assert shown.width == 1280
        # Paper and the digit's black square are both in the first row.
        assert {0, 255} <= set(np.asarray(shown.convert("L"))[: shown.height // 2].ravel().tolist())


def test_nothing_to_show(predict, mnist):
    np.save("x.npy", mnist.test.inputs[:1])
    result = predict("x.npy", "--show", "shown.png")
    assert result.exit_code == 1
    assert result.stderr == "Error: shown.png: nothing to draw, no image was classified.\n"
    result = predict(draw("a.png"), "--show", "nowhere/shown.png")
    assert result.exit_code == 1
    assert "nowhere" in result.stderr


def test_ink_at_the_border(predict):
    result = predict(draw("seven.png", [(x, y - 44) for x, y in SEVEN]))
    assert result.exit_code == 0
    assert result.stderr == (
        "Warning: seven.png: the ink touches the border: the digit may be cut off.\n"
    )


def test_files_that_cannot_be_classified_do_not_stop_the_others(predict):
    """Each is one line; the exit code tells at the end."""
    whole = Path(draw("whole.png")).read_bytes()
    Path("torn.png").write_bytes(whole[: len(whole) // 2])
    Path("text.png").write_text("hello")
    Image.new("1", (9_000, 9_000)).save("huge.png")
    Image.new("L", (100, 100), 200).save("blank.png")
    Path("empty").mkdir()
    Path("folder.png").mkdir()
    odd = os.fsdecode(b"caf\xe9.png")
    draw(odd)
    Path(os.fsdecode(b"torn\xe9.png")).write_bytes(b"\x89PNG\r\n\x1a\n")
    bad = [
        "torn.png", "text.png", "huge.png", "blank.png", "empty", "folder.png", "nowhere.png",
        os.fsdecode(b"torn\xe9.png"),
    ]  # fmt: skip
    result = predict(*bad, "whole.png", odd)
    assert result.exit_code == 1
    lines = result.stderr.splitlines()
    assert len(lines) == len(bad) + 1
    for name, line in zip(bad, lines, strict=False):
        assert line.startswith(f"Error: {name.encode('ascii', 'backslashreplace').decode()}: ")
    assert lines[2].endswith("9,000 × 9,000 pixels, expected at most 64,000,000.")
    assert lines[-1] == "8 of 10 files were not classified."
    assert [line.split("  ")[:2] for line in result.stdout.splitlines()] == [
        ["whole.png", "7"], [r"caf\udce9.png", "7"],
    ]  # fmt: skip


def test_inputs_of_another_scale_are_refused(refusal, digits_model, mnist):
    """A network of bytes would take pixels of 0 to 1 for blank images."""
    from elmlda import ELMClassifier

    np.save("x.npy", mnist.test.inputs[:5] / 255)
    assert refusal("predict", digits_model, "x.npy") == (
        "x.npy: inputs up to 1, the model was trained on inputs up to 255: multiply them by 255."
    )
    network = ELMClassifier.load(digits_model)
    with pytest.raises(ValueError, match="inputs up to 1, the model was trained on inputs up to 255"):
        network.predict(mnist.test.inputs[:5] / 255)
    assert (network.predict(mnist.test.inputs[:50]) == mnist.test.labels[:50]).mean() > 0.8


def test_train_keeps_the_scale_of_images(invoke, refusal, clouds):
    from elmlda.networks.model_file import read_model

    assert invoke("train", "--data-dir", clouds, "--hidden", 20, "--out", "m.npz").exit_code == 0
    assert 200 < read_model(Path("m.npz")).largest_input <= 255


def test_a_drawing_is_brought_to_the_training_datas_scale(invoke):
    """scikit-learn's digits have pixels up to 16."""
    words = "train", "--dataset", "digits", "--hidden", 300, "--out", "m.npz", "--quiet"
    assert invoke(*words).exit_code == 0
    result = invoke("predict", "m.npz", draw("seven.png"))
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("seven.png  ")
