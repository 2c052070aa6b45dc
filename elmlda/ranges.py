"""Lists of numbers as people write them: 1-20, or 1-10,12,15,20, or 1000-5000:1000."""

from __future__ import annotations

import re
from itertools import groupby

from elmlda.errors import ElmldaError

LARGEST_COUNT = 10_000_000
MOST = 10_000
_PART = re.compile(r"(\d{1,999})(?:-(\d{1,999})(?::(\d{1,999}))?)?", re.ASCII)


def parse_ranges(text: str) -> tuple[int, ...]:
    """Ascending positive numbers from ranges (first-last or first-last:step) with commas."""
    numbers: list[int] = []
    for part in text.split(","):
        numbers += _parse_part(part.strip(), text)
        if len(numbers) > MOST:
            raise ElmldaError(f"{text[:80]!r}: {len(numbers):,} numbers, expected at most {MOST:,}.")
    return tuple(sorted(set(numbers)))


def format_ranges(numbers: tuple[int, ...]) -> str:
    """The shortest that `parse_ranges` reads back, for ascending numbers."""
    parts: list[str] = []
    # In a run of consecutive numbers, number minus index is the same.
    for _, pairs in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]):
        run = [number for _, number in pairs]
        parts += [f"{run[0]}-{run[-1]}"] if len(run) > 2 else map(str, run)
    return ",".join(parts)


def _parse_part(part: str, text: str) -> range:
    match = _PART.fullmatch(part)
    if not match:
        raise ElmldaError(
            f"{text[:80]!r}: {part[:80]!r} is neither a number nor a range. "
            "Write 1-20, or 1-10,12,15,20, or 1000-5000:1000."
        )
    first = int(match[1])
    last = int(match[2] or first)
    step = int(match[3] or 1)
    if not 1 <= first <= last <= LARGEST_COUNT or step < 1:
        raise ElmldaError(
            f"{text[:80]!r}: {part[:80]!r} is not an ascending range of numbers from 1 to "
            f"{LARGEST_COUNT:,}."
        )
    if (last - first) // step >= MOST:
        raise ElmldaError(f"{text[:80]!r}: {part[:80]!r} has more than {MOST:,} numbers.")
    return range(first, last + 1, step)
