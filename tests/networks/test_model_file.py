"""Models in files: whole, small, without pickle, and refused in one line if they are not sound."""

import json
import threading

import numpy as np
import pytest
from run_folders import files_in, room_for

from elmlda.datasets.split import Scaling
from elmlda.errors import ElmldaError
from elmlda.networks.model import Model, fit_network
from elmlda.networks.model_file import read_model, write_model
from elmlda.networks.train import Recipe
from elmlda.settings import NetworkSettings, OutputSettings

LABELS = ("Äpfel", "b b", "c,d\n")


@pytest.fixture(scope="module")
def make_model(make_dataset):
    dataset = make_dataset()
    train = dataset.train

    def make(n=1, method="lda", n_hidden=30, more=None, **about):
        priors = (0.2, 0.3, 0.5)
        of_network = {"activation": "sine", "weight_range": 0.7, "input_scale": 0.5, "priors": priors}
        settings = NetworkSettings(**of_network | (more or {}))
        seeds = [np.random.SeedSequence(2**100 + 1, spawn_key=(i,)) for i in range(n)]
        recipes = [Recipe(seed, dataset.n_inputs, n_hidden, settings, (2, 3)) for seed in seeds]
        output = OutputSettings(1.0, 0.3, method)
        networks = [fit_network(each, train.inputs, train.labels, output, 3) for each in recipes]
        return Model(tuple(networks), LABELS, **about)

    return make


@pytest.fixture
def inputs(make_dataset):
    return make_dataset().test.inputs


def refusal(path):
    with pytest.raises(ElmldaError) as caught:
        read_model(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert len(message.splitlines()) == 1
    return message


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("more", [{}, {"bias": True}, {"input_weights": "constrained"}, None])
def test_what_was_written_is_read(make_model, inputs, tmp_path, n, more):
    """None is PI-ELM, which has no priors and no ensembles."""
    if more is None:
        n, more, about = 1, {}, {"method": "pi"}
    else:
        about = {}
    scaling = Scaling(np.arange(6.0), np.linspace(0.5, 1.5, 6))
    model = make_model(n, more=more, scaling=scaling, columns=["a"], **about)
    write_model(tmp_path / "m", model)
    found = read_model(tmp_path / "m")
    np.testing.assert_array_equal(found.values(inputs), model.values(inputs))
    assert (found.classes, found.columns) == (LABELS, ["a"])
    for one, other in zip(found.networks, model.networks, strict=True):
        np.testing.assert_array_equal(one.layer.input_weights, other.layer.input_weights)
        np.testing.assert_array_equal(one.priors, other.priors)
        assert one.recipe.settings == other.recipe.settings
        assert one.recipe.image_shape == other.recipe.image_shape == (2, 3)
        assert (one.ridge, one.temperature) == (other.ridge, other.temperature)
    with np.load(tmp_path / "m", allow_pickle=False) as stored:
        assert ("input_weights" in stored) == ("input_weights" in more)


def test_cut_off_anywhere(make_model, tmp_path):
    path = tmp_path / "m.npz"
    write_model(path, make_model())
    whole = path.read_bytes()
    for size in [*range(0, len(whole), max(1, len(whole) // 60)), len(whole) - 1]:
        path.write_bytes(whole[:size])
        refusal(path)
    for foreign in (b"hello", b"\x93NUMPY\1\0"):
        path.write_bytes(foreign)
        refusal(path)
    refusal(tmp_path)
    refusal(tmp_path / "none")


def test_a_bit_turned_over_anywhere(make_model, inputs, tmp_path):
    """Refused, or a byte that nothing depends on."""
    path = tmp_path / "m.npz"
    model = make_model()
    write_model(path, model)
    whole, expected = path.read_bytes(), model.values(inputs)
    rng, n_refused = np.random.default_rng(0), 0
    for at in [*rng.integers(0, len(whole), 200), *range(60), *range(len(whole) - 60, len(whole))]:
        damaged = bytearray(whole)
        damaged[at] ^= 1 << rng.integers(8)
        path.write_bytes(damaged)
        try:
            found = read_model(path)
        except ElmldaError:
            n_refused += 1
        else:
            np.testing.assert_array_equal(found.values(inputs), expected)
    assert n_refused > 150


@pytest.mark.parametrize(
    "change",
    [
        lambda arrays, about: about.update(version=1),
        lambda arrays, about: about.pop("networks"),
        lambda arrays, about: about["networks"][0].update(input_weights_sha256="00"),
        lambda arrays, about: about["networks"][0]["settings"].update(activation="x"),
        lambda arrays, about: arrays.pop("explained"),
    ],
)
def test_files_that_are_not_what_they_seem(make_model, tmp_path, change):
    path = tmp_path / "m.npz"
    write_model(path, make_model())
    with np.load(path) as stored:
        arrays = dict(stored)
    about = json.loads(str(arrays["about"]))
    change(arrays, about)
    np.savez(path, **{**arrays, "about": np.array(json.dumps(about))})
    refusal(path)


def test_a_file_is_replaced_in_one_step(make_model, tmp_path):
    path = tmp_path / "m.npz"
    write_model(path, make_model())
    before = files_in(tmp_path)
    with room_for(1000), pytest.raises(ElmldaError, match=r"m\.npz"):
        write_model(path, make_model(2))
    assert files_in(tmp_path) == before


def test_of_two_writers_without_replacement_one_is_refused(make_model, tmp_path):
    path, models, refused = tmp_path / "m.npz", [make_model(), make_model(n_hidden=20)], []

    def write(model):
        try:
            write_model(path, model, replace=False)
        except ElmldaError as error:
            refused.append(error)

    threads = [threading.Thread(target=write, args=(model,)) for model in models]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 1
    assert "force" in refused[0].settings
    assert read_model(path).recipe.n_hidden in (20, 30)
    assert list(files_in(tmp_path)) == ["m.npz"]
