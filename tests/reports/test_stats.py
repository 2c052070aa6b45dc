"""Intervals and tests against scipy's, against leaving out one by one, and against simulation."""

import math
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_runs import draw_posteriors, draws_table
from scipy import stats as sp

from elmlda.core.subsets import count_subset_errors
from elmlda.reports import stats

RNG = np.random.default_rng


def test_the_interval_of_a_mean_is_students():
    values = RNG(0).normal(3, 1, 20)
    expected = sp.ttest_1samp(values, 0).confidence_interval(0.95)
    assert stats.estimate_mean(values).interval() == pytest.approx(tuple(expected))
    wide = sp.ttest_1samp(values, 0).confidence_interval(0.99)
    assert stats.estimate_mean(values).interval(0.99) == pytest.approx(tuple(wide))


@pytest.mark.parametrize("n", [0, 1, 2])
def test_fewer_than_three_repeats_have_no_interval_z_or_p(n):
    values = np.arange(n, dtype=float)
    mean = stats.estimate_mean(values)
    assert mean.n == n
    assert math.isnan(mean.half())
    assert math.isnan(mean.z(1.0, 200, 0.01))
    assert math.isnan(stats.estimate_mean(values).p())


def test_z_adds_three_variances():
    values = RNG(1).normal(5, 0.3, 50)
    error = math.sqrt(values.var(ddof=1) / 50 + values.var(ddof=1) / 200 + 0.003**2)
    assert stats.estimate_mean(values).z(4.9, 200, 0.003) == pytest.approx(
        (values.mean() - 4.9) / error
    )


def test_z_without_any_spread_is_all_or_nothing():
    same = stats.estimate_mean(np.full(5, 2.0))
    assert same.z(2.0, 200, 0.0) == 0
    assert same.z(1.0, 200, 0.0) == math.inf


def test_the_t_test_is_scipys():
    differences = RNG(2).normal(0.3, 1, 30)
    assert stats.estimate_mean(differences).p() == pytest.approx(sp.ttest_1samp(differences, 0).pvalue)


def test_folds_widen_the_interval_as_nadeau_and_bengio_say():
    values, overlap = RNG(3).normal(0.5, 1, 100), 1 / 9
    error = math.sqrt((1 / 100 + overlap) * values.var(ddof=1))
    p = 2 * sp.t.sf(abs(values.mean() / error), 99)
    assert stats.estimate_mean(values, overlap).p() == pytest.approx(p)
    half = sp.t.ppf(0.975, 99) * error
    assert stats.estimate_mean(values, overlap).half() == pytest.approx(half)


def test_nothing_that_differs_is_p_one_and_a_constant_difference_none():
    assert stats.estimate_mean(np.zeros(5)).p() == 1
    assert math.isnan(stats.estimate_mean(np.full(5, 2.0)).p())


@given(st.lists(st.integers(-4, 4).filter(bool), min_size=1, max_size=9))
def test_wilcoxon_with_ties_counts_all_signs(differences):
    """scipy's permutation test, written out: every choice of signs is as likely."""
    ranks = sp.rankdata(np.abs(differences))
    signs = np.array(np.meshgrid(*[[0, 1]] * len(ranks))).reshape(len(ranks), -1)
    sums = ranks @ signs
    found = ranks[np.array(differences) > 0].sum()
    low = (sums <= min(found, ranks.sum() - found) + 1e-9).mean()
    assert stats.wilcoxon(np.array(differences)) == pytest.approx(min(1, 2 * low))


def test_wilcoxon_leaves_zeros_out_and_needs_a_difference():
    some = np.array([2, 3, 5, -1])
    assert stats.wilcoxon(np.append(some, [0, 0])) == stats.wilcoxon(some)
    assert math.isnan(stats.wilcoxon(np.zeros(4)))


def test_holm_steps_down():
    assert stats.holm([0.01, 0.04, 0.03, np.nan, 0.5]) == pytest.approx(
        [0.04, 0.09, 0.09, np.nan, 0.5], nan_ok=True
    )


def test_the_jackknife_leaves_out_one_by_one():
    rates = RNG(5).uniform(2, 3, (12, 1, 2))
    found = stats.jackknife(stats.improvement, rates).combine(np.ones(1))
    left_out = [stats.improvement(np.delete(rates, i, 0).mean(axis=0))[0] for i in range(12)]
    error = math.sqrt(11 / 12 * ((left_out - np.mean(left_out)) ** 2).sum())
    assert found.value == pytest.approx(stats.improvement(rates.mean(axis=0))[0])
    assert found.se == pytest.approx(error)


def test_an_improvement_over_no_errors_is_unknown():
    assert np.isnan(stats.improvement(np.array([0.0, 1.0])))


def test_images_and_networks_are_the_two_way_analysis_of_variance():
    differences = RNG(7).integers(-1, 2, (6, 40)).astype(np.int8)
    frame = pd.DataFrame(differences).stack().rename("d").reset_index()
    rows, columns = frame.groupby("level_0")["d"].mean(), frame.groupby("level_1")["d"].mean()
    total = ((frame["d"] - frame["d"].mean()) ** 2).sum()
    between = 40 * ((rows - rows.mean()) ** 2).sum() + 6 * ((columns - columns.mean()) ** 2).sum()
    interaction = (total - between) / (5 * 39)
    both = rows.var() / 6 + columns.var() / 40 - interaction / 240
    assert stats.image_errors(differences) == pytest.approx(
        (math.sqrt(columns.var() / 40), math.sqrt(both))
    )


