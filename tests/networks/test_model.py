"""Trained networks: against the experiments' networks, streamed, weighted, and in ensembles."""

import numpy as np
import pytest

from elmlda.core.evaluate import posteriors
from elmlda.errors import ElmldaError
from elmlda.networks.model import Model, fit_network, mean_posteriors
from elmlda.networks.train import FEW_HIDDEN, Recipe, train_and_test
from elmlda.settings import NetworkSettings, OutputSettings


def recipe_of(dataset, n_hidden, key=(0,), **settings):
    seed = np.random.SeedSequence(5, spawn_key=key)
    return Recipe.for_dataset(dataset, seed, n_hidden, NetworkSettings(**settings))


def fit(dataset, recipe, ridge=1.0, temperature=1.0, output="lda"):
    part = dataset.train
    settings = OutputSettings(ridge, temperature, output)
    return fit_network(recipe, part.inputs, part.labels, settings, 3)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
@pytest.mark.parametrize(
    ("n_hidden", "ridge"), [(6, 0.0), (6, 2.0), (FEW_HIDDEN + 8, 20.0), (20, "loo")]
)
def test_networks_are_those_of_the_experiments(make_dataset, dtype, n_hidden, ridge):
    dataset = make_dataset(dtype=dtype)
    recipe = recipe_of(dataset, n_hidden)
    (expected,) = train_and_test(dataset, recipe, {ridge: (n_hidden,)}, temperature="loo").scores
    lda = fit(dataset, recipe, ridge, "loo")
    pi = fit(dataset, recipe, expected.ridge, output="pi")
    tolerance = 1e-9 if recipe.precision == "double" else 1e-3
    (temperature,) = expected.temperatures
    assert lda.temperature == pytest.approx(temperature, rel=tolerance)
    scores = temperature * expected.lda[:, 0]
    np.testing.assert_allclose(lda.scores(dataset.test.inputs), scores, atol=tolerance)
    np.testing.assert_allclose(pi.scores(dataset.test.inputs), expected.pi[:, 0], atol=tolerance)
    assert lda.ridge == pi.ridge == expected.ridge
    for network in (lda, pi):
        weights, constants = network.output_weights()
        scores = network.hidden_outputs(dataset.test.inputs, 11) @ weights + constants
        np.testing.assert_allclose(scores, network.scores(dataset.test.inputs, 7), atol=tolerance)


def test_ensembles_have_the_mean_of_the_posteriors(make_dataset):
    dataset = make_dataset()
    recipes = [recipe_of(dataset, 10, (i,), priors=[0.2, 0.3, 0.5]) for i in range(3)]
    networks = tuple(fit(dataset, recipe, temperature="loo") for recipe in recipes)
    expected = sum(posteriors(network.scores(dataset.test.inputs)) for network in networks) / 3
    for found in (
        Model(networks, ("a", "b", "c")).values(dataset.test.inputs),
        mean_posteriors(networks, dataset.test.inputs, chunk=33),
    ):
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_chunks_change_no_answer(make_dataset):
    dataset = make_dataset(dtype=np.uint8)
    network, inputs = fit(dataset, recipe_of(dataset, 10)), dataset.test.inputs
    expected = network.scores(inputs)
    for chunk in (1, 7, len(inputs) - 1, len(inputs)):
        np.testing.assert_allclose(network.scores(inputs, chunk), expected, atol=1e-12)


def test_a_faint_image_is_one_whatever_stands_beside_it(make_dataset):
    dataset = make_dataset(dtype=np.uint8)
    network = fit(dataset, recipe_of(dataset, 10))
    model = Model((network,), ("a", "b", "c"), largest_input=255.0)
    inputs = dataset.test.inputs.astype(float)
    inputs[-1] /= 20
    np.testing.assert_array_equal(model.values(inputs), mean_posteriors([network], inputs))
    for scale in (1 / 255, 255):
        with pytest.raises(ElmldaError, match="multiply"):
            model.values(scale * inputs)
