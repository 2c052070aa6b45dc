"""Tables of small runs with known numbers."""

import numpy as np
import pandas as pd
import pytest
from made_runs import (
    MNIST,
    PETS,
    draw_posteriors,
    draws_table,
    keep,
    make_run,
    simulate_timing,
    sweep,
)  # fmt: skip
from scipy import stats as sp

from elmlda import Sweep
from elmlda.core.evaluate import calibration_error
from elmlda.reports import differences, tables
from elmlda.reports.load import differing, percents, read_records

COUNTS = {1: [(720, 715, 684), (730, 720, 690), (711, 713, 670)], 2: [(520, 519, 500)] * 3}


def read(folder, **parts):
    return read_records(make_run(folder / "run", **parts))


def test_table1_has_the_papers_numbers_beside_ours(tmp_path):
    table = tables.rate_table(read(tmp_path, sweep=sweep(COUNTS))).set_index("fanout")
    assert table["paper_pi_error_percent"].tolist() == [7.20, 5.21]
    assert table["paper_improvement_percent"].tolist() == [4.9, 3.5]
    assert table["pi_error_percent"].tolist() == pytest.approx([np.mean([7.2, 7.3, 7.11]), 5.2])
    ratio = 100 * (1 - (684 + 690 + 670) / (720 + 730 + 711))
    assert table.loc[1, "improvement_percent"] == pytest.approx(ratio)
    assert table.loc[1, "difference"] == pytest.approx((36 + 40 + 41) / 300)


@pytest.mark.parametrize(
    "setting",
    [
        {"activation": "softsign"}, {"input_weights": "constrained"}, {"ridge": 1.0}, {"bias": True},
        {"priors": "frequencies"}, {"weight_range": 1.0}, {"input_scale": 1.0}, PETS,
    ],
)  # fmt: skip
def test_other_settings_or_data_have_nothing_of_the_papers(tmp_path, setting):
    run = read(tmp_path, run={**MNIST, **setting}, sweep=sweep(COUNTS, ridge=setting.get("ridge", 0)))
    assert not run.matches_paper
    assert tables.rate_table(run).filter(regex="^paper_|_z$").isna().all(axis=None)


@pytest.mark.parametrize(
    ("settings", "options", "is_papers"),
    [
        ({"seed": 7}, {}, True), ({"design": "independent"}, {}, True), ({"ridge": [0, "gcv"]}, {}, True),
        ({}, {"folds": 10}, False), ({}, {"validation": 10_000}, False),
    ],
)  # fmt: skip
def test_what_keeps_a_run_comparable_with_the_paper(tmp_path, settings, options, is_papers):
    run = read(tmp_path, run=MNIST | settings, experiments={"sweep": options}, sweep=sweep(COUNTS))
    assert run.matches_paper == is_papers


def test_each_ridge_has_its_rows_and_only_none_is_the_papers(tmp_path):
    parts = [
        sweep(COUNTS), sweep(COUNTS, ridge=0.1), sweep(COUNTS, rule="gcv", ridge=3.5),
    ]  # fmt: skip
    parts[2].loc[0, "ridge"] = 7.0
    run = read(tmp_path, run={**MNIST, "ridge": [0, 0.1, "gcv"]}, sweep=pd.concat(parts))
    table = tables.rate_table(run)
    assert table["ridge"].tolist() == ["none"] * 2 + ["0.1"] * 2 + ["by GCV"] * 2
    assert table["paper_pi_error_percent"].notna().tolist() == [True] * 2 + [False] * 4
    assert table["mean_ridge"].iloc[4] == pytest.approx(14 / 3)
    assert set(run.primary["ridge_label"]) == {"none"}


def test_a_size_without_lda_leaves_gaps(tmp_path):
    run = read(tmp_path, sweep=sweep({1: [(720, 700, None)] * 4, 2: [(520, 510, 500)] * 4}))
    first, second = (row for _, row in tables.rate_table(run).iterrows())
    assert first["pi_error_percent"] == 7.2
    assert first[["lda_error_percent", "difference", "improvement_percent", "p"]].isna().all()
    assert second["lda_error_percent"] == 5.0


def test_table2_is_the_mean_of_log_ratios(tmp_path):
    timing = simulate_timing(np.random.default_rng(1), extra=0.07)
    table = tables.time_table(timing, beside_paper=True).set_index("fanout")
    wide = timing.pivot(index=["fanout", "pair"], columns="method", values="cpu_seconds")
    logs = np.log(wide["lda"] / wide["pi"])
    for fanout, row in table.iterrows():
        interval = sp.ttest_1samp(logs[fanout], 0).confidence_interval()
        expected = 100 * np.expm1([logs[fanout].mean(), *interval])
        overhead = row[["overhead_percent", "overhead_low", "overhead_high"]].to_numpy(float)
        assert overhead == pytest.approx(expected)
    # Half of PI's time is the hidden outputs'.
    assert table["output_overhead_percent"].mean() == pytest.approx(14, abs=1)
    assert table.loc[20, "paper_overhead_percent"] == pytest.approx(100 * (702 / 630 - 1))
    assert table.loc[20, "pi_cpu_seconds"] == pytest.approx(400, rel=0.05)


