"""Everything that is made from one run's records."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pandas as pd

from elmlda.reports.calibration_section import make_calibration_section
from elmlda.reports.calibration_tables import tabulate_calibration
from elmlda.reports.claim_figures import plot_distance
from elmlda.reports.claims import Claim
from elmlda.reports.compare_tables import tabulate_compare
from elmlda.reports.designs import find_independent, tabulate_designs
from elmlda.reports.designs_page import make_designs_sections
from elmlda.reports.evidence import LDA, PI, Evidence, gather_evidence
from elmlda.reports.figures import (
    MOST_DIGITS,
    SPREAD_FANOUTS,
    plot_compare,
    plot_confusion,
    plot_ensemble,
    plot_improvement,
    plot_mistakes,
    plot_spread,
    plot_sweep,
    plot_tune,
)
from elmlda.reports.files import write_report_files
from elmlda.reports.judge import judge_claims, tabulate_claims
from elmlda.reports.page import (
    PageFigure,
    Section,
    build_context,
    describe_compare,
    describe_constant,
    describe_ensemble,
    describe_sweep,
    describe_timing,
    describe_tune,
)
from elmlda.reports.records import RunRecords, count_confusion, read_run
from elmlda.reports.tables import (
    AS_PRINTED,
    tabulate_as_printed,
    tabulate_ensemble,
    tabulate_sweep,
    tabulate_tune,
)
from elmlda.reports.timing_figures import plot_timing
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
    sections = list(_make_sections(run, tables, evidence))
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


def _make_sections(
    run: RunRecords, tables: dict[str, pd.DataFrame], evidence: Evidence
) -> Iterator[Section]:
    beside = run.is_papers_kind
    if "table1" in tables:
        table = tables["table1"]
        yield Section(
            "table1",
            "Table 1 and Fig. 1: error rate over fan-out",
            describe_sweep(table, beside),
            list(_sweep_figures(evidence, table, beside)),
            SWEEP_NOTE + (PAPER_NOTE if beside else ""),
        )
        if beside:
            yield Section(
                "constant",
                "Table 1 with a constant unit in PI-ELM",
                describe_constant(table),
                [],
                CONSTANT_NOTE,
            )
    if "ensemble_table" in tables:
        table = tables["ensemble_table"]
        yield Section(
            "ensemble",
            "Fig. 2: combining networks",
            describe_ensemble(table, run.is_papers_ensemble),
            list(_ensemble_figures(run, table)),
        )
    if "calibration_table" in tables:
        yield make_calibration_section(run.calibration, tables["calibration_table"])
    if "table2" in tables and not tables["table2"].empty:
        table = tables["table2"]
        yield Section(
            "table2",
            "Table 2: training and test times",
            describe_timing(table, beside),
            [
                PageFigure(
                    "times",
                    "Seconds of PI-ELM, LDA-ELM and both from one pass, and LDA-ELM's extra time, over "
                    "fan-out",
                    "Above: training and testing one network from scratch, the fastest of the repeats. "
                    "The paper's times are of a laptop of 2012, so only the shape and LDA's extra time "
                    "can be compared. Below: the extra time, with the 95 % interval of the mean.",
                    partial(plot_timing, table=table, beside_paper=beside),
                )
            ],
            TIMING_NOTE,
        )
    if "designs" in tables:
        yield from make_designs_sections(tables["designs"], run)
    if "tune_table" in tables:
        table = tables["tune_table"]
        yield Section(
            "tune",
            "Every setting that was tried",
            describe_tune(table, run.input_weights),
            [
                PageFigure(
                    "tune",
                    "Error rate of held-out samples over the ridge, a curve for each size of weights",
                    "LDA-ELM's error rate on the held-out training samples over the ridge.",
                    partial(plot_tune, table=table, input_weights=run.input_weights),
                )
            ],
        )
    if "compare_table" in tables:
        table = tables["compare_table"]
        name = str(run.settings.get("dataset"))
        yield Section(
            "compare",
            "PI-ELM against LDA-ELM",
            describe_compare(table),
            [
                PageFigure(
                    "compare",
                    f"Test error rate over hidden units on {name} for PI-ELM and LDA-ELM",
                    "Error rate over hidden units, with 95 % intervals of the mean.",
                    partial(plot_compare, table=table, title=name),
                )
            ],
            COMPARE_NOTE,
        )


COMPARE_NOTE = (
    "Both methods have the same input weights and splits. ± is half the 95 % interval of the mean, and "
    "p of the paired t-test; with cross-validation both are Nadeau and Bengio's, corrected for the "
    "training samples that folds share. With the set's own split they speak of networks, "
    "not of other samples. Worst class: the recall of the class that is recognised least."
)
SWEEP_NOTE = (
    "± is half the 95 % interval of the mean. Better by: 100·(PI − LDA)/PI of the means. "
    "PI − LDA: mean of the repeats' own differences, with Wilcoxon's signed-rank test."
)
PAPER_NOTE = (
    " z: ours minus the paper's in standard errors of that difference; the paper gives no spread, so "
    "its 200 repeats are taken to vary like ours."
)
CONSTANT_NOTE = (
    "Eq. (16) gives LDA-ELM a constant; Eq. (5) gives PI-ELM none. Here PI-ELM has one, a hidden unit "
    "that is always 1. LDA-ELM's rates are those of the table above."
)
TIMING_NOTE = (
    "LDA-ELM is trained as the paper writes it: its own covariance (Eq. 12), factorisation, solution "
    "(Eq. 16) and posteriors (Eq. 14). LDA extra: what LDA-ELM does and PI-ELM does not, timed inside "
    "LDA-ELM's own runs, in per cent of the rest of the run; time that no part accounts for is charged "
    "to LDA-ELM. ± is half the 95 % interval of the mean; the claim is judged by its upper end. One "
    "pass: the same for LDA-ELM derived from PI-ELM's solution. By the clock: LDA-ELM's fastest repeat "
    "against PI-ELM's, which carries the machine's noise. The three take turns at being first, second "
    "and third."
)


def _sweep_figures(evidence: Evidence, table: pd.DataFrame, beside: bool) -> Iterator[PageFigure]:
    papers = "; hollow markers are the paper's" if beside else ""
    yield PageFigure(
        "fig1",
        "Test error rate over fan-out for PI-ELM and LDA-ELM",
        f"Error rate over fan-out, with the 95 % interval of the mean{papers}.",
        partial(plot_sweep, table=table, beside_paper=beside),
    )
    yield PageFigure(
        "improvement",
        "What LDA-ELM's error rate is lower by in per cent, over fan-out",
        f"What LDA-ELM's error rate is lower by, with 95 % intervals{papers}.",
        partial(plot_improvement, table=table, beside_paper=beside),
    )
    if beside and table["pi_distance"].notna().any():
        yield PageFigure(
            "distance",
            "z of every rate of Table 1 over fan-out, for both readings of PI-ELM and for LDA-ELM",
            "Ours minus the paper's rate in standard errors of that difference (z). Chance alone puts "
            "19 of 20 into the shaded band. Fan-outs of a repeat share hidden units and move together.",
            partial(plot_distance, table=table),
        )
    rates = {
        fanout: evidence.at((fanout,), (PI, LDA))[:, 0]
        for fanout in SPREAD_FANOUTS
        if fanout in set(table["fanout"])
    }
    if rates:
        yield PageFigure(
            "spread",
            f"Error rates of every repeat at fan-outs {', '.join(map(str, rates))}",
            "Every repeat's error rates at some fan-outs; a repeat's two points have the same place.",
            partial(plot_spread, rates=rates),
        )


def _ensemble_figures(run: RunRecords, table: pd.DataFrame) -> Iterator[PageFigure]:
    beside = run.is_papers_ensemble
    yield PageFigure(
        "fig2",
        "Test error rate over the number of networks in the ensemble",
        "Error rate over the number of combined networks"
        + ("; hollow markers are the paper's stated values." if beside else "."),
        partial(plot_ensemble, table=table, beside_paper=beside),
    )
    mistakes, dataset = run.best_mistakes(), run.dataset
    if mistakes is None or dataset is None or run.best_ensemble is None:
        return
    _, size, scheme = run.best_ensemble
    n_test = len(dataset.test.labels)
    which = f"best ensemble of {size} ({scheme}): {len(mistakes)} errors of {n_test:,}"
    confusion = count_confusion(mistakes, dataset.test.labels, dataset.n_classes)
    yield PageFigure(
        "confusion",
        f"Confusion matrix of the {which}",
        "Rows are true classes, columns what was chosen; the colour is of errors only.",
        partial(plot_confusion, confusion=confusion, classes=dataset.classes, title=f"The {which}"),
    )
    if dataset.image_shape and mistakes:
        shown = sorted(mistakes, key=lambda mistake: -mistake.posterior)
        images = dataset.test.inputs[[mistake.sample for mistake in shown]]
        which = "All" if len(mistakes) <= MOST_DIGITS else f"{MOST_DIGITS} of the"
        yield PageFigure(
            "mistakes",
            f"Images of the {min(len(mistakes), MOST_DIGITS)} test samples that it gets wrong",
            "What the best ensemble gets wrong, true class → chosen class, the surest first.",
            partial(
                plot_mistakes,
                mistakes=shown,
                images=images.reshape(-1, *dataset.image_shape),
                classes=dataset.classes,
                title=f"{which} {len(mistakes)} mistakes, the surest first",
            ),
        )
