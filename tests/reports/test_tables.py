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

from elmlda import Sweep, load_dataset, paper
from elmlda.core.evaluate import calibration_error
from elmlda.reports import tables
from elmlda.reports.load import percents, read_records

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
    run = read(tmp_path, run=PETS, sweep=sweep(COUNTS, n_test=300), ensemble=ensemble, draws=draws)
    table = tables.ensemble_table(run).set_index("size")
    means = draws.query("left_out == -1").set_index("size")["errors"] / 3
    assert table["error_percent"].dropna().tolist() == pytest.approx(means.tolist())
    assert table["ensembles_percent"].tolist() == pytest.approx([29 / 3, 9, 25 / 3, 23 / 3])
    assert table["paper_error_percent"].isna().all()
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
    for kind, values in (("LDA-ELM", posteriors), ("with temperature", posteriors**0.5)):
        rows = bins[bins["posteriors"] == kind]
        assert (rows["accuracy"] * rows["samples"]).sum() == pytest.approx(3 * right)
        error = (rows["samples"] * abs(rows["confidence"] - rows["accuracy"])).sum() / rows[
            "samples"
        ].sum()
        assert error == pytest.approx(calibration_error(np.concatenate(values), np.tile(labels, 3)))


def test_tables_have_the_papers_shape(tmp_path):
    """Rows and columns of the paper's tables, whatever else the run has."""
    counts = {f: [(500 + f, 500 + f, 490 + f)] * 3 for f in (*range(1, 21), 30)}
    timing = simulate_timing(np.random.default_rng(1), fanouts=(*paper.FANOUTS, 11))
    run = read(tmp_path, sweep=sweep(counts), timing=timing)
    rates = tables.rate_table(run)
    table1 = tables.table1(run, rates)
    table2 = tables.in_papers_shape(
        tables.time_table(run.timing, beside_paper=True), "table2", by_fanout=True
    )
    for table, last in ((table1, "% improvement"), (table2, "% extra time")):
        assert table.columns.tolist() == ["method", "source", *map(str, paper.FANOUTS)]
        rows = [(m, s) for m in ("PI-ELM", "LDA-ELM", last) for s in ("ours", "paper")]
        assert list(table[["method", "source"]].itertuples(index=False, name=None)) == rows
    theirs = table1[table1["source"] == "paper"].drop(columns=["method", "source"]).to_numpy(float)
    printed = paper.PI_ERROR_PERCENT, paper.LDA_ERROR_PERCENT, paper.IMPROVEMENT_PERCENT
    assert theirs.tolist() == [list(row.values()) for row in printed]
    theirs = table2[table2["source"] == "paper"].drop(columns=["method", "source"]).to_numpy(float)
    assert theirs[0].tolist() == list(paper.PI_SECONDS.values())
    assert theirs[1].tolist() == list(paper.LDA_SECONDS.values())
    ours = table1.set_index(["method", "source"]).loc[("PI-ELM", "ours")]
    assert ours.tolist() == pytest.approx([5 + f / 100 for f in paper.FANOUTS])


def test_a_partial_run_has_the_columns_that_are_there(tmp_path):
    run = read(tmp_path, sweep=sweep(COUNTS))
    assert tables.table1(run, tables.rate_table(run)).columns.tolist() == ["method", "source", "1", "2"]
    run = read_records(make_run(tmp_path / "b", sweep=sweep({11: COUNTS[1]})))
    table = tables.table1(run, tables.rate_table(run))
    assert table.columns.tolist() == ["method", "source", "11"]  # none of the printed ones
    assert set(table["source"]) == {"ours"}


def test_own_data_have_hidden_units_and_baselines(tmp_path):
    rows = [(0, "majority", 20, 30), (1, "majority", 18, 30), (0, "logistic_regression", 3, 30)]
    baselines = pd.DataFrame(rows, columns=["fold", "method", "errors", "n_test"])
    run = read(tmp_path, run=PETS, sweep=sweep(COUNTS, 1000, 4), baselines=baselines)
    table = tables.table1(run, tables.rate_table(run))
    assert table.columns.tolist() == ["method", "source", "4", "8"]
    by_method = table.set_index("method")["4"]
    assert by_method["largest class"] == pytest.approx(100 * 38 / 60)
    assert by_method["logistic regression"] == pytest.approx(10)


def test_mistakes_are_counted_by_pairs_of_classes(tmp_path):
    posteriors, labels = draw_posteriors(np.random.default_rng(8), 5)
    folder = make_run(tmp_path / "run", run=PETS, sweep=sweep(COUNTS))
    keep(folder, posteriors, labels)
    confusion, mistakes = tables.count_mistakes(read_records(folder))
    for true in range(4):
        for guess in set(range(4)) - {true}:
            n = np.mean([((p.argmax(1) == guess) & (labels == true)).sum() for p in posteriors])
            assert confusion.iloc[true, guess] == pytest.approx(n)
    assert np.isnan(np.diag(confusion)).all()
    assert mistakes.empty  # nobody knows the images


def test_images_that_most_networks_misclassify(tmp_path):
    Sweep(dataset="digits", hidden="20", repeats=3).run(tmp_path)
    mistakes = tables.count_mistakes(read_records(tmp_path))[1]
    test = load_dataset("digits").split().test
    assert len(mistakes) > 3
    for image, true, predicted, share in mistakes.itertuples(index=False):
        assert share > 0.5
        assert true != predicted
        assert any(
            (image.ravel() == x).all() and str(y) == true
            for x, y in zip(test.inputs, test.labels, strict=True)
        )


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
    table = tables.tabulate_datasets(data_sets)
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
