"""Tables beside the paper's, from records."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from elmlda import paper
from elmlda.core.arrays import FloatArray
from elmlda.experiments.ensemble import EnsembleRecord
from elmlda.experiments.sweep import SweepRecord
from elmlda.experiments.tune import TuneRecord
from elmlda.reports.estimates import (
    IMPROVEMENT_ROUNDING,
    NAN,
    RATE_ROUNDING,
    Sample,
    estimate_mean,
    improvement_percent,
    jackknife,
    sample_mean,
)
from elmlda.reports.evidence import METHODS


def tabulate_sweep(records: Sequence[SweepRecord]) -> pd.DataFrame:
    """Table 1: a row for each hidden size, error rates in per cent, the paper's beside ours.

    Columns
    -------
    …_interval : half the width of the 95 % interval of the mean, empty for a single repeat
    …_sd : standard deviation over repeats
    pi_constant_… : PI-ELM with a constant hidden unit, which Eq. (5) does not have
    improvement_percent : 100·(PI - LDA)/PI of the means, as the paper computes it
    constant_improvement_… : the same over PI-ELM with a constant unit
    difference : PI - LDA in percentage points, mean of the repeats' own differences
    wilcoxon_p : two-sided p of Wilcoxon's signed-rank test of those differences
    paper_… : the paper's, empty at sizes that it does not have
    …_distance : ours minus the paper's in standard errors of that difference. The paper gives no
        spread: its 200 repeats are taken to vary like ours, and its rounding counts.
    """
    frame = pd.DataFrame([vars(record) for record in records])
    return pd.DataFrame([_sweep_row(rows) for _, rows in frame.groupby("n_hidden")])


def _sweep_row(rows: pd.DataFrame) -> dict[str, Any]:
    fanout = rows["fanout"].iloc[0]
    pi, constant, lda = ((100 * rows[f"{m}_errors"] / rows["n_test"]).to_numpy() for m in METHODS)
    rates = {"pi": pi, "pi_constant": constant, "lda": lda}
    improvements = {
        "improvement": _sample_improvement(pi, lda),
        "constant_improvement": _sample_improvement(constant, lda),
    }
    difference = estimate_mean(pi - lda)
    row: dict[str, Any] = {
        "fanout": int(fanout) if fanout == int(fanout) else fanout,
        "n_hidden": rows["n_hidden"].iloc[0],
        "repeats": len(rows),
    }
    for method, percent in rates.items():
        row |= _rate(method, percent)
    for name, sample in improvements.items():
        row |= {f"{name}_percent": sample.value, f"{name}_interval": sample.estimate().half}
    return {
        **row,
        "difference": difference.value,
        "difference_interval": difference.half,
        "wilcoxon_p": _signed_rank_p(pi - lda),
        **_compare_with_paper(fanout, rates, improvements),
    }


def _compare_with_paper(
    fanout: Any, rates: Mapping[str, FloatArray], improvements: Mapping[str, Sample]
) -> dict[str, float]:
    """The paper's columns, and how far ours are from them."""
    pi, lda = paper.PI_ERROR_PERCENT.get(fanout, NAN), paper.LDA_ERROR_PERCENT.get(fanout, NAN)
    improvement = paper.IMPROVEMENT_PERCENT.get(fanout, NAN)
    columns = {
        "paper_pi_error_percent": pi,
        "paper_lda_error_percent": lda,
        "paper_improvement_percent": improvement,
    }
    for method, percent in rates.items():
        printed = lda if method == "lda" else pi
        distance = sample_mean(percent).distance(printed, paper.REPEATS, RATE_ROUNDING)
        columns[f"{method}_distance"] = distance
    for name, sample in improvements.items():
        distance = sample.distance(improvement, paper.REPEATS, IMPROVEMENT_ROUNDING)
        columns[f"{name}_distance"] = distance
    return columns


