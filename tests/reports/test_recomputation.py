"""Every verdict, z and interval of claims.csv once more, by pandas and scipy from the run's own files.

Nothing of elmlda's report has a part in it: Table 1 is copied here, repeats are left out one by one,
intervals are scipy's. It is done for the committed run and for a run of the paper's size.
"""

import io
import math
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made_up import make_run
from scipy import stats
from simulated import simulate_run

from elmlda.reports.write import report

TABLE1 = pd.read_csv(
    io.StringIO(
        """fanout,pi,lda,improvement
1,7.20,6.84,4.9
2,5.21,5.03,3.5
3,4.32,4.17,3.3
4,3.80,3.68,3.1
5,3.45,3.35,2.9
6,3.20,3.11,3.0
7,3.00,2.92,2.6
8,2.86,2.78,2.9
9,2.74,2.66,2.8
10,2.63,2.55,2.7
12,2.49,2.42,2.6
15,2.31,2.25,2.6
20,2.15,2.08,3.3
"""
    )
).set_index("fanout")
CENT, TENTH = 0.01 / math.sqrt(12), 0.1 / math.sqrt(12)
PI = {"": "pi_errors", "-constant": "pi_constant_errors"}


def judge(values, value, paper_variance, paper_n, low, high, printed, rounding, level=0.95):
    """The rule for one number: (value, low, high, z, verdict)."""
    n = len(values)
    if n == 0:
        return np.nan, np.nan, np.nan, np.nan, "inconclusive"
    if n == 1:
        return value, np.nan, np.nan, np.nan, "inconclusive"
    half = stats.sem(values) * stats.t.ppf(0.5 + level / 2, n - 1)
    reference = min(max(value, low), high) if np.isnan(printed) else printed
    error = math.sqrt(np.var(values, ddof=1) / n + paper_variance / paper_n + rounding**2)
    z = (value - reference) / error if error else math.copysign(math.inf, value - reference)
    bottom, top = value - half, value + half
    if n < 3:
        verdict = "inconclusive"
    elif bottom > low and top < high:
        verdict = "reproduced"
    elif (top <= low or bottom >= high) and abs(z) > stats.norm.ppf(0.5 + level / 2):
        verdict = "not reproduced"
    else:
        verdict = "inconclusive"
    return value, bottom, top, np.nan if np.isnan(printed) else z, verdict


def mean(values, *rest, paper_variance=None, **options):
    values = np.asarray(values, float)
    variance = np.var(values, ddof=1) if paper_variance is None and len(values) > 1 else paper_variance
    return judge(values, values.mean() if len(values) else np.nan, variance, *rest, **options)


def every(numbers):
    """A claim about several numbers: the one shown, and the verdict on all; `numbers` take a level."""
    at95 = {key: number(0.95) for key, number in numbers.items()}
    widened = {key: number(1 - 0.05 / len(numbers)) for key, number in numbers.items()}
    failing = [key for key in numbers if widened[key][4] == "not reproduced"]
    shown = min(
        failing or numbers, key=lambda key: slack(at95[key], numbers[key].low, numbers[key].high)
    )
    verdict = "inconclusive"
    if failing:
        verdict = "not reproduced"
    elif all(number[4] == "reproduced" for number in at95.values()):
        verdict = "reproduced"
    return (*at95[shown][:4], verdict)


def slack(number, low, high):
    """How many half-widths of its interval it lies inside, then how far."""
    value, bottom, top = number[:3]
    inside = min(value - low, high - value)
    half = (top - bottom) / 2
    if np.isnan(half):
        return 0, inside
    return inside / half if half else math.copysign(math.inf, inside), inside


class Number:
    """A number that can be judged at any level."""

    def __init__(self, function, low, high):
        self.function, self.low, self.high = function, low, high

    def __call__(self, level):
        return self.function(self.low, self.high, level)


def pseudo_values(frame, statistic):
    """n·θ - (n - 1)·θ without repeat r; `frame` has a row for each repeat."""
    n, whole = len(frame), statistic(frame.mean())
    left_out = [statistic(frame.drop(index=repeat).mean()) for repeat in frame.index]
    return whole, np.array([n * whole - (n - 1) * one for one in left_out])


def recompute(folder):
    """Key -> (ours, low, high, z, verdict) of every claim that is tested."""
    sweep = pd.read_csv(folder / "sweep.csv")
    found = {}
    for suffix, column in PI.items():
        pi = rates(sweep, column)
        lda = rates(sweep, "lda_errors")
        found |= {f"{key}{suffix}": value for key, value in recompute_reading(pi, lda).items()}
    lda = rates(sweep, "lda_errors")
    for fanout, printed in TABLE1["lda"].items():
        found[f"table1-lda-{fanout}"] = rate(lda[fanout], printed, 200)
    return found | recompute_ensembles(folder, lda[20]) | recompute_time(folder)


