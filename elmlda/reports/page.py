"""What pages say. Of a run, in the order people look: answer, Fig. 1, Table 1, claims, the rest.

Of several runs: how they differ in a setting, or how both methods compare on their data sets.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas as pd

from elmlda import paper
from elmlda.errors import ElmldaError, join_words, printable
from elmlda.reports import claims, compare, differences, figures, tables
from elmlda.reports.claims import CONSTANT, EQ5, INCONCLUSIVE, NOT_REPRODUCED, NOT_RUN, REPRODUCED
from elmlda.reports.load import (
    METHODS,
    Run,
    differing,
    list_files,
    list_runs,
    percents,
    read_notes,
    read_run,
)  # fmt: skip
from elmlda.reports.render import Figure, Page, Section, format_number, show
from elmlda.reports.stats import LEVEL

REGISTERED_SEED = 1
"""Seed of the run that judges the hypothesis of results/PROTOCOL.md; others may have suggested it."""
MOST_CLASSES = 30
"""A confusion matrix has no more classes than this."""
WITHIN = "this run"
"""What a run is called beside those in its folder."""
Tables = Mapping[str, pd.DataFrame]


def make_run_page(run: Run) -> Page:
    """The page of one run, with those in its subfolders as differences from it."""
    if run.sweep.empty and run.ensemble.empty and run.timing.empty:
        raise ElmldaError(f"{run.folder}: no rows yet.", "Make some with {out}.", out=run.folder)
    data = run.manifest["run"].get("sha256")
    inside = {path.name: read_run(path) for path in list_runs(run.folder) if len(run.sweep)}
    inside = {
        n: r for n, r in inside.items() if len(r.sweep) and r.manifest["run"].get("sha256") == data
    }
    made = _tabulate(run, inside)
    headline, tone, lines = _answer_paper(run, made) if "claims" in made else _state_result(made)
    return Page(
        title=f"elmlda on {run.name}",
        headline=headline,
        tone=tone,
        lines=lines,
        sections=[*_rate_sections(run, made), *_other_sections(run, made, inside)],
        tables=made,
        verdicts=made.get("claims", pd.DataFrame()),
        notes=read_notes(run.folder),
        rows=list_files([run, *inside.values()], run.folder),
        made=list(_list_settings(run)),
        commands=[str(entry.get("command", "")) for entry in run.manifest["commands"]],
    )


def _tabulate(run: Run, inside: Mapping[str, Run]) -> dict[str, pd.DataFrame]:
    """Name of a CSV file -> its table; claims and agreement only where the paper's numbers apply."""
    made = {
        "table1": tables.table1(run),
        "table2": tables.table2(run.timing, run.matches_paper),
        "ensemble_table": tables.ensemble_table(run),
        "posteriors": tables.posterior_table(run),
    }
    if run.matches_paper:
        fanouts = [f for f in paper.FANOUTS if f in set(run.primary["fanout"])]
        made["claims"] = claims.judge_claims(run)
        if len(run.timing):
            made["table2"]["verdict"] = made["table2"]["fanout"].map(claims.judge_times(run.timing))
        if fanouts:
            made["agreement"] = claims.judge_agreement(percents(run.primary), fanouts)
    if inside:
        made |= _tabulate_runs({WITHIN: run, **inside}, WITHIN)
        made["differences"] = made["differences"].query("run != @WITHIN")
    return made


