"""Weights of samples, hidden outputs, and units with a bias."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

import elmlda
from elmlda import ELMClassifier
from elmlda.networks.train import FEW_HIDDEN

IRIS, SPECIES = load_iris(return_X_y=True)
WEIGHTS = np.random.default_rng(0).integers(0, 4, len(IRIS))
REPEATED = np.repeat(np.arange(len(IRIS)), WEIGHTS)
PARAMS = [
    {},
    {"output": "pi"},
    {"ridge": 1.0, "priors": "uniform", "batch_size": 7},
    {"n_hidden": FEW_HIDDEN + 1, "ridge": 10.0},
    {"class_weight": {0: 3.0, 2: 0.5}},
]


# Weights


def assert_same(network, other):
    np.testing.assert_allclose(
        network.decision_function(IRIS), other.decision_function(IRIS), rtol=1e-4, atol=1e-4
    )
    np.testing.assert_array_equal(network.predict(IRIS), other.predict(IRIS))
    np.testing.assert_allclose(network.class_count_, other.class_count_)


@pytest.mark.parametrize("params", PARAMS, ids=str)
def test_whole_weights_are_repeats_and_zeros_leave_out(params):
    weighted = ELMClassifier(random_state=0, **params).fit(IRIS, SPECIES, sample_weight=WEIGHTS)
    repeated = ELMClassifier(random_state=0, **params).fit(IRIS[REPEATED], SPECIES[REPEATED])
    assert_same(weighted, repeated)


@pytest.mark.parametrize("params", PARAMS, ids=str)
def test_weights_in_a_stream(params):
    whole = ELMClassifier(random_state=0, **params).fit(IRIS, SPECIES, sample_weight=WEIGHTS / 3)
    stream = ELMClassifier(random_state=0, **params)
    for part in np.array_split(np.random.default_rng(1).permutation(len(IRIS)), 4):
        stream.partial_fit(IRIS[part], SPECIES[part], [0, 1, 2], sample_weight=WEIGHTS[part] / 3)
    assert_same(whole, stream)


def test_weights_that_sum_to_less_than_the_units():
    """The rank of the hidden outputs is bounded by the number of samples, not by their weights."""
    network = ELMClassifier(
        20, weight_range=0.5, bias=False, ridge=0.0, random_state=0, temperature=1.0
    )
    small = clone(network).fit(IRIS, SPECIES, np.full(150, 1 / 150))
    plain = network.fit(IRIS, SPECIES)
    np.testing.assert_allclose(small.predict_proba(IRIS), plain.predict_proba(IRIS), atol=1e-6)


@pytest.mark.filterwarnings("ignore:160 hidden units:elmlda.core.solve.RankWarning")
def test_a_singular_covariance_of_weighted_samples():
    X = np.column_stack([IRIS, IRIS[:, 0]])
    with pytest.raises(ValueError, match=r"147 .* 160"):
        ELMClassifier(160, ridge=0.0, random_state=0).fit(X, SPECIES, np.full(150, 1e-3))


@pytest.mark.parametrize("weights", [-WEIGHTS, np.zeros(150), np.full(150, np.nan), WEIGHTS[1:]])
def test_weights_that_make_no_sense(weights):
    with pytest.raises(ValueError, match=r"[Ss]ample.weight|[Nn]egative|NaN"):
        ELMClassifier().fit(IRIS, SPECIES, sample_weight=weights)


# Hidden outputs


@pytest.mark.parametrize("bias", [False, True])
def test_transform_gives_the_hidden_outputs(bias):
    network = ELMClassifier(20, bias=bias, random_state=0, output="pi").fit(IRIS, SPECIES)
    hidden = network.transform(IRIS)
    weights, biases = network.coefs_[0], network.intercepts_[0]
    np.testing.assert_allclose(hidden, np.tanh(IRIS @ weights + biases), atol=1e-12)
    np.testing.assert_allclose(hidden @ network.coefs_[1], network.decision_function(IRIS))
    assert network.get_feature_names_out()[:2].tolist() == ["elmclassifier0", "elmclassifier1"]
    frame = network.set_output(transform="pandas").transform(IRIS)
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == network.get_feature_names_out().tolist()


# Class weights


def test_balanced_classes_weigh_the_same():
    X, y = IRIS[:110], SPECIES[:110]
    balanced = ELMClassifier(random_state=0, class_weight="balanced").fit(X, y)
    np.testing.assert_allclose(balanced.class_count_, 110 / 3)
    np.testing.assert_allclose(balanced.priors_, 1 / 3)
    with pytest.raises(ValueError, match="expected a dict"):
        ELMClassifier(class_weight="balanced").partial_fit(X, y, classes=[0, 1, 2])


def test_what_a_shell_completes():
    assert {"ELMClassifier", "ELMEnsembleClassifier", "Sweep", "report"} <= set(dir(elmlda))
