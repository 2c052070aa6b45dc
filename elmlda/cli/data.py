"""elmlda data: what data there is, whether it is intact, and fetching what is not here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from elmlda.cli.command import Command, Group
from elmlda.cli.data_text import WIDTH, describe_check, describe_content, describe_known, describe_size
from elmlda.cli.fetch import fetch, refuse_unknown
from elmlda.cli.options import column_options, data_options
from elmlda.cli.terminal import say
from elmlda.cli.values import NameOrPath
from elmlda.errors import ElmldaError

if TYPE_CHECKING:
    from elmlda.datasets import FileCheck


@click.group(cls=Group)
def data() -> None:
    """Show the data sets, check them, and fetch those that do not come with elmlda."""


@data.command("list", cls=Command)
def list_command() -> None:
    """List the data sets of the catalogue."""
    from elmlda.datasets import list_datasets

    for info in list_datasets():
        away = "" if info.is_here else f"  [not here: elmlda data fetch {info.name}]"
        say(f"{info.name:{WIDTH}} {info.title}: {describe_size(info)}{away}")
        say(f"{'':{WIDTH}} {info.origin}; {info.licence}")


@data.command(cls=Command)
@click.argument("names", metavar="[NAME]...", nargs=-1)
@data_options
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

    asked = [*names, dataset] if dataset else list(names)
    if data_dir is not None and len(asked) > 1:
        raise click.UsageError("--data-dir is one data set: give one name with it, or none.")
    refuse_unknown(names)
    is_all = not asked and data_dir is None
    infos = list_datasets() if is_all else []
    here = [info.name for info in infos if info.is_here]
    chosen: list[str | None] = [*here] if is_all else [*asked] or [None]
    checks: list[FileCheck] = []
    for name in chosen:
        found = verify_dataset(name, data_dir, label, drop)
        width = max([WIDTH, *(len(check.name) for check in found)])
        heading = [f"{name}:"] if len(chosen) > 1 else []
        say("\n".join([*heading, *(describe_check(check, width) for check in found)]))
        checks += found
    for name in (info.name for info in infos if not info.is_here):
        say(f"{name}: not here (elmlda data fetch {name})")
    broken = [check for check in checks if not check.ok]
    if broken:
        raise ElmldaError(f"{len(broken)} of {len(checks)} checks failed: see above.")


@data.command(cls=Command)
@click.argument("name", type=NameOrPath(), metavar="NAME|FILE")
@column_options
def info(name: str, label: str | None, drop: tuple[str, ...]) -> None:
    """Show all about a data set: origin, licence, citation, inputs, classes, checksums.

    Of your own file it shows how it is understood: which inputs, which classes, which split.
    """
    from elmlda.datasets import find_info, load_dataset

    known = find_info(name)
    if known:
        say(describe_known(known))
    if not known or known.is_here:
        say(describe_content(load_dataset(name, label=label, drop=drop)))


data.add_command(fetch)
