"""What `elmlda choices` found: which activation and input scale agree with Table 1."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from elmlda.errors import ElmldaError
from elmlda.experiments.choices import name_choice
from elmlda.reports import plots
from elmlda.reports.estimates import LEVEL
from elmlda.reports.model import Column, Drawing, Report, Section, make_table
from elmlda.reports.provenance import join_provenance
from elmlda.reports.rates import METHOD_NAMES, METHOD_PLACES, SHORT_NAMES
from elmlda.reports.records import RunRecords, find_run
from elmlda.reports.subjects.choices import (
    NEAR,
    VARIED,
    describe_choices,
    name_combination,
    summarise_choices,
    tabulate_choices,
)
from elmlda.runs.manifest import MANIFEST
from elmlda.settings import ACTIVATION_NAMES

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def read_choices(folder: Path) -> list[RunRecords] | None:
    """The sweeps below a folder that are named by activation and input scale; None if there is none.

    They are in order: the usual activation first, then by input scale. What else their settings are
    must be the same for all.
    """
    found = [find_run(path.parent) for path in folder.glob(f"*/{MANIFEST}")]
    runs = [run for run in found if run and _is_choice(run)]
    if not any(run.sweep for run in runs):
        return None
    runs.sort(
        key=lambda run: (
            ACTIVATION_NAMES.index(run.settings["activation"]),
            run.settings["input_scale"],
        )
    )
    _require_the_rest_alike(folder, runs)
    return runs


def _is_choice(run: RunRecords) -> bool:
    """Whether the folder's name tells its activation and input scale, as `elmlda choices` names it."""
    activation, scale = (run.settings.get(name) for name in VARIED)
    if activation not in ACTIVATION_NAMES or not isinstance(scale, int | float) or scale <= 0:
        return False
    return run.folder.name == name_choice(activation, scale)


def _require_the_rest_alike(folder: Path, runs: Sequence[RunRecords]) -> None:
    first = runs[0].settings
    for run in runs[1:]:
        settings = run.settings
        differing = [
            name
            for name in {**first, **settings}
            if name not in VARIED and first.get(name) != settings.get(name)
        ]
        if differing:
            raise ElmldaError(
                f"{folder}: {runs[0].folder.name} and {run.folder.name} differ in "
                f"{', '.join(differing)} too, expected in activation and input_scale alone.",
                "Move one of them elsewhere.",
            )


def find_choice_gaps(runs: Sequence[RunRecords]) -> Iterator[str]:
    """What is planned and not recorded yet, and combinations that no run has."""
    for run in runs:
        n_planned = run.count_planned("sweep")
        if len(run.sweep) < n_planned:
            name = name_combination(*_varied(run))
            yield f"{name}: {len(run.sweep):,} of {n_planned:,} planned results."
    there = {_varied(run) for run in runs}
    for activation in dict.fromkeys(run.settings["activation"] for run in runs):
        for scale in dict.fromkeys(run.settings["input_scale"] for run in runs):
            if (activation, scale) not in there:
                yield f"{name_combination(activation, scale)}: not run."


def _varied(run: RunRecords) -> tuple[str, float]:
    activation, scale = (run.settings[name] for name in VARIED)
    return activation, scale


def make_choices_report(runs: Sequence[RunRecords]) -> Report:
    """What the combinations say together."""
    table = tabulate_choices(runs)
    findings = describe_choices(table)
    first = runs[0].settings
    shared = {name: value for name, value in first.items() if name not in VARIED}
    done = [run for run in runs if run.sweep]
    return Report(
        title=f"elmlda choices on {runs[0].name}",
        question="Which activation and input scale agree with the paper?",
        headline=findings[0],
        second_line=" ".join(findings[1:]),
        sections=_make_sections(table),
        tables={"choices": table},
        gaps=list(find_choice_gaps(runs)),
        provenance=join_provenance(done, shared, first.get("sha256")),
    )


def _make_sections(table: pd.DataFrame) -> list[Section]:
    first = Column(f"{table['activation'].iloc[0]} − this, points", *PAIRED, extra=True)
    named = table.assign(name=table["method"].map(SHORT_NAMES))
    caption = "Error rates in per cent, means over repeats"
    rates = make_table(caption, named, [*RATE_COLUMNS, first])
    every = Section("rates", "Every rate", tables=[rates], note=RATES_NOTE)
    summary = summarise_choices(table)
    if summary.empty:
        return [every]
    figure = Drawing(
        "choices",
        "Distance of each combination's error rates from Table 1, in standard errors",
        f"Shaded: within ± {NEAR}. The axis is linear up to 2 and logarithmic beyond.",
        partial(plot_choices, table=table, labels=dict(summary[["choice", "label"]].to_numpy())),
    )
    parts = [_name_summary(summary, "Eq. (5)'s")]
    parts.append(_name_summary(summarise_choices(table, "pi_constant"), "with a constant unit"))
    caption = "Combinations, the nearest to Table 1 first"
    shown = make_table(caption, pd.concat(parts), SUMMARY_COLUMNS)
    n_rates = int(summary["rates"].max())
    note = (
        "Rates of PI-ELM and LDA-ELM count. Of the right combination, too, each rate is outside "
        f"± {NEAR} by chance in 5 of 100 studies, so that at least one of {n_rates} is in up to "
        f"{100 * (1 - LEVEL**n_rates):.0f} of 100."
    )
    distance = Section("distance", "Distance from Table 1", figures=[figure], tables=[shown], note=note)
    return [distance, every]


