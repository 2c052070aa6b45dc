"""Reports of `elmlda bench`: who takes how long, and how time and memory grow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from elmlda.bench.growth import FEWEST_FITTED, GrowthPoint, fit_law
from elmlda.bench.limit import PrecisionStanding
from elmlda.bench.peers import PEERS
from elmlda.bench.race import METHOD_NAMES, TOLERATED_ERRORS, Difference, Measurement, Standing
from elmlda.ranges import format_ranges
from elmlda.reports import plots
from elmlda.reports.model import Column, Drawing, Provenance, Report, Section, Table, make_table
from elmlda.reports.provenance import describe_machine
from elmlda.reports.write import write_csv

COLUMNS = [
    Column("Contestant", "contestant"),
    Column("Methods", "methods"),
    Column("Fan-outs", "fanouts"),
    Column("Seconds", "seconds", ".2f"),
    Column("", "kind"),
    Column("Times nested", "ratio_to_nested", ".2f"),
    Column("Errors agree", "errors_agree"),
]
PRECISION_COLUMNS = [
    Column("precision", "precision"),
    Column("seconds", "seconds", ".2f"),
    Column("Gram", "gram_seconds", ".2f"),
    Column("limit", "limit_seconds", ".2f"),
    Column("× limit", "ratio_to_limit", ".3f"),
    Column("× float32 limit", "ratio_to_float32_limit", ".3f"),
    Column("counts unlike mixed", "differing_counts", ".0f"),
    Column("by at most", "largest_difference", ".0f"),
]
GROWTH_COLUMNS = [
    Column("Largest fan-out", "fanout", ".0f"),
    Column("Hidden units", "n_hidden", ",.0f", extra=True),
    Column("Seconds", "seconds", ".2f"),
    Column("by the fitted law", "fitted_seconds", ".2f"),
    Column("Peak memory, GB", "peak_gb", ".2f"),
    Column("predicted", "predicted_gb", ".2f"),
]
LAW = "a·K·M² + b·M³ + c·K·M"
NOTE = (
    "nested and independent train and test PI-ELM and LDA-ELM; each peer has one method. All have the "
    "same input weights. A peer's time has its hidden outputs, training and test; it is given scaled "
    "inputs and the drawn weights, which elmlda's time includes."
)
OURS = ("nested", "independent")


def write_measurements(folder: Path, measurements: Sequence[Measurement]) -> Path:
    """Write all that was timed so far into measurements.csv: a later contestant may fail."""
    table = pd.DataFrame([vars(measurement) for measurement in measurements])
    table["fanouts"] = table["fanouts"].map(format_ranges)
    for errors in ("pi_errors", "lda_errors"):
        table[errors] = [" ".join(map(str, counts)) for counts in table[errors]]
    return write_csv(table, folder / "measurements.csv")


def write_rows(rows: Sequence[Any], path: Path) -> Path:
    """Write dataclass instances, one a row."""
    return write_csv(pd.DataFrame(map(vars, rows)), path)


def show_precisions(raced: Sequence[PrecisionStanding]) -> Table:
    """For display."""
    return make_table(
        "Seconds of one nested network", pd.DataFrame(map(vars, raced)), PRECISION_COLUMNS
    )


def show_standings(standings: Sequence[Standing]) -> Table:
    """For display."""
    return make_table("Seconds for all fan-outs", pd.DataFrame(map(vars, standings)), COLUMNS)


def make_race_report(
    title: str,
    standings: Sequence[Standing],
    differences: Sequence[Difference],
    machine: Mapping[str, Any],
    command: str,
) -> Report:
    """The standings; the title says if the race is void."""
    is_void = any(difference.voids for difference in differences)
    if is_void:
        title = f"VOID, error counts differ: {title}"
    table = pd.DataFrame(map(vars, standings))
    figure = Drawing(
        "bench",
        "Seconds of every contestant on a logarithmic axis",
        "Hollow: the seconds at some fan-outs are fitted. Times the nested network's beside each.",
        partial(plot_race, table=table, title=title),
    )
    section = Section(
        "race",
        "Standings",
        figures=[figure],
        tables=[show_standings(standings)],
        note=NOTE,
        items=list(_describe_contestants(standings)),
    )
    counts = Section(
        "counts",
        f"Counts that differ (by {TOLERATED_ERRORS} may be rounding, by more is void)",
        items=list(map(str, differences)),
    )
    return Report(
        title=title,
        question="How long do others take?",
        headline=describe_best_pair(standings) or _describe_limit(standings),
        tone="bad" if is_void else "neutral",
        sections=[section, counts] if differences else [section],
        tables={"bench": table},
        provenance=Provenance(machines=[describe_machine(machine)], commands=[command]),
        stem="bench",
    )


def _describe_limit(standings: Sequence[Standing]) -> str:
    """The nested network against the bare matrix products."""
    nested, limit = standings[:2]
    return (
        f"One nested network takes {nested.seconds:.1f} s; its operations at matrix-multiply speed "
        f"would take {limit.seconds:.1f} s."
    )


def _describe_contestants(standings: Sequence[Standing]) -> Iterator[str]:
    for standing in standings:
        about = "; ".join(filter(None, [_describe_call(standing.contestant), standing.note]))
        if about:
            yield f"{standing.contestant}: {about}."


def _describe_call(contestant: str) -> str:
    """What is called, with its version."""
    if contestant not in PEERS:
        return ""
    peer = PEERS[contestant]
    try:
        return f"{peer.call} of {peer.distribution} {version(peer.distribution)}"
    except PackageNotFoundError:
        return peer.call


def describe_best_pair(standings: Sequence[Standing]) -> str:
    """The fastest peers for PI and LDA together; empty if a method has none."""
    known = [row for row in standings if row.contestant in PEERS and row.kind != "absent"]
    fastest = {row.methods: row for row in sorted(known, key=lambda row: -row.seconds)}
    if set(fastest) != set(METHOD_NAMES.values()):
        return ""
    pi, lda = (fastest[method] for method in METHOD_NAMES.values())
    fitted = " (fitted)" if "fitted" in (pi.kind, lda.kind) else ""
    return (
        f"The fastest peers for both methods, {pi.contestant} and {lda.contestant}, take "
        f"{pi.seconds + lda.seconds:.1f} s together{fitted}: "
        f"{pi.ratio_to_nested + lda.ratio_to_nested:.1f} times the nested network's time."
    )


def plot_race(figure: plots.Figure, table: pd.DataFrame, title: str) -> None:
    """A point for every contestant on a logarithmic axis; `table` is bench.csv's."""
    known = table.dropna(subset="seconds").sort_values("seconds", kind="stable", ignore_index=True)
    figure.set_size_inches(plots.WIDTH, 1.0 + 0.34 * len(known))
    axes = figure.subplots()
    for place, row in enumerate(known.to_dict("records")):
        look = plots.style(plots.LDA if row["contestant"] in OURS else plots.PI)
        if row["contestant"] == "limit":
            look = {"color": plots.ink(), "marker": "|"}
        hollow: dict[str, Any] = {"mfc": "none"} if row["kind"] == "fitted" else {}
        axes.plot(row["seconds"], place, ls="", ms=7, **look, **hollow)
        digits = 0 if row["seconds"] >= 100 else 1
        label = f"{row['seconds']:,.{digits}f} s, {row['ratio_to_nested']:.2f} ×"
        axes.annotate(label, (row["seconds"], place), (8, 0), textcoords="offset points", va="center")
    plots.name_rows(axes, [f"{row.contestant} ({row.methods})" for row in known.itertuples()])
    low, high = known["seconds"].min(), known["seconds"].max()
    axes.set(xscale="log", xlim=(low / 1.5, high * max(8, (high / low) ** 0.6)))  # room for labels
    plots.log_ticks(axes.xaxis)
    axes.set_xlabel("Seconds for all fan-outs")
    axes.set_title(title)