def _answer_paper(run: Run, made: Tables) -> tuple[str, str, list[str]]:
    """Both halves: how many claims are reproduced, and whether the rates agree jointly."""
    n = len(percents(run.primary).dropna()) if len(run.primary) else 0
    is_whole = n >= paper.REPEATS and set(claims.ALL_FANOUTS) <= set(run.primary["fanout"])
    counted = made["claims"][made["claims"]["counted"]]
    judged, left = (counted[(counted["verdict"] == NOT_RUN) == missing] for missing in (False, True))
    parts = [
        f"{(rows['verdict'] == REPRODUCED).sum()} of {len(rows)} {kind}s"
        for kind, rows in counted.groupby("kind")
    ]
    failed = int((judged["verdict"] == NOT_REPRODUCED).sum())
    start = "Reproduced" if is_whole else f"Interim, {n} of {paper.REPEATS} networks; reproduced"
    answer = f"{start}: {' and '.join(parts)}; not reproduced: {failed or 'none'}; "
    so_far = "" if is_whole else " so far"
    answer += f"inconclusive{so_far}: {(judged['verdict'] == INCONCLUSIVE).sum() or 'none'}; "
    answer += f"not run: {len(left)}; " if len(left) else ""
    answer += _state_agreement(made.get("agreement", pd.DataFrame()))
    tone = "bad" if failed else "good" if is_whole else "open"
    places = left["place"].str.split(", ").str[-1].value_counts(sort=False)
    names = [f"{place} ({n})" for place, n in places.items()]
    lines = [f"Claims not run, or not at every size, by place: {join_words(names)}."] if names else []
    return answer, tone, lines


def _state_agreement(agreement: pd.DataFrame) -> str:
    if agreement.empty or agreement["p"].isna().any():
        return "joint agreement with the paper's rates: not tested with so few networks."
    p, n = agreement.set_index("reading")["p"], int(agreement["rates"].iloc[0])
    both = f"p = {p[EQ5]:.2g} by {EQ5}, p = {p[CONSTANT]:.2g} {CONSTANT} in PI-ELM"
    return f"joint agreement of the {n} rates with the paper's: {both}."


def _state_result(made: Tables) -> tuple[str, str, list[str]]:
    """The result at the largest size that has both methods, of the first ridge."""
    table = made["table1"]
    if table.empty:
        return "No sweep has been run in this folder.", "open", []
    first = table[table["ridge"] == table["ridge"].iloc[0]]
    whole = first.dropna(subset=["lda_error_percent"])
    row = (whole if len(whole) else first).iloc[-1]
    lda = f"LDA-ELM {row['lda_error_percent']:.1f} %" if len(whole) else "LDA-ELM without a solution"
    result = f"{lda}, PI-ELM {row['pi_error_percent']:.1f} % at {row['n_hidden']:,} hidden units"
    return result, "open", []


def _rate_sections(run: Run, made: Tables) -> Iterator[Section]:
    """Fig. 1 and Table 1, claims, both readings of PI-ELM."""
    table = made["table1"]
    first = table[table["ridge"] == table["ridge"].iloc[0]] if len(table) else table
    if len(table):
        fig1 = Figure("fig1", figures.plot_fig1, first, run.matches_paper)
        title = "Fig. 1 and Table 1: error rates" if run.matches_paper else "Error rates"
        has_ridges = table["ridge"].nunique() > 1
        listed = table if has_ridges else table.drop(columns="ridge")
        shown = show(listed, "Test error rates, means over networks", "rates")
        yield Section("table1", title, [fig1], [shown])
    if "claims" in made:
        yield _claims_section(made, run.settings["seed"] == REGISTERED_SEED)
    if "claims" in made and len(table):
        drawn = Figure("improvement", figures.plot_improvement, first)
        shown = show(first, "PI-ELM with a constant hidden unit, which Eq. (5) lacks", "constant_rates")
        yield Section("readings", "Both readings of PI-ELM", [drawn], [shown])


def _claims_section(made: Tables, is_registered: bool) -> Section:
    agreement, lines = made.get("agreement", pd.DataFrame()), []
    shown = [_show_claims(made["claims"], "statement")]
    if len(agreement):
        shown.append(show(agreement, "All rates together, and the mean gap PI − LDA", "agreement"))
        is_whole = (agreement["rates"] == 2 * len(paper.FANOUTS)).all()
        if is_registered and is_whole and (agreement["networks"] >= paper.REPEATS).all():
            log_ratio, verdict = claims.judge_hypothesis(agreement)
            ratio = format_number(log_ratio, "+.2f")
            lines = [
                f"That the paper's PI-ELM had a constant unit is {verdict} (log LR {ratio}). "
                "The printed numbers that this is tested with are those that suggested it."
            ]
    shown += [_show_claims(made["claims"], kind) for kind in ("rate", "improvement")]
    shown = [table for table in shown if len(table)]
    return Section("claims", "The paper's claims", tables=shown, lines=lines)