def rates(sweep, column):
    """A row for each repeat, a column for each fan-out, in per cent."""
    percent = sweep.assign(percent=100 * sweep[column] / sweep["n_test"])
    return percent.pivot(index="repeat", columns="fanout", values="percent")


def rate(values, printed, paper_n):
    return mean(values, paper_n, 0.98 * printed, 1.02 * printed, printed, CENT)


def recompute_reading(pi, lda):
    found = {}
    improvements = {}
    for fanout in range(1, 21):
        both = pd.DataFrame({"pi": pi[fanout], "lda": lda[fanout]})
        improvements[fanout] = pseudo_values(both, lambda m: 100 * (m["pi"] - m["lda"]) / m["pi"])
    for fanout, printed in TABLE1.iterrows():
        found[f"table1-pi-{fanout}"] = rate(pi[fanout], printed["pi"], 200)
        value, values = improvements[fanout]
        theirs = printed["improvement"]
        found[f"table1-improvement-{fanout}"] = judge(
            values, value, np.var(values, ddof=1), 200, theirs - 1, theirs + 1, theirs, TENTH
        )
    for key, fanouts in (
        ("average-improvement", list(TABLE1.index)),
        ("average-improvement-all", range(1, 21)),
    ):
        weights = dict.fromkeys(fanouts, 1 / len(fanouts))
        found[key] = weigh(improvements, weights, 2.6, 3.6, 3.1, TENTH)
    found["larger-at-small-fanouts"] = recompute_small_fanouts(improvements)
    found["lda-better-everywhere"] = every(
        {fanout: recompute_better(pi[fanout], lda[fanout], fanout) for fanout in range(1, 21)}
    )
    steps = list(zip(TABLE1.index[:-1], TABLE1.index[1:], strict=True))
    found["error-falls-with-fanout"] = every(
        {
            (method, less): recompute_step(
                ours[less], ours[more], TABLE1[method][less] - TABLE1[method][more]
            )
            for method, ours in (("pi", pi), ("lda", lda))
            for less, more in steps
        }
    )
    return found


def weigh(improvements, weights, low, high, printed, rounding, level=0.95):
    """A weighted sum over fan-outs; the paper's fan-outs are independent."""
    value = sum(w * improvements[f][0] for f, w in weights.items())
    values = sum(w * improvements[f][1] for f, w in weights.items())
    variance = sum(w**2 * np.var(improvements[f][1], ddof=1) for f, w in weights.items())
    return judge(values, value, variance, 200, low, high, printed, rounding, level)


def recompute_small_fanouts(improvements):
    fanouts = TABLE1.index.to_numpy()
    cut = {f: 1 / 5 if f <= 5 else -1 / 8 for f in fanouts}
    x = np.log2(fanouts)
    slope = {f: -(w - x.mean()) / ((x - x.mean()) ** 2).sum() for f, w in zip(fanouts, x, strict=True)}
    numbers = {}
    for name, weights in (("cut", cut), ("slope", slope)):
        printed = sum(w * TABLE1["improvement"][f] for f, w in weights.items())
        rounding = TENTH * math.sqrt(sum(w**2 for w in weights.values()))
        numbers[name] = Number(
            lambda low, high, level, weights=weights, printed=printed, rounding=rounding: weigh(
                improvements, weights, low, high, printed, rounding, level
            ),
            0,
            math.inf,
        )
    return every(numbers)


def recompute_better(pi, lda, fanout):
    printed = TABLE1["pi"][fanout] - TABLE1["lda"][fanout] if fanout in TABLE1.index else np.nan
    return Number(
        lambda low, high, level: mean(
            pi - lda, 200, low, high, printed, CENT * math.sqrt(2), level=level
        ),
        0,
        math.inf,
    )


def recompute_step(less, more, printed):
    variance = less.var() + more.var()
    return Number(
        lambda low, high, level: mean(
            less - more,
            200,
            low,
            high,
            printed,
            CENT * math.sqrt(2),
            paper_variance=variance,
            level=level,
        ),
        0,
        math.inf,
    )


