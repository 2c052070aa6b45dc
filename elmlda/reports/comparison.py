"""The summary of all sets that `elmlda compare` was run on, from their folders."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from elmlda.errors import ElmldaError
from elmlda.reports.compare_tables import (
    CONTESTANTS,
    tabulate_compare,
    tabulate_ranks,
    tabulate_summary,
)
from elmlda.reports.figures import RULE_NAMES, plot_summary
from elmlda.reports.files import write_report_files
from elmlda.reports.page import (
    PageFigure,
    Section,
    describe_compare,
    describe_ranks,
)
from elmlda.reports.records import RunRecords, read_run
from elmlda.reports.together import build_joint_context
from elmlda.runs.manifest import MANIFEST

ALPHA = 0.05
USUAL_FANOUT = 5
"""The paper calls 5 to 20 usual; small sets have too few samples for more."""


def find_runs(folder: Path) -> list[RunRecords]:
    """The comparisons below a folder, by name; runs of other experiments are none."""
    runs = [read_run(path.parent) for path in sorted(folder.glob(f"*/{MANIFEST}"))]
    return [run for run in runs if run.compare]


def write_summary(folder: Path, formats: Collection[str]) -> tuple[str, list[Path]]:
    """Write what the comparisons below the folder say together; returns the finding, and paths."""
    runs = find_runs(folder)
    if not runs:
        raise ElmldaError(f"{folder}: neither a run nor a folder of comparisons. Name a run's folder.")
    tables = {str(run.settings["dataset"]): tabulate_compare(run.compare) for run in runs}
    summary, ranks = tabulate_summary(tables), tabulate_ranks(tables)
    fanout = choose_fanout(tables)
    at_fanout = summary[summary["fanout"] == fanout]
    sections = _make_sections(summary, ranks, at_fanout, fanout)
    findings = describe_findings(at_fanout, fanout)
    names = ", ".join(str(run.settings["dataset"]) for run in runs)
    context = build_joint_context(
        "elmlda compare",
        "Does LDA-ELM help on other data?",
        findings,
        sections,
        runs,
        {"data sets": names},
    )
    written = {"summary": summary, "ranks": ranks}
    return findings[0], write_report_files(folder, formats, written, context)


def choose_fanout(tables: Mapping[str, pd.DataFrame]) -> float:
    """Of the fan-outs that most sets have with and without a ridge, the one nearest to the usual."""
    counts: dict[float, int] = {}
    for table in tables.values():
        for fanout, rules in table.groupby("fanout")["rule"].nunique().items():
            counts[float(str(fanout))] = counts.get(float(str(fanout)), 0) + (rules == 2)
    return max(counts, key=lambda fanout: (counts[fanout], -abs(fanout - USUAL_FANOUT)))


def describe_findings(rows: pd.DataFrame, fanout: float) -> list[str]:
    """Where LDA-ELM helps, where it does not, and why, in sentences that follow from the numbers."""
    sentences = []
    for rule, words in (("none", "Without a ridge"), ("gcv", "With the ridge chosen by GCV")):
        some = rows[rows["rule"] == rule]
        if some.empty:
            continue
        sure = some[some["p_holm"] < ALPHA]
        better, worse = sure[sure["difference"] > 0], sure[sure["difference"] < 0]
        sentences.append(
            f"{words}, at fan-out {fanout:g}, LDA-ELM has fewer errors than PI-ELM on "
            f"{(some['difference'] > 0).sum()} of {len(some)} data sets: beyond chance "
            f"(p < {ALPHA} after Holm's correction) on {_list(better)}; PI-ELM on {_list(worse)}."
        )
    gained = rows[(rows["difference"] > 0) & (rows["p_holm"] < ALPHA)]
    for name, group in gained.groupby("dataset", sort=False):
        sentences.append(_explain(str(name), group.sort_values("difference").iloc[-1]))
    lost = rows[(rows["difference"] < 0) & (rows["p_holm"] < ALPHA)]
    for name, group in lost.groupby("dataset", sort=False):
        sentences.append(_explain_loss(str(name), group.sort_values("difference").iloc[0]))
    decided = set(rows.loc[rows["p_holm"] < ALPHA, "dataset"])
    alike = rows[~rows["dataset"].isin(decided)]
    if not alike.empty:
        names = ", ".join(dict.fromkeys(alike["dataset"]))
        sentences.append(
            f"On {names} they can't be told apart: the differences are at most "
            f"{alike['difference'].abs().max():.2f} points, within what chance gives."
        )
    return sentences


def _explain(name: str, row: Any) -> str:
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
    """Whether LDA-ELM's errors on one set are the price of a class that PI-ELM neglects."""
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
    if rows.empty:
        return "none"
    return ", ".join(
        f"{row['dataset']} ({row['difference']:+.2f} points)" for _, row in rows.iterrows()
    )


def _make_sections(
    summary: pd.DataFrame, ranks: pd.DataFrame, at_fanout: pd.DataFrame, fanout: float
) -> list[Section]:
    title = f"PI-ELM − LDA-ELM at fan-out {fanout:g}, with 95 % intervals"
    sections = [
        Section(
            "summary",
            "All data sets",
            describe_compare(at_fanout),
            [
                PageFigure(
                    "summary",
                    "Difference of the error rates of PI-ELM and LDA-ELM on each data set",
                    f"{title}; right of zero LDA-ELM is better.",
                    partial(plot_summary, rows=at_fanout, title=title),
                )
            ],
            "p, Holm: corrected for the number of data sets.",
        )
    ]
    if not ranks.empty:
        sections.append(
            Section(
                "ranks",
                "Average ranks",
                describe_ranks(ranks),
                [],
                "After Demšar: contestants are ranked on each set, equal error rates share ranks. "
                f"Two of the {len(CONTESTANTS)} differ if their average ranks do by the critical "
                "difference (Nemenyi, 5 %).",
            )
        )
    sections.append(Section("sizes", "Every size", describe_compare(summary), []))
    return sections