def test_the_error_over_both_is_that_of_new_networks_and_new_images():
    """Over many studies with known effects the estimated variance has the true one as its mean."""
    rng, found, means = RNG(8), [], []
    for _ in range(400):
        effects = rng.normal(0, 1, (8, 1)) + rng.normal(0, 1, 30) + rng.normal(0, 1, (8, 30))
        found.append(stats.image_errors(np.rint(10 * effects).astype(np.int8))[1] ** 2)
        means.append(np.rint(10 * effects).mean())
    assert np.mean(found) == pytest.approx(np.var(means), rel=0.15)


def test_two_groups_of_networks_answer_the_same_images():
    """The difference of two means: networks of their own, images in common; the variance is known."""
    rng, found = RNG(14), []
    for _ in range(400):
        images = rng.normal(0, 1, 30)
        a, b = (
            np.rint(10 * (images * share + rng.normal(0, 1, (n, 1)) + rng.normal(0, 1, (n, 30))))
            for n, share in ((8, 1.0), (6, 0.5))
        )
        found.append(stats.image_errors(a.astype(np.int8), -b.astype(np.int8))[1] ** 2)
    networks, images, interaction = 1 / 8 + 1 / 6, (1 - 0.5) ** 2 / 30, 1 / 240 + 1 / 180
    assert np.mean(found) == pytest.approx(100 * (networks + images + interaction), rel=0.08)


def literal_agreement(rates, printed, blocks, n_runs, rng):
    """T and p by the protocol's words: runs of networks, one after the other."""
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
    t, p = stats.joint_agreement(rates, printed, blocks, 200, 0.01)
    assert t == pytest.approx(expected_t)
    assert p == pytest.approx(expected_p, abs=0.03)


def test_joint_agreement_rejects_the_truth_as_often_as_it_says(monkeypatch):
    monkeypatch.setattr(stats, "N_SIMULATED", 1_000)
    rng, blocks, p = RNG(10), np.repeat(np.arange(4), 2), []
    root = rng.normal(0, 0.1, (8, 8)) + 0.1
    same = blocks[:, None] == blocks
    for _ in range(120):
        rates = 3 + rng.standard_normal((30, 8)) @ root.T
        theirs = rng.multivariate_normal(np.full(8, 3.0), root @ root.T * same / 200).round(2)
        p.append(stats.joint_agreement(rates, theirs, blocks, 200, 0.01)[1])
    assert sp.kstest(p, "uniform").pvalue > 0.01


def test_joint_agreement_needs_more_networks_than_rates():
    assert np.isnan(stats.joint_agreement(np.ones((7, 6)), np.ones(6), np.arange(6), 200, 0.01)).all()


def test_draws_give_the_jackknife_of_all_subsets():
    """With very many draws: the mean over all subsets, networks left out one by one."""
    posteriors, labels = draw_posteriors(RNG(11), 7)
    sample = stats.sample_draws(draws_table(posteriors, labels, 40_000, 2))

    def exact(networks):
        pairs = np.array(list(combinations(networks, 2)))
        return count_subset_errors(posteriors, labels, pairs)[:, 1].mean()

    whole = exact(range(7))
    left_out = [exact([k for k in range(7) if k != i]) for i in range(7)]
    error = math.sqrt(6 / 7 * ((left_out - np.mean(left_out)) ** 2).sum())
    found = sample.combine(np.array([0.0, 1.0]))
    assert found.value == pytest.approx(whole, abs=0.2)
    assert found.se == pytest.approx(error, rel=0.05)
    assert found.n == 7


def test_few_draws_have_the_same_variance_once_theirs_is_subtracted():
    posteriors, labels = draw_posteriors(RNG(12), 12)
    weights = np.array([0.0, 1.0, 0.0, -1.0])
    true = stats.sample_draws(draws_table(posteriors, labels, 60_000, 4)).combine(weights).se ** 2
    with_noise, without = [], []
    for seed in range(40):
        sample = stats.sample_draws(draws_table(posteriors, labels, 400, 4, seed))
        with_noise.append(np.var(sample.units @ weights, ddof=1) / 12)
        without.append(with_noise[-1] - weights @ sample.noise @ weights)
    assert np.mean(with_noise) > 1.1 * true
    assert np.mean(without) == pytest.approx(true, rel=0.1)


def test_the_spread_of_draws_is_that_of_ensembles():
    posteriors, labels = draw_posteriors(RNG(13), 10)
    sample = stats.sample_draws(draws_table(posteriors, labels, 20_000, 3))
    orders = np.array([RNG(i).permutation(10)[:3] for i in range(3_000)])
    spread = count_subset_errors(posteriors, labels, orders).var(axis=0)
    assert sample.spread == pytest.approx(spread, rel=0.25)


def test_neighbouring_numbers_of_networks_keep_an_interval():
    """The subtraction can leave less than nothing: the variance of the draws themselves stays."""
    posteriors, labels = draw_posteriors(RNG(15), 30)
    weights, bitten = np.array([0.0] * 8 + [-1.0, 1.0]), 0
    for seed in range(20):
        sample = stats.sample_draws(draws_table(posteriors, labels, 300, 10, seed))
        noise = weights @ sample.noise @ weights
        least = noise * (30 - 10) / (29 * 10)
        left = np.var(sample.units @ weights, ddof=1) / 30 - noise
        bitten += left < least
        assert sample.combine(weights).se ** 2 == pytest.approx(max(left, least))
    assert bitten
