"""Options of commands; those of experiments are made from the fields of their dataclasses."""

from __future__ import annotations

import inspect
from dataclasses import Field, fields
from pathlib import Path
from typing import Any

import click

from elmlda.cli.command import Decorator, flag, option, together
from elmlda.cli.config import read_config
from elmlda.cli.values import CONTESTANT_NAMES, COUNT, NAME_OR_PATH, NUMBERS, PATH, RANGES, RIDGE
from elmlda.experiments.options import OUTPUT, Share

KINDS = {
    "WholeNumbers": RANGES,
    "Numbers": NUMBERS,
    "Ridge": RIDGE,
    "ContestantNames": CONTESTANT_NAMES,
    "NameOrPath": NAME_OR_PATH,
    "NameOrPath | Iterable[NameOrPath]": NAME_OR_PATH,
    "Path": PATH,
    "float": float,
    "int": COUNT,
}
"""Kinds of values by a field's annotation; others are text."""


def field_options(kind: type[Any], *names: str) -> Decorator:
    """Options for the fields of a dataclass, or for some of them: its own first, then its bases'."""
    known = {field.name: field for field in fields(kind)}
    declared = (name for base in kind.__mro__ for name in inspect.get_annotations(base))
    ordered = dict.fromkeys(name for name in declared if name in (names or known))
    return together(*(_make_option(known[name]) for name in ordered))


def _make_option(field: Field[Any]) -> Decorator:
    about, kind = dict(field.metadata), str(field.type).removesuffix(" | None")
    help, word = about.pop("help"), field.name.replace("_", "-")
    if kind == "bool":
        flags = about.pop("flags", f"--{word}/--no-{word}")
        shown = "/" in flags and field.default is not None
        return flag(flags, help, default=field.default, show_default=shown, **about)
    limits, choices = about.pop("limits", None), about.pop("choices", None)
    value = click.IntRange(*limits) if limits else click.Choice(choices) if choices else KINDS.get(kind)
    default = _as_words(field.default, "multiple" in about)
    return option(about.pop("flags", f"--{word}"), help, value, default, **about)


def _as_words(default: Any, multiple: bool) -> Any:
    """A default as the help shows it."""
    if multiple:
        return [default] if isinstance(default, str) else default
    return ",".join(f"{value:g}" for value in default) if isinstance(default, tuple) else default


def find_option(field: Field[Any]) -> str:
    """What the command line calls a field's option."""
    flags = field.metadata["flags"].split() if "flags" in field.metadata else [field.name]
    return str(flags[-1].lstrip("-"))


config_option = option(
    "--config",
    "Defaults for these options, in a TOML file or one of elmlda's own: paper, quick, shaped, choices, "
    "compare. Flags override it.",
    PATH,
    metavar="NAME|FILE",
    is_eager=True,
    expose_value=False,
    callback=read_config,
    group=OUTPUT,
)
quiet_option = flag("--quiet", "Print nothing but errors.", group=OUTPUT)
last_options = together(
    config_option,
    flag("--dry-run", "Say what would be done and what it takes, and stop.", group=OUTPUT),
    quiet_option,
)


def out_option(help: str, default: Path | None = None, metavar: str = "DIR") -> Decorator:
    """Where the command writes."""
    return option("--out", help, PATH, default, metavar=metavar, group=OUTPUT)


def run_options(*share: str) -> Decorator:
    """How one run is conducted, and where; only these of `Share`'s options, if any are named."""
    out = out_option("The run's folder; a run that is there goes on.  [default: results/<data set>]")
    return together(field_options(Share, *share), out, last_options)


def study_options(folder: str, what: str) -> Decorator:
    """How several runs are conducted, and where: in `folder` by default, one for each `what`."""
    out = out_option(f"Folder with a run for each {what}; runs that are there go on.", Path(folder))
    return together(field_options(Share), out, last_options)
