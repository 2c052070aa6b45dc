"""Options: declarations, constraints of values, and the groups that experiments share.

A field of a class that derives from `Options` is an argument in Python, an option of the command line
and a key of config files. Manifests, comparisons of runs, reports, the command line and the estimators
read its declaration. The module imports little, so that the command line shows its help at once.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import Field, dataclass, field, fields, replace
from functools import partial, wraps
from inspect import cleandoc, signature
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias, TypeVar, cast, dataclass_transform

from elmlda.errors import (
    ElmldaValueError,
    UnknownNameError,
    format_shape,
    printable,
    suggest_name,
)
from elmlda.machine import count_blas_threads, count_cores

if TYPE_CHECKING:
    from elmlda.datasets.catalogue import Source

LEAVE_ONE_OUT = "loo"
"""Value of an option that leave-one-out cross-validation chooses."""
LARGEST_COUNT, LARGEST_SIZE = 10_000_000, 1_000_000
"""Largest count, and largest number of hidden units: their Gram matrix takes 8 TB."""
MOST_PROCESSES = 1024
PRIORS_TOLERANCE = 1e-6
"""Allowed deviation of the priors' sum from one, because priors are written with few digits."""

Function = TypeVar("Function", bound=Callable[..., Any])
Numbers: TypeAlias = int | str | Iterable[int]
Choice: TypeAlias = float | str
"""A number, or "loo"."""
Choices: TypeAlias = Choice | Iterable[Choice]
Priors: TypeAlias = str | Iterable[float]
Names: TypeAlias = str | Path | Iterable[str | Path]


class OptionError(ElmldaValueError):
    """The value of an option is not allowed."""


@dataclass(frozen=True)
class Constraint:
    """The values that an option takes."""

    expected: str
    """Description for messages, such as: a whole number from 1 to 10,000."""
    convert: Callable[[Any], Any]
    """Converts a value to the form that the option keeps; raises ValueError or TypeError."""
    allows: Callable[[Any], object] = lambda _: True
    """Whether a converted value is allowed."""
    metavar: str = "TEXT"
    """Name of the value in the command line's help; empty for a flag, which has no value."""
    is_repeated: bool = False
    """Whether the option may be given several times on the command line."""

    def read(self, value: Any) -> Any:
        """Convert a value; raise ValueError, TypeError or OverflowError if it is not allowed."""
        converted = self.convert(value)
        if not self.allows(converted):
            raise ValueError
        return converted

    def check(self, name: str, value: Any) -> Any:
        """Convert a value, or raise an error that names the option."""
        try:
            return self.read(value)
        except (ValueError, TypeError, OverflowError):
            fact = f"is {printable(repr(value), 80)}: expected {self.expected}."
            advice = f"{{{name}}} {fact.replace('{', '{{').replace('}', '}}')}"
            raise OptionError("", advice, **{name: None}) from None


@dataclass(frozen=True)
class Declaration:
    """The declaration of an option."""

    default: Any
    """As written on the command line; None if the option may be without a value."""
    constraint: Constraint
    help: str
    scope: str
    """What depends on it. data: the data; network: all rows of a folder; experiment: all rows of the
    experiment; extent: how many rows there are, which may grow; machine: nothing but rounding."""
    changes_draw: bool = False
    """Whether runs that differ in the option have different input weights."""
    stated_by_paper: bool | None = True
    """False if the paper leaves the value open; None if it does not change expected results."""
    is_rare: bool = False
    """Whether the help explains the option only on request."""
    excludes: str = ""
    """Another option that cannot be combined with this one."""


def option(*declared: Any, **flags: Any) -> Any:
    """Declare a field of a dataclass as an option; the arguments are those of `Declaration`."""
    return _as_field(Declaration(*declared, **flags))


def with_default(kind: type[Options], name: str, default: Any, **changes: Any) -> Any:
    """Declare an option of another dataclass again, with another default."""
    return _as_field(replace(declarations(kind)[name], default=default, **changes))


def _as_field(declared: Declaration) -> Any:
    kept = None if declared.default is None else declared.constraint.read(declared.default)
    return field(default=kept, metadata={"declared": declared})


