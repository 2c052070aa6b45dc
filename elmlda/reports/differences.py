"""Runs that differ in a setting, network by network if they have the same weights, else as samples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import levene, ttest_ind

from elmlda import paper
from elmlda.core.arrays import FloatArray
from elmlda.reports.claims import judge_agreement
from elmlda.reports.load import METHODS, UNSTATED, Run, differing, percents
from elmlda.reports.stats import FEWEST_REPEATS, LEVEL, NAN, estimate_mean, holm, t_test
from elmlda.reports.tables import PRINTED, RATE_ROUNDING

SAME_WEIGHTS = {"activation", "bias", "input_scale", "precision", "priors", "ridge"}
"""Settings that leave a network's input weights as they are."""
COLUMNS = [
    "run", "method", "fanout", "n_hidden", "repeats", "error_percent", "interval", "sd",
    "paper_error_percent", "z", "reference", "paired", "difference", "difference_interval", "p",
    "p_holm", "same_counts", "largest_difference", "sd_ratio", "spread_p",
]  # fmt: skip


def choose_reference(runs: Mapping[str, Run]) -> str:
    """The run with the fewest settings that are not the default; the first of equals."""
    return min(runs, key=lambda name: len(runs[name].manifest["run"]))


def tabulate_differences(runs: Mapping[str, Run], reference: str) -> pd.DataFrame:
    """A row for each run, method and hidden size that it has in common with the reference.

    Columns
    -------
    difference : the run minus the reference, in percentage points, with its interval and p; paired
        where the networks have the same input weights, else Welch's
    p_holm : corrected for the number of rows
    same_counts, largest_difference : of paired runs, in counts of errors
    sd_ratio : standard deviation over that of the reference; spread_p Brown and Forsythe's test
    paper_error_percent, z : where everything that the paper states is the paper's
    """
    rows = [row for name in runs for row in _compare(runs, name, reference)]
    table = pd.DataFrame(rows).reindex(columns=COLUMNS)
    return table.assign(p_holm=holm(table["p"]))


def _compare(runs: Mapping[str, Run], name: str, reference: str) -> Iterator[dict[str, Any]]:
    run, other = runs[name], runs[reference]
    ours, theirs = (percents(one.primary, "n_hidden") for one in (run, other))
    fanouts = run.primary.drop_duplicates("n_hidden").set_index("n_hidden")["fanout"]
    is_paired = set(differing({name: run, reference: other})) <= SAME_WEIGHTS
    for method in METHODS:
        for n_hidden in sorted(set(ours[method]) & set(theirs[method])):
            a, b = ours[method, n_hidden], theirs[method, n_hidden]
            mean, fanout = estimate_mean(a.dropna().to_numpy(), run.overlap), fanouts[n_hidden]
            printed = PRINTED[method].get(fanout, NAN) if compares_with_paper(run) else NAN
            row = {"run": name, "method": method, "fanout": fanout, "n_hidden": n_hidden}
            row |= {"repeats": mean.n, "error_percent": mean.value, "interval": mean.half()}
            row |= {"sd": a.std(), "paper_error_percent": printed}
            row["z"] = mean.z(printed, paper.REPEATS, RATE_ROUNDING)
            if name == reference:
                yield row
                continue
            row |= {"reference": reference, "paired": is_paired}
            if is_paired:
                yield row | _subtract_pairs((a - b).dropna().to_numpy(), run)
            else:
                yield row | _subtract_means(a.dropna().to_numpy(), b.dropna().to_numpy())


def compares_with_paper(run: Run) -> bool:
    """Whether data and all that the paper states are the paper's."""
    is_paper = run.has_papers_data and set(run.departures) <= set(UNSTATED)
    return is_paper and set(run.primary["ridge_label"]) == {"none"}


def _subtract_pairs(points: FloatArray, run: Run) -> dict[str, Any]:
    mean = estimate_mean(points, run.overlap)
    counts = np.rint(np.abs(points) * run.primary["n_test"].iloc[0] / 100)
    row = {"difference": mean.value, "difference_interval": mean.half()}
    row |= {"p": t_test(points, run.overlap), "same_counts": int((counts == 0).sum())}
    return row | {"largest_difference": counts.max() if len(counts) else NAN}


def _subtract_means(a: FloatArray, b: FloatArray) -> dict[str, Any]:
    """Welch's, and the ratio of standard deviations."""
    row = {"difference": a.mean() - b.mean()} if len(a) and len(b) else {}
    if min(len(a), len(b)) < FEWEST_REPEATS or not (np.ptp(a) and np.ptp(b)):
        return row
    test = ttest_ind(a, b, equal_var=False)
    low, high = test.confidence_interval(LEVEL)
    row |= {"difference_interval": (high - low) / 2, "p": test.pvalue}
    row["sd_ratio"] = np.std(a, ddof=1) / np.std(b, ddof=1)
    return row | {"spread_p": levene(a, b, center="median").pvalue}


def tabulate_agreement(runs: Mapping[str, Run]) -> pd.DataFrame:
    """Joint agreement with Table 1 at the printed fan-outs that all of the runs have."""
    comparable = {name: run for name, run in runs.items() if compares_with_paper(run)}
    common = [set(paper.FANOUTS), *(set(run.primary["fanout"]) for run in comparable.values())]
    fanouts = sorted(set.intersection(*common))
    found = [
        judge_agreement(percents(run.primary), fanouts).assign(run=name)
        for name, run in comparable.items()
        if fanouts
    ]
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame()
