"""Runs that differ in a setting, network by network if they have the same weights, else as samples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import levene, ttest_ind

from elmlda import paper
from elmlda.reports.claims import judge_agreement
from elmlda.reports.load import METHODS, UNSTATED, Run, differing, percents
from elmlda.reports.stats import FEWEST_REPEATS, LEVEL, NAN, Estimate, estimate_mean, holm
from elmlda.reports.tables import PRINTED, RATE_ROUNDING, estimate_over_images

SAME_WEIGHTS = {"activation", "bias", "input_scale", "precision", "priors", "ridge"}
"""Settings that leave a network's input weights as they are."""
COLUMNS = [
    "run", "method", "fanout", "n_hidden", "repeats", "error_percent", "interval", "sd",
    "paper_error_percent", "z", "reference", "paired", "difference", "difference_interval", "p",
    "p_holm", "p_both", "same_counts", "largest_difference", "sd_ratio", "spread_p",
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
    p_holm : corrected for the number of rows; p_both over networks and images, where both runs have
        kept the wrong answers of all networks
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
    paired = is_paired(run, other)
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
            row |= {"reference": reference, "paired": paired}
            row |= _subtract_pairs(a - b, run) if paired else _subtract_means(a.dropna(), b.dropna())
            wrong = [one.kept.wrong(method, n_hidden) for one in (run, other) if one.kept]
            if len(wrong) == 2:
                parts = [(wrong[0] - wrong[1]).dropna()] if paired else [wrong[0], -wrong[1]]
                n_networks = [(a - b).count()] if paired else [a.count(), b.count()]
                if n_networks == [len(part) for part in parts]:
                    mean = Estimate(row["difference"], n=min(n_networks))
                    row["p_both"] = estimate_over_images(mean, *parts)[1].p()
            yield row


def is_paired(run: Run, other: Run) -> bool:
    """Whether networks of the same number have the same input weights."""
    return set(differing({"run": run, "other": other})) <= SAME_WEIGHTS


def compares_with_paper(run: Run) -> bool:
    """Whether data and all that the paper states are the paper's."""
    is_paper = run.has_papers_data and set(run.departures) <= set(UNSTATED)
    return is_paper and set(run.primary["ridge_label"]) == {"none"}


def _subtract_pairs(points: pd.Series[float], run: Run) -> dict[str, Any]:
    mean = estimate_mean(points.dropna().to_numpy(), run.overlap)
    counts = np.rint(points.dropna().abs() * run.primary["n_test"].iloc[0] / 100)
    row = {"difference": mean.value, "difference_interval": mean.half(), "p": mean.p()}
    return row | {"same_counts": int((counts == 0).sum()), "largest_difference": counts.max()}


def _subtract_means(a: pd.Series[float], b: pd.Series[float]) -> dict[str, Any]:
    """Welch's, and the ratio of standard deviations."""
    row = {"difference": a.mean() - b.mean()}
    if min(len(a), len(b)) < FEWEST_REPEATS or not (np.ptp(a) and np.ptp(b)):
        return row
    test = ttest_ind(a, b, equal_var=False)
    low, high = test.confidence_interval(LEVEL)
    row |= {"difference_interval": (high - low) / 2, "p": test.pvalue}
    row["sd_ratio"] = a.std() / b.std()
    return row | {"spread_p": levene(a, b, center="median").pvalue}


def count_differences(runs: Mapping[str, Run], reference: str) -> pd.DataFrame:
    """How many counts of errors differ, and by how much, for each method of each paired run.

    Columns
    -------
    counts, differing, largest : counts of errors that both runs have; those that are not the same; by
        how many errors at most; by_1, by_2, by_more : how many differ by one, two or more
    difference : the run minus the reference in points, mean over sizes, with its interval over networks
    """
    rows = []
    for name, run in runs.items():
        if name == reference or not is_paired(runs[reference], run):
            continue
        ours, theirs = (percents(one.primary, "n_hidden") for one in (run, runs[reference]))
        for method in METHODS:
            points = pd.DataFrame(ours[method] - theirs[method]).dropna(how="all")
            errors = np.rint(points.abs().stack().dropna() * run.primary["n_test"].iloc[0] / 100)
            mean = estimate_mean(points.mean(axis=1).to_numpy(), run.overlap)
            row = {"run": name, "reference": reference, "method": method, "networks": mean.n}
            row |= {"counts": len(errors), "differing": int((errors > 0).sum())}
            row |= {f"by_{n}": int((errors == n).sum()) for n in (1, 2)}
            row |= {"by_more": int((errors > 2).sum()), "largest": errors.max()}
            row |= {"difference": mean.value, "difference_interval": mean.half(), "p": mean.p()}
            rows.append(row)
    return pd.DataFrame(rows)


def tabulate_agreement(runs: Mapping[str, Run], reference: str) -> pd.DataFrame:
    """Joint agreement with Table 1 of each run and the reference, at the printed fan-outs of both.

    Runs with too few networks for a test are left out.
    """
    found = []
    for name, run in runs.items():
        pair = {reference: runs[reference], name: run}
        sizes = [set(one.primary["fanout"]) for one in pair.values()]
        fanouts = sorted(set(paper.FANOUTS).intersection(*sizes))
        if len(pair) < 2 or not fanouts or not all(map(compares_with_paper, pair.values())):
            continue
        words = ", ".join(map(str, fanouts))
        judged = [
            judge_agreement(percents(one.primary), fanouts).assign(run=each, fanouts=words)
            for each, one in pair.items()
        ]
        found += judged if judged[-1]["p"].notna().all() else []
    return pd.concat(found).drop_duplicates(["run", "reading", "fanouts"]) if found else pd.DataFrame()
