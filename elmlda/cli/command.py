"""The command that was typed, for those who want to type it again."""

from __future__ import annotations

import shlex
from typing import Any

import click
from click.core import ParameterSource

from elmlda.ranges import format_ranges


def spell_command(ctx: click.Context) -> str:
    """The command as it was given, its options spelt in full."""
    words = ["elmlda", str(ctx.info_name)]
    for param in ctx.command.params:
        name = str(param.name)
        if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            words += [max(param.opts, key=len), _spell(ctx.params[name])]
    return shlex.join(words)


def _spell(value: Any) -> str:
    if not isinstance(value, tuple):
        return str(value)
    return format_ranges(value) if isinstance(value[0], int) else ",".join(value)
