"""Models in files: whole, small, without pickle, and refused in one line if they are not sound."""

import json
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from refusals import refusal_of_file

from elmlda.errors import ElmldaError
from elmlda.networks import model as model_module
from elmlda.networks import model_file
from elmlda.networks.model import Model, Recipe, fit_network
from elmlda.networks.model_file import describe_seed, read_model, read_seed, write_model
from elmlda.settings import NetworkSettings

LABELS = {
    "ints": np.array([-3, 0, 12]),
    "floats": np.array([0.5, 1.0, 2.25]),
    "bytes": np.array([1, 2, 255], np.uint8),
    "words": np.array(["Äpfel", "ba nanas", "c,d\n"]),
    "objects": np.array(["one", "three", "two"], object),
}


@pytest.fixture(scope="module")
def make_model(make_dataset):
    dataset = make_dataset()

    def make(n=1, classes=LABELS["ints"], priors=(0.2, 0.3, 0.5), n_hidden=30, **more):
        networks = tuple(
            fit_network(
                Recipe(
                    np.random.SeedSequence(2**100 + 1, spawn_key=(i,)),
                    dataset.n_inputs,
                    n_hidden,
                    NetworkSettings("sine", 0.7, 0.5),
                ),
                dataset.train.inputs,
                dataset.train.labels,
                1.0,
                None if priors is None else np.array(priors),
                3,
            )
            for i in range(n)
        )
        return Model(networks, classes, "product" if n > 1 else None, **more)

    return make


@pytest.fixture
def inputs(make_dataset):
    return make_dataset().test.inputs


def refusal(path):
    return refusal_of_file(read_model, path).removeprefix(": ")


@pytest.mark.parametrize("with_input_weights", [False, True])
@pytest.mark.parametrize("n", [1, 3])
def test_what_was_written_is_read(make_model, inputs, tmp_path, n, with_input_weights):
    model = make_model(n, image_shape=(2, 3), feature_names=np.array(["a", "b b", *"üdef"], object))
    write_model(tmp_path / "m", model, with_input_weights)
    found = read_model(tmp_path / "m")
    np.testing.assert_array_equal(found.values(inputs), model.values(inputs))
    np.testing.assert_array_equal(found.priors, model.priors)
    np.testing.assert_array_equal(found.feature_names, model.feature_names)
    assert (found.combine, found.image_shape) == (model.combine, (2, 3))
    for one, other in zip(found.networks, model.networks, strict=True):
        assert describe_seed(one.recipe.seed) == describe_seed(other.recipe.seed)
        assert one.recipe.settings == other.recipe.settings
        assert one.ridge == other.ridge
    with np.load(tmp_path / "m", allow_pickle=False) as stored:
        assert ("input_weights" in stored) == with_input_weights


def test_a_file_of_an_earlier_version(make_model, inputs, tmp_path, monkeypatch):
    """Networks of more than 512 hidden units were in mixed precision."""
    monkeypatch.setattr(model_module, "FEW_HIDDEN", 512)
    model = make_model(n_hidden=600)
    write_model(tmp_path / "m", model)
    monkeypatch.undo()
    found = read_model(tmp_path / "m")
    assert found.networks[0].layer.dtype == np.float32
    np.testing.assert_array_equal(found.values(inputs), model.values(inputs))


def test_pi_has_no_priors(make_model, inputs, tmp_path):
    model = make_model(priors=None)
    write_model(tmp_path / "m", model)
    found = read_model(tmp_path / "m")
    assert not found.has_posteriors
    np.testing.assert_array_equal(found.scores(inputs), model.scores(inputs))


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_labels_survive(make_model, tmp_path, labels):
    write_model(tmp_path / "m", make_model(classes=labels))
    found = read_model(tmp_path / "m").classes
    assert found.dtype == labels.dtype
    assert found.tolist() == labels.tolist()


def test_labels_that_only_pickle_could_keep(make_model, tmp_path):
    with pytest.raises(ElmldaError, match=r"labels of type tuple cannot be kept without pickle"):
        write_model(tmp_path / "m", make_model(classes=np.array([(1,), (2, 3), None], object)))
    assert not (tmp_path / "m").exists()


