"""LDAClassifierCV: leave-one-out against really leaving out, tall against wide, streams, weights, company."""

import pickle
import tracemalloc

import joblib
import numpy as np
import pandas as pd
import pytest
from oracles import RidgedCovariance
from scipy import sparse
from scipy.special import expit, softmax
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, make_classification
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import StackingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from elmlda import ELMClassifier, ELMEnsembleClassifier, LDAClassifierCV
from elmlda.core import head as core_head
from elmlda.core.leave_one_out import RIDGES, SLACK, fit_temperature

IRIS, SPECIES = load_iris(return_X_y=True)


def draw(n_samples, n_features, n_classes=3, seed=0, offset=0.0):
    """Overlapping classes with unequal frequencies and unequal scales of features."""
    rng = np.random.default_rng(seed)
    labels = np.floor(n_classes * np.linspace(0, 1, n_samples, endpoint=False) ** 1.3).astype(int)
    means = rng.normal(size=(n_classes, n_features)) * 3 / np.sqrt(n_features)
    X = means[labels] + 1.5 * rng.normal(size=(n_samples, n_features))
    order = rng.permutation(n_samples)
    return (X * rng.uniform(0.5, 2, n_features) + offset)[order], labels[order]


TALL, WIDE = (60, 9), (24, 70)
SHAPES = pytest.mark.parametrize("shape", [TALL, WIDE], ids=["tall", "wide"])


def mean_square(X):
    return np.square(X - X.mean(axis=0)).sum(axis=0).mean()


# Leave-one-out


def really_leave_out(classifier, X, y, weights=None):
    """Log-posteriors of each sample by a refit; of whole weights one repetition is left out."""
    logs = np.empty((len(y), len(np.unique(y))))
    for i in range(len(y)):
        rest = np.ones(len(y)) if weights is None else weights.astype(float)
        rest[i] -= 1
        kept = rest > 0
        classifier.fit(X[kept], y[kept], None if weights is None else rest[kept])
        logs[i] = classifier.predict_log_proba(X[i : i + 1])[0]
    return logs


@SHAPES
@pytest.mark.parametrize("relative", [1e-3, 0.1, 10.0])
@pytest.mark.parametrize("priors", ["frequencies", [0.2, 0.3, 0.5]])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_leave_one_out_is_really_leaving_out(shape, relative, priors, is_weighted):
    X, y = draw(*shape)
    weights = np.arange(len(y)) % 3 + 1 if is_weighted else None
    # A low temperature keeps log-posteriors small where scores have thousands: 1e-10 is absolute.
    temperature = 1e-3 if relative < 0.1 and shape == WIDE else 0.1
    params = {"ridge": relative * mean_square(X), "temperature": temperature, "priors": priors}
    classifier = LDAClassifierCV(**params, store_loo=True).fit(X, y, weights)
    expected = really_leave_out(LDAClassifierCV(**params), X, y, weights)
    logs = np.log(classifier.loo_predict_proba_)
    np.testing.assert_allclose(logs, expected, rtol=0, atol=1e-10)
    losses = -expected[np.arange(len(y)), y]
    assert classifier.loo_log_loss_ == pytest.approx(np.average(losses, weights=weights), rel=1e-9)
    is_right = expected.argmax(axis=1) == y
    assert classifier.loo_accuracy_ == pytest.approx(np.average(is_right, weights=weights))


@SHAPES
def test_ridge_and_temperature_are_the_best_by_really_leaving_out(shape):
    X, y = draw(*shape)
    chosen = LDAClassifierCV(priors="uniform").fit(X, y)
    tried = {}
    for ridge in mean_square(X) * np.array(RIDGES[8:]):
        fixed = LDAClassifierCV(ridge=ridge, temperature=1.0, priors="uniform")
        tried[ridge] = fit_temperature(really_leave_out(fixed, X, y), y)
    least = min(loss for _, loss in tried.values())
    best = max(ridge for ridge, (_, loss) in tried.items() if loss <= SLACK * least)
    assert chosen.ridge_ == pytest.approx(best)
    assert chosen.temperature_ == pytest.approx(tried[best].temperature, rel=1e-5)


@SHAPES
def test_own_ridges(shape):
    X, y = draw(*shape)
    default = LDAClassifierCV().fit(X, y)
    own = LDAClassifierCV(ridges=[1e4 * default.ridge_, default.ridge_, 1e5 * default.ridge_]).fit(X, y)
    assert own.ridge_ == default.ridge_
    np.testing.assert_allclose(own.coef_, default.coef_)
    with pytest.raises(ValueError, match="ridges"):
        LDAClassifierCV(ridges=[0.0, 1.0]).fit(X, y)


