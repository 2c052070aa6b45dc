"""elmlda train and elmlda predict: a model kept and used."""

import csv
import io
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from PIL import Image, ImageDraw
from sklearn.datasets import make_circles

from elmlda import ELMClassifier, ELMEnsembleClassifier
from elmlda.datasets import load_dataset
from elmlda.networks.jobs import run_job
from elmlda.networks.model_file import read_model
from elmlda.settings import DatasetRef, NetworkJob, NetworkSettings


@pytest.fixture
def train(invoke, clouds):
    """`elmlda train` on the small data set; the line that it prints."""

    def run(*arguments):
        result = invoke("train", "--data-dir", clouds, "--hidden", 20, *arguments)
        assert (result.exit_code, result.stderr) == (0, "")
        return result.stdout

    return run


@pytest.fixture
def predict(invoke):
    def run(*arguments):
        result = invoke("predict", *arguments)
        assert (result.exit_code, result.stderr) == (0, ""), result.output
        return result.stdout.splitlines()

    return run


def test_train_makes_the_network_of_a_sweep(train, clouds, tmp_path):
    line = train("--ridge", "2", "--seed", 3)
    job = NetworkJob(
        DatasetRef(None, clouds), 3, (0,), (20,), NetworkSettings(ridge=2.0, precision="double")
    )
    errors = run_job(job).lda_errors[0]
    assert line == (
        f"clouds-model.npz: LDA-ELM, 20 hidden units, ridge 2, {errors / 2:.2f} % test errors "
        f"({errors} of 200)\n"
        "Next: elmlda predict clouds-model.npz FILE (inputs up to 255)\n"
    )
    assert 0 < errors < 150
    model = read_model(tmp_path / "clouds-model.npz")
    assert model.classes.tolist() == [0, 1, 2, 3]
    assert model.image_shape == (3, 3)


def test_train_on_a_table_has_the_estimators_defaults(invoke, tmp_path):
    X, y = make_circles(600, noise=0.1, factor=0.5, random_state=0)
    lines = [f"{a:.4f},{b:.4f},{c}" for (a, b), c in zip(X, y, strict=True)]
    (tmp_path / "circles.csv").write_text("\n".join(["x,y,ring", *lines]))
    data = ("--dataset", "circles.csv", "--label", "ring")
    assert invoke("train", *data).exit_code == 0
    network = ELMClassifier.load(tmp_path / "circles-model.npz")
    assert network.score(pd.DataFrame(X, columns=["x", "y"]), y) > 0.95
    found, usual = (each._model.recipe for each in (network, ELMClassifier().fit(X, y)))
    assert found.n_hidden == usual.n_hidden
    assert replace(found.settings, input_scale=None) == usual.settings
    assert invoke("train", *data, "--drop", "x", "--force").exit_code == 0
    assert invoke("predict", "circles-model.npz", "circles.csv").exit_code == 0
    assert ELMClassifier.load(tmp_path / "circles-model.npz").feature_names_in_.tolist() == ["y"]
    given = ("--no-bias", "--fanout", 3, "--force")
    assert "6 hidden units" in invoke("train", *data, *given).stdout
    recipe = read_model(tmp_path / "circles-model.npz").recipe
    assert (recipe.settings.bias, recipe.settings.weight_range) == (False, 0.5)


def test_estimators_read_what_train_wrote(train, clouds, tmp_path):
    test = load_dataset(data_dir=clouds).test
    train("--out", "one.npz")
    train("--out", "three.npz", "--n", 3, "--combine", "product", "--quiet")
    one = ELMClassifier.load(tmp_path / "one.npz")
    np.testing.assert_array_equal(
        one.predict(test.inputs), read_model(tmp_path / "one.npz").choose(test.inputs)
    )
    assert one.get_params()["n_hidden"] == 20
    three = ELMEnsembleClassifier.load(tmp_path / "three.npz")
    assert three.get_params()["combine"] == "product"
    assert len(three.estimators_) == 3
    np.testing.assert_array_equal(
        three.estimators_[0].predict_proba(test.inputs), one.predict_proba(test.inputs)
    )


def test_ensembles(invoke, clouds, tmp_path):
    arguments = ["train", "--data-dir", clouds, "--hidden", 20, "--n", 3, "--quiet"]
    for jobs, name in ((1, "a.npz"), (2, "b.npz")):
        result = invoke(*arguments, "--jobs", jobs, "--out", name)
        assert (result.exit_code, result.output) == (0, "")
    one, two = (read_model(tmp_path / name) for name in ("a.npz", "b.npz"))
    keys = [network.recipe.seed.spawn_key for network in two.networks]
    assert keys == [(0,), (1,), (2,)]
    inputs = load_dataset(data_dir=clouds).test.inputs
    np.testing.assert_allclose(one.posteriors(inputs), two.posteriors(inputs), atol=1e-9)
    result = invoke(*arguments[:-1], "--out", "c.npz")
    assert "3 of 3 networks" in result.stderr
    assert "c.npz: 3 × LDA-ELM, 20 hidden units, ridge 1, " in result.stdout


