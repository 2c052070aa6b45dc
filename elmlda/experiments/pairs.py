"""Two networks combined: disjoint pairs of those whose posteriors a run has kept."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar

from elmlda.runs.plausible import require_plausible


@dataclass(frozen=True)
class PairRecord:
    """One row of pairs.csv: test errors of two networks' mean posteriors."""

    FILE: ClassVar[str] = "pairs.csv"
    EXPERIMENT: ClassVar[str] = "ensemble"
    FIXED: ClassVar[tuple[str, ...]] = ("n", "n_hidden")
    pair: int
    first: int
    """Network 2·pair of the run."""
    second: int
    """Network 2·pair + 1."""
    errors: int
    n_test: int

    def __post_init__(self) -> None:
        require_plausible(self, positive=("second", "n_test"), at_most={"errors": self.n_test})
        if (self.first, self.second) != networks_of(self.pair):
            raise ValueError(f"pair {self.pair} is not of networks {self.first} and {self.second}")

    @property
    def key(self) -> tuple[int]:
        return (self.pair,)


def networks_of(pair: int) -> tuple[int, int]:
    """The two networks of a pair: no other pair has them."""
    return 2 * pair, 2 * pair + 1


def whole_pairs(networks: Collection[int]) -> list[int]:
    """The pairs that these networks make."""
    return sorted(index // 2 for index in networks if index % 2 == 0 and index + 1 in networks)
