"""The report of a complete run of the paper's size, from simulated records: nothing is left open."""

import time

import numpy as np
import pytest
from made_up import calibration_records, make_run, mistake_records, sweep_records
from simulated import simulate_run

from elmlda.reports.claims.rule import Verdict
from elmlda.reports.write import report

SIZES = [784 * fanout for fanout in range(1, 21)]
EXPERIMENTS = {
    "sweep": {"repeats": 200, "n_hidden": SIZES},
    "ensemble": {"repeats": 10, "combine": ["mean"], "n": 20, "n_hidden": SIZES[-1]},
    "calibration": {"repeats": 10, "n_hidden": [SIZES[0], SIZES[4], SIZES[-1]], "n": [1, 2, 5, 20]},
    "timing": {"repeats": 3, "n_hidden": SIZES, "threads": 2, "chunk": 4000},
}
GROUPS = {(1, 1): 10, (5, 1): 10, (20, 1): 200, (20, 2): 100, (20, 5): 40, (20, 20): 10}
INDEPENDENT = (1, 3, 5, 10)


def simulate_calibration(rng):
    return calibration_records(
        {
            (fanout, size): [
                (98 + rng.normal(0, 0.1), 97 + size / 15 + rng.normal(0, 0.1)) for _ in range(groups)
            ]
            for (fanout, size), groups in GROUPS.items()
        }
    )


def simulate_independent(rng, records):
    """60 repeats with the mean and spread of the nested run's rates at these fan-outs."""
    drawn = {}
    for fanout in INDEPENDENT:
        rates = np.array(
            [
                (one.pi_errors, one.pi_constant_errors, one.lda_errors)
                for one in records
                if one.fanout == fanout
            ]
        )
        drawn[fanout] = rng.normal(rates.mean(0) / 100, rates.std(0) / 100, (60, 3)).tolist()
    return sweep_records(drawn)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, mnist):
    """Records of everything, as the paper's protocol asks for them."""
    rng = np.random.default_rng(3)
    records = simulate_run(rng)
    best = min((one for one in records["ensemble"] if one.size == 20), key=lambda one: one.errors)
    top = make_run(
        tmp_path_factory.mktemp("complete") / "run",
        experiments=EXPERIMENTS,
        mistakes=mistake_records(best.errors, repeat=best.repeat, labels=mnist.test.labels),
        calibration=simulate_calibration(rng),
        **records,
    )
    make_run(
        top / "independent",
        run={"design": "independent"},
        experiments={"sweep": {"repeats": 60, "n_hidden": [784 * f for f in INDEPENDENT]}},
        sweep=simulate_independent(rng, records["sweep"]),
    )
    return top


@pytest.fixture(scope="module")
def written(folder):
    """Without figures, which take most of the time."""
    return report(folder, ("csv", "md"))


def test_every_verdict_is_final_and_nothing_is_missing(written):
    made = written.report
    assert made.gaps == []
    assert made.departures == []
    judged = [claim for claim in made.claims if claim.verdict != Verdict.NOT_TESTED]
    assert not any(claim.interim for claim in judged)
    assert Verdict.OPEN not in {claim.verdict for claim in judged}


def test_the_first_two_lines_are_what_came_out_by_both_readings(written, folder):
    lines = (folder / "report.md").read_text("utf-8").split("\n\n")
    assert lines[1].startswith("**Reproduced: ")
    assert "of 12 statements" in lines[1]
    assert "of 26 rates; not reproduced: " in lines[1]
    assert lines[2].startswith("With a constant hidden unit in PI-ELM")
    assert str(written).split("\n")[1].strip() == lines[2]


def check_finished(text):
    """Nothing speaks of an unfinished run, but for the rule, which says what interim is."""
    before, rest = text.split("How verdicts are made", 1)
    for part in (before, rest.split("Not tested", 1)[1]):
        for word in ("nterim", "ot decided yet", "so far", "not run yet"):
            assert word not in part


def test_nothing_on_the_page_speaks_of_an_unfinished_run(written, folder):
    check_finished((folder / "report.md").read_text("utf-8"))


def test_it_has_all_sections_and_figures(written):
    made = written.report
    assert [section.key for section in made.sections] == [
        "claims", "rule", "untested", "table1", "constant", "readings", "ensemble", "calibration",
        "table2", "designs", "cells",
    ]  # fmt: skip
    assert {figure.name for figure in made.figures} == {
        "fig1", "improvement", "distance", "spread", "fig2", "confusion", "mistakes", "reliability",
        "times", "designs",
    }  # fmt: skip


@pytest.mark.slow
def test_it_takes_seconds_and_gives_the_same_bytes_again(folder):
    start = time.process_time()
    paths = report(folder).paths
    assert time.process_time() - start < 15
    first = {path: path.read_bytes() for path in paths}
    _, page = first[folder / "report.html"].decode().split("<main", 1)
    check_finished(page)
    again = report(folder)
    assert {path: path.read_bytes() for path in again.paths} == first
