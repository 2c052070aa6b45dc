"""Commands whose help has its options in groups, and the command that was typed."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Any, TypeAlias

import click
from click.core import ParameterSource

from elmlda.experiments.options import MACHINE, NETWORK, OUTPUT, WHAT
from elmlda.ranges import format_ranges
from elmlda.text import printable, shorten_paths

GIVEN = ParameterSource.COMMANDLINE, ParameterSource.DEFAULT_MAP
Function: TypeAlias = Callable[..., Any]
Decorator: TypeAlias = Callable[[Function], Function]


class GroupedOption(click.Option):
    """An option under one of the help's headings."""

    def __init__(self, *args: Any, group: str = WHAT, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.group = group

    def get_help_extra(self, ctx: click.Context) -> Any:
        extra = super().get_help_extra(ctx)
        extra.pop("range", None)  # the error says it; here it hides the default
        return extra


class Command(click.Command):
    """A command whose help lists its options under headings; --hidden replaces its --fanout."""

    def invoke(self, ctx: click.Context) -> Any:
        if ctx.params.get("hidden") is not None and "fanout" in ctx.params:
            _choose_size(ctx)
        return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        groups: dict[str, list[tuple[str, str]]] = {WHAT: [], NETWORK: [], MACHINE: [], OUTPUT: []}
        for param in self.get_params(ctx):
            if row := param.get_help_record(ctx):
                groups[getattr(param, "group", OUTPUT)].append(row)
        for heading, rows in groups.items():
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows)


def _choose_size(ctx: click.Context) -> None:
    """Keep --fanout or --hidden: flags override the config file, and both at once are refused."""
    sources = [ctx.get_parameter_source(name) for name in ("fanout", "hidden")]
    if sources[0] == sources[1]:
        raise click.UsageError("--fanout and --hidden exclude each other: give one of them.", ctx)
    unused = "hidden" if sources == [*GIVEN] else "fanout"
    (param,) = (param for param in ctx.command.params if param.name == unused)
    ctx.params[unused] = _find_default(param, ctx)


class Group(click.Group):
    """A group whose help has each command's whole first sentence."""

    def format_commands(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [(name, each.get_short_help_str(limit=200)) for name, each in self.commands.items()]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def option(flags: str, help: str, kind: Any = None, default: Any = None, **more: Any) -> Decorator:
    """Declare an option; its default is shown. `group` is the help's heading it is under."""
    if isinstance(kind, click.IntRange):
        more = {"metavar": "N", **more}
    more |= {"type": kind, "default": default, "show_default": default is not None}
    return click.option(*flags.split(), help=help, cls=GroupedOption, **more)


def flag(flags: str, help: str, **more: Any) -> Decorator:
    """Declare an option without a value."""
    return click.option(*flags.split(), help=help, cls=GroupedOption, is_flag=True, **more)


def together(*options: Decorator) -> Decorator:
    """One decorator of several, in the order in which the help has them."""

    def decorate(command: Function) -> Function:
        for each in reversed(options):
            command = each(command)
        return command

    return decorate


def spell_command(ctx: click.Context) -> str:
    """The command as it was given, with options that are not the default, also from a config file.

    Absolute paths are cut to their name, since their folders exist on this machine alone.
    """
    words = ["elmlda", str(ctx.info_name)]
    for param in ctx.command.params:
        name = str(param.name)
        value = ctx.params.get(name)
        is_given = ctx.get_parameter_source(name) in GIVEN and name not in ("config", "quiet")
        if is_given and value != _find_default(param, ctx):
            words += _spell(param, value)
    return printable(shlex.join(words))


def _find_default(param: click.Parameter, ctx: click.Context) -> Any:
    """What an option is if neither the command line nor a config file says otherwise."""
    if getattr(param, "is_flag", False):
        return param.default is True
    return param.type_cast_value(ctx, param.default)


def _spell(param: click.Parameter, value: Any) -> list[str]:
    name = max(param.opts, key=len)
    if getattr(param, "is_flag", False):
        return [name if value else max(param.secondary_opts, key=len)]
    if param.multiple:
        return [word for one in value for word in (name, shorten_paths(one))]
    if isinstance(value, tuple):
        is_whole = isinstance(value[0], int)
        return [name, format_ranges(value) if is_whole else ",".join(map(str, value))]
    return [name, shorten_paths(value)]