def declarations(kind: type[Options]) -> dict[str, Declaration]:
    """Return the declarations of a dataclass's options, by name."""
    return {entry.name: entry.metadata["declared"] for entry in fields(kind)}


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Options:
    """A frozen dataclass whose fields are options, which are checked when an object is made."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    summary: ClassVar[str]
    """The docstring without the list of options."""

    def __init_subclass__(cls) -> None:
        """Make the class a dataclass, and list the options in its docstring."""
        dataclass(frozen=True, kw_only=True, repr=False)(cls)
        entries = [_document(name, declared) for name, declared in declarations(cls).items()]
        cls.summary = cleandoc(cls.__doc__ or "")
        cls.__doc__ = "\n".join([cls.summary, "", "Parameters", "-" * 10, *entries])

    def __new__(cls, *_: Any, **values: Any) -> Self:
        """Refuse unknown arguments with the nearest known name."""
        _refuse_unknown(values, declarations(cls), cls.__name__)
        return super().__new__(cls)

    def __post_init__(self) -> None:
        declared = declarations(type(self))
        for name in declared:
            value = getattr(self, name)
            if value is not getattr(type(self), name):  # the default has been read already
                object.__setattr__(self, name, declared[name].constraint.check(name, value))
        changed = self.changed()
        for name in changed:
            if (other := declared[name].excludes) in changed:
                advice = f"{{{other}}} and {{{name}}} exclude each other: give one."
                raise OptionError("", advice, **{other: None, name: None})

    def __repr__(self) -> str:
        shown = (f"{name}={text!r}" for name, text in self._shown().items())
        return f"{type(self).__name__}({', '.join(shown)})"

    def _repr_html_(self) -> str:
        import pandas as pd

        return pd.Series(self._shown(), dtype=object).to_frame(type(self).__name__).to_html()

    def _shown(self) -> dict[str, str]:
        return {name: printable(spell(value), 40) for name, value in self.changed().items()}

    def changed(self, scope: str | None = None) -> dict[str, Any]:
        """Return the options that differ from their defaults, of one scope or of all."""
        return {
            entry.name: value
            for entry in fields(self)
            for value in [getattr(self, entry.name)]
            if scope in (None, entry.metadata["declared"].scope)
            # Types first: values may be arrays or tables, which compare elementwise.
            and (type(value) is not type(entry.default) or value != entry.default)
        }

    def words(self) -> list[str]:
        """Return the command line's words for the options that differ from their defaults."""
        declared, words = declarations(type(self)), list[str]()
        for name, value in self.changed().items():
            option_name = name.replace("_", "-")
            if isinstance(value, bool):
                words.append(f"--{option_name}" if value else f"--no-{option_name}")
            else:
                for part in value if declared[name].constraint.is_repeated else [value]:
                    words += [f"--{option_name}", spell(part)]
        return words


def _document(name: str, declared: Declaration) -> str:
    """Format a parameter as numpydoc does; options of the command line become arguments."""
    text = re.sub(r"--([a-z-]+)", lambda match: match[1].replace("-", "_"), declared.help)
    default = "" if declared.default is None else f", default {declared.default!r}"
    return f"{name} : {declared.constraint.expected}{default}\n    {text}"


def spell(value: Any) -> str:
    """Format a value as the command line takes it; an absolute path without its folders.

    Tables and arrays, which only Python takes, are described by their shape.
    """
    if isinstance(value, tuple):
        is_range = len(value) > 2 and all(isinstance(part, int) for part in value)
        if is_range and value == (*range(value[0], value[-1] + 1),):
            return f"{value[0]}-{value[-1]}"
        return ",".join(map(spell, value))
    if hasattr(value, "shape"):
        return f"{type(value).__name__} {format_shape(value.shape)}"
    if isinstance(value, str | Path) and Path(value).is_absolute():
        return Path(value).name
    return str(value)


def checks_names(function: Function) -> Function:
    """Make a function refuse unknown arguments with the nearest known name."""
    parameters = {*signature(function).parameters}

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        _refuse_unknown(kwargs, parameters, f"{function.__name__}()")
        return function(*args, **kwargs)

    return cast(Function, call)


def _refuse_unknown(arguments: Iterable[str], names: Collection[str], function: str) -> None:
    for name in arguments:
        if name not in names:
            raise UnknownNameError(f"{function} has no argument {name!r}. {suggest_name(name, names)}")


# Constraints


def whole(low: int = 1, high: int = LARGEST_COUNT) -> Constraint:
    """Return the constraint of a whole number in a range."""
    expected = f"a whole number from {low:,} to {high:,}"
    return Constraint(expected, _as_whole, lambda number: low <= number <= high, "N")


def number(*, above: bool = False) -> Constraint:
    """Return the constraint of a finite number from 0 on, or above 0."""
    if above:
        return Constraint("a number above 0", _as_number, lambda number: number > 0, "NUMBER")
    return Constraint("a number of 0 or more", _as_number, lambda number: number >= 0, "NUMBER")


def one_of(*names: str) -> Constraint:
    """Return the constraint of one of some names."""
    return Constraint(
        f"one of {', '.join(names)}", _as_text, names.__contains__, f"[{'|'.join(names)}]"
    )