def test_a_class_of_one_sample_has_no_leave_one_out_posterior():
    X, y = draw(*TALL)
    y[5] = 3
    classifier = LDAClassifierCV(store_loo=True).fit(X, y)
    rest = np.arange(len(y)) != 5
    assert np.isnan(classifier.loo_predict_proba_[5]).all()
    assert np.isfinite(classifier.loo_predict_proba_[rest]).all()
    expected = -np.log(classifier.loo_predict_proba_[rest, y[rest]]).mean()
    assert classifier.loo_log_loss_ == pytest.approx(expected)


def test_a_random_sample_of_many_rows(monkeypatch):
    X, y = draw(3000, 9)
    every = LDAClassifierCV(store_loo=True).fit(X, y)
    monkeypatch.setattr("elmlda.core.sums.MOST_OUTPUTS", 0)
    some, again, other = (LDAClassifierCV(random_state=seed).fit(X, y) for seed in (0, 0, 1))
    assert some.loo_log_loss_ == again.loo_log_loss_ != other.loo_log_loss_
    assert some.loo_log_loss_ == pytest.approx(every.loo_log_loss_, rel=0.1)
    assert every.loo_predict_proba_.shape == (3000, 3)
    assert not hasattr(some, "loo_predict_proba_")
    kept = LDAClassifierCV(store_loo=True).fit(X, y).loo_predict_proba_
    np.testing.assert_array_equal(kept, every.loo_predict_proba_)


# Tall and wide


@pytest.mark.parametrize("relative", [1e-3, 1.0])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_tall_and_wide_agree(relative, is_weighted):
    X, y = draw(40, 39, offset=30.0)
    weights = np.random.default_rng(1).uniform(0.1, 2, 40) if is_weighted else None
    fixed = {"ridge": relative * mean_square(X), "temperature": 1.0, "store_loo": True}
    tall = LDAClassifierCV(**fixed).fit(X, y, weights)
    # A constant feature changes nothing but the shape.
    wide = LDAClassifierCV(**fixed).fit(np.hstack([X, np.ones((40, 3))]), y, weights)
    np.testing.assert_allclose(wide.coef_[:, :39], tall.coef_, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(wide.coef_[:, 39:], 0, atol=1e-8)
    posteriors = [classifier.loo_predict_proba_ for classifier in (tall, wide)]
    np.testing.assert_allclose(*posteriors, atol=1e-8)
    assert wide.loo_log_loss_ == pytest.approx(tall.loo_log_loss_, rel=1e-8)


@SHAPES
def test_a_constant_added_to_features_changes_nothing(shape):
    X, y = draw(*shape)
    near, far = LDAClassifierCV().fit(X, y), LDAClassifierCV().fit(X + 1e4, y)
    assert far.ridge_ == pytest.approx(near.ridge_)
    np.testing.assert_allclose(far.predict_proba(X + 1e4), near.predict_proba(X), atol=1e-8)


# Scores


@SHAPES
@pytest.mark.parametrize("n_classes", [2, 4])
def test_scores_are_scikit_learns_lda(shape, n_classes):
    X, y = draw(*shape, n_classes=n_classes)
    oracle = LinearDiscriminantAnalysis(
        solver="lsqr",
        covariance_estimator=RidgedCovariance(5.0 / len(y)),
        priors=np.bincount(y) / len(y),
    ).fit(X, y)
    classifier = LDAClassifierCV(ridge=5.0, temperature=1).fit(X, y)
    np.testing.assert_allclose(classifier.predict_proba(X), oracle.predict_proba(X), atol=1e-9)
    assert classifier.coef_.shape == oracle.coef_.shape
    assert classifier.intercept_.shape == oracle.intercept_.shape


@SHAPES
@pytest.mark.parametrize("n_classes", [2, 3])
def test_coef_and_intercept_are_all_there_is(shape, n_classes):
    X, y = draw(*shape, n_classes=n_classes, offset=3.0)
    classifier = LDAClassifierCV().fit(X, y)
    scores = X @ classifier.coef_.T + classifier.intercept_
    decision = classifier.decision_function(X)
    np.testing.assert_allclose(scores if n_classes > 2 else scores[:, 0], decision, atol=1e-9)
    expected = (
        softmax(scores, axis=1) if n_classes > 2 else np.hstack([1 - expit(scores), expit(scores)])
    )
    np.testing.assert_allclose(classifier.predict_proba(X), expected, atol=1e-9)


# Streams and kinds of data


@pytest.mark.parametrize("size", [1, 7, 60])
def test_a_stream_is_fit(size):
    X, y = draw(*TALL, offset=20.0)
    expected, stream = LDAClassifierCV().fit(X, y), LDAClassifierCV()
    for start in range(0, 60, size):
        stream.partial_fit(X[start : start + size], y[start : start + size], classes=[0, 1, 2])
    assert stream.ridge_ == pytest.approx(expected.ridge_)
    np.testing.assert_allclose(stream.coef_, expected.coef_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(stream.intercept_, expected.intercept_, rtol=1e-6, atol=1e-6)
    assert stream.loo_log_loss_ == pytest.approx(expected.loo_log_loss_)
    assert not hasattr(stream, "loo_predict_proba_")


def test_a_stream_after_fit_is_refused():
    X, y = draw(*TALL)
    classifier = LDAClassifierCV().fit(X, y)
    with pytest.raises(AttributeError) as error:
        classifier.partial_fit(X, y)
    assert "after fit" in str(error.value.__cause__)
    stream = clone(classifier).partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="features"):
        stream.partial_fit(X[:, 1:], y)
    assert stream.fit(X, y).loo_log_loss_ == classifier.loo_log_loss_


@SHAPES
@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csc_array])
def test_sparse(shape, make):
    X, y = draw(*shape)
    X[np.random.default_rng(0).random(X.shape) < 0.6] = 0
    expected, found = LDAClassifierCV().fit(X, y), LDAClassifierCV(batch_size=7).fit(make(X), y)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(found.predict_proba(make(X)), expected.predict_proba(X), atol=1e-9)


