"""Differences between runs, which the article reads: paired and unpaired ones, and counts."""

import article_differences as differences
import numpy as np
import pytest
from made_runs import MNIST, make_run, sweep
from scipy import stats as sp

from elmlda.reports.load import read_records


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
    assert differences.differing(runs) == ["precision"]
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
