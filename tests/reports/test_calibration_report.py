"""Are they posteriors? The table against pandas and scipy, the words, and the whole section."""

import re

import numpy as np
import pandas as pd
import pytest
from made_up import calibration_records, make_run, sweep_records
from matplotlib.figure import Figure
from scipy import stats

from elmlda.reports.subjects.calibration import (
    FEWEST,
    explain_calibration,
    merge_bins,
    plot_reliability,
    tabulate_calibration,
)
from elmlda.reports.write import report

KINDS = {
    (1, 1): [(98.0, 93.0), (98.2, 93.1), (98.1, 93.3)],
    (20, 1): [(99.9, 98.0), (99.8, 97.9), (99.9, 97.8), (99.9, 97.9)],
    (20, 2): [(98.3, 98.2), (98.2, 98.3)],
    (20, 20): [(98.0, 98.9)],
}
PLANNED = {"calibration": {"repeats": 3, "n_hidden": [784, 15680], "n": [1, 2, 20]}}


@pytest.fixture(scope="module")
def records():
    return calibration_records(KINDS)


@pytest.fixture(scope="module")
def table(records):
    return tabulate_calibration(records[::-1])


@pytest.fixture(scope="module")
def folder(records, tmp_path_factory):
    made = make_run(
        tmp_path_factory.mktemp("calibrated") / "run", experiments=PLANNED, calibration=records
    )
    report(made)
    return made


def bins_of(row):
    return pd.DataFrame(
        {
            name: np.array(row[f"bin_{name}"].split(" "), float)
            for name in ("counts", "confidences", "correct")
        }
    )


def test_the_table_is_what_pandas_and_scipy_make_of_the_file(folder):
    rows = pd.read_csv(folder / "calibration.csv")
    table = pd.read_csv(folder / "calibration_table.csv").set_index(["n_hidden", "size"])
    rows["accuracy"] = 1 - rows["errors"] / rows["n_test"]
    rows["gap"] = rows["confidence"] - rows["accuracy"]
    assert table["groups"].tolist() == [3, 4, 2, 1]
    assert table["fanout"].tolist() == [1, 20, 20, 20]
    for kind, group in rows.groupby(["n_hidden", "size"]):
        found, n = table.loc[kind], len(group)
        t = stats.t.ppf(0.975, n - 1)
        for name, values in {
            "log_loss": group["log_loss"],
            "brier": group["brier"],
            "ece": group["ece"],
            "confidence": 100 * group["confidence"],
            "accuracy": 100 * group["accuracy"],
        }.items():
            column = f"{name}_percent" if f"{name}_percent" in table else name
            assert found[column] == pytest.approx(values.mean(), rel=1e-5)
            half = t * values.std() / np.sqrt(n)
            assert found[f"{name}_interval"] == pytest.approx(half, rel=1e-4, abs=1e-9, nan_ok=True)
        assert found["floored"] == 3
        assert found["overconfidence"] == pytest.approx(100 * group["gap"].mean(), rel=1e-4)
        errors, chances = [], []
        for _, row in group.iterrows():
            bins = bins_of(row)
            sure = bins["confidences"] / bins["counts"].where(bins["counts"] > 0, 1)
            each = np.repeat(
                np.concatenate([1 - sure, -sure]),
                [*bins["correct"], *(bins["counts"] - bins["correct"])],
            )
            errors.append(100 * each.std() / np.sqrt(len(each)))
            variances = bins["counts"] * sure * (1 - sure)
            chances.append(np.sqrt(2 / np.pi) * np.sqrt(variances).sum() / len(each))
        over_groups = 0 if n == 1 else t * 100 * group["gap"].std() / np.sqrt(n)
        both = np.hypot(over_groups, stats.norm.ppf(0.975) * np.mean(errors))
        assert found["overconfidence_interval"] == pytest.approx(both, rel=1e-4)
        assert found["ece_by_chance"] == pytest.approx(np.mean(chances), rel=1e-4)


