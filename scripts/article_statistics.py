"""Compute the statistics of results/PROTOCOL.md that only the article needs.

These are the joint agreement with Table 1, the registered hypothesis, and intervals over test images.
The others were added after the run and are exploratory: the joint agreement of the printed improvements
and of each set-up's rates, how many rates an earlier run let expect in their regions, the printed
ratios of times, and one contrast for each data set.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from article_differences import matches_statements
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit
from scipy.stats import wishart

from elmlda import paper
from elmlda.core import FloatArray, IntArray
from elmlda.reports.claims import DIFFERENCE_ROUNDING, RATE_MARGIN, READINGS, take_both
from elmlda.reports.load import METHODS, Records, percents
from elmlda.reports.stats import (
    LEVEL,
    NAN,
    Estimate,
    estimate_mean,
    holm,
    improvement,
    sample_means,
)
from elmlda.reports.tables import PRINTED
from elmlda.runs.kept import list_kept, read_kept

N_SIMULATED = 10_000


def joint_agreement(
    rates: FloatArray,
    printed: FloatArray,
    blocks: IntArray,
    paper_repeats: int,
    digit: float,
    n_simulated: int = N_SIMULATED,
) -> tuple[float, float]:
    """Test jointly whether our mean rates differ from the printed ones by more than chance.

    T = dᵀC⁻¹d, where d is ours minus printed and C = S/n + B/paper_repeats + I·digit²/12. S is the
    covariance of our rates, and B its diagonal blocks. p is the share of simulated pairs of runs that
    have at least this T. Both runs of a pair have the same true rates; the paper's are rounded. S is
    estimated anew for each.

    Parameters
    ----------
    rates : n_networks × n_rates
    blocks : n_rates, rates with the same number have the same networks in the paper

    Returns
    -------
    T, p : NaN unless there are more networks than rates
    """
    n, k = rates.shape
    if n < k + 2:
        return NAN, NAN
    rng, same = np.random.default_rng(0), blocks[:, None] == blocks
    covariance = np.atleast_2d(np.cov(rates, rowvar=False)) + 1e-12 * np.eye(k)

    def measure(difference: FloatArray, estimated: FloatArray) -> FloatArray:
        total = estimated / n + estimated * same / paper_repeats + np.eye(k) * digit**2 / 12
        solved = np.linalg.solve(total, difference[..., None])[..., 0]
        return np.asarray((difference * solved).sum(axis=-1))

    mean = rates.mean(axis=0)
    observed = float(measure(mean - printed, covariance))
    zero = np.zeros(k)
    ours = rng.multivariate_normal(zero, covariance / n, n_simulated)
    theirs = rng.multivariate_normal(zero, covariance * same / paper_repeats, n_simulated)
    rounded = np.round((mean + theirs) / digit) * digit
    estimated = wishart(n - 1, covariance / (n - 1)).rvs(n_simulated, rng).reshape(-1, k, k)
    return observed, float((measure(mean + ours - rounded, estimated) >= observed).mean())


def judge_agreement(rates: pd.DataFrame, fanouts: Sequence[int] = paper.FANOUTS) -> pd.DataFrame:
    """Test whether the rates at these fan-outs agree jointly with the paper's, by both readings."""
    printed = np.array([[PRINTED["pi"][f], PRINTED["lda"][f]] for f in fanouts])
    blocks, share = np.repeat(np.arange(len(fanouts)), 2), np.full(len(fanouts), 1 / len(fanouts))
    paper_gap = float(share @ (printed @ [1.0, -1.0]))
    rows = []
    for reading in READINGS:
        both = take_both(rates, reading, fanouts)
        flat = both.reshape(len(both), printed.size)
        t, p = joint_agreement(flat, printed.ravel(), blocks, paper.REPEATS, paper.RATE_DIGIT)
        gap = sample_means(both[..., 0] - both[..., 1]).combine(share)
        z = gap.z(paper_gap, paper.REPEATS, DIFFERENCE_ROUNDING / math.sqrt(len(fanouts)))
        row = {"reading": reading, "networks": len(both), "rates": printed.size, "t": t, "p": p}
        gaps = {"gap": gap.value, "gap_interval": gap.half(), "paper_gap": paper_gap, "gap_z": z}
        rows.append(row | gaps)
    return pd.DataFrame(rows)


def judge_improvements(rates: pd.DataFrame, fanouts: Sequence[int] = paper.FANOUTS) -> pd.DataFrame:
    """Test whether the improvements agree jointly with the printed ones, by both readings.

    An improvement is a function of mean rates. Each network contributes its linear part, so that the
    contributions have the improvement as their mean, and its covariance is theirs. The paper has new
    networks at each fan-out.
    """
    printed = np.array([PRINTED["improvement"][f] for f in fanouts])
    blocks, rows = np.arange(len(fanouts)), []
    for reading in READINGS:
        both = take_both(rates, reading, fanouts)
        mean = both.mean(axis=0)
        pi, lda = mean.T
        slopes = 100 * np.stack([lda / pi**2, -1 / pi], axis=1)
        gains = improvement(mean) + ((both - mean) * slopes).sum(axis=-1)
        digit = paper.IMPROVEMENT_DIGIT
        # Some p are far below those of the protocol's test, so more runs are simulated.
        t, p = joint_agreement(gains, printed, blocks, paper.REPEATS, digit, 10 * N_SIMULATED)
        row = {"reading": reading, "networks": len(both), "improvements": len(printed)}
        rows.append(row | {"t": t, "p": p})
    return pd.DataFrame(rows)


