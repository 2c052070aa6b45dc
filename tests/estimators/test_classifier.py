"""ELMClassifier: what scikit-learn's users expect, and what its checks do not look at."""

import pickle
import subprocess
import sys
from dataclasses import replace

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import StandardScaler

from elmlda import ELMClassifier, LDAClassifierCV
from elmlda.core import head
from elmlda.core.evaluate import count_errors, posteriors
from elmlda.datasets.split import Split
from elmlda.estimators import FeatureScaleWarning, elm
from elmlda.networks import cost
from elmlda.networks.train import FEW_HIDDEN, Recipe, train_and_test
from elmlda.options import NetworkOptions

IRIS, SPECIES = load_iris(return_X_y=True)
DIGITS, NUMBERS = load_digits(return_X_y=True)
DIGITS = DIGITS / 16
PAPERS = {"bias": False, "weight_range": 0.5, "ridge": 0.0, "temperature": 1.0, "priors": "uniform"}
MIXED = FEW_HIDDEN + 1
"""Hidden units of the smallest network in mixed precision, see `mixed`."""


@pytest.fixture
def mixed(monkeypatch):
    """Let networks of more than `FEW_HIDDEN` units have mixed precision."""
    monkeypatch.setattr(elm, "FEWEST_UNITS", FEW_HIDDEN)


def fit(X=IRIS, y=SPECIES, **params):
    return ELMClassifier(**{"random_state": 0, **params}).fit(X, y)


def stream(splits, X=IRIS, y=SPECIES, **params):
    network = ELMClassifier(**{"random_state": 0, **params})
    for part in splits:
        network.partial_fit(X[part], y[part], classes=np.unique(y))
    return network


# The paper's network


def test_mnist_has_the_error_counts_of_a_sweep(mnist):
    """Fan-out 1 of repeat 3 of `elmlda sweep --seed 0`, on a part of the data."""
    train, test = (
        Split(part.inputs[:n], part.labels[:n])
        for part, n in ((mnist.train, 10_000), (mnist.test, 2000))
    )
    mnist = replace(mnist, train=train, test=test)
    random_state = np.random.SeedSequence(0, spawn_key=(3,))
    recipe = Recipe.for_dataset(mnist, random_state, 784, NetworkOptions())
    (swept,) = train_and_test(mnist, recipe, {0.0: (784,)}, threads=2).scores
    train, test = (part.inputs * np.float32(1 / 255) for part in (mnist.train, mnist.test))
    papers = {**PAPERS, "fanout": 1, "random_state": random_state}
    lda, pi = (
        ELMClassifier(output=output, **papers).fit(train, mnist.train.labels)
        for output in ("lda", "pi")
    )
    counts = [(network.predict(test) != mnist.test.labels).sum() for network in (lda, pi)]
    # The samples were scaled before: other roundings, and with some BLAS a near tie turns on them.
    labels = mnist.test.labels
    expected = [int(count_errors(scores, labels)[0]) for scores in (swept.lda, swept.pi)]
    assert counts == pytest.approx(expected, abs=1)
    np.testing.assert_allclose(lda.predict_proba(test), posteriors(swept.lda[:, 0]), atol=5e-4)


# Small data


def test_twenty_samples_and_a_hundred_hidden_units():
    """A newcomer's first try: better than 85 % right, and posteriors that are not all 0 and 1."""
    rng = np.random.default_rng(0)
    rates, surest = [], []
    for _ in range(10):
        train = rng.permutation(150)[:20]
        network = fit(IRIS[train] - IRIS.mean(axis=0), SPECIES[train], n_hidden=100)
        rates.append(network.score(IRIS - IRIS.mean(axis=0), SPECIES))
        surest.append(network.predict_proba(IRIS - IRIS.mean(axis=0)).max(axis=1).mean())
    assert np.mean(rates) > 0.85
    assert np.mean(surest) < 0.99


def test_ridge_zero_is_the_papers_and_says_what_it_needs():
    network = fit(n_hidden=4, ridge=0.0)
    hidden = np.tanh(IRIS @ network.coefs_[0] + network.intercepts_[0])
    expected = np.linalg.lstsq(hidden, np.eye(3)[SPECIES], rcond=None)[0]
    pi = fit(n_hidden=4, ridge=0.0, output="pi")
    np.testing.assert_allclose(pi.coefs_[1], expected, rtol=1e-9)
    with pytest.raises(ValueError, match=r"at most 147 hidden units .*ridge=0\.001"):
        fit(n_hidden=200, ridge=0.0)
    with pytest.warns(UserWarning, match="200 hidden units have rank"):
        fit(n_hidden=200, ridge=0.0, output="pi")