def or_loo(single: Constraint, *, several: bool = False) -> Constraint:
    """Return the constraint of a number or "loo"; with `several`, of one or more, as a tuple."""

    def convert_one(value: Any) -> Choice:
        is_rule = isinstance(value, str) and value == LEAVE_ONE_OUT
        return LEAVE_ONE_OUT if is_rule else single.read(value)

    def convert(value: Any) -> Any:
        first, *others = values = _as_several(convert_one, value)
        if len({part if isinstance(part, str) else f"{part:.6g}" for part in values}) < len(values):
            raise ValueError
        return values if others else first

    expected = f"{single.expected}, or {LEAVE_ONE_OUT}"
    expected += ", or several with commas that differ in six digits" if several else ""
    metavar = f"NUMBER|{LEAVE_ONE_OUT}"
    return Constraint(expected, convert, lambda value: several or type(value) is not tuple, metavar)


def _as_whole(value: Any) -> int:
    if isinstance(value, bool):
        raise TypeError
    return int(value) if isinstance(value, str) else operator.index(value)


def _as_number(value: Any) -> float:
    if isinstance(value, bool):
        raise TypeError
    if not isfinite(converted := float(value)):
        raise ValueError
    return converted


def _as_flag(value: Any) -> bool:
    if type(value).__name__ not in ("bool", "bool_"):  # the second is numpy's
        raise TypeError
    return bool(value)


def _as_text(value: Any) -> str:
    """Convert a path or a text that is not empty."""
    if not isinstance(value, str | Path) or not str(value).strip() or "\0" in str(value):
        raise TypeError
    return str(value)


def _as_column(value: Any) -> str:
    return _as_text(value) if isinstance(value, str) else str(_as_whole(value))


def _as_columns(value: Any) -> tuple[str, ...]:
    """Convert one column or several; a name may contain commas."""
    is_several = isinstance(value, Iterable) and not isinstance(value, str)
    return tuple(map(_as_column, value if is_several else [value]))


def _as_source(value: Any) -> Any:
    """Convert a name, a path, a DataFrame or a pair of arrays (X, y)."""
    is_pair = isinstance(value, list | tuple) and len(value) == 2
    if is_pair and not any(isinstance(part, str | Path | int) for part in value):
        return tuple(value)
    return value if hasattr(value, "columns") else _as_text(value)


def _as_priors(value: Any) -> str | tuple[float, ...]:
    if isinstance(value, str) and value in ("uniform", "frequencies"):
        return value
    priors = tuple(map(_as_number, _split(value)))
    if not all(prior > 0 for prior in priors) or not abs(sum(priors) - 1) <= PRIORS_TOLERANCE:
        raise ValueError
    return tuple(prior / sum(priors) for prior in priors)


def _as_several(convert: Callable[[Any], Any], value: Any) -> tuple[Any, ...]:
    """Convert one value or several; a repeated value is kept once."""
    return tuple(dict.fromkeys(map(convert, _split(value))))


