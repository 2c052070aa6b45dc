"""Config files: a TOML file's values are the command's defaults."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import click

from elmlda.errors import ElmldaError
from elmlda.options import OptionError, flag, text

PACKAGE = Path(__file__).parents[1]
FOLDER = PACKAGE / "configs" if (PACKAGE / "configs").is_dir() else PACKAGE.parent / "configs"
"""Of an installed package, or of a clone."""


def read_config(ctx: click.Context, _param: click.Parameter, given: str | None) -> None:
    """Make a TOML file's values the command's defaults: flags override the file.

    Keys at the top of the file count for every command that has the option, those in a command's
    own section, such as [sweep], for that command.
    """
    if given is None:
        return
    path = _find(given)
    content, commands = _load(path), _list_options(ctx)
    own = str(ctx.info_name)
    top = {key: value for key, value in content.items() if not isinstance(value, dict)}
    sections = {key: value for key, value in content.items() if isinstance(value, dict)}
    _refuse_unknown(path, "", sections, commands)
    _refuse_unknown(path, "", top, {name for options in commands.values() for name in options})
    for name, section in sections.items():
        _refuse_unknown(path, f" in [{name}]", section, commands[name])
    values = {key.replace("-", "_"): value for key, value in {**top, **sections.get(own, {})}.items()}
    values = {key: value for key, value in values.items() if key in commands[own]}
    for key, value in values.items():
        _check(path, key, value, commands[own][key])
    ctx.default_map = {
        key: _as_words(value, commands[own][key].multiple) for key, value in values.items()
    }


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


def _list_options(ctx: click.Context) -> dict[str, dict[str, Any]]:
    """The options that a file may set, by command."""
    group = ctx.find_root().command
    assert isinstance(group, click.Group)
    not_in_files = {"config", "help", "dry_run"}
    return {
        name: {str(p.name): p for p in command.params if p.name not in not_in_files}
        for name, command in group.commands.items()
        if any(param.name == "config" for param in command.params)
    }


def _check(path: Path, key: str, value: Any, param: Any) -> None:
    """Refuse what the option would not take, naming the file."""
    constraint = getattr(param, "constraint", None) or (flag() if param.is_flag else text())
    try:
        constraint.check(key, value)
    except OptionError as error:
        raise ElmldaError(f"{path}: {error}") from error


def _as_words(value: Any, is_repeated: bool) -> Any:
    """As the command line would have it; flags stay as they are."""
    if is_repeated:
        return [str(each) for each in value] if isinstance(value, list) else [str(value)]
    if isinstance(value, list):
        return ",".join(map(str, value))
    return value if isinstance(value, bool) else str(value)


def _refuse_unknown(path: Path, where: str, found: Collection[str], known: Collection[str]) -> None:
    from difflib import get_close_matches

    for key in found:
        if (name := key.replace("-", "_")) not in known:
            close = get_close_matches(name, sorted(known), n=1)
            hint = f"Did you mean '{close[0]}'?" if close else f"Known: {', '.join(sorted(known))}."
            raise ElmldaError(f"{path}: unknown key '{key}'{where}. {hint}")
