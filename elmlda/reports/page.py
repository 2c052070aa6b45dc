"""The report as a page: what the tables, figures and verdicts say, for people."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from elmlda import paper
from elmlda.experiments.tune import Choice
from elmlda.reports.claims import Claim
from elmlda.reports.compare_tables import CONTESTANTS
from elmlda.reports.figures import Plot, render
from elmlda.reports.headline import (
    RULE,
    group_cells,
    group_statements,
    list_untested,
    summarise,
    summarise_other_reading,
)
from elmlda.reports.provenance import find_departures, find_gaps, list_commands
from elmlda.reports.records import RunRecords
from elmlda.version import __version__


@dataclass(frozen=True)
class Cell:
    """What a table shows at one place, and the value that it is sorted by."""

    text: str
    sort: float | str


@dataclass(frozen=True)
class Column:
    """A table's column; `extra` ones give way on a narrow screen."""

    title: str
    extra: bool = False


@dataclass(frozen=True)
class Table:
    """A table as people see it."""

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]


@dataclass(frozen=True)
class PageFigure:
    """A drawn figure: `name` is that of its files."""

    name: str
    alt: str
    caption: str
    plot: Plot

    @cached_property
    def files(self) -> dict[str, bytes]:
        """Suffix -> content, on white."""
        return render(self.plot)

    def data_uri(self, theme: str) -> str:
        """The figure as an address that holds its own content."""
        files = self.files if theme == "light" else render(self.plot, ("svg",), theme)
        return f"data:image/svg+xml;base64,{base64.b64encode(files['svg']).decode()}"


@dataclass(frozen=True)
class Section:
    """A heading with what belongs to it; empty parts are left out."""

    key: str
    title: str
    table: Table | None
    figures: Sequence[PageFigure]
    note: str = ""
    summary: str = ""
    """What it says in short, before all else."""


def describe_sweep(table: pd.DataFrame, beside_paper: bool) -> Table:
    """Table 1 for people; `table` is `tabulate_sweep`'s."""
    whole = all(fanout == int(fanout) for fanout in table["fanout"])
    columns = [
        (Column("Fan-out"), "fanout", "{:.0f}" if whole else "{:.3g}", None),
        (Column("Hidden units", extra=True), "n_hidden", "{:,.0f}", None),
        (Column("Repeats", extra=True), "repeats", "{:.0f}", None),
        (Column("PI-ELM, %"), "pi_error_percent", "{:.2f}", "pi_interval"),
        (Column("paper"), "paper_pi_error_percent", "{:.2f}", None),
        (Column("z", extra=True), "pi_distance", "{:+.1f}", None),
        (Column("LDA-ELM, %"), "lda_error_percent", "{:.2f}", "lda_interval"),
        (Column("paper"), "paper_lda_error_percent", "{:.2f}", None),
        (Column("z", extra=True), "lda_distance", "{:+.1f}", None),
        (Column("better by, %"), "improvement_percent", "{:.1f}", "improvement_interval"),
        (Column("paper"), "paper_improvement_percent", "{:.1f}", None),
        (Column("z", extra=True), "improvement_distance", "{:+.1f}", None),
        (Column("PI − LDA, points", extra=True), "difference", "{:.3f}", "difference_interval"),
        (Column("Wilcoxon p", extra=True), "wilcoxon_p", "{:.1g}", None),
    ]
    return describe_table("Error rates in per cent, means over repeats", table, columns, beside_paper)


def describe_constant(table: pd.DataFrame) -> Table:
    """Table 1 with the other reading of PI-ELM; `table` is `tabulate_sweep`'s."""
    columns: list[tuple[Column, str, str, str | None]] = [
        (Column("Fan-out"), "fanout", "{:.0f}", None),
        (Column("Repeats", extra=True), "repeats", "{:.0f}", None),
        (Column("PI-ELM, %"), "pi_constant_error_percent", "{:.2f}", "pi_constant_interval"),
        (Column("paper"), "paper_pi_error_percent", "{:.2f}", None),
        (Column("z"), "pi_constant_distance", "{:+.1f}", None),
        (
            Column("better by, %"),
            "constant_improvement_percent",
            "{:.1f}",
            "constant_improvement_interval",
        ),
        (Column("paper"), "paper_improvement_percent", "{:.1f}", None),
        (Column("z", extra=True), "constant_improvement_distance", "{:+.1f}", None),
    ]
    return describe_table(
        "Error rates in per cent, PI-ELM with a constant hidden unit", table, columns, True
    )


