"""What `elmlda shaped` found, from the folders of its parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from elmlda import paper
from elmlda.errors import ElmldaError
from elmlda.experiments.tune import choose
from elmlda.reports import plots
from elmlda.reports.model import Column, Drawing, Report, Section, make_table
from elmlda.reports.provenance import join_provenance
from elmlda.reports.records import RunRecords, read_run
from elmlda.reports.subjects import tune
from elmlda.reports.subjects.ensemble import describe_ensemble, tabulate_ensemble
from elmlda.reports.subjects.sweep import FANOUT, HIDDEN, REPEATS, tabulate_sweep
from elmlda.runs.manifest import MANIFEST
from elmlda.settings import INPUT_WEIGHTS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MCDONNELL = (
    "M. D. McDonnell, M. D. Tissera, T. Vladusich, A. van Schaik and J. Tapson, PLoS ONE 10 (8), 2015, "
    "e0134254"
)
MCDONNELL_ERROR_PERCENT: dict[str, dict[int, float]] = {
    "uniform": {1600: 3.7, 8000: 1.8},
    "constrained": {1600: 3.5},
    "receptive-field-constrained": {1600: 2.3, 8000: 1.1},
}
"""Scheme -> hidden units -> test errors, as the authors' own example programs state them (January
2015, "about"; the last is the middle of 1.0 to 1.2). Their paper's abstract says: below 1 %."""
COLUMNS = [
    Column("Input weights", "input_weights"),
    FANOUT,
    HIDDEN,
    REPEATS,
    Column("PI-ELM, %", "pi_error_percent", ".2f", "pi_interval"),
    Column("LDA-ELM, %", "lda_error_percent", ".2f", "lda_interval"),
    Column("PI − LDA, points", "difference", "+.3f", "difference_interval"),
]
NOTE = (
    "Norm (of uniform weights: range) and ridge were chosen on held-out training samples, see below; "
    "then networks were trained on the whole training part. PI − LDA: mean of the repeats' own "
    "differences."
)
USUAL_FANOUT = 10


@dataclass(frozen=True)
class Study:
    """The runs of a study, by kind of input weights."""

    runs: Mapping[str, RunRecords]
    tuned: Mapping[str, RunRecords]


def read_study(folder: Path) -> Study | None:
    """Read the runs below a folder; None if they are none of a study's."""
    found = []
    for place, name in ((folder, "sweep"), (folder / "tune", "tune")):
        runs = {scheme: place / scheme for scheme in INPUT_WEIGHTS}
        present = {scheme: read_run(run) for scheme, run in runs.items() if (run / MANIFEST).exists()}
        found.append({scheme: run for scheme, run in present.items() if getattr(run, name)})
    return Study(*found) if found[0] else None


def make_study_report(folder: Path, study: Study) -> Report:
    """What the runs of the study say together."""
    names = {run.name for run in study.runs.values()}
    if len(names) > 1:
        raise ElmldaError(f"{folder}: runs of several data sets ({', '.join(sorted(names))}).")
    tables = {scheme: tabulate_sweep(run.sweep) for scheme, run in study.runs.items()}
    together = tabulate_schemes(tables)
    findings = describe_findings(study, tables)
    runs = [*study.runs.values(), *study.tuned.values()]
    shared = {"input weights": ", ".join(study.runs)}
    return Report(
        title=f"elmlda shaped on {runs[0].name}",
        question="Which input weights are best?",
        headline=findings[0],
        second_line=" ".join(findings[1:]),
        sections=list(_make_sections(study, tables, together)),
        tables={"schemes": together},
        provenance=join_provenance(runs, shared, runs[0].settings.get("sha256")),
    )


