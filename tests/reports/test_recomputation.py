"""Recompute every verdict, z and interval of claims.csv with pandas and scipy from a run's files.

No code of elmlda's reports is used: Table 1 is copied here, repeats are left out one by one, and intervals
are scipy's. The runs are both committed runs of the paper's protocol and a simulated one.
"""

import math
import shutil
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made_runs import make_run, simulate_draws, simulate_sweep, simulate_timing
from scipy import stats

from elmlda.reports import report

TABLE1 = pd.DataFrame(
    {
        "pi": [7.20, 5.21, 4.32, 3.80, 3.45, 3.20, 3.00, 2.86, 2.74, 2.63, 2.49, 2.31, 2.15],
        "lda": [6.84, 5.03, 4.17, 3.68, 3.35, 3.11, 2.92, 2.78, 2.66, 2.55, 2.42, 2.25, 2.08],
        "improvement": [4.9, 3.5, 3.3, 3.1, 2.9, 3.0, 2.6, 2.9, 2.8, 2.7, 2.6, 2.6, 3.3],
    },
    pd.Index([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20], name="fanout"),
)
CENT, TENTH = 0.01 / math.sqrt(12), 0.1 / math.sqrt(12)


class Number:
    """Values or pseudo-values of repeats, and the region where a claim puts their mean."""

    def __init__(self, values, low, high, printed, rounding, value=None, paper=None, paper_n=200,
                 less=0.0, least=0.0):  # fmt: skip
        self.values = np.asarray(values, float)
        self.low, self.high, self.printed = low, high, printed
        self.value = self.values.mean() if value is None and len(self.values) else value
        if len(self.values) > 2:
            spread = np.var(self.values, ddof=1) if paper is None else paper
            self.se = math.sqrt(max(least, np.var(self.values, ddof=1) / len(self.values) - less))
            self.error = math.sqrt(self.se**2 + spread / paper_n + rounding**2)

    def judge(self, level=0.95):
        """Return (value, low, high, z, verdict)."""
        n = len(self.values)
        if n < 3:
            return (np.nan,) * 4 + ("inconclusive" if n else "not run yet",)
        half = self.se * stats.t.ppf(0.5 + level / 2, n - 1)
        bottom, top = self.value - half, self.value + half
        nearest = min(max(self.value, self.low), self.high)
        z = (self.value - (nearest if np.isnan(self.printed) else self.printed)) / self.error
        verdict = "inconclusive"
        if bottom > self.low and top < self.high:
            verdict = "reproduced"
        elif (top <= self.low or bottom >= self.high) and abs(z) > stats.norm.ppf(0.5 + level / 2):
            verdict = "not reproduced"
        return self.value, bottom, top, np.nan if np.isnan(self.printed) else z, verdict

    def slack(self):
        value, bottom, top = self.judge()[:3]
        return min(value - self.low, self.high - value) / ((top - bottom) / 2)


def judge_all(numbers):
    """Return the number that is closest to failing, with the verdict on all."""
    alone = [number.judge()[4] for number in numbers]
    if "not run yet" in alone:
        return (np.nan,) * 4 + ("not run yet",)
    level = 1 - 0.05 / len(numbers)
    failing = [number for number in numbers if number.judge(level)[4] == "not reproduced"]
    shown = min(failing or numbers, key=Number.slack)
    verdict = "reproduced" if set(alone) == {"reproduced"} else "inconclusive"
    return (*shown.judge()[:4], "not reproduced" if failing else verdict)


def rates(sweep, column):
    """Return error rates in per cent, repeats × fan-outs."""
    percent = sweep.assign(percent=100 * sweep[column] / sweep["n_test"])
    return percent.pivot(index="repeat", columns="fanout", values="percent")


def pseudo_values(pi, lda):
    """Return the improvement in per cent and n·θ - (n - 1)·θ₍₋ᵣ₎ for each repeat r."""

    def improve(keep):
        return 100 * (pi[keep].mean() - lda[keep].mean()) / pi[keep].mean()

    n, whole = len(pi), improve(pi.index)
    return whole, np.array([n * whole - (n - 1) * improve(pi.index.drop(r)) for r in pi.index])


