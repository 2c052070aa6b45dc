"""A report's context as a page and as Markdown, by the templates."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined


def render_html(context: dict[str, Any]) -> str:
    """One self-contained page; everything is escaped."""
    return _environment(is_html=True).get_template("report.html.j2").render(context)


def render_markdown(context: dict[str, Any]) -> str:
    """What a repository's page shows; figures are the PNG files beside it."""
    return _environment(is_html=False).get_template("report.md.j2").render(context)


def _environment(is_html: bool) -> Environment:
    environment = Environment(
        loader=PackageLoader("elmlda.reports"),
        autoescape=is_html,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["md"] = _escape_markdown
    environment.filters["code"] = _code_span
    environment.filters["fence"] = _choose_fence
    return environment


def _code_span(value: object) -> str:
    """Text for between two backticks, where nothing can be escaped."""
    return " ".join(str(value).split()).replace("`", "'")


def _choose_fence(lines: Sequence[str]) -> str:
    """Backticks that these lines of code do not end, three or more."""
    longest = max((len(run) for run in re.findall("`+", "\n".join(lines))), default=0)
    return "`" * max(3, longest + 1)


def _escape_markdown(value: object) -> str:
    """Text that Markdown takes as it is, also inside a table."""
    text = " ".join(str(value).split())
    for character in "\\`*_[]<>|#&":
        text = text.replace(character, f"\\{character}")
    return text
