"""Reports: rows become tables, figures, verdicts and pages.

`load` reads a folder into DataFrames, `stats` computes intervals and tests, `tables`, `claims` and
`differences` tabulate, `figures` plots, `page` composes a page, and `render` writes it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from elmlda.datasets import expand_path
from elmlda.errors import ElmldaError
from elmlda.options import checks_names
from elmlda.reports.page import make_page
from elmlda.reports.render import METADATA, Page

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FORMATS", "Report", "plot", "report"]
FORMATS = ("csv", "svg", "md", "html")
"""Default formats; `png` and `pdf` are the others."""


@dataclass(frozen=True, repr=False)
class Report:
    """The result of a run in a line, and the files that were written."""

    folder: Path
    page: Page
    files: list[Path]

    @property
    def headline(self) -> str:
        """What came out, in the first line of the page's result."""
        return self.page.result[0]

    def __repr__(self) -> str:
        pages = [str(path) for path in self.files if path.suffix in (".md", ".html")]
        n_others = len(self.files) - len(pages)
        others = [f"{n_others} tables and figures in {self.folder}"] if n_others else []
        return "\n  ".join([f"{self.folder}: {self.headline}", *pages, *others])

    def _repr_html_(self) -> str:
        """Show the page's head, tables and figures in a notebook."""
        return self.page.fill_template("notebook.html.j2")


@checks_names
def report(folder: str | Path, formats: str | Collection[str] | None = None) -> Report:
    """Write the tables, figures and pages of a folder, beside its rows.

    Parameters
    ----------
    folder : folder of a run, or of several runs in subfolders
    formats : one or several of csv, svg, png, pdf, md and html; default all but png and pdf
    """
    folder = expand_path(folder)
    formats = [formats] if isinstance(formats, str) else list(FORMATS if formats is None else formats)
    if unknown := sorted(set(formats) - {*FORMATS, *METADATA}):
        known = ", ".join(dict.fromkeys([*FORMATS, *METADATA]))
        raise ElmldaError(f"format is {unknown[0]!r}: expected some of {known}.")
    page = make_page(folder)
    files = [path for suffix in formats for path in page.write(folder, suffix)]
    return Report(folder, page, files)


@checks_names
def plot(folder: str | Path, figure: str = "fig1") -> Figure:
    """Return a figure of a folder's report as a matplotlib Figure.

    Parameters
    ----------
    folder : folder of a run, or of several runs in subfolders
    figure : name of the figure's file without the suffix, such as fig1, fig2 or reliability
    """
    folder = expand_path(folder)
    figures = make_page(folder).figures
    if figure not in figures:
        raise ElmldaError(f"{folder}: no figure {figure!r}: expected one of {', '.join(figures)}.")
    return figures[figure].make()
