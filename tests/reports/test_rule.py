"""The rule on simulated runs where the truth is known: scripts/check-rule with fewer runs."""

import math

import numpy as np
import pytest
from simulated import load_script

from elmlda import paper
from elmlda.reports.claims.evidence import LDA, PI
from elmlda.reports.claims.rule import Kind, Verdict

N_RUNS = 25
script = load_script()


@pytest.fixture(scope="module")
def residuals():
    return script.read_residuals()


def judge(rng, residuals, **truth):
    runs = (script.draw_run(rng, script.make_truth(**truth), residuals) for _ in range(N_RUNS))
    tally, refuted = script.judge_runs(runs)
    shares = {
        row: {verdict: np.mean([v == verdict for v in verdicts]) for verdict in Verdict}
        for row, verdicts in tally.items()
    }
    return shares, refuted


def test_a_right_paper_is_reproduced(residuals):
    shares, refuted = judge(np.random.default_rng(1), residuals)
    assert sum(refuted) == 0
    for row in ("rates of PI-ELM", "rates of LDA-ELM", "the rate of one network"):
        assert shares[row][Verdict.REPRODUCED] > 0.95, row
    assert all(share[Verdict.NOT_REPRODUCED] < 0.1 for share in shares.values())
    assert shares["the rate of two networks"][Verdict.REPRODUCED] > 0.8
    assert {share[Verdict.OPEN] for share in shares.values()} == {0}


def test_a_wrong_paper_is_refuted(residuals):
    """4 % off, twice what the region allows; the other reading and LDA-ELM are as printed."""
    shares, refuted = judge(np.random.default_rng(2), residuals, pi_factor=1.04)
    assert shares["rates of PI-ELM"][Verdict.NOT_REPRODUCED] > 0.9
    assert shares["rates of PI-ELM with a constant unit"][Verdict.REPRODUCED] > 0.95
    assert shares["rates of LDA-ELM"][Verdict.REPRODUCED] > 0.95
    assert shares["the average improvement"][Verdict.NOT_REPRODUCED] == 1
    assert min(refuted) >= 10


def test_z_is_as_large_as_chance_makes_it(residuals):
    """Ours and the paper's drawn from the same truth: 5 % of rates lie beyond 1.96."""
    rng = np.random.default_rng(3)
    z = []
    for _ in range(60):
        run = script.draw_run(rng, script.sample_truth(rng, residuals), residuals)
        z += [c.z for c in script.judge_claims(run) if c.kind == Kind.RATE]
    assert np.mean(np.abs(z) > 1.96) == pytest.approx(0.05, abs=0.02)
    assert np.std(z) == pytest.approx(1, abs=0.1)


def test_looks_early_have_less(residuals):
    run = script.draw_run(np.random.default_rng(4), script.make_truth(), residuals)
    early = script.look_early(run, 50)
    assert (len(early.rates), len(early.pairs), len(early.ensembles)) == (50, 15, 2)
    whole = script.look_early(run, 200)
    assert (len(whole.rates), len(whole.pairs), len(whole.ensembles)) == (200, 90, 10)


def test_simulated_runs_have_the_truth_and_the_spread(residuals):
    rng = np.random.default_rng(5)
    truth = script.make_truth()
    runs = [script.draw_run(rng, truth, residuals) for _ in range(20)]
    rates = np.concatenate([run.rates for run in runs])
    np.testing.assert_allclose(rates.mean(axis=0), truth.rates, atol=0.02)
    np.testing.assert_allclose(rates.std(axis=0), residuals.std(axis=0, ddof=1), rtol=0.1)
    both = np.corrcoef(rates[:, 0, PI], rates[:, 0, LDA])[0, 1]
    known = np.corrcoef(residuals[:, 0, PI], residuals[:, 0, LDA])[0, 1]
    assert both == pytest.approx(known, abs=0.05)
    ensembles = np.concatenate([run.ensembles for run in runs]).mean(axis=0)
    for size, printed in paper.ENSEMBLE_ERROR_PERCENT.items():
        assert ensembles[size - 1] == pytest.approx(printed, abs=0.02)
    assert np.mean([run.pairs[:, 0].mean() for run in runs]) == pytest.approx(1.86, abs=0.01)
    spread = np.concatenate([run.pairs[:, 0] for run in runs]).std()
    one = residuals[:, -1, LDA].std(ddof=1)
    assert spread == pytest.approx(math.hypot(one / math.sqrt(2), script.COMBINED_SPREAD), rel=0.15)