def test_options_of_train(train, tmp_path):
    assert "PI-ELM" in train("--output", "pi")
    assert "ridge 1," not in train("--ridge", "auto", "--force")
    (tmp_path / "c.toml").write_text("[train]\nridge = 'auto'\nactivation = 'sine'\n")
    train("--config", "c.toml", "--out", "s.npz")
    assert read_model(tmp_path / "s.npz").recipe.settings.activation == "sine"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--out", "."], ".: a folder, expected the name of a file for the model."),
        (["--out", "a/b.npz"], "a: no such folder for the model's file."),
        (["--ridge", "-1"], "ridge is -1.0: expected a number that is not negative."),
        (["--ridge", "0", "--fanout", "67"], "600 training samples in 4 classes can carry at most 596"),
        (["--dataset", "cifar", "--data-dir", "nowhere"], "nowhere: No such file or directory"),
        (["--priors", "0.4,0.6"], "2 priors given, 4 classes"),
    ],
)
def test_train_refuses(refusal, clouds, arguments, expected):
    assert refusal("train", "--data-dir", clouds, *arguments).startswith(expected)


def test_train_replaces_only_by_force(train, refusal, clouds, tmp_path):
    train()
    before = (tmp_path / "clouds-model.npz").read_bytes()
    message = refusal("train", "--data-dir", clouds, "--hidden", 5)
    assert message == "clouds-model.npz is there already. Use --force to replace it, or --out."
    assert (tmp_path / "clouds-model.npz").read_bytes() == before
    train("--force", "--seed", 1)
    assert (tmp_path / "clouds-model.npz").read_bytes() != before


@pytest.mark.parametrize(
    "arguments",
    [
        ["--hidden", "0"],
        ["--n", "2", "--output", "pi"],
        ["--ridge", "much"],
        ["--output", "svm"],
        ["x"],
    ],
)
def test_wrong_usage_of_train(refusal, arguments):
    refusal("train", *arguments, exit_code=2)


def test_predict_reads_every_kind_of_file(train, predict, clouds, tmp_path):
    train()
    test = load_dataset(data_dir=clouds).test
    chosen = read_model(tmp_path / "clouds-model.npz").choose(test.inputs)
    np.savez(tmp_path / "a.npz", x=test.inputs)
    np.save(tmp_path / "a.npy", test.inputs.reshape(-1, 3, 3).astype(float))
    np.savetxt(tmp_path / "a.csv", test.inputs, "%d", ",")
    idx = clouds / "t10k-images-idx3-ubyte"
    for path in (idx, "a.npz", "a.npy", "a.csv"):
        lines = predict("clouds-model.npz", path)
        assert [line.split("  ")[0] for line in lines] == [f"{path}:{i}" for i in range(200)]
        assert [int(line.split("  ")[1]) for line in lines] == chosen.tolist()
        shown = [float(line.split("posterior ")[1].split(",")[0].strip("> ")) for line in lines]
        assert min(shown) > 0.25
        assert max(shown) <= 1


def test_predict_as_csv(train, predict, clouds, tmp_path):
    train()
    inputs = load_dataset(data_dir=clouds).test.inputs[:3]
    np.save(tmp_path / "a,b.npy", inputs)
    np.save(tmp_path / "c.npy", inputs[0])
    lines = predict("clouds-model.npz", "--csv", "a,b.npy", "c.npy")
    rows = list(csv.DictReader(io.StringIO("\n".join(lines))))
    assert [(row["file"], row["sample"]) for row in rows] == [
        ("a,b.npy", "0"), ("a,b.npy", "1"), ("a,b.npy", "2"), ("c.npy", "0"),
    ]  # fmt: skip
    posteriors = read_model(tmp_path / "clouds-model.npz").posteriors(inputs)
    for row, expected in zip(rows, posteriors, strict=False):
        found = [float(row[f"posterior_{label}"]) for label in range(4)]
        np.testing.assert_allclose(found, expected, rtol=1e-5)
        assert row["label"] == str(expected.argmax())


def test_predict_by_pi_gives_scores(train, predict, clouds, tmp_path):
    train("--output", "pi")
    np.save(tmp_path / "a.npy", load_dataset(data_dir=clouds).test.inputs[0])
    assert " score " in predict("clouds-model.npz", "a.npy")[0]
    assert "score_0" in predict("clouds-model.npz", "a.npy", "--csv")[0]


