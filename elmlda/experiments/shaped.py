"""Four kinds of input weights beside each other, PI-ELM and LDA-ELM each at its own best setting.

For each kind and method, norm and ridge are chosen by that method's errors on held-out training
samples; where the best lies on the edge of the grid, the grid is widened. Then networks are trained on
the whole training part and tested. The networks of a method's best kind make ensembles.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elmlda.experiments.command_options import ShapedOptions
from elmlda.experiments.experiment import AnyPlan, Plans, Study
from elmlda.experiments.options import Share, select
from elmlda.experiments.selection import METHODS, choose, widen
from elmlda.experiments.shaped_networks import Setting, ShapedNetworks
from elmlda.experiments.tune import Tune, TuneRecord, read_values, size_setting
from elmlda.settings import INPUT_WEIGHTS

TUNE_FOLDER = "tune"
Tuning = Generator[tuple[str, AnyPlan], Sequence[Any] | None, Sequence[TuneRecord]]
Settings = tuple[Setting, ...]


@dataclass(frozen=True, kw_only=True)
class Shaped(ShapedOptions, Study):
    """A study of input weights that are shaped by images and training samples."""

    default_folder = Path("results/shaped")

    def plans(self, folder: Path | None, share: Share) -> Plans:
        folder = folder or self.default_folder
        schemes = [scheme for scheme in INPUT_WEIGHTS if scheme in tuple(self.schemes)]
        tuned: dict[str, Sequence[TuneRecord]] = dict.fromkeys(schemes, ())
        for scheme in reversed(schemes):  # data that have no fields are refused at once
            tuned[scheme] = yield from self._tune(scheme, folder / TUNE_FOLDER / scheme, share)
        title, is_supposed = "PI-ELM and LDA-ELM, each at its own setting", not all(tuned.values())
        if is_supposed:  # a dry run
            title, (chosen, combined) = "At most, whatever is chosen", self._suppose(schemes)
        else:
            chosen, combined = settle(tuned)
        names = ("ridge", "weight_norm", "weight_range")
        networks = ShapedNetworks(
            chosen=chosen,
            combined=combined,
            is_supposed=is_supposed,
            grid={name: read_values(getattr(self, name)) for name in names},
            **select(self, ShapedNetworks),
        )
        yield title, networks.bind(folder, share)

    def _tune(self, scheme: str, folder: Path, share: Share) -> Tuning:
        """Try the grid, and widen it where it must be; no records in a dry run."""
        options = select(self, Tune) | {"repeats": self.tune_repeats}
        options |= {"fanout": self.tune_fanout, "input_weights": scheme}
        title = f"{scheme}: tune"
        for _ in range(1 + self.widen):
            records = yield title, Tune(**options).bind(folder, share)
            grid = records and widen(records, [choose(records, method) for method in METHODS])
            if not grid:
                break
            options |= {size_setting(scheme): grid[0], "ridge": grid[1]}
            title = f"{scheme}: tune, grid widened"
        return records or ()

    def _suppose(self, schemes: Sequence[str]) -> tuple[Settings, Settings]:
        """Settings that take the most time: other weights for each method, the smallest ridge."""
        ridge = read_values(self.ridge)[0]
        supposed = [
            Setting(scheme, method, 1.0 + place, ridge)
            for scheme in schemes
            for place, method in enumerate(METHODS)
        ]
        return tuple(supposed), tuple(supposed[-len(METHODS) :])


def settle(tuned: Mapping[str, Sequence[TuneRecord]]) -> tuple[Settings, Settings]:
    """Each method's setting for every kind, and those of each method's best kind."""
    chosen = {
        (scheme, method): choose(records, method).chosen
        for scheme, records in tuned.items()
        for method in METHODS
    }
    settings = {key: Setting(*key, tried.weight_size, tried.ridge) for key, tried in chosen.items()}
    best = [min(tuned, key=lambda scheme: chosen[scheme, method].error_percent) for method in METHODS]
    combined = tuple(settings[key] for key in zip(best, METHODS, strict=True))
    return tuple(settings.values()), combined