def recompute_reading(pi, lda):
    results = {}
    gains = {f: pseudo_values(pi[f], lda[f]) for f in TABLE1.index}
    variances = {f: np.var(values, ddof=1) for f, (_, values) in gains.items()}

    def weigh(weights, low, high, printed, rounding):
        values = sum(w * gains[f][1] for f, w in weights.items())
        value = sum(w * gains[f][0] for f, w in weights.items())
        spread = sum(w**2 * variances[f] for f, w in weights.items())
        return Number(values, low, high, printed, rounding, value=value, paper=spread)

    for fanout, printed in TABLE1.iterrows():
        rate, gain = printed["pi"], printed["improvement"]
        results["pi", fanout] = Number(pi[fanout], 0.98 * rate, 1.02 * rate, rate, CENT).judge()
        results["gain", fanout] = weigh({fanout: 1}, gain - 1, gain + 1, gain, TENTH).judge()
    equal = dict.fromkeys(TABLE1.index, 1 / 13)
    results["average-improvement"] = weigh(equal, 2.6, 3.6, 3.1, TENTH).judge()
    x = np.log2(TABLE1.index.to_numpy(float))
    slope = np.array([-np.polyfit(x, unit, 1)[0] for unit in np.eye(13)])
    cut = np.where(TABLE1.index <= 5, 1 / 5, -1 / 8)
    decline = []
    for weights in (cut, slope):
        printed = weights @ TABLE1["improvement"]
        rounding = TENTH * math.sqrt((weights**2).sum())
        decline.append(
            weigh(dict(zip(TABLE1.index, weights, strict=True)), 0, math.inf, printed, rounding)
        )
    results["larger-at-small-fanouts"] = judge_all(decline)
    gaps = (TABLE1["pi"] - TABLE1["lda"]).reindex(range(1, 21))
    results["lda-better"] = judge_all(
        [Number(pi[f] - lda[f], 0, math.inf, gaps[f], CENT * math.sqrt(2)) for f in gaps.index]
    )
    steps = [
        Number(
            ours[less] - ours[more], 0, math.inf, TABLE1[name][less] - TABLE1[name][more],
            CENT * math.sqrt(2), paper=ours[less].var() + ours[more].var(),
        )
        for name, ours in (("pi", pi), ("lda", lda))
        for less, more in pairwise(TABLE1.index)
    ]  # fmt: skip
    return results | {"error-falls": judge_all(steps)}


def read_sizes(folder):
    """Return pseudo-values, means, covariance and noise by number of networks."""
    if (folder / "draws.csv").exists():
        draws = pd.read_csv(folder / "draws.csv")
        draws["rate"] = draws["errors"] / 100
        wide = draws.pivot(index="left_out", columns="size", values="rate")
        networks, batches = wide[wide.index >= 0], wide[wide.index < -1]
        n, n_draws = len(networks), draws.query("left_out == -1")["draws"].iloc[0]
        covariance = batches.cov() * draws.query("left_out == -2")["draws"].iloc[0]
        less = covariance * (n - 1) * 20 / (n_draws * (n - 20))
        return n * wide.loc[-1] - (n - 1) * networks, wide.loc[-1], covariance, less
    ensemble = pd.read_csv(folder / "ensemble.csv")
    wide = ensemble.assign(rate=ensemble["errors"] / 100).pivot(
        index="repeat", columns="size", values="rate"
    )
    return wide, wide.mean(), wide.cov(), wide.cov() * 0


def combine(covariance, parts):
    return sum(v * w * covariance.loc[s, t] for s, v in parts.items() for t, w in parts.items())


def recompute_ensembles(folder):
    units, means, covariance, less = read_sizes(folder)
    printed = {1: 2.08, 2: 1.86, 20: 1.69}

    def number(low, high, size, minus=None):
        parts = {size: 1} | ({} if minus is None else {minus: -1})
        return Number(
            sum(w * units[s] for s, w in parts.items()), low, high,
            sum(w * printed.get(s, np.nan) for s, w in parts.items()), CENT * math.sqrt(len(parts)),
            value=sum(w * means[s] for s, w in parts.items()), paper_n=10,
            paper=sum(covariance.loc[s, s] for s in parts),
            less=combine(less, parts), least=combine(less, parts) * 180 / (199 * 20),
        )  # fmt: skip

    results = {
        f"ensemble-{n}": number(0.98 * printed[n], 1.02 * printed[n], n).judge() for n in (2, 20)
    }
    results["ensemble-2-beats-1"] = number(0, math.inf, 1, 2).judge()
    results["ensemble-20-beats-2"] = number(0, math.inf, 2, 20).judge()
    results["ensemble-falls"] = judge_all([number(0, math.inf, n, 2 * n) for n in (2, 4, 8)])
    results["twenty-best"] = judge_all([number(-math.inf, 0.02 * 1.69, 20, n) for n in range(1, 20)])
    return results


