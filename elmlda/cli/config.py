"""Config files: a TOML file's values as the command's defaults."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any, TypeAlias

import click

from elmlda.cli.values import Value
from elmlda.errors import ElmldaError
from elmlda.settings import LARGEST_NUMBER

PACKAGE = Path(__file__).parents[1]
FOLDER = PACKAGE / "configs" if (PACKAGE / "configs").is_dir() else PACKAGE.parent / "configs"
"""Of an installed package, or of a clone."""
NAMED = {path.stem: path for path in sorted(FOLDER.glob("*.toml"))}
"""The configurations that come with elmlda."""

Options: TypeAlias = dict[str, click.Parameter]
"""By name."""


def read_config(ctx: click.Context, _param: click.Parameter, given: Path | None) -> None:
    """Make a TOML file's values the command's defaults: flags override the file.

    Keys at the top of the file count for every command that has the option, those in a command's
    own section, such as [sweep], for that command.
    """
    if given is None:
        return
    path = NAMED.get(str(given), given)
    content, commands = _load(path), _command_options(ctx)
    top = {key: value for key, value in content.items() if not isinstance(value, dict)}
    sections = {key: value for key, value in content.items() if isinstance(value, dict)}
    _refuse_unknown(path, "", sections, commands)
    _check_values(path, "", top, *commands.values())
    for name, section in sections.items():
        _check_values(path, f" in [{name}]", section, commands[name])
    own = str(ctx.info_name)
    shared = {key: value for key, value in top.items() if _option(key) in commands[own]}
    _check_values(path, f" for {own}", shared, commands[own])
    ctx.default_map = {
        _option(key): _as_words(value) for key, value in {**shared, **sections.get(own, {})}.items()
    }


def _load(path: Path) -> dict[str, Any]:
    import tomllib  # not at the top: no command's help needs it

    from elmlda.datasets.content import open_input

    with open_input(path, "a TOML file") as file:
        raw = file.read()
    try:
        return tomllib.loads(raw.decode())
    except (ValueError, RecursionError) as error:  # also of numbers with thousands of digits
        raise ElmldaError(f"{path}: not a TOML file: {error}.") from error


def _command_options(ctx: click.Context) -> dict[str, Options]:
    """The options that a file may set, by command."""
    group = ctx.find_root().command
    assert isinstance(group, click.Group)
    not_in_files = {"config", "help", "dry_run"}
    return {
        name: {str(p.name): p for p in command.params if p.name not in not_in_files}
        for name, command in group.commands.items()
        if any(param.name == "config" for param in command.params)
    }


def _check_values(path: Path, where: str, found: dict[str, Any], *commands: Options) -> None:
    """Refuse what none of the commands that the values are for would take."""
    _refuse_unknown(path, where, found, {name for options in commands for name in options})
    for key, value in found.items():
        params = [options[_option(key)] for options in commands if _option(key) in options]
        expected = dict.fromkeys(_expected_instead(param, value) for param in params)
        if None not in expected:
            words = " or ".join(filter(None, expected))
            raise ElmldaError(f"{path}: {key}{where} is {_show(value)}: expected {words}.")


def _expected_instead(param: click.Parameter, value: Any) -> str | None:
    """What an option takes, None if that is what it has been given."""
    numbers = value if isinstance(value, list) else [value]
    if not all(abs(n) <= LARGEST_NUMBER for n in numbers if isinstance(n, int | float)):
        return f"numbers up to {LARGEST_NUMBER:g}"
    is_list = isinstance(value, list) and bool(value) and all(map(_is_scalar, value))
    if getattr(param, "is_flag", False):
        expected, fits = "true or false", isinstance(value, bool)
    elif isinstance(param.type, Value) and param.type.example:
        expected, fits = param.type.example, _is_scalar(value) or is_list
    elif param.multiple:
        expected, fits = "a list with at least one value", is_list
    else:
        expected, fits = "a single value", _is_scalar(value)
    return None if fits else expected


def _is_scalar(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _as_words(value: Any) -> Any:
    """As the command line would have it, so that 2.5 is no whole number; flags stay as they are."""
    if isinstance(value, list):
        return [str(each) for each in value]
    return value if isinstance(value, bool) else str(value)


def _show(value: Any) -> str:
    try:
        return repr(value)[:80]
    except (ValueError, RecursionError):  # numbers of thousands of digits, lists in lists in lists
        return f"a {type(value).__name__} that is too long to show"


def _refuse_unknown(path: Path, where: str, found: Iterable[str], known: Collection[str]) -> None:
    from difflib import get_close_matches

    for key in found:
        if _option(key) not in known:
            close = get_close_matches(_option(key), sorted(known), n=1)
            hint = f"Did you mean '{close[0]}'?" if close else f"Known: {', '.join(sorted(known))}."
            raise ElmldaError(f"{path}: unknown key '{key}'{where}. {hint}")


def _option(key: str) -> str:
    return key.replace("-", "_")