def _split(value: Any) -> list[Any]:
    """Split text at commas; list the parts of a sequence."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",")]
    if not isinstance(value, Iterable):
        return [value]
    nested = (_split(part) if isinstance(part, str) else [part] for part in value)
    return [part for parts in nested for part in parts]


SIZE = whole(1, LARGEST_SIZE)


def read_ranges(value: Any) -> tuple[int, ...]:
    """Read numbers from 1 on, in ascending order: one, several, or text such as 1-10,12,15,20."""
    numbers = set[int]()
    for part in _split(value):
        first, dash, last = part.partition("-") if isinstance(part, str) else (part, "", "")
        low = SIZE.read(first)
        high = SIZE.read(last) if dash else low
        if high < low:
            raise ValueError
        numbers.update(range(low, high + 1))
    return tuple(sorted(numbers))


FLAG = Constraint("True or False", _as_flag, metavar="")
TEXT = Constraint("text that is not empty", _as_text)
NAMES = Constraint(
    "one or more names, with commas", partial(_as_several, _as_text), bool, "NAMES", is_repeated=True
)
NUMBERS = Constraint("whole numbers from 1 on, such as 1-10,12", read_ranges, bool, "NUMBERS")
CLUSTER = Constraint(
    "an address such as tcp://HOST:8786, or the file of a Dask scheduler",
    _as_text,
    lambda address: "://" in address or Path(address).exists(),
)
COLUMN = Constraint("the name or number of a column", _as_column, metavar="COLUMN")
COLUMNS = Constraint("names or numbers of columns", _as_columns, metavar="COLUMN", is_repeated=True)
SOURCE = Constraint(
    "the name of a data set, a file, a DataFrame or (X, y)", _as_source, metavar="NAME|PATH"
)
PRIORS = Constraint(
    "uniform, frequencies, or numbers above 0 with the sum 1 for the classes, such as 0.2,0.3,0.5",
    _as_priors,
    metavar="PRIORS",
)


# Groups of options, which experiments and estimators inherit

_network_option = partial(option, scope="network", is_rare=True)


class NetworkOptions(Options):
    """Everything that defines a network except seed, data, size and ridge."""

    activation: str = _network_option(
        "tanh",
        one_of("tanh", "logistic", "relu", "softsign", "sine"),
        "Activation function, Eq. (2).",
        stated_by_paper=False,
    )
    bias: bool = _network_option(
        False, FLAG, "Give each hidden unit a random bias.", changes_draw=True, stated_by_paper=False
    )
    weight_range: float = _network_option(
        0.5,
        number(above=True),
        "Uniform input weights are between minus and plus this number.",
        changes_draw=True,
    )
    input_scale: float | None = _network_option(
        None,
        number(above=True),
        "Multiply inputs by this number.  [default: 1/255 for bytes, else 1]",
        stated_by_paper=False,
    )
    priors: Priors = _network_option(
        "uniform", PRIORS, "Class priors π, Eq. (15): uniform, frequencies, or a number for each class."
    )
    precision: str = _network_option(
        "mixed",
        one_of("mixed", "double"),
        "mixed: float32 up to the Gram matrix, float64 from there. double: float64 throughout.",
        stated_by_paper=None,
    )
    input_weights: str = _network_option(
        "uniform",
        one_of("uniform", "constrained", "receptive-field", "receptive-field-constrained"),
        "uniform: as in the paper. constrained: differences of two training samples of different "
        "classes. receptive-field: in a random rectangle of the image.",
        changes_draw=True,
    )
    weight_norm: float = _network_option(
        2.0, number(above=True), "Norm of a unit's weights, if not uniform.", changes_draw=True
    )
    min_field: int = _network_option(
        10, whole(), "Pixels of the smallest receptive field.", changes_draw=True
    )

    @property
    def is_constrained(self) -> bool:
        """Whether input weights are differences of training samples."""
        return self.input_weights.endswith("constrained")

    @property
    def has_fields(self) -> bool:
        """Whether each hidden unit sees only a rectangle of the image."""
        return self.input_weights.startswith("receptive-field")


class OutputOptions(Options):
    """How output weights are computed, and the temperature of LDA's posteriors."""

    ridge: Choice = option(
        0.0, or_loo(number()), "Added to the Gram matrix's diagonal.", "network", stated_by_paper=None
    )
    temperature: Choice = option(
        1.0,
        or_loo(number(above=True)),
        "Also measure posteriors of LDA's scores times this number; loo chooses it.",
        "experiment",
        is_rare=True,
    )
    output: str = option("lda", one_of("lda", "pi"), "Method that the ridge is chosen for.", "network")


class DataOptions(Options):
    """The data, and the seed of all random numbers."""

    dataset: Source = option(
        "mnist",
        SOURCE,
        "Name (see elmlda data list), or your own .csv, .npz or folder of IDX files.",
        "data",
    )
    label: str | int | None = option(
        None, COLUMN, "The column with the class, by name or number.", "data"
    )
    drop: Names | int = option((), COLUMNS, "Column to leave out; may be given several times.", "data")
    missing: str | None = option(
        None, one_of("drop", "mean"), "Drop samples with missing values, or fill in means.", "data"
    )
    header: bool | None = option(
        None, FLAG, "Whether a CSV file's first line names the columns.", "data"
    )
    seed: int = option(
        0, whole(0, 2**63), "Root seed of the run.", "network", changes_draw=True, stated_by_paper=None
    )

    @property
    def reading(self) -> dict[str, Any]:
        """Options that say how the data set is read: arguments of `load_dataset`."""
        declared = declarations(type(self))
        names = [name for name in declared if declared[name].scope == "data" and name != "dataset"]
        return {name: getattr(self, name) for name in names}


class SizeOptions(Options):
    """Hidden sizes."""

    fanout: Numbers = option("1-20", NUMBERS, "Hidden units per input.", "extent")
    hidden: Numbers | None = option(
        None,
        NUMBERS,
        "Hidden units instead of --fanout: 100,500,1000.",
        "extent",
        excludes="fanout",
    )


class MachineOptions(Options):
    """What a run may use of this machine or of a cluster."""

    jobs: int = option(1, whole(1, MOST_PROCESSES), "Number of networks to train at a time.", "machine")
    threads: int | None = option(
        None,
        whole(1, MOST_PROCESSES),
        "BLAS threads of each network.  [default: cores / --jobs]",
        "machine",
    )
    cluster: str | None = option(
        None,
        CLUSTER,
        "Address or file of a Dask scheduler to train on.",
        "machine",
        is_rare=True,
        excludes="jobs",
    )

    @property
    def threads_each(self) -> int:
        """Number of BLAS threads of each network, by default at most what the environment allows."""
        return self.threads or max(1, min(count_cores() // self.jobs, count_blas_threads()))
