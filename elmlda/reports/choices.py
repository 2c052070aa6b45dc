"""What `elmlda choices` found: which activation and input scale agree with Table 1."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import cycle, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from elmlda import paper
from elmlda.errors import ElmldaError
from elmlda.experiments.choices import name_choice
from elmlda.ranges import format_ranges
from elmlda.reports import plots
from elmlda.reports.estimates import LEVEL, NAN, RATE_ROUNDING, estimate_mean, sample_mean
from elmlda.reports.gaps import find_lack
from elmlda.reports.model import Column, Drawing, Report, Section, make_table
from elmlda.reports.provenance import join_provenance
from elmlda.reports.rates import METHOD_NAMES, METHOD_PLACES, PRINTED, SHORT_NAMES, pivot_by_repeat
from elmlda.reports.records import RunRecords, find_run
from elmlda.runs.manifest import MANIFEST
from elmlda.settings import ACTIVATION_NAMES
from elmlda.text import format_number

VARIED = ("activation", "input_scale")
NEAR = 1.96
"""Standard errors from a printed rate, within which chance explains the distance."""
TICKS = (-300, -100, -30, -10, -2, 0, 2, 10, 30, 100, 300)
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
RATES_NOTE = (
    "± is half the 95 % interval of the mean. z: ours minus the paper's in standard errors of the "
    "difference: our sampling, that of the paper's 200 repeats, which are taken to vary like ours, and "
    "its rounding. Last column: mean of the repeats' own differences, on the same input weights and "
    "with the same scale of the inputs."
)


def read_choices(folder: Path) -> list[RunRecords] | None:
    """The sweeps below a folder that are named by activation and input scale; None if there is none.

    They are in order: the usual activation first, then by input scale. Their other settings must be
    the same.
    """
    found = [find_run(path.parent) for path in folder.glob(f"*/{MANIFEST}")]
    runs = [run for run in found if run and _is_choice(run)]
    if not any(run.sweep for run in runs):
        return None
    runs.sort(key=lambda run: (ACTIVATION_NAMES.index(_varied(run)[0]), _varied(run)[1]))
    for run in runs[1:]:
        differing = runs[0].list_differing(run, VARIED)
        if differing:
            raise ElmldaError(
                f"{folder}: {runs[0].folder.name} and {run.folder.name} differ in "
                f"{', '.join(differing)} too, expected in activation and input_scale alone.",
                "Move one of them elsewhere.",
            )
    return runs


def _is_choice(run: RunRecords) -> bool:
    """Whether the folder's name tells its activation and input scale, as `elmlda choices` names it."""
    activation, scale = (run.settings.get(name) for name in VARIED)
    if activation not in ACTIVATION_NAMES or not isinstance(scale, int | float) or scale <= 0:
        return False
    return run.folder.name == name_choice(activation, scale)


def _varied(run: RunRecords) -> tuple[str, float]:
    activation, scale = (run.settings[name] for name in VARIED)
    return activation, scale


def name_combination(activation: str, scale: float) -> str:
    """A combination's name, for display."""
    return f"{activation}, {'raw inputs' if scale == 1 else f'inputs / {1 / scale:.6g}'}"


def find_choice_gaps(runs: Sequence[RunRecords]) -> Iterator[str]:
    """What is planned and not recorded yet, and combinations that no run has."""
    for run in runs:
        name, n_planned = name_combination(*_varied(run)), run.count_planned("sweep")
        yield from find_lack(name, len(run.sweep), n_planned, "results")
    there = dict.fromkeys(map(_varied, runs))
    for combination in product(*map(dict.fromkeys, zip(*there, strict=True))):
        if combination not in there:
            yield f"{name_combination(*combination)} has not been run."


