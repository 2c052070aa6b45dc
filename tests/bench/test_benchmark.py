"""Races, their outcome, the law of cost, and what is written of them."""

import resource
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import LinAlgWarning

from elmlda.bench import benchmark, peers
from elmlda.bench.benchmark import (
    CONTESTANTS,
    Absence,
    CostLaw,
    Difference,
    GrowthPoint,
    Measurement,
    PeerWarning,
    RacePlan,
    Standing,
    find_differences,
    fit_law,
    measure_nested,
    measure_peak_bytes,
    nested_sizes,
    rank_contestants,
    run_benchmark,
    run_race,
)
from elmlda.bench.peers import PEERS
from elmlda.networks.cost import Problem
from elmlda.report.bench_report import (
    describe_best_pair,
    write_growth,
    write_measurements,
    write_race,
)
from elmlda.settings import NetworkSettings, Resources

FANOUTS = (1, 2, 3, 4)
SETTINGS = NetworkSettings(weight_range=1.0, priors="frequencies", precision="double")
INSTALLED = [name for name in PEERS if not peers.why_absent(name, "tanh")]


@pytest.fixture(scope="module")
def dataset(make_dataset):
    return make_dataset(600, 200, 6, 4)


@pytest.fixture
def plan(dataset):
    return RacePlan(dataset, FANOUTS, CONTESTANTS, FANOUTS, 3, SETTINGS, Resources())


@pytest.fixture
def result(plan, monkeypatch):
    monkeypatch.setattr(benchmark, "PRODUCT_SIZE", 64)
    monkeypatch.setattr(benchmark, "PRODUCT_SECONDS", 0.01)
    problem = Problem(600, 200, 6, 4, plan.sizes)
    return run_benchmark(plan.dataset, plan.sizes, plan.seed, SETTINGS, Resources(), problem)


def split(outcomes):
    outcomes = list(outcomes)
    absences = [outcome for outcome in outcomes if isinstance(outcome, Absence)]
    return [outcome for outcome in outcomes if isinstance(outcome, Measurement)], absences


def measurement(contestant, fanout, seconds=1.0, pi=None, lda=None):
    counts = [() if errors is None else (errors,) for errors in (pi, lda)]
    return Measurement(contestant, (fanout,), seconds, *counts)


# Against the limit


def test_a_network_between_two_measurements_of_speed(result, plan):
    assert result.network.sizes == (6, 12, 18, 24)
    assert 0 < result.limit_seconds < result.seconds
    assert result.hidden_speed > 1e6
    assert result.solver_speed > 1e6
    nested = measure_nested(plan, result)
    assert nested.errors("pi") == dict(zip(FANOUTS, result.network.pi_errors, strict=True))
    assert nested.errors("lda") == dict(zip(FANOUTS, result.network.lda_errors, strict=True))


def test_peak_memory_is_of_this_process():
    # The system does not count every page at once, and a process inherits ru_maxrss.
    peak = measure_peak_bytes()
    assert 1 << 24 < peak < 1.1 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def test_peak_memory_without_proc(monkeypatch):
    def missing(*args, **kwargs):
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_text", missing)
    assert measure_peak_bytes() == resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


# The race


def test_contestants_agree_at_every_fanout(result, plan):
    measurements, absences = split(run_race(plan))
    assert {absence.contestant for absence in absences} == set(PEERS) - set(INSTALLED)
    assert [(m.contestant, m.fanouts) for m in measurements] == [
        (name, (fanout,)) for name in ("independent", *INSTALLED) for fanout in FANOUTS
    ]
    nested = measure_nested(plan, result)
    assert find_differences(nested, measurements) == []
    assert all(m.seconds > 0 for m in measurements)
    for m in measurements:
        methods = {method for method in ("pi", "lda") if m.errors(method)}
        if m.contestant == "independent":
            assert methods == {"pi", "lda"}
        else:
            assert methods == {PEERS[m.contestant].method}


def test_independent_is_measured_at_all_fanouts_whatever_the_peers_are(plan):
    plan = replace(plan, contestants=("pinv", "independent"), peer_fanouts=(1, 2, 4))
    measurements, _ = split(run_race(plan))
    timed = {name: [] for name in plan.contestants}
    for m in measurements:
        timed[m.contestant] += m.fanouts
    assert timed == {"independent": [1, 2, 3, 4], "pinv": [1, 2, 4]}


