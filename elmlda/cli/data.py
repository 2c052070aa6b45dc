"""elmlda data: which data sets there are, what is in them, and their files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from elmlda.cli.options import Command, build, options_of, quiet_option
from elmlda.cli.terminal import say
from elmlda.errors import ElmldaError
from elmlda.settings import DataOptions
from elmlda.text import join_words, printable

if TYPE_CHECKING:
    from elmlda.datasets import Dataset, DatasetInfo

NAME_WIDTH = 14
"""Of a set's or a file's name."""


@click.group()
def data() -> None:
    """Show the data sets, check them, and fetch those that do not come with elmlda."""


@data.command("list", cls=Command)
def list_command() -> None:
    """List the data sets of the catalogue."""
    from elmlda.datasets import list_datasets

    for info in list_datasets():
        away = "" if info.is_here else f"  (elmlda data fetch {info.name})"
        say(f"{info.name:{NAME_WIDTH}} {_describe_size(info)}{away}")
        say(f"{'':{NAME_WIDTH}} {info.origin}; {info.licence}")


@data.command(cls=Command)
@click.argument("dataset", metavar="NAME|FILE")
@options_of(DataOptions, "label drop missing")
def info(dataset: str, **given: Any) -> None:
    """Show all about a data set: origin, licence, citation, inputs, classes, checksums.

    For your own file it shows how it is read: which inputs, which classes, which split.
    """
    from elmlda.datasets import find_info, load_dataset

    known = find_info(dataset)
    if known:
        say(_describe_known(known))
    if not known or known.is_here:
        options = build(DataOptions, given)
        loaded = load_dataset(dataset, label=options.label, drop=options.drop, missing=options.missing)
        say(_describe_content(loaded.split()))


@data.command(cls=Command)
@click.argument("names", metavar="[NAME]...", nargs=-1)
def verify(names: tuple[str, ...]) -> None:
    """Compare every file of data sets with its checksum: of those that are named, or of all here."""
    from elmlda.datasets import list_datasets, verify_dataset

    infos = [] if names else list_datasets()
    chosen = names or [info.name for info in infos if info.is_here]
    checks = [(name, check) for name in chosen for check in verify_dataset(name)]
    for name, check in checks:
        say(f"{'ok ' if check.ok else 'BAD'} {name:{NAME_WIDTH}} {check.name}: {check.message}")
    for name in (info.name for info in infos if not info.is_here):
        say(f"{name}: not here (elmlda data fetch {name})")
    if broken := [check for _, check in checks if not check.ok]:
        raise ElmldaError(f"{len(broken)} of {len(checks)} files are not the original: see above.")


@data.command(cls=Command)
@click.argument("name")
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Copy the files from this folder instead; they must have the known content.",
)
@quiet_option
def fetch(name: str, source: Path | None, quiet: bool) -> None:
    """Fetch a data set that does not come with elmlda, from its mirrors.

    Each file is compared with its SHA-256 before it counts. Nothing else downloads anything.
    """
    from elmlda.datasets import fetch_dataset

    lines = fetch_dataset(name, source, None if quiet else _make_bar)
    if not quiet:
        say("\n".join(lines))


def _make_bar(name: str) -> Any:
    from tqdm import tqdm

    # pooch sets the true total, but leaves alone a bar that counts as false.
    return tqdm(
        desc=name, total=1, unit="B", unit_scale=True, file=sys.stderr, leave=False, disable=None
    )


def _describe_size(info: DatasetInfo) -> str:
    """As in 60,000 + 10,000 × 784, 10 classes."""
    counts = [info.n_train, info.n_test] if info.has_own_split else [info.n_train + info.n_test]
    n_samples = " + ".join(f"{count:,}" for count in counts)
    return f"{n_samples} × {info.n_inputs}, {len(info.classes)} classes"


def _describe_known(info: DatasetInfo) -> str:
    """What the catalogue says."""
    rows = {key: getattr(info, key) for key in ("title", "origin", "licence", "citation")}
    rows["folder"] = info.where
    if not info.is_here:
        rows |= {"size": _describe_size(info), "": f"not here yet: elmlda data fetch {info.name}"}
    return "\n".join(f"{key:{NAME_WIDTH}} {value}" for key, value in rows.items())


def _describe_content(dataset: Dataset) -> str:
    """What a network would get of it."""
    assert dataset.test is not None
    shape = f", images of {' × '.join(map(str, dataset.image_shape))}" if dataset.image_shape else ""
    scaled = dataset.preparation.get("inputs") or f"multiplied by {dataset.input_scale:.6g}"
    rows = [("inputs", f"{dataset.n_inputs}{shape}, {scaled}")]
    if dataset.feature_names:
        rows.append(("", join_words(dataset.feature_names)))
    rows.append(("split", dataset.preparation.get("split", "its own")))
    counts = [part.count_classes(dataset.n_classes) for part in (dataset.train, dataset.test)]
    classes = [*map(printable, dataset.classes), "all"]
    width = max(len("class"), *map(len, classes))
    rows.append(("samples", f"{'class':{width}} {'train':>7} {'test':>7}"))
    for name, *row in zip(classes, *([*c, c.sum()] for c in counts), strict=True):
        rows.append(("", f"{name:{width}} {row[0]:7,} {row[1]:7,}"))
    for i, (name, sha256) in enumerate(dataset.checksums.items()):
        rows.append(("" if i else "SHA-256", f"{sha256} {name}"))
    return "\n".join(f"{key:{NAME_WIDTH}} {printable(value)}" for key, value in rows)