@SHAPES
def test_float32(shape):
    X, y = draw(*shape)
    expected = LDAClassifierCV().fit(X, y)
    found = LDAClassifierCV().fit(X.astype(np.float32), y)
    np.testing.assert_allclose(found.ridge_, expected.ridge_, rtol=1e-5)
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), atol=1e-3)


def test_float32_that_is_not_precise_enough():
    X, y = draw(200, 5)
    X = np.hstack([X, X + 1e-5 * np.random.default_rng(0).normal(size=X.shape)]).astype(np.float32)
    found = LDAClassifierCV(ridge=1e-8).fit(X, y)
    expected = LDAClassifierCV(ridge=1e-8).fit(X.astype(np.float64), y)
    np.testing.assert_array_equal(found.coef_, expected.coef_)


def test_wide_features_are_read_in_blocks(monkeypatch):
    X, y = draw(*WIDE)
    expected = LDAClassifierCV().fit(X, y).coef_
    monkeypatch.setattr(core_head, "BLOCK_ELEMENTS", 24 * 11)
    np.testing.assert_allclose(LDAClassifierCV().fit(X, y).coef_, expected, rtol=1e-9)


def measure_peak(compute):
    """Bytes of arrays that are held at a time, beyond those held before."""
    tracemalloc.start()
    try:
        compute()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("shape", [(150_000, 60), (300, 30_000)], ids=["tall", "wide"])
def test_float32_is_never_copied_as_a_whole(shape):
    X = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    y = np.arange(len(X)) % 3
    classifier = LDAClassifierCV(batch_size=1000, ridge=1.0)
    copy_bytes = 8 * X.size
    assert measure_peak(lambda: classifier.fit(X, y)) < 0.75 * copy_bytes
    assert measure_peak(lambda: classifier.decision_function(X)) < 0.5 * copy_bytes


@pytest.mark.parametrize("shape", [(100_000, 300), (300, 100_000)], ids=["tall", "wide"])
def test_sparse_features_are_never_dense_as_a_whole(shape):
    X = sparse.random_array(shape, density=1e-3, format="csr", rng=np.random.default_rng(0))
    y = np.arange(shape[0]) % 3
    classifier, dense_bytes = LDAClassifierCV(), 8 * shape[0] * shape[1]
    assert measure_peak(lambda: classifier.fit(X, y)) < 0.35 * dense_bytes
    assert measure_peak(lambda: classifier.predict(X)) < 0.1 * dense_bytes


def test_wide_features_without_a_ridge_are_refused_at_once():
    X, y = draw(20, 30_000)
    with pytest.raises(ValueError, match=r"20 samples in 3 classes .*ridge=0\.001"):
        LDAClassifierCV(ridge=0).fit(X, y)


def test_parameters_that_are_set_later_change_no_fitted_state():
    X, y = draw(*TALL)
    for method in ("fit", "partial_fit"):
        options = {"classes": [0, 1, 2]} if method == "partial_fit" else {}
        expected, changed = (getattr(LDAClassifierCV(), method)(X, y, **options) for _ in range(2))
        changed.set_params(ridge=1e9, temperature=1.0, priors="uniform", store_loo=True)
        assert changed.ridge_ == expected.ridge_
        np.testing.assert_array_equal(changed.predict_proba(X), expected.predict_proba(X))
        assert not hasattr(changed, "loo_predict_proba_")


# Weights


def assert_equal(found, expected, tolerance=1e-8):
    for name in ("coef_", "intercept_", "temperature_", "loo_log_loss_", "priors_"):
        values = getattr(found, name), getattr(expected, name)
        np.testing.assert_allclose(*values, rtol=tolerance, atol=tolerance)
    assert found.ridge_ == pytest.approx(expected.ridge_)


