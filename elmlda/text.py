"""Text as it is shown on a terminal, on a page or in a file."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

LONGEST_NAME = 60
"""Characters of a class label or column that a message shows."""


def printable(text: object, limit: int | None = None) -> str:
    """The text with control, unprintable and surrogate characters as escapes.

    What is longer than `limit` is shortened in the middle, with an ellipsis.
    """
    # ascii() alone has an escape for a surrogate; line breaks and tabs are not printable either.
    shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in str(text))
    if limit is None or len(shown) <= limit:
        return shown
    head = limit // 2
    return f"{shown[:head]}…{shown[len(shown) - (limit - head - 1) :]}"


def as_text(name: str) -> str:
    """A file's name as a manifest can have it: bytes that are not UTF-8 become escapes."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def without_folders(text: str) -> str:
    """Only the names of absolute paths, with commas between: their folders are this machine's."""
    parts = text.split(",")
    return ",".join(Path(part).name if Path(part).is_absolute() else part for part in parts)


def join_words(items: Iterable[object], last: str = "and") -> str:
    """List as in `1, 2 and 3`, leaving out the middle of a long list."""
    words = [printable(item, LONGEST_NAME) for item in items]
    if len(words) > 12:
        words = [*words[:10], "…", words[-1]]
    return f" {last} ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def quote_name(name: str) -> str:
    """A column or value from the user's data."""
    return f"'{printable(name, LONGEST_NAME)}'"


def format_shape(shape: tuple[int, ...]) -> str:
    """Format as in `10000 × 28 × 28`, in one line for any rank."""
    if len(shape) > 8:
        return f"{format_shape(shape[:3])} × … ({len(shape)} dimensions)"
    return " × ".join(map(str, shape))


def format_number(value: float, form: str) -> str:
    """Format with a minus sign instead of a hyphen, and none for what rounds to zero."""
    text = format(value, form)
    if not text.strip("+-0."):
        text = format(0.0, form)
    return text.replace("-", "−")


def format_seconds(seconds: float) -> str:
    """As in 40 s, 12 min, 3.5 h."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
