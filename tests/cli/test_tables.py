"""The tables that commands print: the paper's columns, intervals, 80 columns, no NaN."""

from types import SimpleNamespace

import pandas as pd
import pytest
from made_up import timing_records

from elmlda import Ensemble, Sweep, Timing
from elmlda.cli.tables import WIDTH, format_table, show_records
from elmlda.experiments.ensemble import EnsembleRecord
from elmlda.experiments.sweep import SweepRecord
from elmlda.reports.model import Column, make_table

PAPERS, OTHER = True, False
"""Whether the data are the paper's."""


def show(experiment, records, is_papers_data):
    sizes = (784 * getattr(experiment, "fanout", 1),)
    plan = {"experiment": experiment, "settings": experiment.settings, "sizes": sizes}
    return show_records(SimpleNamespace(**plan, is_papers_data=is_papers_data), records)


def sweep_records(fanouts, repeats=2):
    return [
        SweepRecord(repeat, fanout, 784 * fanout, 700 + repeat, 700, 650, 10_000, 1.0, "mixed")
        for repeat in range(repeats)
        for fanout in fanouts
    ]


def format_rows(columns, rows):
    return format_table(make_table("", pd.DataFrame(rows), columns)).splitlines()


def test_a_column_of_numbers_with_intervals():
    columns = (Column("kind", "name"), Column("error rate, %", "value", ".2f", half="half"))
    rows = [
        {"name": "a", "value": 2.084, "half": 0.71},
        {"name": "bcdef", "value": -0.001, "half": float("nan")},
    ]
    assert format_rows(columns, rows) == [
        "       error rate,",
        "kind             %",
        "a      2.08 ± 0.71",
        "bcdef         0.00",
    ]


def test_a_column_without_a_value_is_left_out():
    columns = (Column("size", "n", ".0f"), Column("paper", "value"))
    assert format_rows(columns, [{"n": 1, "value": float("nan")}]) == ["size", "   1"]


def test_extra_columns_are_shown_as_far_as_there_is_room():
    wide, narrow = "w" * (WIDTH - 5), "n" * 6
    columns = [Column("size", "n", ".0f"), Column(wide, "w", ".0f", extra=True)]
    columns += [Column(narrow, "value", ".0f", extra=True), Column("end", "value", ".0f")]
    assert format_rows(columns, [{"n": 1, "w": 2, "value": 3}])[0] == f"size  {narrow}  end"


def test_distances_from_the_paper_are_left_to_the_report():
    assert " z " not in show(Sweep(), sweep_records([1, 2]), PAPERS)


def test_the_papers_times_beside_ours():
    seconds = {fanout: [(100.0, 101.5, 100.1)] for fanout in (1, 11, 20)}
    lines = show(Timing(), timing_records(seconds), PAPERS).splitlines()
    *_, titles, first, eleven, last = lines
    assert titles.split().count("paper") == 3
    assert first.split()[:8] == ["1", "1", "100.0", "6.2", "101.5", "6.2", "1.500", "0.0"]
    assert eleven.split()[:5] == ["11", "1", "100.0", "101.5", "1.500"]
    assert last.split()[:8] == ["20", "1", "100.0", "630.0", "101.5", "702.0", "1.500", "11.4"]
    assert "nan" not in "".join(lines)


def test_the_interval_of_the_mean_overhead():
    records = timing_records({1: [(10.0, 10.1, 10.0), (10.0, 10.2, 10.0), (20.0, 20.6, 20.0)]})
    row = show(Timing(), records, OTHER).splitlines()[-1]
    assert row.split()[4:7] == ["2.000", "±", "2.484"]


def test_the_papers_ensembles_beside_ours():
    records = [EnsembleRecord(0, size, "mean", 190, 10_000) for size in (1, 2, 3)]
    lines = show(Ensemble(fanout=20), records, PAPERS).splitlines()
    assert lines[0].endswith("paper")
    assert [line.split()[-1] for line in lines[2:]] == ["2.08", "1.86", "1"]
    assert "paper" not in show(Ensemble(fanout=5), records, PAPERS)


def test_other_input_weights_are_not_the_papers():
    constrained = Sweep(input_weights="constrained", weight_norm=1.0)
    assert "paper" not in show(constrained, sweep_records([1]), PAPERS)


@pytest.mark.parametrize("is_papers_data", [PAPERS, OTHER])
def test_sizes_are_shown_as_they_were_asked_for(is_papers_data):
    by_fanout = show(Sweep(), sweep_records([1, 2]), is_papers_data)
    by_units = show(Sweep(hidden="784,1568"), sweep_records([1, 2]), is_papers_data)
    assert "Hidden" not in by_fanout
    assert [line.split()[:2] for line in by_fanout.splitlines()[-2:]] == [["1", "2"], ["2", "2"]]
    assert [line.split()[:2] for line in by_units.splitlines()[-2:]] == [["1", "784"], ["2", "1,568"]]


@pytest.mark.parametrize(
    ("experiment", "records"),
    [
        (Sweep(), sweep_records([1, 20])),
        (Timing(), timing_records({20: [(630.0, 702.5, 700.0), (631.0, 702.9, 701.0)]})),
    ],
    ids=["sweep", "timing"],
)
def test_tables_fit_a_terminal(experiment, records):
    lines = show(experiment, records, PAPERS).splitlines()
    assert max(map(len, lines)) <= WIDTH
