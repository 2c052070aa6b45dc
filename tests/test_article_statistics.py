"""Joint agreement, the registered hypothesis and intervals over images, against the protocol and scipy."""

import math

import article_statistics
import numpy as np
import pandas as pd
import pytest
from article_statistics import (
    contrast_sets,
    image_errors,
    joint_agreement,
    judge_agreement,
    judge_hypothesis,
    judge_ratios,
    predict_reproduced,
    tabulate_agreements,
    tabulate_images,
)
from made_runs import MNIST, draw_posteriors, keep, make_run, simulate_sweep, sweep
from scipy import stats as sp

from elmlda.reports.claims import CONSTANT, EQ5, READINGS
from elmlda.reports.load import percents, read_records

RNG = np.random.default_rng


def literal_agreement(rates, printed, blocks, n_runs, rng):
    """Compute T and p as the protocol says, by simulating runs one after the other."""
    n, k = rates.shape
    same = blocks[:, None] == blocks

    def measure(difference, s):
        c = s / n + s * same / 200 + np.eye(k) * 0.01**2 / 12
        return difference @ np.linalg.solve(c, difference)

    s, truth = np.cov(rates.T), rates.mean(axis=0)
    observed, count = measure(truth - printed, s), 0
    for _ in range(n_runs):
        ours = rng.multivariate_normal(truth, s, n)
        theirs = rng.multivariate_normal(truth, s * same / 200).round(2)
        count += measure(ours.mean(axis=0) - theirs, np.cov(ours.T)) >= observed
    return observed, count / n_runs


def test_joint_agreement_is_the_protocols():
    rng, blocks = RNG(9), np.repeat(np.arange(3), 2)
    rates = rng.normal(5, 0.2, (40, 1)) + rng.normal(0, 0.1, (40, 6))
    printed = (rates.mean(axis=0) + rng.normal(0, 0.03, 6)).round(2)
    expected_t, expected_p = literal_agreement(rates, printed, blocks, 2_000, rng)
    t, p = joint_agreement(rates, printed, blocks, 200, 0.01)
    assert t == pytest.approx(expected_t)
    assert p == pytest.approx(expected_p, abs=0.03)


def test_joint_agreement_rejects_the_truth_as_often_as_it_says(monkeypatch):
    monkeypatch.setattr(article_statistics, "N_SIMULATED", 1_000)
    rng, blocks, p = RNG(10), np.repeat(np.arange(4), 2), []
    root = rng.normal(0, 0.1, (8, 8)) + 0.1
    same = blocks[:, None] == blocks
    for _ in range(120):
        rates = 3 + rng.standard_normal((30, 8)) @ root.T
        theirs = rng.multivariate_normal(np.full(8, 3.0), root @ root.T * same / 200).round(2)
        p.append(joint_agreement(rates, theirs, blocks, 200, 0.01)[1])
    assert sp.kstest(p, "uniform").pvalue > 0.01


def test_expected_verdicts_are_those_of_simulated_runs():
    rng, n = RNG(13), 30
    root = np.array([[0.1, 0, 0], [0.05, 0.1, 0], [0.0, 0.02, 0.05]])
    printed = np.array([7.2, 5.2, 2.08])
    earlier = printed + [0.05, 0.06, 0.01] + rng.standard_normal((n, 3)) @ root.T
    counts = []
    for _ in range(2_000):
        truth = rng.multivariate_normal(earlier.mean(axis=0), np.cov(earlier.T) / n)
        new = rng.multivariate_normal(truth, np.cov(earlier.T), 50)
        low, high = sp.t.interval(0.95, 49, new.mean(axis=0), sp.sem(new, axis=0))
        counts.append(((0.98 * printed < low) & (high < 1.02 * printed)).sum())
    expected, chance = predict_reproduced(earlier, printed, 50)
    assert expected == pytest.approx(np.mean(counts), abs=0.05)
    assert chance == pytest.approx(np.mean(np.array(counts) == 3), abs=0.04)
    assert 0.1 < chance < 0.9


def test_joint_agreement_needs_more_networks_than_rates():
    assert np.isnan(joint_agreement(np.ones((7, 6)), np.ones(6), np.arange(6), 200, 0.01)).all()


@pytest.mark.parametrize(
    ("gap_z", "verdict"),
    [
        ((3.0, 0.5), "supported"),
        ((3.0, 2.0), "undecided"),  # large enough a ratio, but |z| with a constant is not below 1.96
        ((2.0, 0.5), "undecided"),  # log LR = 1.9, below log 10
        ((-3.0, 0.5), "supported"),
        ((0.5, -3.0), "rejected"),
        ((0.5, 2.0), "undecided"),
    ],
)
def test_the_registered_hypothesis(gap_z, verdict):
    log_ratio = (gap_z[0] ** 2 - gap_z[1] ** 2) / 2
    judged = judge_hypothesis(pd.DataFrame({"gap_z": gap_z}))
    assert judged == (pytest.approx(log_ratio), verdict)


def test_agreement_tells_the_readings_apart(tmp_path):
    shifts = {"pi_shift": 0.02, "constant_shift": 0.0}
    run = read_records(make_run(tmp_path / "run", sweep=simulate_sweep(RNG(4), **shifts)))
    table = judge_agreement(percents(run.primary)).set_index("reading")
    assert table["rates"].tolist() == [26, 26]
    assert table.loc[EQ5, "p"] < 0.05 < table.loc[CONSTANT, "p"]
    assert abs(table.loc[EQ5, "gap_z"]) > abs(table.loc[CONSTANT, "gap_z"])


