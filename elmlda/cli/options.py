"""Options of commands, made from the declarations of dataclasses, and config files.

A config file's values replace the defaults, and the command line's values replace both.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import click
from click.core import ParameterSource

from elmlda.errors import ElmldaError, suggest_name
from elmlda.options import FLAG, TEXT, Declaration, OptionError, Options, declarations
from elmlda.settings import MachineOptions

Function: TypeAlias = Callable[..., Any]
Decorator: TypeAlias = Callable[[Function], Function]
Built = TypeVar("Built", bound=Options)

GIVEN = ParameterSource.COMMANDLINE, ParameterSource.DEFAULT_MAP
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

    def __init__(self, *names: Any, declared: Declaration, **settings: Any) -> None:
        super().__init__(*names, **settings)
        self.declared = declared


class Command(click.Command):
    """A command whose help lists rarely needed options by name, unless all options are asked for."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options under headings."""
        sections: dict[str, list[tuple[str, str]]] = {title: [] for title in SECTIONS.values()}
        rare = []
        for param in self.get_params(ctx):
            declared = getattr(param, "declared", None)
            if declared and declared.is_rare and not ctx.meta.get(ALL):
                rare.append(param.opts[0])
            elif isinstance(param, click.Option) and (record := param.get_help_record(ctx)):
                title = SECTIONS[declared.scope] if declared else SECTIONS["machine"]
                sections[title].append(record)
        filled = {title: records for title, records in sections.items() if records}
        for title, records in filled.items():
            with formatter.section(title if len(filled) > 1 else "Options"):
                formatter.write_dl(records, col_max=24)
        if rare:
            with formatter.section("Rarely needed (--help-all explains them)"):
                lines = textwrap.wrap(", ".join(rare), formatter.width - 2, break_on_hyphens=False)
                formatter.write("".join(f"  {line}\n" for line in lines))


def options_of(kind: type[Options], names: Collection[str] | None = None) -> Decorator:
    """Add the options of a dataclass, or some of them, in the order of their scopes."""
    declared = declarations(kind)
    chosen = [name for name in declared if names is None or name in names]
    order = [*SECTIONS]
    chosen.sort(key=lambda name: (declared[name].is_rare, order.index(declared[name].scope)))

    def decorate(command: Function) -> Function:
        for name in reversed(chosen):
            command = _make_option(name, declared[name])(command)
        if names is None and any(declared[name].is_rare for name in chosen):
            return _help_all_option(command)
        return command

    return decorate


def _make_option(name: str, declared: Declaration) -> Decorator:
    constraint, default = declared.constraint, declared.default
    settings: dict[str, Any] = {"cls": DeclaredOption, "declared": declared}
    word, help = name.replace("_", "-"), declared.help
    if not constraint.metavar:
        return click.option(f"--{word}/--no-{word}", name, default=default, help=help, **settings)
    shown = ",".join(map(str, default)) if isinstance(default, tuple) else default
    if shown not in (None, ""):
        help += f"  [default: {shown:g}]" if isinstance(shown, float) else f"  [default: {shown}]"
    settings |= {"metavar": constraint.metavar, "multiple": constraint.is_repeated}
    settings["type"] = click.UNPROCESSED  # a config file's list stays a list
    return click.option(f"--{word}", name, help=help, **settings)


def _show_all(ctx: click.Context, _param: click.Parameter, is_given: bool) -> None:
    if is_given:
        ctx.meta[ALL] = True
        click.echo(ctx.get_help())
        ctx.exit()


_help_all_option = click.option(
    "--help-all",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_all,
    help="Explain the rarely needed options too.",
)


def build(kind: type[Built], given: dict[str, Any]) -> Built:
    """Make a dataclass of options from the values that were given."""
    ctx = click.get_current_context()
    declared = declarations(kind)
    sources = {name: ctx.get_parameter_source(name) for name in declared}
    chosen = {name: given[name] for name in sources.keys() & given if sources[name] in GIVEN}
    for name, other in ((name, declared[name].excludes) for name in declared):
        if {name, other} <= chosen.keys() and sources[name] != sources[other]:
            # The command line replaces the config file's alternative.
            del chosen[name if sources[name] == ParameterSource.DEFAULT_MAP else other]
    return kind(**chosen)


# Config files


def read_config(ctx: click.Context, _param: click.Parameter, given: str | None) -> None:
    """Make the values of a TOML file the command's defaults.

    Keys at the top of the file count for every command that has the option; keys in a command's own
    section, such as [sweep], for that command.
    """
    if given is None:
        return
    group = ctx.find_root().command
    assert isinstance(group, click.Group)
    commands = {
        name: {str(param.name): param for param in command.params if param.name not in NOT_IN_FILES}
        for name, command in group.commands.items()
        if any(param.name == "config" for param in command.params)
    }
    path = _find(given)
    top = _load(path)
    sections = {key: top.pop(key) for key, value in list(top.items()) if isinstance(value, dict)}
    _refuse_unknown(path, "", sections, commands)
    _refuse_unknown(path, "", top, {name for options in commands.values() for name in options})
    for name, section in sections.items():
        _refuse_unknown(path, f" in [{name}]", section, commands[name])
    command = str(ctx.info_name)
    own, values = commands[command], top | sections.get(command, {})
    ctx.default_map = {key: _read(path, own[key], value) for key, value in values.items() if key in own}


def _find(given: str) -> Path:
    named = {path.stem: path for path in sorted(FOLDER.glob("*.toml"))}
    path = named.get(given, Path(given).expanduser())
    if not path.exists():
        raise ElmldaError(f"{given}: no such file. elmlda's own are {', '.join(named)}.")
    return path


def _load(path: Path) -> dict[str, Any]:
    import tomllib  # no command's help needs it

    try:
        return tomllib.loads(path.read_text("utf-8-sig"))
    except OSError as error:
        raise ElmldaError(f"{path}: cannot be read: {error.strerror or error}.") from error
    except (ValueError, RecursionError) as error:
        raise ElmldaError(f"{path}: not a TOML file: {error}.") from error


def _read(path: Path, param: Any, value: Any) -> Any:
    """Check a value, or raise an error that names the file."""
    declared = getattr(param, "declared", None)
    constraint = declared.constraint if declared else FLAG if param.is_flag else TEXT
    try:
        return constraint.check(param.name, value)
    except OptionError as error:
        raise ElmldaError(f"{path}: {error}") from error


def _refuse_unknown(path: Path, where: str, keys: Collection[str], names: Collection[str]) -> None:
    for key in sorted(set(keys) - set(names)):
        raise ElmldaError(f"{path}: unknown key '{key}'{where}. {suggest_name(key, names)}")


config_option = click.option(
    "--config",
    metavar="NAME|FILE",
    is_eager=True,
    expose_value=False,
    callback=read_config,
    help="Read defaults of options from a TOML file, or elmlda's own.",
)
quiet_option = click.option("--quiet", is_flag=True, help="Print nothing but errors.")


def run_options(command: Function) -> Function:
    """Add the options that say how and where a run is made."""
    help = "Folder of the run or runs; an existing run is continued."
    out = click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help=help)
    dry_run = click.option("--dry-run", is_flag=True, help="Say what the command would do and take.")
    command = options_of(MachineOptions)(command)
    for add in (quiet_option, dry_run, config_option, out):
        command = add(command)
    return command
