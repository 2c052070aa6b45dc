"""Files: the one model of a page, its templates for Markdown and HTML, and figures as SVG or PNG.

Nothing here depends on the user's matplotlibrc, backend or locale: the same numbers, the same bytes.
"""

from __future__ import annotations

import io
import os
import re
import tomllib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from elmlda import __version__
from elmlda.errors import ElmldaError, printable
from elmlda.reports.claims import VERDICTS
from elmlda.reports.figures import DARK, WIDTH

SPEC = re.compile(r"^(.+?) ([+#,.\w]+?)(?: (\w*interval|\w*half))?$")
DIGITS = "%.6g"
"""Digits of numbers in CSV files: enough for any here, without rounding noise."""


METADATA: dict[str, Any] = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}


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
        svg = re.sub(r"<style>.*?</style>", "", svg, count=1, flags=re.DOTALL)
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
    rows : files that the numbers come from, below the page's folder
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
    rows: Sequence[str] = ()
    made: Sequence[tuple[str, str]] = ()
    commands: Sequence[str] = ()

    @property
    def links(self) -> dict[str, list[str]]:
        """Kind of file -> the files of that kind."""
        tables = [f"{name}.csv" for name, table in self.tables.items() if len(table)]
        return {"tables": tables, "rows": list(self.rows)}

    def write(self, folder: Path, suffix: str) -> Iterator[Path]:
        """Write the page (`md`, `html`), its tables (`csv`) or its figures (`svg`, `png`)."""
        if suffix == "csv":
            for name, table in self.tables.items():
                if len(table):
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


# Figures


def draw(plot: Callable[..., None], *args: Any, suffix: str = "svg", **options: Any) -> bytes:
    """The file's content; `plot` draws on an empty figure and may change its size."""
    with _plain_environment():
        import matplotlib
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        with matplotlib.rc_context(), warnings.catch_warnings():
            matplotlib.rcdefaults()
            sheet = Path(__file__).with_name("templates") / "elmlda.mplstyle"
            matplotlib.rcParams.update(
                matplotlib.rc_params_from_file(sheet, use_default_template=False)
            )
            # A name may have letters that the font lacks: the page's font may have them.
            warnings.filterwarnings("ignore", "Glyph .* missing|Matplotlib currently does not support")
            figure = Figure(figsize=(WIDTH, 3.4), layout="constrained")
            FigureCanvasAgg(figure)
            plot(figure, *args, **options)
            content = io.BytesIO()
            figure.savefig(content, format=suffix, dpi=200, metadata=METADATA[suffix])
    return _theme(content.getvalue().decode()).encode() if suffix == "svg" else content.getvalue()


def theme_css(selector: str) -> str:
    """The variables that figures take their colours from."""
    light = "".join(f"--{color[1:]}:{color};" for color in DARK)
    dark = "".join(f"--{color[1:]}:{other};" for color, other in DARK.items())
    media = "@media screen and (prefers-color-scheme:dark)"
    return f"{selector}{{{light}}}{media}{{{selector}{{{dark}}}}}"


def _theme(svg: str) -> str:
    """Variables for colours, and no more digits or names than are needed."""
    svg = svg[svg.index("<svg") :]  # without the XML declaration, whose version is no number to round
    for color in DARK:
        svg = svg.replace(color, f"var(--{color[1:]})")
    in_quotes, number = re.compile(r'"[^"]*"'), re.compile(r"-?\d+\.\d+")
    svg = in_quotes.sub(lambda text: number.sub(lambda n: f"{float(n[0]):.5g}", text[0]), svg)
    svg = re.sub(r'<g id="[^"]*">', "<g>", svg)
    return re.sub(r"(<svg [^>]*>)", rf"\1<style>{theme_css('svg')}</style>", svg, count=1)


@contextmanager
def _plain_environment() -> Iterator[None]:
    """Without variables that make matplotlib fail: an unknown backend or locale, an invalid date."""
    names = ("MPLBACKEND", "SOURCE_DATE_EPOCH", "LC_ALL")
    kept = {name: os.environ.pop(name) for name in names if name in os.environ}
    os.environ["LC_ALL"] = "C"
    try:
        yield
    finally:
        del os.environ["LC_ALL"]
        os.environ.update(kept)


def format_number(value: float, form: str) -> str:
    """Format with a minus sign instead of a hyphen, and none for what rounds to zero."""
    text = format(value, form)
    if not text.strip("+-0."):
        text = format(0.0, form)
    return text.replace("-", "−")
