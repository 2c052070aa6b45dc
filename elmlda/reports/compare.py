"""PI-ELM against LDA-ELM on several data sets: every cell in one table, and average ranks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from elmlda.reports.load import Run
from elmlda.reports.stats import LEVEL, NAN, holm
from elmlda.reports.tables import table1

COLUMNS = [
    "dataset", "tested_on", "ridge", "mean_ridge", "fanout", "n_hidden", "repeats",
    "pi_error_percent", "pi_interval", "pi_constant_error_percent", "pi_constant_interval",
    "lda_error_percent", "lda_interval", "difference", "difference_interval", "p", "p_holm",
    "p_both",
]  # fmt: skip


def tabulate_comparison(runs: Mapping[str, Run]) -> pd.DataFrame:
    """A row for each data set, ridge and hidden size.

    p is over folds, corrected for their overlap, for sets that were cross-validated, and over networks
    for sets with a test part of their own. p_holm corrects each of these two families for its size.
    """
    kinds = {name: "folds" if run.overlap else "test part" for name, run in runs.items()}
    parts = [table1(run).assign(dataset=name, tested_on=kinds[name]) for name, run in runs.items()]
    table = pd.concat(parts, ignore_index=True)
    for _, family in table.groupby("tested_on"):
        table.loc[family.index, "p_holm"] = holm(family["p"])
    return table[COLUMNS]


def tabulate_ranks(table: pd.DataFrame) -> pd.DataFrame:
    """Average ranks at each fan-out that all sets have (1 is best), after Demšar; none for one set.

    Columns
    -------
    friedman_p : that all rank alike; critical_difference : Nemenyi's, of two average ranks
    """
    n_sets = table["dataset"].nunique()
    names = {"pi_error_percent": "PI-ELM, ridge ", "lda_error_percent": "LDA-ELM, ridge "}
    rates = table.melt(["dataset", "fanout", "ridge"], list(names), "method", "rate")
    contestants = rates.assign(name=rates["method"].map(names) + rates["ridge"])
    wide = contestants.pivot(index=["fanout", "dataset"], columns="name", values="rate").dropna()
    rows = [
        {"fanout": fanout, "sets": n_sets, **_rank(cells)}
        for fanout, cells in wide.groupby(level="fanout")
        if len(cells) == n_sets > 1
    ]
    return pd.DataFrame(rows)


def _rank(cells: pd.DataFrame) -> dict[Any, float]:
    n, k = cells.shape
    p = critical = NAN
    if n > 2 and k > 2:
        p = float(stats.friedmanchisquare(*cells.to_numpy().T).pvalue)
        quantile = float(stats.studentized_range.ppf(LEVEL, k, np.inf)) / math.sqrt(2)
        critical = quantile * math.sqrt(k * (k + 1) / (6 * n))
    return {**cells.rank(axis=1).mean(), "friedman_p": p, "critical_difference": critical}
