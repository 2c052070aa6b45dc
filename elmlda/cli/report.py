"""elmlda report: tables and figures from stored records."""

from __future__ import annotations

from pathlib import Path

import click

from elmlda.errors import ElmldaError


@click.command()
@click.argument("runs", nargs=-1, type=click.Path(path_type=Path), metavar="[RUN]...")
def report(runs: tuple[Path, ...]) -> None:
    """Write tables and figures beside the paper's, from the records in each RUN's folder.

    RUN is the folder of a run; without one, all runs below results/.
    """
    from elmlda.report.run_report import write_report

    folders = list(runs) or sorted(path.parent for path in Path("results").glob("*/manifest.json"))
    if not folders:
        raise ElmldaError("no run below results/. Make one with elmlda sweep, or name its folder.")
    for folder in folders:
        for path in write_report(folder):
            click.echo(path)
