"""Choosing a setting by its errors on held-out samples: the one-standard-error rule.

The best of many settings is best partly by chance. So of all settings whose mean error is within one
standard error of the best's, the simplest is chosen: the largest ridge, then the smallest weights.
The standard error is that of networks: every setting is tested on the same held-out samples.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from elmlda.experiments.tune import TuneRecord

METHODS = ("pi", "lda")
FEWEST = 3
"""Networks that a standard error needs."""
USUAL_STEP = 10.0
"""From one ridge to the next, where a grid does not say."""

Grid = tuple[tuple[float, ...], tuple[float, ...]]
"""Sizes of the weights, and ridges to try with each of them."""


@dataclass(frozen=True)
class Tried:
    """What a setting gave for one method."""

    weight_size: float
    ridge: float
    error_percent: float
    """Mean over networks."""
    standard_error: float
    """Of that mean; NaN with fewer than three networks."""
    repeats: int


@dataclass(frozen=True)
class Edge:
    """A value of the best setting that is the smallest or largest that was tried."""

    name: str
    """ridge or weight_size."""
    value: float
    beyond: float
    """The value to try next."""

    def describe(self, size_name: str) -> str:
        """As in: the smallest ridge that was tried (0.1)."""
        end = "smallest" if self.beyond < self.value else "largest"
        name = "ridge" if self.name == "ridge" else size_name
        return f"the {end} {name} that was tried ({self.value:g})"


@dataclass(frozen=True)
class Choice:
    """A method's setting, by the one-standard-error rule."""

    method: str
    chosen: Tried
    best: Tried
    """With the fewest errors."""
    edges: tuple[Edge, ...]
    """Where the best lies on the edge of what was tried."""


def choose(records: Sequence[TuneRecord], method: str) -> Choice:
    """The simplest setting within one standard error of the method's best."""
    tried = list(summarise_settings(records, method))
    best = min(tried, key=lambda each: (each.error_percent, -each.ridge, each.weight_size))
    limit = best.error_percent + (0.0 if math.isnan(best.standard_error) else best.standard_error)
    within = [each for each in tried if each.error_percent <= limit]
    chosen = min(within, key=lambda each: (-each.ridge, each.weight_size))
    return Choice(method, chosen, best, tuple(_find_edges(tried, best)))


def summarise_settings(records: Sequence[TuneRecord], method: str) -> Iterator[Tried]:
    """What every setting gave for one method."""
    by_setting: dict[tuple[float, float], list[float]] = {}
    for record in records:
        percent = 100 * getattr(record, f"{method}_errors") / record.n_validation
        by_setting.setdefault((record.weight_size, record.ridge), []).append(percent)
    for (weight_size, ridge), percents in by_setting.items():
        n = len(percents)
        error = float(np.std(percents, ddof=1) / math.sqrt(n)) if n >= FEWEST else math.nan
        yield Tried(weight_size, ridge, float(np.mean(percents)), error, n)


def _find_edges(tried: Sequence[Tried], best: Tried) -> Iterator[Edge]:
    for name in ("weight_size", "ridge"):
        values = sorted({getattr(each, name) for each in tried})
        value = getattr(best, name)
        if len(values) == 1 or value == 0:
            continue
        if value == values[0]:
            yield Edge(name, value, as_recorded(value**2 / values[1]))
        elif value == values[-1]:
            step = value / values[-2] if values[-2] else USUAL_STEP
            yield Edge(name, value, as_recorded(value * step))


def as_recorded(value: float) -> float:
    """With as many digits as records have."""
    return float(f"{value:.6g}")


def widen(records: Sequence[TuneRecord], choices: Iterable[Choice]) -> Grid | None:
    """The grid with a value beyond every edge that a method's best lies on; None if there is none."""
    edges = {(edge.name, edge.beyond) for choice in choices for edge in choice.edges}
    if not edges:
        return None
    sizes, ridges = (
        {getattr(record, name) for record in records} | {beyond for of, beyond in edges if of == name}
        for name in ("weight_size", "ridge")
    )
    return tuple(sorted(sizes)), tuple(sorted(ridges))
