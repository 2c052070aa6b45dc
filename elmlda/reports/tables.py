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
from elmlda.core import FloatArray, IntArray
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
ROUNDING = 1e-12
"""Percentage points below this are rounding errors of a mean."""


def table1(run: Run) -> pd.DataFrame:
    """Table 1: error rates in per cent for each ridge and hidden size.

    Columns
    -------
    improvement_percent : 100·(PI - LDA)/PI of the means, as the paper computes it;
        constant_improvement_percent the same over PI-ELM with a constant unit
    difference : PI - LDA in percentage points, mean over networks, with an interval over networks
        (corrected for overlapping folds), over test images, and over both
    p : of the t-test of those differences, corrected for overlapping folds; p_both over networks
        and images; constant_… the same for PI-ELM with a constant unit
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
    is_primary = rows["ridge_label"].iloc[0] == run.primary["ridge_label"].iloc[0]
    kept, row = run.kept if is_primary else None, dict[str, float]()
    for prefix, method in (("", "pi"), ("constant_", "pi_constant")):
        counts = (known[f"{method}_errors"] - known["lda_errors"]).to_numpy(float)
        mean = estimate_mean(100 * counts / known["n_test"].to_numpy(float), run.overlap)
        parts = [kept.wrong(method, n_hidden) - kept.wrong("lda", n_hidden)] if kept else []
        images, both = estimate_over_images(mean, *parts)
        # Differences that cancel out leave a rounding error, which is no difference.
        row |= {
            f"{prefix}difference": 0.0 if abs(mean.value) < ROUNDING else mean.value,
            f"{prefix}difference_interval": mean.half(),
            f"{prefix}difference_images_interval": images.half(),
            f"{prefix}difference_both_interval": both.half(),
            f"{prefix}p": mean.p(),
            f"{prefix}p_both": both.p(),
        }
        if not prefix:
            is_exact = not run.overlap and mean.n >= FEWEST_REPEATS
            row["wilcoxon_p"] = stats.wilcoxon(counts) if is_exact else NAN
    return row


def estimate_over_images(mean: Estimate, *parts: pd.DataFrame) -> tuple[Estimate, Estimate]:
    """A mean in percentage points with its error over images, and over networks and images.

    `parts` are as for `image_errors`. Only if all networks have kept their answers: an error of some
    would not be this number's.
    """
    if min(map(len, parts), default=0) < max(mean.n, FEWEST_REPEATS):
        return Estimate(), Estimate()
    images, both = (100 * error for error in stats.image_errors(*(part.to_numpy() for part in parts)))
    n, m = min(map(len, parts)), parts[0].shape[1]
    return Estimate(mean.value, images, m), Estimate(mean.value, both, min(n, m))


def table2(timing: pd.DataFrame, beside_paper: bool) -> pd.DataFrame:
    """Table 2: each method's median seconds, and LDA-ELM's extra time in per cent.

    Columns
    -------
    overhead_percent : from the mean of the logarithms of LDA's processor time over PI's, with the
        ends of its 95 % interval; elapsed_… the same by the clock; output_… the same of processor time
        without the hidden outputs, which both methods share
    both_… : PI-ELM and LDA-ELM from one pass
    """
    return pd.DataFrame([_time_row(rows, beside_paper) for _, rows in split(timing, "n_hidden")])


def _time_row(rows: pd.DataFrame, beside_paper: bool) -> dict[str, Any]:
    fanout, n_hidden = rows[["fanout", "n_hidden"]].iloc[0]
    row: dict[str, Any] = {"fanout": fanout, "n_hidden": n_hidden, "pairs": rows["pair"].nunique()}
    rows = rows.assign(output_seconds=rows["cpu_seconds"] - rows["hidden_seconds"])
    for name, clock in (("cpu", "cpu_seconds"), ("elapsed", "seconds")):
        medians = rows.groupby("method")[clock].median()
        methods = ("pi", "lda", "both")
        row |= {f"{method}_{name}_seconds": medians.get(method, NAN) for method in methods}
    for prefix, clock in (("", "cpu_seconds"), ("elapsed_", "seconds"), ("output_", "output_seconds")):
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
    ensembles, ensembles_percent : separate ensembles (ensemble.csv)
    tempered_percent : the same ensembles, combined from tempered posteriors; tempered_difference,
        their error rate minus that of the posteriors by Eq. (14), in points, with its p
    """
    draws = sample_draws(run) if len(run.draws) else None
    sizes = sorted({*run.draws["size"], *run.ensemble["size"]})
    printed = paper.ENSEMBLE_ERROR_PERCENT if is_papers_ensemble(run) else {}
    rows = []
    for size in sizes:
        is_size = np.arange(1, 1 + len(draws.values) if draws else 1) == size
        mean = draws.combine(is_size.astype(float)) if draws and is_size.any() else Estimate()
        found = run.ensemble[run.ensemble["size"] == size]
        rates = 100 * found[["errors", "tempered_errors"]].div(found["n_test"], axis=0)
        whole = estimate_mean(rates["errors"].to_numpy(float))
        tempered = estimate_mean(rates["tempered_errors"].dropna().to_numpy(float))
        change = estimate_mean((rates["tempered_errors"] - rates["errors"]).dropna().to_numpy(float))
        row = {"size": size, "error_percent": mean.value, "error_interval": mean.half()}
        row |= {"ensembles": whole.n or NAN, "ensembles_percent": whole.value}
        row |= {"ensembles_interval": whole.half(), "paper_error_percent": printed.get(size, NAN)}
        row |= {"tempered_percent": tempered.value, "tempered_interval": tempered.half()}
        row |= {"tempered_difference": change.value, "tempered_difference_interval": change.half()}
        rows.append(row | {"tempered_p": change.p()})
    return pd.DataFrame(rows)


