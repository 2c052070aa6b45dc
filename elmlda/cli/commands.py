"""The commands: sweep, ensemble, timing and compare make runs; verify, report and data."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from elmlda import stop
from elmlda.cli.options import QUIET, RUN_OPTIONS, Command, build, make_params
from elmlda.cli.terminal import say
from elmlda.errors import ElmldaError, format_shape, join_words, printable
from elmlda.experiments.specs import Experiment, Spec
from elmlda.options import DataOptions, MachineOptions

if TYPE_CHECKING:
    import pandas as pd

    from elmlda.datasets.catalogue import DatasetInfo
    from elmlda.datasets.split import Dataset
    from elmlda.datasets.tables import Table
    from elmlda.experiments.runner import Plan

FORMATS = ("csv", "svg", "md", "html", "png", "pdf")
OWN, SHIPPED = Path("results/mnist"), Path("results/paper")
"""Default folder of runs on MNIST, and the registered run of a clone."""
NAME_WIDTH = 14
"""Width of the first column of what `elmlda data` prints."""


def make_command(kind: type[Spec]) -> click.Command:
    """Return a command that makes runs; options and help are those of the class."""

    @click.command(kind.name, cls=Command, help=kind.summary, params=[*make_params(kind), *RUN_OPTIONS])
    def command(out: Path | None, quiet: bool, dry_run: bool, **values: Any) -> None:
        spec, machine = build(kind, values), build(MachineOptions, values)
        plans = spec.plans(out)
        for folder, plan in plans:
            _carry_out(plan, folder, machine, quiet, dry_run)
        if not (quiet or dry_run):
            folder = plans[0][0] if issubclass(kind, Experiment) else plans[0][0].parent
            say(f"Next: elmlda report {shlex.quote(str(folder))}")

    return command


def _carry_out(plan: Plan, folder: Path, machine: MachineOptions, quiet: bool, dry_run: bool) -> None:
    """Run a plan and show its rows, or say what running it would take."""
    from elmlda.experiments.runner import count, count_recorded, preview, run_plan
    from elmlda.reports.load import matches_paper
    from elmlda.reports.summary import summarise

    expected = preview(plan, folder, machine)
    if dry_run:
        say(expected)
        return
    todo = f"{count(expected.n_networks, 'network')} to train"
    if not quiet:
        if plan.data.filled:
            say(f"Missing values: {plan.data.filled}.", err=True)
        say(f"{folder}: {todo}{expected.needs and ', '}{expected.needs}.", err=True)
    stop.describe = lambda: (
        f"{count_recorded(plan, folder):,} of {expected.n_rows:,} rows are recorded in {folder}. "
        "The same command continues."
    )
    rows = run_plan(plan, folder, machine, progress=not quiet)
    if not quiet and len(rows):
        is_papers = matches_paper(plan.identity.run, plan.identity.own)
        say(f"{summarise(plan.table, rows, is_papers)}\n")
        say(f"Rows: {folder / plan.table.name}.csv")


@click.command(cls=Command)
@click.argument("folder", type=click.Path(path_type=Path), metavar="RUN")
@click.option("--n", default=12, show_default=True, type=click.IntRange(1), help="Rows to recompute.")
@click.option("--fanout", type=click.IntRange(1), help="Only rows up to this fan-out, which are fast.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Chooses the rows.")
@click.option("--dataset", metavar="PATH", help="The run's own data, if they are not in this folder.")
def verify(folder: Path, n: int, fanout: int | None, seed: int, dataset: str | None) -> None:
    """Recompute random rows of a RUN by the paper's equations.

    The code that trained the run is not used; all numbers are float64. Counts may differ by one or two
    if the run was computed in float32 or on another processor; the exit code is 1 if a count differs by
    more.
    """
    import numpy as np

    from elmlda.verify import find_differences, verify_run

    rng = np.random.default_rng(seed)
    rows = verify_run(folder, n, rng, fanout_up_to=fanout, data=dataset, progress=True)
    say(rows.drop(columns=["precision", "n_test"]).dropna(axis=1, how="all").to_string(index=False))
    off = find_differences(rows)
    worst = off.max(initial=0)
    say(
        f"{len(rows)} records recomputed, {len(off)} counts: {(off == 0).sum()} equal, "
        f"{(off == 1).sum()} off by one, the worst off by {worst}."
    )
    if worst > 2:
        click.get_current_context().exit(1)


@click.command(cls=Command)
@click.argument("runs", nargs=-1, type=click.Path(path_type=Path), metavar="[RUN]...")
@click.option(
    "--format",
    "formats",
    type=click.Choice(FORMATS),
    multiple=True,
    help="Make only this; may be given several times.  [default: all but png and pdf]",
)
@click.option("--open", "opens", is_flag=True, help="Open the page in the browser afterwards.")
def report(runs: tuple[Path, ...], formats: tuple[str, ...], opens: bool) -> None:
    """Make tables, figures and a page from the rows of each RUN.

    RUN is the folder of a run, or one with several runs in it, such as that of elmlda compare; without
    one, results/mnist, or the run that comes with elmlda. Nothing is trained: the report of an
    unfinished run shows the rows so far.
    """
    from elmlda.reports import report as make_report

    if opens and formats and "html" not in formats:
        raise click.UsageError("--open needs the page: add --format html.")
    if not runs and not OWN.exists():
        make_one = f"{OWN}: there is no run. Make one with elmlda sweep."
        if not (SHIPPED / "manifest.json").exists():
            raise ElmldaError(make_one)
        say(f"{make_one} This is the report of {SHIPPED}, which comes with elmlda.")
        runs = (SHIPPED,)
    for folder in runs or [OWN]:
        say(make_report(folder, formats or None))
        if opens:
            click.launch((folder / "report.html").absolute().as_uri())


@click.group()
def data() -> None:
    """Show data sets; fetch those that do not come with elmlda."""


@data.command("list", cls=Command)
def list_command() -> None:
    """List the data sets of the catalogue."""
    from elmlda.datasets.catalogue import CATALOGUE

    for info in CATALOGUE.values():
        away = "" if info.is_here else f"  (elmlda data fetch {info.name})"
        _say_values({info.name: f"{_describe_size(info)}{away}\n{info.origin}; {info.licence}"})


@data.command(cls=Command, params=make_params(DataOptions, DataOptions().reading))
@click.argument("dataset", metavar="NAME|FILE")
def info(dataset: str, **values: Any) -> None:
    """Describe a data set, or your own file.

    For a data set: origin, licence, citation, inputs, classes and checksums. For your own file: how
    each column is read, missing values, classes and split, and what to do about problems.
    """
    from elmlda.datasets import is_table
    from elmlda.datasets.catalogue import CATALOGUE, load_dataset
    from elmlda.datasets.tables import read_table

    reading, entry = build(DataOptions, values).reading, CATALOGUE.get(dataset)
    problems, is_described = list[ElmldaError](), False
    if entry:
        keys = ("title", "origin", "licence", "citation")
        _say_values({key: getattr(entry, key) for key in keys})
        _say_values({"folder": entry.where, "size": _describe_size(entry)})
        is_described = not entry.is_here
    elif is_table(Path(dataset)):
        table = read_table(dataset, reading["header"])
        columns = table.describe(reading["label"], reading["drop"])
        _say_values(_describe_table(table, columns, reading["missing"]))
        problems, is_described = [*columns["problem"].dropna()], True
    try:
        _say_values(_describe_content(load_dataset(dataset, **reading).split()))
    except ElmldaError as error:
        if not is_described:
            raise
        problems.append(error)
    for line in dict.fromkeys(problem.for_command_line() for problem in problems):
        _say_values({"to do": line})


@data.command(cls=Command, params=[QUIET])
@click.argument("name")
def fetch(name: str, quiet: bool) -> None:
    """Fetch a data set that does not come with elmlda, from its mirrors.

    Each file is compared with its SHA-256 before it counts. Nothing else downloads anything. Files that
    you have need no fetching: use their folder with --dataset.
    """
    from elmlda.datasets.catalogue import fetch_dataset

    lines = fetch_dataset(name, progress=not quiet and sys.stderr.isatty())
    if not quiet:
        say("\n".join(lines))


def _say_values(values: dict[str, object]) -> None:
    """Print names and values that are not empty; further lines of a value are indented."""
    indent = "\n" + " " * (NAME_WIDTH + 1)
    for name, value in values.items():
        if value:
            say(f"{name:{NAME_WIDTH}} {str(value).replace(chr(10), indent)}")


def _describe_size(info: DatasetInfo) -> str:
    """Format as in 60,000 + 10,000 × 784, 10 classes."""
    n_samples = " + ".join(f"{count:,}" for count in info.n_samples)
    return f"{n_samples} × {info.n_inputs}, {len(info.classes)} classes"


def _describe_table(table: Table, columns: pd.DataFrame, missing: str | None) -> dict[str, object]:
    """Describe each column of a file, and its missing values."""
    has_gaps = columns.loc[columns["kind"] != "left out", "missing"].any()
    gaps = ", some with missing values" if has_gaps else ""
    ways = ": use --missing drop or --missing mean" if has_gaps and missing is None else ""
    listed = columns.drop(columns="problem").rename(index=lambda name: printable(name, 30))
    return {
        "first line": "names of columns" if table.has_names else "a sample; columns are numbered",
        "samples": f"{len(table.cells):,}{gaps}{ways}",
        "columns": listed.to_string(),
    }


def _describe_content(dataset: Dataset) -> dict[str, object]:
    """Describe the inputs, the classes and the split that a network would get."""
    import pandas as pd

    assert dataset.test is not None
    shape = f", images of {format_shape(dataset.image_shape)}" if dataset.image_shape else ""
    scaled = dataset.preparation.get("inputs") or f"multiplied by {dataset.input_scale:.6g}"
    counts = [part.count_classes(dataset.n_classes) for part in (dataset.train, dataset.test)]
    sizes = {name: [*n, n.sum()] for name, n in zip(("train", "test"), counts, strict=True)}
    table = pd.DataFrame(sizes, [*map(printable, dataset.classes), "all"])
    return {
        "inputs": f"{dataset.n_inputs}{shape}, {scaled}",
        "names": join_words(dataset.feature_names or [""]),
        "left out": printable(dataset.preparation.get("drop", "")),
        "missing": dataset.filled,
        "split": dataset.preparation.get("split", "its own"),
        "samples": table.to_string(formatters=["{:,}".format] * 2),
        "SHA-256": "\n".join(f"{sha256} {name}" for name, sha256 in dataset.checksums.items()),
    }
