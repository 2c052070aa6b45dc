"""What `elmlda tune` tried on held-out training samples, and what each method chooses by it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import pandas as pd

from elmlda.experiments.selection import FEWEST, METHODS, Choice, choose, summarise_settings
from elmlda.experiments.tune import TuneRecord
from elmlda.reports import plots
from elmlda.reports.model import Column, Drawing, Section, Table, make_table
from elmlda.reports.rates import METHOD_NAMES
from elmlda.reports.records import RunRecords

SIZE = "Norm (uniform: range)"
COLUMNS = [
    Column(SIZE, "weight_size", "g"),
    Column("Ridge", "ridge", "g"),
    Column("Repeats", "repeats", ".0f", extra=True),
    Column("PI-ELM, %", "pi_error_percent", ".2f"),
    Column("SE", "pi_standard_error", ".3f", extra=True),
    Column("LDA-ELM, %", "lda_error_percent", ".2f"),
    Column("SE", "lda_standard_error", ".3f", extra=True),
]
CHOICE_COLUMNS = [
    Column("Input weights", "input_weights"),
    Column("Method", "name"),
    Column(SIZE, "weight_size", "g"),
    Column("Ridge", "ridge", "g"),
    Column("Errors, %", "error_percent", ".2f"),
    Column("Best, %", "best_error_percent", ".2f"),
    Column("SE of the best", "best_standard_error", ".3f"),
    Column("Best at", "best_at"),
    Column("Repeats", "repeats", ".0f", extra=True),
]
CAPTION = "Error rates of held-out training samples in per cent, means over networks"
RULE = (
    "For each method the simplest setting is chosen whose mean error is within one standard error (SE) "
    "of the best's: the largest ridge, then the smallest weights. The standard error is that of "
    "networks, as all settings are tested on the same samples; it needs three networks."
)


def tabulate_tune(records: Sequence[TuneRecord]) -> pd.DataFrame:
    """A row for each setting that was tried, error rates of held-out samples in per cent."""
    rows: dict[tuple[float, float], dict[str, float]] = {}
    for method in METHODS:
        for tried in summarise_settings(records, method):
            setting = {"weight_size": tried.weight_size, "ridge": tried.ridge, "repeats": tried.repeats}
            row = rows.setdefault((tried.weight_size, tried.ridge), setting)
            row[f"{method}_error_percent"] = tried.error_percent
            row[f"{method}_standard_error"] = tried.standard_error
    return pd.DataFrame([rows[key] for key in sorted(rows)])


def tabulate_choices(records: Sequence[TuneRecord], input_weights: str) -> pd.DataFrame:
    """What each method chooses: a row for each."""
    return pd.DataFrame([_as_row(choose(records, method), input_weights) for method in METHODS])


def _as_row(choice: Choice, input_weights: str) -> dict[str, object]:
    best, size = choice.best, name_size(input_weights)
    edges = "".join(f"; {edge.describe(size)}" for edge in choice.edges)
    return {
        "input_weights": input_weights,
        "method": choice.method,
        "name": METHOD_NAMES[choice.method],
        **vars(choice.chosen),
        "best_error_percent": best.error_percent,
        "best_standard_error": best.standard_error,
        "best_at": f"{size} {best.weight_size:g}, ridge {best.ridge:g}{edges}",
    }


def name_size(input_weights: str) -> str:
    """What the size of the weights is called."""
    return "range" if input_weights == "uniform" else "norm"


def summarise(run: RunRecords) -> str:
    """A sentence for each method on the setting that it chooses."""
    sentences = [_describe(choose(run.tune, method), run.input_weights) for method in METHODS]
    if choose(run.tune, "lda").best.repeats < FEWEST:
        sentences.append(f"That is from fewer than {FEWEST} networks a setting, and may be chance.")
    held_out = f"{run.tune[0].n_validation:,} held-out training samples"
    return " ".join([*sentences, f"Rates are of {held_out}; the test samples had no part in it."])


def _describe(choice: Choice, input_weights: str) -> str:
    chosen, best, size = choice.chosen, choice.best, name_size(input_weights)
    text = (
        f"{METHOD_NAMES[choice.method]} with {input_weights} input weights: {size} "
        f"{chosen.weight_size:g} and ridge {chosen.ridge:g}, {chosen.error_percent:.2f} % errors"
    )
    if chosen != best:
        text += (
            f", within one standard error of the best, {best.error_percent:.2f} % at {size} "
            f"{best.weight_size:g} and ridge {best.ridge:g}"
        )
    edges = " and at ".join(edge.describe(size) for edge in choice.edges)
    return f"{text}. Its best lies at {edges}." if edges else f"{text}."


def show_table(table: pd.DataFrame, beside_paper: bool = False) -> Table:
    """For display."""
    return make_table(CAPTION, table, COLUMNS, beside_paper)


def make_sections(run: RunRecords, table: pd.DataFrame) -> Iterator[Section]:
    """Table and figure."""
    choices = tabulate_choices(run.tune, run.input_weights)
    figure = Drawing(
        "tune",
        "Error rate of held-out samples over the ridge, a curve for each size of weights",
        "Every curve is one size of the input weights; a ring is what the method chooses.",
        partial(plot_tune, table=table, choices=choices, input_weights=run.input_weights),
    )
    title, shown = "Every setting that was tried", show_table(table)
    yield Section("tune", title, figures=[figure], tables=[shown], note=RULE)


def plot_tune(
    figure: plots.Figure, table: pd.DataFrame, choices: pd.DataFrame, input_weights: str
) -> None:
    """Error rate of held-out samples over the ridge, a panel for each method."""
    figure.set_size_inches(6.8, 3.6)
    ridges = sorted({float(ridge) for ridge in table["ridge"] if ridge > 0})
    zero = [0.0] if 0 in set(table["ridge"]) else []
    panels = figure.subplots(1, len(METHODS), sharey=True)
    for axes, (_, choice) in zip(panels, choices.iterrows(), strict=True):
        for i, (size, rows) in enumerate(table.groupby("weight_size")):
            rates = rows[f"{choice['method']}_error_percent"]
            label = f"{name_size(input_weights)} {size:g}"
            axes.plot(rows["ridge"], rates, ms=3, label=label, **plots.style(i))
        ring = {"ls": "", "marker": "o", "ms": 10, "mfc": "none", "color": plots.ink()}
        axes.plot(choice["ridge"], choice["error_percent"], **ring)
        if ridges:
            axes.set_xscale("symlog", linthresh=ridges[0])
        plots.place_ticks(axes.xaxis, [*zero, *plots.keep_apart(ridges)])
        axes.set(xlabel="Ridge", title=choice["name"])
    panels[0].set_ylabel("Error rate, held-out samples (%)")
    figure.suptitle(f"{input_weights} input weights")
    plots.legend_below(figure, panels[0], n_columns=5)
