"""Chance over networks and over test images, told apart."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from elmlda.experiments.shaped_networks import ShapedEnsembleRecord, ShapedRecord
from elmlda.reports.subjects.shaped import (
    bootstrap_mean,
    describe_findings,
    find_shares,
    mcnemar_p,
    tabulate_best,
    tabulate_shaped,
)

N_TEST = 1000


def network(method, repeat, wrong, kind="uniform", n_hidden=784, has_places=True):
    places = " ".join(map(str, wrong)) if has_places else ""
    setting = kind, method, 0.5, 1.0
    return ShapedRecord(
        *setting, repeat, n_hidden, len(wrong), N_TEST, places, n_hidden / 784, 1.0, "mixed"
    )


def ensemble(method, repeat, wrong, size=3):
    places = " ".join(map(str, wrong))
    return ShapedEnsembleRecord(
        "uniform", method, 0.5, 1.0, repeat, 784, len(wrong), N_TEST, places, size
    )


def test_intervals_and_p_of_networks_are_students():
    errors = {"pi": [30, 34, 35, 41], "lda": [28, 33, 30, 38]}
    records = [network(m, r, range(n)) for m, counts in errors.items() for r, n in enumerate(counts)]
    row = tabulate_best(records, []).iloc[0]
    pi, lda = (np.array(errors[method]) / 10 for method in ("pi", "lda"))
    assert row["p_networks"] == pytest.approx(stats.ttest_rel(pi, lda).pvalue)
    interval = stats.ttest_rel(pi, lda).confidence_interval()
    assert row["difference"] - row["difference_interval"] == pytest.approx(interval.low)
    assert row["pi_error_percent"] == pytest.approx(3.5)
    low, high = stats.t.interval(0.95, 3, pi.mean(), stats.sem(pi))
    assert row["pi_interval"] == pytest.approx((high - low) / 2)


def test_two_repeats_have_no_interval_over_networks():
    records = [network(method, r, range(5 + r)) for method in ("pi", "lda") for r in (0, 1)]
    row = tabulate_best(records, []).iloc[0]
    unknown = ["pi_interval", "lda_interval", "difference_interval", "p_networks", "p_networks_holm"]
    assert row[unknown].isna().all()
    assert row[["pi_error_percent", "pi_images_low", "p_images"]].notna().all()


@given(b=st.integers(0, 40), c=st.integers(0, 40), both=st.integers(0, 40))
def test_the_test_over_images_is_mcnemars_for_two_classifiers(b, c, both):
    pi = [*range(both), *range(100, 100 + b)]
    lda = [*range(both), *range(200, 200 + c)]
    shares = [find_shares([network(m, 0, wrong)]) for m, wrong in (("pi", pi), ("lda", lda))]
    statistic = (b - c) ** 2 / (b + c) if b + c else 0
    assert mcnemar_p(shares[0] - shares[1]) == pytest.approx(stats.chi2.sf(statistic, 1))


def test_the_bootstrap_draws_images_with_replacement():
    rng = np.random.default_rng(1)
    values = (rng.random(N_TEST) < 0.02) * rng.choice([0.25, 0.5, 1], N_TEST)
    found = bootstrap_mean(values)
    means = rng.choice(values, (4000, N_TEST)).mean(axis=1)
    assert found == pytest.approx(np.quantile(means, [0.025, 0.975]), rel=0.06)
    assert found == bootstrap_mean(values), "the same each time"
    assert bootstrap_mean(np.zeros(5)) == (0, 0)


def test_mistakes_that_are_not_recorded_give_no_interval_over_images():
    records = [network(m, r, range(9), has_places=False) for m in ("pi", "lda") for r in range(3)]
    row = tabulate_best(records, []).iloc[0]
    assert row[["pi_images_low", "difference_images_high", "p_images"]].isna().all()
    assert find_shares([]) is None


def test_families_are_corrected_by_holm():
    """The rows of the table of the largest, and the sizes of each kind, are a family each."""
    rng, records = np.random.default_rng(0), []
    for kind in ("uniform", "constrained"):
        for n_hidden in (784, 1568):
            for repeat in range(4):
                records.append(network("pi", repeat, range(rng.integers(50, 60)), kind, n_hidden))
                records.append(network("lda", repeat, range(rng.integers(40, 55)), kind, n_hidden))
    best = tabulate_best(records, [])
    assert (best["n_hidden"] == 1568).all()
    for source in ("networks", "images"):
        corrected = best[f"p_{source}_holm"]
        assert corrected.min() == pytest.approx(min(1, 2 * best[f"p_{source}"].min()))
    for _, rows in tabulate_shaped(records).groupby("input_weights"):
        assert rows["p_networks_holm"].min() == pytest.approx(min(1, 2 * rows["p_networks"].min()))


def test_the_paragraph_follows_from_the_numbers():
    records = [network("pi", r, range(60 + r)) for r in range(3)]
    records += [network("lda", r, range(20 + 2 * r)) for r in range(3)]
    records += [network("pi", r, range(70 - r), "constrained") for r in range(3)]
    records += [network("lda", r, range(80), "constrained") for r in range(3)]
    ensembles = [ensemble("pi", r, range(30)) for r in range(3)]
    ensembles += [ensemble("lda", r, range(29 + r)) for r in range(3)]
    headline, judged, differences, counted = describe_findings(tabulate_best(records, ensembles))
    start = "Single networks of 784 hidden units with uniform input weights: LDA-ELM 2.20 % ± 0.50"
    assert headline.startswith(start)
    assert judged.startswith("There PI − LDA is +3.900 ± 0.248 points (+2.7")
    assert judged.endswith("over images), beyond chance over networks and over images.")
    low, high = "−1.100 ± 0.248 (constrained)", "+3.900 ± 0.248 (uniform)"
    assert differences == f"For single networks it is {low} to {high}."
    assert counted == (
        "Of 3 comparisons LDA-ELM is better in 1, beyond chance over networks in 1 and over test "
        "images in 1; PI-ELM is better in 1, beyond chance over networks in 1 and over test images in "
        "1 (beyond chance: p < 0.05 after Holm's correction)."
    )


def test_one_kind_of_weights_has_no_range_of_differences():
    records = [network(method, r, range(20 + r)) for method in ("pi", "lda") for r in range(3)]
    _, judged, counted = describe_findings(tabulate_best(records, []))
    assert judged.startswith("There PI − LDA is +0.000")
    assert counted.startswith("Of 1 comparison LDA-ELM is better in none; PI-ELM is better in none")


@pytest.mark.parametrize("wrong", ["1 2", "1 2 2", "1 2 1000", "1 2 x"])
def test_places_that_cannot_be(wrong):
    with pytest.raises(ValueError, match=r"wrong has|invalid literal"):
        ShapedRecord("uniform", "pi", 0.5, 1.0, 0, 784, 3, N_TEST, wrong, 1.0, 1.0, "mixed")
