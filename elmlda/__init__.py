"""Extreme learning machines with output weights by linear discriminant analysis.

Experiments: `Sweep`, `Ensemble`, `Timing` and `Compare` take the command line's options as arguments;
`run` computes what a folder lacks, `report` makes tables, figures and pages of it. Estimators for
scikit-learn: `ELMClassifier` and `ELMEnsembleClassifier`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elmlda.datasets import load_dataset
    from elmlda.errors import ElmldaError
    from elmlda.estimators import ELMClassifier, ELMEnsembleClassifier
    from elmlda.experiments.compare import Compare
    from elmlda.experiments.ensemble import Ensemble
    from elmlda.experiments.sweep import Sweep
    from elmlda.experiments.timing import Timing
    from elmlda.reports import report

__version__ = "0.2.0"

_MODULES = {
    "Compare": "experiments.compare",
    "ELMClassifier": "estimators",
    "ELMEnsembleClassifier": "estimators",
    "ElmldaError": "errors",
    "Ensemble": "experiments.ensemble",
    "Sweep": "experiments.sweep",
    "Timing": "experiments.timing",
    "load_dataset": "datasets",
    "report": "reports",
}
__all__ = ["__version__", *sorted(_MODULES)]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    # Imported when asked for: the command line starts fast, and only estimators need scikit-learn.
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"elmlda.{_MODULES[name]}"), name)
