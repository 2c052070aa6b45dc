"""Text from data, files and paths, made safe to show: on a terminal, on a page, in a file."""

from __future__ import annotations


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
