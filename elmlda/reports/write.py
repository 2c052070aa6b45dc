"""Make a folder's report and write its files atomically; the same records give the same bytes."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined

from elmlda.errors import ElmldaError
from elmlda.experiments.compare import CompareRecord
from elmlda.reports.choices import make_choices_report, read_choices
from elmlda.reports.claims.rule import Kind, Reading
from elmlda.reports.claims.words import name_verdict
from elmlda.reports.comparison import make_comparison_report
from elmlda.reports.model import Report
from elmlda.reports.records import INDEPENDENT
from elmlda.reports.run import make_run_report
from elmlda.reports.study import is_study, make_study_report
from elmlda.runs.files import write_atomically
from elmlda.runs.manifest import MANIFEST
from elmlda.settings import ACTIVATION_NAMES, REPORT_FORMATS
from elmlda.text import printable
from elmlda.version import __version__

ADVICE = "The records are unchanged: remove the cause and run the same command again."


@dataclass(frozen=True)
class WrittenReport:
    """The report of a folder, and its files."""

    folder: Path
    report: Report
    paths: list[Path]

    def __str__(self) -> str:
        report = self.report
        lines = [f"{self.folder}: {report.headline}"]
        if report.claims:
            lines.append(report.second_line)
        lines += [
            f"{name_verdict(claim)}: {claim.text} ({claim.because})"
            for claim in report.claims
            if claim.kind == Kind.STATEMENT and claim.reading != Reading.CONSTANT
        ]
        lines += [f"Missing: {gap}" for gap in report.gaps]
        pages = [str(path) for path in self.paths if path.suffix in (".md", ".html")]
        n_others = len(self.paths) - len(pages)
        beside = [f"{n_others} tables and figures in {self.folder}"] if n_others else []
        return "\n  ".join([*lines, *pages, *beside])


def report(folder: str | Path, formats: Collection[str] = REPORT_FORMATS) -> WrittenReport:
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
    made = make_report(folder)
    return WrittenReport(folder, made, write_report(made, folder, formats))


def make_report(folder: Path) -> Report:
    """The report of a run, or of a folder of runs."""
    if is_study(folder):
        return make_study_report(folder)
    if (folder / MANIFEST).exists() or not any(folder.glob(f"*/{MANIFEST}")):
        return make_run_report(folder)
    if choices := read_choices(folder):
        return make_choices_report(choices)
    return make_comparison_report(folder)


def find_folders(top: Path) -> list[Path]:
    """All runs below a folder, and the folders of comparisons and studies.

    The runs of `elmlda choices` are reported together only, an independent sweep with the run it is in.
    """
    runs = {path.parent for path in top.rglob(MANIFEST)}
    runs -= {run / INDEPENDENT for run in runs}
    choices = {run for run in runs if run.name.partition("-")[0] in ACTIVATION_NAMES}
    together = {run.parent for run in runs if (run / CompareRecord.FILE).exists() and run.parent != top}
    return sorted(runs - choices | together | {run.parent for run in choices})


def write_report(report: Report, folder: Path, formats: Collection[str] = REPORT_FORMATS) -> list[Path]:
    """Write a report's tables, figures and pages, or those of the formats that are asked for."""
    paths: list[Path] = []
    if "csv" in formats:
        paths += [write_csv(table, folder / f"{name}.csv") for name, table in report.tables.items()]
    files: dict[str, bytes] = {}
    if "figures" in formats:
        for figure in report.figures:
            files |= {f"{figure.name}.{suffix}": content for suffix, content in figure.files.items()}
    if "md" in formats:
        files[f"{report.stem}.md"] = render_markdown(report).encode()
    if "html" in formats:
        files[f"{report.stem}.html"] = render_html(report).encode()
    return paths + [_write(content, folder / name) for name, content in files.items()]


def render_html(report: Report) -> str:
    """One self-contained page; everything is escaped."""
    return _render(report, "report.html.j2", is_html=True)


def render_markdown(report: Report) -> str:
    """Markdown; figures are the PNG files beside it."""
    return _render(report, "report.md.j2", is_html=False)


def _render(report: Report, template: str, is_html: bool) -> str:
    environment = Environment(
        loader=PackageLoader("elmlda.reports"),
        autoescape=is_html,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_finalize if is_html else None,
    )
    environment.filters |= {"md": _escape_markdown, "code": _code_span, "fence": _choose_fence}
    return environment.get_template(template).render(report=report, version=__version__)


def _finalize(value: object) -> object:
    """Control characters are escaped; what is markup already stays as it is."""
    return printable(value) if type(value) is str else value


def _code_span(value: object) -> str:
    """Text for a code span, where nothing can be escaped."""
    return printable(value).replace("`", "'")


def _choose_fence(lines: Sequence[str]) -> str:
    """A fence of backticks that is longer than any in these lines of code."""
    longest = max((len(run) for run in re.findall("`+", "\n".join(lines))), default=0)
    return "`" * max(3, longest + 1)


def _escape_markdown(value: object) -> str:
    """Text that Markdown takes as it is, also inside a table."""
    return re.sub(r"([\\`*_\[\]<>|#&])", r"\\\1", printable(value))


def write_csv(table: pd.DataFrame, path: Path) -> Path:
    """Write six significant digits: enough for any number here, without rounding noise."""
    return _write(table.to_csv(index=False, float_format="%.6g").encode(), path)


def _write(content: bytes, path: Path) -> Path:
    write_atomically(path, content, ADVICE)
    return path
