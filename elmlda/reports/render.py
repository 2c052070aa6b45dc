"""Render a page as Markdown and HTML, and its figures as SVG or PNG.

Figures don't depend on the user's matplotlibrc: the same numbers give the same bytes.
"""

from __future__ import annotations

import io
import os
import re
import tomllib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from elmlda import __version__
from elmlda.errors import printable
from elmlda.reports.claims import VERDICTS
from elmlda.reports.figures import DARK, WIDTH
from elmlda.runs.folder import write_atomically

COLUMN = re.compile(r"^(\+?)(.+?) \| (.+?) (\S+?)(?: (\w*interval|\w*half))?$")
"""A column in templates/words.toml."""
DIGITS = "%.6g"
"""Format of numbers in CSV files: more digits are rounding noise."""
METADATA: dict[str, Any] = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}


@cache
def read_words() -> dict[str, Any]:
    """Read captions, notes and columns, by name."""
    return tomllib.loads((files("elmlda.reports") / "templates/words.toml").read_text("utf-8"))


class Figure:
    """A figure, which is drawn when it is needed."""

    def __init__(self, name: str, plot: Callable[..., None], *data: Any) -> None:
        self.name, self._plot, self._data = name, plot, data

    @cached_property
    def svg(self) -> str:
        """The SVG file."""
        return _use_variables(self.draw("svg").decode())

    @property
    def inline(self) -> Markup:
        """SVG markup for inlining. Its colours refer to the page's CSS variables."""
        # matplotlib has escaped all text.
        return Markup(re.sub(r"<style>.*?</style>", "", self.svg, count=1, flags=re.DOTALL))

    def draw(self, suffix: str) -> bytes:
        """Draw the figure with matplotlib."""
        with patch.dict(os.environ):
            # A notebook's backend may be missing here; importing matplotlib would fail.
            os.environ.pop("MPLBACKEND", None)
            import matplotlib.style
            from matplotlib.figure import Figure

        sheet = Path(__file__).with_name("templates") / "elmlda.mplstyle"
        with matplotlib.style.context(sheet, after_reset=True), warnings.catch_warnings():
            # The page's font may have letters of a dataset's name that matplotlib's font lacks.
            warnings.filterwarnings("ignore", "Glyph .* missing|Matplotlib currently does not support")
            figure = Figure(figsize=(WIDTH, 3.4), layout="constrained")
            self._plot(figure, *self._data)
            content = io.BytesIO()
            figure.savefig(content, format=suffix, dpi=200, metadata=METADATA[suffix])
        return content.getvalue()


@dataclass(frozen=True)
class Section:
    """A heading and the figures and tables below it; tables are made by `show`."""

    key: str
    title: str
    figures: Sequence[Figure] = ()
    tables: Sequence[pd.DataFrame] = ()


@dataclass(frozen=True, kw_only=True)
class Page:
    """The report of one or several runs.

    Attributes
    ----------
    tables : name of a CSV file -> its table
    notes : Markdown of NOTES.md
    rows : files with the rows, relative to the page's folder
    settings : names and values
    """

    title: str
    headline: str
    sections: Sequence[Section] = ()
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    notes: str = ""
    rows: Sequence[str] = ()
    settings: Sequence[tuple[str, str]] = ()
    commands: Sequence[str] = ()

    def write(self, folder: Path, suffix: str) -> Iterator[Path]:
        """Write the page (`md`, `html`), its tables (`csv`) or its figures (`svg`, `png`)."""
        for name, content in self._render(suffix):
            path = folder / f"{name}.{suffix}"
            content = content if isinstance(content, bytes) else content.encode()
            write_atomically(path, content, "The rows are unchanged.")
            yield path

    def _render(self, suffix: str) -> Iterator[tuple[str, str | bytes]]:
        if suffix == "csv":
            for name, table in self.tables.items():
                if len(table):
                    yield name, table.to_csv(index=False, float_format=DIGITS)
        elif suffix in ("md", "html"):
            yield "report", self._fill_template(suffix)
        else:
            for figure in (figure for section in self.sections for figure in section.figures):
                yield figure.name, figure.svg if suffix == "svg" else figure.draw(suffix)

    def _fill_template(self, suffix: str) -> str:
        is_html = suffix == "html"
        environment = Environment(
            loader=PackageLoader("elmlda.reports"), autoescape=is_html, undefined=StrictUndefined,
            trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
            finalize=_printable if is_html else None,
        )  # fmt: skip
        environment.filters |= {"md": escape_markdown, "plain": printable}
        tables = [f"{name}.csv" for name, table in self.tables.items() if len(table)]
        return environment.get_template(f"report.{suffix}.j2").render(
            page=self, links={"tables": tables, "rows": self.rows}, words=read_words(),
            css=Markup(theme_css(":root")), version=__version__, verdicts=VERDICTS,
        )  # fmt: skip


def show(table: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return the table as text, with the columns and the caption that templates/words.toml has for it.

    A column without any value is left out.
    """
    words = read_words()["tables"][name]
    columns = [columns for line in words["columns"] for columns in COLUMN.findall(line)]
    shown = [c for c in columns if c[2] in table and not table[c[2]].replace("", None).isna().all()]
    cells = [[_format(row, *column) for _, _, *column in shown] for _, row in table.iterrows()]
    frame = pd.DataFrame(cells, columns=[title for _, title, *_ in shown])
    is_text, is_extra = [c[3] == "s" for c in shown], [c[0] == "+" for c in shown]
    frame.attrs |= {"name": name, "caption": words["caption"], "words": is_text, "extra": is_extra}
    return frame


def _format(row: pd.Series[Any], column: str, form: str, half: str) -> str:
    value = row[column]
    if pd.isna(value) or form == "s":
        return "" if pd.isna(value) else str(value)
    text = format_number(value, form)
    if form == ".2g" and value < 1e-12:
        text = "< 1e−12"
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


def _printable(value: object) -> object:
    """Escape control characters, except in markup."""
    return printable(value) if type(value) is str else value


def theme_css(selector: str) -> str:
    """Return the CSS variables for the figures' colours, on light and dark pages."""
    light = "".join(f"--{color[1:]}:{color};" for color in DARK)
    dark = "".join(f"--{color[1:]}:{other};" for color, other in DARK.items())
    media = "@media screen and (prefers-color-scheme:dark)"
    return f"{selector}{{{light}}}{media}{{{selector}{{{dark}}}}}"


def _use_variables(svg: str) -> str:
    """Replace colours by CSS variables, and drop digits and names that nobody needs."""
    svg = svg[svg.index("<svg") :]  # the version in the XML declaration is not a number to round
    for color in DARK:
        svg = svg.replace(color, f"var(--{color[1:]})")
    in_quotes, number = re.compile(r'"[^"]*"'), re.compile(r"-?\d+\.\d+")
    svg = in_quotes.sub(lambda text: number.sub(lambda n: f"{float(n[0]):.5g}", text[0]), svg)
    svg = re.sub(r'<g id="[^"]*">', "<g>", svg)
    return re.sub(r"(<svg [^>]*>)", rf"\1<style>{theme_css('svg')}</style>", svg, count=1)
