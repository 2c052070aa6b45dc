"""Nested against independent: simulated runs whose truth is known, recomputed with pandas and scipy."""

import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from made_up import N_TEST, make_run
from scipy import stats

from elmlda.experiments.sweep import SweepRecord
from elmlda.reports.gaps import find_design_gaps
from elmlda.reports.records import read_run
from elmlda.reports.subjects.designs import find_independent, tabulate_designs
from elmlda.reports.write import find_folders, report

METHODS = ("pi", "pi_constant", "lda")
FANOUTS = (1, 3, 5, 10)
FORMATS = ("csv", "figures", "md")
PLAN = {"sweep": {"repeats": 60, "n_hidden": [784 * fanout for fanout in FANOUTS]}}


def simulate(rng, n_repeats, fanouts, correlation=0.0, shift=0.0, spread=12):
    """Counts around 700/√fan-out, whose fan-outs of one repeat correlate."""
    common = rng.normal(size=n_repeats)
    records = []
    for fanout in fanouts:
        own = np.sqrt(correlation) * common + np.sqrt(1 - correlation) * rng.normal(size=n_repeats)
        for repeat, deviation in enumerate(own):
            center = 700 / np.sqrt(fanout) + shift + spread * deviation
            counts = [round(center - 10 * i + rng.normal(0, 3)) for i in range(3)]
            records.append(SweepRecord(repeat, fanout, 784 * fanout, *counts, N_TEST, 1.0, "mixed"))
    return records


def make_both(folder, seed=0, run=None, nested=None, **how):
    rng = np.random.default_rng(seed)
    nested = nested or simulate(rng, 200, (1, 2, 3, 5, 10), correlation=0.6)
    make_run(folder, experiments={"sweep": {"repeats": 200}}, sweep=nested)
    settings = {"design": "independent", **(run or {})}
    independent = simulate(rng, 60, FANOUTS, **how)
    make_run(folder / "independent", run=settings, experiments=PLAN, sweep=independent)
    return folder


def section(folder):
    text = (folder / "report.md").read_text()
    return (
        text.partition("## Nested against independent")[2].partition("## This run")[0].replace("\\", "")
    )


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    return report(make_both(tmp_path_factory.mktemp("designs") / "run"), FORMATS)


@pytest.fixture
def rates(written):
    """Rates of a design, method and fan-out, from the files alone."""
    folder = written.folder
    frames = {"nested": pd.read_csv(folder / "sweep.csv")}
    frames["independent"] = pd.read_csv(folder / "independent/sweep.csv")

    def find(design, method):
        frame = frames[design]
        return frame.assign(rate=100 * frame[f"{method}_errors"] / frame["n_test"]).pivot(
            index="repeat", columns="fanout", values="rate"
        )

    return find


def test_every_number_of_the_table_from_the_files_alone(written, rates):
    table = pd.read_csv(written.folder / "designs.csv").set_index(["method", "fanout"])
    assert list(table.index) == [(method, fanout) for method in METHODS for fanout in FANOUTS]
    for (method, fanout), row in table.iterrows():
        nested, independent = (rates(design, method)[fanout] for design in ("nested", "independent"))
        assert (row["nested_repeats"], row["independent_repeats"]) == (200, 60)
        assert row["nested_error_percent"] == pytest.approx(nested.mean(), rel=1e-5)
        assert row["independent_sd"] == pytest.approx(independent.std(), rel=1e-5)
        welch = stats.ttest_ind(nested, independent, equal_var=False)
        interval = welch.confidence_interval(0.95)
        assert [row["difference_low"], row["difference_high"]] == pytest.approx(interval, rel=1e-4)
        assert row["difference_p"] == pytest.approx(welch.pvalue, rel=1e-4)
        ratio = nested.std() / independent.std()
        limits = [ratio / np.sqrt(stats.f(199, 59).ppf(q)) for q in (0.975, 0.025)]
        assert row["sd_ratio"] == pytest.approx(ratio, rel=1e-4)
        assert [row["sd_ratio_low"], row["sd_ratio_high"]] == pytest.approx(limits, rel=1e-4)
        levene = stats.levene(nested, independent, center="median").pvalue
        assert row["brown_forsythe_p"] == pytest.approx(levene, rel=1e-4)


def test_correlations_of_neighbouring_fanouts(written, rates):
    """By scipy: 0.6 but for the counts' own noise in the nested design, 0 in the independent one."""
    found = {
        design: [
            stats.pearsonr(rates(design, method)[a], rates(design, method)[b]).statistic
            for method in METHODS
            for a, b in ((1, 3), (3, 5), (5, 10))
        ]
        for design in ("nested", "independent")
    }
    nested, independent = (f"{min(r):.2f} to {max(r):.2f}".replace("-", "−") for r in found.values())
    assert min(found["nested"]) > 0.3
    assert (
        f"its rates at fan-outs 1 and 3, 3 and 5, 5 and 10 correlate by {nested}, in the independent "
        f"design by {independent}."
    ) in section(written.folder)


def test_the_independent_sweep_has_no_report_of_its_own(written):
    assert find_folders(written.folder.parent) == [written.folder]


