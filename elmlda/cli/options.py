"""Options of commands: names are listed here, defaults, constraints and help are the fields'."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import click
from click.core import ParameterSource

from elmlda.cli.config import read_config
from elmlda.experiments.pool import Machine
from elmlda.options import Constraint, Options, spell_ranges
from elmlda.text import without_folders

Function: TypeAlias = Callable[..., Any]
Decorator: TypeAlias = Callable[[Function], Function]
Built = TypeVar("Built", bound=Options)

DATA = "dataset label drop missing"
NETWORK = "activation bias weight_range priors precision input_weights weight_norm seed"
"""Options of networks that the command line and config files have; Python has all."""
GIVEN = ParameterSource.COMMANDLINE, ParameterSource.DEFAULT_MAP


class FieldOption(click.Option):
    """An option that is a field of a dataclass, whose constraint checks it."""

    constraint: Constraint
    group = "Options"


class Command(click.Command):
    """A command whose help has its options in groups."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        groups: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            if row := param.get_help_record(ctx):
                groups.setdefault(getattr(param, "group", "Options"), []).append(row)
        for heading, rows in groups.items():
            with formatter.section(heading):
                formatter.write_dl(rows, col_max=24)


def options_of(kind: type[Options], names: str, group: str = "Options") -> Decorator:
    """Options for these fields of a dataclass, in this order."""
    known = {each.name: each for each in fields(kind)}

    def decorate(command: Function) -> Function:
        for name in reversed(names.split()):
            command = _make_option(name, known[name].default, known[name].metadata, group)(command)
        return command

    return decorate


def _make_option(name: str, default: Any, about: Any, group: str) -> Decorator:
    constraint: Constraint = about["constraint"]
    word = name.replace("_", "-")
    more: dict[str, Any] = {}
    help, shown = about["help"], _spell(default)
    if constraint.is_flag:
        flags, more = [f"--{word}/--no-{word}", name], {"default": default}
    else:
        flags = [f"--{word}", name]
        more = {"metavar": constraint.metavar.upper(), "type": str, "multiple": constraint.is_repeated}
        if constraint.choices:
            more |= {"type": click.Choice(constraint.choices), "metavar": None}
        if shown and "[default" not in help:
            help += f"  [default: {shown}]"

    def decorate(command: Function) -> Function:
        made = click.option(*flags, help=help, cls=FieldOption, **more)(command)
        params = made.__click_params__  # type: ignore[attr-defined]
        params[-1].constraint, params[-1].group = constraint, group
        return made

    return decorate


def _spell(value: Any) -> str:
    """A value as the command line has it."""
    if isinstance(value, tuple):
        is_whole = bool(value) and all(isinstance(each, int) for each in value)
        return spell_ranges(value) if is_whole else ",".join(map(_spell, value))
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def build(kind: type[Built], given: dict[str, Any]) -> Built:
    """Make an experiment, or another dataclass of options, from what was given."""
    ctx, names = click.get_current_context(), {each.name for each in fields(kind)}
    chosen = {
        name: given[name]
        for name in names & given.keys()
        if ctx.get_parameter_source(name) in GIVEN and given[name] is not None
    }
    if {"fanout", "hidden"} <= chosen.keys():  # the command line's goes before the config file's
        sources = {name: ctx.get_parameter_source(name) for name in ("fanout", "hidden")}
        for name, source in sources.items():
            if source == ParameterSource.DEFAULT_MAP and set(sources.values()) == set(GIVEN):
                del chosen[name]
    return kind(**chosen)


config_option = click.option(
    "--config",
    metavar="NAME|FILE",
    is_eager=True,
    expose_value=False,
    callback=read_config,
    help="Defaults for all options, in a TOML file or one of elmlda's own. Flags override it.",
)
quiet_option = click.option("--quiet", is_flag=True, help="Print nothing but errors.")


def out_option(help: str, metavar: str = "DIR") -> Decorator:
    """Where the command writes."""
    return click.option("--out", type=click.Path(path_type=Path), metavar=metavar, help=help)


def run_options(help: str = "The run's folder; a run that is there goes on.") -> Decorator:
    """How a run is made, and where."""
    out = out_option(f"{help}  [default: results/...]")
    dry_run = click.option(
        "--dry-run", is_flag=True, help="Say what would be done and what it takes, and stop."
    )

    def decorate(command: Function) -> Function:
        for each in (quiet_option, dry_run, config_option, out):
            command = each(command)
        return options_of(Machine, "jobs threads cluster", "Machine")(command)

    return decorate


def spell_command() -> str:
    """The command as it was given, with options that are not the default, also from a config file.

    Absolute paths are cut to their name, since their folders exist on this machine alone.
    """
    ctx = click.get_current_context()
    words = ["elmlda", str(ctx.info_name)]
    for param in ctx.command.params:
        name, value = str(param.name), ctx.params.get(str(param.name))
        is_given = ctx.get_parameter_source(name) in GIVEN and name not in ("config", "quiet")
        if is_given and value not in (None, (), False):
            for each in value if isinstance(value, tuple) else [value]:
                words.append(max(param.opts, key=len))
                words += [] if each is True else [without_folders(str(each))]
    return shlex.join(words)
