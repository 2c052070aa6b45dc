"""Options that several commands have, each defined once: the same words mean the same things."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from elmlda.errors import ElmldaError
from elmlda.ranges import parse_ranges
from elmlda.settings import ACTIVATION_NAMES, DEFAULT_CHUNK, DESIGNS, INPUT_WEIGHTS, PRECISIONS

LARGEST_CONFIG = 32_000
"""Bytes of a configuration file; some take time by the square of their length."""
LARGEST_INT = 10**40
"""Of a configuration file: a seed may be large."""
MOST_REPEATS = 10_000
"""All networks are listed before the first is trained."""

Command = TypeVar("Command", bound=Callable[..., object])


class Ranges(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """Numbers such as 1-10,12,15,20; from a configuration file also a number or a list."""

    name = "numbers"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        try:
            return parse_ranges(
                ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
            )
        except (ElmldaError, ValueError) as error:  # ValueError: thousands of digits
            self.fail(str(error), param, ctx)


class Numbers(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """Numbers with commas; from a configuration file also a number or a list."""

    name = "numbers"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[float, ...]:
        words = value if isinstance(value, list | tuple) else str(value).split(",")
        try:
            # As records keep them, so that they are found again.
            numbers = {float(f"{float(word):.6g}") for word in words}
        except ValueError:
            self.fail(f"'{value}': expected numbers with commas, such as 0.1,1,10.", param, ctx)
        return tuple(sorted(numbers))


def read_config(ctx: click.Context, _param: click.Parameter, path: Path | None) -> None:
    """Make a TOML file's values the command's defaults: flags win over the file.

    Keys at the top of the file count for every command that has the option, those in a command's
    own section, such as [sweep], for that command.
    """
    if path is None:
        return
    try:
        with path.open("rb") as file:
            raw = file.read(LARGEST_CONFIG + 1)
        if len(raw) > LARGEST_CONFIG:
            raise ElmldaError(f"{path}: more than {LARGEST_CONFIG:,} bytes, expected some options.")
        content = tomllib.loads(raw.decode())
    except OSError as error:
        raise ElmldaError(f"{path}: cannot be read: {error.strerror or error}.") from error
    except (ValueError, RecursionError) as error:  # also of numbers with thousands of digits
        raise ElmldaError(f"{path}: not a TOML file: {error}.") from error
    commands = _command_options(ctx)
    everything: dict[str, list[click.Parameter]] = {}
    for params in commands.values():
        for name, param in params.items():
            everything.setdefault(name, []).append(param)
    top = {key: value for key, value in content.items() if not isinstance(value, dict)}
    sections = {key: value for key, value in content.items() if isinstance(value, dict)}
    _refuse_unknown(path, "", sections, commands)
    _check_values(path, "", top, everything)
    for name, section in sections.items():
        known_there = {option: [param] for option, param in commands[name].items()}
        _check_values(path, f" in [{name}]", section, known_there)
    assert ctx.info_name is not None
    own = {**top, **sections.get(ctx.info_name, {})}
    known = commands[ctx.info_name]
    ctx.default_map = {
        _option(key): str(value) if _is_scalar(value) else value  # so that 2.5 is no whole number
        for key, value in own.items()
        if _option(key) in known
    }


def _command_options(ctx: click.Context) -> dict[str, dict[str, click.Parameter]]:
    """The options that a file may set, by name, by command."""
    group = ctx.parent.command if ctx.parent else ctx.command
    commands = group.commands.values() if isinstance(group, click.Group) else [ctx.command]
    not_in_files = {"config", "help", "dry_run"}
    return {
        str(command.name): {str(p.name): p for p in command.params if p.name not in not_in_files}
        for command in commands
        if any(param.name == "config" for param in command.params)
    }


def _check_values(
    path: Path, where: str, found: dict[str, Any], known: dict[str, list[click.Parameter]]
) -> None:
    """Refuse what none of the commands that the values are for would take."""
    _refuse_unknown(path, where, found, known)
    for key, value in found.items():
        expected = {_expected_instead(param, value): None for param in known[_option(key)]}
        if None not in expected:
            words = " or ".join(filter(None, expected))
            raise ElmldaError(f"{path}: {key}{where} is {_show(value)}: expected {words}.")


def _expected_instead(param: click.Parameter, value: Any) -> str | None:
    """What an option takes, None if that is what it has been given."""
    if getattr(param, "is_flag", False):
        expected, fits = "true or false", isinstance(value, bool)
    elif isinstance(param.type, Numbers):
        expected, fits = "numbers such as '0.1,1,10'", _is_scalar(value) or isinstance(value, list)
    elif isinstance(param.type, Ranges):
        expected, fits = "numbers such as '1-10,12'", _is_scalar(value) or isinstance(value, list)
    elif param.multiple:
        expected, fits = "a list", isinstance(value, list) and all(map(_is_scalar, value))
    else:
        expected, fits = "a single value", _is_scalar(value)
    return None if fits else expected


def _is_scalar(value: Any) -> bool:
    if isinstance(value, int) and abs(value) > LARGEST_INT:
        return False
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _show(value: Any) -> str:
    try:
        return repr(value)[:80]
    except (ValueError, RecursionError):  # numbers of thousands of digits, lists in lists in lists
        return f"a {type(value).__name__} that is too large to show"


def _refuse_unknown(path: Path, where: str, found: Iterable[str], known: Mapping[str, object]) -> None:
    for key in found:
        if _option(key) not in known:
            close = difflib.get_close_matches(_option(key), sorted(known), n=1)
            hint = f"Did you mean '{close[0]}'?" if close else f"Known: {', '.join(sorted(known))}."
            raise ElmldaError(f"{path}: unknown key '{key}'{where}. {hint}")


def _option(key: str) -> str:
    return key.replace("-", "_")


def together(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """One decorator of several, in the order in which the help has them."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


