"""ELMEnsembleClassifier: its members and their mean."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from elmlda import ELMClassifier, ELMEnsembleClassifier

X, Y = load_digits(return_X_y=True)
X = X / 16
TRAIN, TEST = slice(0, 900), slice(900, None)


def fit(n=3, **params):
    ensemble = ELMEnsembleClassifier(n, **{"fanout": 1, "random_state": 4, **params})
    return ensemble.fit(X[TRAIN], Y[TRAIN])


def test_posteriors_are_the_mean_of_the_members():
    ensemble = fit()
    alone = [
        ELMClassifier(fanout=1, random_state=np.random.SeedSequence(4, spawn_key=(i,)))
        for i in range(3)
    ]
    members = [each.fit(X[TRAIN], Y[TRAIN]).predict_proba(X[TEST]) for each in alone]
    found = ensemble.predict_proba(X[TEST])
    np.testing.assert_allclose(found, np.mean(members, axis=0), atol=1e-9)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_array_equal(ensemble.predict(X[TEST]), found.argmax(axis=1))
    np.testing.assert_array_equal(np.exp(ensemble.predict_log_proba(X[TEST])) > 0.5, found > 0.5)
    assert ensemble.score(X[TEST], Y[TEST]) > max(each.score(X[TEST], Y[TEST]) for each in alone) - 0.01


def test_jobs_do_not_matter():
    expected = fit(2).predict_proba(X[TEST])
    np.testing.assert_allclose(fit(2, n_jobs=2).predict_proba(X[TEST]), expected, atol=1e-9)


@pytest.mark.parametrize("random_state", [7, None, "RandomState", "SeedSequence"])
def test_random_state(random_state):
    make = {
        "RandomState": lambda: np.random.RandomState(1),
        "SeedSequence": lambda: np.random.SeedSequence(1, spawn_key=(2,)),
    }.get(random_state, lambda: random_state)
    one, two = (fit(2, random_state=make()) for _ in range(2))
    weights = [[member.coefs_[0] for member in each.estimators_] for each in (one, two)]
    assert (weights[0][0] != weights[0][1]).any()
    assert np.array_equal(weights[0][0], weights[1][0]) == (random_state is not None)


def test_an_ensemble_of_one():
    alone = ELMClassifier(fanout=1, random_state=4).fit(X[TRAIN], Y[TRAIN])
    np.testing.assert_array_equal(fit(1).predict_proba(X[TEST]), alone.predict_proba(X[TEST]))


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"n": 0}, "n_estimators is 0"),
        ({"n": 1.5}, r"n_estimators is 1\.5"),
        ({"fanout": -1}, "fanout is -1"),
        ({"ridge": "x"}, "ridge is 'x'"),
        ({"priors": [0.5, 0.5]}, "2 priors given, 10 classes"),
    ],
)
def test_parameters_that_make_no_sense(params, expected):
    with pytest.raises(ValueError, match=expected):
        fit(**params)
