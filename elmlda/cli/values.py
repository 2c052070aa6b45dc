"""Kinds of values that options take."""

from __future__ import annotations

import os
from collections.abc import Callable
from math import nan
from pathlib import Path
from typing import Any

import click

from elmlda.errors import ElmldaError
from elmlda.ranges import LARGEST_COUNT, parse_ranges
from elmlda.settings import LARGEST_NUMBER

COUNT = click.IntRange(1, LARGEST_COUNT)


class Value(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A kind of value: `read` makes it from text, and raises a ValueError if it can't.

    Config files may have a list where there is an `example`, which their errors show.
    """

    def __init__(self, name: str, read: Callable[[str], Any], example: str = "") -> None:
        self.name, self.read, self.example = name, read, example

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, list | tuple):  # a default, or a config file's
            value = ",".join(map(str, value))
        try:
            return self.read(str(value))
        except (ElmldaError, ValueError) as error:
            self.fail(str(error), param, ctx)


def _read_numbers(text: str) -> tuple[float, ...]:
    try:
        # As records keep them, so that they are found again.
        numbers = {float(f"{float(word):.6g}") for word in text.split(",")}
    except ValueError:
        numbers = {nan}
    if not all(abs(number) <= LARGEST_NUMBER for number in numbers):
        expected = f"numbers up to {LARGEST_NUMBER:g} with commas, such as 0.1,1,10"
        raise ValueError(f"{text[:80]!r}: expected {expected}.")
    return tuple(sorted(numbers))


def _read_ridge(text: str) -> float | str:
    try:
        return text if text == "auto" else float(text)
    except ValueError:
        raise ValueError(f"{text[:80]!r} is neither a number nor 'auto'.") from None


def _read_contestants(text: str) -> tuple[str, ...]:
    from elmlda.bench.race import CONTESTANTS

    names = {"all": CONTESTANTS, "none": (), "": ()}.get(text, tuple(text.split(",")))
    for name in names:
        if name not in CONTESTANTS:
            known = ", ".join(CONTESTANTS)
            raise ValueError(f"{name!r}: expected all, none, or some of {known}, with commas.")
    return names


def _read_path(text: str) -> Path:
    if "\0" in text:
        raise ValueError(f"{text!r}: no path has a NUL character in it.")
    expanded = os.path.expanduser(text)  # noqa: PTH111  Path's raises a RuntimeError
    if expanded == text and text.startswith("~"):
        raise ValueError(f"{text!r}: no such user's home folder.")
    return Path(expanded)


def _read_name(text: str) -> str:
    for each in text.split(","):  # where several may be given
        _read_path(each)
    return text


RANGES = Value("numbers", parse_ranges, "numbers such as '1-10,12'")
NUMBERS = Value("numbers", _read_numbers, "numbers such as '0.1,1,10'")
RIDGE = Value("number|auto", _read_ridge)
CONTESTANT_NAMES = Value("names", _read_contestants)
PATH = Value("path", _read_path)
"""A file or folder, with ~ for a home folder."""
NAME_OR_PATH = Value("name|file", _read_name)
