"""elmlda data: which data sets there are, what is in them, and their files."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from elmlda.cli.options import Command, build, options_of, quiet_option
from elmlda.cli.terminal import say
from elmlda.errors import join_words, printable
from elmlda.settings import DataOptions

if TYPE_CHECKING:
    from elmlda.datasets import Dataset, DatasetInfo

NAME_WIDTH = 14
"""Characters that a name takes in a table."""


@click.group()
def data() -> None:
    """Show the data sets, and fetch those that do not come with elmlda."""


@data.command("list", cls=Command)
def list_command() -> None:
    """List the data sets of the catalogue."""
    from elmlda.datasets import CATALOGUE

    for info in CATALOGUE.values():
        away = "" if info.is_here else f"  (elmlda data fetch {info.name})"
        say(f"{info.name:{NAME_WIDTH}} {_describe_size(info)}{away}")
        say(f"{'':{NAME_WIDTH}} {info.origin}; {info.licence}")


@data.command(cls=Command)
@click.argument("dataset", metavar="NAME|FILE")
@options_of(DataOptions, "label drop missing")
def info(dataset: str, **given: Any) -> None:
    """Show all about a data set: origin, licence, citation, inputs, classes, checksums.

    Its files are compared with the checksums of the originals, as whenever it is loaded. For your own
    file it shows how it is read: which inputs, which classes, which split.
    """
    from elmlda.datasets import CATALOGUE, load_dataset

    known = CATALOGUE.get(dataset)
    if known:
        say(_describe_known(known))
    if not known or known.is_here:
        options = build(DataOptions, given)
        loaded = load_dataset(dataset, label=options.label, drop=options.drop, missing=options.missing)
        say(_describe_content(loaded.split()))


@data.command(cls=Command)
@click.argument("name")
@quiet_option
def fetch(name: str, quiet: bool) -> None:
    """Fetch a data set that does not come with elmlda, from its mirrors.

    Each file is compared with its SHA-256 before it counts. Nothing else downloads anything. Files that
    you have need no fetching: use their folder with --dataset.
    """
    from elmlda.datasets import fetch_dataset

    lines = fetch_dataset(name, progress=not quiet and sys.stderr.isatty())
    if not quiet:
        say("\n".join(lines))


def _describe_size(info: DatasetInfo) -> str:
    """As in 60,000 + 10,000 × 784, 10 classes."""
    n_samples = " + ".join(f"{count:,}" for count in info.n_samples)
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
    if dropped := dataset.preparation.get("drop"):
        rows.append(("left out", dropped))
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
