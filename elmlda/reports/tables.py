"""The numbers of a run as DataFrames, a row for each hidden size or number of networks.

Columns …_interval are half the width of a 95 % interval, empty from fewer than three repeats; paper_…
are the paper's, and …_z ours minus the paper's in standard errors, empty where the paper has none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from elmlda import paper
from elmlda.core.arrays import FloatArray
from elmlda.reports import stats
from elmlda.reports.load import METHODS, Kept, Run, split
from elmlda.reports.stats import FEWEST_REPEATS, NAN, Estimate, estimate_mean

RATE_ROUNDING, IMPROVEMENT_ROUNDING = (
    digit / 12**0.5 for digit in (paper.RATE_DIGIT, paper.IMPROVEMENT_DIGIT)
)
"""Standard deviation of what rounding takes away: evenly spread over one step of the last digit."""
PRINTED: dict[str, Mapping[Any, float]] = {
    **dict.fromkeys(["pi", "pi_constant"], paper.PI_ERROR_PERCENT),
    "lda": paper.LDA_ERROR_PERCENT,
    **dict.fromkeys(["improvement", "constant_improvement"], paper.IMPROVEMENT_PERCENT),
}
"""Table 1's rows, by fan-out."""
SCORES = ("log_loss", "brier", "calibration_error")
N_BINS = 15


def table1(run: Run) -> pd.DataFrame:
    """Table 1: error rates in per cent for each ridge and hidden size.

    Columns
    -------
    improvement_percent : 100·(PI - LDA)/PI of the means, as the paper computes it;
        constant_improvement_percent the same over PI-ELM with a constant unit
    difference : PI - LDA in percentage points, mean over networks, with an interval over networks
        (corrected for overlapping folds), over test images, and over both
    p : of the t-test of those differences, corrected for overlapping folds
    wilcoxon_p : exact p of Wilcoxon's signed-rank test of those differences; not for folds
    """
    groups = [rows for _, one in split(run.sweep, "ridge_label") for _, rows in split(one, "n_hidden")]
    return pd.DataFrame([_rate_row(run, rows) for rows in groups])


def _rate_row(run: Run, rows: pd.DataFrame) -> dict[str, Any]:
    ridge, fanout, n_hidden = rows[["ridge_label", "fanout", "n_hidden"]].iloc[0]
    is_papers = run.matches_paper and ridge == "none"
    rates = {m: (100 * rows[f"{m}_errors"] / rows["n_test"]).to_numpy(float) for m in METHODS}
    means = {m: estimate_mean(drop_missing(values), run.overlap) for m, values in rates.items()}
    found = {m: (mean, RATE_ROUNDING) for m, mean in means.items()}
    for name, pi in (("improvement", "pi"), ("constant_improvement", "pi_constant")):
        both = drop_missing(np.column_stack([rates[pi], rates["lda"]]))
        gain = stats.jackknife(stats.improvement, both[:, None]).combine(np.ones(1), run.overlap)
        found[name] = gain, IMPROVEMENT_ROUNDING
    row = {"ridge": ridge, "mean_ridge": rows["ridge"].mean(), "fanout": fanout}
    row |= {"n_hidden": n_hidden, "repeats": len(rows)}
    for name, (mean, _) in found.items():
        row |= {_percent_column(name): mean.value, f"{name}_interval": mean.half()}
        row |= {f"{name}_sd": pd.Series(rates[name]).std()} if name in rates else {}
    row |= _difference_columns(run, rows, n_hidden)
    printed = {name: PRINTED[name].get(fanout, NAN) if is_papers else NAN for name in found}
    row |= {f"paper_{_percent_column(name)}": printed[name] for name in ("pi", "lda", "improvement")}
    return row | {
        f"{name}_z": mean.z(printed[name], paper.REPEATS, rounding)
        for name, (mean, rounding) in found.items()
    }


def _percent_column(name: str) -> str:
    return f"{name}_error_percent" if name in METHODS else f"{name}_percent"


def drop_missing(values: FloatArray) -> FloatArray:
    """Repeats that lack nothing."""
    return values[~np.isnan(values.reshape(len(values), -1)).any(axis=1)]


