"""The sections of a run's report: each a table, its figures, and what must be known to read them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pandas as pd

from elmlda.reports.calibration_section import make_calibration_section
from elmlda.reports.claim_figures import plot_distance
from elmlda.reports.designs_page import make_designs_sections
from elmlda.reports.evidence import LDA, PI, Evidence
from elmlda.reports.figures import (
    SPREAD_FANOUTS,
    plot_compare,
    plot_ensemble,
    plot_improvement,
    plot_spread,
    plot_sweep,
    plot_tune,
)
from elmlda.reports.mistake_figures import MOST_DIGITS, plot_confusion, plot_mistakes
from elmlda.reports.page import (
    PageFigure,
    Section,
    describe_compare,
    describe_constant,
    describe_ensemble,
    describe_sweep,
    describe_timing,
    describe_tune,
)
from elmlda.reports.records import RunRecords, count_confusion
from elmlda.reports.timing_figures import plot_timing

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


def make_sections(
    run: RunRecords, tables: dict[str, pd.DataFrame], evidence: Evidence
) -> Iterator[Section]:
    """A section for everything that the run has recorded; `tables` by the names of their files."""
    beside = run.is_papers_kind
    if "table1" in tables:
        yield from _make_sweep_sections(tables["table1"], evidence, beside)
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
        yield _make_timing_section(tables["table2"], beside)
    if "designs" in tables:
        yield from make_designs_sections(tables["designs"], run)
    if "tune_table" in tables:
        yield _make_tune_section(tables["tune_table"], run.input_weights)
    if "compare_table" in tables:
        yield _make_compare_section(tables["compare_table"], str(run.settings.get("dataset")))


def _make_sweep_sections(table: pd.DataFrame, evidence: Evidence, beside: bool) -> Iterator[Section]:
    yield Section(
        "table1",
        "Table 1 and Fig. 1: error rate over fan-out",
        describe_sweep(table, beside),
        list(_sweep_figures(evidence, table, beside)),
        SWEEP_NOTE + (PAPER_NOTE if beside else ""),
    )
    if beside:
        title = "Table 1 with a constant unit in PI-ELM"
        yield Section("constant", title, describe_constant(table), [], CONSTANT_NOTE)


def _make_timing_section(table: pd.DataFrame, beside: bool) -> Section:
    figure = PageFigure(
        "times",
        "Seconds of PI-ELM, LDA-ELM and both from one pass, and LDA-ELM's extra time, over fan-out",
        "Above: training and testing one network from scratch, the fastest of the repeats. The paper's "
        "times are of a laptop of 2012, so only the shape and LDA's extra time can be compared. Below: "
        "the extra time, with the 95 % interval of the mean.",
        partial(plot_timing, table=table, beside_paper=beside),
    )
    title = "Table 2: training and test times"
    return Section("table2", title, describe_timing(table, beside), [figure], TIMING_NOTE)


def _make_tune_section(table: pd.DataFrame, input_weights: str) -> Section:
    figure = PageFigure(
        "tune",
        "Error rate of held-out samples over the ridge, a curve for each size of weights",
        "LDA-ELM's error rate on the held-out training samples over the ridge.",
        partial(plot_tune, table=table, input_weights=input_weights),
    )
    return Section(
        "tune", "Every setting that was tried", describe_tune(table, input_weights), [figure]
    )


def _make_compare_section(table: pd.DataFrame, name: str) -> Section:
    figure = PageFigure(
        "compare",
        f"Test error rate over hidden units on {name} for PI-ELM and LDA-ELM",
        "Error rate over hidden units, with 95 % intervals of the mean.",
        partial(plot_compare, table=table, title=name),
    )
    return Section("compare", "PI-ELM against LDA-ELM", describe_compare(table), [figure], COMPARE_NOTE)


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
