"""elmlda data: list, describe and download data sets."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from elmlda.cli.options import Command, build, options_of, quiet_option
from elmlda.cli.terminal import say
from elmlda.errors import ElmldaError, format_shape, join_words, printable
from elmlda.settings import DataOptions

if TYPE_CHECKING:
    from elmlda.datasets.catalogue import DatasetInfo
    from elmlda.datasets.describe import TableDescription
    from elmlda.datasets.split import Dataset

NAME_WIDTH = 14
"""Width of the first column of a table."""
MANY_COLUMNS = 40
"""Of tables with more columns, `info` shows only those that need attention."""


@click.group()
def data() -> None:
    """Show the data sets, and fetch those that do not come with elmlda."""


@data.command("list", cls=Command)
def list_command() -> None:
    """List the data sets of the catalogue."""
    from elmlda.datasets.catalogue import CATALOGUE

    for info in CATALOGUE.values():
        away = "" if info.is_here else f"  (elmlda data fetch {info.name})"
        _say({info.name: f"{_describe_size(info)}{away}\n{info.origin}; {info.licence}"})


@data.command(cls=Command)
@click.argument("dataset", metavar="NAME|FILE")
@options_of(DataOptions, ("label", "drop", "missing", "header"))
def info(dataset: str, **given: Any) -> None:
    """Show a data set's origin, licence, citation, inputs, classes and checksums.

    For your own file: how each column is read, missing values, classes and split, and what to do about
    problems.
    """
    from elmlda.datasets.catalogue import CATALOGUE, load_dataset
    from elmlda.datasets.describe import describe_table
    from elmlda.datasets.names import is_table

    options = build(DataOptions, given)
    reading: dict[str, Any] = {"label": options.label, "drop": options.drop, "header": options.header}
    if is_table(Path(dataset)):
        table = describe_table(dataset, **reading)
        _say(_describe_table(table, options.missing))
        try:
            _say(_describe_content(load_dataset(dataset, missing=options.missing, **reading).split()))
        except ElmldaError as error:
            problems = [*table.columns["problem"].dropna(), error]
            for line in dict.fromkeys(problem.for_command_line() for problem in problems):
                _say({"to do": line})
        return
    entry = CATALOGUE.get(dataset)
    if entry:
        keys = ("title", "origin", "licence", "citation")
        _say({**{key: getattr(entry, key) for key in keys}, "folder": entry.where})
        if not entry.is_here:
            _say({"size": f"{_describe_size(entry)}\nnot here yet: elmlda data fetch {entry.name}"})
    if not entry or entry.is_here:
        _say(_describe_content(load_dataset(dataset, missing=options.missing, **reading).split()))


@data.command(cls=Command)
@click.argument("name")
@quiet_option
def fetch(name: str, quiet: bool) -> None:
    """Fetch a data set that does not come with elmlda, from its mirrors.

    Each file is compared with its SHA-256 before it counts. Nothing else downloads anything. Files that
    you have need no fetching: use their folder with --dataset.
    """
    from elmlda.datasets.catalogue import fetch_dataset

    lines = fetch_dataset(name, progress=not quiet and sys.stderr.isatty())
    if not quiet:
        say("\n".join(lines))


def _say(rows: dict[str, object]) -> None:
    """Print names and values; further lines of a value are indented."""
    indent = "\n" + " " * (NAME_WIDTH + 1)
    for name, value in rows.items():
        say(f"{name:{NAME_WIDTH}} {str(value).replace(chr(10), indent)}")


def _describe_size(info: DatasetInfo) -> str:
    """Format as in 60,000 + 10,000 × 784, 10 classes."""
    n_samples = " + ".join(f"{count:,}" for count in info.n_samples)
    return f"{n_samples} × {info.n_inputs}, {len(info.classes)} classes"


def _describe_table(table: TableDescription, missing: str | None) -> dict[str, object]:
    """Return a line about each column of a file, with the gaps in it."""
    gaps = f", {table.n_incomplete:,} of them with missing values" if table.n_incomplete else ""
    ways = ": use --missing drop or --missing mean" if gaps and missing is None else ""
    rows: dict[str, object] = {
        "first line": "names of columns"
        if table.has_names
        else "a sample; columns are numbered from 1",
        "samples": f"{table.n_samples:,}{gaps}{ways}",
    }
    columns = table.columns
    if len(columns) > MANY_COLUMNS:
        is_plain = columns["kind"].isin(["numbers", "words"]) & (columns["missing"] == 0)
        columns = columns[~is_plain]
        rows["not shown"] = f"{is_plain.sum():,} columns of numbers or words without gaps"
    if len(columns):
        shown = columns.drop(columns="problem").rename(index=lambda name: printable(name, 30))
        rows["columns"] = shown.to_string()
    return rows


def _describe_content(dataset: Dataset) -> dict[str, object]:
    """Return the inputs, the classes and the split that a network would get."""
    import pandas as pd

    assert dataset.test is not None
    shape = f", images of {format_shape(dataset.image_shape)}" if dataset.image_shape else ""
    scaled = dataset.preparation.get("inputs") or f"multiplied by {dataset.input_scale:.6g}"
    rows: dict[str, object] = {"inputs": f"{dataset.n_inputs}{shape}, {scaled}"}
    if dataset.feature_names:
        rows["names"] = join_words(dataset.feature_names)
    if dropped := dataset.preparation.get("drop"):
        rows["left out"] = printable(dropped)
    if dataset.n_filled:
        filled = ", ".join(f"{n:,} in {printable(name)}" for name, n in dataset.n_filled.items())
        rows["filled"] = f"values that were missing: {filled}"
    rows["split"] = dataset.preparation.get("split", "its own")
    counts = [part.count_classes(dataset.n_classes) for part in (dataset.train, dataset.test)]
    sizes = {name: [*n, n.sum()] for name, n in zip(("train", "test"), counts, strict=True)}
    table = pd.DataFrame(sizes, [*map(printable, dataset.classes), "all"])
    rows["samples"] = table.to_string(formatters=["{:,}".format] * 2)
    rows["SHA-256"] = "\n".join(f"{sha256} {name}" for name, sha256 in dataset.checksums.items())
    return rows