def test_joint_agreement_of_two_runs_is_at_the_fanouts_of_both(tmp_path):
    rng = np.random.default_rng(9)
    softsign = {**MNIST, "activation": "softsign"}
    runs = {
        "tanh": read_records(make_run(tmp_path / "a", sweep=simulate_sweep(rng, n=60))),
        "softsign": read_records(
            make_run(tmp_path / "b", run=softsign, sweep=simulate_sweep(rng, 60, 1, 0, 0, range(1, 6)))
        ),
        "uneven": read_records(
            make_run(
                tmp_path / "c",
                run={**MNIST, "weight_range": 1.0},
                sweep=sweep({1: [(720, 715, 684)] * 3}),
            )
        ),
    }
    table = tabulate_agreements(runs, "tanh").set_index(["run", "reading"])
    assert set(table.index) == {(run, r) for run in ("tanh", "softsign") for r in READINGS}
    assert set(table["rates"]) == {10}
    assert table.loc[("softsign", EQ5), "p"] == 0  # a whole point off
    assert table.loc[[("tanh", EQ5), ("tanh", CONSTANT), ("softsign", CONSTANT)], "p"].min() > 0.01


def test_images_and_networks_are_the_two_way_analysis_of_variance():
    differences = RNG(7).integers(-1, 2, (6, 40)).astype(np.int8)
    frame = pd.DataFrame(differences).stack().rename("d").reset_index()
    rows, columns = frame.groupby("level_0")["d"].mean(), frame.groupby("level_1")["d"].mean()
    total = ((frame["d"] - frame["d"].mean()) ** 2).sum()
    between = 40 * ((rows - rows.mean()) ** 2).sum() + 6 * ((columns - columns.mean()) ** 2).sum()
    interaction = (total - between) / (5 * 39)
    both = rows.var() / 6 + columns.var() / 40 - interaction / 240
    assert image_errors(differences) == pytest.approx((math.sqrt(columns.var() / 40), math.sqrt(both)))


def test_intervals_over_images_come_from_the_kept_answers(tmp_path):
    rng, n_test = np.random.default_rng(0), 200
    wrong = rng.uniform(size=(5, 3, 2, n_test)) < 0.2
    counts = {f: [tuple(wrong[k, :, f - 1].sum(axis=-1)) for k in range(5)] for f in (1, 2)}
    folder = make_run(tmp_path / "run", sweep=sweep(counts, n_test=n_test))
    posteriors, labels = draw_posteriors(rng, 5, n_test)
    keep(folder, posteriors, labels, sizes=(784, 1568), wrong=wrong)
    table = tabulate_images(read_records(folder))
    for place, row in table.iterrows():
        by_image = 100 * (wrong[:, 0, place].astype(int) - wrong[:, 2, place]).mean(axis=0)
        interval = sp.ttest_1samp(by_image, 0).confidence_interval()
        half = (interval.high - interval.low) / 2
        assert row["difference_images_interval"] == pytest.approx(half)
        error = row["difference_both_interval"] / sp.t.ppf(0.975, 4)
        assert row["p_both"] == pytest.approx(2 * sp.t.sf(abs(by_image.mean()) / error, 4))


def test_printed_ratios_are_intervals_because_seconds_are_rounded():
    ours = {"overhead_percent": 1.0, "overhead_low": 0.5, "overhead_high": 1.5}
    times = pd.DataFrame({"fanout": [1, 2, 3], "paper_pi_seconds": [6.2, 100.0, 630.0]}).assign(**ours)
    times["paper_lda_seconds"] = [6.2, 103.0, 702.0]
    times["paper_overhead_percent"] = 100 * (times["paper_lda_seconds"] / times["paper_pi_seconds"] - 1)
    found = judge_ratios(times)
    assert found["printed_low"].tolist() == pytest.approx(
        [100 * (x / y - 1) for x, y in ((6.15, 6.25), (102.5, 100.5), (701.5, 630.5))]
    )
    assert found["verdict"].tolist() == ["agrees", "above", "above"]
    times["paper_lda_seconds"] = [5.5, 101.0, 620.0]
    assert judge_ratios(times)["verdict"].tolist() == ["below", "agrees", "below"]


def test_a_set_has_one_contrast_over_all_sizes(tmp_path):
    rng, n_test = RNG(3), 150
    wrong = rng.uniform(size=(6, 3, 2, n_test)) < 0.3
    counts = {f: [tuple(wrong[k, :, f - 1].sum(axis=-1)) for k in range(6)] for f in (1, 2)}
    runs = {}
    for name in ("kept", "not kept"):
        folder = make_run(tmp_path / name, sweep=sweep(counts, n_test=n_test))
        runs[name] = read_records(folder)
        if name == "kept":
            keep(folder, *draw_posteriors(rng, 6, n_test), sizes=(784, 1568), wrong=wrong)
    table = contrast_sets(runs).set_index(["reading", "dataset"])
    gaps = 100 * (wrong[:, 0].astype(int) - wrong[:, 2]).mean(axis=1)  # networks × images
    alone = sp.ttest_1samp(gaps.mean(axis=1), 0)
    assert table.loc[(EQ5, "not kept"), "p"] == pytest.approx(alone.pvalue)
    both = table.loc[(EQ5, "kept")]
    assert both["difference"] == pytest.approx(gaps.mean())
    half = 100 * image_errors(gaps / 100)[1] * sp.t.ppf(0.975, 5)
    assert both["difference_interval"] == pytest.approx(half)
    smallest = table.loc[EQ5, "p"].min()
    assert table.loc[EQ5, "p_holm"].min() == pytest.approx(min(1, 2 * smallest))
