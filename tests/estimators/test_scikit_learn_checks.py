"""scikit-learn's own checks of estimators: all of them for LDA, all but one for PI-ELM."""

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from elmlda import ELMClassifier, ELMEnsembleClassifier, LDAClassifierCV

pytestmark = pytest.mark.filterwarnings("ignore::elmlda.estimators.FeatureScaleWarning")


@parametrize_with_checks(
    [
        LDAClassifierCV(),
        LDAClassifierCV(ridge=1.0, temperature=1.0, store_loo=True, batch_size=3),
        ELMClassifier(),
        ELMClassifier(n_hidden=20, activation="relu", temperature=1.0, batch_size=3),
        ELMEnsembleClassifier(n_estimators=2, fanout=2.5),
    ]
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


# Least squares without a constant: between samples, scores of a class that outweighs the others ten
# million times still come close to 0, and this one check expects that it always wins.
FOR_PI = [
    pytest.param(estimator, check, id=check.func.__name__)
    for estimator, check in estimator_checks_generator(ELMClassifier(output="pi"))
    if check.func.__name__ != "check_class_weight_classifiers"
]


@pytest.mark.parametrize(("estimator", "check"), FOR_PI)
def test_scikit_learns_checks_of_pi(estimator, check):
    check(estimator)
