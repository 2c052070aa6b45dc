"""Options: each is declared once, with its default, its constraint and its help.

A field of a dataclass that derives from `Options` is an argument in Python, an option of the command
line and a key of config files. Whoever gives a value, the field's constraint reads and checks it when
the object is made. This module is light to import, so that the command line shows its help at once.
"""

from __future__ import annotations

import operator
import re
import reprlib
from collections.abc import Callable, Iterable
from dataclasses import Field, dataclass, field, fields
from functools import partial
from inspect import cleandoc
from pathlib import Path
from typing import Any

from elmlda.errors import ElmldaValueError, printable

ACTIVATIONS = ("tanh", "logistic", "relu", "softsign", "sine")
INPUT_WEIGHTS = ("uniform", "constrained", "receptive-field", "receptive-field-constrained")
OUTPUTS = ("lda", "pi")
LEAVE_ONE_OUT = "loo"
"""Instead of a number: chosen by leaving out one training sample at a time."""
LARGEST_COUNT, LARGEST_SIZE = 10_000_000, 1_000_000
"""The largest count, and the most hidden units: their Gram matrix has 8 TB."""
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
    convert: Callable[[Any], Any]
    """The value as it is kept; raises ValueError or TypeError for what is nothing of the kind."""
    allows: Callable[[Any], object] = lambda _: True
    """Whether the option may have the converted value."""
    metavar: str = "TEXT"
    """The value's name in the command line's help; empty for a flag, which has no value."""
    is_repeated: bool = False
    """Whether the command line's option may be given several times."""

    def read(self, value: Any) -> Any:
        """The value as it is kept; ValueError, TypeError or OverflowError for any other."""
        found = self.convert(value)
        if not self.allows(found):
            raise ValueError
        return found

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
    """A field that is an option; it may be None if that is the default.

    The default is written as the command line would have it.
    """
    kept = None if default is None else constraint.read(default)
    return field(default=kept, metadata={"constraint": constraint, "help": help, "default": default})


@dataclass(frozen=True, kw_only=True, repr=False)
class Options:
    """A dataclass whose fields are options, checked when it is made."""

    def __init_subclass__(cls) -> None:
        """List the options in the class's docstring."""
        known: dict[str, Any] = {}
        for base in reversed(cls.__mro__):
            known |= vars(base).get("__dataclass_fields__", {})
        known |= {name: each for name, each in vars(cls).items() if isinstance(each, Field)}
        entries = [_document(name, each) for name, each in known.items() if each.metadata]
        cls.__doc__ = "\n".join([cleandoc(cls.__doc__ or ""), "", "Parameters", "-" * 10, *entries])

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if value is not each.default:  # which is read already
                kept = each.metadata["constraint"].check(each.name, value)
                object.__setattr__(self, each.name, kept)

    def __repr__(self) -> str:
        """The options that are not the default; long values are shortened."""
        shown = (f"{name}={reprlib.repr(value)}" for name, value in self.changed().items())
        return f"{type(self).__name__}({', '.join(shown)})"

    def changed(self) -> dict[str, Any]:
        """The options that are not the default."""
        values = {each.name: (getattr(self, each.name), each.default) for each in fields(self)}
        # Arrays and tables, whose comparison is one of their elements, are of no default's type.
        return {
            name: value
            for name, (value, default) in values.items()
            if type(value) is not type(default) or value != default
        }

    def words(self) -> list[str]:
        """The command line's words for the options that are not the default."""
        repeated = {each.name for each in fields(self) if each.metadata["constraint"].is_repeated}
        found = []
        for name, value in self.changed().items():
            word = name.replace("_", "-")
            if isinstance(value, bool):
                found.append(f"--{word}" if value else f"--no-{word}")
            else:
                for each in value if name in repeated else [value]:
                    found += [f"--{word}", spell(each)]
        return found


def _document(name: str, each: Field[Any]) -> str:
    """A parameter as numpydoc has it; options of the command line become arguments."""
    about = each.metadata
    words = re.sub(r"--([a-z-]+)", lambda match: match[1].replace("-", "_"), about["help"])
    default = "" if about["default"] is None else f", default {about['default']!r}"
    return f"{name} : {about['constraint'].expected}{default}\n    {words}"


def spell(value: Any) -> str:
    """A value as the command line takes it; of an absolute path only the name, without its folders."""
    if isinstance(value, tuple):
        is_range = len(value) > 2 and all(isinstance(each, int) for each in value)
        if is_range and value == (*range(value[0], value[-1] + 1),):
            return f"{value[0]}-{value[-1]}"
        return ",".join(map(spell, value))
    if isinstance(value, str | Path):
        return Path(value).name if Path(value).is_absolute() else str(value)
    return str(value) if isinstance(value, int | float) else type(value).__name__


# Constraints


def whole(low: int = 1, high: int = LARGEST_COUNT) -> Constraint:
    """A whole number in a range."""
    words = f"a whole number from {low:,} to {high:,}"
    return Constraint(words, _as_whole, lambda found: low <= found <= high, "N")


