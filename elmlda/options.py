"""Options: each is declared once, with its default, its constraint and its help.

A field of a dataclass that derives from `Options` is an argument in Python, an option of the command
line and a key of config files. Whoever gives a value, the field's constraint reads and checks it when
the object is made. This module is light to import, so that the command line shows its help at once.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from itertools import groupby
from pathlib import Path
from typing import Any

from elmlda.errors import ElmldaValueError
from elmlda.text import printable

ACTIVATIONS = ("tanh", "logistic", "relu", "softsign", "sine")
PRECISIONS = ("mixed", "double")
INPUT_WEIGHTS = ("uniform", "constrained", "receptive-field", "receptive-field-constrained")
DESIGNS = ("nested", "independent")
COMBINATIONS = ("mean", "product", "median", "max", "vote")
OUTPUTS = ("lda", "pi")
RIDGE_RULES = ("gcv",)
"""Ridges that are chosen from the training data."""
MISSING = ("drop", "mean")
LARGEST_COUNT, MOST_NUMBERS = 10_000_000, 10_000
LARGEST_NUMBER = 1e300
"""Twice this is still a float64."""
PRIORS_TOLERANCE = 1e-6
"""How far from one the sum of priors may be, as they are written with a few digits."""


class OptionError(ElmldaValueError):
    """An option has a value that it can't have."""


@dataclass(frozen=True)
class Constraint:
    """What values an option takes."""

    expected: str
    """For messages: a whole number from 1 to 10,000."""
    read: Callable[[Any], Any]
    """The value as it is kept; raises ValueError or TypeError for what the option can't have."""
    metavar: str = "TEXT"
    choices: tuple[str, ...] | None = None
    is_flag: bool = False
    is_repeated: bool = False
    """Whether the command line's option may be given several times."""

    def check(self, name: str, value: Any) -> Any:
        """The value as it is kept, or an error that names the option."""
        try:
            return self.read(value)
        except (ValueError, TypeError, OverflowError) as error:
            why = f" ({error})" if isinstance(error, _ReasonError) else ""
            fact = f"is {printable(repr(value), 80)}: expected {self.expected}{why}."
            advice = f"{{{name}}} {fact.replace('{', '{{').replace('}', '}}')}"
            raise OptionError("", advice, **{name: None}) from None


class _ReasonError(ValueError):
    """Why a value can't be read, in words for users."""


def option(default: Any, constraint: Constraint, help: str) -> Any:
    """A field that is an option."""
    return field(default=default, metadata={"constraint": constraint, "help": help})


@dataclass(frozen=True, kw_only=True)
class Options:
    """A dataclass whose fields are options, checked when it is made."""

    def __post_init__(self) -> None:
        for each in fields(self):
            constraint: Constraint = each.metadata["constraint"]
            object.__setattr__(self, each.name, constraint.check(each.name, getattr(self, each.name)))

    def changed(self) -> dict[str, Any]:
        """The options that are not the default."""
        defaults = {each.name: each.metadata["constraint"].read(each.default) for each in fields(self)}
        values = {name: getattr(self, name) for name in defaults}
        return {name: value for name, value in values.items() if not same(value, defaults[name])}


def same(one: Any, other: Any) -> bool:
    """Whether two options are the same; arrays and tables only if they are one object."""
    return one is other or (isinstance(one, _PLAIN) and isinstance(other, _PLAIN) and one == other)


_PLAIN = (str, int, float, tuple)


# Constraints


def whole(low: int = 1, high: int = LARGEST_COUNT) -> Constraint:
    """A whole number in a range."""
    return Constraint(f"a whole number from {low:,} to {high:,}", _within(_read_whole, low, high), "N")


def number(low: float = 0.0, *, above: bool = False) -> Constraint:
    """A finite number from `low` on, or above it."""

    def read(value: Any) -> float:
        found = _read_number(value)
        if not low <= found <= LARGEST_NUMBER or (above and found == low):
            raise ValueError
        return found

    words = f"a number above {low:g}" if above else f"a number of {low:g} or more"
    return Constraint(f"{words}, up to {LARGEST_NUMBER:g}", read, "NUMBER")


def one_of(*names: str) -> Constraint:
    """One of some names."""

    def read(value: Any) -> str:
        if not isinstance(value, str) or value not in names:
            raise ValueError
        return str(value)

    return Constraint(f"one of {', '.join(names)}", read, "|".join(names), choices=names)


def some_of(*names: str) -> Constraint:
    """One or more of some names, with commas or as a sequence; kept in the order of the names."""
    one = one_of(*names)

    def read(value: Any) -> tuple[str, ...]:
        found = {one.read(each) for each in _split(value)}
        if not found:
            raise ValueError
        return tuple(name for name in names if name in found)

    return Constraint(f"one or more of {', '.join(names)}, with commas", read, "NAMES")


def flag() -> Constraint:
    """True or false."""

    def read(value: Any) -> bool:
        if type(value).__name__ not in ("bool", "bool_"):
            raise TypeError
        return bool(value)

    return Constraint("True or False", read, is_flag=True)


def numbers(example: str) -> Constraint:
    """Whole numbers: one, several, or text such as 1-10,12."""
    return Constraint(f"whole numbers such as {example}", read_ranges, "NUMBERS")


def text(*, or_number: bool = False) -> Constraint:
    """Any text that is not empty; a column's may be its number."""

    def read(value: Any) -> str:
        if or_number and not isinstance(value, str | Path):
            return str(_read_whole(value))
        if not isinstance(value, str | Path) or not str(value).strip() or "\0" in str(value):
            raise TypeError
        return str(value)

    return Constraint("text that is not empty", read)