# Probabilities


def test_probabilities_agree_with_predictions():
    network = fit(DIGITS[:900], NUMBERS[:900], fanout=3)
    probabilities = network.predict_proba(DIGITS)
    np.testing.assert_array_equal(network.predict(DIGITS), probabilities.argmax(axis=1))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-14)
    scores = network.decision_function(DIGITS)
    np.testing.assert_array_equal(scores.argmax(axis=1), probabilities.argmax(axis=1))
    logs = network.predict_log_proba(DIGITS)
    np.testing.assert_allclose(np.exp(logs), probabilities, rtol=1e-9, atol=1e-300)


def test_pi_says_why_it_has_no_probabilities():
    network = fit(output="pi")
    assert not hasattr(network, "predict_proba")
    assert not hasattr(network, "predict_log_proba")
    assert not hasattr(network, "priors_")
    with pytest.raises(AttributeError) as error:
        network.predict_proba(IRIS)
    assert "least-squares fit" in str(error.value.__cause__)
    assert network.score(IRIS, SPECIES) > 0.9


def test_the_fitted_state_decides_whether_there_are_posteriors():
    pi, lda = fit(output="pi").set_params(output="lda"), fit().set_params(output="pi")
    assert not hasattr(pi, "predict_proba")
    assert lda.predict_proba(IRIS).shape == (150, 3)
    np.testing.assert_array_equal(pi.predict(IRIS), fit(output="pi").predict(IRIS))


def test_priors():
    X, y = IRIS[:120], SPECIES[:120]
    fixed = {"ridge": 1.0, "temperature": 1.0}
    default, uniform = fit(X, y, **fixed), fit(X, y, priors="uniform", **fixed)
    np.testing.assert_allclose(uniform.priors_, 1 / 3)
    np.testing.assert_allclose(default.priors_, [50 / 120, 50 / 120, 20 / 120])
    given = fit(X, y, priors=[50 / 120, 50 / 120, 20 / 120], **fixed)
    np.testing.assert_allclose(given.predict_proba(X), default.predict_proba(X))
    difference = default.decision_function(X) - uniform.decision_function(X)
    moved = difference - np.log(given.priors_)  # by what makes posteriors sum to one
    np.testing.assert_allclose(moved - moved[:, :1], 0, atol=1e-9)


# Kinds of data


def test_two_classes():
    X, y = IRIS[50:], SPECIES[50:]
    for output in ("lda", "pi"):
        network = fit(X, y, output=output)
        scores = network.decision_function(X)
        assert scores.shape == (100,)
        np.testing.assert_array_equal(network.predict(X), np.where(scores > 0, 2, 1))
    assert fit(X, y).predict_proba(X).shape == (100, 2)


@pytest.mark.parametrize("kind", [list, pd.Series, pd.Categorical])
def test_string_labels(kind):
    labels = kind(np.array(["setosa", "versicolor", "virginica"])[SPECIES])
    network = fit(y=labels)
    assert network.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    np.testing.assert_array_equal(network.predict(IRIS), network.classes_[fit().predict(IRIS)])
    streamed = ELMClassifier(random_state=0)
    for part in (slice(0, 60), slice(60, 150)):
        streamed.partial_fit(IRIS[part], labels[part], classes=["setosa", "virginica", "versicolor"])
    np.testing.assert_array_equal(streamed.predict(IRIS), network.predict(IRIS))


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csc_array, sparse.coo_array])
def test_sparse_input(make):
    X = np.where(DIGITS > 0.4, DIGITS, 0)[:600]
    found, expected = fit(make(X), NUMBERS[:600], fanout=1), fit(X, NUMBERS[:600], fanout=1)
    np.testing.assert_array_equal(found.predict_proba(make(X)), expected.predict_proba(X))
    streamed = stream([slice(0, 300), slice(300, 600)], make(X).tocsr(), NUMBERS[:600], fanout=1)
    np.testing.assert_array_equal(streamed.predict(X), expected.predict(X))


