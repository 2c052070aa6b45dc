"""The Gaussian twin: its sums and scores against samples that are really drawn."""

from itertools import product
from pathlib import Path
from runpy import run_path

import numpy as np
import pytest
from scipy import stats as sp

from elmlda.core.solve import solve_pi
from elmlda.core.sums import Sums

TWIN = run_path(str(Path(__file__).parents[1] / "scripts/twin"))
RNG = np.random.default_rng


@pytest.fixture
def gaussian():
    factor = np.array([[1.0, 0, 0], [0.5, 0.8, 0], [-0.3, 0.2, 0.6]])
    return TWIN["Gaussian"](np.array([[0.0, 1.0], [2.0, 0.0], [0.5, 0.5]]), factor)


def draw_samples(gaussian, labels, rng):
    return gaussian.means.T[labels] + rng.standard_normal((len(labels), 3)) @ gaussian.factor.T


def test_a_twins_distributions_are_those_of_the_samples(gaussian):
    labels = np.arange(2000) % 2
    hidden = draw_samples(gaussian, labels, RNG(0))
    sums = Sums.zeros(3, 2)
    sums.add(hidden, labels)
    found = TWIN["Gaussian"].of(sums)
    centred = hidden - np.array([hidden[labels == i].mean(axis=0) for i in (0, 1)])[labels]
    assert found.factor @ found.factor.T == pytest.approx(centred.T @ centred / 2000)
    assert found.means == pytest.approx(np.array([hidden[labels == i].mean(axis=0) for i in (0, 1)]).T)


def test_sums_of_a_twin_are_distributed_like_sums_over_normal_samples(gaussian):
    labels = np.repeat([0, 1], [5, 8])
    rng, counts, statistics = RNG(5), np.array([5.0, 8.0]), {"drawn": [], "direct": []}
    for _ in range(800):
        direct = Sums.zeros(3, 2)
        direct.add(draw_samples(gaussian, labels, rng), labels)
        for name, sums in (("drawn", gaussian.draw_sums(counts, rng)), ("direct", direct)):
            full = np.tril(sums.gram) + np.tril(sums.gram, -1).T
            values = np.linalg.eigvalsh(full).tolist(), full[1, 0], sums.class_sums.ravel().tolist()
            statistics[name].append(np.hstack(values))
    drawn, direct = (np.array(statistics[name]) for name in ("drawn", "direct"))
    for column in range(drawn.shape[1]):
        assert sp.ks_2samp(drawn[:, column], direct[:, column]).pvalue > 1e-3


def test_scores_of_a_twin_are_distributed_like_those_of_normal_samples(gaussian):
    rng, labels = RNG(6), np.arange(3000) % 2
    sums = Sums.zeros(3, 2)
    hidden = draw_samples(gaussian, labels, rng)
    sums.add(hidden, labels)
    pi = solve_pi(sums, (2, 3))
    drawn, direct = gaussian.draw_scores(pi, labels, rng), pi.scores(hidden)
    for size, label, weights in product(range(2), range(2), ([1, 0], [0, 1], [1, 1], [1, -1])):
        both = (scores[labels == label, size] @ weights for scores in (drawn, direct))
        assert sp.ks_2samp(*both).pvalue > 1e-3


def test_the_best_temperature_has_the_least_loss():
    rng = RNG(2)
    labels, scores = rng.integers(3, size=500), rng.normal(size=(500, 3))
    scores[np.arange(500), labels] += 1
    best, loss = TWIN["best_temperature"](scores, labels), TWIN["mean_loss"]
    assert (
        loss(best * scores, labels)
        <= min(loss(tau * scores, labels) for tau in best * np.linspace(0.9, 1.1, 21)) + 1e-9
    )
    assert np.isnan(TWIN["best_temperature"](np.eye(3), np.arange(3)))