def tabulate_choices(runs: Sequence[RunRecords]) -> pd.DataFrame:
    """choices.csv: a row for each combination, method and fan-out.

    Columns
    -------
    interval : half the width of the 95 % interval of the mean, empty for a single repeat
    paper_… : Table 1's; of PI-ELM for both kinds of it; empty for data that are not the paper's
    difference : ours minus the paper's, in percentage points
    z : the same in standard errors: our sampling, that of the paper's 200 repeats, which are taken to
        vary like ours, and the rounding of what it prints
    paired_with : the combination with the same inputs and the first activation
    paired_difference : its rate minus this one's on the same networks, with its interval
    """
    done = [run for run in runs if run.sweep]
    rates = {run.folder.name: pivot_by_repeat(run.sweep) for run in done}
    rows = []
    for run in done:
        choice, (activation, scale) = run.folder.name, _varied(run)
        first = name_choice(_varied(done[0])[0], scale)
        start = {"choice": choice, "activation": activation, "input_scale": scale}
        sizes = {record.fanout: record.n_hidden for record in run.sweep}
        for method, fanout in product(METHOD_NAMES, sorted(sizes)):
            ours = rates[choice][method][fanout]
            printed = PRINTED[method].get(fanout, NAN) if run.is_papers_kind else NAN
            row = {**start, "method": method, "fanout": fanout, "n_hidden": sizes[fanout]}
            row |= _describe_rate(ours.dropna(), printed)
            row["paired_with"] = first if first != choice else ""
            theirs = rates[first][method].get(fanout) if first != choice and first in rates else None
            pairs = np.empty(0) if theirs is None else (theirs - ours).dropna().to_numpy()
            row["paired_repeats"] = len(pairs)
            rows.append(row | estimate_mean(pairs).columns("paired_difference", "paired_interval"))
    return pd.DataFrame(rows)


def _describe_rate(percent: pd.Series[float], printed: float) -> dict[str, Any]:
    sample = sample_mean(percent.to_numpy())
    return {
        "repeats": sample.repeats,
        **sample.estimate().columns("error_percent", "interval"),
        "sd": percent.std(),
        "paper_error_percent": printed,
        "difference": sample.value - printed,
        "z": sample.distance(printed, paper.REPEATS, RATE_ROUNDING),
    }


def summarise_choices(table: pd.DataFrame, pi: str = "pi") -> pd.DataFrame:
    """How far each combination is from Table 1, the nearest first.

    Parameters
    ----------
    pi : which PI-ELM is compared with the printed one: pi, or pi_constant

    Columns
    -------
    rates : printed ones that the combination has; near : those within 1.96 standard errors
    largest_z, at_method, at_fanout : of the rate that is farthest off, in standard errors
    largest_points : the largest distance in percentage points
    """
    judged = table[table["method"].isin((pi, "lda"))].dropna(subset=["z"])
    rows = []
    for choice, group in judged.groupby("choice", sort=False):
        far = group.iloc[int(group["z"].abs().argmax())]
        rows.append(
            {
                "choice": choice,
                "label": name_combination(far["activation"], far["input_scale"]),
                "rates": len(group),
                "near": (group["z"].abs() < NEAR).sum(),
                "largest_z": far["z"],
                "at_method": far["method"],
                "at_fanout": far["fanout"],
                "largest_points": group["difference"].abs().max(),
            }
        )
    rows.sort(key=lambda row: abs(row["largest_z"]))
    return pd.DataFrame(rows)


def describe_choices(table: pd.DataFrame) -> list[str]:
    """Which combinations agree with Table 1 and how far the others are off, in sentences."""
    summary = summarise_choices(table)
    if summary.empty:
        return ["Nothing printed to compare with: other data or fan-outs, or a single repeat."]
    fanouts = sorted({int(fanout) for fanout in table.dropna(subset=["z"])["fanout"]})
    n_rates = int(summary["rates"].max())
    where = f"{n_rates} rates of Table 1 at fan-outs {format_ranges(tuple(fanouts))}"
    rows = summary.to_dict("records")
    labels = [f"{row['label']} (|z| up to {abs(row['largest_z']):.1f})" for row in rows]
    within = "; ".join(label for label, row in zip(labels, rows, strict=True) if row["near"] == n_rates)
    near = f"{NEAR} standard errors of all {where}"
    if within:
        sentences = [f"Within {near}: {within}."]
    else:
        sentences = [f"No combination is within {near}; the nearest is {labels[0]}."]
    far = "; ".join(
        f"{row['label']} ({row['near']} of {row['rates']} within, up to {row['largest_points']:.2f} "
        f"points or |z| {abs(row['largest_z']):.1f} off)"
        for row in rows
        if row["near"] < n_rates
    )
    if far:
        sentences.append(f"Not within all of them: {far}.")
    constant = summarise_choices(table, "pi_constant")
    near = "; ".join(constant.loc[constant["near"] == n_rates, "label"]) or "none"
    sentences.append(f"Within all of them if PI-ELM has a constant hidden unit: {near}.")
    scale = table.loc[table["choice"] == summary.loc[0, "choice"], "input_scale"].iloc[0]
    return sentences + list(_describe_paired(table[table["input_scale"] == scale]))


