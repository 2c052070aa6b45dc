"""Compose pages: tables, figures and sentences of one run, or of the runs in a folder's subfolders.

templates/words.toml says which section shows which figures and tables; the sentences about results are
in templates/result.txt.j2.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from elmlda import paper
from elmlda.errors import ElmldaError, printable
from elmlda.reports import claims, figures, tables
from elmlda.reports.load import Records, read_notes, read_records, read_subfolders
from elmlda.reports.render import Figure, Page, render_lines, show, show_shape
from elmlda.runs.folder import MANIFEST

NOTHING = pd.DataFrame()
SHOWN_SIZES = (1, 2, 5, 10, 20)
"""Numbers of combined networks beside Fig. 2."""
MOST_CONFUSED_CLASSES = 30
"""Of more classes there is no confusion matrix."""
SHARED = ("--seed", "--out", "--dataset")
"""Options of a sweep that ensembles and times of the same run have too."""


def make_page(folder: Path) -> Page:
    """Compose the page of a run or, in a folder without one, of the runs in its subfolders."""
    if (folder / MANIFEST).is_file():
        return make_run_page(read_records(folder))
    return make_group_page(folder, read_subfolders(folder))


def make_run_page(run: Records) -> Page:
    """Compose the page of one run, with the paper's numbers where they apply."""
    if run.sweep.empty and run.ensemble.empty and run.timing.empty:
        raise ElmldaError(f"{run.folder}: no rows yet.", "Make some with {out}.", out=run.folder)
    rates, times = tables.rate_table(run), tables.time_table(run.timing, run.matches_paper)
    sizes, scores = tables.ensemble_table(run), tables.posterior_table(run)
    verdicts = claims.judge_claims(run) if run.matches_paper else pd.DataFrame()
    bins, (confusion, mistakes) = tables.reliability(run), tables.count_mistakes(run)
    first = tables.first_ridge(rates)
    single = scores[scores["networks"] == 1] if len(scores) else scores
    by_size = single if len(single) > 1 else NOTHING
    table1, shown_sizes = tables.table1(run, rates), _take_shown(sizes)
    table2 = tables.table2(run, times)
    is_small = len(confusion) <= MOST_CONFUSED_CLASSES
    drawn = [
        Figure("fig1", figures.plot_fig1, first, run.is_mnist),
        Figure("fig2", figures.plot_fig2, sizes),
        Figure("reliability", figures.plot_reliability, bins),
        Figure("confusion", figures.plot_confusion, confusion if is_small else NOTHING),
        Figure("mistakes", figures.plot_mistakes, mistakes),
        Figure("posteriors", figures.plot_posteriors, by_size, run.is_mnist),
    ]
    columns = ["ridge"] if rates.empty or rates["ridge"].nunique() == 1 else []
    shown = {
        "table1": show_shape(table1, "table1", run.is_mnist),
        "rates": show(rates.drop(columns=columns, errors="ignore"), "rates"),
        "sizes": show(shown_sizes, "sizes"),
        "ensembles": show(sizes, "ensembles"),
        "table2": show_shape(table2, "table2", run.is_mnist),
        "times": show(times, "times"),
        "claims": show(verdicts, "claims"),
        "posteriors": show(scores, "posteriors"),
    }
    words = {
        "is_papers": run.matches_paper, "n_networks": run.n_networks, "paper": paper,
        "rates": first, "sizes": shown_sizes, "baselines": tables.list_baselines(run),
        "cells": verdicts[verdicts["counted"] & (verdicts["kind"] == "rate")] if len(verdicts) else [],
    }  # fmt: skip
    return Page(
        title=f"PI-ELM and LDA-ELM on {run.name}",
        intro="mnist" if run.is_mnist else "own",
        is_papers=run.matches_paper,
        result=render_lines("result.txt.j2", **words),
        missing=dict(_list_missing(run)) if run.matches_paper else {},
        figures={figure.name: figure for figure in drawn if len(figure.table)},
        shown={name: table for name, table in shown.items() if len(table)},
        claims=verdicts,
        tables={
            "table1": table1, "table2": table2, "table1_details": rates, "table2_details": times,
            "ensemble_table": sizes, "posteriors": scores, "claims": verdicts,
        },
        made=list(_list_origin(run)),
        settings=run.settings,
        **_list_sources(run.folder, [run]),
    )  # fmt: skip


