"""Compose pages. A run's page begins with the result, Fig. 1, Table 1 and the paper's claims.

The page of several runs compares either their settings, or both methods on their datasets.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from elmlda import paper
from elmlda.errors import ElmldaError, join_words, printable
from elmlda.reports import claims, differences, figures, tables
from elmlda.reports.claims import CONSTANT, INCONCLUSIVE, NOT_REPRODUCED, NOT_RUN, REPRODUCED
from elmlda.reports.load import METHODS, Records, differing, percents, read_notes, read_subfolders
from elmlda.reports.render import Figure, Page, Section, format_number, show
from elmlda.reports.stats import LEVEL

THIS_RUN = "this run"
"""Name of a run beside the runs in its subfolders."""
Tables = Mapping[str, pd.DataFrame]


def make_run_page(run: Records) -> Page:
    """Compose the page of one run; runs in its subfolders with the same data are compared with it."""
    if run.sweep.empty and run.ensemble.empty and run.timing.empty:
        raise ElmldaError(f"{run.folder}: no rows yet.", "Make some with {out}.", out=run.folder)
    others = read_subfolders(run.folder) if len(run.sweep) else {}
    same_data = {n: r for n, r in others.items() if len(r.sweep) and r.checksums == run.checksums}
    runs = {THIS_RUN: run, **same_data}
    run_tables = _tabulate(run)
    sections = list(_list_sections(run, run_tables))
    if same_data:
        section, difference_tables = _tabulate_differences(runs, THIS_RUN)
        sections.append(section)
        run_tables |= difference_tables
    return Page(
        title=f"elmlda on {run.name}",
        headline=_answer_paper(run, run_tables) if run.matches_paper else _state_result(run_tables),
        sections=sections,
        tables=run_tables,
        settings=list(_list_settings(run)),
        **_list_sources(run.folder, runs),
    )


def _list_sources(folder: Path, runs: Mapping[str, Records]) -> dict[str, Any]:
    """Return a page's notes, files and commands."""
    files = [path for run in runs.values() for path in run.files]
    commands = [entry for run in runs.values() for entry in run.manifest["commands"]]
    return {
        "notes": read_notes(folder),
        "rows": [path.relative_to(folder).as_posix() for path in files],
        "commands": [str(entry.get("command", "")) for entry in commands],
    }


def _tabulate(run: Records) -> dict[str, pd.DataFrame]:
    """Return tables by the name of their CSV file; claims only where the paper's numbers apply."""
    rates, times = tables.rate_table(run), tables.time_table(run.timing, run.matches_paper)
    return {
        "table1": tables.table1(run, rates),
        "table2": tables.in_papers_shape(times, tables.TABLE2, run.is_mnist),
        "table1_details": rates,
        "table2_details": times,
        "ensemble_table": tables.ensemble_table(run),
        "posteriors": tables.posterior_table(run),
        **({"claims": claims.judge_claims(run)} if run.matches_paper else {}),
    }


def _answer_paper(run: Records, run_tables: Tables) -> str:
    """Return the headline: how many claims of each kind are reproduced, and what the others are."""
    n = len(percents(run.primary).dropna()) if len(run.primary) else 0
    is_whole = n >= paper.REPEATS and set(claims.ALL_FANOUTS) <= set(run.primary["fanout"])
    counted = run_tables["claims"].query("counted")
    n_reproduced = [
        f"{(rows['verdict'] == REPRODUCED).sum()} of {len(rows)} {kind}s"
        for kind, rows in counted.groupby("kind")
    ]
    others = [
        f"{verdict}: {(counted['verdict'] == verdict).sum() or 'none'}"
        for verdict in (NOT_REPRODUCED, INCONCLUSIVE, NOT_RUN)
    ]
    start = "Reproduced" if is_whole else f"Interim, {n} of {paper.REPEATS} networks; reproduced"
    return f"{start}: {'; '.join([' and '.join(n_reproduced), *others])}."


