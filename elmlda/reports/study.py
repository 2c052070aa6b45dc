"""What `elmlda shaped` found, from the folders of its parts."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pandas as pd

from elmlda.errors import ElmldaError
from elmlda.experiments.tune import Choice, choose
from elmlda.reports.figures import plot_schemes
from elmlda.reports.files import write_report_files
from elmlda.reports.literature import MCDONNELL
from elmlda.reports.page import (
    PageFigure,
    Section,
    describe_choices,
    describe_ensemble,
    describe_schemes,
)
from elmlda.reports.records import RunRecords, read_run
from elmlda.reports.tables import tabulate_ensemble, tabulate_sweep
from elmlda.reports.together import build_joint_context
from elmlda.runs.manifest import MANIFEST
from elmlda.settings import INPUT_WEIGHTS

USUAL_FANOUT = 10


@dataclass(frozen=True)
class Study:
    """The runs of a study, by kind of input weights."""

    runs: Mapping[str, RunRecords]
    tuned: Mapping[str, RunRecords]

    @property
    def choices(self) -> dict[str, Choice]:
        return {scheme: choose(run.tune) for scheme, run in self.tuned.items()}


def read_study(folder: Path) -> Study | None:
    """Read the runs below a folder; None if they are none of a study's."""
    found = []
    for place, name in ((folder, "sweep"), (folder / "tune", "tune")):
        runs = {scheme: place / scheme for scheme in INPUT_WEIGHTS}
        present = {scheme: read_run(run) for scheme, run in runs.items() if (run / MANIFEST).exists()}
        found.append({scheme: run for scheme, run in present.items() if getattr(run, name)})
    return Study(*found) if found[0] else None


def write_study(folder: Path, study: Study, formats: Collection[str]) -> tuple[str, list[Path]]:
    """Write what the runs of the study say together; returns the finding, and paths."""
    names = {run.settings.get("dataset") for run in study.runs.values()}
    if len(names) > 1:
        raise ElmldaError(f"{folder}: runs of several data sets ({', '.join(map(str, names))}).")
    tables = {scheme: tabulate_sweep(run.sweep) for scheme, run in study.runs.items()}
    together = tabulate_schemes(tables)
    findings = describe_findings(study, tables)
    sections = _make_sections(study, tables, together)
    runs = [*study.runs.values(), *study.tuned.values()]
    context = build_joint_context(
        f"elmlda shaped on {runs[0].settings.get('dataset')}",
        "Which input weights are best?",
        findings,
        sections,
        runs,
        {"input weights": ", ".join(study.runs)},
        runs[0].settings.get("sha256"),
    )
    return findings[0], write_report_files(folder, formats, {"schemes": together}, context)


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
) -> list[Section]:
    is_mnist = all(run.is_papers_data for run in study.runs.values())
    note = f" Stars: what {MCDONNELL}, say of their PI-ELM." if is_mnist else ""
    sections = [
        Section(
            "schemes",
            "Error rate over fan-out by input weights",
            describe_schemes(together),
            [
                PageFigure(
                    "schemes",
                    "Test error rate over fan-out for each kind of input weights",
                    "LDA-ELM's error rate with the 95 % interval of the mean; dotted: PI-ELM." + note,
                    partial(plot_schemes, tables=tables, is_mnist=is_mnist),
                )
            ],
            "Norm (of uniform weights: range) and ridge were chosen on held-out training samples, see "
            "below; then networks were trained on the whole training part. PI − LDA: mean of the "
            "repeats' own differences.",
        )
    ]
    if study.tuned:
        sections.append(
            Section(
                "choices", "What was chosen on held-out samples", describe_choices(study.choices), []
            )
        )
    for scheme, run in study.runs.items():
        if run.ensemble:
            table = describe_ensemble(tabulate_ensemble(run.ensemble), False)
            sections.append(
                Section(f"ensemble-{scheme}", f"Ensemble of networks with {scheme} weights", table, [])
            )
    return sections
