"""PI-ELM against LDA-ELM on one data set: table, corrected tests, figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import pandas as pd

from elmlda.experiments.compare import CompareRecord
from elmlda.reports import plots
from elmlda.reports.estimates import estimate_mean
from elmlda.reports.model import Column, Drawing, Section, Table, make_table
from elmlda.reports.rates import METHOD_NAMES, corrected_p
from elmlda.reports.records import RunRecords
from elmlda.reports.subjects.sweep import plot_difference, plot_rates

RULE_NAMES = {"none": "no ridge", "gcv": "ridge by GCV"}
COLUMNS = [
    Column("Data set", "dataset"),
    Column("Ridge", "ridge_rule"),
    Column("Fan-out", "fanout", ".3g", extra=True),
    Column("Hidden units", "n_hidden", ",.0f"),
    Column("Networks", "networks", ".0f", extra=True),
    Column("PI-ELM, %", "pi_error_percent", ".2f", "pi_interval"),
    Column("PI with constant, %", "pi_constant_error_percent", ".2f", extra=True),
    Column("LDA-ELM, %", "lda_error_percent", ".2f", "lda_interval"),
    Column("PI − LDA, points", "difference", "+.2f", "difference_interval"),
    Column("p", "p", ".2g"),
    Column("p, Holm", "p_holm", ".2g", extra=True),
    Column("PI's worst class, %", "pi_worst_recall_percent", ".1f", extra=True),
    Column("LDA's worst class, %", "lda_worst_recall_percent", ".1f", extra=True),
]
NOTE = (
    "Both methods have the same input weights and splits. ± is half the 95 % interval of the mean, and "
    "p of the paired t-test; with cross-validation both are Nadeau and Bengio's, corrected for the "
    "training samples that folds share. With the set's own split they speak of networks, "
    "not of other samples. Worst class: the recall of the class that is recognised least."
)


def tabulate_compare(records: Sequence[CompareRecord]) -> pd.DataFrame:
    """One set: a row for each rule and hidden size.

    Columns
    -------
    networks : repeats × folds
    …_error_percent : mean over networks; pi_constant is PI-ELM with a constant hidden unit
    difference : PI - LDA in percentage points
    …_interval : half the 95 % interval of the mean, corrected like the test
    p : two-sided, of Nadeau and Bengio's corrected t-test where there are folds. With the set's own
        split the test set is always the same, and the test is of networks alone.
    …_worst_recall_percent : of the class that the method recognises least, all networks together
    ridge : median of those chosen
    """
    frame = pd.DataFrame([vars(record) for record in records])
    has_folds = bool((frame["fold"] > 0).any())
    rows = [_row(group, has_folds) for _, group in frame.groupby(["rule", "n_hidden"])]
    table = pd.DataFrame(rows)
    return table.sort_values(["rule", "n_hidden"], ascending=[False, True], ignore_index=True)


def _row(group: pd.DataFrame, has_folds: bool) -> dict[str, Any]:
    overlap = float((group["n_test"] / group["n_train"]).mean()) if has_folds else 0.0
    pi, pi_constant, lda = (
        (100 * group[f"{method}_errors"] / group["n_test"]).to_numpy() for method in METHOD_NAMES
    )
    estimate = partial(estimate_mean, overlap=overlap)
    return {
        **{name: group[name].iloc[0] for name in ("rule", "fanout", "n_hidden")},
        "networks": len(group),
        **estimate(pi).columns("pi_error_percent", "pi_interval"),
        "pi_constant_error_percent": pi_constant.mean(),
        **estimate(lda).columns("lda_error_percent", "lda_interval"),
        **estimate(pi - lda).columns("difference", "difference_interval"),
        "p": corrected_p(pi - lda, overlap),
        "pi_worst_recall_percent": _worst_recall(group, "pi"),
        "lda_worst_recall_percent": _worst_recall(group, "lda"),
        "ridge": group["ridge"].median(),
    }


def _worst_recall(group: pd.DataFrame, method: str) -> float:
    """Of the class that is recognised least, all networks together."""
    errors, counts = (
        group[column].str.split(expand=True).astype(int).sum()
        for column in (f"{method}_class_errors", "class_counts")
    )
    return float(100 * (1 - errors / counts).min())


def summarise(table: pd.DataFrame) -> str:
    """One sentence on which method has fewer errors; `table` is `tabulate_compare`'s."""
    better, worse = table["difference"] > 0, table["difference"] < 0
    surely = table["p"] < 0.05
    return (
        f"LDA-ELM has fewer errors than PI-ELM at {better.sum()} of {len(table)} sizes and ridges, "
        f"more at {worse.sum()}; beyond chance (p < 0.05) at {(better & surely).sum()} and "
        f"{(~better & surely).sum()}."
    )


def show_table(table: pd.DataFrame, beside_paper: bool = False) -> Table:
    """For display; of one set, or of several with the column `dataset`."""
    shown = table.assign(ridge_rule=table["rule"].map({"none": "none", "gcv": "by GCV"}))
    return make_table("Error rates in per cent, means over networks", shown, COLUMNS, beside_paper)


def make_sections(run: RunRecords, table: pd.DataFrame) -> Iterator[Section]:
    """Table and figure."""
    figure = Drawing(
        "compare",
        f"Test error rate over hidden units on {run.name} for PI-ELM and LDA-ELM",
        "Below, each network's own difference: above zero LDA-ELM is better. Means with 95 % "
        f"intervals.{name_missing_sizes(run, table)}",
        partial(plot_compare, table=table, title=run.name),
    )
    title = "PI-ELM against LDA-ELM"
    yield Section("compare", title, figures=[figure], tables=[show_table(table)], note=NOTE)


def name_missing_sizes(run: RunRecords, table: pd.DataFrame) -> str:
    """The planned numbers of hidden units that have no rates, in a sentence."""
    planned = run.planned("compare").get("n_hidden", [])
    text = ""
    for rule, rows in table.groupby("rule", sort=False):
        missing = ", ".join(f"{size:,}" for size in planned if size not in set(rows["n_hidden"]))
        if missing:
            text += f" Without rates ({RULE_NAMES[str(rule)]}): {missing} hidden units."
    return text


def plot_compare(figure: plots.Figure, table: pd.DataFrame, title: str) -> None:
    """Error rate over hidden units, a column for each rule; below it the paired difference."""
    rules = [rule for rule in RULE_NAMES if rule in set(table["rule"])]
    figure.set_size_inches(plots.WIDTH, 4.8)
    all_axes = figure.subplots(
        2, len(rules), squeeze=False, sharex="col", sharey="row", height_ratios=[3, 2]
    )
    for (above, below), rule in zip(all_axes.T, rules, strict=True):
        rows = table[table["rule"] == rule]
        plot_rates(above, rows["n_hidden"], rows)
        above.set_title(RULE_NAMES[rule])
        plot_difference(below, rows["n_hidden"], rows)
        below.label_outer()
        below.set(xscale="log", xlabel="Hidden units")
        plots.place_ticks(below.xaxis, plots.keep_apart(rows["n_hidden"].tolist()))
    all_axes[0, 0].set_ylabel(plots.RATE_LABEL)
    plots.legend_below(figure, all_axes[0, 0])
    figure.suptitle(title)
