"""What the page of several runs says: runs that differ in a setting, or in their data."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas as pd

from elmlda.errors import ElmldaError
from elmlda.reports import compare, differences, figures
from elmlda.reports.load import METHODS, Run, differing, list_runs, read_notes, read_run
from elmlda.reports.page import Figure, Page, Section, show
from elmlda.text import format_number, join_words, printable

WITHIN = "this run"
"""What a run is called beside those in its folder."""


def make_group_page(folder: Path) -> Page:
    """The page of the runs in a folder's subfolders; those without rows are named and left out."""
    found = {path.name: read_run(path) for path in list_runs(folder)}
    runs = {name: run for name, run in found.items() if len(run.sweep)}
    if not found:
        raise ElmldaError(
            f"{folder}: no run of elmlda's, and none in its subfolders. Name a run's folder."
        )
    if not runs:
        raise ElmldaError(f"{folder}: none of its {len(found)} runs has rows of a sweep yet.")
    data = {json.dumps(run.manifest["run"].get("sha256"), sort_keys=True) for run in runs.values()}
    is_one_set = len(data) == 1 < len(runs)
    headline, sections, tables = _differ(runs) if is_one_set else _compare(runs)
    empty = sorted(found.keys() - runs.keys())
    return Page(
        title=f"elmlda: {printable(folder.resolve().name)}",
        headline=headline,
        lines=[f"Without rows, and left out: {join_words(empty)}."] if empty else [],
        sections=sections,
        tables=tables,
        notes=read_notes(folder),
        commands=[str(e.get("command", "")) for run in runs.values() for e in run.manifest["commands"]],
    )


def _differ(runs: Mapping[str, Run]) -> tuple[str, list[Section], dict[str, pd.DataFrame]]:
    reference = differences.choose_reference(runs)
    runs = {reference: runs[reference], **runs}
    table = differences.tabulate_differences(runs, reference)
    others = table.dropna(subset=["difference"])
    headline = f"{len(runs)} runs that differ in {join_words(differing(runs)) or 'nothing'}"
    if len(others):
        worst = others.iloc[int(others["difference"].abs().to_numpy().argmax())]
        points = f"{format_number(worst['difference'], '+.2f')} points"
        where = f"{worst['run']}, {METHODS[worst['method']]}, {worst['n_hidden']:,} hidden units"
        headline += f": the largest difference from {reference} is {points} ({where})"
    return f"{headline}.", list(make_difference_sections(table, runs)), {"differences": table}


def make_difference_sections(table: pd.DataFrame, runs: Mapping[str, Run]) -> Iterator[Section]:
    """Differences, and the joint agreement with Table 1 where that can be said."""
    drawn = []
    if table["difference"].notna().any():
        drawn = [Figure("differences", figures.plot_differences, table)]
    named = table.assign(method=table["method"].map(METHODS))
    groups: list[Mapping[str, Run]] = [runs]
    if WITHIN in runs:  # each with the run that it is in, at the fan-outs that the two have
        groups = [{WITHIN: runs[WITHIN], name: run} for name, run in runs.items() if name != WITHIN]
    shown = []
    for found in filter(len, map(differences.tabulate_agreement, groups)):
        shown += [show(found, "Joint agreement with Table 1 at the fan-outs in common", "agreement")]
    shown.append(show(named, "Error rates, and differences with 95 % intervals", "differences"))
    names = join_words(name.replace("_", " ") for name in differing(runs) or ["nothing"])
    yield Section("differences", f"Runs that differ in {names}", drawn, shown)


def _compare(runs: Mapping[str, Run]) -> tuple[str, list[Section], dict[str, pd.DataFrame]]:
    table = compare.tabulate_comparison(runs)
    found = [
        f"{name} has fewer errors in {n}, in {sure} of them with p < 0.05 after Holm's correction"
        for name, (n, sure) in compare.count_cells(table).items()
    ]
    headline = (
        f"Of {len(table)} cells on {len(runs)} data set{'s'[: len(runs) > 1]}, {'; '.join(found)}."
    )
    figure = Figure("compare", figures.plot_compare, table)
    shown = show(table, "Test error rates", "cells")
    sections = [Section("cells", "Every data set, ridge and size", [figure], [shown])]
    ranks = compare.tabulate_ranks(table)
    if ranks.empty:
        return headline, sections, {"compare": table}
    names = [str(name) for name in ranks if str(name).startswith(("PI", "LDA"))]
    columns = ["Fan-out | fanout .3g", "Sets | sets .0f", *(f"{name} | {name} .2f" for name in names)]
    columns += ["Friedman p | friedman_p .2g", "critical difference | critical_difference .2f"]
    shown = show(ranks, "Average ranks over data sets, 1 is best", columns)
    sections.append(Section("ranks", "Average ranks", tables=[shown]))
    return headline, sections, {"compare": table, "ranks": ranks}