def test_words(table):
    half = {
        (row["n_hidden"], row["size"]): row["overconfidence_interval"] for _, row in table.iterrows()
    }
    by_chance = table["ece_by_chance"].iloc[-1]
    assert explain_calibration(table) == (
        f"Single networks are overconfident by 4.97 ± {half[784, 1]:.2f} points at fan-out 1 and 1.98 "
        f"± {half[15680, 1]:.2f} at fan-out 20. Networks of fan-out 20 are neither over- nor "
        f"underconfident beyond chance with 2 combined (0.00 ± {half[15680, 2]:.2f} points); "
        f"underconfident by 0.90 ± {half[15680, 20]:.2f} points with 20 combined. Their calibration "
        "error is 0.0198 alone and 0.0090 with 20 combined, where calibrated posteriors would have "
        f"{by_chance:.4f} by chance; their log-loss is 0.200 and 0.200."
    )


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        (
            {(1, 1): [(98.0, 93.0)]},
            r"Single networks are overconfident by 5\.00 ± 0\.\d\d points at fan-out 1\.",
        ),
        (
            {(2, 2): [(96.0, 96.1)], (2, 5): [(96.2, 96.1)]},
            r"Networks of fan-out 2 are neither over- nor underconfident beyond chance with 2 combined "
            r"\(−0\.10 ± 0\.\d\d points\) and with 5 combined \(0\.10 ± 0\.\d\d points\)\. Their "
            r"calibration error is 0\.0010 with 2 combined and 0\.0010 with 5 combined, .*",
        ),
    ],
)
def test_words_of_less(kinds, expected):
    assert re.fullmatch(expected, explain_calibration(tabulate_calibration(calibration_records(kinds))))


def test_bins_of_all_groups(records):
    merged = merge_bins(records, 15680, 1)
    assert merged.n_samples == 40_000
    assert merged.accuracy == pytest.approx(0.979)


def curves(figure):
    """Panel's title -> label -> points, without the diagonal."""
    return {
        axes.get_title(): {line.get_label(): line.get_xydata() for line in axes.lines[1:]}
        for axes in figure.axes
    }


def test_the_figure_has_a_point_for_every_bin(records, table):
    bins = {
        (f, s): merge_bins(records, n, s)
        for f, n, s in table[["fanout", "n_hidden", "size"]].itertuples(index=False)
    }
    figure = Figure()
    plot_reliability(figure, bins)
    found = curves(figure)
    assert {title: list(lines) for title, lines in found.items()} == {
        "Single networks": ["fan-out 20", "fan-out 1"],
        "Networks of fan-out 20 combined": ["one network", "2 networks", "20 networks"],
    }
    twenty = found["Networks of fan-out 20 combined"]["20 networks"]
    np.testing.assert_allclose(twenty, [[0.8, 0.89], [1, 1]])


def test_the_figure_leaves_out_bins_of_few_samples_and_empty_panels():
    (record,) = calibration_records({(1, 1): [(98.0, 93.0)]})
    few = record.reliability
    few.counts[0], few.correct[0], few.confidence_sums[0] = FEWEST - 1, 0, 0.5
    few.counts[1], few.correct[1], few.confidence_sums[1] = FEWEST, 5, 2
    figure = Figure()
    plot_reliability(figure, {(1, 1): few})
    (lines,) = curves(figure).values()
    np.testing.assert_allclose(lines["fan-out 1"][0], [0.1, 0.25])
    assert len(lines["fan-out 1"]) == 3


def test_the_section_is_in_both_pages(folder):
    for name in ("report.md", "report.html"):
        text = re.sub(r"base64,[A-Za-z0-9+/=]+", "", (folder / name).read_text()).replace("&#39;", "'")
        assert "Are they posteriors?" in text
        assert "Single networks are overconfident by 4.97" in text
        assert "+4.97 ± " in text
        assert "99.88 ± 0.08" in text
        assert "in 15 bins of equal width" in text
        assert "Calibration has 10 of 96 planned groups of networks." in text.replace("\\", "")
        assert not re.search(r"\bnan\b", text)
    for suffix in ("png", "svg"):
        assert (folder / f"reliability.{suffix}").stat().st_size > 1000


def test_a_run_without_calibration_has_no_such_section(tmp_path):
    made = make_run(tmp_path / "run", sweep=sweep_records({1: [(7.2, 6.9)]}))
    names = {path.name for path in report(made).paths}
    assert not {"calibration_table.csv", "reliability.png"} & names
    assert "posteriors?" not in (made / "report.md").read_text()


def test_the_same_records_give_the_same_bytes(folder, records, tmp_path):
    again = make_run(tmp_path / "again", experiments=PLANNED, calibration=records[::-1])
    for path in report(again).paths:
        assert path.read_bytes() == (folder / path.name).read_bytes(), path.name
