"""Four kinds of input weights beside each other, and an ensemble of the best.

For each kind its norm and ridge are chosen on held-out training samples, then networks are trained on
the whole training part and tested. The kind that was best on the held-out samples makes an ensemble.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elmlda.experiments.ensemble import Ensemble
from elmlda.experiments.options import DataOptions, UnitOptions, read_numbers, select
from elmlda.experiments.study import Part, Study
from elmlda.experiments.sweep import Sweep
from elmlda.experiments.tune import NORMS, RANGES, RIDGES, Choice, Tune, choose
from elmlda.settings import INPUT_WEIGHTS


@dataclass(frozen=True, kw_only=True)
class Shaped(DataOptions, UnitOptions, Study):
    """A study of input weights that are shaped by images and training samples."""

    default_folder = Path("results/shaped")

    schemes: Iterable[str] = INPUT_WEIGHTS
    fanouts: str | int | Iterable[int] = "1-20"
    repeats: int = 3
    tune_fanout: int = 5
    tune_repeats: int = 3
    ridge: float | Iterable[float] = RIDGES
    weight_norm: float | Iterable[float] = NORMS
    weight_range: float | Iterable[float] = RANGES
    validation: int | None = None
    n: int = 10
    """Networks of the ensemble."""
    ensemble_fanout: int = 20

    def parts(self, folder: Path) -> Generator[Part, Sequence[Any] | None, None]:
        choices: dict[str, Choice] = {}
        schemes = [scheme for scheme in INPUT_WEIGHTS if scheme in tuple(self.schemes)]
        for scheme in schemes:
            records = yield Part(f"{scheme}: tune", self._tune(scheme), folder / "tune" / scheme)
            if records:
                choices[scheme] = choose(records)
        if len(choices) < len(schemes):
            return  # a dry run: nobody knows the settings of the rest yet
        best = min(schemes, key=lambda scheme: choices[scheme].lda_error_percent)
        for scheme in sorted(schemes, key=lambda scheme: scheme != best):
            sweep = self._sweep(choices[scheme], scheme, is_best=scheme == best)
            yield Part(scheme, sweep, folder / scheme)
        yield Part(f"Ensemble of {best}", self._ensemble(choices[best], best), folder / best)

    def _tune(self, scheme: str) -> Tune:
        options = select(self, Tune) | {"repeats": self.tune_repeats}
        return Tune(fanout=self.tune_fanout, input_weights=scheme, **options)

    def _sweep(self, choice: Choice, scheme: str, is_best: bool) -> Sweep:
        # Its largest networks may be the ensemble's: then members are tested at every fan-out.
        is_ensembles = is_best and read_numbers(self.fanouts)[-1] == self.ensemble_fanout
        options = select(self, Sweep) | self._chosen(choice, scheme)
        repeats = max(self.repeats, self.n if is_ensembles else 0)
        return Sweep(**options | {"repeats": repeats, "posteriors": is_ensembles})

    def _ensemble(self, choice: Choice, scheme: str) -> Ensemble:
        options = select(self, Ensemble) | self._chosen(choice, scheme)
        return Ensemble(**options | {"fanout": self.ensemble_fanout, "repeats": 1})

    def _chosen(self, choice: Choice, scheme: str) -> dict[str, Any]:
        """The settings that were chosen."""
        size = "weight_range" if scheme == "uniform" else "weight_norm"
        other = {"weight_range": 0.5, "weight_norm": 2.0}
        return {**other, "input_weights": scheme, size: choice.weight_size, "ridge": choice.ridge}
