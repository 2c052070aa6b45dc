"""scikit-learn's own checks of estimators, all of them."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from elmlda import ELMClassifier, ELMEnsembleClassifier

MIXED = ELMClassifier(n_hidden=600, activation="relu", batch_size=3)
ROUNDED = {
    f"check_sample_weight_equivalence_on_{kind}_data": "to float32's rounding, not to 1e-7"
    for kind in ("dense", "sparse")
}


def expected_to_fail(estimator):
    """The largest network alone is computed in float32, up to its Gram matrix."""
    return ROUNDED if estimator is MIXED else {}


@parametrize_with_checks(
    [
        ELMClassifier(),
        ELMClassifier(output="pi"),
        ELMClassifier(fanout=10, weight_range=0.5, ridge="auto", priors="frequencies"),
        MIXED,
        ELMClassifier(n_hidden=600, activation="relu", batch_size=3, precision="double"),
        ELMEnsembleClassifier(n_estimators=2),
        ELMEnsembleClassifier(n_estimators=3, combine="vote", fanout=2.5),
    ],
    expected_failed_checks=expected_to_fail,
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)