def _sample_improvement(pi: FloatArray, lda: FloatArray) -> Sample:
    both = np.column_stack([pi, lda])
    return jackknife(improvement_percent, both[:, None]).combine(np.ones(1))


def _rate(method: str, percent: FloatArray) -> dict[str, float]:
    mean = estimate_mean(percent)
    return {
        f"{method}_error_percent": mean.value,
        f"{method}_interval": mean.half,
        f"{method}_sd": float(np.std(percent, ddof=1)) if len(percent) > 1 else NAN,
    }


def _signed_rank_p(differences: FloatArray) -> float:
    """NaN where all differences are zero, or there is only one: that tells nothing."""
    if len(differences) < 2 or not differences.any():
        return float("nan")
    with warnings.catch_warnings():
        # Ties and zeros among counts rule the exact distribution out; older scipy warns of few samples.
        warnings.filterwarnings("ignore", "Sample size too small", UserWarning)
        return float(stats.wilcoxon(differences, method="approx").pvalue)


def tabulate_as_printed(table: pd.DataFrame, rows: dict[str, str]) -> pd.DataFrame:
    """A table in the paper's layout: its thirteen fan-outs as columns, ours and the paper's as rows.

    Parameters
    ----------
    table : `tabulate_sweep`'s or `elmlda.reports.timing_tables.tabulate_timing`'s
    rows : name of the row -> column of the table
    """
    by_fanout = table.set_index("fanout").reindex(list(paper.FANOUTS))
    printed = by_fanout[list(rows.values())].T
    printed.index = pd.Index(list(rows), name="fan-out")
    return printed.reset_index()


AS_PRINTED = {
    "table1": {
        "PI-ELM": "pi_error_percent",
        "PI-ELM, the paper": "paper_pi_error_percent",
        "PI-ELM with a constant unit": "pi_constant_error_percent",
        "LDA-ELM": "lda_error_percent",
        "LDA-ELM, the paper": "paper_lda_error_percent",
        "% improvement": "improvement_percent",
        "% improvement, the paper": "paper_improvement_percent",
        "% improvement over PI-ELM with a constant unit": "constant_improvement_percent",
    },
    "table2": {
        "PI-ELM": "pi_seconds",
        "PI-ELM, the paper": "paper_pi_seconds",
        "LDA-ELM": "lda_seconds",
        "LDA-ELM, the paper": "paper_lda_seconds",
        "both in one pass": "both_seconds",
        "% LDA-ELM extra": "overhead_percent",
        "% LDA-ELM extra, the paper": "paper_overhead_percent",
    },
}
"""Rows of the tables in the paper's layout -> columns of ours."""


def tabulate_tune(records: Sequence[TuneRecord]) -> pd.DataFrame:
    """A row for each setting that was tried, error rates of held-out samples in per cent."""
    frame = pd.DataFrame([vars(record) for record in records])
    for method in ("pi", "lda"):
        frame[f"{method}_error_percent"] = 100 * frame[f"{method}_errors"] / frame["n_validation"]
    rows = frame.groupby(["n_hidden", "weight_size", "ridge"], as_index=False)
    return rows.agg(
        repeats=("repeat", "size"),
        pi_error_percent=("pi_error_percent", "mean"),
        lda_error_percent=("lda_error_percent", "mean"),
    )


def tabulate_ensemble(records: Sequence[EnsembleRecord]) -> pd.DataFrame:
    """Fig. 2: a row for each ensemble size and scheme, error rates in per cent."""
    frame = pd.DataFrame([vars(record) for record in records])
    frame["percent"] = 100 * frame["errors"] / frame["n_test"]
    return pd.DataFrame(
        [
            {
                "size": size,
                "combine": combine,
                "repeats": len(rates),
                "error_percent": rates.mean(),
                "interval": estimate_mean(rates.to_numpy()).half,
                "best_percent": rates.min(),
            }
            for (size, combine), rates in frame.groupby(["size", "combine"])["percent"]
        ]
    )
