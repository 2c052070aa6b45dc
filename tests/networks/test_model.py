"""Trained networks: against the experiments' networks, streamed, and in ensembles."""

from dataclasses import replace

import numpy as np
import pytest

from elmlda.core.evaluate import combine_posteriors, count_errors, posteriors
from elmlda.core.solve import LostPrecisionError
from elmlda.networks import model
from elmlda.networks.model import FEW_HIDDEN, Model, Recipe, TooLargeError, Trainer, fit_network
from elmlda.networks.train import run_network
from elmlda.settings import COMBINATIONS, NetworkSettings

UNIFORM = np.full(3, 1 / 3)


def recipe_of(dataset, n_hidden, key=(0,), **settings):
    seed = np.random.SeedSequence(5, spawn_key=key)
    settings = {"input_scale": dataset.input_scale, **settings}
    return Recipe(seed, dataset.n_inputs, n_hidden, NetworkSettings(**settings))


def train(dataset, recipe, ridge=1.0, priors=UNIFORM, **options):
    part = dataset.train
    return fit_network(recipe, part.inputs, part.labels, ridge, priors, 3, **options)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
@pytest.mark.parametrize(("n_hidden", "ridge"), [(6, 0.0), (6, 2.0), (FEW_HIDDEN + 8, 2.0)])
def test_networks_are_those_of_the_experiments(make_dataset, dtype, n_hidden, ridge):
    dataset = make_dataset(dtype=dtype)
    recipe = recipe_of(dataset, n_hidden)
    settings = NetworkSettings(ridge=ridge, precision=recipe.precision)
    expected = run_network(dataset, np.random.default_rng(recipe.seed), (n_hidden,), settings)
    test = dataset.test
    lda = train(dataset, recipe, ridge)
    assert count_errors(lda.scores(test.inputs), test.labels) == expected.lda_errors[0]
    np.testing.assert_allclose(posteriors(lda.scores(test.inputs)), expected.posteriors, atol=1e-5)
    pi = train(dataset, recipe, ridge, priors=None)
    assert count_errors(pi.scores(test.inputs), test.labels) == expected.pi_errors[0]


@pytest.mark.parametrize("priors", [UNIFORM, None], ids=["lda", "pi"])
def test_output_weights_give_the_scores(make_dataset, priors):
    dataset = make_dataset()
    network = train(dataset, recipe_of(dataset, 20), priors=priors)
    weights, constants = network.output_weights()
    hidden = network.layer.outputs(dataset.test.inputs)
    np.testing.assert_allclose(
        hidden @ weights + constants, network.scores(dataset.test.inputs, 7), rtol=1e-8, atol=1e-8
    )


@pytest.mark.parametrize("n_hidden", [30, FEW_HIDDEN + 1])
def test_batches_of_any_size_give_the_same_network(make_dataset, n_hidden):
    dataset = make_dataset()
    recipe = recipe_of(dataset, n_hidden)
    trainer = Trainer(recipe, 3)
    for part in np.split(np.arange(400), [1, 3, 100, 250]):
        trainer.add(dataset.train.inputs[part], dataset.train.labels[part], chunk=32)
    found, expected = trainer.solve(1.0, UNIFORM), train(dataset, recipe)
    rtol = 1e-8 if recipe.precision == "double" else 1e-3
    scores = [network.scores(dataset.test.inputs) for network in (found, expected)]
    np.testing.assert_allclose(*scores, rtol=rtol, atol=rtol)


def test_small_networks_are_in_double(make_dataset):
    dataset = make_dataset()
    small, large = (train(dataset, recipe_of(dataset, FEW_HIDDEN + more)) for more in (0, 1))
    assert (small.recipe.precision, small.layer.dtype) == ("double", np.float64)
    assert (large.recipe.precision, large.layer.dtype) == ("mixed", np.float32)


def test_what_float32_cannot_do_is_done_in_double(make_dataset):
    dataset = make_dataset()
    recipe = recipe_of(dataset, FEW_HIDDEN + 1)
    found = train(dataset, recipe, ridge=1e-9)
    assert found.recipe.precision == "double"
    double = replace(recipe, settings=replace(recipe.settings, precision="double"))
    expected = train(dataset, double, ridge=1e-9)
    np.testing.assert_array_equal(found.pi.weights, expected.pi.weights)
    trainer = Trainer(recipe, 3)
    trainer.add(dataset.train.inputs, dataset.train.labels)
    with pytest.raises(LostPrecisionError):
        trainer.solve(1e-9, UNIFORM)


def test_classes_without_samples_yet(make_dataset):
    dataset = make_dataset()
    there = dataset.train.labels != 1
    trainer = Trainer(recipe_of(dataset, 20), 3)
    trainer.add(dataset.train.inputs[there], dataset.train.labels[there])
    network = trainer.solve(1.0, np.array([0.2, 0.2, 0.6]))
    np.testing.assert_allclose(network.priors, [0.25, 0, 0.75])
    two = Trainer(recipe_of(dataset, 20), 2)
    two.add(dataset.train.inputs[there], dataset.train.labels[there] // 2)
    expected = two.solve(1.0, np.array([0.25, 0.75])).scores(dataset.test.inputs)
    scores = network.scores(dataset.test.inputs)
    np.testing.assert_allclose(scores[:, [0, 2]], expected, rtol=1e-9)
    assert (scores[:, 1] == -np.inf).all()
    weights, constants = network.output_weights()
    assert (weights[:, 1] == 0).all()
    assert constants[1] == -np.inf


def test_ridge_by_gcv(make_dataset):
    dataset = make_dataset(n_train=50)
    network = train(dataset, recipe_of(dataset, 100), ridge=None)
    assert network.ridge > 0
    expected = train(dataset, recipe_of(dataset, 100), ridge=network.ridge)
    np.testing.assert_array_equal(network.pi.weights, expected.pi.weights)


@pytest.mark.parametrize("combine", COMBINATIONS)
def test_ensembles_combine_posteriors(make_dataset, combine):
    dataset = make_dataset()
    priors = np.array([0.2, 0.3, 0.5])
    networks = tuple(train(dataset, recipe_of(dataset, 10, (i,)), priors=priors) for i in range(3))
    model = Model(networks, np.arange(3), combine)
    members = np.stack([posteriors(network.scores(dataset.test.inputs)) for network in networks])
    expected = combine_posteriors(members, combine, priors)[-1]
    found = model.posteriors(dataset.test.inputs, chunk=33)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_array_equal(model.choose(dataset.test.inputs), expected.argmax(axis=1))


def test_a_network_that_does_not_fit_is_refused_before_it_is_drawn(make_dataset, monkeypatch):
    dataset = make_dataset()
    monkeypatch.setattr(model, "available_memory", lambda: 12 * 1100**2)
    monkeypatch.setattr(Recipe, "draw_layer", lambda recipe: pytest.fail("it was drawn"))
    with pytest.raises(
        TooLargeError, match=r"^1,101 hidden units need 0\.01 GB .* At most 1,100 would fit"
    ):
        Trainer(recipe_of(dataset, 1101), 3)
    monkeypatch.undo()
    monkeypatch.setattr(model, "available_memory", lambda: 12 * 1100**2)
    Trainer(recipe_of(dataset, 1100), 3)
    monkeypatch.setattr(model, "available_memory", lambda: None)
    Trainer(recipe_of(dataset, 1101), 3)
