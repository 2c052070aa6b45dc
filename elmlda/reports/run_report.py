"""Everything that is made from one run's records."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from elmlda.reports.calibration_tables import tabulate_calibration
from elmlda.reports.claims import Claim
from elmlda.reports.compare_tables import tabulate_compare
from elmlda.reports.designs import find_independent, tabulate_designs
from elmlda.reports.evidence import Evidence, gather_evidence
from elmlda.reports.files import write_report_files
from elmlda.reports.judge import judge_claims, tabulate_claims
from elmlda.reports.page import build_context
from elmlda.reports.records import RunRecords, read_run
from elmlda.reports.sections import make_sections
from elmlda.reports.tables import (
    AS_PRINTED,
    tabulate_as_printed,
    tabulate_ensemble,
    tabulate_sweep,
    tabulate_tune,
)
from elmlda.reports.timing_tables import list_overheads, tabulate_timing
from elmlda.settings import REPORT_FORMATS


@dataclass(frozen=True)
class WrittenReport:
    """What was found, and where it was written."""

    run: RunRecords
    claims: list[Claim]
    paths: list[Path]


def write_report(folder: Path, formats: Collection[str] = REPORT_FORMATS) -> WrittenReport:
    """Write the run's tables, figures and pages into its folder, for the records that it has."""
    run = read_run(folder)
    evidence = _gather(run)
    about_paper = run.is_papers_kind and run.has_papers_experiments
    claims = judge_claims(evidence) if about_paper else []
    tables = _tabulate(run, claims)
    sections = list(make_sections(run, tables, evidence))
    context = build_context(run, claims, sections)
    paths = write_report_files(folder, formats, tables, context)
    return WrittenReport(run, claims, paths)


def _gather(run: RunRecords) -> Evidence:
    """Networks that are not of Fig. 2's kind say nothing of it."""
    pairs, ensemble = (run.pairs, run.ensemble) if run.is_papers_ensemble else ([], [])
    return gather_evidence(run.sweep, pairs, ensemble, list_overheads(run.timing))


def _tabulate(run: RunRecords, claims: Sequence[Claim]) -> dict[str, pd.DataFrame]:
    """Name of the CSV file -> its table."""
    tables: dict[str, pd.DataFrame] = {}
    if run.sweep:
        tables["table1"] = tabulate_sweep(run.sweep)
    if run.timing:
        tables["table2"] = tabulate_timing(run.timing)
    if claims:
        for name in [name for name in AS_PRINTED if name in tables]:
            tables[f"{name}_as_printed"] = tabulate_as_printed(tables[name], AS_PRINTED[name])
    if run.tune:
        tables["tune_table"] = tabulate_tune(run.tune)
    if run.compare:
        tables["compare_table"] = tabulate_compare(run.compare)
    if run.ensemble:
        tables["ensemble_table"] = tabulate_ensemble(run.ensemble)
    if run.calibration:
        tables["calibration_table"] = tabulate_calibration(run.calibration)
    independent = find_independent(run)
    if independent:
        tables["designs"] = tabulate_designs(run, independent)
    if claims:
        tables["claims"] = tabulate_claims(claims)
    return tables