def tabulate_schemes(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """All kinds' rows together, `tabulate_sweep`'s columns but for the paper's."""
    parts = [table.assign(input_weights=scheme) for scheme, table in tables.items()]
    frame = pd.concat(parts, ignore_index=True)
    ours = frame.loc[:, ~frame.columns.str.match("paper_|.*_distance$")]
    return ours[["input_weights", *ours.columns.drop("input_weights")]]


def describe_findings(study: Study, tables: Mapping[str, pd.DataFrame]) -> list[str]:
    """Which kind is best, by how much, and whether LDA still beats PI, in sentences."""
    sentences = [_describe_rates(tables)]
    sentences += [
        f"An ensemble of {record.size} networks with {scheme} input weights has "
        f"{100 * record.errors / record.n_test:.2f} % ({record.errors} of {record.n_test:,})."
        for scheme, run in study.runs.items()
        for record in run.ensemble
        if record.key == run.best_ensemble
    ]
    return sentences + [_describe_advantage(scheme, table) for scheme, table in tables.items()]


def _describe_rates(tables: Mapping[str, pd.DataFrame]) -> str:
    """Every kind's error rate at the largest size that all have, the best first."""
    by_size = {
        scheme: table.set_index("n_hidden")["lda_error_percent"] for scheme, table in tables.items()
    }
    common = set.intersection(*(set(rates.index) for rates in by_size.values()))
    if not common:
        return "No number of hidden units has been run with every kind of input weights yet."
    size = max(common)
    rates = sorted((float(rates[size]), scheme) for scheme, rates in by_size.items())
    listed = ", ".join(f"{percent:.2f} % ({scheme})" for percent, scheme in rates)
    return f"Test errors of LDA-ELM with {int(size):,} hidden units: {listed}."


def _describe_advantage(scheme: str, table: pd.DataFrame) -> str:
    """Whether LDA-ELM has fewer errors than PI-ELM, and at how many sizes beyond chance."""
    half = table["difference_interval"]
    better = (table["difference"] > half).sum()
    worse = (table["difference"] < -half).sum()
    row = table.iloc[(table["fanout"] - USUAL_FANOUT).abs().argmin()]
    interval = "" if pd.isna(row["difference_interval"]) else f" ± {row['difference_interval']:.3f}"
    return (
        f"{scheme}: of {len(table)} sizes LDA-ELM is better than PI-ELM beyond chance (95 % interval "
        f"of the paired difference) at {better}, worse at {worse}; at fan-out {row['fanout']:g} "
        f"PI − LDA is {row['difference']:+.3f}{interval} points."
    )


def _make_sections(
    study: Study, tables: Mapping[str, pd.DataFrame], together: pd.DataFrame
) -> Iterator[Section]:
    is_mnist = all(run.is_papers_data for run in study.runs.values())
    stars = f" Stars: what {MCDONNELL}, say of their PI-ELM." if is_mnist else ""
    figure = Drawing(
        "schemes",
        "Test error rate over fan-out for each kind of input weights",
        f"Dotted: PI-ELM. Intervals of three repeats or more are drawn.{stars}",
        partial(plot_schemes, tables=tables, is_mnist=is_mnist),
    )
    yield Section(
        "schemes",
        "Error rate over fan-out by input weights",
        figures=[figure],
        tables=[make_table("Error rates in per cent, means over repeats", together, COLUMNS)],
        note=NOTE,
    )
    if study.tuned:
        chosen = pd.DataFrame(
            [{"input_weights": scheme, **vars(choose(run.tune))} for scheme, run in study.tuned.items()]
        )
        shown = make_table(tune.CAPTION, chosen, tune.COLUMNS)
        yield Section("choices", "What was chosen on held-out samples", tables=[shown])
    for scheme, run in study.runs.items():
        if run.ensemble:
            shown = describe_ensemble(tabulate_ensemble(run.ensemble), beside_paper=False)
            title = f"Ensemble of networks with {scheme} weights"
            yield Section(f"ensemble-{scheme}", title, tables=[shown])


def plot_schemes(figure: Figure, tables: Mapping[str, pd.DataFrame], is_mnist: bool) -> None:
    """Error rate over fan-out, a curve for each kind of input weights.

    Parameters
    ----------
    tables : scheme -> `tabulate_sweep`'s table
    is_mnist : whether the paper's curve and McDonnell's points are for the same data
    """
    figure.set_size_inches(6.4, 4.6)
    axes = figure.subplots()
    for i, (scheme, table) in enumerate(tables.items()):
        look = plots.style(i)
        rates, half = table["lda_error_percent"], _choose_intervals(table)
        plots.plot_points(axes, table["fanout"], rates, half, ls="-", ms=3, label=scheme, **look)
        axes.plot(table["fanout"], table["pi_error_percent"], color=look["color"], ls=":", lw=1.0)
        stated = MCDONNELL_ERROR_PERCENT.get(scheme, {})
        if is_mnist and stated:
            fanouts = [n_hidden / paper.N_INPUTS for n_hidden in stated]
            axes.plot(fanouts, list(stated.values()), ls="", ms=8, color=look["color"], marker="*")
    axes.plot([], [], ls=":", lw=1.0, color=plots.ink(), label="PI-ELM of the same colour")
    if is_mnist:
        papers, look = paper.LDA_ERROR_PERCENT, {"color": plots.ink(), "marker": "o"}
        plots.plot_papers(axes, list(papers), list(papers.values()), "LDA-ELM, the paper", **look)
        axes.plot([], [], ls="", ms=8, marker="*", color=plots.ink(), label="PI-ELM, McDonnell et al.")
    together = pd.concat(tables.values())
    means = plots.name_means(together["repeats"], _choose_intervals(together))
    axes.set(yscale="log", ylabel=plots.RATE_LABEL, title=f"LDA-ELM by input weights, {means}")
    plots.integer_axis(axes.xaxis)
    plots.log_ticks(axes.yaxis)
    plots.legend_below(figure, n_columns=2)


def _choose_intervals(table: pd.DataFrame) -> pd.Series[float]:
    """Half the intervals that are drawn: those of two repeats would hide everything."""
    return table["lda_interval"].where(table["repeats"] > 2)
