"""What `elmlda bench` leaves behind: measurements, standings, growth, as CSV, Markdown and figures."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from elmlda.bench.growth import FEWEST_FITTED, GrowthPoint, fit_law
from elmlda.bench.outcome import TOLERATED_ERRORS, Difference, Standing
from elmlda.bench.peers import PEERS
from elmlda.bench.race import Measurement
from elmlda.ranges import format_ranges
from elmlda.reports.bench_figures import plot_growth, plot_race
from elmlda.reports.figures import render
from elmlda.reports.files import write_csv, write_figure, write_text


def write_measurements(folder: Path, measurements: Sequence[Measurement]) -> Path:
    """Write all that was timed so far into measurements.csv: a later contestant may fail."""
    rows = [
        {
            "contestant": measurement.contestant,
            "fanouts": format_ranges(measurement.fanouts),
            "seconds": measurement.seconds,
            "pi_errors": " ".join(map(str, measurement.pi_errors)),
            "lda_errors": " ".join(map(str, measurement.lda_errors)),
        }
        for measurement in measurements
    ]
    return write_csv(pd.DataFrame(rows), folder / "measurements.csv")


def write_race(
    folder: Path,
    title: str,
    standings: Sequence[Standing],
    differences: Sequence[Difference],
    machine: dict[str, Any],
    command: str,
) -> list[Path]:
    """Write bench.csv, bench.md and the chart; a void race is called so in each."""
    table = pd.DataFrame([vars(standing) for standing in standings])
    if any(difference.voids for difference in differences):
        title = f"VOID, error counts differ: {title}"
    page = _format_page(title, standings, differences, machine, command)
    return [
        write_csv(table, folder / "bench.csv"),
        write_text(page, folder / "bench.md"),
        *write_figure(render(partial(plot_race, table=table, title=title)), folder / "bench"),
    ]


def write_growth(
    folder: Path, points: Sequence[GrowthPoint], n_train: int, predicted_bytes: Sequence[int]
) -> list[Path]:
    """Write growth.csv with the fitted law beside the times, and its figure."""
    table = pd.DataFrame([vars(point) for point in points])
    fitted = np.full(len(points), np.nan)
    if len(points) >= FEWEST_FITTED:
        law = fit_law(n_train, table["n_hidden"].tolist(), table["seconds"].tolist())
        fitted = np.array([law.seconds(point.n_hidden) for point in points])
    table.insert(3, "fitted_seconds", fitted)
    table["predicted_bytes"] = list(predicted_bytes)
    return [
        write_csv(table, folder / "growth.csv"),
        *write_figure(render(partial(plot_growth, table=table)), folder / "growth"),
    ]


def _format_page(
    title: str,
    standings: Sequence[Standing],
    differences: Sequence[Difference],
    machine: dict[str, Any],
    command: str,
) -> str:
    lines = [
        f"# {title}",
        "",
        "| contestant | methods | fan-outs | seconds | | times nested | errors agree |",
        "|---|---|---|---:|---|---:|---|",
        *map(_format_row, standings),
        "",
        *([pair, ""] if (pair := describe_best_pair(standings)) else []),
        "nested and independent train and test PI-ELM and LDA-ELM; each peer has one method. All have "
        "the same input weights. A peer's time has its hidden outputs, training and test; it is given "
        "scaled inputs and the drawn weights, which elmlda's time includes.",
        "",
    ]
    lines += [
        f"- {standing.contestant}: {about}."
        for standing in standings
        if (about := "; ".join(filter(None, [_describe(standing.contestant), standing.note])))
    ]
    if differences:
        lines += [
            "",
            f"Counts that differ (by {TOLERATED_ERRORS} may be rounding, by more is void):",
            "",
        ]
        lines += [f"- {difference}" for difference in differences]
    lines += ["", "## Command", "", f"    {command}", "", "## Machine", ""]
    lines += [f"- {key}: {_format_value(value)}" for key, value in machine.items()]
    return "\n".join(lines) + "\n"


def describe_best_pair(standings: Sequence[Standing]) -> str:
    """What a user would otherwise take: the fastest peer for each method, together; empty without."""
    known = [row for row in standings if row.contestant in PEERS and row.kind != "absent"]
    fastest = [
        min((row for row in known if row.methods == method), key=lambda row: row.seconds, default=None)
        for method in ("PI", "LDA")
    ]
    pi, lda = fastest
    if pi is None or lda is None:
        return ""
    fitted = " (fitted)" if "fitted" in (pi.kind, lda.kind) else ""
    return (
        f"The fastest peers for both methods, {pi.contestant} and {lda.contestant}, take "
        f"{pi.seconds + lda.seconds:.1f} s together{fitted}: "
        f"**{pi.ratio_to_nested + lda.ratio_to_nested:.1f} times** the nested network's time."
    )


def _format_row(row: Standing) -> str:
    known = row.kind != "absent"
    cells = [
        row.contestant,
        row.methods,
        row.fanouts,
        f"{row.seconds:.2f}" if known else "",
        row.kind,
        f"{row.ratio_to_nested:.2f}" if known else "",
        row.errors_agree,
    ]
    return f"| {' | '.join(cells)} |"


def _describe(contestant: str) -> str:
    """What is called, with its version."""
    if contestant not in PEERS:
        return ""
    peer = PEERS[contestant]
    try:
        return f"`{peer.call}` of {peer.distribution} {version(peer.distribution)}"
    except PackageNotFoundError:
        return f"`{peer.call}`"


def _format_value(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