@SHAPES
@pytest.mark.parametrize("params", [{}, {"ridge": 3.0}, {"class_weight": {1: 5.0}}], ids=str)
def test_a_weight_of_two_is_a_repeated_row(shape, params):
    X, y = draw(*shape)
    weights = np.arange(len(y)) % 3
    rows = np.repeat(np.arange(len(y)), weights)
    for order in (rows, np.random.default_rng(0).permutation(rows)):
        repeated = LDAClassifierCV(**params).fit(X[order], y[order])
        assert_equal(LDAClassifierCV(**params).fit(X, y, weights), repeated)


@SHAPES
@pytest.mark.parametrize("params", [{}, {"ridge": 3.0}, {"class_weight": "balanced"}], ids=str)
def test_weights_that_sum_to_one_are_those_of_mean_one(shape, params):
    X, y = draw(*shape)
    weights = np.random.default_rng(2).uniform(0.2, 3, len(y))
    mean_one, sum_one = weights / weights.mean(), weights / weights.sum()
    expected = LDAClassifierCV(**params).fit(X, y, mean_one)
    assert_equal(LDAClassifierCV(**params).fit(X, y, sum_one), expected)
    plain = LDAClassifierCV(**params).fit(X, y)
    assert_equal(LDAClassifierCV(**params).fit(X, y, np.full(len(y), 1 / len(y))), plain)


def test_class_weights_keep_the_sum_of_weights():
    X, y = draw(*TALL)
    one = LDAClassifierCV(class_weight={0: 2.0, 1: 2.0, 2: 2.0}).fit(X, y)
    assert_equal(one, LDAClassifierCV().fit(X, y))
    balanced = LDAClassifierCV(class_weight="balanced").fit(X, y)
    np.testing.assert_allclose(balanced.priors_, 1 / 3)


def test_samples_of_weight_zero_are_predicted():
    X, y = draw(*TALL)
    weights = np.ones(60)
    weights[3] = 0
    classifier = LDAClassifierCV(store_loo=True).fit(X, y, weights)
    proba = classifier.loo_predict_proba_
    np.testing.assert_allclose(proba[3], classifier.predict_proba(X)[3])
    assert np.abs(proba - classifier.predict_proba(X)).max() > 1e-3
    assert proba.shape == (60, 3)


# In company


@pytest.mark.parametrize(
    "estimator",
    [
        LDAClassifierCV(),
        ELMClassifier(30, random_state=0),
        ELMEnsembleClassifier(2, n_hidden=30, random_state=0),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_in_company(estimator, tmp_path):
    frame = pd.DataFrame(IRIS, columns=list("abcd"))
    words = np.array(["setosa", "versicolor", "virginica"])[SPECIES]
    scaler = StandardScaler().set_output(transform="pandas")
    pipeline = make_pipeline(scaler, clone(estimator)).fit(frame, words)
    assert pipeline.score(frame, words) > 0.95
    assert pipeline[-1].feature_names_in_.tolist() == list("abcd")
    grid = {f"{pipeline.steps[-1][0]}__ridge": [0.1, 1.0, "loo"]}
    search = GridSearchCV(pipeline, grid, scoring="neg_log_loss").fit(frame, words)
    assert search.best_score_ > -0.2
    for company in (
        CalibratedClassifierCV(pipeline, cv=3),
        StackingClassifier([("one", pipeline)], LogisticRegression(), cv=3),
    ):
        assert company.fit(frame, words).score(frame, words) > 0.95
    joblib.dump(pipeline, tmp_path / "pipeline")
    again = joblib.load(tmp_path / "pipeline")
    np.testing.assert_array_equal(again.predict_proba(frame), pipeline.predict_proba(frame))
    assert clone(pipeline[-1]).get_params() == estimator.get_params()


def test_probabilities_are_those_of_cross_validation():
    X, y = make_classification(600, 20, n_informative=6, n_classes=3, random_state=0)
    classifier = LDAClassifierCV(store_loo=True).fit(X, y)
    held_out = cross_val_predict(LDAClassifierCV(), X, y, method="predict_proba", cv=50)
    assert classifier.loo_log_loss_ == pytest.approx(log_loss(y, held_out), rel=0.02)


def test_a_fitted_classifier_holds_what_it_predicts_with():
    X, y = draw(600, 300)
    with_sums = LDAClassifierCV().partial_fit(X, y, classes=[0, 1, 2])
    with_sums.predict(X)
    sizes = [len(pickle.dumps(classifier)) for classifier in (LDAClassifierCV().fit(X, y), with_sums)]
    assert sizes[0] < 600 * 3 * 8 + 300 * 3 * 8 + 20_000 < 300**2 * 8 < sizes[1]