def _state_result(run_tables: Tables) -> str:
    """Return the headline of a run on other data: the first ridge's largest size with both methods."""
    table = run_tables["table1_details"]
    if table.empty:
        return "No sweep has been run in this folder."
    first = table[table["ridge"] == table["ridge"].iloc[0]]
    complete = first.dropna(subset=["lda_error_percent"])
    row = (complete if len(complete) else first).iloc[-1]
    lda = f"LDA-ELM {row['lda_error_percent']:.1f} %" if len(complete) else "LDA-ELM without a solution"
    return f"{lda}, PI-ELM {row['pi_error_percent']:.1f} % at {row['n_hidden']:,} hidden units"


def _list_sections(run: Records, run_tables: Tables) -> Iterator[Section]:
    is_papers = run.matches_paper
    if len(table := run_tables["table1_details"]):
        first = table[table["ridge"] == table["ridge"].iloc[0]]
        fig1 = Figure("fig1", figures.plot_fig1, first, is_papers)
        has_ridges = table["ridge"].nunique() > 1
        shown = show(table if has_ridges else table.drop(columns="ridge"), "rates")
        title = "Fig. 1 and Table 1: error rates" if is_papers else "Error rates"
        yield Section("table1", title, [fig1], [shown])
    if is_papers:
        yield Section("claims", "The paper's claims", [], [_show_claims(run_tables["claims"])])
    if len(table := run_tables["ensemble_table"]):
        drawn = Figure("fig2", figures.plot_fig2, table)
        title = "Fig. 2: ensembles" if is_papers else "Ensembles"
        yield Section("fig2", title, [drawn], [show(table, "ensembles")])
    if len(table := run_tables["table2_details"]):
        drawn = Figure("times", figures.plot_times, table)
        title = "Table 2: training and testing time" if is_papers else "Training and testing time"
        yield Section("table2", title, [drawn], [show(table, "times")])
    if len(table := run_tables["posteriors"]):
        single, bins, drawings = table[table["networks"] == 1], tables.reliability(run), []
        if len(single) > 1:
            drawings.append(Figure("posteriors", figures.plot_posteriors, single, is_papers))
        if len(bins):
            drawings.append(Figure("reliability", figures.plot_reliability, bins))
        yield Section("posteriors", "LDA-ELM's posteriors", drawings, [show(table, "posteriors")])