@pytest.mark.parametrize("value", [0.0, 3.0])
@pytest.mark.parametrize("output", ["lda", "pi"])
@pytest.mark.parametrize("ridge", [1.0, "loo"])
def test_constant_features(value, output, ridge):
    """Nothing to learn from: a warning, and every class is as likely as its prior."""
    with pytest.warns(FeatureScaleWarning, match="StandardScaler"):
        network = fit(np.full((150, 2), value), SPECIES, output=output, ridge=ridge)
    assert network.predict([[value, value]])[0] in (0, 1, 2)
    if output == "lda":
        np.testing.assert_allclose(network.predict_proba([[value, value]]), 1 / 3, atol=1e-4)
    with_one = fit(np.hstack([IRIS, np.full((150, 1), value)]), SPECIES, output=output, ridge=ridge)
    assert with_one.score(np.hstack([IRIS, np.full((150, 1), value)]), SPECIES) > 0.9


@pytest.mark.usefixtures("mixed")
def test_features_too_large_for_float32():
    X = IRIS * 1e37
    with pytest.warns(FeatureScaleWarning):
        assert 0.3 < fit(X, n_hidden=MIXED).score(X, SPECIES) <= 1
    relu = fit(X, n_hidden=MIXED, activation="relu", weight_range=9.0)
    assert relu.precision_ == "double"
    assert np.isfinite(relu.predict_proba(X)).all()
    with pytest.raises(ValueError, match=r"too large for float64\. .*weight_range"):
        fit(IRIS * 1e160, n_hidden=MIXED, activation="relu")


def test_badly_scaled_features_are_warned_about():
    for X in (IRIS * 1000 + 1e5, IRIS + 1e5):
        with pytest.warns(FeatureScaleWarning, match="StandardScaler") as warned:
            ELMClassifier(random_state=0).fit(X, SPECIES)
        assert len(warned) == 1
        with pytest.warns(FeatureScaleWarning):
            ELMClassifier(random_state=0).partial_fit(X, SPECIES, classes=[0, 1, 2])
    for activation in ("tanh", "logistic", "relu", "softsign", "sine"):
        fit(StandardScaler().fit_transform(IRIS), activation=activation)


def test_too_little_memory(monkeypatch):
    monkeypatch.setattr(cost, "free_memory", lambda: cost.BASE_BYTES + 5_000_000)
    with pytest.raises(MemoryError, match=r"464 hidden units .* n_hidden="):
        fit(DIGITS, NUMBERS, n_hidden=464)
    with pytest.raises(MemoryError, match="64 features"):
        LDAClassifierCV(store_loo=True).fit(np.tile(DIGITS, (9, 1)), np.tile(NUMBERS, 9))


def test_the_number_of_units_follows_samples():
    def count(n_samples, **params):
        network = ELMClassifier(**params)
        network.n_features_in_ = 10
        return network._recipe(n_samples).n_hidden

    assert [count(150), count(8000), count(8400), count(60_000)] == [2000, 2000, 2100, 6000]
    sizes = count(150, fanout=2.5), count(150, fanout=0.01), count(150, n_hidden=7, fanout=9)
    assert sizes == (25, 1, 7)
    assert stream([slice(0, 150)]).n_hidden_ == 2000


def test_the_default_weight_range_is_fixed():
    assert ELMClassifier(10).fit(IRIS, SPECIES).weight_range_ == pytest.approx(1.2)
    for rule in (None, "loo"):  # a stream cannot choose
        network = ELMClassifier(10, weight_range=rule)
        network.partial_fit(IRIS, SPECIES, classes=[0, 1, 2])
        assert network.weight_range_ == pytest.approx(1.2)


@pytest.mark.parametrize("output", ["lda", "pi"])
def test_the_weight_range_with_the_least_leave_one_out_loss(output):
    X, params = StandardScaler().fit_transform(IRIS), {"n_hidden": 500, "output": output}
    chosen = fit(X, weight_range="loo", **params)
    candidates = [fit(X, weight_range=factor / 2, **params) for factor in (0.15, 0.45, 1.4, 4.0)]
    best = min(candidates, key=lambda network: network._head.loo_loss)
    assert chosen.weight_range_ == best.weight_range_


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="one class"):
        fit(IRIS[:50], SPECIES[:50])
    with pytest.raises(ValueError, match="two classes or more"):
        ELMClassifier().partial_fit(IRIS[:50], SPECIES[:50], classes=[0])