def test_without_contestants_nothing_is_run(plan):
    assert list(run_race(replace(plan, contestants=()))) == []


def test_a_contestant_with_wrong_counts_voids_the_race(result, plan, monkeypatch):
    wrong = replace(PEERS["pinv"], predict=lambda task, weights: np.zeros(200, int))
    monkeypatch.setitem(PEERS, "pinv", wrong)
    measurements, _ = split(run_race(replace(plan, contestants=("independent", "pinv"))))
    differences = find_differences(measure_nested(plan, result), measurements)
    assert [(d.contestant, d.method, d.fanout) for d in differences] == [
        ("pinv", "pi", fanout) for fanout in FANOUTS
    ]
    assert all(difference.voids for difference in differences)


def test_one_error_is_rounding_and_two_are_not():
    nested = Measurement("nested", (1, 2), 1.0, (50, 40), (45, 35))
    others = [
        measurement("a", 1, pi=50),
        measurement("b", 2, pi=41),
        measurement("c", 2, lda=33),
        measurement("d", 1, pi=49, lda=45),
    ]
    differences = find_differences(nested, others)
    assert differences == [
        Difference("b", "pi", 2, 41, 40),
        Difference("c", "lda", 2, 33, 35),
        Difference("d", "pi", 1, 49, 50),
    ]
    assert [difference.voids for difference in differences] == [False, True, False]
    assert str(differences[1]) == "c, LDA at fan-out 2: 33 errors, nested has 35"


def test_an_absent_peer_is_named(plan, monkeypatch):
    monkeypatch.setattr(benchmark, "why_absent", lambda name, activation: "went for a walk")
    outcomes = list(run_race(replace(plan, contestants=("hpelm",))))
    assert outcomes == [Absence("hpelm", FANOUTS, "went for a walk")]


def test_what_does_not_fit_is_named_and_the_rest_is_run(plan, monkeypatch):
    monkeypatch.setattr(
        benchmark, "why_too_large", lambda name, task, size: "too large" if size > 12 else None
    )
    measurements, absences = split(run_race(replace(plan, contestants=("pinv",))))
    assert [m.fanouts for m in measurements] == [(1,), (2,)]
    assert absences == [Absence("pinv", (3,), "too large"), Absence("pinv", (4,), "too large")]


def test_a_peers_warning_says_whose_it_is(plan, monkeypatch):
    def warn(task, weights):
        warnings.warn("ill-conditioned", LinAlgWarning, stacklevel=2)
        return np.zeros(200, int)

    monkeypatch.setitem(PEERS, "pinv", replace(PEERS["pinv"], predict=warn))
    with pytest.warns(PeerWarning, match=r"^pinv at fan-out 4: ill-conditioned$"):
        list(run_race(replace(plan, contestants=("pinv",), peer_fanouts=(4,))))


# The outcome


def standings_of(plan, others, absences=()):
    nested = Measurement("nested", plan.fanouts, 2.0, (9,) * 4, (8,) * 4)
    rows = rank_contestants(plan, nested, 1.0, others, absences)
    return {row.contestant: row for row in rows}


def test_measured_sums_and_ratios(plan):
    plan = replace(plan, contestants=("independent", "pinv"))
    others = [measurement("independent", f, f, pi=9, lda=8) for f in FANOUTS]
    others += [measurement("pinv", f, 2 * f, pi=9 + (f == 2)) for f in FANOUTS]
    standings = standings_of(plan, others)
    assert list(standings) == ["nested", "limit", "independent", "pinv"]
    assert standings["nested"] == Standing(
        "nested", "PI and LDA", "1-4", 2.0, "measured", 1.0, "yes", ""
    )
    assert standings["limit"].ratio_to_nested == 0.5
    assert standings["limit"].errors_agree == ""
    assert standings["independent"] == Standing(
        "independent", "PI and LDA", "1-4", 10.0, "measured", 5.0, "yes", ""
    )
    assert standings["pinv"] == Standing("pinv", "PI", "1-4", 20.0, "measured", 10.0, "within 1", "")