def _difference_columns(run: Run, rows: pd.DataFrame, n_hidden: int) -> dict[str, float]:
    known = rows.dropna(subset=["lda_errors"])
    counts = (known["pi_errors"] - known["lda_errors"]).to_numpy(float)
    points = 100 * counts / known["n_test"].to_numpy(float)
    mean = estimate_mean(points, run.overlap)
    is_primary = rows["ridge_label"].iloc[0] == run.primary["ridge_label"].iloc[0]
    images, both = _image_halves(run.kept, n_hidden, mean.n) if run.kept and is_primary else (NAN, NAN)
    is_exact = not run.overlap and mean.n >= FEWEST_REPEATS
    return {
        "difference": mean.value,
        "difference_interval": mean.half(),
        "difference_images_interval": images,
        "difference_both_interval": both,
        "p": stats.t_test(points, run.overlap),
        "wilcoxon_p": stats.wilcoxon(counts) if is_exact else NAN,
    }


def _image_halves(kept: Kept, n_hidden: int, n_networks: int) -> tuple[float, float]:
    """Half-widths over images, and over networks and images, of PI - LDA in percentage points.

    Only if every network has kept its answers: an interval of some would not be this number's.
    """
    pi, lda = (np.array(kept.wrong(method, n_hidden), np.int8) for method in ("pi", "lda"))
    if len(pi) < max(n_networks, FEWEST_REPEATS):
        return NAN, NAN
    images, both = stats.image_errors(pi - lda)
    n_images, fewest = pi.shape[1], min(pi.shape)
    return 100 * Estimate(se=images, n=n_images).half(), 100 * Estimate(se=both, n=fewest).half()


def table2(timing: pd.DataFrame, beside_paper: bool) -> pd.DataFrame:
    """Table 2: each method's median seconds, and LDA-ELM's extra time in per cent.

    Columns
    -------
    overhead_percent : from the mean of the logarithms of LDA's processor time over PI's, with the
        ends of its 95 % interval; elapsed_… the same by the clock
    both_… : PI-ELM and LDA-ELM from one pass
    """
    return pd.DataFrame([_time_row(rows, beside_paper) for _, rows in split(timing, "n_hidden")])


def _time_row(rows: pd.DataFrame, beside_paper: bool) -> dict[str, Any]:
    fanout, n_hidden = rows[["fanout", "n_hidden"]].iloc[0]
    row: dict[str, Any] = {"fanout": fanout, "n_hidden": n_hidden, "pairs": rows["pair"].nunique()}
    for prefix, clock in (("", "cpu_seconds"), ("elapsed_", "seconds")):
        medians = rows.groupby("method")[clock].median()
        name = "elapsed_seconds" if prefix else clock
        row |= {f"{method}_{name}": medians.get(method, NAN) for method in ("pi", "lda", "both")}
        mean = estimate_mean(log_ratios(rows, clock))
        for end, value in zip(("percent", "low", "high"), (mean.value, *mean.interval()), strict=True):
            row[f"{prefix}overhead_{end}"] = 100 * np.expm1(value)
    printed = (paper.PI_SECONDS, paper.LDA_SECONDS)
    pi, lda = (seconds.get(fanout, NAN) if beside_paper else NAN for seconds in printed)
    row |= {"paper_pi_seconds": pi, "paper_lda_seconds": lda}
    return row | {"paper_overhead_percent": 100 * (lda / pi - 1)}


def log_ratios(rows: pd.DataFrame, clock: str = "cpu_seconds") -> FloatArray:
    """Logarithm of LDA's time over PI's, for each pair of one hidden size that has both."""
    logs = np.log(rows[clock].where(rows[clock] > 0)).groupby([rows["pair"], rows["method"]]).mean()
    wide = pd.DataFrame(logs.unstack()).reindex(columns=["pi", "lda"])
    return np.asarray((wide["lda"] - wide["pi"]).dropna())


