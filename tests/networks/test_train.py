"""Whole networks: on MNIST against reference counts, on small data against numpy and scikit-learn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import RidgedCovariance
from scipy.special import softmax
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import Ridge

from elmlda.core.evaluate import count_errors
from elmlda.core.head import FeatureSums
from elmlda.core.solve import LostPrecisionError
from elmlda.errors import ElmldaError
from elmlda.networks import cost
from elmlda.networks.train import (
    FEW_HIDDEN,
    Recipe,
    train_and_test,
)
from elmlda.options import NetworkOptions

# Errors of 10,000, fan-out 1 to 20, by an independent prototype whose weights are
# default_rng(0).uniform(-0.5, 0.5, (n_hidden, 784)).
PI_ERRORS = [704, 515, 438, 402, 343, 328, 304, 302, 285, 278]
PI_ERRORS += [269, 267, 253, 244, 242, 224, 222, 219, 224, 226]
LDA_ERRORS = [685, 505, 406, 367, 328, 315, 296, 286, 281, 269]
LDA_ERRORS += [263, 254, 250, 243, 232, 224, 211, 219, 221, 215]

ACTIVATIONS = {
    "tanh": np.tanh,
    "logistic": lambda x: 1 / (1 + np.exp(-x)),
    "relu": lambda x: np.maximum(x, 0),
    "softsign": lambda x: x / (1 + np.abs(x)),
    "sine": np.sin,
}


def train(dataset, seed, sizes_by_ridge, threads=1, **options):
    """A network whose weights are default_rng(seed)'s, as those of SeedSequence(seed) are."""
    if not isinstance(sizes_by_ridge, dict):
        sizes_by_ridge = {0.0: sizes_by_ridge}
    largest = max(max(sizes) for sizes in sizes_by_ridge.values())
    settings = NetworkOptions(**options)
    recipe = Recipe.for_dataset(dataset, np.random.SeedSequence(seed), largest, settings)
    return train_and_test(dataset, recipe, sizes_by_ridge, threads)


def all_counts(dataset, scores):
    return [
        count_errors(each, dataset.test.labels) for each in (scores.pi, scores.pi_constant, scores.lda)
    ]


# MNIST


@pytest.mark.parametrize("last", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_mnist_reference_counts(mnist, last):
    found = train(mnist, 0, tuple(784 * fanout for fanout in range(1, last + 1)), threads=2)
    (scores,) = found.scores
    pi, _, lda = all_counts(mnist, scores)
    np.testing.assert_allclose(pi, PI_ERRORS[:last], atol=1, rtol=0)
    np.testing.assert_allclose(lda, LDA_ERRORS[:last], atol=1, rtol=0)
    assert scores.pi.shape == scores.lda.shape == (10_000, last, 10)
    assert (scores.rule, scores.ridge, found.precision) == ("fixed", 0.0, "mixed")
    assert found.seconds > 0


# Small data, against numpy and scikit-learn


def hidden_outputs(dataset, seed, size, activation="tanh", weight_range=0.5, bias=False):
    """Hidden outputs of training and test samples, written out; a bias's input is √n_inputs."""
    rng = np.random.default_rng(seed)
    weights = rng.uniform(-weight_range, weight_range, (size, dataset.n_inputs + bias))
    parts = [dataset.input_scale * part.inputs.astype(float) for part in (dataset.train, dataset.test)]
    if bias:
        one = np.sqrt(dataset.n_inputs)
        parts = [np.column_stack([part, np.full(len(part), one)]) for part in parts]
    return [ACTIVATIONS[activation](part @ weights.T) for part in parts]


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
@pytest.mark.parametrize(
    ("activation", "bias"),
    [(name, bias) for name in ACTIVATIONS for bias in (False, True)],
)
def test_pi_is_least_squares(make_dataset, dtype, activation, bias):
    dataset = make_dataset(n_train=401, n_test=199, n_inputs=9, n_classes=4, dtype=dtype)
    found = train(dataset, 11, (2, 5, 9), activation=activation, bias=bias, weight_range=0.8).scores[0]
    targets = np.eye(4)[dataset.train.labels]
    for i, size in enumerate(found.sizes):
        hidden, tested = hidden_outputs(dataset, 11, size, activation, 0.8, bias)
        weights = np.linalg.lstsq(hidden, targets, rcond=None)[0]
        np.testing.assert_allclose(found.pi[:, i], tested @ weights, atol=1e-5)
        with_ones = [np.column_stack([np.ones(len(part)), part]) for part in (hidden, tested)]
        weights = np.linalg.lstsq(with_ones[0], targets, rcond=None)[0]
        np.testing.assert_allclose(found.pi_constant[:, i], with_ones[1] @ weights, atol=1e-4)


@pytest.mark.parametrize("ridge", [0.0, 0.7, 30.0])
def test_ridge_and_lda_are_scikit_learns(make_dataset, ridge):
    dataset = make_dataset(n_train=301, n_inputs=7)
    n_train = len(dataset.train.labels)
    found = train(dataset, 5, {ridge: (3, 7)}, priors="frequencies").scores[0]
    uniform = train(dataset, 5, {ridge: (3, 7)}).scores[0]
    given = train(dataset, 5, {ridge: (3, 7)}, priors=[0.2, 0.3, 0.5]).scores[0]
    frequencies = np.bincount(dataset.train.labels) / n_train
    for i, size in enumerate(found.sizes):
        hidden, tested = hidden_outputs(dataset, 5, size)
        lda = LinearDiscriminantAnalysis(
            solver="lsqr", covariance_estimator=RidgedCovariance(ridge / n_train), priors=frequencies
        ).fit(hidden, dataset.train.labels)
        scores = lda.decision_function(tested)
        np.testing.assert_allclose(
            softmax(found.lda[:, i], axis=1), lda.predict_proba(tested), atol=1e-7
        )
        # The covariance is pooled over all samples whatever the priors, Eq. (12).
        for other, priors in ((uniform, [1 / 3] * 3), (given, [0.2, 0.3, 0.5])):
            moved = scores + np.log(priors) - np.log(frequencies)
            np.testing.assert_allclose(
                softmax(other.lda[:, i], axis=1), softmax(moved, axis=1), atol=1e-7
            )
            np.testing.assert_array_equal(other.pi, found.pi)
        if ridge:
            pi = Ridge(alpha=ridge, fit_intercept=False).fit(hidden, np.eye(3)[dataset.train.labels])
            np.testing.assert_allclose(found.pi[:, i], pi.predict(tested), atol=1e-8)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 2**64),
    sizes=st.sets(st.integers(1, 30), min_size=1, max_size=4).map(lambda found: tuple(sorted(found))),
    more=st.integers(1, 10),
)
def test_nested_sizes_are_networks_trained_alone(make_dataset, seed, sizes, more):
    """And the first part of any larger one."""
    dataset = make_dataset(n_inputs=30, n_train=150, n_test=40)
    larger = train(dataset, seed, (*sizes, sizes[-1] + more)).scores[0]
    for i, size in enumerate(sizes):
        alone = train(dataset, seed, (size,)).scores[0]
        np.testing.assert_allclose(alone.pi[:, 0], larger.pi[:, i], atol=1e-6)
        np.testing.assert_allclose(alone.lda[:, 0], larger.lda[:, i], atol=1e-4, rtol=1e-6)