def test_the_seed_is_kept_instead_of_the_weights(make_model, tmp_path):
    model = make_model(n_hidden=600)
    write_model(tmp_path / "small", model)
    write_model(tmp_path / "large", model, with_input_weights=True)
    sizes = [(tmp_path / name).stat().st_size for name in ("small", "large")]
    assert sizes[1] - sizes[0] == pytest.approx(model.networks[0].layer.input_weights.nbytes, abs=500)


@pytest.mark.parametrize("entropy", [0, 2**100, [1, 2**31, 3]])
@pytest.mark.parametrize("key", [(), (0,), (3, 20)])
def test_seeds_survive_as_json(entropy, key):
    seed = np.random.SeedSequence(entropy, spawn_key=key)
    found = read_seed(json.loads(json.dumps(describe_seed(seed))))
    np.testing.assert_array_equal(found.generate_state(8), seed.generate_state(8))


def test_cut_off_anywhere(make_model, tmp_path):
    path = tmp_path / "m.npz"
    write_model(path, make_model())
    whole = path.read_bytes()
    for size in [*range(0, len(whole), max(1, len(whole) // 40)), len(whole) - 1]:
        path.write_bytes(whole[:size])
        assert "not a sound .npz file" in refusal(path)


def test_a_bit_turned_over_anywhere(make_model, inputs, tmp_path):
    """Refused, or a byte that nothing depends on."""
    path = tmp_path / "m.npz"
    model = make_model()
    write_model(path, model)
    whole = path.read_bytes()
    rng, n_refused = np.random.default_rng(0), 0
    for at in rng.integers(0, len(whole), 150):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << rng.integers(8)
        path.write_bytes(damaged)
        try:
            found = read_model(path)
        except ElmldaError:
            refusal(path)
            n_refused += 1
        else:
            np.testing.assert_array_equal(found.values(inputs), model.values(inputs))
    assert n_refused > 100


def rewrite(path, change):
    """A model's file with its arrays and description changed."""
    with np.load(path) as stored:
        arrays = dict(stored)
    about = json.loads(str(arrays["about"]))
    change(arrays, about)
    np.savez(path, **{**arrays, "about": np.array(json.dumps(about))})


def add(arrays, about, **more):
    """An array of which the description knows."""
    arrays.update(more)
    about["arrays"] = sorted(arrays)


def retype(arrays, name, dtype):
    with np.errstate(all="ignore"):
        arrays[name] = arrays[name].astype(dtype)


def test_networks_of_different_inputs(make_model, make_dataset, tmp_path):
    path, model, train = tmp_path / "m.npz", make_model(2), make_dataset().train
    recipe = replace(model.networks[1].recipe, n_inputs=5)
    other = fit_network(recipe, train.inputs[:, :5], train.labels, 1.0, model.priors, 3)
    write_model(path, replace(model, networks=(model.networks[0], other)))
    with pytest.raises(ElmldaError, match=r"networks of .*5.*6.* inputs, expected one number"):
        read_model(path)


def test_a_description_that_is_too_deep(make_model, tmp_path):
    path = tmp_path / "m.npz"
    write_model(path, make_model())
    with np.load(path) as stored:
        arrays = dict(stored)
    np.savez(path, **{**arrays, "about": np.array("[" * 100_000)})
    assert refusal(path).startswith(("damaged (", "not a model"))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda arrays, about: about.update(version=2), "this elmlda reads format 1"),
        (lambda arrays, about: about.update(format="other"), "format is 'other'"),
        (lambda arrays, about: about.pop("networks"), "networks"),
        (lambda arrays, about: about.update(networks=[]), "networks of .. hidden"),
        (lambda arrays, about: about.update(combine="sum"), "combination 'sum'"),
        (lambda arrays, about: about["networks"][0].update(n_hidden=10**9), "output_weights of shape"),
        (lambda arrays, about: about["networks"][0].update(seed=None), "not a model"),
        (lambda arrays, about: about["networks"][0]["settings"].update(activation="x"), "activation"),
        (lambda arrays, about: arrays.update(classes=np.arange(4)), "classes of shape .4,"),
        (lambda arrays, about: arrays.pop("explained"), "explained"),
        (lambda arrays, about: arrays.update(class_counts=np.zeros(0, int)), "shape"),
        (
            lambda arrays, about: arrays.update(class_counts=np.array([1, -2, 3])),
            "class_counts are",
        ),
        (lambda arrays, about: about.update(image_shape=[5, 5]), "images of .5, 5., 6 inputs"),
        (
            lambda arrays, about: add(arrays, about, feature_names=np.array(["a"])),
            "feature_names of shape",
        ),
        (
            lambda arrays, about: add(arrays, about, offsets=np.zeros(6)),
            "half of the scaling is missing",
        ),
        (
            lambda arrays, about: arrays["output_weights"].__setitem__((0, 0, 0), np.nan),
            "output_weights that are not finite",
        ),
        *(
            (lambda arrays, about, name=name, dtype=dtype: retype(arrays, name, dtype), f"{name} of ")
            for name in ("output_weights", "explained", "priors", "class_counts")
            for dtype in ("float16", "complex128", "U5", "bool", "longdouble")
        ),
        (lambda arrays, about: arrays.update(classes=np.array([0, 1, np.nan])), "classes that are not"),
        (lambda arrays, about: arrays.update(classes=np.array([0, 1, 1])), "the same label"),
        (lambda arrays, about: arrays.update(classes=np.zeros(3, "M8[s]")), "type datetime64"),
        (lambda arrays, about: arrays.update(priors=np.array([-0.5, 0.5, 1.0])), "priors are"),
        (lambda arrays, about: arrays.update(priors=np.array([1e308] * 3)), "priors are"),
        (lambda arrays, about: arrays.update(priors=np.zeros(3)), "priors are"),
        (lambda arrays, about: arrays.update(class_counts=np.zeros(3, int)), "class_counts are"),
        (lambda arrays, about: arrays["explained"].fill(1e308), "."),
        (lambda arrays, about: arrays["output_weights"].fill(1e308), None),
        (lambda arrays, about: about.update(params=[1]), "params are"),
        (lambda arrays, about: about["networks"][0].update(ridge=-1.0), "ridge -1"),
        (lambda arrays, about: about["networks"][0].update(n_hidden="30"), "hidden, expected one"),
        (lambda arrays, about: about["networks"][0].update(n_inputs=6.0), "inputs, expected one"),
    ],
)
def test_files_that_are_not_what_they_seem(make_model, tmp_path, change, expected):
    path = tmp_path / "m.npz"
    write_model(path, make_model())
    rewrite(path, change)
    if expected is None:  # every number is one, and what comes of them is said when they are used
        read_model(path)
        return
    with pytest.raises(ElmldaError, match=expected) as error:
        read_model(path)
    assert "\n" not in str(error.value)


