"""What `elmlda tune` tried on held-out training samples."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from elmlda.experiments.tune import TuneRecord, choose
from elmlda.reports import plots
from elmlda.reports.model import Column, Drawing, Section, make_table
from elmlda.reports.records import RunRecords

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS = [
    Column("Input weights", "input_weights"),
    Column("Hidden units", "n_hidden", ",.0f", extra=True),
    Column("Norm (uniform: range)", "weight_size", "g"),
    Column("Ridge", "ridge", "g"),
    Column("Repeats", "repeats", ".0f", extra=True),
    Column("PI-ELM, %", "pi_error_percent", ".2f"),
    Column("LDA-ELM, %", "lda_error_percent", ".2f"),
]
CAPTION = "Error rates of held-out training samples in per cent, means"


def tabulate_tune(records: Sequence[TuneRecord]) -> pd.DataFrame:
    """A row for each setting that was tried, error rates of held-out samples in per cent."""
    frame = pd.DataFrame([vars(record) for record in records])
    for method in ("pi", "lda"):
        frame[f"{method}_error_percent"] = 100 * frame[f"{method}_errors"] / frame["n_validation"]
    rows = frame.groupby(["n_hidden", "weight_size", "ridge"], as_index=False)
    return rows.agg(
        repeats=("repeat", "size"),
        pi_error_percent=("pi_error_percent", "mean"),
        lda_error_percent=("lda_error_percent", "mean"),
    )


def summarise(run: RunRecords) -> str:
    """One sentence on the setting that was best."""
    best = choose(run.tune)
    size = "range" if run.input_weights == "uniform" else "norm"
    return (
        f"With {run.input_weights} input weights a weight {size} of {best.weight_size:g} and a ridge "
        f"of {best.ridge:g} are best: LDA-ELM gets {best.lda_error_percent:.2f} % of the "
        f"{run.tune[0].n_validation:,} held-out training samples wrong, PI-ELM "
        f"{best.pi_error_percent:.2f} %. The test samples had no part in it."
    )


def make_section(table: pd.DataFrame, input_weights: str) -> Section:
    """Table and figure; `table` is `tabulate_tune`'s."""
    figure = Drawing(
        "tune",
        "Error rate of held-out samples over the ridge, a curve for each size of weights",
        "Every curve is one size of the input weights; the lowest point is chosen.",
        partial(plot_tune, table=table, input_weights=input_weights),
    )
    shown = make_table(CAPTION, table, COLUMNS)
    return Section("tune", "Every setting that was tried", figures=[figure], tables=[shown])


def plot_tune(figure: Figure, table: pd.DataFrame, input_weights: str) -> None:
    """Error rate of held-out samples over the ridge, a curve for each size of the weights."""
    axes = figure.subplots()
    name = "range" if input_weights == "uniform" else "norm"
    for i, (size, rows) in enumerate(table.groupby("weight_size")):
        label = f"{name} {size:g}"
        axes.plot(rows["ridge"], rows["lda_error_percent"], ms=3, label=label, **plots.style(i))
    ridges = sorted({float(ridge) for ridge in table["ridge"] if ridge > 0})
    if ridges:
        axes.set_xscale("symlog", linthresh=ridges[0])
    zero = [0.0] if 0 in set(table["ridge"]) else []
    plots.place_ticks(axes.xaxis, [*zero, *plots.keep_apart(ridges)])
    axes.set(xlabel="Ridge", ylabel="Error rate, held-out samples (%)")
    axes.set_title(f"LDA-ELM with {input_weights} input weights")
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
