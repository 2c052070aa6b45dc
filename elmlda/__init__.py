"""Extreme learning machines with output weights by linear discriminant analysis.

Experiments: `Sweep`, `Ensemble`, `Timing` and `Compare` take the command line's options as arguments.
`run` computes the rows that a folder lacks; `report` makes tables, figures and pages from the rows, and
`plot` returns one of the figures.
Estimators for scikit-learn: `LDAClassifierCV`, `ELMClassifier` and `ELMEnsembleClassifier`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elmlda.datasets.catalogue import load_dataset
    from elmlda.errors import ElmldaError
    from elmlda.estimators import ELMClassifier, ELMEnsembleClassifier, LDAClassifierCV
    from elmlda.experiments.specs import Compare, Ensemble, Sweep, Timing
    from elmlda.reports import plot, report

__version__ = "0.2.0"

_MODULES = {
    "Compare": "experiments.specs",
    "ELMClassifier": "estimators",
    "ELMEnsembleClassifier": "estimators",
    "ElmldaError": "errors",
    "Ensemble": "experiments.specs",
    "LDAClassifierCV": "estimators",
    "Sweep": "experiments.specs",
    "Timing": "experiments.specs",
    "load_dataset": "datasets.catalogue",
    "plot": "reports",
    "report": "reports",
}
# Type checkers read literals only.
__all__ = [
    "Compare", "ELMClassifier", "ELMEnsembleClassifier", "ElmldaError", "Ensemble", "LDAClassifierCV",
    "Sweep", "Timing", "__version__", "load_dataset", "plot", "report",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    # Names are imported on use, so that the command line starts fast without scikit-learn.
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"elmlda.{_MODULES[name]}"), name)