def _list_sources(folder: Path, runs: list[Records]) -> dict[str, Any]:
    """Return a page's notes, files and commands."""
    files = [path for run in runs for path in run.files]
    commands = [entry for run in runs for entry in run.manifest["commands"]]
    return {
        "notes": read_notes(folder),
        "rows": [path.relative_to(folder).as_posix() for path in files],
        "commands": [str(entry.get("command", "")) for entry in commands],
    }


def _take_shown(table: pd.DataFrame) -> pd.DataFrame:
    """Return some numbers of networks: means over random choices or else over separate ensembles."""
    if table.empty:
        return table
    source = "error" if table["error_percent"].notna().any() else "ensembles"
    columns = {"shown": table[f"{source}_percent"], "shown_interval": table[f"{source}_interval"]}
    shown = table.assign(**columns).dropna(subset=["shown"])
    return shown[shown["size"].isin([*SHOWN_SIZES, shown["size"].max()])]


def _list_missing(run: Records) -> Iterator[tuple[str, str]]:
    """List what a partial run lacks of the paper's experiments, and the command that computes it."""
    commands = [str(entry.get("command", "")) for entry in run.manifest["commands"]]
    sweeps = [command for command in commands if command.startswith("elmlda sweep")]
    options = _split(sweeps[-1])[1:] if sweeps else []
    own = [text for name, text in options if name not in ("--fanout", "--repeats")]
    shared = [text for name, text in options if name in SHARED]
    fanouts = claims.ALL_FANOUTS
    if run.n_networks < paper.REPEATS or set(fanouts) - set(run.primary["fanout"]):
        extent = f"--fanout 1-{fanouts[-1]} --repeats {paper.REPEATS}"
        yield "Fig. 1 and Table 1", " ".join(["elmlda sweep", extent, *own])
    if not {2, paper.ENSEMBLE_SIZE} <= {*run.ensemble["size"], *run.draws["size"]}:
        yield "Fig. 2", " ".join(["elmlda ensemble", *shared])
    if not set(paper.FANOUTS) <= set(run.timing["fanout"]):
        yield "Table 2", " ".join(["elmlda timing", *shared])


def _split(command: str) -> list[tuple[str, str]]:
    """Split a command into options: the name, and the words with its value as they are typed."""
    options: list[list[str]] = [[]]
    for word in shlex.split(command):
        options += [[]] if word.startswith("--") else []
        options[-1].append(word)
    return [(words[0].partition("=")[0], shlex.join(words)) for words in options]


def _list_origin(run: Records) -> Iterator[tuple[str, str]]:
    """List versions, commits, machines and time."""
    entries = run.manifest["commands"]
    yield "Version", ", ".join(dict.fromkeys(f"elmlda {entry.get('version')}" for entry in entries))
    commits = [(str(e["commit"])[:12], e.get("changed")) for e in entries if e.get("commit")]
    if commits:
        texts = (f"{commit}{' with changes' * bool(changed)}" for commit, changed in commits)
        yield "Commit", ", ".join(dict.fromkeys(texts))
    for machine in run.manifest["machines"]:
        texts = (f"{k} {', '.join(v) if isinstance(v, list) else v}" for k, v in machine.items())
        yield "Machine", "; ".join(texts).replace("_", " ")
    seconds = run.sweep.drop_duplicates(["repeat", "fold"])["seconds"].sum()
    if seconds > 0:
        time = f"{seconds / 3600:.1f} hours" if seconds > 3600 else f"{seconds:,.3g} seconds"
        yield "Time", f"{time} for all networks of the sweep, one after the other"


def make_group_page(folder: Path, all_runs: Mapping[str, Records]) -> Page:
    """Compose the page of several runs, which compares both methods in each of them."""
    runs = {name: run for name, run in all_runs.items() if len(run.sweep)}
    if not all_runs:
        fact = f"{folder}: no run of elmlda, and none in its subfolders."
        raise ElmldaError(f"{fact} Name a run's folder.")
    if not runs:
        raise ElmldaError(f"{folder}: none of its {len(all_runs)} runs has rows of a sweep yet.")
    table = tables.tabulate_datasets(runs)
    empty = sorted(all_runs.keys() - runs.keys())
    return Page(
        title=f"PI-ELM and LDA-ELM: {printable(folder.resolve().name)}",
        intro="mnist" if all(run.is_mnist for run in runs.values()) else "own",
        result=render_lines("result.txt.j2", cells=table, n_runs=len(runs), empty=empty),
        figures={"compare": Figure("compare", figures.plot_compare, table)},
        shown={"cells": show(table, "cells")},
        tables={"compare": table},
        **_list_sources(folder, list(runs.values())),
    )