def _show_claims(verdicts: pd.DataFrame, kind: str) -> pd.DataFrame:
    """A row for each claim that was run, by Eq. (5) and beside it with a constant unit in PI-ELM."""
    rows = verdicts[(verdicts["kind"] == kind) & (verdicts["verdict"] != NOT_RUN)].copy()
    rows["region"] = [_name_region(*ends) for ends in rows[["region_low", "region_high"]].to_numpy()]
    rows["words"] = rows["claim"] + " (" + rows["place"] + ")"
    rows["half"] = (rows["high"] - rows["low"]) / 2
    constant = rows[rows["reading"] == CONSTANT].set_index("claim")
    rows = rows[rows["reading"] != CONSTANT].copy()
    for column in ("ours", "half", "z", "verdict"):
        rows[f"constant_{column}"] = rows["claim"].map(constant[column])
    caption = {"rate": f"The {len(rows)} rates", "improvement": "Improvements, which are not counted"}
    shown = show(rows, caption.get(kind, "Statements, in per cent or points"), "claims")
    shown.attrs |= {"kind": "claims", "folded": kind != "statement"}
    return shown


def _name_region(low: float, high: float) -> str:
    if math.isinf(high):
        return f"above {low:.3g}"
    return f"{low:.2f} to {high:.2f}" if low > -100 else f"below {high:.3g}"


def _other_sections(run: Run, made: Tables, inside: Mapping[str, Run]) -> Iterator[Section]:
    beside, table = run.matches_paper, made["table1"]
    if len(table) and table["p_both"].notna().any():
        shown = show(table, "Half-widths of 95 % intervals of PI − LDA", "images")
        yield Section("images", "Other networks, other images", tables=[shown])
    if len(found := made["ensemble_table"]):
        drawn = Figure("fig2", figures.plot_fig2, found)
        shown = show(found, "Error rates by number of networks", "ensembles")
        yield Section("fig2", f"{'Fig. 2: n' if beside else 'N'}etworks combined", [drawn], [shown])
    if len(found := made["table2"]):
        drawn = Figure("times", figures.plot_times, found)
        shown = show(found, "Processor time unless said otherwise", "times")
        yield Section("table2", f"{'Table 2: t' if beside else 'T'}imes", [drawn], [shown])
    yield from _posterior_sections(run, made["posteriors"])
    if "differences" in made:
        yield _difference_section(made, {WITHIN: run, **inside})


def _posterior_sections(run: Run, table: pd.DataFrame) -> Iterator[Section]:
    kept = run.kept if run.kept and run.kept.collect("posteriors") else None
    drawn, shown = [], []
    if len(table):
        single = table[table["networks"] == 1]
        if len(single) > 1:
            drawn += [Figure("posteriors", figures.plot_posteriors, single, run.matches_paper)]
        has_any = table["tempered_log_loss"].notna().any()
        words = "; tempered: scores are multiplied by the temperature" if has_any else ""
        shown = [show(table, f"LDA-ELM's posteriors{words}", "posteriors")]
    if kept:
        drawn += [Figure("reliability", figures.plot_reliability, tables.reliability(kept))]
    if shown or drawn:
        yield Section("posteriors", "LDA-ELM's posteriors", drawn, shown)
    if kept and len(kept.classes) <= MOST_CLASSES:
        figure = Figure("confusion", figures.plot_confusion, tables.confusion(kept))
        yield Section("confusion", "What is taken for what", [figure])


def _list_settings(run: Run) -> Iterator[tuple[str, str]]:
    """How the run was made: settings, precisions, versions, machines, checksums."""
    yield "data set", run.name
    for name, value in {**run.settings, **run.settings["preparation"]}.items():
        if name != "preparation" and value is not None:
            yield name.replace("_", " "), str(value)
    counts = run.sweep["precision"].value_counts().sort_index()
    if len(counts):
        yield "rows computed in", ", ".join(f"{name} {n:,}" for name, n in counts.items())
    yield "elmlda", ", ".join(sorted({str(e.get("version")) for e in run.manifest["commands"]}))
    for machine in run.manifest["machines"]:
        texts = [f"{k} {', '.join(v) if isinstance(v, list) else v}" for k, v in machine.items()]
        yield "computed on", "; ".join(texts).replace("_", " ")
    for name, digest in (run.manifest["run"].get("sha256") or {}).items():
        yield f"SHA-256 of {name}", str(digest)