def test_wrong_counts_show_in_the_table(plan):
    plan = replace(plan, contestants=("pinv",))
    others = [measurement("pinv", f, pi=9 + 2 * (f == 3)) for f in FANOUTS]
    assert standings_of(plan, others)["pinv"].errors_agree == "no"


def test_sums_over_fanouts_that_were_not_timed_are_fitted(plan):
    plan = replace(plan, contestants=("sklearn-lda",), peer_fanouts=(1, 2, 4))
    law = CostLaw(600, 1e-7, 1e-6, 1e-6)
    others = [measurement("sklearn-lda", f, law.seconds(6 * f), lda=8) for f in (1, 2, 4)]
    row = standings_of(plan, others)["sklearn-lda"]
    assert row.kind == "fitted"
    assert row.methods == "LDA"
    assert row.seconds == pytest.approx(sum(law.seconds(6 * f) for f in FANOUTS))
    assert row.note == "timed at fan-outs 1,2,4, where the fitted law is off by 0.0 % at most"


def test_too_few_fanouts_are_no_sum(plan):
    plan = replace(plan, contestants=("pinv",))
    others = [measurement("pinv", f, pi=9) for f in (1, 2)]
    absences = [Absence("pinv", (f,), "too large") for f in (3, 4)]
    row = standings_of(plan, others, absences)["pinv"]
    assert row.kind == "absent"
    assert np.isnan(row.seconds)
    assert np.isnan(row.ratio_to_nested)
    assert row.note == "fan-out 3: too large; fan-out 4: too large"


# The law of cost


SIZES = [784 * f for f in (1, 2, 4, 7, 10)]


@pytest.mark.parametrize(
    "law",
    [
        CostLaw(60_000, 1.1e-11, 3e-11, 2e-8),
        CostLaw(60_000, 1e-11, 0.0, 5e-8),
        CostLaw(60_000, 0.0, 2e-10, 0.0),
    ],
)
def test_fitting_recovers_known_coefficients(law):
    fitted = fit_law(60_000, SIZES, [law.seconds(size) for size in SIZES])
    for name in ("gram", "factorisation", "projection"):
        assert getattr(fitted, name) == pytest.approx(getattr(law, name), rel=1e-6, abs=1e-16)


def test_fitting_is_robust_to_noise_and_never_negative():
    rng = np.random.default_rng(0)
    law = CostLaw(60_000, 1e-11, 1e-11, 1e-8)
    for _ in range(50):
        noisy = [law.seconds(size) * rng.uniform(0.95, 1.05) for size in SIZES]
        fitted = fit_law(60_000, SIZES, noisy)
        assert min(fitted.gram, fitted.factorisation, fitted.projection) >= 0
        total, expected = (sum(x.seconds(784 * f) for f in range(1, 11)) for x in (fitted, law))
        assert total == pytest.approx(expected, rel=0.05)


def test_the_law_is_what_it_says():
    law = CostLaw(100, 2.0, 3.0, 5.0)
    assert law.seconds(10) == 2.0 * 100 * 10**2 + 3.0 * 10**3 + 5.0 * 100 * 10


def test_sizes_of_a_nested_network():
    assert nested_sizes(784, 3) == (784, 1568, 2352)


# What is written


STANDINGS = [
    Standing("nested", "PI and LDA", "1-4", 2.0, "measured", 1.0, "yes", ""),
    Standing("limit", "PI and LDA", "1-4", 1.5, "measured", 0.75, "", "at matrix-multiply speed"),
    Standing("sklearn-lda", "LDA", "1-4", 123.4, "fitted", 61.7, "within 1", "timed at 1,2,4"),
    Standing("hpelm", "PI", "1-4", float("nan"), "absent", float("nan"), "", "not installed"),
]


def write(folder, differences=()):
    machine = {"cpu": "Abacus", "blas": ["one", "two"]}
    return write_race(folder, "clouds", STANDINGS, differences, machine, "elmlda bench --seed 7")


