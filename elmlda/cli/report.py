"""elmlda report: tables, figures, verdicts and pages from stored records."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from elmlda.errors import ElmldaError

if TYPE_CHECKING:
    from elmlda.report.run_report import WrittenReport

FORMATS = ("csv", "figures", "md", "html")


@click.command()
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
    """Make tables, figures and pages beside the paper's from the records in each RUN's folder.

    RUN is the folder of a run; without one, all runs below results/. Writes into that folder CSV
    tables (table1, table2, ensemble_table, claims), figures as PNG and SVG, report.md, and
    report.html, a page that needs no other file. Nothing is trained: a run that is not finished
    gives a report of what it has.
    """
    from elmlda.report.run_report import write_report

    wanted = formats or FORMATS
    if opens and "html" not in wanted:
        raise click.UsageError("--open needs the page: add --format html.")
    folders = list(runs) or sorted(path.parent for path in Path("results").rglob("manifest.json"))
    if not folders:
        raise ElmldaError("no run below results/. Make one with elmlda sweep, or name its folder.")
    for folder in folders:
        click.echo(format_summary(write_report(folder, wanted)))
        if opens:
            click.launch((folder / "report.html").absolute().as_uri())


def format_summary(written: WrittenReport) -> str:
    """What was found, what is missing, and where to look."""
    from elmlda.report.page import summarise, summarise_cells
    from elmlda.report.provenance import find_gaps

    lines = [f"{written.run.folder}: {summarise(written.run, written.claims)[0]}"]
    lines += [
        f"  {claim.verdict:20} {claim.text} ({claim.because})"
        for claim in written.claims
        if not claim.is_cell
    ]
    if written.claims:
        lines.append(f"  {summarise_cells(written.claims)}")
    lines += [f"  Missing: {gap}" for gap in find_gaps(written.run)]
    lines += [f"  {path}" for path in written.paths]
    return "\n".join(lines)
