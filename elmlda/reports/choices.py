"""Which activation and input scale the paper had, as far as Table 1 tells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from elmlda import paper
from elmlda.errors import ElmldaError
from elmlda.experiments.choices import name_choice
from elmlda.ranges import format_ranges
from elmlda.reports.estimates import NAN, RATE_ROUNDING, estimate_mean, sample_mean
from elmlda.reports.rates import pivot_by_repeat
from elmlda.reports.records import RunRecords, find_run
from elmlda.runs.manifest import MANIFEST
from elmlda.settings import ACTIVATION_NAMES

VARIED = ("activation", "input_scale")
NEAR = 1.96
"""Standard errors from a printed rate, within which chance explains the distance."""
PRINTED = {
    "pi": paper.PI_ERROR_PERCENT,
    "pi_constant": paper.PI_ERROR_PERCENT,
    "lda": paper.LDA_ERROR_PERCENT,
}


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
        planned = run.planned("sweep")
        n_planned = planned.get("repeats", 0) * len(planned.get("n_hidden", ()))
        if len(run.sweep) < n_planned:
            yield f"{label(run)}: {len(run.sweep):,} of {n_planned:,} planned results."
    there = {tuple(run.settings[name] for name in VARIED) for run in runs}
    for activation in dict.fromkeys(run.settings["activation"] for run in runs):
        for scale in dict.fromkeys(run.settings["input_scale"] for run in runs):
            if (activation, scale) not in there:
                yield f"{_label(activation, scale)}: not run."


def label(run: RunRecords) -> str:
    """What people see of a combination."""
    return _label(run.settings["activation"], run.settings["input_scale"])


def _label(activation: str, scale: float) -> str:
    return f"{activation}, {'raw inputs' if scale == 1 else f'inputs / {1 / scale:.6g}'}"


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
        activation, scale = (run.settings[name] for name in VARIED)
        first = name_choice(done[0].settings["activation"], scale)
        reference = first if first != run.folder.name else ""
        sizes = {record.fanout: record.n_hidden for record in run.sweep}
        for method, by_fanout in rates[run.folder.name].items():
            paired_rates = rates.get(reference, {}).get(method, pd.DataFrame())
            rows += [
                {
                    "choice": run.folder.name,
                    "activation": activation,
                    "input_scale": scale,
                    "method": method,
                    "fanout": fanout,
                    "n_hidden": sizes[fanout],
                    **_describe_rate(by_fanout[fanout], method, fanout, run.is_papers_kind),
                    **_describe_pairs(reference, paired_rates.get(fanout), by_fanout[fanout]),
                }
                for fanout in sorted(sizes)
            ]
    return pd.DataFrame(rows)


def _describe_rate(
    values: pd.Series[float], method: str, fanout: float, is_papers: bool
) -> dict[str, Any]:
    percent = values.dropna().to_numpy()
    mean = estimate_mean(percent)
    printed = PRINTED[method].get(int(fanout), NAN) if is_papers and fanout % 1 == 0 else NAN
    return {
        "repeats": mean.repeats,
        "error_percent": mean.value,
        "interval": mean.half,
        "sd": pd.Series(percent).std(),
        "paper_error_percent": printed,
        "difference": mean.value - printed,
        "z": sample_mean(percent).distance(printed, paper.REPEATS, RATE_ROUNDING),
    }


def _describe_pairs(
    reference: str, theirs: pd.Series[float] | None, ours: pd.Series[float]
) -> dict[str, Any]:
    differences = pd.Series(dtype=float) if theirs is None else (theirs - ours).dropna()
    mean = estimate_mean(differences.to_numpy())
    return {
        "paired_with": reference,
        "paired_repeats": mean.repeats,
        "paired_difference": mean.value,
        "paired_interval": mean.half,
    }


def summarise_choices(table: pd.DataFrame, pi: str = "pi") -> pd.DataFrame:
    """How far each combination is from Table 1, the nearest first.

    Parameters
    ----------
    table : `tabulate_choices`'s
    pi : which PI-ELM is held against the printed one: pi, or pi_constant

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
                "label": _label(far["activation"], far["input_scale"]),
                "rates": len(group),
                "near": (group["z"].abs() < NEAR).sum(),
                "largest_z": far["z"],
                "at_method": far["method"],
                "at_fanout": far["fanout"],
                "largest_points": group["difference"].abs().max(),
            }
        )
    summary = pd.DataFrame(rows)
    if summary.empty:
        return summary
    return summary.sort_values("largest_z", key=abs, kind="stable", ignore_index=True)


def describe_choices(table: pd.DataFrame) -> list[str]:
    """Which combinations agree with Table 1 and how far the others are off, in sentences."""
    summary = summarise_choices(table)
    if summary.empty:
        return ["Nothing printed to compare with: other data or fan-outs, or a single repeat."]
    fanouts = sorted({int(fanout) for fanout in table.dropna(subset=["z"])["fanout"]})
    n_rates = int(summary["rates"].max())
    is_near = summary["near"] == n_rates
    where = f"{n_rates} rates of Table 1 at fan-outs {format_ranges(tuple(fanouts))}"
    sentences = [_describe_near(summary[is_near], summary.iloc[0], where)]
    if not is_near.all():
        far = "; ".join(_describe_far(row) for row in summary[~is_near].to_dict("records"))
        sentences.append(f"Not within all of them: {far}.")
    constant = summarise_choices(table, "pi_constant")
    near = "; ".join(constant.loc[constant["near"] == n_rates, "label"]) or "none"
    sentences.append(f"Within all of them if PI-ELM has a constant hidden unit: {near}.")
    scale = table.loc[table["choice"] == summary.loc[0, "choice"], "input_scale"].iloc[0]
    return sentences + list(_describe_paired(table[table["input_scale"] == scale]))


def _describe_near(near: pd.DataFrame, nearest: pd.Series[Any], where: str) -> str:
    if near.empty:
        return (
            f"No combination is within {NEAR} standard errors of all {where}; the nearest is "
            f"{nearest['label']} (|z| up to {abs(nearest['largest_z']):.1f})."
        )
    found = "; ".join(
        f"{row['label']} (|z| up to {abs(row['largest_z']):.1f})" for row in near.to_dict("records")
    )
    return f"Within {NEAR} standard errors of all {where}: {found}."


def _describe_far(row: dict[Any, Any]) -> str:
    return (
        f"{row['label']} ({row['near']} of {row['rates']} within, up to {row['largest_points']:.2f} "
        f"points or |z| {abs(row['largest_z']):.1f} off)"
    )


def _describe_paired(table: pd.DataFrame) -> Iterator[str]:
    """The first activation against each other one, on the same networks."""
    known = table[table["method"] != "pi_constant"].dropna(subset=["paired_interval"])
    for choice, rows in known.groupby("choice", sort=False):
        low, high = (
            f"{bound:+.3f}".replace("-", "−") for bound in rows["paired_difference"].agg(["min", "max"])
        )
        surely = rows["paired_difference"].abs() > rows["paired_interval"]
        yield (
            f"On the same networks {rows['paired_with'].iloc[0]} − {choice} is {low} to {high} points, "
            f"beyond chance at {surely.sum()} of {len(rows)} rates (95 % intervals)."
        )