def texts() -> Constraint:
    """Several texts; one is a list of one."""
    one = text(or_number=True)

    def read(value: Any) -> tuple[str, ...]:
        is_several = isinstance(value, Iterable) and not isinstance(value, str | Path)
        return tuple(one.read(each) for each in (value if is_several else [value]))

    return Constraint("one or more texts", read, "COLUMN", is_repeated=True)


def names() -> Constraint:
    """One or more names or paths, with commas or as a sequence."""

    def read(value: Any) -> tuple[str, ...]:
        given = [value] if isinstance(value, str | Path) else list(value)
        found = [part for each in given for part in text().read(each).split(",")]
        if not found:
            raise ValueError
        return tuple(dict.fromkeys(text().read(part).strip() for part in found))

    return Constraint("one or more names, with commas", read, "NAMES", is_repeated=True)


def optional(constraint: Constraint, expected: str = "") -> Constraint:
    """The same, or None where the option is not given."""

    def read(value: Any) -> Any:
        return None if value is None else constraint.read(value)

    words = expected or constraint.expected
    more = constraint.metavar, constraint.choices, constraint.is_flag, constraint.is_repeated
    return Constraint(words, read, *more)


def source() -> Constraint:
    """Data: a name, a path, a DataFrame or arrays (X, y)."""

    def read(value: Any) -> Any:
        if isinstance(value, str | Path):
            return text().read(value)
        is_pair = isinstance(value, list | tuple) and len(value) == 2
        if is_pair and not any(isinstance(part, str | Path | int) for part in value):
            return tuple(value)
        if hasattr(value, "columns"):
            return value
        raise TypeError

    return Constraint("the name of a data set, a file, a DataFrame or (X, y)", read, "NAME|PATH")


def ridges(*, several: bool) -> Constraint:
    """A ridge: a number, or a rule that chooses it; or several of them."""

    def read_one(value: Any) -> float | str:
        is_rule = isinstance(value, str) and value in RIDGE_RULES
        return str(value) if is_rule else number().read(value)

    def read(value: Any) -> Any:
        found = tuple(dict.fromkeys(read_one(each) for each in _split(value)))
        if not found or (len(found) > 1 and not several):
            raise ValueError
        return found if len(found) > 1 else found[0]

    rule = RIDGE_RULES[0]
    words = f"a number of 0 or more, or {rule}"
    return Constraint(words + (", or several with commas" if several else ""), read, f"NUMBER|{rule}")


def priors() -> Constraint:
    """uniform, frequencies, or a number for each class, kept as a tuple."""

    def read(value: Any) -> Any:
        if isinstance(value, str) and value in ("uniform", "frequencies"):
            return value
        found = tuple(_read_number(each) for each in _split(value))
        if not found or not all(each > 0 for each in found):
            raise _ReasonError("each must be above zero")
        if not abs(sum(found) - 1) <= PRIORS_TOLERANCE:
            raise _ReasonError(f"their sum is {sum(found):g}, expected 1")
        return tuple(each / sum(found) for each in found)

    return Constraint(
        "uniform, frequencies, or a number for each class such as 0.2,0.3,0.5", read, "PRIORS"
    )


def _within(read: Callable[[Any], int], low: int, high: int) -> Callable[[Any], int]:
    def read_within(value: Any) -> int:
        found = read(value)
        if not low <= found <= high:
            raise ValueError
        return found

    return read_within


def _read_whole(value: Any) -> int:
    if isinstance(value, str):
        return int(value)
    if isinstance(value, bool):
        raise TypeError
    return operator.index(value)


def _read_number(value: Any) -> float:
    if isinstance(value, bool):
        raise TypeError
    found = float(value)
    if not math.isfinite(found):
        raise ValueError
    return found


def _split(value: Any) -> list[Any]:
    """Several values: text with commas, a sequence, or one value."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",")]
    return list(value) if isinstance(value, Iterable) else [value]


# Lists of numbers as people write them: 1-20, or 1-10,12,15,20, or 1000-5000:1000

_PART = re.compile(r"(\d{1,12})(?:-(\d{1,12})(?::(\d{1,12}))?)?", re.ASCII)


def read_ranges(value: Any) -> tuple[int, ...]:
    """Ascending numbers from 1 on: one, several, or ranges (first-last or first-last:step)."""
    found: set[int] = set()
    for part in _split(value):
        found.update(_read_range(part) if isinstance(part, str) else [_read_whole(part)])
        if len(found) > MOST_NUMBERS:
            raise _ReasonError(f"at most {MOST_NUMBERS:,} numbers")
    if not found or min(found) < 1 or max(found) > LARGEST_COUNT:
        raise _ReasonError(f"numbers from 1 to {LARGEST_COUNT:,}")
    return tuple(sorted(found))


def _read_range(part: str) -> range:
    match = _PART.fullmatch(part)
    if not match:
        raise _ReasonError(f"{part[:40]!r} is neither a number nor a range")
    first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
    if not first <= last or step < 1 or (last - first) // step >= MOST_NUMBERS:
        raise _ReasonError(
            f"{part[:40]!r} is not an ascending range of at most {MOST_NUMBERS:,} numbers"
        )
    return range(first, last + 1, step)


def spell_ranges(found: tuple[int, ...]) -> str:
    """The shortest text that `read_ranges` reads back, for ascending numbers."""
    parts: list[str] = []
    # In a run of consecutive numbers, number minus index is the same.
    for _, pairs in groupby(enumerate(found), lambda pair: pair[1] - pair[0]):
        run = [each for _, each in pairs]
        parts += [f"{run[0]}-{run[-1]}"] if len(run) > 2 else map(str, run)
    return ",".join(parts)