def recompute_time(folder):
    if not (folder / "timing.csv").exists():
        return (np.nan,) * 4 + ("not run yet",)
    timing = pd.read_csv(folder / "timing.csv")
    wide = timing[timing["method"] != "both"].pivot(
        index=["fanout", "pair"], columns="method", values="cpu_seconds"
    )
    logs = np.log(wide["lda"] / wide["pi"]).dropna()
    fanouts = logs.groupby("fanout").groups
    numbers = [
        Number(logs.get(f, []) if f in fanouts else [], -math.inf, math.log(1.12), np.nan, 0, paper_n=1)
        for f in TABLE1.index
    ]
    value, low, high, z, verdict = judge_all(numbers)
    return (*(100 * np.expm1([value, low, high])), z, verdict)


def recompute(folder):
    """Return (ours, low, high, z, verdict) of every claim by its key."""
    sweep = pd.read_csv(folder / "sweep.csv")
    lda = rates(sweep, "lda_errors")
    results = recompute_ensembles(folder) | {"time": recompute_time(folder)}
    for method, suffix in (("pi", ""), ("pi_constant", "-constant")):
        for key, value in recompute_reading(rates(sweep, f"{method}_errors"), lda).items():
            kind, *fanout = key if isinstance(key, tuple) else (key,)
            names = {"pi": f"table1-{method}", "gain": f"table1-{method}-improvement"}
            results[f"{names[kind]}-{fanout[0]}" if fanout else f"{kind}{suffix}"] = value
    for fanout, rate in TABLE1["lda"].items():
        results[f"table1-lda-{fanout}"] = Number(
            lda[fanout], 0.98 * rate, 1.02 * rate, rate, CENT
        ).judge()
    return results


@pytest.fixture(scope="module", params=["first-run", "paper", "simulated"])
def folder(request, tmp_path_factory):
    copied = tmp_path_factory.mktemp(request.param) / "run"
    if request.param != "simulated":
        source = Path(__file__).parents[2] / "results" / request.param
        shutil.copytree(source, copied, ignore=shutil.ignore_patterns("*.svg", "*.html", "*.npz"))
        return copied
    rng = np.random.default_rng(7)
    tables = {"draws": simulate_draws(rng, shift=4.0), "timing": simulate_timing(rng, extra=0.118)}
    make_run(copied, sweep=simulate_sweep(rng, pi_shift=0.06, lda_shift=-0.02), **tables)
    report(copied, ["csv"])
    return copied


def test_every_verdict_z_and_interval(folder):
    claims = pd.read_csv(folder / "claims.csv").set_index("key")
    results = recompute(folder)
    assert set(results) == set(claims.index)
    for key, claim in claims.iterrows():
        *numbers, verdict = results[key]
        assert claim["verdict"] == verdict, key
        if verdict != "not run yet":
            shown = claim[["ours", "low", "high", "z"]].to_numpy(float)
            np.testing.assert_allclose(shown, numbers, rtol=2e-5, atol=2e-6, err_msg=key)


def test_table1_is_what_pandas_and_scipy_say(folder):
    table = pd.read_csv(folder / "table1_details.csv").set_index("fanout")
    sweep = pd.read_csv(folder / "sweep.csv")
    for method in ("pi", "pi_constant", "lda"):
        values = rates(sweep, f"{method}_errors")
        half = values.apply(lambda v: stats.sem(v) * stats.t.ppf(0.975, len(v) - 1))
        np.testing.assert_allclose(table[f"{method}_error_percent"], values.mean(), rtol=1e-5)
        np.testing.assert_allclose(table[f"{method}_interval"], half, rtol=1e-5)
        np.testing.assert_allclose(table[f"{method}_sd"], values.std(), rtol=1e-5)
    gap = rates(sweep, "pi_errors") - rates(sweep, "lda_errors")
    np.testing.assert_allclose(
        table["p"], gap.apply(lambda d: stats.ttest_1samp(d, 0).pvalue), rtol=1e-4
    )
