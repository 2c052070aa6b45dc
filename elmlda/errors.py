"""Errors that elmlda raises on purpose: a fact, and advice that names the options that would help.

The command line shows `--ridge 1e-3`, Python shows `ridge=1e-3`. Names and labels from users' files are
escaped, because control characters would reach a terminal or a page.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterable
from difflib import get_close_matches
from functools import partial
from pathlib import Path

LONGEST_NAME = 60
"""Number of characters of a class label or a column's name that a message shows."""


class ElmldaError(Exception):
    """An error that a user can fix; the command line shows it in one line.

    Parameters
    ----------
    fact : what is wrong. It is never formatted, so it may contain any file's name.
    advice : what to do, with options in braces: "Add {ridge}, or use {out} for a new run." Empty braces
        stand for all other options: "At most {} would fit." shows "--hidden 500 or --jobs 2".
    settings : values of these options; None shows the option's name alone. If an option occurs twice,
        the second name ends with an underscore: `missing="drop", missing_="mean"`.
    """

    def __init__(self, fact: str, advice: str = "", **settings: object) -> None:
        self.fact, self.advice, self.settings = fact, advice, settings
        super().__init__(self._word(_as_argument))

    def __reduce__(self) -> tuple[object, ...]:
        # Exception's own method loses the settings when a worker process sends the error.
        return partial(type(self), self.fact, self.advice, **self.settings), (), self.__dict__

    def for_command_line(self) -> str:
        """Return the message with options of the command line; str() shows Python's arguments."""
        return self._word(_as_option)

    def _word(self, word: Callable[[str, object], str]) -> str:
        words = {name: word(name, value) for name, value in self.settings.items()}
        others = " or ".join(text for name, text in words.items() if f"{{{name}}}" not in self.advice)
        return f"{self.fact} {self.advice.format(others, **words)}".strip()


class ElmldaValueError(ElmldaError, ValueError):
    """Options or data with which no network can be trained; scikit-learn expects a ValueError."""


class UnknownNameError(ElmldaError, TypeError):
    """A function or a class does not have this argument."""


def suggest_name(name: str, names: Collection[str]) -> str:
    """Return "Did you mean …?" with the nearest known name, or a list of all known names."""
    close = get_close_matches(name, sorted(names), n=1)
    return f"Did you mean {close[0]!r}?" if close else f"Known: {', '.join(sorted(names))}."


def _as_option(name: str, value: object) -> str:
    option = f"--{name.rstrip('_').replace('_', '-')}"
    if isinstance(value, bool):
        return option if value else option.replace("--", "--no-", 1)
    return option if value is None else f"{option} {shlex.quote(str(value))}"


def _as_argument(name: str, value: object) -> str:
    argument = "folder" if name == "out" else name.rstrip("_")
    if value is None:
        return argument
    return f"{argument}={str(value)!r}" if isinstance(value, str | Path) else f"{argument}={value}"


# Words of messages


def printable(text: object, limit: int | None = None) -> str:
    """Escape control, unprintable and surrogate characters.

    A text longer than `limit` is shortened in the middle with an ellipsis.
    """
    # Only ascii() escapes surrogates. Line breaks and tabs are not printable either.
    escaped = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in str(text))
    if limit is None or len(escaped) <= limit:
        return escaped
    head = limit // 2
    return f"{escaped[:head]}…{escaped[len(escaped) - (limit - head - 1) :]}"


def join_words(items: Iterable[object], last: str = "and") -> str:
    """Join items as in `1, 2 and 3`; the middle of a long list is left out."""
    words = [printable(item, LONGEST_NAME) for item in items]
    if len(words) > 12:
        words = [*words[:10], "…", words[-1]]
    return f" {last} ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def quote_name(name: str) -> str:
    """Quote a column's name or a value from the user's data."""
    return f"'{printable(name, LONGEST_NAME)}'"


def format_shape(shape: tuple[int, ...]) -> str:
    """Format a shape as in `10000 × 28 × 28`."""
    return " × ".join(map(str, shape))
