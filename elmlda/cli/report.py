"""elmlda report: tables, figures, verdicts and pages from stored rows."""

from __future__ import annotations

from pathlib import Path

import click

from elmlda.cli.options import Command
from elmlda.cli.terminal import say
from elmlda.errors import ElmldaError

FORMATS = ("csv", "svg", "md", "html", "png")
SHIPPED = Path("results/paper")
"""The registered run, which comes with a clone."""


@click.command(cls=Command)
@click.argument("runs", nargs=-1, type=click.Path(path_type=Path), metavar="[RUN]...")
@click.option(
    "--format",
    "formats",
    type=click.Choice(FORMATS),
    multiple=True,
    help="Make only this; may be given several times.  [default: all]",
)
@click.option("--open", "opens", is_flag=True, help="Open the page in the browser afterwards.")
def report(runs: tuple[Path, ...], formats: tuple[str, ...], opens: bool) -> None:
    """Make tables, figures and pages beside the paper's from the rows in each RUN's folder.

    RUN is the folder of a run, or one with several runs in it, such as that of elmlda compare; without
    one, results/mnist. Nothing is trained: a run that is not finished gives a report of what it has.
    """
    from elmlda.reports import report as make_report

    if opens and formats and "html" not in formats:
        raise click.UsageError("--open needs the page: add --format html.")
    for folder in runs or [_find_run()]:
        say(make_report(folder, formats or None))
        if opens:
            click.launch((folder / "report.html").absolute().as_uri())


def _find_run() -> Path:
    """The run that was made last below results/."""
    found = [path.parent for path in Path("results").glob("*/manifest.json") if path.parent != SHIPPED]
    if not found:
        shipped = f", or name {SHIPPED}, which comes with elmlda" if SHIPPED.exists() else ""
        raise ElmldaError(f"no run of yours below results/. Make one with elmlda sweep{shipped}.")
    return max(found, key=lambda folder: (folder / "manifest.json").stat().st_mtime)