def describe_timing(table: pd.DataFrame, beside_paper: bool) -> Table:
    """Table 2 for people; `table` is `tabulate_timing`'s."""
    columns = [
        (Column("Fan-out"), "fanout", "{:.0f}", None),
        (Column("Repeats", extra=True), "repeats", "{:.0f}", None),
        (Column("PI-ELM, s"), "pi_seconds", "{:.2f}", None),
        (Column("paper"), "paper_pi_seconds", "{:.1f}", None),
        (Column("LDA-ELM, s"), "lda_seconds", "{:.2f}", None),
        (Column("paper"), "paper_lda_seconds", "{:.1f}", None),
        (Column("LDA extra, %"), "overhead_percent", "{:.3f}", "overhead_interval"),
        (Column("paper"), "paper_overhead_percent", "{:.1f}", None),
        (Column("by the clock, %", extra=True), "elapsed_overhead_percent", "{:+.1f}", None),
        (Column("both in one pass, s", extra=True), "both_seconds", "{:.2f}", None),
        (
            Column("one pass: LDA extra, %", extra=True),
            "one_pass_overhead_percent",
            "{:.3f}",
            "one_pass_overhead_interval",
        ),
    ]
    return describe_table("Elapsed seconds, the fastest of the repeats", table, columns, beside_paper)


def describe_ensemble(table: pd.DataFrame, beside_paper: bool) -> Table:
    """Fig. 2 as a table for people, a column for each scheme; `table` is `tabulate_ensemble`'s."""
    schemes = sorted(table["combine"].unique(), key=lambda scheme: (scheme != "mean", scheme))
    wide = pd.DataFrame({"size": sorted(table["size"].unique())}).set_index("size")
    columns: list[tuple[Column, str, str, str | None]] = [(Column("Networks"), "size", "{:.0f}", None)]
    for i, scheme in enumerate(schemes):
        rows = table[table["combine"] == scheme].set_index("size")
        wide[scheme], wide[f"{scheme} ±"] = rows["error_percent"], rows["interval"]
        wide[f"{scheme} n"] = rows["repeats"]
        columns += [
            (Column(f"{scheme}, %", extra=i > 1), scheme, "{:.2f}", f"{scheme} ±"),
            (Column("repeats", extra=True), f"{scheme} n", "{:.0f}", None),
        ]
    wide["paper_mean"] = pd.Series(paper.ENSEMBLE_ERROR_PERCENT)
    columns.append((Column("paper (mean)"), "paper_mean", "{:.2f}", None))
    caption = "Error rates of ensembles in per cent, means over repeats"
    return describe_table(caption, wide.reset_index(), columns, beside_paper)


def describe_tune(table: pd.DataFrame, input_weights: str) -> Table:
    """Every setting that was tried, for people; `table` is `tabulate_tune`'s."""
    size = "Weight range" if input_weights == "uniform" else "Weight norm"
    columns: list[tuple[Column, str, str, str | None]] = [
        (Column("Hidden units", extra=True), "n_hidden", "{:,.0f}", None),
        (Column(size), "weight_size", "{:g}", None),
        (Column("Ridge"), "ridge", "{:g}", None),
        (Column("Repeats", extra=True), "repeats", "{:.0f}", None),
        (Column("PI-ELM, %"), "pi_error_percent", "{:.2f}", None),
        (Column("LDA-ELM, %"), "lda_error_percent", "{:.2f}", None),
    ]
    return describe_table("Error rates of held-out samples in per cent, means", table, columns, True)


def describe_schemes(table: pd.DataFrame) -> Table:
    """Kinds of input weights beside each other, for people; `table` is `tabulate_schemes`'s."""
    columns: list[tuple[Column, str, str, str | None]] = [
        (Column("Input weights"), "input_weights", "{}", None),
        (Column("Fan-out"), "fanout", "{:.3g}", None),
        (Column("Hidden units", extra=True), "n_hidden", "{:,.0f}", None),
        (Column("Repeats", extra=True), "repeats", "{:.0f}", None),
        (Column("PI-ELM, %"), "pi_error_percent", "{:.2f}", "pi_interval"),
        (Column("LDA-ELM, %"), "lda_error_percent", "{:.2f}", "lda_interval"),
        (Column("PI − LDA, points"), "difference", "{:+.3f}", "difference_interval"),
    ]
    return describe_table("Error rates in per cent, means over repeats", table, columns, True)


def describe_choices(choices: Mapping[str, Choice]) -> Table:
    """What was chosen for each kind of input weights."""
    rows = [{"input_weights": scheme, **vars(choice)} for scheme, choice in choices.items()]
    columns: list[tuple[Column, str, str, str | None]] = [
        (Column("Input weights"), "input_weights", "{}", None),
        (Column("Hidden units", extra=True), "n_hidden", "{:,.0f}", None),
        (Column("Norm (uniform: range)"), "weight_size", "{:g}", None),
        (Column("Ridge"), "ridge", "{:g}", None),
        (Column("Repeats", extra=True), "repeats", "{:.0f}", None),
        (Column("PI-ELM, %"), "pi_error_percent", "{:.2f}", None),
        (Column("LDA-ELM, %"), "lda_error_percent", "{:.2f}", None),
    ]
    caption = "Error rates of held-out training samples in per cent"
    return describe_table(caption, pd.DataFrame(rows), columns, True)