# Several runs


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
        rows=list_files(runs.values(), folder),
        commands=[str(e.get("command", "")) for run in runs.values() for e in run.manifest["commands"]],
    )


def _differ(runs: Mapping[str, Run]) -> tuple[str, list[Section], dict[str, pd.DataFrame]]:
    reference = differences.choose_reference(runs)
    runs = {reference: runs[reference], **runs}
    made = _tabulate_runs(runs, reference)
    others = made["differences"].dropna(subset=["difference"])
    headline = f"{len(runs)} runs that differ in {_name_settings(runs)}"
    if len(others):
        worst = others.iloc[int(others["difference"].abs().to_numpy().argmax())]
        points = f"{format_number(worst['difference'], '+.2f')} points"
        where = f"{worst['run']}, {METHODS[worst['method']]}, {worst['n_hidden']:,} hidden units"
        headline += f": the largest difference from {reference} is {points} ({where})"
    return f"{headline}.", [_difference_section(made, runs)], made


def _tabulate_runs(runs: Mapping[str, Run], reference: str) -> dict[str, pd.DataFrame]:
    return {
        "differences": differences.tabulate_differences(runs, reference),
        "counts": differences.count_differences(runs, reference),
        "agreements": differences.tabulate_agreement(runs, reference),
    }


def _difference_section(made: Tables, runs: Mapping[str, Run]) -> Section:
    """Differences, and the joint agreement with Table 1 where that can be said."""
    table, drawn = made["differences"], []
    if table["difference"].notna().any():
        drawn = [Figure("differences", figures.plot_differences, table)]
    named = {n: t.replace({"method": METHODS}) for n, t in made.items() if len(t)}
    captions = {
        "agreements": "Joint agreement with Table 1 at the fan-outs that a run has in common",
        "counts": "Counts of errors, network by network",
        "differences": "Error rates, and differences with 95 % intervals",
    }
    shown = [show(named[n], caption, n) for n, caption in captions.items() if n in named]
    return Section("differences", f"Runs that differ in {_name_settings(runs)}", drawn, shown)


def _name_settings(runs: Mapping[str, Run]) -> str:
    return join_words(name.replace("_", " ") for name in differing(runs) or ["nothing"])


def _compare(runs: Mapping[str, Run]) -> tuple[str, list[Section], dict[str, pd.DataFrame]]:
    table = compare.tabulate_comparison(runs)
    gaps, is_sure = table["difference"], table["p_holm"] < 1 - LEVEL
    found = [
        f"{name} has fewer errors in {(sign * gaps > 0).sum()}, in {(sign * gaps[is_sure] > 0).sum()} "
        "of them with p < 0.05 after Holm's correction"
        for name, sign in (("LDA-ELM", 1), ("PI-ELM", -1))
    ]
    sets = f"{len(runs)} data set{'s'[: len(runs) > 1]}"
    headline = f"Of {len(table)} cells on {sets}, {'; '.join(found)}."
    figure = Figure("compare", figures.plot_compare, table)
    shown = show(table, "Test error rates", "cells")
    sections = [Section("cells", "Every data set, ridge and size", [figure], [shown])]
    ranks = compare.tabulate_ranks(table)
    if ranks.empty:
        return headline, sections, {"compare": table}
    names = [str(name) for name in ranks if str(name).startswith(("PI", "LDA"))]
    columns = ["Fan-out | fanout .3g", "+Sets | sets .0f"]
    columns += [f"{name.replace('-ELM, ridge', '')} | {name} .2f" for name in names]
    columns += ["Friedman p | friedman_p .2g", "+critical difference | critical_difference .2f"]
    shown = show(ranks, "Average ranks of method and ridge over data sets, 1 is best", columns)
    sections.append(Section("ranks", "Average ranks", tables=[shown]))
    return headline, sections, {"compare": table, "ranks": ranks}