def _name_summary(summary: pd.DataFrame, reading: str) -> pd.DataFrame:
    """With what people see of a combination, and of the PI-ELM that it is judged by."""
    places = zip(summary["at_method"], summary["at_fanout"], strict=True)
    return summary.assign(
        reading=reading,
        within=summary["near"].astype(str) + " of " + summary["rates"].astype(str),
        distance=summary["largest_z"].abs(),
        farthest=[f"{SHORT_NAMES[method]}, fan-out {fanout:g}" for method, fanout in places],
    )


SUMMARY_COLUMNS = [
    Column("Combination", "label"),
    Column("PI-ELM is", "reading"),
    Column("Rates within", "within"),
    Column("Largest |z|", "distance", ".1f"),
    Column("Largest distance, points", "largest_points", ".2f"),
    Column("Farthest off", "farthest", extra=True),
]
RATE_COLUMNS = [
    Column("Combination", "choice"),
    Column("Method", "name"),
    Column("Fan-out", "fanout", ".3g"),
    Column("Repeats", "repeats", ".0f", extra=True),
    Column("Error rate, %", "error_percent", ".2f", "interval"),
    Column("SD", "sd", ".3f", extra=True),
    Column("paper", "paper_error_percent", ".2f"),
    Column("difference, points", "difference", "+.2f", extra=True),
    Column("z", "z", "+.1f"),
]
PAIRED = ("paired_difference", "+.3f", "paired_interval")
TICKS = (-300, -100, -30, -10, -2, 0, 2, 10, 30, 100, 300)
RATES_NOTE = (
    "± is half the 95 % interval of the mean. z: ours minus the paper's in standard errors of the "
    "difference: our sampling, that of the paper's 200 repeats, which are taken to vary like ours, and "
    "its rounding. Last column: mean of the repeats' own differences, on the same input weights and "
    "with the same scale of the inputs."
)


def plot_choices(figure: Figure, table: pd.DataFrame, labels: Mapping[str, str]) -> None:
    """Distance of every rate from the printed one, a line for each combination.

    Parameters
    ----------
    labels : name of the combination -> what people see, in order from the top
    """
    figure.set_size_inches(plots.WIDTH, 1.9 + 0.45 * len(labels))
    axes = figure.subplots()
    axes.axvspan(-NEAR, NEAR, color=plots.ink(), alpha=0.1, lw=0)
    axes.axvline(0, color=plots.ink(), lw=0.8)
    known, order = table.dropna(subset=["z"]), list(labels)
    fanouts = sorted(set(known["fanout"]))
    markers = dict(zip(fanouts, cycle(plots.MARKERS), strict=False))
    for (method, fanout), rows in known.groupby(["method", "fanout"], sort=False):
        shift = 0.22 * (list(METHOD_NAMES).index(str(method)) - 1)
        places = [order.index(choice) + shift for choice in rows["choice"]]
        color = plots.color(METHOD_PLACES[str(method)])
        axes.scatter(rows["z"], places, s=20, marker=markers[fanout], color=color, linewidths=0)
    axes.set_yticks(range(len(order)), list(labels.values()))
    axes.set_ylim(len(order) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("Distance from Table 1 (standard errors)")
    # Linear where chance may explain a distance, logarithmic beyond.
    low, high = 1.5 * min(known["z"].min(), -NEAR), 1.5 * max(known["z"].max(), NEAR)
    axes.set_xscale("symlog", linthresh=2)
    axes.set_xlim(low, high)
    plots.place_ticks(axes.xaxis, [tick for tick in TICKS if low <= tick <= high])
    dots: dict[str, Any] = {"ls": "", "ms": 4.5, "color": plots.ink()}
    sizes = [axes.plot([], [], marker=markers[f], label=f"fan-out {f:g}", **dots)[0] for f in fanouts]
    methods = [
        axes.plot([], [], lw=4, color=plots.color(METHOD_PLACES[method]), label=name)[0]
        for method, name in METHOD_NAMES.items()
    ]
    figure.legend(handles=sizes, loc="outside upper center", ncols=7)
    figure.legend(handles=methods, loc="outside lower center", ncols=3)
