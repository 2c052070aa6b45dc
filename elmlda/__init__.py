"""Extreme learning machines with output weights by linear discriminant analysis.

Experiments: `Sweep`, `Ensemble`, `Calibration`, `Timing`, `Compare`, `Tune`, `Shaped` and `Choices`
take the command line's options as arguments; `run` computes what a folder lacks, `report` makes
tables, figures and pages of it. Estimators for scikit-learn: `ELMClassifier` and
`ELMEnsembleClassifier`.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from elmlda.version import __version__

if TYPE_CHECKING:
    from elmlda.estimators import ELMClassifier, ELMEnsembleClassifier
    from elmlda.experiments.calibration import Calibration
    from elmlda.experiments.choices import Choices
    from elmlda.experiments.compare import Compare
    from elmlda.experiments.ensemble import Ensemble
    from elmlda.experiments.shaped import Shaped
    from elmlda.experiments.sweep import Sweep
    from elmlda.experiments.timing import Timing
    from elmlda.experiments.tune import Tune
    from elmlda.reports.write import report

__all__ = [
    "Calibration",
    "Choices",
    "Compare",
    "ELMClassifier",
    "ELMEnsembleClassifier",
    "Ensemble",
    "Shaped",
    "Sweep",
    "Timing",
    "Tune",
    "__version__",
    "report",
]
_NO_EXPERIMENTS = {
    "ELMClassifier": "estimators",
    "ELMEnsembleClassifier": "estimators",
    "report": "reports.write",
}
_NAMES = frozenset(__all__)
if find_spec("sklearn") is None:  # `from elmlda import *` leaves out what can't be imported
    __all__.remove("ELMClassifier")
    __all__.remove("ELMEnsembleClassifier")


def __dir__() -> list[str]:
    return sorted({*globals(), *_NAMES})


def __getattr__(name: str) -> Any:
    # Imported when asked for: the command line starts fast, and only estimators need scikit-learn.
    if name not in _NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = _NO_EXPERIMENTS.get(name, f"experiments.{name.lower()}")
    return getattr(import_module(f"elmlda.{module}"), name)
