"""The report of a folder, whatever is in it: a run, or the runs of a comparison or a study."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from elmlda.errors import ElmldaError
from elmlda.experiments.compare import CompareRecord
from elmlda.reports.choices import read_choices
from elmlda.reports.choices_page import write_choices
from elmlda.reports.claims import Kind, Reading
from elmlda.reports.comparison import write_summary
from elmlda.reports.headline import summarise, summarise_other_reading
from elmlda.reports.provenance import find_gaps
from elmlda.reports.run_report import WrittenReport, write_report
from elmlda.reports.study import read_study, write_study
from elmlda.runs.manifest import MANIFEST
from elmlda.settings import ACTIVATION_NAMES, INPUT_WEIGHTS, REPORT_FORMATS


@dataclass(frozen=True)
class FolderReport:
    """What was found in a folder, in a few lines, and the files that tell more."""

    folder: Path
    lines: list[str]
    paths: list[Path]

    def __str__(self) -> str:
        first, *others = [*self.lines, *map(str, self.paths)]
        return "\n  ".join([f"{self.folder}: {first}", *others])


def report(folder: str | Path, formats: Collection[str] = REPORT_FORMATS) -> FolderReport:
    """Make tables, figures and pages from a folder's records, and write them there.

    Parameters
    ----------
    folder : of a run, or of the runs that a comparison or a study has made
    formats : some of csv, figures, md and html
    """
    folder = Path(folder)
    unknown = sorted(set(formats) - set(REPORT_FORMATS))
    if unknown:
        known = ", ".join(REPORT_FORMATS)
        raise ElmldaError(f"format is {unknown[0]!r}: expected some of {known}.")
    if (folder / MANIFEST).exists() or not any(folder.glob(f"*/{MANIFEST}")):
        written = write_report(folder, formats)
        return FolderReport(folder, _summarise(written), written.paths)
    finding, paths = _write_together(folder, formats)
    return FolderReport(folder, [finding], paths)


def find_folders(top: Path) -> list[Path]:
    """All runs below a folder, and the folders of comparisons and studies."""
    runs = {path.parent for path in top.rglob(MANIFEST)}
    together = {run.parent for run in runs if (run / CompareRecord.FILE).exists() and run.parent != top}
    together |= {run.parent for run in runs if run.name in INPUT_WEIGHTS and run.parent.name != "tune"}
    together |= {run.parent for run in runs if run.name.partition("-")[0] in ACTIVATION_NAMES}
    return sorted(runs | together)


def _write_together(folder: Path, formats: Collection[str]) -> tuple[str, list[Path]]:
    """The report of a folder of runs, whichever command made them."""
    study = read_study(folder)
    if study:
        return write_study(folder, study, formats)
    choices = read_choices(folder)
    return write_choices(folder, choices, formats) if choices else write_summary(folder, formats)


def _summarise(written: WrittenReport) -> list[str]:
    """What was found, and what is missing."""
    lines = [summarise(written.run, written.claims)[0]]
    if written.claims:
        lines.append(summarise_other_reading(written.claims))
    lines += [
        f"{claim.verdict:16} {claim.text} ({claim.because})"
        for claim in written.claims
        if claim.kind == Kind.STATEMENT and claim.reading != Reading.CONSTANT
    ]
    return lines + [f"Missing: {gap}" for gap in find_gaps(written.run)]
