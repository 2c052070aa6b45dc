"""The summary of all sets that `elmlda compare` was run on, from their folders."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from elmlda.errors import ElmldaError
from elmlda.reports import plots
from elmlda.reports.model import Column, Drawing, Report, Section, make_table
from elmlda.reports.provenance import join_provenance
from elmlda.reports.rates import adjust_holm
from elmlda.reports.records import RunRecords, read_run
from elmlda.reports.subjects.compare import RULE_NAMES, show_table, tabulate_compare
from elmlda.runs.manifest import MANIFEST
from elmlda.text import format_number, printable

ALPHA = 0.05
USUAL_FANOUT = 5
"""The paper calls 5 to 20 usual; small sets have too few samples for more."""
LONGEST_TICK = 24
CONTESTANTS = {
    ("pi", "none"): "PI-ELM",
    ("lda", "none"): "LDA-ELM",
    ("pi", "gcv"): "PI-ELM, ridge",
    ("lda", "gcv"): "LDA-ELM, ridge",
}
"""Method and rule -> name for display."""


RANK_COLUMNS = [
    Column("Fan-out", "fanout", ".3g"),
    Column("Data sets", "sets", ".0f", extra=True),
    *(Column(name, name, ".2f") for name in CONTESTANTS.values()),
    Column("Friedman p", "friedman_p", ".2g"),
    Column("critical difference", "critical_difference", ".2f", extra=True),
]
RANKS_NOTE = (
    "After Demšar: contestants are ranked on each set, equal error rates share ranks. Two of the "
    f"{len(CONTESTANTS)} differ if their average ranks do by the critical difference (Nemenyi, 5 %)."
)


def find_runs(folder: Path) -> list[RunRecords]:
    """The comparisons below a folder, by name; runs of other experiments are left out."""
    runs = [read_run(path.parent) for path in sorted(folder.glob(f"*/{MANIFEST}"))]
    return [run for run in runs if run.compare]


def make_comparison_report(folder: Path) -> Report:
    """The report on all comparisons below a folder."""
    runs = find_runs(folder)
    if not runs:
        raise ElmldaError(f"{folder}: neither a run nor a folder of comparisons. Name a run's folder.")
    tables = {run.name: tabulate_compare(run.compare) for run in runs}
    summary, ranks = tabulate_summary(tables), tabulate_ranks(tables)
    fanout = choose_fanout(tables)
    at_fanout = summary[summary["fanout"] == fanout]
    findings = describe_findings(at_fanout, fanout)
    return Report(
        title="elmlda compare",
        question="Does LDA-ELM help on other data?",
        headline=findings[0],
        second_line=" ".join(findings[1:]),
        sections=_make_sections(summary, ranks, at_fanout, fanout),
        tables={"summary": summary, "ranks": ranks},
        provenance=join_provenance(runs, {"data sets": ", ".join(tables)}),
    )


def choose_fanout(tables: Mapping[str, pd.DataFrame]) -> float:
    """Of the fan-outs that most sets have with and without a ridge, the one nearest to the usual."""
    counts: dict[float, int] = {}
    for table in tables.values():
        for fanout, rows in table.groupby("fanout"):
            has_both = rows["rule"].nunique() == len(RULE_NAMES)
            counts[float(str(fanout))] = counts.get(float(str(fanout)), 0) + has_both
    return max(counts, key=lambda fanout: (counts[fanout], -abs(fanout - USUAL_FANOUT)))


def describe_findings(rows: pd.DataFrame, fanout: float) -> list[str]:
    """Where LDA-ELM helps, where it does not, and why, in sentences that follow from the numbers."""
    is_sure = rows["p_holm"] < ALPHA
    gains, losses = rows[is_sure & (rows["difference"] > 0)], rows[is_sure & (rows["difference"] < 0)]
    sentences = []
    for rule, words in (("none", "Without a ridge"), ("gcv", "With the ridge chosen by GCV")):
        some, better, worse = (each[each["rule"] == rule] for each in (rows, gains, losses))
        if not some.empty:
            sentences.append(
                f"{words}, at fan-out {fanout:g}, LDA-ELM has fewer errors than PI-ELM on "
                f"{(some['difference'] > 0).sum()} of {len(some)} data sets: beyond chance "
                f"(p < {ALPHA} after Holm's correction) on {_list(better)}; PI-ELM on {_list(worse)}."
            )
    for some, last, explain in ((gains, -1, _explain_gain), (losses, 0, _explain_loss)):
        for name, group in some.groupby("dataset", sort=False):
            sentences.append(explain(str(name), group.sort_values("difference").iloc[last]))
    alike = rows[~rows["dataset"].isin(rows.loc[is_sure, "dataset"])]
    if not alike.empty:
        names = ", ".join(dict.fromkeys(alike["dataset"]))
        sentences.append(
            f"On {names} they can't be told apart: the differences are at most "
            f"{alike['difference'].abs().max():.2f} points, within what chance gives."
        )
    return sentences


def _explain_gain(name: str, row: Any) -> str:
    """What the gain on one set comes from: the constant that only LDA-ELM has, or one class."""
    pi, constant, lda = (row[f"{method}_error_percent"] for method in ("pi", "pi_constant", "lda"))
    text = (
        f"On {name} ({row['n_hidden']} hidden units, {RULE_NAMES[row['rule']]}) a constant hidden unit "
        f"alone brings PI-ELM from {pi:.2f} to {constant:.2f} %, LDA-ELM has {lda:.2f} %"
    )
    if pi - constant > (pi - lda) / 2:
        return f"{text}: most of the gain is the constant's, which Eq. (16) has and Eq. (5) lacks."
    worst = row["pi_worst_recall_percent"], row["lda_worst_recall_percent"]
    if worst[1] > worst[0] + 5:
        return (
            f"{text}: the gain is not the constant's but a class's. The least recognised one is "
            f"recognised at {worst[0]:.0f} % by PI-ELM and at {worst[1]:.0f} % by LDA-ELM: least "
            "squares lets a class be outvoted by its neighbours (masking), and LDA's map between "
            "classes undoes that."
        )
    return f"{text}: the gain is spread over the classes."


def _explain_loss(name: str, row: Any) -> str:
    """Whether LDA-ELM's additional errors come with a better recall of PI-ELM's worst class."""
    worst = row["pi_worst_recall_percent"], row["lda_worst_recall_percent"]
    text = (
        f"On {name} ({row['n_hidden']} hidden units, {RULE_NAMES[row['rule']]}) PI-ELM has "
        f"{row['pi_error_percent']:.2f} %, LDA-ELM {row['lda_error_percent']:.2f} %; the least "
        f"recognised class is recognised at {worst[0]:.1f} % by PI-ELM and at {worst[1]:.1f} % by "
        "LDA-ELM"
    )
    if worst[1] > worst[0] + 1:
        return f"{text}: what LDA-ELM gains there it pays for in other classes, and more."
    return f"{text}: there is no neglected class whose gain could make up for the rest."


def _list(rows: pd.DataFrame) -> str:
    sets = zip(rows["dataset"], rows["difference"], strict=True)
    return (
        ", ".join(f"{name} ({format_number(change, '+.2f')} points)" for name, change in sets) or "none"
    )


def tabulate_summary(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Every set at every fan-out: both methods, and p corrected for the number of sets (Holm)."""
    parts = [table.assign(dataset=name) for name, table in tables.items()]
    everything = pd.concat(parts, ignore_index=True)
    everything["p_holm"] = np.nan
    for _, group in everything.groupby(["rule", "fanout"]):
        everything.loc[group.index, "p_holm"] = adjust_holm(group["p"])
    first = ["dataset", "rule", "fanout", "n_hidden", "networks"]
    return everything[first + [column for column in everything if column not in first]]


