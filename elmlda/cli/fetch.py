"""elmlda data fetch: data sets that do not come with elmlda."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from elmlda.cli.command import OUTPUT, Command, option
from elmlda.cli.options import quiet_option
from elmlda.cli.terminal import say
from elmlda.cli.values import UserPath
from elmlda.errors import ElmldaError


@click.command(cls=Command)
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@option(
    "--from source",
    "Copy the files from this folder instead; they must have the known content.",
    UserPath(),
    metavar="DIR",
    group=OUTPUT,
)
@quiet_option
def fetch(names: tuple[str, ...], source: Path | None, quiet: bool) -> None:
    """Fetch data sets that do not come with elmlda, from their mirrors.

    Each file is compared with its SHA-256 before it counts. They are kept in the user's cache
    folder, or in $ELMLDA_DATA. Nothing else downloads anything, no run ever does.
    """
    from elmlda.datasets import fetch_dataset, verify_dataset

    refuse_unknown(names)
    if source is not None and len(names) > 1:
        raise click.UsageError("--from is one data set's folder: give one name with it.")
    for name in names:
        lines = fetch_dataset(name, source, None if quiet else _make_bar)
        checks = verify_dataset(name)
        if not quiet:
            say("\n".join(lines))
        for broken in (check for check in checks if not check.ok):
            raise ElmldaError(broken.message)
        if not quiet:
            say(f"{name} is here: {checks[0].path.parent}")


def refuse_unknown(names: Sequence[str]) -> None:
    """A misspelt argument is wrong usage."""
    from elmlda.datasets import find_info

    for name in names:
        try:
            find_info(name)
        except ElmldaError as error:
            raise click.BadParameter(str(error), param_hint="NAME") from error


def _make_bar(name: str) -> Any:
    import sys

    from tqdm import tqdm

    # pooch sets the true total, but leaves alone a bar that counts as false. disable=None: only on a
    # terminal.
    return tqdm(
        desc=name, total=1, unit="B", unit_scale=True, file=sys.stderr, leave=False, disable=None,
        dynamic_ncols=True,
    )  # fmt: skip
