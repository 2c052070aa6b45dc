"""PI-ELM against LDA-ELM on several data sets: tables, corrected tests and ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from elmlda.core.arrays import FloatArray
from elmlda.experiments.compare import CompareRecord
from elmlda.reports.estimates import LEVEL

CONTESTANTS = {
    ("pi", "none"): "PI-ELM",
    ("lda", "none"): "LDA-ELM",
    ("pi", "gcv"): "PI-ELM, ridge",
    ("lda", "gcv"): "LDA-ELM, ridge",
}
"""Method and rule -> what people see."""


def tabulate_compare(records: Sequence[CompareRecord]) -> pd.DataFrame:
    """One set: a row for each rule and hidden size.

    Columns
    -------
    networks : repeats × folds
    …_error_percent : mean over networks; pi_constant is PI-ELM with a constant hidden unit
    difference : PI - LDA in percentage points
    …_interval : half the 95 % interval of the mean, corrected like the test
    p : two-sided, of Nadeau and Bengio's corrected t-test where there are folds: they share
        training samples, so the variance of a mean of J is (1/J + n_test/n_train) times the
        variance of one, not 1/J times. With the set's own split there are no folds, the test set is
        always the same, and the test is of networks alone.
    …_worst_recall_percent : of the class that the method recognises least, all networks together
    ridge : median of those chosen
    """
    frame = pd.DataFrame([vars(record) for record in records])
    has_folds = bool((frame["fold"] > 0).any())
    rows = [_row(group, has_folds) for _, group in frame.groupby(["rule", "n_hidden"], sort=True)]
    return pd.DataFrame(rows).sort_values(
        ["rule", "n_hidden"], ascending=[False, True], ignore_index=True
    )


def _row(group: pd.DataFrame, has_folds: bool) -> dict[str, Any]:
    pi, lda = (
        (100 * group[f"{method}_errors"] / group["n_test"]).to_numpy() for method in ("pi", "lda")
    )
    overlap = float((group["n_test"] / group["n_train"]).mean()) if has_folds else 0.0
    difference = pi - lda
    fanout = group["fanout"].iloc[0]
    return {
        "rule": group["rule"].iloc[0],
        "fanout": int(fanout) if fanout == int(fanout) else fanout,
        "n_hidden": group["n_hidden"].iloc[0],
        "networks": len(group),
        "pi_error_percent": pi.mean(),
        "pi_interval": half_interval(pi, overlap),
        "pi_constant_error_percent": (100 * group["pi_constant_errors"] / group["n_test"]).mean(),
        "lda_error_percent": lda.mean(),
        "lda_interval": half_interval(lda, overlap),
        "difference": difference.mean(),
        "difference_interval": half_interval(difference, overlap),
        "p": corrected_p(difference, overlap),
        "pi_worst_recall_percent": _worst_recall(group, "pi"),
        "lda_worst_recall_percent": _worst_recall(group, "lda"),
        "ridge": group["ridge"].median(),
    }


def _worst_recall(group: pd.DataFrame, method: str) -> float:
    """Of the class that is recognised least, all networks together."""
    errors, counts = (
        group[column].str.split(expand=True).astype(int).sum()
        for column in (f"{method}_class_errors", "class_counts")
    )
    return float(100 * (1 - errors / counts).min())


def _standard_error(values: FloatArray, overlap: float) -> float:
    """Of the mean; `overlap` is n_test/n_train of cross-validation, 0 for independent values."""
    return float(np.sqrt(np.var(values, ddof=1) * (1 / len(values) + overlap)))


def half_interval(values: FloatArray, overlap: float) -> float:
    """Half the width of the corrected interval of the mean; NaN for a single value."""
    if len(values) < 2:
        return float("nan")
    quantile = stats.t.ppf((1 + LEVEL) / 2, len(values) - 1)
    return float(quantile * _standard_error(values, overlap))


def corrected_p(differences: FloatArray, overlap: float) -> float:
    """Two-sided p of the corrected t-test; NaN without any spread, 1 where nothing differs."""
    if len(differences) < 2:
        return float("nan")
    if not differences.any():
        return 1.0
    error = _standard_error(differences, overlap)
    if error < 1e-12 * abs(differences).max():
        return float("nan")
    return float(2 * stats.t.sf(abs(differences.mean()) / error, len(differences) - 1))


def adjust_holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction for the number of tests, which scipy lacks; NaN stays out of it."""
    adjusted = [float("nan")] * len(p_values)
    order = [int(i) for i in np.argsort(p_values) if not np.isnan(p_values[i])]
    highest = 0.0
    for rank, i in enumerate(order):
        highest = max(highest, min(1.0, (len(order) - rank) * p_values[i]))
        adjusted[i] = highest
    return adjusted


def tabulate_summary(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Every set at every fan-out: both methods, and p corrected for the number of sets (Holm)."""
    parts = [table.assign(dataset=name) for name, table in tables.items()]
    everything = pd.concat(parts, ignore_index=True)
    everything["p_holm"] = np.nan
    for _, group in everything.groupby(["rule", "fanout"]):
        everything.loc[group.index, "p_holm"] = adjust_holm(group["p"].tolist())
    first = ["dataset", "rule", "fanout", "n_hidden", "networks"]
    return everything[first + [column for column in everything if column not in first]]


def tabulate_ranks(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Average ranks over sets at each fan-out that all sets have, after Demšar.

    Columns
    -------
    one for each contestant : average rank, 1 is best; equal error rates share their ranks
    sets : number of data sets
    friedman_p : whether the contestants differ at all (empty for fewer than three sets)
    critical_difference : of two average ranks, Nemenyi's at 5 %
    """
    rates = {name: _rates(table) for name, table in tables.items()}
    fanouts = sorted(set.intersection(*(set(by_fanout) for by_fanout in rates.values())))
    rows = []
    for fanout in fanouts:
        errors = np.array([rates[name][fanout] for name in rates])
        ranks = stats.rankdata(errors, axis=1)
        n_sets, n_contestants = errors.shape
        quantile = stats.studentized_range.ppf(1 - 0.05, n_contestants, np.inf) / np.sqrt(2)
        rows.append(
            {
                "fanout": fanout,
                "sets": n_sets,
                **dict(zip(CONTESTANTS.values(), ranks.mean(axis=0), strict=True)),
                "friedman_p": stats.friedmanchisquare(*errors.T).pvalue
                if n_sets >= 3 and np.ptp(ranks, axis=1).any()
                else float("nan"),
                "critical_difference": quantile
                * np.sqrt(n_contestants * (n_contestants + 1) / (6 * n_sets)),
            }
        )
    columns = ["fanout", "sets", *CONTESTANTS.values(), "friedman_p", "critical_difference"]
    return pd.DataFrame(rows, columns=columns)


def _rates(table: pd.DataFrame) -> dict[float, list[float]]:
    """Fan-out -> error rate of each contestant, where all of them have one."""
    by_rule = {rule: rows.set_index("fanout") for rule, rows in table.groupby("rule")}
    if set(by_rule) != {"none", "gcv"}:
        return {}
    shared = by_rule["none"].index.intersection(by_rule["gcv"].index)
    return {
        fanout: [
            float(by_rule[rule].loc[fanout, f"{method}_error_percent"]) for method, rule in CONTESTANTS
        ]
        for fanout in shared
    }
