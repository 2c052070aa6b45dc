"""Render a page as Markdown and HTML, and its figures as SVG, PNG or PDF.

Figures don't depend on the user's matplotlibrc: the same numbers give the same bytes.
"""

from __future__ import annotations

import base64
import io
import os
import re
import tomllib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np
import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup

from elmlda import __version__
from elmlda.errors import printable
from elmlda.reports.figures import DARK, WIDTH
from elmlda.runs.folder import write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

COLUMN = re.compile(r"^(.+?) \| (.+?) (\S+?)(?: (\w*interval|\w*half))?$")
"""A column in templates/words.toml."""
DIGITS = "%.6g"
"""Format of numbers in CSV files: more digits are rounding noise."""
METADATA: dict[str, Any] = {
    "png": {"Software": None}, "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}  # fmt: skip


@cache
def read_words() -> dict[str, Any]:
    """Read the page's words, captions, notes and columns, by name."""
    return tomllib.loads((files("elmlda.reports") / "templates/words.toml").read_text("utf-8"))


@contextmanager
def use_style() -> Iterator[None]:
    """Apply the style of all figures, whatever the user's matplotlibrc or notebook says."""
    with patch.dict(os.environ):
        # A notebook's backend may be missing here; importing matplotlib would fail.
        os.environ.pop("MPLBACKEND", None)
        import matplotlib.style

    sheet = Path(__file__).with_name("templates") / "elmlda.mplstyle"
    with matplotlib.style.context(sheet, after_reset=True), warnings.catch_warnings():
        # The page's font may have letters of a dataset's name that matplotlib's font lacks.
        warnings.filterwarnings("ignore", "Glyph .* missing|Matplotlib currently does not support")
        yield


class Figure:
    """A figure, which is drawn when it is needed."""

    def __init__(
        self, name: str, plot: Callable[..., None], table: pd.DataFrame, *options: Any
    ) -> None:
        self.name, self.table, self._plot, self._options = name, table, plot, options

    def make(self, width: float = WIDTH) -> Canvas:
        """Return the figure of matplotlib, one or two columns of a journal wide."""
        with use_style():
            from matplotlib.figure import Figure as Canvas

            canvas = Canvas(figsize=(width, 2.6), layout="constrained")
            self._plot(canvas, self.table, *self._options)
        return canvas

    def draw(self, suffix: str, width: float = WIDTH) -> bytes:
        """Return the content of a file in this format."""
        canvas, content = self.make(width), io.BytesIO()
        with use_style():
            canvas.savefig(content, format=suffix, dpi=300, metadata=METADATA[suffix])
        return content.getvalue()

    @property
    def svg(self) -> str:
        """The SVG file, with colours for light and dark screens."""
        style = f"<style>{theme_css('svg')}</style>"
        return re.sub(r"(<svg [^>]*>)", rf"\1{style}", _use_variables(self.draw("svg")), count=1)

    def data_uri(self, width: float = WIDTH) -> str:
        """Return a PNG image for a notebook, whose page may have any colours."""
        return f"data:image/png;base64,{base64.b64encode(self.draw('png', width)).decode()}"

    def inline(self, width: float = WIDTH) -> Markup:
        """Return SVG markup for a page, whose CSS variables are the colours."""
        # matplotlib has escaped all text.
        return Markup(_use_variables(self.draw("svg", width)))


@dataclass(frozen=True, kw_only=True)
class Page:
    """The report of one or several runs.

    Attributes
    ----------
    intro : name of the words that explain the experiment
    result : sentences that say what came out
    figures, tables : by the name of their file; templates/words.toml says in which section they are
    is_papers : whether the paper's numbers apply
    missing : what a partial run lacks -> the command that computes it
    notes : Markdown of NOTES.md
    rows : files with the rows, relative to the page's folder
    made : how the run was made, as "name: value"
    settings : every option that has an effect on the networks, defaults too
    """

    title: str
    intro: str
    result: Sequence[str]
    figures: Mapping[str, Figure]
    tables: Mapping[str, pd.DataFrame]
    is_papers: bool = False
    missing: Mapping[str, str] = field(default_factory=dict)
    notes: str = ""
    rows: Sequence[str] = ()
    made: Sequence[str] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    commands: Sequence[str] = ()

    def write(self, folder: Path, suffix: str) -> Iterator[Path]:
        """Write the page (`md`, `html`), its tables (`csv`) or its figures (`svg`, `png`, `pdf`)."""
        for name, content in self._render(suffix):
            path = folder / f"{name}.{suffix}"
            content = content if isinstance(content, bytes) else content.encode()
            write_atomically(path, content)
            yield path

    def _render(self, suffix: str) -> Iterator[tuple[str, str | bytes]]:
        if suffix == "csv":
            for name, table in self.tables.items():
                if len(table):
                    yield name, table.to_csv(index=False, float_format=DIGITS)
        elif suffix in ("md", "html"):
            yield "report", self.fill_template(f"report.{suffix}.j2")
        else:
            for name, figure in self.figures.items():
                yield name, figure.svg if suffix == "svg" else figure.draw(suffix)

    def fill_template(self, name: str) -> str:
        """Return the page in HTML or Markdown, or the part of it that a notebook shows."""
        tables = [f"{name}.csv" for name, table in self.tables.items() if len(table)]
        shown = {n: show(t, n, self.intro == "mnist") for n, t in self.tables.items() if len(t)}
        if (sizes := shown.get("ensemble_table")) is not None:
            shown["some_ensembles"] = sizes[sizes["Networks"].isin(["1", "2", "5", "10", "20"])]
        return _environment(".html" in name).get_template(name).render(
            page=self, shown=shown, words=read_words(),
            links={"Tables of this page": tables, "Recorded rows": self.rows},
            css=Markup(theme_css(":root")), version=__version__, width=WIDTH,
        )  # fmt: skip


def _environment(is_html: bool) -> Environment:
    environment = Environment(
        loader=PackageLoader("elmlda.reports"), autoescape=is_html, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
        finalize=lambda value: printable(value) if is_html and type(value) is str else value,
    )  # fmt: skip
    filters = {"md": escape_markdown, "plain": printable, "html": render_markdown}
    environment.filters |= {**filters, "number": format_number}
    return environment


def render_lines(template: str, **data: Any) -> list[str]:
    """Return the lines of a template of plain text, without empty lines."""
    text = _environment(is_html=False).get_template(template).render(data)
    return [line.strip() for line in text.splitlines() if line.strip()]


def show(table: pd.DataFrame, name: str, by_fanout: bool) -> pd.DataFrame:
    """Return the table as text, with the caption and the columns that templates/words.toml has for it.

    A column without any value is left out, and ridges if there is only one, and numbers of combined
    networks if all are 1. A table that the file has no columns for has the paper's shape; its row that
    begins with % has one decimal.
    """
    words = read_words()["tables"][name]
    if "columns" not in words:
        return _show_shape(table, words, "Fan-out" if by_fanout else "Hidden units")
    usual = {"ridge": table["ridge"].iloc[0] if "ridge" in table else "", "networks": 1}
    table = table.drop(columns=[c for c in usual if c in table and (table[c] == usual[c]).all()])
    table = table.replace({"region_low": {-100.0: np.nan}})  # a time can't shrink by more
    columns = [columns for line in words["columns"] for columns in COLUMN.findall(line)]
    shown = [c for c in columns if c[1] in table and not table[c[1]].replace("", None).isna().all()]
    cells = [[_format(row, *column) for _, *column in shown] for _, row in table.iterrows()]
    frame = pd.DataFrame(cells, columns=[title for title, *_ in shown])
    terms = [text for title, text in read_words()["terms"].items() if title in frame]
    frame.attrs |= {"caption": words["caption"], "words": [c[2] == "s" for c in shown]}
    frame.attrs["terms"] = " ".join(terms)
    return frame


def _show_shape(table: pd.DataFrame, words: Mapping[str, Any], sizes: str) -> pd.DataFrame:
    has_paper, rows = "paper" in set(table["source"]), []
    for method, source, *values in table.itertuples(index=False):
        form = ".1f" if method.startswith("%") else words["form"]
        cells = ["" if pd.isna(v) else format_number(v, form).rstrip(".") for v in values]
        rows.append([f"{method}, {source}" if has_paper else method, *cells])
    frame = pd.DataFrame(rows, columns=[sizes, *table.columns[2:]])
    frame.attrs |= {"caption": words["caption"], "words": [True, *[False] * (len(frame.columns) - 1)]}
    return frame


def _format(row: pd.Series[Any], column: str, form: str, half: str) -> str:
    value = row[column]
    if form == "s" or not np.isfinite(value):
        return str(value) if form == "s" and pd.notna(value) else ""
    text = format_number(value, form)
    if half and not pd.isna(row[half]):
        text += f" ± {format_number(row[half], form.removeprefix('+'))}"
    return text


def format_number(value: float, form: str) -> str:
    """Format with a minus sign instead of a hyphen; what rounds to zero has no minus sign."""
    text = format(value, form)
    if not text.strip("+-0."):
        text = format(0.0, form)
    return text.replace("-", "−")


def escape_markdown(value: object) -> str:
    """Escape what has a meaning in Markdown, also inside a table."""
    return re.sub(r"([\\`*_\[\]<>|#&])", r"\\\1", printable(value))


def render_markdown(text: str) -> Markup:
    """Render Markdown as HTML, without HTML and images of its own."""
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    return Markup(markdown.render(text))


def theme_css(selector: str) -> str:
    """Return the CSS variables for the figures' colours, on light and dark pages."""
    light = "".join(f"--{color[1:]}:{color};" for color in DARK)
    dark = "".join(f"--{color[1:]}:{other};" for color, other in DARK.items())
    rules = f"{selector}{{{dark}}}image{{filter:invert(1)}}"
    return f"{selector}{{{light}}}@media screen and (prefers-color-scheme:dark){{{rules}}}"


def _use_variables(content: bytes) -> str:
    """Replace colours by CSS variables, and drop digits and names that nobody needs."""
    svg = content.decode()
    svg = svg[svg.index("<svg") :]  # the version in the XML declaration is not a number to round
    for color in DARK:
        svg = svg.replace(color, f"var(--{color[1:]})")
    in_quotes, number = re.compile(r'"[^"]*"'), re.compile(r"-?\d+\.\d+")
    svg = in_quotes.sub(lambda text: number.sub(lambda n: f"{float(n[0]):.5g}", text[0]), svg)
    return re.sub(r'<g id="[^"]*">', "<g>", svg)
