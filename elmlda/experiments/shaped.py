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

from elmlda.experiments.experiment import AnyPlan, Plans, Study
from elmlda.experiments.options import Share, select
from elmlda.experiments.own_options import ShapedOptions
from elmlda.experiments.selection import METHODS, Choice, choose, widen
from elmlda.experiments.shaped_networks import Setting, ShapedNetworks
from elmlda.experiments.tune import Tune, TuneRecord, read_values
from elmlda.settings import INPUT_WEIGHTS

TUNE_FOLDER = "tune"
Tuning = Generator[tuple[str, AnyPlan], Sequence[Any] | None, list[TuneRecord]]


@dataclass(frozen=True, kw_only=True)
class Shaped(ShapedOptions, Study):
    """A study of input weights that are shaped by images and training samples."""

    default_folder = Path("results/shaped")

    def plans(self, folder: Path | None, share: Share) -> Plans:
        folder = folder or self.default_folder
        schemes = [scheme for scheme in INPUT_WEIGHTS if scheme in tuple(self.schemes)]
        tuned: dict[str, list[TuneRecord]] = {scheme: [] for scheme in schemes}
        for scheme in reversed(schemes):  # data that have no fields are refused at once
            tuned[scheme] = yield from self._tune(scheme, folder / TUNE_FOLDER / scheme, share)
        if all(tuned.values()):
            networks = self._networks(*settle(tuned))
            yield "PI-ELM and LDA-ELM, each at its own setting", networks.bind(folder, share)
        else:  # a dry run
            networks = self._networks(*self._suppose(schemes), is_supposed=True)
            yield "At most, whatever is chosen", networks.bind(folder, share)

    def _tune(self, scheme: str, folder: Path, share: Share) -> Tuning:
        """Try the grid, and widen it where it must be; no records in a dry run."""
        options = select(self, Tune) | {"repeats": self.tune_repeats}
        options |= {"fanout": self.tune_fanout, "input_weights": scheme}
        first = yield f"{scheme}: tune", Tune(**options).bind(folder, share)
        records = list(first or ())
        size = "weight_range" if scheme == "uniform" else "weight_norm"
        for _ in range(self.widen if records else 0):
            grid = widen(records, [choose(records, method) for method in METHODS])
            if grid is None:
                break
            wider = Tune(**options | {size: grid[0], "ridge": grid[1]})
            more = yield f"{scheme}: tune, grid widened", wider.bind(folder, share)
            records = list(more or ())
        return records

    def _networks(
        self, chosen: tuple[Setting, ...], combined: tuple[Setting, ...], is_supposed: bool = False
    ) -> ShapedNetworks:
        names = ("ridge", "weight_norm", "weight_range")
        grid = {name: read_values(getattr(self, name)) for name in names}
        options = select(self, ShapedNetworks)
        return ShapedNetworks(
            chosen=chosen, combined=combined, is_supposed=is_supposed, grid=grid, **options
        )

    def _suppose(self, schemes: Sequence[str]) -> tuple[tuple[Setting, ...], tuple[Setting, ...]]:
        """Settings that take the most time: other weights for each method, the smallest ridge."""
        ridge = read_values(self.ridge)[0]
        supposed = [
            Setting(scheme, method, 1.0 + place, ridge)
            for scheme in schemes
            for place, method in enumerate(METHODS)
        ]
        return tuple(supposed), tuple(supposed[-len(METHODS) :])


def settle(
    tuned: Mapping[str, Sequence[TuneRecord]],
) -> tuple[tuple[Setting, ...], tuple[Setting, ...]]:
    """Each method's setting for every kind, and those of each method's best kind."""
    choices = {
        (scheme, method): choose(records, method)
        for scheme, records in tuned.items()
        for method in METHODS
    }
    settings = {key: _as_setting(key[0], choice) for key, choice in choices.items()}
    best = [
        min(tuned, key=lambda scheme: choices[scheme, method].chosen.error_percent)
        for method in METHODS
    ]
    combined = tuple(settings[key] for key in zip(best, METHODS, strict=True))
    return tuple(settings.values()), combined


def _as_setting(scheme: str, choice: Choice) -> Setting:
    return Setting(scheme, choice.method, choice.chosen.weight_size, choice.chosen.ridge)
