"""Trained networks: against the experiments' networks, streamed, weighted, and in ensembles."""

import numpy as np
import pytest

from elmlda.core.evaluate import combine_posteriors, posteriors
from elmlda.errors import ElmldaError
from elmlda.networks.model import Model, fit_network
from elmlda.networks.train import FEW_HIDDEN, Recipe, train_and_test
from elmlda.options import COMBINATIONS
from elmlda.settings import NetworkSettings

UNIFORM = np.full(3, 1 / 3)


def recipe_of(dataset, n_hidden, key=(0,), **settings):
    seed = np.random.SeedSequence(5, spawn_key=key)
    return Recipe.for_dataset(dataset, seed, n_hidden, NetworkSettings(**settings))


def fit(dataset, recipe, ridge=1.0, priors=UNIFORM, **options):
    part = dataset.train
    return fit_network(recipe, part.inputs, part.labels, ridge, priors, 3, **options)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
@pytest.mark.parametrize(
    ("n_hidden", "ridge"), [(6, 0.0), (6, 2.0), (FEW_HIDDEN + 8, 20.0), (20, "gcv")]
)
def test_networks_are_those_of_the_experiments(make_dataset, dtype, n_hidden, ridge):
    dataset = make_dataset(dtype=dtype)
    recipe = recipe_of(dataset, n_hidden)
    (expected,) = train_and_test(dataset, recipe, {ridge: (n_hidden,)}).scores
    lda, pi = (fit(dataset, recipe, ridge, priors) for priors in (UNIFORM, None))
    tolerance = 1e-9 if recipe.precision == "double" else 1e-3
    np.testing.assert_allclose(lda.scores(dataset.test.inputs), expected.lda[:, 0], atol=tolerance)
    np.testing.assert_allclose(pi.scores(dataset.test.inputs), expected.pi[:, 0], atol=tolerance)
    assert lda.ridge == pi.ridge == expected.ridge
    for network in (lda, pi):
        weights, constants = network.output_weights()
        scores = network.hidden_outputs(dataset.test.inputs, 11) @ weights + constants
        np.testing.assert_allclose(scores, network.scores(dataset.test.inputs, 7), atol=tolerance)


@pytest.mark.parametrize("combine", COMBINATIONS)
def test_ensembles_combine_posteriors(make_dataset, combine):
    dataset = make_dataset()
    priors = np.array([0.2, 0.3, 0.5])
    networks = tuple(fit(dataset, recipe_of(dataset, 10, (i,)), priors=priors) for i in range(3))
    model = Model(networks, np.arange(3), combine)
    members = np.stack([posteriors(network.scores(dataset.test.inputs)) for network in networks])
    expected = combine_posteriors(members, combine, priors)[-1]
    found = model.posteriors(dataset.test.inputs, chunk=33)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_array_equal(model.choose(dataset.test.inputs), expected.argmax(axis=1))
    if combine == "mean":
        np.testing.assert_allclose(found, members.mean(axis=0), atol=1e-12)


def test_chunks_change_no_answer(make_dataset):
    """Not even that inputs are of the model's scale: a faint image is one whatever stands beside it."""
    dataset = make_dataset(dtype=np.uint8)
    model = Model((fit(dataset, recipe_of(dataset, 10)),), np.arange(3), largest_input=255.0)
    inputs = dataset.test.inputs.astype(float)
    inputs[-1] /= 20
    expected = model.values(inputs)
    for chunk in (1, 7, len(inputs) - 1, len(inputs)):
        np.testing.assert_allclose(model.values(inputs, chunk), expected, atol=1e-12)
    for scale in (1 / 255, 255):
        with pytest.raises(ElmldaError, match="multiply"):
            model.values(scale * inputs)