def describe_compare(table: pd.DataFrame) -> Table:
    """One set's comparison for people; `table` is `tabulate_compare`'s or `tabulate_summary`'s."""
    shown = table.assign(rule=table["rule"].map({"none": "none", "gcv": "by GCV"}))
    columns: list[tuple[Column, str, str, str | None]] = [
        (Column("Data set"), "dataset", "{}", None),
        (Column("Ridge"), "rule", "{}", None),
        (Column("Fan-out", extra=True), "fanout", "{:.3g}", None),
        (Column("Hidden units"), "n_hidden", "{:,.0f}", None),
        (Column("Networks", extra=True), "networks", "{:.0f}", None),
        (Column("PI-ELM, %"), "pi_error_percent", "{:.2f}", "pi_interval"),
        (Column("PI with constant, %", extra=True), "pi_constant_error_percent", "{:.2f}", None),
        (Column("LDA-ELM, %"), "lda_error_percent", "{:.2f}", "lda_interval"),
        (Column("PI − LDA, points"), "difference", "{:+.2f}", "difference_interval"),
        (Column("p"), "p", "{:.2g}", None),
        (Column("p, Holm", extra=True), "p_holm", "{:.2g}", None),
        (Column("PI's worst class, %", extra=True), "pi_worst_recall_percent", "{:.1f}", None),
        (Column("LDA's worst class, %", extra=True), "lda_worst_recall_percent", "{:.1f}", None),
    ]
    present = [column for column in columns if column[1] in shown]
    return describe_table("Error rates in per cent, means over networks", shown, present, True)


def describe_ranks(table: pd.DataFrame) -> Table:
    """Average ranks for people; `table` is `tabulate_ranks`'s."""
    columns: list[tuple[Column, str, str, str | None]] = [
        (Column("Fan-out"), "fanout", "{:.3g}", None),
        (Column("Data sets", extra=True), "sets", "{:.0f}", None),
        *((Column(name), name, "{:.2f}", None) for name in CONTESTANTS.values()),
        (Column("Friedman p"), "friedman_p", "{:.2g}", None),
        (Column("critical difference", extra=True), "critical_difference", "{:.2f}", None),
    ]
    return describe_table("Average ranks over data sets, 1 is best", table, columns, True)


def describe_table(
    caption: str,
    table: pd.DataFrame,
    columns: Sequence[tuple[Column, str, str, str | None]],
    beside_paper: bool,
) -> Table:
    """A table from its columns: title, name, format, and the half-interval's name if it has one."""
    shown = [
        (column, name, form, half)
        for column, name, form, half in columns
        if beside_paper or not (name.startswith("paper_") or name.endswith("_distance"))
    ]
    rows = [
        [_cell(row[name], form, row[half] if half else math.nan) for _, name, form, half in shown]
        for row in table.to_dict("records")
    ]
    return Table(caption, [column for column, *_ in shown], rows)


def _cell(value: float | str, form: str, half: float) -> Cell:
    if isinstance(value, str):
        return Cell(value, value)
    if math.isnan(value):
        return Cell("", "")
    text = form.format(value)
    if not text.strip("+-0."):  # no sign for what rounds to zero
        text = form.format(0.0)
    text = text.replace("-", "−")
    if not math.isnan(half):
        text += f" ± {form.format(half).lstrip('+')}"
    return Cell(text, float(value))


def build_context(
    run: RunRecords, claims: Sequence[Claim], sections: Sequence[Section]
) -> dict[str, Any]:
    """All that the templates need."""
    headline, kind = summarise(run, claims)
    settings = {
        name.replace("_", " "): value for name, value in run.settings.items() if name != "sha256"
    }
    about_paper = run.is_papers_kind and run.has_papers_experiments
    return {
        "version": __version__,
        "title": f"elmlda on {run.settings.get('dataset', 'unnamed')}",
        "question": "Was the paper reproduced?" if about_paper else "What the run found",
        "headline": headline,
        "headline_kind": kind,
        "second_line": summarise_other_reading(claims) if claims else "",
        "statements": group_statements(claims),
        "untested": list_untested(claims),
        "cells": group_cells(claims),
        "gaps": find_gaps(run),
        "departures": find_departures(run) if run.is_papers_kind else [],
        "sections": sections,
        "rule": RULE,
        "settings": settings,
        "checksums": run.settings.get("sha256") or {},
        "machines": [describe_machine(machine) for machine in run.manifest["machines"]],
        "commands": list_commands(run),
    }


def describe_machine(machine: Any) -> str:
    """A machine of a manifest in one line."""
    if not isinstance(machine, dict):
        return str(machine)
    words = [
        f"{key.replace('_', ' ')} {', '.join(map(str, value)) if isinstance(value, list) else value}"
        for key, value in machine.items()
    ]
    return "; ".join(words)