def is_papers_ensemble(run: Run) -> bool:
    """Whether the combined networks have the paper's settings and hidden units."""
    n_hidden = run.manifest["experiments"].get("ensemble", {}).get("n_hidden")
    return run.matches_paper and n_hidden in (None, paper.LARGEST_FANOUT * paper.N_INPUTS)


def sample_draws(run: Run) -> stats.Sample:
    """Mean errors over random subsets in per cent of the run's test samples, by number of networks."""
    counts = [*run.sweep["n_test"].head(1), *run.ensemble["n_test"].head(1)]
    n_test = counts[0] if counts else len(run.kept.labels) if run.kept else NAN
    return stats.sample_draws(run.draws.assign(errors=100 * run.draws["errors"] / n_test))


def posterior_table(run: Run) -> pd.DataFrame:
    """Log-loss, Brier score and calibration error of LDA-ELM's posteriors, where they were computed.

    Columns
    -------
    networks : how many are combined; repeats : how many such ensembles
    temperature : what scores are multiplied by before the softmax; tempered_… : the scores with it
    """
    n_hidden = run.manifest["experiments"].get("ensemble", {}).get("n_hidden")
    sizes = run.primary.drop_duplicates("n_hidden").set_index("n_hidden")["fanout"]
    largest = n_hidden or run.sweep["n_hidden"].max()
    groups = [(n, 1, rows) for n, rows in split(run.primary, "n_hidden")]
    combined = run.ensemble[run.ensemble["size"] > 1]
    groups += [(largest, size, rows) for size, rows in split(combined, "size")]
    return pd.DataFrame(
        [
            {"fanout": sizes.get(n, NAN), "n_hidden": n, "networks": k, **_score_columns(run, rows)}
            for n, k, rows in groups
            if rows["log_loss"].notna().any()
        ]
    )


def _score_columns(run: Run, rows: pd.DataFrame) -> dict[str, float]:
    found: dict[str, float] = {"repeats": int(rows["log_loss"].count())}
    for name in (*SCORES, "temperature", *(f"tempered_{score}" for score in SCORES)):
        values = rows[name].dropna().to_numpy(float) if name in rows else np.empty(0)
        mean = estimate_mean(values, run.overlap)  # 0 where ensembles are: they have no folds
        found |= {name: mean.value, f"{name}_interval": mean.half()}
    return found


def reliability(kept: Kept) -> pd.DataFrame:
    """Accuracy by confidence, 15 bins, all kept networks together, as they are and tempered."""
    found = {"by Eq. (14)": kept.collect("posteriors"), "tempered": kept.collect("tempered")}
    return pd.DataFrame([row for kind, pairs in found.items() if pairs for row in _bin(kind, pairs)])


def _bin(kind: str, found: list[tuple[IntArray, NDArray[Any]]]) -> Iterator[dict[str, Any]]:
    confidence = np.concatenate([posteriors.max(axis=1) for _, posteriors in found]).astype(float)
    is_right = np.concatenate([posteriors.argmax(axis=1) == labels for labels, posteriors in found])
    place = np.minimum((confidence * N_BINS).astype(int), N_BINS - 1)
    for index in np.unique(place):
        inside = place == index
        means = {"confidence": confidence[inside].mean(), "accuracy": is_right[inside].mean()}
        yield {"posteriors": kind, "bin": index, "samples": inside.sum(), **means}


def confusion(kept: Kept) -> pd.DataFrame:
    """How often LDA-ELM takes a class (row) for a class (column).

    Means over kept networks; where each has a fold of its own, their sum, which has every sample once.
    """
    found, n = kept.collect("posteriors"), len(kept.classes)
    is_folds = any(labels is not kept.labels for labels, _ in found)
    counts = np.zeros((n, n))
    for labels, posteriors in found:
        np.add.at(counts, (labels, posteriors.argmax(axis=1)), 1 if is_folds else 1 / len(found))
    return pd.DataFrame(counts, pd.Index(kept.classes, name="class"), list(kept.classes))