def test_ensembles_by_draws_and_by_separate_ensembles(tmp_path):
    posteriors, labels = draw_posteriors(np.random.default_rng(2), 8)
    draws = draws_table(posteriors, labels, 500, 3)
    rows = [(r, s, 30 - 2 * s + r, 300, 0.5) for r in range(3) for s in range(1, 5)]
    ensemble = pd.DataFrame(rows, columns=["repeat", "size", "errors", "n_test", "log_loss"])
    changes = np.array([-1, -4, 1])  # errors of each ensemble's tempered posteriors less the others
    ensemble["tempered_errors"] = ensemble["errors"] + changes[ensemble["repeat"]]
    run = read(tmp_path, run=PETS, sweep=sweep(COUNTS, n_test=300), ensemble=ensemble, draws=draws)
    table = tables.ensemble_table(run).set_index("size")
    means = draws.query("left_out == -1").set_index("size")["errors"] / 3
    assert table["error_percent"].dropna().tolist() == pytest.approx(means.tolist())
    assert table["ensembles_percent"].tolist() == pytest.approx([29 / 3, 9, 25 / 3, 23 / 3])
    assert table["paper_error_percent"].isna().all()
    assert table["tempered_percent"].tolist() == pytest.approx(table["ensembles_percent"] - 4 / 9)
    scores = tables.posterior_table(run)
    assert scores["networks"].tolist() == [2, 3, 4]


def test_scores_and_reliability(tmp_path):
    posteriors, labels = draw_posteriors(np.random.default_rng(3), 3)
    table = sweep(COUNTS).assign(log_loss=[0.4, 0.5, 0.6, 0.1, 0.1, 0.1], temperature=0.5)
    table["tempered_brier"] = [0.2, 0.3, 0.7, np.nan, np.nan, np.nan]  # not computed at one size
    folder = make_run(tmp_path / "run", sweep=table)
    keep(folder, posteriors, labels, tempered=posteriors**0.5)
    run = read_records(folder)
    scores = tables.posterior_table(run)
    assert scores["log_loss"].tolist() == pytest.approx([0.5, 0.1])
    assert scores["repeats"].tolist() == [3, 3]
    assert scores["fanout"].tolist() == [1, 2]
    assert scores["temperature"].tolist() == [0.5, 0.5]
    half = sp.ttest_1samp([0.2, 0.3, 0.7], 0).confidence_interval().high - 0.4
    expected = [0.4, half, np.nan, np.nan]
    brier = scores[["tempered_brier", "tempered_brier_interval"]].to_numpy().ravel()
    assert brier == pytest.approx(expected, nan_ok=True)
    right = np.mean([(p.argmax(axis=1) == labels).sum() for p in posteriors])
    bins = tables.reliability(run)
    for kind, values in (("by Eq. (14)", posteriors), ("tempered", posteriors**0.5)):
        rows = bins[bins["posteriors"] == kind]
        assert (rows["accuracy"] * rows["samples"]).sum() == pytest.approx(3 * right)
        error = (rows["samples"] * abs(rows["confidence"] - rows["accuracy"])).sum() / rows[
            "samples"
        ].sum()
        assert error == pytest.approx(calibration_error(np.concatenate(values), np.tile(labels, 3)))


def test_folds_have_labels_of_their_own_and_overlap(tmp_path):
    Sweep(dataset="iris", hidden="4,20", folds=5, repeats=2).run(tmp_path)
    run = read_records(tmp_path)
    bins = tables.reliability(run)
    assert bins["samples"].sum() == 150
    first = run.sweep.query("repeat == 0 and n_hidden == 20")
    right = (bins["accuracy"] * bins["samples"]).sum()
    assert 150 - right == pytest.approx(first["lda_errors"].sum())
    losses = run.sweep.query("n_hidden == 20")["log_loss"]
    half = sp.t.ppf(0.975, 9) * losses.std() * np.sqrt(1 / 10 + 1 / 4)
    assert tables.posterior_table(run)["log_loss_interval"].iloc[-1] == pytest.approx(half)


def test_paired_runs_are_compared_network_by_network(tmp_path):
    rng = np.random.default_rng(4)
    base = [tuple(rng.integers(680, 720, 3)) for _ in range(12)]
    other = [tuple(np.array(row) + rng.integers(-3, 4, 3)) for row in base]
    double = {**MNIST, "precision": "double"}
    runs = {
        "double": read_records(make_run(tmp_path / "a", run=double, sweep=sweep({1: other}))),
        "mixed": read_records(make_run(tmp_path / "b", sweep=sweep({1: base}))),
    }
    assert differences.choose_reference(runs) == "mixed"
    assert differing(runs) == ["precision"]
    table = differences.tabulate_differences(runs, "mixed")
    rows = table[table["run"] == "double"].set_index("method")
    for place, method in enumerate(("pi", "pi_constant", "lda")):
        counts = np.array(other)[:, place] - np.array(base)[:, place]
        test = sp.ttest_1samp(counts / 100, 0)
        assert rows.loc[method, "difference"] == pytest.approx(counts.mean() / 100)
        assert rows.loc[method, "p"] == pytest.approx(test.pvalue)
    assert rows["paper_error_percent"].tolist() == [7.20, 7.20, 6.84]


