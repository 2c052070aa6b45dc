"""The tables that commands print: those of the reports, within 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from elmlda import paper

if TYPE_CHECKING:
    from elmlda.experiments.experiment import AnyPlan
    from elmlda.reports.model import Column, Table

WIDTH, GAP = 80, 2
NOTE = "± is half the width of the 95 % confidence interval of the mean."


def show_records(plan: AnyPlan, records: Sequence[Any]) -> str:
    """The table of an experiment's records."""
    experiment = plan.experiment
    subject = import_module(f"elmlda.reports.subjects.{experiment.name}")
    frame = getattr(subject, f"tabulate_{experiment.name}")(records)
    if getattr(experiment, "hidden", None) is None:  # sizes were asked for by fan-out
        frame = frame.drop(columns="n_hidden", errors="ignore")
    table = format_table(subject.show_table(frame, _has_papers_networks(plan)))
    if experiment.name == "tune":
        return "\n".join(_show_tune(experiment.settings.input_weights, table, records))
    return table


def _has_papers_networks(plan: AnyPlan) -> bool:
    """Whether the paper's numbers can stand beside ours; its ensembles are of the largest networks."""
    is_papers_kind = plan.is_papers_data and plan.settings.input_weights == "uniform"
    papers_ensemble = (paper.LARGEST_FANOUT * paper.N_INPUTS,)
    return is_papers_kind and (plan.experiment.name != "ensemble" or plan.sizes == papers_ensemble)


def format_table(table: Table) -> str:
    """Columns side by side, with extra ones as far as there is room.

    Without those that have no value, and without distances from the paper, which the report explains.
    """
    blocks = []
    for column, cells in zip(table.columns, zip(*table.rows, strict=True), strict=True):
        if any(cell.text for cell in cells) and not (column.extra and column.is_papers):
            blocks.append((column.extra, _lay_out(column, [cell.text for cell in cells])))
    room = WIDTH + GAP - sum(len(lines[0]) + GAP for is_extra, lines in blocks if not is_extra)
    shown = []
    for is_extra, lines in blocks:
        taken = len(lines[0]) + GAP if is_extra else 0
        if taken <= room or not is_extra:
            room -= taken
            shown.append(lines)
    height = max(map(len, shown))
    padded = [[" " * len(lines[0])] * (height - len(lines)) + lines for lines in shown]
    return "\n".join((" " * GAP).join(line).rstrip() for line in zip(*padded, strict=True))


def _lay_out(column: Column, cells: Sequence[str]) -> list[str]:
    """A column's lines, the title's first: numbers to the right, text to the left."""
    width = max(map(len, [*cells, *column.title.split()]))
    title = textwrap.wrap(column.title, width, break_on_hyphens=False)
    align = ">" if column.form else "<"
    return [f"{text:{align}{width}}" for text in (*title, *cells)]


def _show_tune(kind: str, table: str, records: Sequence[Any]) -> Iterator[str]:
    """The settings that were tried, and what each method chooses, as options."""
    from elmlda.experiments.selection import METHODS, choose
    from elmlda.reports.rates import METHOD_NAMES

    n_hidden, n_held_out = records[0].n_hidden, records[0].n_validation
    yield f"{kind} input weights, {n_hidden:,} hidden units, {n_held_out:,} held-out samples"
    yield f"{table}\n"
    size = "range" if kind == "uniform" else "norm"
    for choice in (choose(records, method) for method in METHODS):
        chosen = choice.chosen
        yield f"{METHOD_NAMES[choice.method]} has {chosen.error_percent:.2f} % errors on them with"
        weights = f"--input-weights {kind} --weight-{size} {chosen.weight_size:g}"
        yield f"  {weights} --ridge {chosen.ridge:g}"
        yield from (f"  Its best lies at {edge.describe(size)}." for edge in choice.edges)
