"""Are they posteriors? The report's section on calibration."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pandas as pd

from elmlda.experiments.calibration import CalibrationRecord
from elmlda.reports.calibration_figures import FEWEST, plot_reliability
from elmlda.reports.calibration_tables import CALIBRATION_NOTE, explain_calibration, merge_bins
from elmlda.reports.page import Column, PageFigure, Section, Table, describe_table


def make_calibration_section(records: Sequence[CalibrationRecord], table: pd.DataFrame) -> Section:
    """Table, figure and words; `table` is `tabulate_calibration`'s."""
    bins = {
        (fanout, size): merge_bins(records, n_hidden, size)
        for fanout, n_hidden, size in table[["fanout", "n_hidden", "size"]].itertuples(index=False)
    }
    return Section(
        "calibration",
        "Are they posteriors?",
        _describe(table),
        [
            PageFigure(
                "reliability",
                "Accuracy over confidence, for single networks and for combined ones",
                "How often the chosen class is right, over its posterior. Calibrated posteriors lie on "
                f"the dashed line, overconfident ones below. Bins of fewer than {FEWEST} samples are "
                "left out.",
                partial(plot_reliability, bins=bins),
            )
        ],
        CALIBRATION_NOTE,
        explain_calibration(table),
    )


def _describe(table: pd.DataFrame) -> Table:
    columns: list[tuple[Column, str, str, str | None]] = [
        (Column("Fan-out"), "fanout", "{:g}", None),
        (Column("Networks combined"), "size", "{:.0f}", None),
        (Column("Groups", extra=True), "groups", "{:.0f}", None),
        (Column("Log-loss"), "log_loss", "{:.3f}", "log_loss_interval"),
        (Column("below range", extra=True), "floored", "{:.1f}", None),
        (Column("Brier score", extra=True), "brier", "{:.4f}", "brier_interval"),
        (Column("ECE"), "ece", "{:.4f}", "ece_interval"),
        (Column("by chance", extra=True), "ece_by_chance", "{:.4f}", None),
        (Column("Confidence, %", extra=True), "confidence_percent", "{:.2f}", "confidence_interval"),
        (Column("Accuracy, %", extra=True), "accuracy_percent", "{:.2f}", "accuracy_interval"),
        (
            Column("confidence − accuracy, points"),
            "overconfidence",
            "{:+.2f}",
            "overconfidence_interval",
        ),
    ]
    return describe_table("LDA-ELM's posteriors, means over groups of networks", table, columns, True)