def test_counts_that_differ_between_precisions(tmp_path):
    """Thirty of forty networks have a second run, with known changes."""
    rng = np.random.default_rng(7)
    counts = {f: rng.integers(300, 700, (40, 3)) for f in (1, 2, 3)}
    changed = {f: counts[f][:30].copy() for f in (1, 2)}
    changed[1][[0, 4], 0] += [1, -2]
    changed[2][4, 0] += 5
    double = {**MNIST, "precision": "double"}
    runs = {
        "mixed": read_records(make_run(tmp_path / "a", sweep=sweep(counts))),
        "double": read_records(make_run(tmp_path / "b", run=double, sweep=sweep(changed))),
    }
    table = differences.count_differences(runs, "mixed").set_index("method")
    assert table["counts"].tolist() == [60, 60, 60]
    assert table["differing"].tolist() == [3, 0, 0]
    assert table.loc["pi", ["by_1", "by_2", "by_more", "largest"]].tolist() == [1, 1, 1, 5]
    means = np.zeros(30)
    means[[0, 4]] = [0.5, 1.5]
    test = sp.ttest_1samp(means / 100, 0)
    assert table.loc["pi", "difference"] == pytest.approx(means.mean() / 100)
    assert table.loc["pi", "p"] == pytest.approx(test.pvalue)
    assert table.loc["lda", ["difference", "p"]].tolist() == [0, 1]


def test_runs_with_other_weights_are_two_samples(tmp_path):
    rng = np.random.default_rng(5)
    counts = [{1: [tuple(rng.integers(680, 720, 3)) for _ in range(n)]} for n in (9, 7)]
    designs = ({}, {"design": "independent"})
    runs = {
        str(i): read_records(make_run(tmp_path / str(i), run={**MNIST, **design}, sweep=sweep(count)))
        for i, (design, count) in enumerate(zip(designs, counts, strict=True))
    }
    row = differences.tabulate_differences(runs, "0").query("run == '1' and method == 'lda'").iloc[0]
    a, b = (np.array(count[1])[:, 2] / 100 for count in reversed(counts))
    test = sp.ttest_ind(a, b, equal_var=False)
    interval = test.confidence_interval()
    assert row["p"] == pytest.approx(test.pvalue)
    assert row["difference_interval"] == pytest.approx((interval.high - interval.low) / 2)
    assert not row["paired"]


@pytest.fixture
def data_sets(tmp_path):
    """Return two cross-validated runs and one with a test part."""
    rng, runs = np.random.default_rng(6), {}
    for name, folds in (("ants", 5), ("bees", 5), ("cats", None)):
        parts = []
        for fold in range(folds or 1):
            counts = {f: rng.integers(20, 40, (4, 3)) - [5, 5, 0] for f in (1, 2)}
            place = fold if folds else np.nan
            parts += [sweep(counts, 100, 4, rule, fold=place) for rule in ("fixed", "gcv")]
        run = {"dataset": name, "sha256": {"x": name}, "ridge": [0, "gcv"]}
        experiments = {"sweep": {"folds": folds} if folds else {}}
        folder = tmp_path / name
        runs[name] = read_records(
            make_run(folder, run=run, experiments=experiments, sweep=pd.concat(parts))
        )
    return runs


def test_comparison_corrects_for_folds_and_each_kind_by_itself(data_sets):
    table = differences.tabulate_datasets(data_sets)
    assert len(table) == 3 * 2 * 2
    cell = table.query("dataset == 'ants' and fanout == 1 and ridge == 'none'").iloc[0]
    rates = percents(data_sets["ants"].primary)
    gap = (rates["pi"] - rates["lda"])[1].to_numpy()
    error = np.sqrt((1 / 20 + 1 / 4) * gap.var(ddof=1))
    assert cell["p"] == pytest.approx(2 * sp.t.sf(abs(gap.mean()) / error, 19))
    single = table.query("dataset == 'cats' and fanout == 1 and ridge == 'none'").iloc[0]
    rates = percents(data_sets["cats"].primary)
    assert single["p"] == pytest.approx(sp.ttest_rel(rates["pi"][1], rates["lda"][1]).pvalue)
    for kind, n in (("folds", 8), ("test part", 4)):
        family = table[table["tested_on"] == kind]
        assert len(family) == n
        smallest = family.loc[family["p"].idxmin()]
        assert smallest["p_holm"] == pytest.approx(min(1, n * smallest["p"]))
