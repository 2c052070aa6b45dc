"""The one model of a page, and its templates for Markdown and HTML."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from elmlda.errors import ElmldaError
from elmlda.reports.claims import VERDICTS
from elmlda.reports.style import draw, theme_css
from elmlda.text import format_number, printable
from elmlda.version import __version__

SPEC = re.compile(r"^(.+?) ([+#,.\w]+?)(?: (\w*interval|\w*half))?$")
DIGITS = "%.6g"
"""Of numbers in CSV files: enough for any here, without rounding noise."""


@cache
def read_words() -> dict[str, Any]:
    """Captions, notes and columns, by name."""
    return tomllib.loads((files("elmlda.reports") / "templates/words.toml").read_text("utf-8"))


class Figure:
    """A figure and its words; it is drawn when a file is asked for."""

    def __init__(self, name: str, *plot: Any) -> None:
        self.name, (self.alt, self.caption) = name, read_words()["figures"][name]
        self._draw = partial(draw, *plot)
        self._svg = b""

    def render(self, suffix: str) -> bytes:
        """The file's content; an SVG is drawn once."""
        if suffix != "svg":
            return self._draw(suffix=suffix)
        self._svg = self._svg or self._draw()
        return self._svg

    @property
    def inline(self) -> Markup:
        """The SVG as a part of a page, which has its variables."""
        svg = self.render("svg").decode()
        svg = re.sub(r"<style>.*?</style>", "", svg[svg.index("<svg") :], count=1, flags=re.DOTALL)
        label = f'<svg role="img" aria-label="{escape(printable(self.alt))}" '
        return Markup(svg.replace("<svg ", label, 1))  # matplotlib has escaped all texts


@dataclass(frozen=True)
class Section:
    """A heading and its content; tables are DataFrames from `show`, empty parts are left out."""

    key: str
    title: str
    figures: Sequence[Figure] = ()
    tables: Sequence[pd.DataFrame] = ()
    lines: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Page:
    """The report of a run, or of several.

    Attributes
    ----------
    tone : of the headline: good, bad or open
    lines : what follows the headline
    tables : name of a CSV file -> its content
    made : how the numbers were made: names and values; commands
    """

    title: str
    headline: str
    tone: str = "open"
    lines: Sequence[str] = ()
    sections: Sequence[Section] = ()
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    verdicts: pd.DataFrame = field(default_factory=pd.DataFrame)
    notes: str = ""
    made: Sequence[tuple[str, str]] = ()
    commands: Sequence[str] = ()

    def write(self, folder: Path, suffix: str) -> Iterator[Path]:
        """Write the page (`md`, `html`), its tables (`csv`) or its figures (`svg`, `png`)."""
        if suffix == "csv":
            for name, table in self.tables.items():
                yield _write(folder / f"{name}.csv", table.to_csv(index=False, float_format=DIGITS))
        elif suffix in ("md", "html"):
            yield _write(folder / f"report.{suffix}", self.render(suffix))
        else:
            for figure in (figure for section in self.sections for figure in section.figures):
                yield _write(folder / f"{figure.name}.{suffix}", figure.render(suffix))

    def render(self, suffix: str) -> str:
        """The page as text; in HTML everything is escaped."""
        is_html = suffix == "html"
        environment = Environment(
            loader=PackageLoader("elmlda.reports"), autoescape=is_html, undefined=StrictUndefined,
            trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
            finalize=_printable if is_html else None,
        )  # fmt: skip
        environment.filters |= {"md": escape_markdown, "plain": printable}
        css = Markup(theme_css(":root"))
        template = environment.get_template(f"report.{suffix}.j2")
        words = {"notes": read_words()["notes"], "version": __version__, "verdicts": VERDICTS}
        return template.render(page=self, css=css, **words)


def _write(path: Path, content: str | bytes) -> Path:
    """Write all of the file or nothing."""
    new = path.with_name(f".{path.name}.new")
    try:
        new.write_bytes(content if isinstance(content, bytes) else content.encode())
        new.replace(path)
    except OSError as error:
        new.unlink(missing_ok=True)
        reason = error.strerror or str(error)
        raise ElmldaError(f"{path}: can't be written ({reason}). The rows are unchanged.") from error
    return path


def show(table: pd.DataFrame, caption: str, columns: str | list[str]) -> pd.DataFrame:
    """The table as text; columns are a list as in templates/words.toml, or the name of one there."""
    shown, titles, words, extra = [], [], [], []
    for line in read_words()["columns"][columns] if isinstance(columns, str) else columns:
        title, _, rest = line.partition(" | ")
        name, form, half = SPEC.findall(rest)[0]
        if name in table and table[name].notna().any() and not table[name].eq("").all():
            shown.append([_format(row, name, form, half) for _, row in table.iterrows()])
            titles.append(title.removeprefix("+"))
            words.append(form == "s")
            extra.append(title.startswith("+"))
    frame = pd.DataFrame(list(zip(*shown, strict=True)), columns=titles)
    frame.attrs |= {"caption": caption, "words": words, "extra": extra}
    return frame


def _format(row: pd.Series[Any], name: str, form: str, half: str) -> str:
    value = row[name]
    if pd.isna(value):
        return ""
    if form == "s":
        return str(value)
    text = format_number(value, form)
    if form == ".2g" and value < 1e-12:  # 0: of 10,000 simulated runs
        text = "< 1e−12" if value > 0 else "< 0.0001"
    if half and not pd.isna(row[half]):
        text += f" ± {format_number(row[half], form.removeprefix('+'))}"
    return text


def escape_markdown(value: object) -> str:
    """Text that Markdown takes as it is, also inside a table."""
    return re.sub(r"([\\`*_\[\]<>|#&])", r"\\\1", printable(value))


def _printable(value: object) -> object:
    """Control characters are escaped; what is markup already stays as it is."""
    return printable(value) if type(value) is str else value
