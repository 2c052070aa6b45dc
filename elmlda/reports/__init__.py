"""Reports: a folder's rows as tables, figures, verdicts and pages.

`load` reads a folder into DataFrames, `stats` has intervals and tests, `tables`, `claims`,
`differences` and `compare` make DataFrames of DataFrames, `figures` draws them, `page` says what a page
has, and `render` writes it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from markupsafe import escape

from elmlda.errors import ElmldaError, printable
from elmlda.reports.load import read_run
from elmlda.reports.page import make_group_page, make_run_page
from elmlda.runs.folder import MANIFEST

__all__ = ["FORMATS", "Report", "report"]
FORMATS = ("csv", "svg", "md", "html")
"""What a report writes unless it is told otherwise; `png` can be asked for."""


@dataclass(frozen=True, repr=False)
class Report:
    """What was found in a folder, and the files that say so.

    Attributes
    ----------
    headline : the answer in one sentence
    verdicts : a row for each claim of the paper; empty if its numbers can't be compared
    lines : what was not run, or left out
    """

    folder: Path
    headline: str
    verdicts: pd.DataFrame
    files: list[Path]
    lines: tuple[str, ...] = ()

    def __str__(self) -> str:
        pages = [str(path) for path in self.files if path.suffix in (".md", ".html")]
        others = len(self.files) - len(pages)
        beside = [f"{others} tables and figures in {self.folder}"] if others else []
        return "\n  ".join([f"{self.folder}: {self.headline}", *self.lines, *pages, *beside])

    def __repr__(self) -> str:
        return f"<Report of {self.folder}: {self.headline}>"

    def _repr_html_(self) -> str:
        columns = ["claim", "paper", "ours", "low", "high", "z", "verdict"]
        shown = self.verdicts.reindex(columns=columns)
        table = shown.round(3).to_html(index=False, na_rep="") if len(shown) else ""
        return f"<p><strong>{escape(printable(self.headline))}</strong></p>{table}"


def report(folder: str | Path, formats: Collection[str] | None = None) -> Report:
    """Make tables, figures and pages from a folder's rows, and write them there.

    Parameters
    ----------
    folder : of a run; or of several runs, in subfolders, that differ in a setting or in their data
    formats : some of csv, svg, png, md and html; all but png unless given
    """
    folder, wanted = Path(folder), list(FORMATS if formats is None else formats)
    if unknown := sorted(set(wanted) - {*FORMATS, "png"}):
        raise ElmldaError(f"format is {unknown[0]!r}: expected some of {', '.join(FORMATS)}, png.")
    is_run = (folder / MANIFEST).is_file()
    page = make_run_page(read_run(folder)) if is_run else make_group_page(folder)
    files = [path for suffix in wanted for path in page.write(folder, suffix)]
    return Report(folder, page.headline, page.verdicts, files, tuple(page.lines))
