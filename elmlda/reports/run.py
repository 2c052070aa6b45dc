"""The report of one run: everything that its records give."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd

from elmlda.reports.claims.evidence import gather_evidence
from elmlda.reports.claims.rule import Claim
from elmlda.reports.claims.statements import judge_claims
from elmlda.reports.claims.words import (
    describe_cells,
    describe_claims,
    summarise_claims,
    summarise_other_reading,
    tabulate_claims,
)
from elmlda.reports.gaps import find_gaps
from elmlda.reports.model import Report, Section
from elmlda.reports.provenance import find_departures, find_provenance
from elmlda.reports.records import RunRecords, read_run
from elmlda.reports.subjects import (
    calibration,
    compare,
    designs,
    ensemble,
    readings,
    sweep,
    timing,
    tune,
)


def make_run_report(folder: Path) -> Report:
    """For the records that the run has."""
    run = read_run(folder)
    claims = _judge(run) if run.is_papers_kind and run.has_papers_experiments else []
    tables = _tabulate(run, claims)
    headline, tone = summarise(run, tables, claims)
    return Report(
        title=f"elmlda on {run.name}",
        question="Was the paper reproduced?" if claims else "What the run found",
        headline=headline,
        tone=tone,
        second_line=summarise_other_reading(claims) if claims else "",
        sections=[*describe_claims(claims), *_make_sections(run, tables), *describe_cells(claims)],
        tables=tables,
        claims=claims,
        gaps=find_gaps(run),
        departures=find_departures(run) if run.is_papers_kind else [],
        provenance=find_provenance(run),
    )


def _judge(run: RunRecords) -> list[Claim]:
    """Networks that are not of Fig. 2's kind say nothing of it."""
    pairs, ensembles = (run.pairs, run.ensemble) if run.is_papers_ensemble else ([], [])
    overheads = timing.list_overheads(run.timing)
    return judge_claims(gather_evidence(run.sweep, pairs, ensembles, overheads))


SUBJECTS: dict[str, ModuleType] = {
    "table1": sweep,
    "readings": readings,
    "ensemble_table": ensemble,
    "calibration_table": calibration,
    "table2": timing,
    "designs": designs,
    "tune_table": tune,
    "compare_table": compare,
}
"""Name of a CSV file -> the module that makes sections of it, in the report's order."""


OUR_COLUMNS = r"^(?!paper_)(?!.*_distance$)"
"""Those of Tables 1 and 2 that have nothing of the paper's in them."""


def _tabulate(run: RunRecords, claims: Sequence[Claim]) -> dict[str, pd.DataFrame]:
    """Name of the CSV file -> its table."""
    makers: dict[str, tuple[Sequence[Any], Callable[[Any], pd.DataFrame]]] = {
        "table1": (run.sweep, sweep.tabulate_sweep),
        "table2": (run.timing, timing.tabulate_timing),
        "tune_table": (run.tune, tune.tabulate_tune),
        "compare_table": (run.compare, compare.tabulate_compare),
        "ensemble_table": (run.ensemble, ensemble.tabulate_ensemble),
        "calibration_table": (run.calibration, calibration.tabulate_calibration),
    }
    tables = {name: tabulate(records) for name, (records, tabulate) in makers.items() if records}
    if not run.is_papers_kind:
        for name in {"table1", "table2"} & tables.keys():
            tables[name] = tables[name].filter(regex=OUR_COLUMNS)
    for name, rows in (("table1", sweep.AS_PRINTED), ("table2", timing.AS_PRINTED)):
        if claims and name in tables:
            tables[f"{name}_as_printed"] = sweep.tabulate_as_printed(tables[name], rows)
    if independent := designs.find_independent(run):
        tables["designs"] = designs.tabulate_designs(run, independent)
    if claims:
        if not (table := readings.tabulate_readings(run.sweep)).empty:
            tables["readings"] = table
        tables["claims"] = tabulate_claims(claims)
    return tables


def _make_sections(run: RunRecords, tables: Mapping[str, pd.DataFrame]) -> Iterator[Section]:
    for name, subject in SUBJECTS.items():
        if name in tables and not tables[name].empty:
            yield from subject.make_sections(run, tables[name])


def summarise(
    run: RunRecords, tables: Mapping[str, pd.DataFrame], claims: Sequence[Claim]
) -> tuple[str, str]:
    """One sentence on whether the paper was reproduced, and its tone."""
    if run.compare and not run.has_papers_experiments:
        return compare.summarise(tables["compare_table"]), "neutral"
    if run.tune and not run.has_papers_experiments:
        return tune.summarise(run), "neutral"
    if not run.is_papers_data:
        return "Not the paper's data: nothing to compare with.", "neutral"
    if not run.is_papers_kind:
        return f"Not the paper's input weights but {run.input_weights} ones.", "neutral"
    return summarise_claims(claims)
