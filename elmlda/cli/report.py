"""elmlda report: tables, figures, verdicts and pages from stored records."""

from __future__ import annotations

from pathlib import Path

import click

from elmlda.cli.command import Command, flag, option
from elmlda.cli.terminal import say
from elmlda.cli.values import PATH
from elmlda.errors import ElmldaError
from elmlda.experiments.options import OUTPUT
from elmlda.settings import REPORT_FORMATS


@click.command(cls=Command)
@click.argument("runs", nargs=-1, type=PATH, metavar="[RUN]...")
@option(
    "--format formats",
    "Make only this; may be given several times.  [default: all]",
    click.Choice(REPORT_FORMATS),
    multiple=True,
    group=OUTPUT,
)
@flag("--open opens", "Open the page in the browser afterwards.", group=OUTPUT)
def report(runs: tuple[Path, ...], formats: tuple[str, ...], opens: bool) -> None:
    """Make tables, figures and pages beside the paper's from the records in each RUN's folder.

    RUN is the folder of a run, or the --out of elmlda compare, shaped or choices; without one, all
    below results/. Writes into that folder CSV tables (table1, table2, ensemble_table, claims),
    figures as PNG and SVG, report.md, and report.html, a page that needs no other file. Nothing is
    trained: a run that is not finished gives a report of what it has.
    """
    from elmlda.reports.write import find_folders
    from elmlda.reports.write import report as make_report

    wanted = formats or REPORT_FORMATS
    if opens and "html" not in wanted:
        raise click.UsageError("--open needs the page: add --format html.")
    folders = list(runs) or find_folders(Path("results"))
    if not folders:
        raise ElmldaError("no run below results/. Make one with elmlda sweep, or name its folder.")
    for folder in folders:
        say(make_report(folder, wanted))
        if opens:
            click.launch((folder / "report.html").absolute().as_uri())