def test_a_race_is_written(tmp_path):
    paths = write(tmp_path)
    assert [path.name for path in paths] == ["bench.csv", "bench.md", "bench.png", "bench.svg"]
    table = pd.read_csv(tmp_path / "bench.csv", keep_default_na=False)
    assert list(table["contestant"]) == ["nested", "limit", "sklearn-lda", "hpelm"]
    assert list(table["seconds"]) == ["2", "1.5", "123.4", ""]
    page = (tmp_path / "bench.md").read_text()
    assert page.startswith("# clouds\n")
    assert "| sklearn-lda | LDA | 1-4 | 123.40 | fitted | 61.70 | within 1 |" in page
    assert "| hpelm | PI | 1-4 |  | absent |  |  |" in page
    assert "not installed.\n" in page
    assert 'LinearDiscriminantAnalysis(solver="lsqr")` of scikit-learn 1.' in page
    assert "    elmlda bench --seed 7\n" in page
    assert "- cpu: Abacus\n- blas: one, two\n" in page
    assert "VOID" not in page
    assert "differ" not in page
    svg = (tmp_path / "bench.svg").read_text()
    assert "123 s (fitted), 61.70 ×" in svg
    assert "hpelm" not in svg


def test_a_void_race_is_called_so_everywhere(tmp_path):
    write(tmp_path, [Difference("sklearn-lda", "lda", 3, 12, 8)])
    assert (tmp_path / "bench.md").read_text().startswith("# VOID, error counts differ: clouds\n")
    assert "- sklearn-lda, LDA at fan-out 3: 12 errors, nested" in (tmp_path / "bench.md").read_text()
    assert "VOID" in (tmp_path / "bench.svg").read_text()


def test_one_error_is_reported_and_not_void(tmp_path):
    write(tmp_path, [Difference("sklearn-lda", "lda", 3, 9, 8)])
    page = (tmp_path / "bench.md").read_text()
    assert "- sklearn-lda, LDA at fan-out 3: 9 errors, nested has 8\n" in page
    assert "VOID" not in page


def test_the_same_race_gives_the_same_bytes(tmp_path):
    contents = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        contents.append([path.read_bytes() for path in write(tmp_path / name)])
    assert contents[0] == contents[1]


def test_measurements_are_written(tmp_path):
    nested = Measurement("nested", (1, 2, 3), 1.25, (9, 8, 7), (6, 5, 4))
    path = write_measurements(tmp_path, [nested, measurement("pinv", 2, 0.5, pi=8)])
    assert path.read_text().splitlines() == [
        "contestant,fanouts,seconds,pi_errors,lda_errors",
        "nested,1-3,1.25,9 8 7,6 5 4",
        "pinv,2,0.5,8,",
    ]


def test_growth_is_written_with_its_law(tmp_path):
    law = CostLaw(600, 1e-7, 1e-6, 1e-6)
    points = [GrowthPoint(f, 6 * f, law.seconds(6 * f), 1000 * f) for f in (1, 2, 3, 5)]
    contents = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        paths = write_growth(tmp_path / name, points, 600, [1001, 2002, 3003, 5005])
        contents.append([path.read_bytes() for path in paths])
    assert contents[0] == contents[1]
    assert [path.name for path in paths] == ["growth.csv", "growth.png", "growth.svg"]
    table = pd.read_csv(paths[0])
    assert list(table) == [
        "fanout", "n_hidden", "seconds", "fitted_seconds", "peak_bytes", "predicted_bytes",
    ]  # fmt: skip
    assert np.allclose(table["seconds"], table["fitted_seconds"])
    assert list(table["peak_bytes"]) == [1000, 2000, 3000, 5000]


def test_two_points_have_no_law(tmp_path):
    points = [GrowthPoint(f, 6 * f, float(f), 1000 * f) for f in (1, 2)]
    paths = write_growth(tmp_path, points, 600, [1001, 2002])
    assert pd.read_csv(paths[0])["fitted_seconds"].isna().all()


def test_the_best_peers_together_are_told():
    rows = [
        *STANDINGS[:3],
        Standing("pinv", "PI", "1-4", 40.0, "measured", 20.0, "yes", ""),
        Standing("sklearn-ridge", "PI", "1-4", 6.0, "measured", 3.0, "yes", ""),
        STANDINGS[3],
    ]
    assert describe_best_pair(rows) == (
        "The fastest peers for both methods, sklearn-ridge and sklearn-lda, take 129.4 s together "
        "(fitted): **64.7 times** the nested network's time."
    )
    assert describe_best_pair(STANDINGS) == ""  # hpelm is absent: nobody for PI