# Parameters


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"bias": "yes"}, "bias is 'yes': expected True or False"),
        ({"bias": None}, "bias is None"),
        ({"n_hidden": 0}, "n_hidden is 0: expected a whole number from 1 to"),
        ({"n_hidden": 2.5}, "n_hidden is 2.5"),
        ({"n_hidden": True}, "n_hidden is True"),
        ({"fanout": 0}, "fanout is 0: expected a number above 0"),
        ({"fanout": np.nan}, "fanout is nan"),
        ({"output": "svm"}, "output is 'svm': expected one of lda, pi"),
        ({"activation": "step"}, "activation is 'step': expected one of tanh"),
        ({"weight_range": -1}, "weight_range is -1"),
        ({"weight_range": "wide"}, "weight_range is 'wide'"),
        ({"ridge": -1}, "ridge is -1"),
        ({"ridges": [1, -1]}, "ridges is -1"),
        ({"ridge": "large"}, "ridge is 'large': expected a number"),
        ({"ridge": None}, "ridge is None"),
        ({"temperature": 0}, "temperature is 0"),
        ({"temperature": "auto"}, "temperature is 'auto'"),
        ({"priors": "equal"}, "priors is 'equal'"),
        ({"priors": None}, "priors is None"),
        ({"priors": [0.5, 0.5]}, "2 priors given, 3 classes"),
        ({"priors": [0.5, 0.5, 0]}, "above 0"),
        ({"priors": [0.5, 0.5, 0.5]}, "sum 1"),
        ({"class_weight": "fair"}, "class_weight is 'fair'"),
        ({"class_weight": {0: 0, 1: 1}}, "class_weight is 0"),
        ({"class_weight": {3: 1}}, "class_weight has 3"),
        ({"fanout": 1e300}, "n_hidden is 4.*: expected a whole number from 1 to 10,000,000"),
        ({"n_hidden": 10**300}, "n_hidden is 1.*: expected a whole number from 1 to 10,000,000"),
        ({"precision": "half"}, "precision is 'half'"),
        ({"batch_size": 0}, "batch_size is 0"),
        ({"random_state": -1}, "random_state is -1"),
        ({"random_state": "lucky"}, "lucky"),
    ],
)
def test_parameters_that_make_no_sense(params, expected):
    with pytest.raises(ValueError, match=expected):
        fit(**params)
    with pytest.raises(ValueError, match=expected):
        stream([slice(0, 150)], **params).predict(IRIS)
    network = ELMClassifier(**params)
    with pytest.raises(NotFittedError):
        network.predict(IRIS)


def test_fitted_attributes():
    network = fit(n_hidden=20)
    assert [weights.shape for weights in network.coefs_] == [(4, 20), (20, 3)]
    assert [constants.shape for constants in network.intercepts_] == [(20,), (3,)]
    hidden = np.tanh(IRIS @ network.coefs_[0] + network.intercepts_[0])
    scores = hidden @ network.coefs_[1] + network.intercepts_[1]
    found = network.decision_function(IRIS)
    np.testing.assert_allclose(found, scores, rtol=1e-8, atol=1e-8)
    assert network.class_count_.tolist() == [50, 50, 50]
    assert network.precision_ == "double"
    assert network.ridge_ > 0
    assert network.temperature_ > 0
    unfitted = ELMClassifier()
    for name in ("coefs_", "n_hidden_", "ridge_", "temperature_", "priors_", "classes_"):
        assert not hasattr(unfitted, name)


