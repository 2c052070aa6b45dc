"""Kinds of values that options take."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

import click

from elmlda.errors import ElmldaError
from elmlda.ranges import LARGEST, parse_ranges
from elmlda.settings import LARGEST as MOST

COUNT = click.IntRange(1, LARGEST)
REPEATS = click.IntRange(1, 10_000)
"""All networks are listed before the first is trained."""
PROCESSES = click.IntRange(1, 1024)

Param: TypeAlias = click.Parameter | None
Context: TypeAlias = click.Context | None


class Value(click.ParamType, ABC):  # type: ignore[type-arg,unused-ignore]
    """A kind of value: `read` makes it from text, and raises a ValueError if it can't."""

    name = "value"
    example = ""

    @abstractmethod
    def read(self, text: str) -> Any:
        """The value, from its text."""

    def convert(self, value: Any, param: Param, ctx: Context) -> Any:
        if isinstance(value, list | tuple):  # a default, or a configuration file's
            value = ",".join(map(str, value))
        try:
            return self.read(str(value))
        except (ElmldaError, ValueError) as error:
            self.fail(str(error), param, ctx)


class Ranges(Value):
    """Whole numbers such as 1-10,12,15,20."""

    name, example = "numbers", "numbers such as '1-10,12'"

    def read(self, text: str) -> tuple[int, ...]:
        return parse_ranges(text)


class Numbers(Value):
    """Numbers with commas."""

    name, example = "numbers", "numbers such as '0.1,1,10'"

    def read(self, text: str) -> tuple[float, ...]:
        try:
            # As records keep them, so that they are found again.
            numbers = {float(f"{float(word):.6g}") for word in text.split(",")}
            if not all(abs(number) <= MOST for number in numbers):
                _refuse("out of range")
        except ValueError:
            _refuse(f"{text[:80]!r}: expected numbers up to {MOST:g} with commas, such as 0.1,1,10.")
        return tuple(sorted(numbers))


class Ridge(Value):
    """A number, or auto."""

    name = "number|auto"

    def read(self, text: str) -> float | str:
        try:
            return text if text == "auto" else float(text)
        except ValueError:
            _refuse(f"{text[:80]!r} is neither a number nor 'auto'.")


class Contestants(Value):
    """Names with commas, all or none."""

    name = "names"

    def read(self, text: str) -> tuple[str, ...]:
        from elmlda.bench.race import CONTESTANTS

        names = {"all": CONTESTANTS, "none": (), "": ()}.get(text, tuple(text.split(",")))
        for name in names:
            if name not in CONTESTANTS:
                known = ", ".join(CONTESTANTS)
                _refuse(f"{name!r}: expected all, none, or some of {known}, with commas.")
        return names


class UserPath(Value):
    """A file or folder, with ~ for a home folder."""

    name = "path"

    def read(self, text: str) -> Path:
        return Path(_expand(text))


class NameOrPath(Value):
    """The name of something, or a file."""

    name = "name|file"

    def read(self, text: str) -> str:
        for each in text.split(","):  # where several may be given
            _expand(each)
        return text


def _expand(path: str) -> str:
    if "\0" in path:
        _refuse(f"{path!r}: no path has a NUL character in it.")
    expanded = os.path.expanduser(path)  # noqa: PTH111  Path's raises a RuntimeError
    if expanded == path and path.startswith("~"):
        _refuse(f"{path!r}: no such user's home folder.")
    return expanded


def _refuse(why: str) -> NoReturn:
    raise ValueError(why)
