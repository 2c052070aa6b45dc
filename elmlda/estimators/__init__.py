"""scikit-learn estimators on elmlda's networks."""

try:
    import sklearn.utils.validation

    # Tags and validate_data, as they are since 1.6, are what estimators need no workarounds for.
    sklearn.utils.validation.validate_data  # noqa: B018
except (ImportError, AttributeError) as error:
    raise ImportError(
        "elmlda's estimators need scikit-learn 1.6 or newer: pip install 'elmlda[sklearn]'"
    ) from error

from elmlda.estimators.elm import ELMClassifier, FeatureScaleWarning
from elmlda.estimators.ensemble import ELMEnsembleClassifier
from elmlda.estimators.head import LDAClassifierCV

__all__ = ["ELMClassifier", "ELMEnsembleClassifier", "FeatureScaleWarning", "LDAClassifierCV"]