def test_random_state():
    first, again, other = (fit(random_state=seed).coefs_[0] for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert (first != other).all()
    np.testing.assert_array_equal(fit(random_state=np.int64(3)).coefs_[0], first)
    by_hand = np.random.default_rng(np.random.SeedSequence(3, spawn_key=(0,)))
    np.testing.assert_array_equal(first, by_hand.uniform(-1.2, 1.2, (2000, 5)).T[:4])
    papers = fit(bias=False, weight_range=0.5, fanout=10, random_state=3)
    by_hand = np.random.default_rng(np.random.SeedSequence(3, spawn_key=(0,)))
    np.testing.assert_array_equal(papers.coefs_[0], by_hand.uniform(-0.5, 0.5, (40, 4)).T)
    assert not papers.intercepts_[0].any()
    sequence = np.random.SeedSequence(7)
    np.testing.assert_array_equal(
        fit(random_state=sequence).coefs_[0],
        clone(fit(random_state=sequence)).fit(IRIS, SPECIES).coefs_[0],
    )


def test_batch_size_does_not_matter():
    expected = fit().predict_proba(IRIS)
    for size in (1, 7, 149, 150, 10**6):
        np.testing.assert_allclose(fit(batch_size=size).predict_proba(IRIS), expected, atol=1e-9)


# Streams


SPLITS = {
    "one": [slice(0, 150)],
    "halves": [slice(0, 75), slice(75, 150)],
    "classes apart": [slice(0, 50), slice(50, 100), slice(100, 150)],
    "single samples": [slice(i, i + 1) for i in range(150)],
    "backwards": [slice(100, 150), slice(3, 100), slice(0, 3)],
}


@pytest.mark.parametrize("splits", SPLITS.values(), ids=SPLITS)
@pytest.mark.parametrize(
    "params", [{}, {"output": "pi"}, {"ridge": 1.0}, {"class_weight": {0: 3}}], ids=str
)
def test_any_split_gives_the_network_of_fit(splits, params):
    found, expected = stream(splits, **params), fit(**params)
    np.testing.assert_array_equal(found.predict(IRIS), expected.predict(IRIS))
    np.testing.assert_allclose(found.ridge_, expected.ridge_, rtol=1e-9)
    np.testing.assert_allclose(found.temperature_, expected.temperature_, rtol=1e-5)
    scores = [network.decision_function(IRIS) for network in (found, expected)]
    np.testing.assert_allclose(*scores, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(found.coefs_[0], expected.coefs_[0])


@pytest.mark.usefixtures("mixed")
def test_a_split_of_a_network_in_mixed_precision():
    params = {"n_hidden": MIXED, "ridge": 1.0}
    found = stream(np.array_split(np.arange(1797), 5), DIGITS, NUMBERS, **params)
    expected = fit(DIGITS, NUMBERS, **params)
    assert found.precision_ == expected.precision_ == "mixed"
    np.testing.assert_array_equal(found.predict(DIGITS), expected.predict(DIGITS))
    np.testing.assert_allclose(found.predict_proba(DIGITS), expected.predict_proba(DIGITS), atol=5e-3)


@pytest.mark.usefixtures("mixed")
def test_a_stream_in_mixed_precision_takes_the_least_ridge_that_float32_can_tell():
    params = {"n_hidden": MIXED, "weight_range": 0.02}
    found = stream(np.array_split(np.arange(1300), 5), DIGITS, NUMBERS, **params)
    expected = fit(DIGITS[:1300], NUMBERS[:1300], **params)
    assert (found.precision_, expected.precision_) == ("mixed", "double")
    assert found.ridge_ > expected.ridge_
    assert (
        found.score(DIGITS[1300:], NUMBERS[1300:])
        > expected.score(DIGITS[1300:], NUMBERS[1300:]) - 0.03
    )


def test_streaming_solves_only_when_asked(monkeypatch):
    solved = []
    solve = head.solve_pi
    monkeypatch.setattr(head, "solve_pi", lambda *args: solved.append(1) or solve(*args))
    network = stream(SPLITS["single samples"])
    assert not solved
    network.predict(IRIS)
    network.predict_proba(IRIS)
    assert network.coefs_[1].shape == (2000, 3)
    assert len(solved) == 1
    network.partial_fit(IRIS, SPECIES)
    network.predict(IRIS)
    assert len(solved) == 2


@pytest.mark.parametrize("output", ["lda", "pi"])
def test_a_class_that_has_not_come_yet(output):
    network = ELMClassifier(output=output, random_state=0)
    network.partial_fit(IRIS[:100], SPECIES[:100], classes=[2, 1, 0])
    assert network.classes_.tolist() == [0, 1, 2]
    assert network.class_count_.tolist() == [50, 50, 0]
    assert set(network.predict(IRIS[:100])) == {0, 1}
    if output == "lda":
        two = fit(IRIS[:100], SPECIES[:100])
        expected = np.column_stack([two.predict_proba(IRIS), np.zeros(150)])
        np.testing.assert_allclose(network.predict_proba(IRIS), expected, atol=1e-12)
        np.testing.assert_array_equal(network.priors_, [0.5, 0.5, 0])
    network.partial_fit(IRIS[100:], SPECIES[100:])
    np.testing.assert_array_equal(network.predict(IRIS), fit(output=output).predict(IRIS))


def test_one_class_of_two_so_far():
    network = ELMClassifier(random_state=0).partial_fit(IRIS[:50], SPECIES[:50], classes=[0, 1])
    np.testing.assert_array_equal(network.predict_proba(IRIS), [[1, 0]] * 150)
    assert (network.predict(IRIS) == 0).all()
    assert (network.decision_function(IRIS) == -np.inf).all()


def test_streams_that_make_no_sense():
    network = ELMClassifier(random_state=0)
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        network.partial_fit(IRIS, SPECIES)
    with pytest.raises(ValueError, match="y has the label 2"):
        network.partial_fit(IRIS, SPECIES, classes=[0, 1])
    with pytest.raises(ValueError, match="y to be passed"):
        network.partial_fit(IRIS, None, classes=[0, 1])
    network.partial_fit(IRIS, SPECIES, classes=[0, 1, 2])
    with pytest.raises(ValueError, match=r"on the first call it was \[0, 1, 2\]"):
        network.partial_fit(IRIS, SPECIES, classes=[0, 1, 2, 3])
    with pytest.raises(ValueError, match="4 features"):
        network.partial_fit(IRIS[:, :3], SPECIES)
    with pytest.raises(ValueError, match="y has the label 7"):
        network.partial_fit(IRIS[:1], [7])
    np.testing.assert_array_equal(network.predict(IRIS), fit().predict(IRIS))


@pytest.mark.usefixtures("mixed")
def test_a_stream_in_mixed_precision_that_is_not_enough_says_so():
    params = {"n_hidden": MIXED, "ridge": 1e-4, "random_state": 0}
    network = ELMClassifier(**params).partial_fit(IRIS, SPECIES, classes=[0, 1, 2])
    with pytest.raises(ValueError, match=r"float32's rounding\. Use precision='double'\."):
        network.predict(IRIS)
    many = np.tile(IRIS, (8, 1)), np.tile(SPECIES, 8)
    assert fit(*many, **params).precision_ == "double"
    assert fit(**params).precision_ == "mixed", "the dual loses no precision"
    in_double = stream(SPLITS["halves"], **params, precision="double")
    assert in_double.score(IRIS, SPECIES) > 0.9


# Keeping


@pytest.mark.parametrize("through", ["pickle", "joblib", "joblib, memory-mapped"])
def test_pickles(through, tmp_path):
    def keep(network):
        if through == "pickle":
            return pickle.loads(pickle.dumps(network))
        joblib.dump(network, tmp_path / "network")
        return joblib.load(tmp_path / "network", mmap_mode="r" if "mapped" in through else None)

    fitted, streamed = fit(), stream([slice(0, 100)])
    np.testing.assert_array_equal(keep(fitted).predict_proba(IRIS), fitted.predict_proba(IRIS))
    again = keep(streamed).partial_fit(IRIS[100:], SPECIES[100:])
    np.testing.assert_allclose(again.coefs_[1], fitted.coefs_[1], rtol=1e-6, atol=1e-6)
    assert not hasattr(keep(fitted), "partial_fit")


# Imports


def run_python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)


def test_without_scikit_learn():
    hide = "import sys; sys.modules['sklearn'] = None; "
    result = run_python(hide + "from elmlda import ELMClassifier")
    assert result.stderr.splitlines()[-1] == (
        "ImportError: elmlda's estimators need scikit-learn 1.6 or newer: pip install 'elmlda[sklearn]'"
    )
    result = run_python(hide + "import elmlda, elmlda.cli; print(elmlda.__version__)")
    assert (result.returncode, result.stderr) == (0, "")


def test_the_package_does_not_import_scikit_learn_by_itself():
    result = run_python(
        "import sys, elmlda, elmlda.cli; print('sklearn' in sys.modules, 'scipy' in sys.modules)"
    )
    assert result.stdout.split() == ["False", "False"]
    result = run_python("import elmlda; elmlda.ELMRegressor")
    assert "module 'elmlda' has no attribute 'ELMRegressor'" in result.stderr


def test_examples_in_docstrings():
    import doctest

    from elmlda.estimators import elm, head

    for module in (elm, head):
        assert doctest.testmod(module).failed == 0
