"""elmlda data fetch and verify: the files of data sets."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from elmlda.cli.command import Command, option
from elmlda.cli.options import field_options, quiet_option
from elmlda.cli.terminal import say
from elmlda.cli.values import PATH
from elmlda.errors import ElmldaError
from elmlda.experiments.options import OUTPUT, DataOptions

if TYPE_CHECKING:
    from elmlda.datasets import FileCheck

NAME_WIDTH = 14
"""Of a set's or a file's name."""


@click.command(cls=Command)
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@option(
    "--from source",
    "Copy the files from this folder instead; they must have the known content.",
    PATH,
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

    _refuse_unknown(names)
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


@click.command(cls=Command)
@click.argument("names", metavar="[NAME]...", nargs=-1)
@field_options(DataOptions)
def verify(
    names: tuple[str, ...],
    dataset: str | None,
    data_dir: Path | None,
    label: str | None,
    drop: tuple[str, ...],
) -> None:
    """Read every file of data sets and compare it with its checksum.

    Of all that are here, unless names are given. With --data-dir and a name of the catalogue, the
    folder's files are compared with that set's checksums.
    """
    from elmlda.datasets import list_datasets, verify_dataset

    asked: list[str | None] = [*names, dataset] if dataset else [*names]
    if data_dir is not None and len(asked) > 1:
        raise click.UsageError("--data-dir is one data set: give one name with it, or none.")
    _refuse_unknown(names)
    infos = [] if asked or data_dir else list_datasets()
    chosen = asked or [info.name for info in infos if info.is_here] or [None]
    checks: list[FileCheck] = []
    for name in chosen:
        found = verify_dataset(name, data_dir, label, drop)
        width = max([NAME_WIDTH, *(len(check.name) for check in found)])
        heading = [f"{name}:"] if len(chosen) > 1 else []
        say("\n".join([*heading, *(_describe_check(check, width) for check in found)]))
        checks += found
    for name in (info.name for info in infos if not info.is_here):
        say(f"{name}: not here (elmlda data fetch {name})")
    if broken := [check for check in checks if not check.ok]:
        raise ElmldaError(f"{len(broken)} of {len(checks)} checks failed: see above.")


def _refuse_unknown(names: Sequence[str]) -> None:
    """A misspelt argument is wrong usage."""
    from elmlda.datasets import find_info

    for name in names:
        try:
            find_info(name)
        except ElmldaError as error:
            raise click.BadParameter(str(error), param_hint="NAME") from error


def _make_bar(name: str) -> Any:
    from tqdm import tqdm

    # pooch sets the true total, but leaves alone a bar that counts as false. disable=None: only on a
    # terminal.
    return tqdm(
        desc=name, total=1, unit="B", unit_scale=True, file=sys.stderr, leave=False, disable=None,
        dynamic_ncols=True,
    )  # fmt: skip


def _describe_check(check: FileCheck, width: int) -> str:
    """One line: whether a file is what it should be."""
    state = "ok " if check.ok else "BAD"
    known = "" if check.expected_sha256 or not check.ok else "  (no checksum to compare with)"
    return f"{state} {check.name:{width}} {check.message}{known}"
