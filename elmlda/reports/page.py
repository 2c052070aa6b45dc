"""Compose pages: tables, figures and sentences of one run, or of the runs in a folder's subfolders.

templates/words.toml says which section shows which figures and tables; the sentences about results are
in templates/result.txt.j2.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from elmlda import paper
from elmlda.errors import ElmldaError, join_words
from elmlda.reports import claims, figures, tables
from elmlda.reports.load import Records, read_notes, read_records, read_subfolders
from elmlda.reports.render import Figure, Page, render_lines
from elmlda.runs.folder import MANIFEST

OPTION = r"( --([\w-]+)(?:[ =](?:'[^']*'|[^-\s]\S*))?)"
"""An option in a command: its whole text, and its name."""
SHARED = ("seed", "out", "dataset")
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
    unused = ("weight_norm", "min_field") if run.settings["input_weights"] == "uniform" else ()
    drawn = [
        Figure("fig1", figures.plot_fig1, first, run.is_mnist),
        Figure("fig2", figures.plot_fig2, sizes),
        Figure("reliability", figures.plot_reliability, bins),
        Figure("confusion", figures.plot_confusion, confusion),
        Figure("mistakes", figures.plot_mistakes, mistakes),
        Figure("posteriors", figures.plot_posteriors, scores, run.is_mnist),
    ]
    words = {
        "is_papers": run.matches_paper, "n_networks": run.n_networks, "paper": paper,
        "rates": first, "sizes": sizes, "times": times, "baselines": tables.list_baselines(run),
        "cells": verdicts[verdicts["counted"] & (verdicts["kind"] == "rate")] if len(verdicts) else [],
    }  # fmt: skip
    return Page(
        title=f"PI-ELM and LDA-ELM on {run.name}",
        intro="mnist" if run.is_mnist else "own",
        is_papers=run.matches_paper,
        result=render_lines("result.txt.j2", **words),
        missing=dict(_list_missing(run)) if run.matches_paper else {},
        figures={figure.name: figure for figure in drawn if len(figure.table)},
        tables={
            "table1": tables.table1(run, rates),
            "table2": tables.in_papers_shape(times, "table2", run.is_mnist),
            "table1_details": rates, "table2_details": times,
            "ensemble_table": sizes, "posteriors": scores, "claims": verdicts,
        },
        made=render_lines("origin.txt.j2", **run.manifest, rows=run.sweep),
        settings={name: value for name, value in run.settings.items() if name not in unused},
        **_list_sources(run.folder, [run]),
    )  # fmt: skip


def _list_sources(folder: Path, runs: list[Records]) -> dict[str, Any]:
    """Return a page's notes, files and commands."""
    files = [path for run in runs for path in run.files]
    commands = [str(entry.get("command", "")) for run in runs for entry in run.manifest["commands"]]
    return {
        "notes": read_notes(folder),
        "rows": [path.relative_to(folder).as_posix() for path in files],
        "commands": list(dict.fromkeys(commands)),
    }


def _list_missing(run: Records) -> Iterator[tuple[str, str]]:
    """List what a partial run lacks of the paper's experiments, and the command that computes it."""
    commands = [str(entry.get("command", "")) for entry in run.manifest["commands"]]
    sweeps = [command for command in commands if command.startswith("elmlda sweep")]
    options = re.findall(OPTION, sweeps[-1]) if sweeps else []
    own = "".join(text for text, name in options if name not in ("fanout", "repeats"))
    shared = "".join(text for text, name in options if name in SHARED)
    fanouts = claims.ALL_FANOUTS
    if run.n_networks < paper.REPEATS or set(fanouts) - set(run.primary["fanout"]):
        extent = f"--fanout 1-{fanouts[-1]} --repeats {paper.REPEATS}"
        yield "Fig. 1 and Table 1", f"elmlda sweep {extent}{own}"
    if not {2, paper.ENSEMBLE_SIZE} <= {*run.ensemble["size"], *run.draws["size"]}:
        yield "Fig. 2", f"elmlda ensemble{shared}"
    if not set(paper.FANOUTS) <= set(run.timing["fanout"]):
        yield "Table 2", f"elmlda timing{shared}"


def make_group_page(folder: Path, all_runs: Mapping[str, Records]) -> Page:
    """Compose the page of several runs, which compares both methods in each of them."""
    runs = {name: run for name, run in all_runs.items() if len(run.sweep)}
    if not runs:
        nothing = "no run of elmlda, and none in its subfolders. Name a run's folder."
        no_rows = f"none of its {len(all_runs)} runs has rows of a sweep yet."
        raise ElmldaError(f"{folder}: {no_rows if all_runs else nothing}")
    table = tables.tabulate_datasets(runs)
    empty = sorted(all_runs.keys() - runs.keys())
    return Page(
        title=f"PI-ELM and LDA-ELM: {join_words(runs)}",
        intro="mnist" if all(run.is_mnist for run in runs.values()) else "own",
        result=render_lines("result.txt.j2", cells=table, n_runs=len(runs), empty=empty),
        figures={"compare": Figure("compare", figures.plot_compare, table)},
        tables={"compare": table},
        **_list_sources(folder, list(runs.values())),
    )
