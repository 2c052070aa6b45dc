"""Both readings of PI-ELM against Table 1 as a whole: recomputed, and in words."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made_up import make_run, sweep_records
from scipy import stats

from elmlda import paper
from elmlda.reports.subjects.readings import describe_readings, tabulate_readings
from elmlda.reports.write import make_report

MNIST = Path(__file__).parents[2] / "results/mnist"
FANOUTS = list(paper.FANOUTS)
PRINTED = {"pi": list(paper.PI_ERROR_PERCENT.values()), "lda": list(paper.LDA_ERROR_PERCENT.values())}


@pytest.fixture(scope="module")
def rates():
    """Method -> the committed run's rates, n_repeats × 13."""
    sweep = pd.read_csv(MNIST / "sweep.csv")
    return {
        method: sweep.pivot(index="repeat", columns="fanout", values=f"{method}_errors")[FANOUTS] / 100
        for method in ("pi", "pi_constant", "lda")
    }


@pytest.mark.parametrize(
    ("method", "reading"), [("pi", "Eq. (5)"), ("pi_constant", "with a constant unit")]
)
def test_recomputed_with_pandas_and_scipy(rates, method, reading):
    found = pd.read_csv(MNIST / "readings.csv").set_index("reading").loc[reading]
    pi, lda, n = rates[method], rates["lda"], len(rates["lda"])
    assert found["repeats"] == n
    for name, by_fanout, printed, roundings in (
        ("excess", pi, PRINTED["pi"], 1),
        ("gap", pi - lda, np.subtract(PRINTED["pi"], PRINTED["lda"]), 2),
    ):
        means = by_fanout.mean(axis=1)
        distance = means.mean() - np.mean(printed)
        papers = by_fanout.var().sum() / 13**2 / 200 + roundings * 0.01**2 / 12 / 13
        z = distance / np.sqrt(means.var() / n + papers)
        value = distance if name == "excess" else means.mean()
        half = means.sem() * stats.t.ppf(0.975, n - 1)
        numbers = [found[name], found[f"{name}_interval"], found[f"{name}_distance"]]
        np.testing.assert_allclose(numbers, [value, half, z], rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("eq5", "constant", "end"),
    [
        (3.5, -0.7, "probably had a constant unit."),
        (0.7, -3.5, "probably had no constant unit."),
        (1.2, -0.7, "Chance explains both: the rates do not tell which PI-ELM the paper has."),
        (4.0, 2.5, "Chance explains neither."),
    ],
)
def test_in_words(eq5, constant, end):
    table = pd.DataFrame(
        {"reading": ["Eq. (5)", "with a constant unit"], "gap_distance": [eq5, constant]}
    )
    text = describe_readings(table)
    assert text.startswith(f"PI − LDA against the paper's: z {eq5:+.1f} by Eq. (5), ")
    assert text.endswith(end)


def test_it_needs_three_networks_with_all_printed_fanouts(tmp_path):
    few = {fanout: [(7.2, 7.1, 6.8)] * 2 for fanout in FANOUTS}
    assert tabulate_readings(sweep_records(few)).empty
    assert tabulate_readings(sweep_records({1: [(7.2, 7.1, 6.8)] * 5})).empty
    report = make_report(make_run(tmp_path / "run", sweep=sweep_records(few)))
    assert "readings" not in report.tables
    assert "readings" not in {section.key for section in report.sections}
