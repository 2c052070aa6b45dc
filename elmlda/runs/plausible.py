"""What every record must be, whether it was just computed or comes from a file."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

from elmlda import settings

LARGEST = 10**12
LARGEST_SETTING = dict.fromkeys(("ridge", "weight_size"), settings.LARGEST)
"""Settings that users choose, or GCV where weights are large, may be any number that works."""


def require_plausible(
    record: Any,
    *,
    positive: Collection[str] = (),
    at_most: Mapping[str, float] | None = None,
    one_of: Mapping[str, Collection[str]] | None = None,
) -> None:
    """Refuse, by ValueError, a record with numbers or names that can't be.

    Parameters
    ----------
    record : a dataclass's instance; its numbers are finite and not negative
    positive : fields that are not zero either
    at_most : field -> the largest number that it can have
    one_of : field -> the names that it can have
    """
    for name, value in vars(record).items():
        if not isinstance(value, int | float):
            continue
        largest = {**LARGEST_SETTING, **(at_most or {})}.get(name, LARGEST)
        if not (math.isfinite(value) and 0 <= value <= largest) or (name in positive and value == 0):
            least = "more than 0" if name in positive else "0"
            raise ValueError(f"{name} is {value}, expected {least} to {largest:,}")
    for name, known in (one_of or {}).items():
        if getattr(record, name) not in known:
            raise ValueError(f"{name} is {getattr(record, name)!r}, expected {' or '.join(known)}")