def number(*, above: bool = False) -> Constraint:
    """A finite number from 0 on, or above it."""
    if above:
        return Constraint("a number above 0", _as_number, lambda found: found > 0, "NUMBER")
    return Constraint("a number of 0 or more", _as_number, lambda found: found >= 0, "NUMBER")


def one_of(*names: str) -> Constraint:
    """One of some names."""
    words = f"one of {', '.join(names)}"
    return Constraint(words, _as_text, names.__contains__, f"[{'|'.join(names)}]")


def or_loo(one: Constraint, *, several: bool = False) -> Constraint:
    """A number, or the rule that chooses it; or several of these, which are a tuple."""

    def convert_one(value: Any) -> float | str:
        is_rule = isinstance(value, str) and value == LEAVE_ONE_OUT
        return LEAVE_ONE_OUT if is_rule else one.read(value)

    def convert(value: Any) -> Any:
        first, *others = found = _as_several(convert_one, value)
        return found if others else first

    words = f"{one.expected}, or {LEAVE_ONE_OUT}" + (", or several with commas" if several else "")
    metavar = f"NUMBER|{LEAVE_ONE_OUT}"
    return Constraint(words, convert, lambda found: several or not isinstance(found, tuple), metavar)


def _as_whole(value: Any) -> int:
    if isinstance(value, bool):
        raise TypeError
    return int(value) if isinstance(value, str) else operator.index(value)


def _as_number(value: Any) -> float:
    if isinstance(value, bool):
        raise TypeError
    if not abs(found := float(value)) <= LARGEST_NUMBER:
        raise _ReasonError(f"at most {LARGEST_NUMBER:g}")
    return found


def _as_flag(value: Any) -> bool:
    if type(value).__name__ not in ("bool", "bool_"):  # numpy's is the second
        raise TypeError
    return bool(value)


def _as_text(value: Any) -> str:
    """Text that is not empty, or a path."""
    if not isinstance(value, str | Path) or not str(value).strip() or "\0" in str(value):
        raise TypeError
    return str(value)


def _as_column(value: Any) -> str:
    return _as_text(value) if isinstance(value, str) else str(_as_whole(value))


def _as_columns(value: Any) -> tuple[str, ...]:
    """Several columns; one is a list of one. A name may have commas in it."""
    is_several = isinstance(value, Iterable) and not isinstance(value, str)
    return tuple(map(_as_column, value if is_several else [value]))


def _as_source(value: Any) -> Any:
    """A name, a path, a DataFrame or arrays (X, y)."""
    is_pair = isinstance(value, list | tuple) and len(value) == 2
    if is_pair and not any(isinstance(part, str | Path | int) for part in value):
        return tuple(value)
    return value if hasattr(value, "columns") else _as_text(value)


def _as_priors(value: Any) -> str | tuple[float, ...]:
    if isinstance(value, str) and value in ("uniform", "frequencies"):
        return value
    found = tuple(map(_as_number, _split(value)))
    if not found or not all(each > 0 for each in found):
        raise _ReasonError("each must be above zero")
    if not abs(sum(found) - 1) <= PRIORS_TOLERANCE:
        raise _ReasonError(f"their sum is {sum(found):g}, expected 1")
    return tuple(each / sum(found) for each in found)


def _as_several(convert: Callable[[Any], Any], value: Any) -> tuple[Any, ...]:
    """Values with commas or as a sequence; none is kept twice."""
    return tuple(dict.fromkeys(map(convert, _split(value))))


def _split(value: Any) -> list[Any]:
    """Several values: text with commas, a sequence, or one value."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",")]
    if not isinstance(value, Iterable):
        return [value]
    return [part for each in value for part in (_split(each) if isinstance(each, str) else [each])]


def read_ranges(value: Any) -> tuple[int, ...]:
    """Ascending numbers from 1 on: one, several, or text with ranges such as 1-10,12,15,20."""
    size, found = whole(1, LARGEST_SIZE), set[int]()
    for part in _split(value):
        first, dash, last = part.partition("-") if isinstance(part, str) else (part, "", "")
        low = size.read(first)
        found.update(range(low, whole(low, LARGEST_SIZE).read(last if dash else low) + 1))
    return tuple(sorted(found))


FLAG = Constraint("True or False", _as_flag, metavar="")
TEXT = Constraint("text that is not empty", _as_text)
NAMES = Constraint(
    "one or more names, with commas", partial(_as_several, _as_text), bool, "NAMES", is_repeated=True
)
NUMBERS = Constraint("whole numbers from 1 on, such as 1-10,12", read_ranges, bool, "NUMBERS")
COLUMN = Constraint("the name or number of a column", _as_column, metavar="COLUMN")
COLUMNS = Constraint("names or numbers of columns", _as_columns, metavar="COLUMN", is_repeated=True)
SOURCE = Constraint(
    "the name of a data set, a file, a DataFrame or (X, y)", _as_source, metavar="NAME|PATH"
)
PRIORS = Constraint(
    "uniform, frequencies, or a number for each class such as 0.2,0.3,0.5", _as_priors, metavar="PRIORS"
)
