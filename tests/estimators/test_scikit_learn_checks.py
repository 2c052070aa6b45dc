"""scikit-learn's own checks of estimators, all of them."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from elmlda import ELMClassifier, ELMEnsembleClassifier


@parametrize_with_checks(
    [
        ELMClassifier(),
        ELMClassifier(output="pi"),
        ELMClassifier(fanout=10, weight_range=0.5, ridge="auto", priors="frequencies"),
        ELMClassifier(n_hidden=600, activation="relu", batch_size=3),
        ELMEnsembleClassifier(n_estimators=2),
        ELMEnsembleClassifier(n_estimators=3, combine="vote", fanout=2.5),
    ]
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)
