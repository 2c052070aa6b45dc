"""Tables beside the paper's, from records."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from elmlda import paper
from elmlda.experiments.ensemble import EnsembleRecord
from elmlda.experiments.sweep import SweepRecord
from elmlda.experiments.timing import METHODS, TimingRecord


def tabulate_sweep(records: Sequence[SweepRecord]) -> pd.DataFrame:
    """Table 1: a row for each hidden size, error rates in per cent, the paper's beside ours.

    The paper's columns are empty at sizes that it does not have. `…_interval` is half the width of
    the 95 % interval of the mean (Student's t over repeats), empty for a single repeat.
    """
    frame = pd.DataFrame([vars(record) for record in records])
    return pd.DataFrame([_row(rows) for _, rows in frame.groupby("n_hidden")])


def _row(rows: pd.DataFrame) -> dict[str, float]:
    fanout = rows["fanout"].iloc[0]
    pi, lda = (100 * rows[f"{method}_errors"] / rows["n_test"] for method in ("pi", "lda"))
    return {
        "fanout": fanout,
        "n_hidden": rows["n_hidden"].iloc[0],
        "repeats": len(rows),
        "pi_error_percent": pi.mean(),
        "pi_interval": half_interval(pi.to_numpy()),
        "lda_error_percent": lda.mean(),
        "lda_interval": half_interval(lda.to_numpy()),
        "improvement_percent": 100 * (pi.mean() - lda.mean()) / pi.mean() if pi.any() else np.nan,
        "paper_pi_error_percent": paper.PI_ERROR_PERCENT.get(fanout, np.nan),
        "paper_lda_error_percent": paper.LDA_ERROR_PERCENT.get(fanout, np.nan),
        "paper_improvement_percent": paper.IMPROVEMENT_PERCENT.get(fanout, np.nan),
    }


def tabulate_ensemble(records: Sequence[EnsembleRecord]) -> pd.DataFrame:
    """Fig. 2: a row for each ensemble size and scheme, error rates in per cent."""
    frame = pd.DataFrame([vars(record) for record in records])
    frame["percent"] = 100 * frame["errors"] / frame["n_test"]
    rows = [
        {
            "size": size,
            "combine": combine,
            "repeats": len(rates),
            "error_percent": rates.mean(),
            "interval": half_interval(rates.to_numpy()),
        }
        for (size, combine), rates in frame.groupby(["size", "combine"])["percent"]
    ]
    return pd.DataFrame(rows)


def tabulate_timing(records: Sequence[TimingRecord]) -> pd.DataFrame:
    """Table 2: a row for each hidden size, medians of elapsed seconds, the paper's beside ours.

    Repeats that lack a method (the run was stopped there) do not count. The overhead is the median
    of each repeat's own ratio, so that a machine that is slower for one repeat does not matter.
    `lda_part_percent` is the same extra cost from within LDA-ELM's own runs: the part that PI-ELM
    lacks, in per cent of the rest, which a noisy machine can't move. The paper's columns are empty
    at sizes that it does not have.
    """
    frame = pd.DataFrame([vars(record) for record in records])
    index = ["repeat", "fanout", "n_hidden"]
    seconds = frame.pivot(index=index, columns="method", values="seconds")
    lda = frame[frame["method"] == "lda"].set_index(index)
    seconds["lda_part_percent"] = 100 * lda["lda"] / (lda["seconds"] - lda["lda"])
    complete = seconds.reindex(columns=[*METHODS, "lda_part_percent"]).dropna().reset_index()
    return pd.DataFrame([_timing_row(rows) for _, rows in complete.groupby("n_hidden")])


def _timing_row(rows: pd.DataFrame) -> dict[str, float]:
    fanout = rows["fanout"].iloc[0]
    paper_pi, paper_lda = (
        seconds.get(fanout, np.nan) for seconds in (paper.PI_SECONDS, paper.LDA_SECONDS)
    )
    return {
        "fanout": fanout,
        "n_hidden": rows["n_hidden"].iloc[0],
        "repeats": len(rows),
        **{f"{method}_seconds": rows[method].median() for method in METHODS},
        "overhead_percent": (100 * (rows["lda"] / rows["pi"] - 1)).median(),
        "lda_part_percent": rows["lda_part_percent"].median(),
        "paper_pi_seconds": paper_pi,
        "paper_lda_seconds": paper_lda,
        "paper_overhead_percent": 100 * (paper_lda / paper_pi - 1),
    }


def half_interval(values: np.ndarray, level: float = 0.95) -> float:
    """Half the width of the interval of the mean, by Student's t; NaN for a single value."""
    if len(values) < 2:
        return float("nan")
    # scipy.stats has the same, but takes as long to import as a small run takes to compute.
    standard_error = np.std(values, ddof=1) / np.sqrt(len(values))
    return float(standard_error * stdtrit(len(values) - 1, (1 + level) / 2))
