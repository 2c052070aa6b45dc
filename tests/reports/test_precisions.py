"""scripts/check-precision on records whose differences are known."""

from dataclasses import fields, replace

import numpy as np
import pytest
from made_up import sweep_records
from scipy import stats
from simulated import load_script

from elmlda.reports.records import RunRecords
from elmlda.reports.write import render_markdown

check = load_script("check-precision")


@pytest.fixture
def runs(tmp_path):
    """Twelve networks in both precisions, and three more in mixed."""
    rng = np.random.default_rng(0)
    mixed = {f: rng.integers(300, 700, (15, 3)) / 100 for f in (1, 2)}
    rounded = {f: rates[:12] + rng.integers(-2, 3, (12, 3)) / 100 for f, rates in mixed.items()}

    def make(precision, rates):
        settings = {"precision": precision, "sha256": {}, "seed": 0}
        manifest = {"run": settings, "machines": [], "experiments": {}}
        records = sweep_records({f: values.tolist() for f, values in rates.items()})
        return RunRecords(tmp_path, manifest, records, *([] for _ in fields(RunRecords)[3:]))

    return make("bfloat16", rounded), make("mixed", mixed)


def test_pairs_of_the_same_network_by_scipys_paired_test(runs):
    table = check.compare_runs(*runs).set_index(["method", "fanout"])
    rounded, mixed = (
        {(r.repeat, r.fanout): (r.pi_errors, r.lda_errors) for r in run.sweep} for run in runs
    )
    for (method, fanout), row in table.iterrows():
        place = check.METHODS.index(method)
        errors = np.array([rounded[i, fanout][place] - mixed[i, fanout][place] for i in range(12)])
        expected = stats.ttest_1samp(errors / 100, 0).confidence_interval()
        assert row["repeats"] == 12
        assert row["difference"] == pytest.approx(errors.mean() / 100)
        assert (row["difference_low"], row["difference_high"]) == pytest.approx(tuple(expected))
        assert row["same_counts"] == (errors == 0).sum()
        assert row["largest_errors"] == abs(errors).max()


def test_the_page_counts_intervals_within_what_is_allowed(runs):
    table = check.compare_runs(*runs)
    table["difference_low"], table["difference_high"] = [-0.01, -0.011, 0, 0], [0.01, 0, 0.02, 0.01]
    table["difference"] = 0.0
    report = check.make_precision_report(table, *runs)
    assert report.headline.startswith("At 2 of 4 means the 95 % interval")
    assert "(12 networks)" in report.headline
    page = render_markdown(report)
    assert "\nscripts/check-precision\n" in page
    assert report.figures[0].files["svg"].startswith(b"<?xml")


def test_runs_that_differ_in_more_are_refused(runs):
    rounded, mixed = runs
    other = replace(mixed, manifest={**mixed.manifest, "run": {**mixed.settings, "seed": 1}})
    with pytest.raises(SystemExit, match="seed"):
        check.compare_runs(rounded, other)