def ensemble_table(run: Run) -> pd.DataFrame:
    """Fig. 2: error rates of combined networks in per cent, by their number.

    Columns
    -------
    error_percent : over random subsets of the networks (draws.csv), with the jackknife's interval
    ensembles, ensembles_percent : separate ensembles (ensemble.csv, combined by the mean)
    """
    draws = stats.sample_draws(run.draws.assign(errors=draw_percents(run))) if len(run.draws) else None
    sizes = sorted({*run.draws["size"], *run.ensemble["size"]})
    printed = paper.ENSEMBLE_ERROR_PERCENT if is_papers_ensemble(run) else {}
    rows = []
    for size in sizes:
        is_size = np.arange(1, 1 + len(draws.values) if draws else 1) == size
        mean = draws.combine(is_size.astype(float)) if draws and is_size.any() else Estimate()
        found = run.ensemble[(run.ensemble["combine"] == "mean") & (run.ensemble["size"] == size)]
        whole = estimate_mean((100 * found["errors"] / found["n_test"]).to_numpy(float))
        row = {"size": size, "error_percent": mean.value, "error_interval": mean.half()}
        row |= {"ensembles": whole.n or NAN, "ensembles_percent": whole.value}
        row |= {"ensembles_interval": whole.half(), "paper_error_percent": printed.get(size, NAN)}
        rows.append(row)
    return pd.DataFrame(rows)


def is_papers_ensemble(run: Run) -> bool:
    """Whether the combined networks have the paper's settings and hidden units."""
    n_hidden = run.manifest["experiments"].get("ensemble", {}).get("n_hidden")
    return run.matches_paper and n_hidden in (None, paper.LARGEST_FANOUT * paper.N_INPUTS)


def draw_percents(run: Run) -> pd.Series[float]:
    """Mean errors over random subsets in per cent of the run's test samples."""
    counts = [*run.sweep["n_test"].head(1), *run.ensemble["n_test"].head(1)]
    n_test = counts[0] if counts else len(run.kept.labels) if run.kept else NAN
    return 100 * run.draws["errors"] / n_test


def posterior_table(run: Run) -> pd.DataFrame:
    """Log-loss, Brier score and calibration error of LDA-ELM's posteriors, where they were computed.

    Columns
    -------
    networks : how many are combined; repeats : how many such ensembles
    tempered_… : with the scores multiplied by the temperature before the softmax
    """
    n_hidden = run.manifest["experiments"].get("ensemble", {}).get("n_hidden")
    largest = n_hidden or run.sweep["n_hidden"].max()
    groups = [(n, 1, rows) for n, rows in split(run.primary, "n_hidden")]
    combined = run.ensemble[(run.ensemble["combine"] == "mean") & (run.ensemble["size"] > 1)]
    groups += [(largest, size, rows) for size, rows in split(combined, "size")]
    known = [group for group in groups if group[2]["log_loss"].notna().any()]
    return pd.DataFrame([{"n_hidden": n, "networks": k, **_score_columns(r)} for n, k, r in known])


def _score_columns(rows: pd.DataFrame) -> dict[str, float]:
    found: dict[str, float] = {"repeats": int(rows["log_loss"].count())}
    for name in (*SCORES, "temperature", *(f"tempered_{score}" for score in SCORES)):
        mean = estimate_mean(rows[name].dropna().to_numpy(float) if name in rows else np.empty(0))
        found |= {name: mean.value, f"{name}_interval": mean.half()}
    return found


def reliability(kept: Kept) -> pd.DataFrame:
    """Accuracy by confidence, 15 bins, all kept networks together, as they are and tempered."""
    found = {"by Eq. (14)": kept.collect("posteriors"), "tempered": kept.collect("tempered")}
    kinds = [(kind, arrays) for kind, arrays in found.items() if arrays]
    return pd.DataFrame([row for kind, arrays in kinds for row in _bin(kind, kept, arrays)])


def _bin(kind: str, kept: Kept, arrays: list[NDArray[Any]]) -> Iterator[dict[str, Any]]:
    confidence = np.concatenate([a.max(axis=1) for a in arrays]).astype(float)
    is_right = np.concatenate([a.argmax(axis=1) == kept.labels for a in arrays])
    place = np.minimum((confidence * N_BINS).astype(int), N_BINS - 1)
    for index in np.unique(place):
        inside = place == index
        means = {"confidence": confidence[inside].mean(), "accuracy": is_right[inside].mean()}
        yield {"posteriors": kind, "bin": index, "samples": inside.sum(), **means}


def confusion(kept: Kept) -> pd.DataFrame:
    """How often LDA-ELM takes a class (row) for a class (column): means over kept networks."""
    arrays, n = kept.collect("posteriors"), len(kept.classes)
    counts = np.zeros((n, n))
    for posteriors in arrays:
        np.add.at(counts, (kept.labels, posteriors.argmax(axis=1)), 1 / len(arrays))
    return pd.DataFrame(counts, pd.Index(kept.classes, name="class"), list(kept.classes))
