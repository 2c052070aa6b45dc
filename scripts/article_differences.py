"""Compare runs that differ in a setting: differences.csv and counts.csv, which the article reads.

Runs that share input weights are paired network by network, others are two samples.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import ttest_ind

from elmlda import paper
from elmlda.experiments.specs import list_options
from elmlda.reports.load import METHODS, Records, matches_paper, percents
from elmlda.reports.stats import FEWEST_REPEATS, LEVEL, NAN, estimate_mean, holm
from elmlda.reports.tables import PRINTED, RATE_ROUNDING


def differing(runs: Mapping[str, Records]) -> list[str]:
    """List the settings in which the runs differ."""
    settings = [run.settings for run in runs.values()]
    names = sorted(set().union(*settings))
    return [name for name in names if any(s.get(name) != settings[0].get(name) for s in settings)]


def matches_statements(run: Records) -> bool:
    """Return whether the data, and all options that the paper states, are the paper's."""
    left_open = {n for n, option in list_options().items() if option.stated_by_paper is False}
    stated = {n: value for n, value in run.manifest["run"].items() if n not in left_open}
    return matches_paper(stated, run.manifest["experiments"].get("sweep", {}))


def choose_reference(runs: Mapping[str, Records]) -> str:
    """Return the run with the fewest settings that are not the default; the first of equals."""
    return min(runs, key=lambda name: len(runs[name].manifest["run"]))


def tabulate_differences(runs: Mapping[str, Records], reference: str) -> pd.DataFrame:
    """Tabulate error rates, and differences from the reference at the hidden sizes of both runs.

    Columns
    -------
    paired : whether the two runs share input weights; if not, the test is Welch's
    difference : the run minus the reference, in percentage points, with its interval and p
    p_holm : corrected for the number of rows
    paper_error_percent, z : where everything that the paper states is the paper's
    """
    table = pd.DataFrame([row for name in runs for row in _compare(runs, name, reference)])
    return table.assign(p_holm=holm(table["p"]))


def _compare(runs: Mapping[str, Records], name: str, reference: str) -> Iterator[dict[str, Any]]:
    run, other = runs[name], runs[reference]
    ours, theirs = (percents(records.primary, "n_hidden") for records in (run, other))
    fanouts = run.primary.drop_duplicates("n_hidden").set_index("n_hidden")["fanout"]
    paired = is_paired(run, other)
    for method in METHODS:
        for n_hidden in sorted(set(ours[method]) & set(theirs[method])):
            a, b = ours[method, n_hidden], theirs[method, n_hidden]
            mean, fanout = estimate_mean(a, run.overlap), fanouts[n_hidden]
            printed = PRINTED[method].get(fanout, NAN) if matches_statements(run) else NAN
            row = {"run": name, "method": method, "fanout": fanout, "n_hidden": n_hidden}
            row |= {"repeats": mean.n, "error_percent": mean.value, "interval": mean.half()}
            row |= {"sd": math.sqrt(mean.spread), "paper_error_percent": printed}
            row["z"] = mean.z(printed, paper.REPEATS, RATE_ROUNDING)
            row |= dict.fromkeys(("reference", "paired", "difference", "difference_interval", "p"), NAN)
            if name != reference:
                row |= {"reference": reference, "paired": paired}
                row |= _subtract_pairs(a - b, run.overlap) if paired else _subtract_means(a, b)
            yield row


def is_paired(run: Records, other: Records) -> bool:
    """Return whether networks of the same number have the same input weights."""
    declared = list_options()
    names = differing({"run": run, "other": other})
    return all(name in declared and not declared[name].changes_draw for name in names)


def _subtract_pairs(points: pd.Series[float], overlap: float) -> dict[str, float]:
    mean = estimate_mean(points, overlap)
    return {"difference": mean.value, "difference_interval": mean.half(), "p": mean.p()}


def _subtract_means(a: pd.Series[float], b: pd.Series[float]) -> dict[str, float]:
    a, b = a.dropna(), b.dropna()
    row = {"difference": a.mean() - b.mean()}
    if min(len(a), len(b)) < FEWEST_REPEATS or not (np.ptp(a) and np.ptp(b)):
        return row
    test = ttest_ind(a, b, equal_var=False)
    low, high = test.confidence_interval(LEVEL)
    return row | {"difference_interval": (high - low) / 2, "p": test.pvalue}


def count_differences(runs: Mapping[str, Records], reference: str) -> pd.DataFrame:
    """Tabulate how many error counts differ from the reference, for each method of each paired run.

    Columns
    -------
    counts, differing : error counts that both runs have, and how many of them differ
    by_1, by_2, by_more, largest : how many differ by one, two or more errors; the largest difference
    difference : the run minus the reference in percentage points, mean over hidden sizes, with its
        interval over networks
    """
    rows = []
    for name, run in runs.items():
        if name == reference or not is_paired(runs[reference], run):
            continue
        ours, theirs = (percents(r.primary, "n_hidden") for r in (run, runs[reference]))
        for method in METHODS:
            points = pd.DataFrame(ours[method] - theirs[method]).dropna(how="all")
            mean = estimate_mean(points.mean(axis=1), run.overlap)
            values = pd.Series(points.to_numpy().ravel()).dropna()
            changes = (values * run.primary["n_test"].iloc[0] / 100).round().abs()
            row = {"run": name, "reference": reference, "method": method, "networks": mean.n}
            row |= {"counts": len(changes), "differing": int((changes > 0).sum())}
            row |= {f"by_{n}": int((changes == n).sum()) for n in (1, 2)}
            row |= {"by_more": int((changes > 2).sum()), "largest": changes.max()}
            row |= {"difference": mean.value, "difference_interval": mean.half(), "p": mean.p()}
            rows.append(row)
    return pd.DataFrame(rows)
