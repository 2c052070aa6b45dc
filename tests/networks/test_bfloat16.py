"""Networks whose hidden outputs are rounded to bfloat16, through the engine, models and commands."""

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest
from equations import literal_lda

from elmlda import ELMClassifier
from elmlda.core import bfloat16
from elmlda.core.hidden import HiddenLayer
from elmlda.core.input_weights import draw_uniform_weights
from elmlda.networks.model import Model, Recipe, fit_network
from elmlda.networks.model_file import read_model, write_model
from elmlda.networks.train import run_network
from elmlda.settings import NetworkSettings, Resources

ROUNDED = NetworkSettings(precision="bfloat16")
PRIORS = np.full(3, 1 / 3)


@pytest.fixture(autouse=True)
def _no_matrix_units(monkeypatch):
    """As on this processor or without them, tests are the same."""
    monkeypatch.setattr(bfloat16, "read_cpu_flags", frozenset)
    bfloat16.choose_multiplier.cache_clear()
    yield
    bfloat16.choose_multiplier.cache_clear()


@pytest.mark.parametrize("chunk", [64, 4000])
def test_it_is_the_network_of_the_rounded_outputs(make_dataset, chunk):
    """Training and test alike: by ml_dtypes' rounding and the paper's equations in float64."""
    dataset = make_dataset(n_train=500, n_test=300, n_inputs=8)
    weights = draw_uniform_weights(np.random.default_rng(3), 8, 16, dtype=np.float32)
    train, test = (
        HiddenLayer(weights, input_scale=dataset.input_scale)
        .outputs(part.inputs)
        .astype(ml_dtypes.bfloat16)
        .astype(float)
        for part in (dataset.train, dataset.test)
    )
    pi = np.linalg.lstsq(train, np.eye(3)[dataset.train.labels], rcond=None)[0]
    lda = literal_lda(train, dataset.train.labels, PRIORS)
    scores = test @ pi, lda[0] + test @ lda[1:]
    expected = [np.count_nonzero(s.argmax(axis=1) != dataset.test.labels) for s in scores]
    found = run_network(dataset, np.random.default_rng(3), (16,), ROUNDED, Resources(chunk=chunk))
    assert [*found.pi_errors, *found.lda_errors] == expected
    assert found.precision == "bfloat16"
    log_posteriors = scores[1] - np.logaddexp.reduce(scores[1], axis=1, keepdims=True)
    np.testing.assert_allclose(found.posteriors, np.exp(log_posteriors), atol=3e-3)
    mixed = run_network(dataset, np.random.default_rng(3), (16,), replace(ROUNDED, precision="mixed"))
    assert abs(mixed.posteriors - found.posteriors).max() > 3e-3, "rounding must show"


def test_mnist_counts_are_near_those_of_mixed_precision(mnist):
    found = run_network(mnist, np.random.default_rng(0), (784,), ROUNDED, Resources(threads=2))
    assert found.precision == "bfloat16"
    assert abs(found.pi_errors[0] - 704) <= 3
    assert abs(found.lda_errors[0] - 685) <= 3


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({"input_scale": 0.05}, id="nearly dependent units"),
        pytest.param(
            {"activation": "relu", "weight_range": 3.39e38, "ridge": 1e-3}, id="rounded to infinity"
        ),
    ],
)
def test_what_is_not_enough_is_done_again_in_double(make_dataset, settings):
    settings = replace(ROUNDED, **settings)
    found, double = (
        run_network(make_dataset(n_inputs=5), np.random.default_rng(2), (3, 8), each)
        for each in (settings, settings.in_double())
    )
    assert found.precision == "double"
    assert found.lda_errors == double.lda_errors


@pytest.fixture
def network(make_dataset):
    train = make_dataset().train
    recipe = Recipe(np.random.SeedSequence(5), train.inputs.shape[1], 30, replace(ROUNDED, bias=True))
    return fit_network(recipe, train.inputs, train.labels, 1.0, PRIORS, 3)


def test_a_model_from_a_file_rounds_too(network, make_dataset, tmp_path):
    inputs = make_dataset().test.inputs
    write_model(tmp_path / "model.npz", Model((network,), np.arange(3)))
    found = read_model(tmp_path / "model.npz")
    outputs = found.hidden_outputs(inputs)
    assert found.recipe.precision == "bfloat16"
    np.testing.assert_array_equal(outputs, outputs.astype(ml_dtypes.bfloat16).astype(np.float32))
    np.testing.assert_array_equal(found.scores(inputs), network.scores(inputs))


def test_an_estimator_with_weights_that_are_copies(make_dataset):
    train = make_dataset().train
    weights = np.random.default_rng(0).integers(1, 4, len(train.labels))
    rounded = ELMClassifier(n_hidden=20, precision="bfloat16", random_state=0)
    weighted = rounded.fit(train.inputs, train.labels, sample_weight=weights)
    found = weighted.predict_proba(train.inputs)
    assert weighted.precision_ == "bfloat16"
    copies = rounded.fit(np.repeat(train.inputs, weights, axis=0), np.repeat(train.labels, weights))
    np.testing.assert_allclose(found, copies.predict_proba(train.inputs), atol=1e-4)
