"""Options of commands: names are listed here, defaults, constraints and help are the fields'.

A config file's values go before these defaults, and the command line's before both.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import click
from click.core import ParameterSource

from elmlda.errors import ElmldaError
from elmlda.experiments.pool import Machine
from elmlda.options import FLAG, TEXT, Constraint, OptionError, Options
from elmlda.settings import NetworkSettings

Function: TypeAlias = Callable[..., Any]
Decorator: TypeAlias = Callable[[Function], Function]
Built = TypeVar("Built", bound=Options)

DATA = "dataset label drop missing seed"
NETWORK = " ".join(each.name for each in fields(NetworkSettings))
GIVEN = ParameterSource.COMMANDLINE, ParameterSource.DEFAULT_MAP
PACKAGE = Path(__file__).parents[1]
FOLDER = PACKAGE / "configs" if (PACKAGE / "configs").is_dir() else PACKAGE.parent / "configs"
"""Where elmlda's own config files are: in an installed package, or in a clone."""
NOT_IN_FILES = {"config", "help_all", "dry_run"}
ALL = "elmlda.all"
"""Whether the help explains rarely needed options, in click's notes on a context."""


class FieldOption(click.Option):
    """An option that is a field of a dataclass, whose constraint checks it."""

    def __init__(self, *names: Any, constraint: Constraint, is_rare: bool, **settings: Any) -> None:
        super().__init__(*names, **settings)
        self.constraint, self.is_rare = constraint, is_rare


class Command(click.Command):
    """A command whose help has rarely needed options by their names only, unless all is asked for."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        params = self.get_params(ctx)
        rare = [] if ctx.meta.get(ALL) else [each for each in params if getattr(each, "is_rare", False)]
        rows = [each.get_help_record(ctx) for each in params if each not in rare]
        with formatter.section("Options"):
            formatter.write_dl([row for row in rows if row], col_max=24)
        if rare:
            names = ", ".join(each.opts[0] for each in rare)
            with formatter.section("Rarely needed (--help-all explains them)"):
                lines = textwrap.wrap(names, formatter.width - 2, break_on_hyphens=False)
                formatter.write("".join(f"  {line}\n" for line in lines))


def options_of(kind: type[Options], names: str, is_rare: bool = False) -> Decorator:
    """Options for these fields of a dataclass, in this order."""
    known = {each.name: each for each in fields(kind)}

    def decorate(command: Function) -> Function:
        for name in reversed(names.split()):
            command = _make_option(name, known[name].metadata, is_rare)(command)
        return command

    return decorate


def _make_option(name: str, about: Mapping[str, Any], is_rare: bool) -> Decorator:
    constraint, default = about["constraint"], about["default"]
    settings: dict[str, Any] = {"cls": FieldOption, "constraint": constraint, "is_rare": is_rare}
    word, help = name.replace("_", "-"), about["help"]
    if not constraint.metavar:
        return click.option(f"--{word}/--no-{word}", name, default=default, help=help, **settings)
    shown = ",".join(map(str, default)) if isinstance(default, tuple) else default
    if shown not in (None, ""):
        help += f"  [default: {shown:g}]" if isinstance(shown, float) else f"  [default: {shown}]"
    settings |= {"metavar": constraint.metavar, "multiple": constraint.is_repeated}
    settings["type"] = click.UNPROCESSED  # a config file's list stays one
    return click.option(f"--{word}", name, help=help, **settings)


def rare_options(kind: type[Options], names: str = "") -> Decorator:
    """Options that the help explains only if it is asked for."""

    def show_all(ctx: click.Context, _param: click.Parameter, is_given: bool) -> None:
        if is_given:
            ctx.meta[ALL] = True
            click.echo(ctx.get_help())
            ctx.exit()

    def decorate(command: Function) -> Function:
        flag = {"is_flag": True, "is_eager": True, "expose_value": False, "callback": show_all}
        words = "Explain the rarely needed options too."
        return click.option("--help-all", help=words, **flag)(  # type: ignore[arg-type]
            options_of(kind, f"{names} {NETWORK}", is_rare=True)(command)
        )

    return decorate


def build(kind: type[Built], given: dict[str, Any]) -> Built:
    """Make an experiment, or another dataclass of options, from what was given."""
    ctx = click.get_current_context()
    sources = {each.name: ctx.get_parameter_source(each.name) for each in fields(kind)}
    chosen = {name: given[name] for name in sources.keys() & given if sources[name] in GIVEN}
    for name, other in (("fanout", "hidden"), ("hidden", "fanout")):
        if [sources.get(name), sources.get(other)] == list(GIVEN):
            del chosen[other]  # the command line's size goes before the config file's
    return kind(**chosen)


# Config files


def read_config(ctx: click.Context, _param: click.Parameter, given: str | None) -> None:
    """Make a TOML file's values the command's defaults: flags override the file.

    Keys at the top of the file count for every command that has the option, those in a command's
    own section, such as [sweep], for that command.
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
    ctx.default_map = {key: _read(path, own[key], each) for key, each in values.items() if key in own}


def _find(given: str) -> Path:
    named = {path.stem: path for path in sorted(FOLDER.glob("*.toml"))}
    path = named.get(given, Path(given).expanduser())
    if not path.exists():
        raise ElmldaError(f"{given}: no such file. elmlda's own are {', '.join(named)}.")
    return path


def _load(path: Path) -> dict[str, Any]:
    import tomllib  # not at the top: no command's help needs it

    try:
        return tomllib.loads(path.read_text("utf-8-sig"))
    except OSError as error:
        raise ElmldaError(f"{path}: cannot be read: {error.strerror or error}.") from error
    except (ValueError, RecursionError) as error:
        raise ElmldaError(f"{path}: not a TOML file: {error}.") from error


def _read(path: Path, param: Any, value: Any) -> Any:
    """The value as it is kept, or an error that names the file."""
    constraint = getattr(param, "constraint", None) or (FLAG if param.is_flag else TEXT)
    try:
        return constraint.check(param.name, value)
    except OptionError as error:
        raise ElmldaError(f"{path}: {error}") from error


def _refuse_unknown(path: Path, where: str, found: Collection[str], known: Collection[str]) -> None:
    from difflib import get_close_matches

    for key in sorted(set(found) - set(known)):
        close = get_close_matches(key, sorted(known), n=1)
        hint = f"Did you mean '{close[0]}'?" if close else f"Known: {', '.join(sorted(known))}."
        raise ElmldaError(f"{path}: unknown key '{key}'{where}. {hint}")


config_option = click.option(
    "--config",
    metavar="NAME|FILE",
    is_eager=True,
    expose_value=False,
    callback=read_config,
    help="Defaults of options: a TOML file, or elmlda's own.",
)
quiet_option = click.option("--quiet", is_flag=True, help="Print nothing but errors.")


def out_option(help: str, metavar: str = "DIR") -> Decorator:
    """Where the command writes."""
    return click.option("--out", type=click.Path(path_type=Path), metavar=metavar, help=help)


def run_options(help: str = "The run's folder; a run that is there goes on.") -> Decorator:
    """How a run is made, and where."""
    dry_run = click.option("--dry-run", is_flag=True, help="Say what the command would do and take.")

    def decorate(command: Function) -> Function:
        command = options_of(Machine, "jobs threads cluster")(command)
        for each in (quiet_option, dry_run, config_option, out_option(help)):
            command = each(command)
        return command

    return decorate
