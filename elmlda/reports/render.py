"""A report as a page and as Markdown, by the templates."""

from __future__ import annotations

import re
from collections.abc import Sequence

from jinja2 import Environment, PackageLoader, StrictUndefined

from elmlda.reports.model import Report
from elmlda.text import printable
from elmlda.version import __version__


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
