"""The report model: every report is a `Report`, the only thing that `elmlda.reports.write` knows."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pandas as pd
from markupsafe import Markup

from elmlda.reports.claims.rule import Claim
from elmlda.reports.plots import Plot, draw
from elmlda.text import format_number


@dataclass(frozen=True)
class Cell:
    """A cell of a table: its text, and the value that it is sorted by."""

    text: str
    sort: float | str
    note: str = ""
    tone: str = ""


@dataclass(frozen=True)
class Column:
    """How a table shows one field of its rows.

    Attributes
    ----------
    form : of a number, as for `format`
    half : the field with half the width of its interval
    bounds : whether its interval is in the fields …_low and …_high instead
    note : the field with a remark in small print
    tone : the field with the class that colours it
    extra : hidden on a narrow screen
    """

    title: str
    field: str
    form: str = ""
    half: str = ""
    bounds: bool = False
    note: str = ""
    tone: str = ""
    extra: bool = False

    @property
    def is_papers(self) -> bool:
        """Whether it makes sense only beside the paper's numbers."""
        return self.field.startswith("paper_") or self.field.endswith("_distance")

    def show(self, row: Mapping[Any, Any]) -> Cell:
        """Empty where the number is not known."""
        value, note, tone = (row[name] if name else "" for name in (self.field, self.note, self.tone))
        if isinstance(value, str):
            return Cell(value, value, note, tone)
        if math.isnan(value):
            return Cell("", "", note, tone)
        rounded = float(f"{value:.6g}")  # as in CSV: machines differ in the last digits
        return Cell(format_number(value, self.form) + self._interval(row), rounded, note, tone)

    def _interval(self, row: Mapping[Any, Any]) -> str:
        if self.half and not math.isnan(row[self.half]):
            return f" ± {format(row[self.half], self.form).lstrip('+')}"
        if self.bounds and not math.isnan(row[f"{self.field}_low"]):
            bounds = (row[f"{self.field}_{end}"] for end in ("low", "high"))
            low, high = (format_number(bound, self.form) for bound in bounds)
            return f" ({low} to {high})"
        return ""


@dataclass(frozen=True)
class Table:
    """A table as people see it."""

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    kind: str = "numbers"
    """numbers, or claims: its rows become blocks on a narrow screen."""

    @cached_property
    def are_words(self) -> list[bool]:
        """For each column whether it is aligned on the left, as words are."""
        if self.kind == "claims":
            return [i in (0, len(self.columns) - 1) for i in range(len(self.columns))]
        return [
            any(isinstance(row[i].sort, str) and row[i].sort for row in self.rows)
            for i in range(len(self.columns))
        ]


def make_table(
    caption: str,
    frame: pd.DataFrame,
    columns: Sequence[Column],
    beside_paper: bool = True,
    kind: str = "numbers",
) -> Table:
    """A table from the columns that the frame has; the paper's only with `beside_paper`."""
    shown = [
        column for column in columns if column.field in frame and (beside_paper or not column.is_papers)
    ]
    rows = [[column.show(row) for column in shown] for row in frame.to_dict("records")]
    return Table(caption, shown, rows, kind)


@dataclass(frozen=True)
class Drawing:
    """A figure; its files are called `name`."""

    name: str
    alt: str
    caption: str
    plot: Plot

    @cached_property
    def files(self) -> dict[str, bytes]:
        """Suffix -> content, on white."""
        return draw(self.plot)

    def data_uri(self, theme: str) -> Markup:
        """The figure as a data URI; nothing in it needs escaping."""
        files = self.files if theme == "light" else draw(self.plot, ("svg",), theme)
        return Markup(f"data:image/svg+xml;base64,{base64.b64encode(files['svg']).decode()}")


@dataclass(frozen=True)
class Section:
    """A heading and its content, in the order of the page; empty parts are left out."""

    key: str
    title: str
    summary: str = ""
    figures: Sequence[Drawing] = ()
    tables: Sequence[Table] = ()
    note: str = ""
    items: Sequence[str] = ()
    """A list, after all else."""
    folded: bool = False
    """Whether the page folds tables and list away."""


@dataclass(frozen=True)
class Provenance:
    """Where the numbers come from, and how to make them again."""

    settings: Mapping[str, object] = field(default_factory=dict)
    machines: Sequence[str] = ()
    checksums: Mapping[str, str] = field(default_factory=dict)
    commands: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Report:
    """The report of a run, a comparison, a study or a benchmark.

    Attributes
    ----------
    tone : of the headline: good, bad, open or neutral
    tables : name of a CSV file -> its content
    claims : the paper's, judged; their tables are among the sections
    gaps : what is missing
    departures : where the run does not follow the paper
    stem : name of the report's own files
    """

    title: str
    question: str
    headline: str
    tone: str = "neutral"
    second_line: str = ""
    sections: Sequence[Section] = ()
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    claims: Sequence[Claim] = ()
    gaps: Sequence[str] = ()
    departures: Sequence[str] = ()
    provenance: Provenance = field(default_factory=Provenance)
    stem: str = "report"

    @property
    def figures(self) -> list[Drawing]:
        return [figure for section in self.sections for figure in section.figures]
