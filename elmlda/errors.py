"""Errors that elmlda raises on purpose: a fact, and advice that names the settings that would help.

The command line words a setting as an option, `--ridge 1e-3`; Python as an argument, `ridge=1e-3`.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

PYTHON_NAMES = {"out": "folder", "from_": "source"}
"""Where an argument is not called what the option is."""


class ElmldaError(Exception):
    """Something a user can fix; the CLI shows it in one line.

    Parameters
    ----------
    fact : what is wrong, in words that fit the command line and Python alike. Never formatted, so that
        it may have any file's name in it.
    advice : what to do, with settings in braces: "Add {ridge}, or use {out} for a new run." Empty
        braces are all other settings: "At most {} would fit." has "--hidden 500 or --jobs 2".
    settings : their values; None to name the setting alone. A keyword of Python's has an underscore
        after it: `from_`.
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
    argument = PYTHON_NAMES.get(name, name.rstrip("_"))
    if value is None:
        return argument
    return f"{argument}={value}" if _is_number(value) else f"{argument}={str(value)!r}"


def _is_number(value: Any) -> bool:
    """Whether it needs no quotes, also as text: `1e-3` is as people write it, 0.001 is not."""
    with suppress(ValueError, TypeError):
        float(value)
        return True
    return False
