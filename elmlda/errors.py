"""Errors that elmlda raises on purpose: a fact, and advice that names the settings that would help.

The command line words a setting as an option, `--ridge 1e-3`; Python as an argument, `ridge=1e-3`.
Names and labels from users' files are shown so that they do no harm in a terminal or on a page.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Any

LONGEST_NAME = 60
"""Characters of a class label or column that a message shows."""


class ElmldaError(Exception):
    """Something a user can fix; the CLI shows it in one line.

    Parameters
    ----------
    fact : what is wrong, in words that fit the command line and Python alike. Never formatted, so that
        it may have any file's name in it.
    advice : what to do, with settings in braces: "Add {ridge}, or use {out} for a new run." Empty
        braces are all other settings: "At most {} would fit." has "--hidden 500 or --jobs 2".
    settings : their values; None to name the setting alone. Where one is named twice, the second has an
        underscore after it: `missing="drop", missing_="mean"`.
    """

    def __init__(self, fact: str, advice: str = "", **settings: object) -> None:
        self.fact, self.advice, self.settings = fact, advice, settings
        super().__init__(self._word(_as_argument))

    def __reduce__(self) -> tuple[object, ...]:
        # Exception's own would forget the settings on the way from a worker.
        return partial(type(self), self.fact, self.advice, **self.settings), (), self.__dict__

    def for_command_line(self) -> str:
        """The message with options for settings; str() has arguments."""
        return self._word(_as_option)

    def _word(self, word: Callable[[str, object], str]) -> str:
        words = {name: word(name, value) for name, value in self.settings.items()}
        others = " or ".join(text for name, text in words.items() if f"{{{name}}}" not in self.advice)
        return f"{self.fact} {self.advice.format(others, **words)}".strip()


class ElmldaValueError(ElmldaError, ValueError):
    """A setting or data that no network can be made with: scikit-learn's users expect a ValueError."""


def _as_option(name: str, value: object) -> str:
    option = f"--{name.rstrip('_').replace('_', '-')}"
    return option if value is None else f"{option} {shlex.quote(str(value))}"


def _as_argument(name: str, value: object) -> str:
    argument = "folder" if name == "out" else name.rstrip("_")
    if value is None:
        return argument
    return f"{argument}={value}" if _is_number(value) else f"{argument}={str(value)!r}"


def _is_number(value: Any) -> bool:
    """Whether it needs no quotes, also as text: `1e-3` is as people write it, 0.001 is not."""
    with suppress(ValueError, TypeError):
        float(value)
        return True
    return False


# Words of messages


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
    """Format as in `10000 × 28 × 28`."""
    return " × ".join(map(str, shape))
