"""Tables of one run, a row for each hidden size or number of networks.

Columns …_interval are half-widths of 95 % intervals, empty from fewer than three repeats. Columns
paper_… are the paper's numbers, and …_z is ours minus the paper's in standard errors.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from elmlda import paper
from elmlda.core import FloatArray
from elmlda.core.evaluate import confidence_bins
from elmlda.errors import ElmldaError
from elmlda.reports import stats
from elmlda.reports.load import METHODS, Records
from elmlda.reports.render import read_words
from elmlda.reports.stats import NAN, Estimate, estimate_mean, holm

IMPROVEMENTS = {"improvement": "pi", "constant_improvement": "pi_constant"}
"""Improvement of LDA-ELM -> the method that it improves on."""
PERCENT = {m: f"{m}_error_percent" for m in METHODS} | {i: f"{i}_percent" for i in IMPROVEMENTS}
"""Method or improvement -> its column."""
RATE_ROUNDING, IMPROVEMENT_ROUNDING = paper.RATE_DIGIT / 12**0.5, paper.IMPROVEMENT_DIGIT / 12**0.5
"""Standard deviation of a rounding error: uniform over one step of the last printed digit."""
ROUNDING = dict.fromkeys(METHODS, RATE_ROUNDING) | dict.fromkeys(IMPROVEMENTS, IMPROVEMENT_ROUNDING)
BASELINE_NAMES = {"majority": "largest class", "logistic_regression": "logistic regression"}
PRINTED: dict[str, Mapping[Any, float]] = {
    **dict.fromkeys(["pi", "pi_constant"], paper.PI_ERROR_PERCENT),
    "lda": paper.LDA_ERROR_PERCENT,
    **dict.fromkeys(IMPROVEMENTS, paper.IMPROVEMENT_PERCENT),
}
"""Rows of the paper's Table 1, by fan-out."""
SCORES = ("log_loss", "brier", "calibration_error")
N_MISTAKES = 20
"""Largest number of misclassified images that are shown."""
MOST_CONFUSED_CLASSES = 30
"""Of more classes there is no confusion matrix."""


def in_papers_shape(details: pd.DataFrame, name: str, by_fanout: bool) -> pd.DataFrame:
    """Return a table as the paper prints it: methods and sources in rows, network sizes in columns.

    Of MNIST's fan-outs the table has those that the paper prints, unless the run has none of them.

    Parameters
    ----------
    details : a row for each network size
    name : which table of templates/words.toml, which says what the rows are
    by_fanout : whether sizes are named by their fan-out instead of their hidden units
    """
    rows = read_words()["tables"][name]["rows"]
    ours = [column for column, _ in rows.values()]
    if details.empty or details[ours].isna().all(axis=None):
        return pd.DataFrame()
    wide = details.set_index(details["fanout" if by_fanout else "n_hidden"].map("{:g}".format))
    printed = wide["fanout"].isin(paper.FANOUTS)
    wide = wide[printed] if by_fanout and printed.any() else wide
    filled = {
        (method, source): wide[column]
        for method, columns in rows.items()
        for source, column in zip(("ours", "paper"), columns, strict=True)
        if wide[[columns[0], column]].notna().any().all()
    }
    return pd.DataFrame(filled).T.rename_axis(["method", "source"]).reset_index()