def tabulate_ranks(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Average ranks over sets at each fan-out that all sets have, after Demšar.

    Columns
    -------
    one for each contestant : average rank, 1 is best; equal error rates share their ranks
    sets : number of data sets
    friedman_p : whether the contestants differ at all (empty for fewer than three sets)
    critical_difference : of two average ranks, Nemenyi's at 5 %
    """
    columns = [(f"{method}_error_percent", rule) for method, rule in CONTESTANTS]
    values = list(dict.fromkeys(name for name, _ in columns))
    wide = tabulate_summary(tables).pivot(index=["fanout", "dataset"], columns="rule", values=values)
    wide = wide.reindex(columns=pd.MultiIndex.from_tuples(columns)).dropna()
    n_sets, n = len(tables), len(CONTESTANTS)
    quantile = stats.studentized_range.ppf(1 - ALPHA, n, np.inf) / np.sqrt(2)
    rows = []
    for fanout, errors in wide.groupby(level="fanout"):
        if len(errors) < n_sets:
            continue
        ranks, row = errors.rank(axis=1), {"fanout": fanout, "sets": n_sets}
        row |= dict(zip(CONTESTANTS.values(), ranks.mean(), strict=True))
        can_differ = n_sets >= 3 and np.ptp(ranks, axis=1).any()
        row["friedman_p"] = (
            stats.friedmanchisquare(*errors.to_numpy().T).pvalue if can_differ else np.nan
        )
        rows.append({**row, "critical_difference": quantile * np.sqrt(n * (n + 1) / (6 * n_sets))})
    return pd.DataFrame(rows, columns=[column.field for column in RANK_COLUMNS])


def _make_sections(
    summary: pd.DataFrame, ranks: pd.DataFrame, at_fanout: pd.DataFrame, fanout: float
) -> list[Section]:
    figure = Drawing(
        "summary",
        "Difference of the error rates of PI-ELM and LDA-ELM on each data set",
        "Right of zero LDA-ELM is better.",
        partial(plot_summary, rows=at_fanout, fanout=fanout),
    )
    sections = [
        Section(
            "summary",
            "All data sets",
            figures=[figure],
            tables=[show_table(at_fanout)],
            note="p, Holm: corrected for the number of data sets.",
        )
    ]
    if not ranks.empty:
        shown = make_table("Average ranks over data sets, 1 is best", ranks, RANK_COLUMNS)
        sections.append(Section("ranks", "Average ranks", tables=[shown], note=RANKS_NOTE))
    return [*sections, Section("sizes", "Every size", tables=[show_table(summary)])]


def plot_summary(figure: plots.Figure, rows: pd.DataFrame, fanout: float) -> None:
    """PI - LDA on every set, with its interval; `rows` are some of `tabulate_summary`'s."""
    names = list(dict.fromkeys(rows["dataset"]))
    figure.set_size_inches(plots.WIDTH, 1.3 + 0.42 * len(names))
    axes = figure.subplots()
    axes.axvline(0, color=plots.ink(), lw=0.8)
    for place, shift, rule in ((plots.LDA, -0.13, "none"), (plots.THIRD, 0.13, "gcv")):
        some = rows[rows["rule"] == rule]
        places = [names.index(name) + shift for name in some["dataset"]]
        half = np.nan_to_num(some["difference_interval"])
        look = {"ls": "", "capsize": 2.5, "label": RULE_NAMES[rule], **plots.style(place)}
        axes.errorbar(some["difference"], places, xerr=half, **look)
    plots.name_rows(axes, [printable(name, LONGEST_TICK) for name in names])
    axes.set_xlabel("PI-ELM − LDA-ELM, percentage points of error")
    axes.set_title(f"Differences at fan-out {fanout:g}, with 95 % intervals")
    plots.legend_below(figure)
