"""elmlda report: tables, figures, verdicts and pages from stored records."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from elmlda.errors import ElmldaError
from elmlda.settings import ACTIVATION_NAMES, INPUT_WEIGHTS, REPORT_FORMATS

if TYPE_CHECKING:
    from collections.abc import Collection

    from elmlda.report.run_report import WrittenReport


@click.command()
@click.argument("runs", nargs=-1, type=click.Path(path_type=Path), metavar="[RUN]...")
@click.option(
    "--format",
    "formats",
    type=click.Choice(REPORT_FORMATS),
    multiple=True,
    help="Make only this; may be given several times.  [default: all]",
)
@click.option("--open", "opens", is_flag=True, help="Open the page in the browser afterwards.")
def report(runs: tuple[Path, ...], formats: tuple[str, ...], opens: bool) -> None:
    """Make tables, figures and pages beside the paper's from the records in each RUN's folder.

    RUN is the folder of a run, or the --out of elmlda compare, shaped or choices; without one, all
    below results/. Writes into that folder CSV tables (table1, table2, ensemble_table, claims),
    figures as PNG and SVG, report.md, and report.html, a page that needs no other file. Nothing is
    trained: a run that is not finished gives a report of what it has.
    """
    from elmlda.report.run_report import write_report
    from elmlda.runs.manifest import MANIFEST

    wanted = formats or REPORT_FORMATS
    if opens and "html" not in wanted:
        raise click.UsageError("--open needs the page: add --format html.")
    folders = list(runs) or _find_folders(Path("results"))
    if not folders:
        raise ElmldaError("no run below results/. Make one with elmlda sweep, or name its folder.")
    for folder in folders:
        if not (folder / MANIFEST).exists() and any(folder.glob(f"*/{MANIFEST}")):
            finding, paths = _write_together(folder, wanted)
            click.echo("\n  ".join([f"{folder}: {finding}", *map(str, paths)]))
        else:
            click.echo(format_summary(write_report(folder, wanted)))
        if opens:
            click.launch((folder / "report.html").absolute().as_uri())


def _write_together(folder: Path, formats: Collection[str]) -> tuple[str, list[Path]]:
    """The report of a folder of runs, whichever command made them."""
    from elmlda.report.choices import read_choices
    from elmlda.report.choices_page import write_choices
    from elmlda.report.comparison import write_summary
    from elmlda.report.study import read_study, write_study

    study = read_study(folder)
    if study:
        return write_study(folder, study, formats)
    choices = read_choices(folder)
    return write_choices(folder, choices, formats) if choices else write_summary(folder, formats)


def _find_folders(top: Path) -> list[Path]:
    """All runs, and the folders of comparisons."""
    from elmlda.experiments.compare import CompareRecord
    from elmlda.runs.manifest import MANIFEST

    runs = {path.parent for path in top.rglob(MANIFEST)}
    together = {run.parent for run in runs if (run / CompareRecord.FILE).exists() and run.parent != top}
    together |= {run.parent for run in runs if run.name in INPUT_WEIGHTS and run.parent.name != "tune"}
    together |= {run.parent for run in runs if run.name.partition("-")[0] in ACTIVATION_NAMES}
    return sorted(runs | together)


def format_summary(written: WrittenReport) -> str:
    """What was found, what is missing, and where to look."""
    from elmlda.report.claims import Kind, Reading
    from elmlda.report.headline import summarise, summarise_other_reading
    from elmlda.report.provenance import find_gaps

    lines = [f"{written.run.folder}: {summarise(written.run, written.claims)[0]}"]
    if written.claims:
        lines.append(f"  {summarise_other_reading(written.claims)}")
    lines += [
        f"  {claim.verdict:16} {claim.text} ({claim.because})"
        for claim in written.claims
        if claim.kind == Kind.STATEMENT and claim.reading != Reading.CONSTANT
    ]
    lines += [f"  Missing: {gap}" for gap in find_gaps(written.run)]
    lines += [f"  {path}" for path in written.paths]
    return "\n".join(lines)