def test_holms_correction_is_for_all_rows(written):
    table = pd.read_csv(written.folder / "designs.csv")
    for test in ("difference", "sd_ratio"):
        ordered = table.sort_values(f"{test}_p", ignore_index=True)
        factors = 12 - np.arange(12)
        expected = (ordered[f"{test}_p"] * factors).clip(upper=1).cummax()
        np.testing.assert_allclose(ordered[f"{test}_p_holm"], expected, rtol=1e-4)


def test_the_sentences_follow_from_the_table(written):
    table = pd.read_csv(written.folder / "designs.csv")
    text = section(written.folder)
    holds = ((table["difference_low"] <= 0) & (table["difference_high"] >= 0)).sum()
    assert f"Of 12 differences of means, {holds} have a 95 % interval that holds 0 (0.6 are" in text
    holds = ((table["sd_ratio_low"] <= 1) & (table["sd_ratio_high"] >= 1)).sum()
    assert f"Of 12 ratios of standard deviations, {holds} have a 95 % interval that holds 1" in text
    assert "No difference between the designs is found in any mean or standard deviation." in text
    largest = table[["difference_low", "difference_high"]].abs().to_numpy().max()
    assert f"means differ by at most {largest:.3f} points" in text
    assert {"designs.csv", "designs.png", "designs.svg"} <= {path.name for path in written.paths}


@pytest.mark.parametrize(
    ("how", "differing"),
    [({"shift": 12}, "Of 12 differences of means, 0 have"), ({"spread": 24}, "deviations, 0 have")],
)
def test_designs_that_differ_are_found(tmp_path, how, differing):
    written = report(make_both(tmp_path / "run", **how), ("csv", "md"))
    text = section(written.folder)
    assert "The designs differ beyond chance: PI-ELM at fan-out 1, " in text
    assert differing in text
    assert "for 12 tests 12 differ" in text


def test_a_true_null_is_refused_as_seldom_as_the_correction_says(written):
    """Both families together: at most 10 % of runs of equal designs are said to differ."""
    run = read_run(written.folder)
    rng = np.random.default_rng(1)
    wrong = 0
    for _ in range(60):
        nested = replace(run, sweep=simulate(rng, 200, FANOUTS, correlation=0.6))
        table = tabulate_designs(nested, replace(run, sweep=simulate(rng, 60, FANOUTS)))
        wrong += (table[["difference_p_holm", "sd_ratio_p_holm"]] < 0.05).any(axis=None)
    assert wrong <= 12, "more than 10 % by more than chance (binomial, p < 0.01)"


@pytest.mark.parametrize(
    ("settings", "obstacle"),
    [
        ({"seed": 1}, "seed 1 there, 0 here"),
        (
            {"ridge": 0.5, "activation": "relu"},
            "activation relu there, tanh here; ridge 0.5 there, 0.0",
        ),
        ({"sha256": {"train-images": "ab"}, "dataset": "mine"}, "it has other data"),
        ({"design": "nested"}, "its design is nested"),
        ({"input_weights": "constrained"}, "input_weights constrained there, None here"),
    ],
)
def test_another_run_is_named_as_not_comparable(tmp_path, settings, obstacle):
    report(make_both(tmp_path / "run", run=settings), ("csv", "md"))
    assert not (tmp_path / "run/designs.csv").exists()
    assert section(tmp_path / "run") == ""
    gaps = list(find_design_gaps(read_run(tmp_path / "run")))
    assert len(gaps) == 1
    assert gaps[0].startswith(f"The run in independent/ is not comparable with this one: {obstacle}")
    assert gaps[0] in (tmp_path / "run/report.md").read_text().replace("\\", "")


def test_no_fanout_in_common(tmp_path):
    nested = simulate(np.random.default_rng(0), 5, (2, 4))
    run = read_run(make_both(tmp_path / "run", nested=nested))
    assert find_independent(run) is None
    assert "they have no fan-out in common." in next(find_design_gaps(run))


def test_an_independent_run_that_has_begun(tmp_path):
    folder = make_both(tmp_path / "run")
    (folder / "independent/sweep.csv").unlink()
    assert read_run(folder).independent is None
    rng = np.random.default_rng(0)
    make_run(folder / "independent", {"design": "independent"}, PLAN, sweep=simulate(rng, 1, (1, 3)))
    report(folder, FORMATS)
    assert "There are too few repeats to compare the designs." in section(folder)
    assert list(find_design_gaps(read_run(folder))) == [
        "The independent design has 2 of 240 planned results."
    ]
    assert not re.search(r"\bnan\b", section(folder), re.IGNORECASE)
    assert "nan" not in (folder / "designs.csv").read_text().lower()


def test_the_same_records_give_the_same_bytes(written, tmp_path):
    folder = make_both(tmp_path / "elsewhere")
    program = f"import sys; from elmlda import report; report(sys.argv[1], {FORMATS})"
    subprocess.run([sys.executable, "-c", program, folder], check=True)
    for path in written.paths:
        assert (folder / path.name).read_bytes() == path.read_bytes(), path.name
