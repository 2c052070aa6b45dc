"""Extreme learning machines with output weights by linear discriminant analysis."""

from typing import TYPE_CHECKING, Any

from elmlda.version import __version__

if TYPE_CHECKING:
    from elmlda.estimators import ELMClassifier, ELMEnsembleClassifier

__all__ = ["ELMClassifier", "ELMEnsembleClassifier", "__version__"]


def __getattr__(name: str) -> Any:
    # The estimators are imported when they are asked for: the rest needs no scikit-learn.
    if name not in ("ELMClassifier", "ELMEnsembleClassifier"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from elmlda import estimators

    return getattr(estimators, name)
