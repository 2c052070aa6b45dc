"""elmlda data: what data there is, whether it is intact, and fetching what is not here."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from elmlda.cli.options import data_options
from elmlda.errors import ElmldaError

if TYPE_CHECKING:
    from elmlda.datasets import Dataset, DatasetInfo, FileCheck

WIDTH = 14


@click.group()
def data() -> None:
    """Show the data sets, check them, and fetch those that do not come with elmlda."""


@data.command("list")
def list_command() -> None:
    """List the data sets of the catalogue."""
    from elmlda.datasets import list_datasets

    for info in list_datasets():
        away = "" if info.is_here else f"  [not here: elmlda data fetch {info.name}]"
        click.echo(
            f"{info.name:{WIDTH}} {info.title}: {_format_size(info)}{away}\n"
            f"{'':{WIDTH}} {info.origin}; {info.licence}"
        )


@data.command()
@click.argument("names", metavar="[NAME]...", nargs=-1)
@data_options
def verify(
    names: tuple[str, ...], dataset: str | None, data_dir: Path | None, label: str | None
) -> None:
    """Read every file of data sets and compare it with its checksum.

    Of all that are here, unless names are given. With --data-dir and a name of the catalogue, the
    folder's files are compared with that set's checksums.
    """
    from elmlda.datasets import list_datasets, verify_dataset

    asked = [*names, dataset] if dataset else list(names)
    if data_dir is not None and len(asked) > 1:
        raise click.UsageError("--data-dir is one data set: give one name with it, or none.")
    _refuse_unknown(names)
    if asked or data_dir is not None:
        chosen: list[str | None] = [*asked] or [None]
        away = []
    else:
        infos = list_datasets()
        chosen = [info.name for info in infos if info.is_here]
        away = [info.name for info in infos if not info.is_here]
    checks: list[FileCheck] = []
    for name in chosen:
        if len(chosen) > 1:
            click.echo(f"{name}:")
        found = verify_dataset(name, data_dir, label)
        _show_checks(found)
        checks += found
    for name in away:
        click.echo(f"{name}: not here (elmlda data fetch {name})")
    broken = [check for check in checks if not check.ok]
    if broken:
        raise ElmldaError(f"{len(broken)} of {len(checks)} checks failed: see above.")


@data.command()
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Copy the files from this folder instead; they must have the known content.",
)
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
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
            click.echo("\n".join(lines))
        broken = [check for check in checks if not check.ok]
        if broken:
            raise ElmldaError(broken[0].message)
        if not quiet:
            click.echo(f"{name} is here: {checks[0].path.parent}")


@data.command()
@click.argument("name", metavar="NAME|FILE")
@click.option("--label", metavar="COLUMN", help="The column of a .csv file that has the class.")
def info(name: str, label: str | None) -> None:
    """Tell all about a data set: origin, licence, citation, inputs, classes, checksums.

    Of your own file it tells how it is understood: which inputs, which classes, which split.
    """
    from elmlda.datasets import find_info, load_dataset

    known = find_info(name)
    if known:
        _show(
            title=known.title,
            origin=known.origin,
            licence=known.licence,
            citation=known.citation,
            folder=known.where,
        )
        if not known.is_here:
            click.echo(f"{'size':{WIDTH}} {_format_size(known)}")
            click.echo(f"{'':{WIDTH}} not here yet: elmlda data fetch {name}")
            return
    _show_content(load_dataset(name, label=label))


def _show_content(dataset: Dataset) -> None:
    """What a network would get of it."""
    import numpy as np

    from elmlda.datasets.words import join_words

    shape = f", images of {' × '.join(map(str, dataset.image_shape))}" if dataset.image_shape else ""
    scaled = dataset.preparation.get("inputs") or f"multiplied by {dataset.input_scale:.6g}"
    split = dataset.preparation.get("split", "its own")
    if "rows" in dataset.preparation:
        split += f" (rows {dataset.preparation['rows']})"
    _show(inputs=f"{dataset.n_inputs}{shape}, {scaled}")
    if dataset.feature_names:
        click.echo(f"{'':{WIDTH}} {join_words(dataset.feature_names)}")
    _show(split=split)
    counts = [
        np.bincount(part.labels, minlength=dataset.n_classes) for part in (dataset.train, dataset.test)
    ]
    width = max(len("class"), *(len(name) for name in dataset.classes))
    click.echo(f"{'samples':{WIDTH}} {'class':{width}} {'train':>7} {'test':>7}")
    for name, *row in zip([*dataset.classes, "all"], *([*c, c.sum()] for c in counts), strict=True):
        click.echo(f"{'':{WIDTH}} {name:{width}} {row[0]:7,} {row[1]:7,}")
    for i, (name, sha256) in enumerate(dataset.checksums.items()):
        click.echo(f"{'' if i else 'SHA-256':{WIDTH}} {sha256} {name}")


def _show(**rows: object) -> None:
    for key, value in rows.items():
        click.echo(f"{key:{WIDTH}} {value}")


def _show_checks(checks: Sequence[FileCheck]) -> None:
    width = max(14, *(len(check.name) for check in checks)) if checks else 0
    for check in checks:
        state = "ok " if check.ok else "BAD"
        known = "" if check.expected_sha256 or not check.ok else "  (no checksum to compare with)"
        click.echo(f"{state} {check.name:{width}} {check.message}{known}")


def _format_size(info: DatasetInfo) -> str:
    counts = [info.n_train, info.n_test] if info.has_own_split else [info.n_train + info.n_test]
    n_samples = " + ".join(f"{count:,}" for count in counts)
    return f"{n_samples} × {info.n_inputs}, {len(info.classes)} classes"


def _refuse_unknown(names: Sequence[str]) -> None:
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

    return tqdm(
        desc=name,
        total=1,  # pooch sets the true one, but leaves alone a bar that counts as false
        unit="B",
        unit_scale=True,
        file=sys.stderr,
        leave=False,
        disable=None,  # where nobody watches
        dynamic_ncols=True,
    )