SET_UP = ("scaling", "activation", "bias")
"""Columns that tell the set-ups in results/choices/map.csv apart."""


def take_whole(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the networks that all set-ups have."""
    n_set_ups = len(rows[list(SET_UP)].drop_duplicates())
    is_whole = rows.groupby("repeat").size() == n_set_ups * rows["fanout"].nunique()
    return rows[rows["repeat"].isin(is_whole[is_whole].index)]


def judge_set_ups(rows: pd.DataFrame) -> pd.DataFrame:
    """Test the joint agreement of each set-up with Table 1, and list its mean error rates."""
    tables = []
    for set_up, group in rows.assign(fold=0).groupby(list(SET_UP), sort=False):
        rates = percents(group)
        means = {f"{method}_{fanout}": rates[method, fanout].mean() for method, fanout in rates}
        judged = judge_agreement(rates, sorted(set(group["fanout"])))[["reading", "networks", "t", "p"]]
        tables.append(judged.assign(**dict(zip(SET_UP, set_up, strict=True)), **means))
    return pd.concat(tables, ignore_index=True)


def judge_ratios(times: pd.DataFrame) -> pd.DataFrame:
    """Compare the paper's extra times for LDA-ELM in per cent with our 95 % intervals.

    The printed seconds are rounded, so each printed ratio is an interval too. The verdict is "above" or
    "below" if the printed interval lies wholly above or below ours, otherwise "agrees".
    """
    seconds = {name: times[f"paper_{name}_seconds"] for name in ("pi", "lda")}
    # The paper prints tenths of seconds below 100 s, and whole seconds above.
    half = {name: np.where(values < 100, 0.1, 1.0) / 2 for name, values in seconds.items()}
    ratios = pd.DataFrame(
        {
            "fanout": times["fanout"],
            "ours": times["overhead_percent"],
            "low": times["overhead_low"],
            "high": times["overhead_high"],
            "printed": times["paper_overhead_percent"],
        }
    )
    for name, sign in (("printed_low", -1), ("printed_high", 1)):
        lda, pi = seconds["lda"] + sign * half["lda"], seconds["pi"] - sign * half["pi"]
        ratios[name] = 100 * (lda / pi - 1)
    is_above, is_below = ratios["printed_low"] > ratios["high"], ratios["printed_high"] < ratios["low"]
    return ratios.assign(verdict=np.select([is_above, is_below], ["above", "below"], "agrees"))


def contrast_sets(runs: Mapping[str, Records]) -> pd.DataFrame:
    """Test PI - LDA on each data set, once: mean over hidden sizes, the ridge by leave-one-out.

    Folds are corrected for their overlap. Networks that share a test part are compared over networks;
    where a run has kept which test samples are misclassified, over test samples too. Holm's correction
    is over the sets.

    Returns
    -------
    a row for each reading of PI-ELM and data set; differences are in points
    """
    rows = []
    for (reading, method), (name, run) in product(READINGS.items(), runs.items()):
        labels = run.sweep["ridge_label"]
        rates = percents(run.sweep[labels == labels.iloc[-1]]).dropna(axis=1)
        gap = estimate_mean((rates[method] - rates["lda"]).mean(axis=1), run.overlap)
        row = {"reading": reading, "dataset": name, "units": "folds" if run.overlap else "networks"}
        if not run.overlap and (kept := list_kept(run.folder)):
            wrong = read_wrong(run, kept)[:, [list(METHODS).index(method), list(METHODS).index("lda")]]
            by_both = 100 * image_errors((wrong[:, 0] - wrong[:, 1]).mean(axis=1))[1]
            gap = Estimate(gap.value, by_both, min(gap.n, wrong.shape[-1]))
            row["units"] = "networks and test samples"
        rows.append(row | {
            "repeats": len(rates), "sizes": rates["lda"].shape[1], "difference": gap.value,
            "difference_interval": gap.half(), "p": gap.p(),
        })  # fmt: skip
    table = pd.DataFrame(rows)
    return table.assign(p_holm=table.groupby("reading")["p"].transform(holm))


def read_wrong(run: Records, networks: Sequence[int]) -> NDArray[np.int8]:
    """Read which test samples networks misclassify: n_networks × n_methods × n_sizes × n_test."""
    wrong = read_kept(run.folder, "wrong", networks)
    n_test = int(run.sweep["n_test"].iloc[0])
    packed = np.array([wrong[network] for network in networks])
    return np.unpackbits(packed, axis=-1, count=n_test).astype(np.int8)


def predict_reproduced(
    earlier: FloatArray, printed: FloatArray, n_networks: int
) -> tuple[float, float]:
    """Predict from an earlier run how many rates a new one has wholly in their regions.

    Both runs have the same true rates; the printed rates are known.

    Parameters
    ----------
    earlier : rates of the earlier run, n_earlier × n_rates
    n_networks : of the new run

    Returns
    -------
    expected number, probability of all
    """
    n, rng = len(earlier), np.random.default_rng(0)
    mean, covariance = earlier.mean(axis=0), np.cov(earlier, rowvar=False)
    spread = covariance * (1 / n + 1 / n_networks)
    means = rng.multivariate_normal(mean, spread, N_SIMULATED)
    new = wishart(n_networks - 1, covariance / (n_networks - 1)).rvs(N_SIMULATED, rng)
    errors = np.sqrt(np.einsum("ijj->ij", new) / n_networks)
    halves = stdtrit(n_networks - 1, 0.5 + LEVEL / 2) * errors
    is_inside = np.abs(means - printed) + halves < RATE_MARGIN * printed
    return float(is_inside.sum(axis=1).mean()), float(is_inside.all(axis=1).mean())


def judge_hypothesis(agreement: pd.DataFrame) -> tuple[float, str]:
    """Judge the registered hypothesis that the paper's PI-ELM had a constant unit.

    Returns
    -------
    log likelihood ratio, verdict
    """
    eq5, constant = agreement["gap_z"]
    log_ratio = (eq5**2 - constant**2) / 2
    if log_ratio > math.log(10) and abs(constant) < ndtri(0.5 + LEVEL / 2):
        return log_ratio, "supported"
    return log_ratio, "rejected" if log_ratio < -math.log(10) else "undecided"


def tabulate_agreements(runs: Mapping[str, Records], reference: str) -> pd.DataFrame:
    """Test the joint agreement with Table 1, of each run and the reference at their common fan-outs.

    Runs with too few networks for a test are left out.
    """
    comparable = {name: run.primary for name, run in runs.items() if matches_statements(run)}
    tables = []
    for name in comparable:
        if name == reference:
            continue
        pair = {key: comparable[key] for key in (reference, name)}
        fanouts = sorted(set(paper.FANOUTS).intersection(*(rows["fanout"] for rows in pair.values())))
        words = ", ".join(map(str, fanouts))
        judged = [
            judge_agreement(percents(rows), fanouts).assign(run=key, fanouts=words)
            for key, rows in pair.items()
        ]
        tables += judged if judged[-1]["p"].notna().all() else []
    return pd.concat(tables).drop_duplicates(["run", "reading", "fanouts"])


def image_errors(differences: NDArray[Any]) -> tuple[float, float]:
    """Return the standard errors of a mean over test images alone, and over networks and images.

    The variance over both is the variance over networks, plus that over images, minus that of their
    interaction, which both contain.

    Parameters
    ----------
    differences : n_networks × n_images
    """
    n, n_images = differences.shape
    by_network, by_image = differences.mean(axis=1), differences.mean(axis=0)
    residuals = differences - by_network[:, None] - by_image + differences.mean()
    interaction = (residuals**2).sum() / ((n - 1) * (n_images - 1)) / n_images
    images = float(np.var(by_image, ddof=1)) / n_images
    both = images + (float(np.var(by_network, ddof=1)) - interaction) / n
    return math.sqrt(images), math.sqrt(max(0.0, both))


def tabulate_images(run: Records) -> pd.DataFrame:
    """Tabulate half-widths of 95 % intervals of PI - LDA in points, for each hidden size.

    Columns
    -------
    difference_images_interval : over test images
    difference_both_interval, p_both : over networks and test images
    constant_… : the same for PI-ELM with a constant unit
    """
    networks = list_kept(run.folder)
    wrong, sizes = (read_kept(run.folder, name, networks) for name in ("wrong", "sizes"))
    table = []
    for (n_hidden, fanout), rows in run.primary.groupby(["n_hidden", "fanout"]):
        answers = np.array([wrong[k][:, sizes[k] == n_hidden][:, 0] for k in rows["repeat"]])
        n_images = rows["n_test"].iloc[0]
        is_wrong = np.unpackbits(answers, axis=-1, count=n_images).astype(np.int8)
        pi, pi_constant, lda = is_wrong.swapaxes(0, 1)
        row = {"n_hidden": n_hidden, "fanout": fanout}
        for prefix, differences in (("", pi - lda), ("constant_", pi_constant - lda)):
            by_images, by_both = (100 * error for error in image_errors(differences))
            mean, n = 100 * float(differences.mean()), min(differences.shape)
            both = Estimate(mean, by_both, n)
            row[f"{prefix}difference_images_interval"] = Estimate(mean, by_images, n_images).half()
            row[f"{prefix}difference_both_interval"] = both.half()
            row[f"{prefix}p_both"] = both.p()
        table.append(row)
    return pd.DataFrame(table)
