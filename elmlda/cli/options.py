"""Options of commands, made from the declarations of dataclasses, and config files.

A config file's values replace the defaults, and the command line's values replace both.
"""

from __future__ import annotations

import textwrap
import tomllib
from collections.abc import Collection
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from elmlda.datasets import expand_path
from elmlda.errors import ElmldaError, suggest_name
from elmlda.options import FLAG, TEXT, Declaration, MachineOptions, OptionError, Options, declarations

Built = TypeVar("Built", bound=Options)

PACKAGE = Path(__file__).parents[1]
FOLDER = PACKAGE / "configs" if (PACKAGE / "configs").is_dir() else PACKAGE.parent / "configs"
"""Folder of elmlda's own config files: in an installed package, or in a clone."""
NOT_IN_FILES = {"config", "help_all", "dry_run"}
SECTIONS = {
    "extent": "Options",
    "experiment": "Options",
    "network": "Options",
    "data": "Data",
    "machine": "Run",
}
"""Scope of an option -> heading in the help, in their order."""
ALL = "elmlda.all"
"""Key of click's notes on a context: whether the help explains rarely needed options."""


class DeclaredOption(click.Option):
    """An option of the command line that is declared as a field of a dataclass."""

    def __init__(self, name: str, declared: Declaration) -> None:
        self.declared = declared
        constraint, default, help = declared.constraint, declared.default, declared.help
        word = name.replace("_", "-")
        if not constraint.metavar:
            super().__init__([f"--{word}/--no-{word}", name], default=default, help=help)
            return
        text = ",".join(map(str, default)) if isinstance(default, tuple) else default
        if text not in (None, ""):
            help += f"  [default: {text:g}]" if isinstance(text, float) else f"  [default: {text}]"
        super().__init__(
            [f"--{word}", name],
            help=help,
            metavar=constraint.metavar,
            multiple=constraint.is_repeated,
            type=click.UNPROCESSED,  # a config file's list stays a list
        )


class Command(click.Command):
    """A command whose help explains rarely needed options only on request."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options under headings."""
        sections: dict[str, list[tuple[str, str]]] = {title: [] for title in SECTIONS.values()}
        rare = []
        for param in self.get_params(ctx):
            declared = getattr(param, "declared", None)
            if declared and declared.is_rare and not ctx.meta.get(ALL):
                rare.append(param.opts[0])
            elif isinstance(param, click.Option) and (record := param.get_help_record(ctx)):
                sections[SECTIONS[declared.scope if declared else "machine"]].append(record)
        filled = {title: records for title, records in sections.items() if records}
        for title, records in filled.items():
            with formatter.section(title if len(filled) > 1 else "Options"):
                formatter.write_dl(records, col_max=24)
        if rare:
            with formatter.section("Rarely needed (--help-all explains them)"):
                lines = textwrap.wrap(", ".join(rare), formatter.width - 2, break_on_hyphens=False)
                formatter.write("".join(f"  {line}\n" for line in lines))


def make_params(kind: type[Options], names: Collection[str] | None = None) -> list[click.Parameter]:
    """Return the parameters of a dataclass, or some of them, in the order of their scopes."""
    declared, order = declarations(kind), [*SECTIONS]
    chosen = [name for name in declared if names is None or name in names]
    chosen.sort(key=lambda name: (declared[name].is_rare, order.index(declared[name].scope)))
    return [DeclaredOption(name, declared[name]) for name in chosen]


def build(kind: type[Built], values: dict[str, Any]) -> Built:
    """Make a dataclass of options from the values of the command line and the config file."""
    ctx, declared = click.get_current_context(), declarations(kind)
    sources = {name: ctx.get_parameter_source(name) for name in declared.keys() & values}
    in_file = {name for name in sources if sources[name] == ParameterSource.DEFAULT_MAP}
    in_command = {name for name in sources if sources[name] == ParameterSource.COMMANDLINE}
    for name, other in [(name, declared[name].excludes) for name in declared]:
        # The command line replaces the config file's alternative.
        in_file -= {name} if other in in_command else {other} if name in in_command else set()
    return kind(**{name: values[name] for name in in_file | in_command})


def read_config(ctx: click.Context, _param: click.Parameter, source: str | None) -> None:
    """Make values of a TOML file the defaults: those at its top, and those in the command's section."""
    if source is None:
        return
    group = ctx.find_root().command
    assert isinstance(group, click.Group)
    commands = {
        name: {str(param.name): param for param in command.params if param.name not in NOT_IN_FILES}
        for name, command in group.commands.items()
        if any(param.name == "config" for param in command.params)
    }
    path, top = _load(source)
    sections = {key: top.pop(key) for key, value in list(top.items()) if isinstance(value, dict)}
    _refuse_unknown(path, "", sections, commands)
    _refuse_unknown(path, "", top, {name for options in commands.values() for name in options})
    for name, section in sections.items():
        _refuse_unknown(path, f" in [{name}]", section, commands[name])
    command = str(ctx.info_name)
    params, values = commands[command], top | sections.get(command, {})
    ctx.default_map = {
        key: _read(path, params[key], value) for key, value in values.items() if key in params
    }


def _load(source: str) -> tuple[Path, dict[str, Any]]:
    """Return the path and the content of a config file."""
    own = {path.stem: path for path in sorted(FOLDER.glob("*.toml"))}
    path = own.get(source, expand_path(source))
    try:
        return path, tomllib.loads(path.read_text("utf-8-sig"))
    except OSError as error:
        fact = f"{path}: cannot be read: {error.strerror or error}."
        raise ElmldaError(f"{fact} elmlda's own files are {', '.join(own)}.") from error
    except ValueError as error:
        raise ElmldaError(f"{path}: not a TOML file: {error}.") from error


def _read(path: Path, param: Any, value: Any) -> Any:
    """Check a value, or raise an error that names the file."""
    declared = getattr(param, "declared", None)
    constraint = declared.constraint if declared else FLAG if param.is_flag else TEXT
    try:
        return constraint.check(param.name, value)
    except OptionError as error:
        raise ElmldaError(f"{path}: {error}") from error


def _refuse_unknown(path: Path, section: str, keys: Collection[str], names: Collection[str]) -> None:
    for key in sorted(set(keys) - set(names)):
        raise ElmldaError(f"{path}: unknown key '{key}'{section}. {suggest_name(key, names)}")


# Options of all commands that make runs


def _show_all(ctx: click.Context, _param: click.Parameter, is_asked_for: bool) -> None:
    if is_asked_for:
        ctx.meta[ALL] = True
        click.echo(ctx.get_help())
        ctx.exit()


EAGER: dict[str, Any] = {"is_eager": True, "expose_value": False}
QUIET = click.Option(["--quiet"], is_flag=True, help="Print nothing but errors.")
RUN_OPTIONS: list[click.Parameter] = [
    click.Option(
        ["--out"],
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="Folder of the run or runs; an existing run is continued.",
    ),
    click.Option(
        ["--config"],
        metavar="NAME|FILE",
        callback=read_config,
        help="TOML file with values of options, or elmlda's own.",
        **EAGER,
    ),
    click.Option(
        ["--dry-run"], is_flag=True, help="Show what would be computed, and its time and memory."
    ),
    QUIET,
    *make_params(MachineOptions),
    click.Option(
        ["--help-all"],
        is_flag=True,
        callback=_show_all,
        help="Explain the rarely needed options too.",
        **EAGER,
    ),
]
"""How and where a run is made."""
