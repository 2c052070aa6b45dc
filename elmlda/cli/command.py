"""The command that was typed, for those who want to type it again."""

from __future__ import annotations

import shlex
from typing import Any

import click
from click.core import ParameterSource

from elmlda.ranges import format_ranges

GIVEN = (ParameterSource.COMMANDLINE, ParameterSource.DEFAULT_MAP)


def spell_command(ctx: click.Context) -> str:
    """The command as it was given, its options spelt in full, those of a config file written out."""
    words = ["elmlda", str(ctx.info_name)]
    for param in ctx.command.params:
        value = ctx.params.get(str(param.name))
        if ctx.get_parameter_source(str(param.name)) in GIVEN and param.name not in ("config", "quiet"):
            words += _spell_option(param, value)
    return shlex.join(words)


def _spell_option(param: click.Parameter, value: Any) -> list[str]:
    name = max(param.opts, key=len)
    if isinstance(param, click.Option) and param.is_flag:
        return [name if value else max(param.secondary_opts, key=len)]
    if isinstance(param, click.Option) and param.multiple:
        return [word for one in value for word in (name, str(one))]
    return [name, _spell(value)]


def _spell(value: Any) -> str:
    if not isinstance(value, tuple):
        return str(value)
    return format_ranges(value) if isinstance(value[0], int) else ",".join(map(str, value))
