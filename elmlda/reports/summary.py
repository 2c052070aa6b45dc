"""A short text table of an experiment's rows, for the terminal."""

from __future__ import annotations

from typing import Any

import pandas as pd

from elmlda.reports.stats import estimate_mean
from elmlda.runs.tables import FIXED, Column, Table

RARE = ("rule", "ridge")
"""Columns that the summary shows only if they differ."""
CAPTION = "Error rates in %"
INTERVAL = ", ± half the width of the 95 % confidence interval of the mean"


def summarise(table: Table, rows: pd.DataFrame, beside_paper: bool) -> str:
    """Return a text table with a line for each group of rows, as declared by the rows' table."""
    lines = []
    if "rule" in table.names:  # a chosen ridge differs from row to row
        rows = rows.assign(ridge=rows["ridge"].where(rows["rule"] == FIXED))
    # Most runs have one ridge, and in the paper the fan-out says the hidden size.
    left_out = {name for name in RARE if name in rows and rows[name].nunique(dropna=False) <= 1}
    left_out |= {"n_hidden"} if beside_paper else set()
    groups = [name for name in table.groups if name not in left_out]
    titles = {column.name: column.title for column in table.columns}
    for place, group in rows.groupby(groups, dropna=False):
        line = [(titles[name], _spell(value)) for name, value in zip(groups, place, strict=True)]
        line.append((table.counted, f"{len(group):,}"))
        for column in table.columns:
            if column.title and column.name not in table.groups:
                line.append((column.title, _show_mean(group, column)))
            has_no_ridge = "ridge" not in group or (group["ridge"] == 0).all()  # like the paper
            key: Any = place[0] if has_no_ridge else None
            if column.paper and beside_paper:
                line.append(("paper", f"{column.paper[key]:.2f}" if key in column.paper else ""))
            if column.improves:
                other, printed = column.improves
                mean, before = group[column.name].mean(), group[other].mean()
                line.append(("% improvement", f"{100 * (1 - mean / before):.1f}" if before else ""))
                if beside_paper:
                    line.append(("paper", f"{printed[key]:.1f}" if key in printed else ""))
        lines.append(line)
    texts = [[text for _, text in line] for line in lines]
    summary = pd.DataFrame(texts, columns=[title for title, _ in lines[0]]).to_string(index=False)
    if not any(column.title and column.unit == "samples" for column in table.columns):
        return summary
    return f"{CAPTION}{INTERVAL if '±' in summary else ''}:\n\n{summary}"


def _show_mean(rows: pd.DataFrame, column: Column) -> str:
    """Format the mean of a column; counts of samples as a percentage with its 95 % interval."""
    values = rows[column.name].dropna()
    if values.empty:
        return "no solution"
    if column.unit != "samples":
        return f"{values.mean():.4g}"
    n_folds = rows["fold"].nunique() if "fold" in rows else 0
    percents = (100 * values / rows["n_test"]).dropna().to_numpy()
    mean = estimate_mean(percents, 1 / (n_folds - 1) if n_folds > 1 else 0.0)
    half = mean.half()
    return f"{mean.value:.2f}" if half != half else f"{mean.value:.2f} ± {half:.2f}"


def _spell(value: Any) -> str:
    """Format a value that a group of rows shares."""
    if isinstance(value, str) or value != value:
        return value if isinstance(value, str) else ""
    return f"{value:,.6g}" if isinstance(value, float) else f"{value:,}"
