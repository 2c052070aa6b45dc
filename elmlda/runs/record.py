"""A record: a row of one of a run's files, checked when it is made and when it is read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from elmlda import settings

LARGEST_VALUE = 10**12
LARGEST_SETTING = dict.fromkeys(("ridge", "weight_size"), settings.LARGEST_NUMBER)
"""Settings that users choose, or GCV where weights are large, may be any number that works."""


@dataclass(frozen=True)
class Record:
    """A row of one of a run's files: its numbers are finite and not negative."""

    FILE: ClassVar[str]
    EXPERIMENT: ClassVar[str]
    """Which writes it; its section of the manifest."""
    FIXED: ClassVar[tuple[str, ...]] = ()
    """Settings of that section that every record of the file depends on."""
    KEY: ClassVar[tuple[str, ...]]
    """Fields that tell it from the file's other records."""
    POSITIVE: ClassVar[tuple[str, ...]] = ()
    """Fields that are not zero either."""
    AT_MOST: ClassVar[Mapping[str, float | str]] = {}
    """Field -> its largest number, or the field that has it."""
    ONE_OF: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """Field -> the names that it can have."""

    @property
    def key(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.KEY)

    def __post_init__(self) -> None:
        """Refuse, by ValueError, numbers and names that can't be."""
        for name, value in vars(self).items():
            if isinstance(value, int | float):
                self._require_plausible(name, value)
        for name, known in self.ONE_OF.items():
            if getattr(self, name) not in known:
                raise ValueError(f"{name} is {getattr(self, name)!r}, expected {' or '.join(known)}")

    def _require_plausible(self, name: str, value: float) -> None:
        limit = self.AT_MOST.get(name, LARGEST_SETTING.get(name, LARGEST_VALUE))
        largest = getattr(self, limit) if isinstance(limit, str) else limit
        if not (math.isfinite(value) and 0 <= value <= largest) or (
            name in self.POSITIVE and value == 0
        ):
            least = "more than 0" if name in self.POSITIVE else "0"
            raise ValueError(f"{name} is {value}, expected {least} to {largest:,}")