def _show_claims(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Show statements, and rates that are not reproduced, by Eq. (5) and with a constant unit."""
    rows = verdicts.copy()
    rows["region"] = [_name_region(*ends) for ends in rows[["region_low", "region_high"]].to_numpy()]
    rows["words"] = rows["claim"] + " (" + rows["place"] + ")"
    rows["half"] = (rows["high"] - rows["low"]) / 2
    constant = rows[rows["reading"] == CONSTANT].set_index("claim")
    columns = ["ours", "half", "z", "verdict"]
    rows = rows[rows["counted"]].join(constant[columns].add_prefix("constant_"), on="claim")
    is_open = rows["verdict"].isin([NOT_REPRODUCED, INCONCLUSIVE])
    return show(rows[(rows["kind"] == "statement") | is_open], "claims")


def _name_region(low: float, high: float) -> str:
    if math.isinf(high):
        return f"above {low:.3g}"
    return f"{low:.2f} to {high:.2f}" if low > -100 else f"below {high:.3g}"


def _list_settings(run: Records) -> Iterator[tuple[str, str]]:
    """List settings, versions, machines and checksums."""
    yield "dataset", run.name
    for name, value in {**run.settings, **run.settings["preparation"]}.items():
        if name != "preparation" and value is not None:
            yield name.replace("_", " "), str(value)
    yield "elmlda", ", ".join(sorted({str(e.get("version")) for e in run.manifest["commands"]}))
    for machine in run.manifest["machines"]:
        texts = [f"{k} {', '.join(v) if isinstance(v, list) else v}" for k, v in machine.items()]
        yield "machine", "; ".join(texts).replace("_", " ")
    for name, digest in run.checksums.items():
        yield f"SHA-256 of {name}", str(digest)


# Several runs


def make_group_page(folder: Path) -> Page:
    """Compose the page of the runs in a folder's subfolders."""
    all_runs = read_subfolders(folder)
    runs = {name: run for name, run in all_runs.items() if len(run.sweep)}
    if not all_runs:
        raise ElmldaError(
            f"{folder}: no run of elmlda, and none in its subfolders. Name a run's folder."
        )
    if not runs:
        raise ElmldaError(f"{folder}: none of its {len(all_runs)} runs has rows of a sweep yet.")
    checksums = [run.checksums for run in runs.values()]
    has_one_dataset = len(runs) > 1 and all(others == checksums[0] for others in checksums)
    compare_runs = _compare_settings if has_one_dataset else _compare_datasets
    headline, section, csv_tables = compare_runs(runs)
    if empty := sorted(all_runs.keys() - runs.keys()):
        headline += f" Left out, because there are no rows: {join_words(empty)}."
    return Page(
        title=f"elmlda: {printable(folder.resolve().name)}",
        headline=headline,
        sections=[section],
        tables=csv_tables,
        **_list_sources(folder, runs),
    )


def _compare_settings(runs: Mapping[str, Records]) -> tuple[str, Section, Tables]:
    reference = differences.choose_reference(runs)
    runs = {reference: runs[reference], **runs}
    section, run_tables = _tabulate_differences(runs, reference)
    others = run_tables["differences"].dropna(subset=["difference"])
    headline = f"{len(runs)} runs that differ in {_name_settings(runs)}"
    if len(others):
        worst = others.iloc[int(others["difference"].abs().to_numpy().argmax())]
        points = f"{format_number(worst['difference'], '+.2f')} points"
        where = f"{worst['run']}, {METHODS[worst['method']]}, {worst['n_hidden']:,} hidden units"
        headline += f": the largest difference from {reference} is {points} ({where})"
    return f"{headline}.", section, run_tables


def _tabulate_differences(runs: Mapping[str, Records], reference: str) -> tuple[Section, Tables]:
    """Return the section and the tables of runs with other settings than the reference."""
    table = differences.tabulate_differences(runs, reference)
    table = table[table["run"] != THIS_RUN]  # Table 1 has its error rates
    run_tables = {"counts": differences.count_differences(runs, reference), "differences": table}
    has_differences = table["difference"].notna().any()
    drawings = [Figure("differences", figures.plot_differences, table)] if has_differences else []
    shown = [show(t.replace({"method": METHODS}), name) for name, t in run_tables.items() if len(t)]
    title = f"Runs that differ in {_name_settings(runs)}"
    return Section("differences", title, drawings, shown), run_tables


def _name_settings(runs: Mapping[str, Records]) -> str:
    return join_words(name.replace("_", " ") for name in differing(runs) or ["nothing"])


def _compare_datasets(runs: Mapping[str, Records]) -> tuple[str, Section, Tables]:
    table = differences.tabulate_datasets(runs)
    gaps, is_sure = table["difference"], table["p_holm"] < 1 - LEVEL
    counts = [
        f"{name} has fewer errors in {(sign * gaps > 0).sum()}, in {(sign * gaps[is_sure] > 0).sum()} "
        "of them with p < 0.05 after Holm's correction"
        for name, sign in (("LDA-ELM", 1), ("PI-ELM", -1))
    ]
    sets = f"{len(runs)} dataset{'s'[: len(runs) > 1]}"
    headline = f"Of {len(table)} combinations of dataset, ridge and size ({sets}), {'; '.join(counts)}."
    figure = Figure("compare", figures.plot_compare, table)
    section = Section("cells", "Error rates on every dataset", [figure], [show(table, "cells")])
    return headline, section, {"compare": table}