def _describe_paired(table: pd.DataFrame) -> Iterator[str]:
    """The first activation against each other one, on the same networks."""
    known = table[table["method"] != "pi_constant"].dropna(subset=["paired_interval"])
    for choice, rows in known.groupby("choice", sort=False):
        low, high = (
            format_number(bound, "+.3f") for bound in rows["paired_difference"].agg(["min", "max"])
        )
        surely = rows["paired_difference"].abs() > rows["paired_interval"]
        yield (
            f"On the same networks {rows['paired_with'].iloc[0]} − {choice} is {low} to {high} points, "
            f"beyond chance at {surely.sum()} of {len(rows)} rates (95 % intervals)."
        )


def make_choices_report(runs: Sequence[RunRecords]) -> Report:
    """The report on all combinations."""
    table = tabulate_choices(runs)
    findings = describe_choices(table)
    first = runs[0].settings
    shared = {name: value for name, value in first.items() if name not in VARIED}
    return Report(
        title=f"elmlda choices on {runs[0].name}",
        question="Which activation and input scale agree with the paper?",
        headline=findings[0],
        second_line=" ".join(findings[1:]),
        sections=[*_show_distance(table), _show_rates(table)],
        tables={"choices": table},
        gaps=list(find_choice_gaps(runs)),
        provenance=join_provenance([run for run in runs if run.sweep], shared, first.get("sha256")),
    )


def _show_rates(table: pd.DataFrame) -> Section:
    title = f"{table['activation'].iloc[0]} − this, points"
    paired = Column(title, "paired_difference", "+.3f", "paired_interval", extra=True)
    named = table.assign(name=table["method"].map(SHORT_NAMES))
    shown = make_table("Error rates in per cent, means over repeats", named, [*RATE_COLUMNS, paired])
    return Section("rates", "Every rate", tables=[shown], note=RATES_NOTE)


def _show_distance(table: pd.DataFrame) -> Iterator[Section]:
    """Nothing if there is no printed rate to compare with."""
    summary = summarise_choices(table)
    if summary.empty:
        return
    figure = Drawing(
        "choices",
        "Distance of each combination's error rates from Table 1, in standard errors",
        f"Shaded: within ± {NEAR}. The axis is linear up to 2 and logarithmic beyond.",
        partial(plot_choices, table=table, labels=dict(summary[["choice", "label"]].to_numpy())),
    )
    constant = summarise_choices(table, "pi_constant").assign(reading="with a constant unit")
    both = pd.concat([summary.assign(reading="Eq. (5)'s"), constant])
    places = zip(both["at_method"], both["at_fanout"], strict=True)
    named = both.assign(
        within=both["near"].astype(str) + " of " + both["rates"].astype(str),
        distance=both["largest_z"].abs(),
        farthest=[f"{SHORT_NAMES[method]}, fan-out {fanout:g}" for method, fanout in places],
    )
    shown = make_table("Combinations, the nearest to Table 1 first", named, SUMMARY_COLUMNS)
    n_rates = int(summary["rates"].max())
    note = (
        "Rates of PI-ELM and LDA-ELM count. Of the right combination, too, each rate is outside "
        f"± {NEAR} by chance in 5 of 100 studies, so that at least one of {n_rates} is in up to "
        f"{100 * (1 - LEVEL**n_rates):.0f} of 100."
    )
    yield Section("distance", "Distance from Table 1", figures=[figure], tables=[shown], note=note)


def plot_choices(figure: plots.Figure, table: pd.DataFrame, labels: Mapping[str, str]) -> None:
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
    plots.name_rows(axes, list(labels.values()))
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