def recompute_ensembles(folder, one):
    ensemble = pd.read_csv(folder / "ensemble.csv").query("combine == 'mean'")
    percent = ensemble.assign(percent=100 * ensemble["errors"] / ensemble["n_test"])
    sizes = percent.pivot(index="repeat", columns="size", values="percent")
    path = folder / "pairs.csv"
    pairs = (
        pd.read_csv(path)
        if path.exists()
        else pd.DataFrame(columns=["pair", "first", "second", "errors", "n_test"])
    )
    two = 100 * pairs["errors"].astype(float) / pairs["n_test"].astype(float)
    alone = (pairs["first"].map(one) + pairs["second"].map(one)).astype(float) / 2
    gain = (alone - two).dropna()
    variance = one.var() + two[gain.index].var()
    found = {
        "ensemble-1": rate(one, 2.08, 10),
        "ensemble-2": rate(two, 1.86, 10),
        "ensemble-20": rate(sizes[20], 1.69, 10),
        "ensemble-2-beats-1": mean(
            gain, 10, 0, math.inf, 0.22, CENT * math.sqrt(2), paper_variance=variance
        ),
        "ensemble-20-beats-2": mean(
            sizes[2] - sizes[20], 10, 0, math.inf, 0.17, CENT * math.sqrt(2),
            paper_variance=sizes[2].var() + sizes[20].var(),
        ),
    }  # fmt: skip
    some = sizes[list(range(2, 21))]
    x = np.log2(np.arange(2, 21))
    slopes = [-np.polyfit(x, row, 1)[0] for row in some.to_numpy()]
    weights = (x - x.mean()) / ((x - x.mean()) ** 2).sum()
    variance = (weights**2 * some.var().to_numpy()).sum()
    found["more-networks-fewer-errors"] = mean(
        slopes, 10, 0, math.inf, np.nan, 0, paper_variance=variance
    )
    printed = {1: 1.69 - 2.08, 2: 1.69 - 1.86}
    found["twenty-networks-best"] = every(
        {
            size: Number(
                lambda low, high, level, size=size: mean(
                    sizes[20] - sizes[size], 10, low, high, printed.get(size, np.nan),
                    CENT * math.sqrt(2), level=level,
                    paper_variance=sizes[20].var() + sizes[size].var(),
                ),
                -math.inf,
                0.02 * 1.69,
            )
            for size in range(1, 20)
        }
    )  # fmt: skip
    return found


def recompute_time(folder):
    """What LDA-ELM's own runs take beyond the parts that PI-ELM has too."""
    path = folder / "timing.csv"
    if not path.exists():
        return {"little-extra-time": (np.nan, np.nan, np.nan, np.nan, "inconclusive")}
    lda = pd.read_csv(path).query("method == 'lda'").set_index("fanout")
    common = lda[["projection", "activation", "gram", "factorisation", "solve", "test"]].sum(axis=1)
    more = 100 * (lda["seconds"] / common - 1)
    numbers = {
        fanout: Number(
            lambda low, high, level, fanout=fanout: mean(
                more[[fanout]], 1, low, high, np.nan, 0, level=level
            ),
            -math.inf,
            12,
        )
        for fanout in range(1, 21)
    }
    return {"little-extra-time": every(numbers)}


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    """A run of the paper's size, its rates a little off the paper's, so that verdicts differ."""
    records = simulate_run(np.random.default_rng(7), pi_shift=0.03, lda_shift=-0.02)
    plan = {"ensemble": {"n": 20, "n_hidden": 15680, "repeats": 10}}
    folder = make_run(tmp_path_factory.mktemp("full") / "run", experiments=plan, **records)
    report(folder, ("csv",))
    return folder


@pytest.fixture(scope="module", params=["committed", "full"])
def folder(request, tmp_path_factory, full):
    if request.param == "full":
        return full
    copied = tmp_path_factory.mktemp("committed") / "mnist"
    committed = Path(__file__).parents[2] / "results/mnist"
    shutil.copytree(committed, copied, ignore=shutil.ignore_patterns("posteriors", "*.svg", "*.png"))
    return copied


def test_every_verdict_z_and_interval(folder):
    claims = pd.read_csv(folder / "claims.csv").set_index("key")
    claims = claims[claims["kind"] != "untested"]
    found = recompute(folder)
    assert set(found) == set(claims.index)
    for key, claim in claims.iterrows():
        *numbers, verdict = found[key]
        shown = claim[["ours", "low", "high", "z"]].to_numpy(float)
        np.testing.assert_allclose(shown, numbers, rtol=2e-5, atol=1e-6, err_msg=key)
        interim = claim["repeats"] < claim["full_repeats"]
        assert (claim["interim"] == "yes") == interim, key
        word = "not decided yet" if interim and verdict == "inconclusive" else verdict
        assert claim["verdict"] == word, key


def test_the_full_run_has_every_kind_of_verdict(full):
    verdicts = set(pd.read_csv(full / "claims.csv")["verdict"])
    assert verdicts == {"reproduced", "not reproduced", "inconclusive", "not tested"}
