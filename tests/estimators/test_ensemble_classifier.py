"""ELMEnsembleClassifier: its members, their mean, its files."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError

from elmlda import ELMClassifier, ELMEnsembleClassifier
from elmlda.errors import ElmldaError

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


def test_members_can_be_looked_at():
    ensemble = fit(2)
    members = ensemble.estimators_
    assert [type(member) for member in members] == [ELMClassifier] * 2
    mean = sum(member.predict_proba(X[TEST]) for member in members) / 2
    np.testing.assert_allclose(ensemble.predict_proba(X[TEST]), mean, atol=1e-12)
    again = clone(members[1]).fit(X[TRAIN], Y[TRAIN])
    np.testing.assert_array_equal(again.predict(X[TEST]), members[1].predict(X[TEST]))
    assert not hasattr(ELMEnsembleClassifier(), "estimators_")


def test_jobs_do_not_matter():
    expected = fit(4).predict_proba(X[TEST])
    np.testing.assert_allclose(fit(4, n_jobs=2).predict_proba(X[TEST]), expected, atol=1e-9)


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


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("random_state", [0, np.random.RandomState(0), None])
def test_save_and_load(tmp_path, n, random_state):
    words = np.array([f"digit {number}" for number in Y])
    frame = pd.DataFrame(X, columns=[f"pixel {i}" for i in range(64)])
    ensemble = ELMEnsembleClassifier(n, n_hidden=40, random_state=random_state)
    ensemble.fit(frame, words)
    ensemble.save(tmp_path / "e.npz")
    found = ELMEnsembleClassifier.load(tmp_path / "e.npz")
    np.testing.assert_array_equal(found.predict_proba(frame), ensemble.predict_proba(frame))
    np.testing.assert_array_equal(found.predict(frame), ensemble.predict(frame))
    assert found.get_params()["n_estimators"] == n
    with pytest.raises(ElmldaError, match=r"file of an ensemble: use ELMEnsembleClassifier\.load"):
        ELMClassifier.load(tmp_path / "e.npz")
    found.estimators_[0].save(tmp_path / "one.npz")
    with pytest.raises(ElmldaError, match=r"a single network: use ELMClassifier\.load"):
        ELMEnsembleClassifier.load(tmp_path / "one.npz")
    with pytest.raises(NotFittedError):
        ELMEnsembleClassifier().save(tmp_path / "x.npz")


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