def test_predict_with_an_estimators_model_and_words(predict, refusal, tmp_path):
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(60, 2)) + np.repeat([[0, 0], [4, 4]], 30, axis=0)
    ELMClassifier(random_state=0).fit(inputs, np.repeat(["left", "right"], 30)).save(tmp_path / "m.npz")
    (tmp_path / "a.csv").write_text("0,0\n4,4\n")
    assert [line.split("  ")[1] for line in predict("m.npz", "a.csv")] == ["left", "right"]
    Image.new("L", (9, 9)).save(tmp_path / "a.png")
    assert "does not know what images" in refusal("predict", "m.npz", "a.png")


def test_predict_refuses(train, refusal, tmp_path):
    train()
    assert refusal("predict", "nowhere.npz", "a.csv") == (
        "nowhere.npz: cannot be read: No such file or directory."
    )
    assert refusal("predict", "clouds-model.npz", "nowhere.csv") == (
        "nowhere.csv: cannot be read: No such file or directory."
    )
    (tmp_path / "short.csv").write_text("4,2,3\n")
    assert refusal("predict", "clouds-model.npz", "short.csv").startswith(
        "short.csv: 3 columns, the model takes 9."
    )
    refusal("predict", exit_code=2)
    refusal("predict", "clouds-model.npz", exit_code=2)
    refusal("predict", "clouds-model.npz", "short.csv", "--cvs", exit_code=2)


def test_a_drawn_seven(elmlda, tmp_path):
    """As a newcomer would: train on MNIST, draw, ask."""
    result = elmlda("train", "--fanout", 1)
    assert (result.returncode, result.stderr) == (0, "")
    assert "(687 of 10,000)" in result.stdout
    image = Image.new("RGB", (240, 240), "white")
    ImageDraw.Draw(image).line([(60, 44), (176, 44), (100, 204)], fill="black", width=9)
    image.save(tmp_path / "seven.png")
    result = elmlda("predict", "mnist-model.npz", "seven.png")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("seven.png  7  posterior ")


# The user's own tables


@pytest.fixture
def table(tmp_path):
    """A CSV file with numbers of every size, a category and words for classes."""
    rng = np.random.default_rng(1)
    kinds = rng.choice(["apple", "pear"], 200)
    sizes = np.where(kinds == "apple", 70_000, 90_000) + rng.normal(0, 8_000, 200)
    colours = np.where(rng.random(200) < 0.2, "green", np.where(kinds == "apple", "red", "yellow"))
    lines = [f"{a:.0f},{b},{c},7" for a, b, c in zip(sizes, colours, kinds, strict=True)]
    path = tmp_path / "fruit.csv"
    path.write_text("\n".join(["size,colour,kind,same", *lines]))
    return path


def test_train_on_a_table_and_predict_it_as_it_is_stored(invoke, predict, table, tmp_path):
    """Inputs are standardised for training; predict must do the same to what it reads."""
    result = invoke("train", "--dataset", table, "--label", "kind", "--hidden", 20)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("fruit-model.npz: LDA-ELM, 20 hidden units")
    lines = predict("fruit-model.npz", "fruit.csv")
    found = [line.split("  ")[1] for line in lines]
    truth = [line.split(",")[2] for line in table.read_text().splitlines()[1:]]
    assert np.mean(np.array(found) == truth) > 0.85
    unlabelled = tmp_path / "new.csv"
    unlabelled.write_text("same;colour;size\n7;red;71000\n7; yellow;92000\n")
    assert [line.split("  ")[1] for line in predict("fruit-model.npz", unlabelled)] == ["apple", "pear"]


def test_tables_that_do_not_fit(invoke, refusal, table, tmp_path):
    invoke("train", "--dataset", table, "--label", "kind", "--hidden", 20)
    new = tmp_path / "new.csv"
    new.write_text("size,colour,same\n1,blue,7\n")
    assert refusal("predict", "fruit-model.npz", new) == (
        f"{new}: 'blue' in column 'colour' of sample 0, which no training sample had. "
        "Known: green, red, yellow."
    )
    new.write_text("size,colour\n1,red\n")
    assert refusal("predict", "fruit-model.npz", new).endswith(
        "no column 'same', which the model was trained with."
    )


def test_the_model_does_not_replace_the_data(refusal, tmp_path):
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "mine.npz", x=rng.normal(size=(60, 3)), y=np.arange(60) % 2)
    arguments = ["train", "--dataset", "mine.npz", "--out", "mine.npz", "--force"]
    assert "the data themselves" in refusal(*arguments)


@pytest.mark.parametrize("name", ["iris", "wine", "digits"])
def test_embedded_sets_are_predicted_as_they_are_stored(invoke, tmp_path, name):
    assert invoke("train", "--dataset", name, "--quiet").exit_code == 0
    dataset = load_dataset(name)
    model = read_model(tmp_path / f"{name}-model.npz")
    stored = dataset.test.inputs.astype(float)
    if model.scaling is not None:
        used = model.scaling.factors > 0
        stored[:, used] = stored[:, used] / model.scaling.factors[used] + model.scaling.offsets[used]
    errors = (model.choose(stored) != dataset.test.labels).mean()
    assert errors < 0.1