def first_ridge(rates: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the first ridge."""
    return rates[rates["ridge"] == rates["ridge"].iloc[0]] if len(rates) else rates


def table1(run: Records, rates: pd.DataFrame) -> pd.DataFrame:
    """Return Table 1 for the first ridge, with the baselines of a run on other data below it."""
    table = in_papers_shape(first_ridge(rates), "table1", run.is_mnist)
    for method, percent in list_baselines(run).items():
        values = {**dict.fromkeys(table, percent), "method": method, "source": "ours"}
        table.loc[len(table)] = pd.Series(values)
    return table


def list_baselines(run: Records) -> dict[str, float]:
    """Return the error rate of each recorded baseline in per cent, by its name."""
    sums = run.baselines.groupby("method", sort=False)[["errors", "n_test"]].sum()
    return {BASELINE_NAMES.get(str(m), str(m)): 100 * e / n for m, e, n in sums.itertuples()}


def rate_table(run: Records) -> pd.DataFrame:
    """Tabulate error rates in per cent for each ridge and hidden size.

    Columns
    -------
    improvement_percent : 100·(PI - LDA)/PI of the mean rates, as in the paper
    constant_improvement_percent : the same relative to PI-ELM with a constant unit
    difference, p : mean of PI - LDA in percentage points, with its interval and t-test over networks,
        corrected for overlapping folds
    """
    ridges, table = run.sweep.groupby("ridge_label", sort=False), []
    for rows in (rows for _, same_ridge in ridges for _, rows in same_ridge.groupby("n_hidden")):
        ridge, fanout, n_hidden = rows[["ridge_label", "fanout", "n_hidden"]].iloc[0]
        estimates = estimate_rates(rows, run.overlap)
        row = {"ridge": ridge, "mean_ridge": rows["ridge"].mean(), "fanout": fanout}
        row |= {"n_hidden": n_hidden, "repeats": len(rows)}
        for name, estimate in estimates.items():
            row |= {PERCENT[name]: estimate.value, f"{name}_interval": estimate.half()}
            row |= {f"{name}_sd": math.sqrt(estimate.spread)} if name in METHODS else {}
        gaps = 100 * (rows["pi_errors"] - rows["lda_errors"]) / rows["n_test"]
        mean = estimate_mean(gaps, run.overlap)
        # Without the rounding error that differences leave when they cancel out.
        row["difference"] = round(mean.value, 12) + 0.0
        row |= {"difference_interval": mean.half(), "p": mean.p()}
        has_paper = run.matches_paper and ridge == "none"
        printed = {name: PRINTED[name].get(fanout, NAN) if has_paper else NAN for name in estimates}
        for name in ("pi", "lda", "improvement"):
            row[f"paper_{PERCENT[name]}"] = printed[name]
        for name, estimate in estimates.items():
            row[f"{name}_z"] = estimate.z(printed[name], paper.REPEATS, ROUNDING[name])
        table.append(row)
    return pd.DataFrame(table)


def estimate_rates(rows: pd.DataFrame, overlap: float = 0.0) -> dict[str, Estimate]:
    """Estimate each method's mean error rate and LDA-ELM's improvements, in per cent."""
    rates = {m: (100 * rows[f"{m}_errors"] / rows["n_test"]).to_numpy(float) for m in METHODS}
    estimates = {method: estimate_mean(values, overlap) for method, values in rates.items()}
    for name, pi in IMPROVEMENTS.items():
        pairs = np.column_stack([rates[pi], rates["lda"]])
        complete = pairs[~np.isnan(pairs).any(axis=1)]
        sample = stats.jackknife(stats.improvement, complete[:, None])
        estimates[name] = sample.combine(np.ones(1), overlap)
    return estimates


def time_table(timing: pd.DataFrame, beside_paper: bool) -> pd.DataFrame:
    """Tabulate the median seconds of each method and LDA-ELM's overhead in per cent.

    Columns
    -------
    overhead_… : of processor time, from the mean logarithm of LDA's over PI's, with a 95 % interval
    elapsed_overhead_… : of elapsed time
    output_overhead_… : of processor time without the hidden outputs, which both methods share
    both_… : PI-ELM and LDA-ELM from one pass
    """
    printed = (paper.PI_SECONDS, paper.LDA_SECONDS)
    timing = timing.assign(output_seconds=timing["cpu_seconds"] - timing["hidden_seconds"])
    table = []
    for n_hidden, rows in timing.groupby("n_hidden"):
        fanout = rows["fanout"].iloc[0]
        row = {"fanout": fanout, "n_hidden": n_hidden, "pairs": rows["pair"].nunique()}
        medians = rows.groupby("method")[["cpu_seconds", "seconds"]].median()
        for clock, column in (("cpu", "cpu_seconds"), ("elapsed", "seconds")):
            for method in ("pi", "lda", "both"):
                row[f"{method}_{clock}_seconds"] = medians[column].get(method, NAN)
        clocks = {"": "cpu_seconds", "elapsed_": "seconds", "output_": "output_seconds"}
        for prefix, clock in clocks.items():
            mean = estimate_mean(log_ratios(rows, clock))
            low, high = mean.interval()
            for end, value in (("percent", mean.value), ("low", low), ("high", high)):
                row[f"{prefix}overhead_{end}"] = 100 * np.expm1(value)
        pi, lda = (seconds.get(fanout, NAN) if beside_paper else NAN for seconds in printed)
        row |= {"paper_pi_seconds": pi, "paper_lda_seconds": lda}
        table.append(row | {"paper_overhead_percent": 100 * (lda / pi - 1)})
    return pd.DataFrame(table)


def log_ratios(rows: pd.DataFrame, clock: str = "cpu_seconds") -> FloatArray:
    """Return log(LDA's time / PI's time) of each complete pair of one hidden size."""
    logs = np.log(rows[clock].where(rows[clock] > 0)).groupby([rows["pair"], rows["method"]]).mean()
    wide = pd.DataFrame(logs.unstack()).reindex(columns=["pi", "lda"])
    return np.asarray((wide["lda"] - wide["pi"]).dropna())


def ensemble_table(run: Records) -> pd.DataFrame:
    """Tabulate the error rates of combined networks in per cent, by their number.

    Columns
    -------
    error_percent : mean over random subsets of the networks (draws.csv), with the jackknife's interval
    ensembles, ensembles_percent : number of separate ensembles (ensemble.csv), and their mean
    """
    subsets: dict[Any, Estimate] = {}
    if len(run.draws):
        sample = sample_draws(run)
        subsets = {n: sample.combine(unit) for n, unit in enumerate(np.eye(len(sample.values)), 1)}
    printed = paper.ENSEMBLE_ERROR_PERCENT if is_papers_ensemble(run) else {}
    table = []
    for size in sorted({*run.draws["size"], *run.ensemble["size"]}):
        rows = run.ensemble[run.ensemble["size"] == size]
        mean, plain = (
            subsets.get(size, Estimate()),
            estimate_mean(100 * rows["errors"] / rows["n_test"]),
        )
        row = {"size": size, "error_percent": mean.value, "error_interval": mean.half()}
        row |= {"ensembles": plain.n or NAN, "ensembles_percent": plain.value}
        row |= {"ensembles_interval": plain.half(), "paper_error_percent": printed.get(size, NAN)}
        table.append(row)
    return pd.DataFrame(table)


def is_papers_ensemble(run: Records) -> bool:
    """Return whether the combined networks have the paper's settings and hidden size."""
    n_hidden = run.manifest["experiments"].get("ensemble", {}).get("n_hidden")
    return run.matches_paper and n_hidden in (None, paper.LARGEST_FANOUT * paper.N_INPUTS)


def sample_draws(run: Records) -> stats.Sample:
    """Estimate mean error rates over random subsets in per cent, by number of networks."""
    n_test = pd.concat([run.sweep["n_test"], run.ensemble["n_test"]])
    if n_test.empty:
        fact = f"{run.folder}/draws.csv: no row of sweep.csv or ensemble.csv says how many test samples"
        raise ElmldaError(f"{fact}. Restore one of them, or remove draws.csv.")
    return stats.sample_draws(run.draws.assign(errors=100 * run.draws["errors"] / n_test.iloc[0]))


def posterior_table(run: Records) -> pd.DataFrame:
    """Tabulate log-loss, Brier score and calibration error of LDA-ELM's posteriors, where computed.

    Columns
    -------
    networks, repeats : networks in an ensemble, number of ensembles
    temperature : factor of the scores before the softmax
    tempered_… : measures of the tempered posteriors
    """
    fanouts = run.primary.drop_duplicates("n_hidden").set_index("n_hidden")["fanout"]
    options = run.manifest["experiments"].get("ensemble", {})
    ensemble_size = options.get("n_hidden") or run.sweep["n_hidden"].max()
    combined = run.ensemble[run.ensemble["size"] > 1]
    groups: list[tuple[Any, Any, pd.DataFrame]] = [
        *((n_hidden, 1, rows) for n_hidden, rows in run.primary.groupby("n_hidden")),
        *((ensemble_size, size, rows) for size, rows in combined.groupby("size")),
    ]
    table = []
    for n_hidden, size, rows in groups:
        row = {"fanout": fanouts.get(n_hidden, NAN), "n_hidden": n_hidden, "networks": size}
        row["repeats"] = rows["log_loss"].count()
        for name in (*SCORES, "temperature", *(f"tempered_{score}" for score in SCORES)):
            mean = estimate_mean(rows.reindex(columns=[name])[name], run.overlap)
            row |= {name: mean.value, f"{name}_interval": mean.half()}
        table += [row] if row["repeats"] else []
    return pd.DataFrame(table)


def reliability(run: Records) -> pd.DataFrame:
    """Tabulate accuracy by bin of confidence over all kept networks, without and with temperature."""
    tables = {}
    for name, kind in (("LDA-ELM", "posteriors"), ("with temperature", "tempered")):
        networks = [
            pd.DataFrame({"confidence": p.max(axis=1), "accuracy": p.argmax(axis=1) == labels})
            for labels, p in run.read_posteriors(kind)
        ]
        if networks:
            samples = pd.concat(networks).astype(float)
            bins = samples.groupby(confidence_bins(samples["confidence"].to_numpy()))
            tables[name] = bins.mean().assign(samples=bins.size())
    return pd.concat(tables, names=["posteriors", "bin"]).reset_index() if tables else pd.DataFrame()


def count_mistakes(run: Records) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Count the wrong answers of all kept networks.

    Returns
    -------
    confusion : mean number of errors of one network, true × predicted class
    mistakes : the test images that most networks misclassify, with the true class, the most frequent
        wrong answer and the share of networks that are wrong; none if the images are not known
    """
    networks = [(labels, p.argmax(axis=1)) for labels, p in run.read_posteriors("posteriors")]
    if not networks:
        return pd.DataFrame(), pd.DataFrame()
    n = len(run.classes)
    n_groups = run.sweep["fold"].nunique() or 1  # a network of all folds tests every sample once
    pairs = sum(np.bincount(n * true + guess, minlength=n * n) for true, guess in networks)
    errors = np.asarray(pairs, float).reshape(n, n) / len(networks) * n_groups
    np.fill_diagonal(errors, NAN)
    confusion = pd.DataFrame(errors, run.classes, run.classes).head(n * (n <= MOST_CONFUSED_CLASSES))
    labels = networks[0][0]
    images = run.read_images(labels)
    if images is None:
        return confusion, pd.DataFrame()
    guesses = np.stack([guess for _, guess in networks])
    wrong = (guesses != labels).mean(axis=0)
    rows = []
    most = np.argsort(-wrong, kind="stable")[:N_MISTAKES]
    for i in most[wrong[most] > 0.5]:
        guess = np.bincount(guesses[guesses[:, i] != labels[i], i], minlength=n).argmax()
        names = {"true": run.classes[labels[i]], "predicted": run.classes[guess]}
        rows += [{"image": images[i], **names, "share": wrong[i]}]
    return confusion, pd.DataFrame(rows)


def tabulate_datasets(runs: Mapping[str, Records]) -> pd.DataFrame:
    """Tabulate both methods' error rates for each dataset, ridge and hidden size.

    Columns
    -------
    tested_on : "folds" of cross-validation, or the dataset's own "test part"
    p : t-test of PI - LDA, over folds (corrected for their overlap) or over networks
    p_holm : Holm's correction, within each kind of `tested_on`
    """
    rates = {(n, "folds" if r.overlap else "test part"): rate_table(r) for n, r in runs.items()}
    table = pd.concat(rates, names=["dataset", "tested_on"]).dropna(axis=1, how="all")
    table = table.reset_index(["dataset", "tested_on"]).reset_index(drop=True)
    return table.assign(p_holm=table.groupby("tested_on")["p"].transform(holm))
