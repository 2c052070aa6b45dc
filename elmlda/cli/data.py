"""elmlda data: which data sets there are, and what is in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from elmlda.cli.command import Command, Group
from elmlda.cli.fetch import NAME_WIDTH, fetch, verify
from elmlda.cli.options import field_options
from elmlda.cli.terminal import say
from elmlda.cli.values import NAME_OR_PATH
from elmlda.experiments.options import SourceOptions
from elmlda.text import join_words, printable

if TYPE_CHECKING:
    from elmlda.datasets import Dataset, DatasetInfo


@click.group(cls=Group)
def data() -> None:
    """Show the data sets, check them, and fetch those that do not come with elmlda."""


@data.command("list", cls=Command)
def list_command() -> None:
    """List the data sets of the catalogue."""
    from elmlda.datasets import list_datasets

    for info in list_datasets():
        away = "" if info.is_here else f"  [not here: elmlda data fetch {info.name}]"
        say(f"{info.name:{NAME_WIDTH}} {info.title}: {_describe_size(info)}{away}")
        say(f"{'':{NAME_WIDTH}} {info.origin}; {info.licence}")


data.add_command(verify)


@data.command(cls=Command)
@click.argument("name", type=NAME_OR_PATH, metavar="NAME|FILE")
@field_options(SourceOptions, "label", "drop")
def info(name: str, label: str | None, drop: tuple[str, ...]) -> None:
    """Show all about a data set: origin, licence, citation, inputs, classes, checksums.

    For your own file it shows how it is read: which inputs, which classes, which split.
    """
    from elmlda.datasets import find_info, load_dataset

    known = find_info(name)
    if known:
        say(_describe_known(known))
    if not known or known.is_here:
        say(_describe_content(load_dataset(name, label=label, drop=drop)))


data.add_command(fetch)


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
    import numpy as np

    shape = f", images of {' × '.join(map(str, dataset.image_shape))}" if dataset.image_shape else ""
    scaled = dataset.preparation.get("inputs") or f"multiplied by {dataset.input_scale:.6g}"
    rows = [("inputs", f"{dataset.n_inputs}{shape}, {scaled}")]
    if dataset.feature_names:
        rows.append(("", join_words(dataset.feature_names)))
    split = dataset.preparation.get("split", "its own")
    drawn = f" (rows {dataset.preparation['rows']})" if "rows" in dataset.preparation else ""
    rows.append(("split", f"{split}{drawn}"))
    parts = dataset.train, dataset.test
    counts = [np.bincount(part.labels, minlength=dataset.n_classes) for part in parts]
    classes = [*map(printable, dataset.classes), "all"]
    width = max(len("class"), *map(len, classes))
    rows.append(("samples", f"{'class':{width}} {'train':>7} {'test':>7}"))
    for name, *row in zip(classes, *([*c, c.sum()] for c in counts), strict=True):
        rows.append(("", f"{name:{width}} {row[0]:7,} {row[1]:7,}"))
    for i, (name, sha256) in enumerate(dataset.checksums.items()):
        rows.append(("" if i else "SHA-256", f"{sha256} {name}"))
    return "\n".join(f"{key:{NAME_WIDTH}} {printable(value)}" for key, value in rows)
