"""Reports: rows become tables, figures, verdicts and pages.

`load` reads a folder into DataFrames, `stats` computes intervals and tests, `tables`, `claims`,
`differences` and `compare` tabulate, `figures` plots, `page` composes a page, and `render` writes it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from elmlda.datasets import expand_path
from elmlda.errors import ElmldaError
from elmlda.options import checks_names
from elmlda.reports.load import read_records
from elmlda.reports.page import make_group_page, make_run_page
from elmlda.runs.folder import MANIFEST

__all__ = ["FORMATS", "Report", "report"]
FORMATS = ("csv", "svg", "md", "html")
"""Default formats; `png` is the other one."""


@dataclass(frozen=True, repr=False)
class Report:
    """The result of a run in one sentence, and the files that were written."""

    folder: Path
    headline: str
    files: list[Path]

    def __repr__(self) -> str:
        pages = [str(path) for path in self.files if path.suffix in (".md", ".html")]
        n_others = len(self.files) - len(pages)
        others = [f"{n_others} tables and figures in {self.folder}"] if n_others else []
        return "\n  ".join([f"{self.folder}: {self.headline}", *pages, *others])


@checks_names
def report(folder: str | Path, formats: str | Collection[str] | None = None) -> Report:
    """Write the tables, figures and pages of a folder, beside its rows.

    Parameters
    ----------
    folder : folder of a run, or of several runs in subfolders
    formats : one or several of csv, svg, png, md and html; default all but png
    """
    folder = expand_path(folder)
    formats = [formats] if isinstance(formats, str) else list(FORMATS if formats is None else formats)
    if unknown := sorted(set(formats) - {*FORMATS, "png"}):
        raise ElmldaError(f"format is {unknown[0]!r}: expected some of {', '.join(FORMATS)}, png.")
    is_run = (folder / MANIFEST).is_file()
    page = make_run_page(read_records(folder)) if is_run else make_group_page(folder)
    files = [path for suffix in formats for path in page.write(folder, suffix)]
    return Report(folder, page.headline, files)
