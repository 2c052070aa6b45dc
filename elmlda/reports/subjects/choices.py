"""How far each activation and input scale is from Table 1: table and sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from elmlda import paper
from elmlda.experiments.choices import name_choice
from elmlda.ranges import format_ranges
from elmlda.reports.estimates import NAN, RATE_ROUNDING, estimate_mean, sample_mean
from elmlda.reports.rates import pivot_by_repeat
from elmlda.reports.records import RunRecords

VARIED = ("activation", "input_scale")
NEAR = 1.96
"""Standard errors from a printed rate, within which chance explains the distance."""
PRINTED = {
    "pi": paper.PI_ERROR_PERCENT,
    "pi_constant": paper.PI_ERROR_PERCENT,
    "lda": paper.LDA_ERROR_PERCENT,
}


def name_combination(activation: str, scale: float) -> str:
    """What people see of a combination."""
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
                "label": name_combination(far["activation"], far["input_scale"]),
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