def make_growth_report(
    points: Sequence[GrowthPoint], n_train: int, predicted_bytes: Sequence[int], provenance: Provenance
) -> Report:
    """Seconds and memory over the largest fan-out, with the fitted law and the prediction."""
    table = pd.DataFrame([vars(point) for point in points])
    fitted = np.full(len(points), np.nan)
    if len(points) >= FEWEST_FITTED:
        law = fit_law(n_train, table["n_hidden"].tolist(), table["seconds"].tolist())
        fitted = np.array([law.seconds(point.n_hidden) for point in points])
    table.insert(3, "fitted_seconds", fitted)
    table["predicted_bytes"] = list(predicted_bytes)
    gigabytes = table.assign(
        peak_gb=table["peak_bytes"] / 1e9, predicted_gb=table["predicted_bytes"] / 1e9
    )
    figure = Drawing(
        "growth",
        "Seconds and peak memory over the largest fan-out, both logarithmic",
        f"The law: {LAW}, for K samples and M hidden units.",
        partial(plot_growth, table=gigabytes),
    )
    caption = "One nested network: fan-outs 1 to F, PI-ELM and LDA-ELM"
    shown = make_table(caption, gigabytes, GROWTH_COLUMNS)
    last = points[-1]
    return Report(
        title="elmlda bench",
        question="How do time and memory grow?",
        headline=f"Fan-outs 1 to {last.fanout} take {last.seconds:.1f} s and "
        f"{last.peak_bytes / 1e9:.2f} GB.",
        sections=[Section("growth", "Growth with the fan-out", figures=[figure], tables=[shown])],
        tables={"growth": table},
        provenance=provenance,
        stem="growth",
    )


def plot_growth(figure: plots.Figure, table: pd.DataFrame) -> None:
    """Seconds and memory over the largest fan-out, both logarithmic."""
    figure.set_size_inches(plots.WIDTH, 3.0)
    fanouts, (left, right) = table["fanout"], figure.subplots(1, 2)
    for axes, title, unit, measured, expected, label in (
        (left, "Time", "Seconds", "seconds", "fitted_seconds", "fitted law"),
        (right, "Memory", "Peak memory (GB)", "peak_gb", "predicted_gb", "predicted"),
    ):
        if np.isfinite(table[expected]).all():
            axes.plot(fanouts, table[expected], "-", color=plots.color(plots.PI), label=label)
        axes.plot(fanouts, table[measured], "o", color=plots.color(plots.LDA), label="measured")
        axes.set(xscale="log", yscale="log", xlabel="Largest fan-out F", ylabel=unit, title=title)
        plots.place_ticks(axes.xaxis, fanouts.tolist())
        plots.log_ticks(axes.yaxis)
        axes.legend(loc="upper left")