def test_ridges_share_a_gram_matrix_and_are_what_each_is_alone(make_dataset):
    dataset = make_dataset(n_inputs=12)
    sizes_by_ridge = {0.0: (3, 12), 1.5: (3, 12, 20), "loo": (3, 20)}
    together = iter(train(dataset, 2, sizes_by_ridge).scores)
    for ridge, sizes in sizes_by_ridge.items():
        for alone in train(dataset, 2, {ridge: sizes}).scores:
            found = next(together)
            assert (found.rule, found.sizes) == (alone.rule, alone.sizes)
            assert found.ridge == pytest.approx(alone.ridge, rel=1e-6)
            for one, other in ((found.pi, alone.pi), (found.lda, alone.lda)):
                np.testing.assert_allclose(one, other, atol=1e-6, rtol=1e-6)
    assert next(together, None) is None
    chosen = [each.ridge for each in train(dataset, 2, {"loo": (3, 20)}).scores]
    assert len(set(chosen)) == 2, "each size has its own"


def test_sizes_that_are_singular_have_no_lda_scores_and_the_smaller_ones_do(make_dataset):
    """30 samples in 3 classes: their covariance has rank 27."""
    dataset = make_dataset(n_train=30, n_inputs=40)
    found = train(dataset, 0, (10, 27, 28, 60)).scores[0]
    assert found.pi.shape[1] == found.pi_constant.shape[1] == 4
    assert found.lda.shape[1] == 2
    np.testing.assert_allclose(found.lda, train(dataset, 0, (10, 27)).scores[0].lda, atol=1e-6)
    assert train(dataset, 0, (28, 60)).scores[0].lda.shape[1] == 0
    assert train(dataset, 0, {0.1: (28, 60)}).scores[0].lda.shape[1] == 2
    hidden, tested = hidden_outputs(dataset, 0, 60)
    expected = tested @ np.linalg.pinv(hidden) @ np.eye(3)[dataset.train.labels]
    np.testing.assert_allclose(found.pi[:, 3], expected, atol=1e-6)


# Precision


NEARLY_DEPENDENT = {1e-6: (3, FEW_HIDDEN + 1)}
"""Over a thousand units of six inputs."""


def test_mixed_that_is_not_enough_is_computed_in_double_and_said(make_dataset):
    dataset = make_dataset()
    found = train(dataset, 0, NEARLY_DEPENDENT)
    expected = train(dataset, 0, NEARLY_DEPENDENT, precision="double")
    assert found.precision == expected.precision == "double"
    assert train(dataset, 0, {30.0: (FEW_HIDDEN + 1,)}).precision == "mixed"
    assert train(dataset, 0, {30.0: (FEW_HIDDEN,)}).precision == "double", "small networks are"
    np.testing.assert_array_equal(found.scores[0].lda, expected.scores[0].lda)
    recipe = Recipe(np.random.SeedSequence(0), 6, FEW_HIDDEN + 1, NetworkOptions())
    sums = FeatureSums(FEW_HIDDEN + 1, 3, np.float32)
    sums.add(recipe.draw_layer().batches(dataset.train.inputs, 4000), dataset.train.labels)
    with pytest.raises(LostPrecisionError):
        sums.solve((FEW_HIDDEN + 1,), 1e-6, 1.0, "uniform")


def test_double_that_does_not_fit_is_refused(make_dataset, monkeypatch):
    monkeypatch.setattr(cost, "free_memory", lambda: 1)
    with pytest.raises(ElmldaError, match="double precision"):
        train(make_dataset(), 0, NEARLY_DEPENDENT)


@pytest.mark.parametrize("n_hidden", [20, FEW_HIDDEN + 20])
def test_threads_change_no_count(make_dataset, n_hidden):
    dataset = make_dataset(n_inputs=40)
    one, two = (train(dataset, 3, {1.0: (5, n_hidden)}, threads=n).scores[0] for n in (1, 2))
    for found, expected in zip(all_counts(dataset, one), all_counts(dataset, two), strict=True):
        np.testing.assert_array_equal(found, expected)