def test_a_numpy_that_draws_other_weights(make_model, tmp_path, monkeypatch):
    path = tmp_path / "m.npz"
    write_model(path, make_model())
    write_model(tmp_path / "safe.npz", make_model(), with_input_weights=True)
    draw = model_file.Recipe.draw_layer

    def draw_others(recipe):
        layer = draw(recipe)
        return replace(layer, input_weights=layer.input_weights + 1e-9)

    monkeypatch.setattr(model_file.Recipe, "draw_layer", draw_others)
    assert "drew from the same seed. Read it there and save it with its input weights." in refusal(path)
    read_model(tmp_path / "safe.npz")


def test_input_weights_of_another_shape(make_model, tmp_path):
    path = tmp_path / "m.npz"
    write_model(path, make_model(), with_input_weights=True)
    rewrite(path, lambda arrays, about: arrays.update(input_weights=arrays["input_weights"][:, 1:]))
    assert "input_weights of shape (1, 29, 6) and type float64, expected (1, 30, 6)" in refusal(path)


def test_foreign_files(tmp_path):
    path = tmp_path / "m.npz"
    assert refusal(path) == "cannot be read: No such file or directory."
    assert refusal(tmp_path) == "a folder, expected a .npz file."
    for content in (b"", b"hello", b"\x93NUMPY\1\0"):
        path.write_bytes(content)
        assert refusal(path) == "not a sound .npz file: File is not a zip file."
    np.savez(path, a=np.arange(3), b=np.arange(2))
    assert refusal(path) == "not a model that elmlda wrote (ValueError: it holds the arrays a, b)."
    np.savez(path, about=np.array({"format": "x"}, object))
    assert "an array of Python objects" in refusal(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "hello")
    assert "not a model" in refusal(path)


def test_a_file_is_replaced_in_one_step(make_model, tmp_path, monkeypatch):
    path = tmp_path / "m.npz"
    write_model(path, make_model())
    before = path.read_bytes()

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(ElmldaError, match="No space left on device"):
        write_model(path, make_model(2))
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["m.npz"]