fanout_option = click.option(
    "--fanout",
    type=Ranges(),
    default="1-20",
    show_default=True,
    help="Hidden units for each input: 1-20, or 1-10,12,15,20.",
)

repeats_type = click.IntRange(1, MOST_REPEATS)

data_options = together(
    click.option(
        "--dataset",
        metavar="NAME|FILE",
        help="Data set of the catalogue (see elmlda data list), or your own .npz or .csv file.  "
        "[default: mnist]",
    ),
    click.option("--label", metavar="COLUMN", help="The column of a .csv file that has the class."),
    click.option(
        "--data-dir",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="Your own four IDX files instead, raw or .gz, named as MNIST's.",
    ),
)

seed_option = click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Root seed."
)

unit_options = together(
    seed_option,
    click.option(
        "--activation",
        type=click.Choice(ACTIVATION_NAMES),
        default="tanh",
        show_default=True,
        help="Hidden units' function.",
    ),
    click.option(
        "--input-scale",
        type=float,
        help="Inputs are multiplied by this, standardised ones too.  [default: 1/255 for bytes, or 1]",
    ),
    click.option(
        "--min-field",
        type=click.IntRange(1),
        default=10,
        show_default=True,
        help="Pixels of the smallest receptive field.",
    ),
)

scheme_option = click.option(
    "--input-weights",
    type=click.Choice(INPUT_WEIGHTS),
    default="uniform",
    show_default=True,
    help="constrained: differences of two training samples of different classes. "
    "receptive-field: in a random rectangle of the image only.",
)

layer_options = together(
    unit_options,
    scheme_option,
    click.option(
        "--weight-range",
        type=float,
        default=0.5,
        show_default=True,
        help="Uniform input weights are in ± this.",
    ),
    click.option(
        "--weight-norm",
        type=float,
        default=2.0,
        show_default=True,
        help="Norm of each hidden unit's weights, if they are not uniform.",
    ),
)

output_options = together(
    click.option(
        "--priors",
        default="uniform",
        show_default=True,
        help="LDA's: uniform, frequencies, or a number for each class, with commas.",
    ),
    click.option(
        "--precision",
        type=click.Choice(PRECISIONS),
        default="mixed",
        show_default=True,
        help="mixed: float32 up to the Gram matrix, float64 from there. double: float64.",
    ),
)

ridge_option = click.option(
    "--ridge", type=float, default=0.0, show_default=True, help="Tikhonov's λ in both methods."
)

network_options = together(
    data_options,
    click.option(
        "--design",
        type=click.Choice(DESIGNS),
        default="nested",
        show_default=True,
        help="nested: one network gives all sizes. independent: new weights for each, as in the paper.",
    ),
    layer_options,
    ridge_option,
    output_options,
)

one_network_options = together(
    click.option(
        "--threads",
        type=click.IntRange(1, 1024),
        help="BLAS threads of each network.  [default: the cores, shared by those side by side; "
        "fewer if OPENBLAS_NUM_THREADS or OMP_NUM_THREADS has fewer]",
    ),
    click.option(
        "--chunk",
        type=click.IntRange(1),
        default=DEFAULT_CHUNK,
        show_default=True,
        help="Samples whose hidden outputs are held at a time.",
    ),
)

resource_options = together(
    click.option(
        "--jobs",
        type=click.IntRange(1, 1024),
        default=1,
        show_default=True,
        help="Networks side by side, each in a process.",
    ),
    one_network_options,
)

cluster_option = click.option(
    "--cluster",
    metavar="ADDRESS|FILE",
    help="Networks on a Dask cluster instead: its scheduler's address, such as tcp://HOST:8786, or "
    "its scheduler file.",
)

config_option = click.option(
    "--config",
    type=click.Path(path_type=Path),
    metavar="FILE",
    is_eager=True,
    expose_value=False,
    callback=read_config,
    help="TOML file with values for these options; flags win over it.",
)

dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Say what would be done, what it takes, and stop."
)

quiet_option = click.option("--quiet", is_flag=True, help="Print nothing but errors.")

run_options = together(
    click.option(
        "--out",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="The run's folder; a run that is there goes on.  [default: results/<data set>]",
    ),
    config_option,
    dry_run_option,
    quiet_option,
)
