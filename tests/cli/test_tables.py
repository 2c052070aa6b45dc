"""The tables that commands print: the paper's columns, intervals, 80 columns, no NaN."""

from types import SimpleNamespace

import pytest
from made_up import timing_records

from elmlda import Ensemble, Sweep, Timing
from elmlda.cli.tables import WIDTH, Column, format_table, show_records
from elmlda.experiments.ensemble import EnsembleRecord
from elmlda.experiments.sweep import SweepRecord

PAPERS, OTHER = True, False
"""Whether the data are the paper's."""


def show(experiment, records, is_papers_data):
    return show_records(SimpleNamespace(experiment=experiment, is_papers_data=is_papers_data), records)


def sweep_records(fanouts, repeats=2):
    return [
        SweepRecord(repeat, fanout, 784 * fanout, 700 + repeat, 700, 650, 10_000, 1.0, "mixed")
        for repeat in range(repeats)
        for fanout in fanouts
    ]


def test_a_column_of_numbers_with_intervals():
    columns = (Column("size", "n", "{:d}"), Column("rate\n%", "value", half="half"))
    rows = [{"n": 1, "value": 2.084, "half": 0.71}, {"n": 10, "value": -0.001, "half": float("nan")}]
    assert format_table(columns, rows).splitlines() == [
        "             rate",
        "size            %",
        "   1  2.08 ± 0.71",
        "  10         0.00",
    ]


def test_a_column_without_a_value_is_left_out():
    columns = (Column("size", "n", "{:d}"), Column("paper", "value"))
    assert "paper" not in format_table(columns, [{"n": 1, "value": float("nan")}])


def test_the_papers_times_beside_ours():
    seconds = {fanout: [(100.0, 101.5, 100.1)] for fanout in (1, 11, 20)}
    lines = show(Timing(), timing_records(seconds), PAPERS).splitlines()
    assert lines[0].split()[-3:] == ["paper"] * 3
    ours = ["1", "100.0", "101.5", "100.1", "1.50", "0.10"]
    assert lines[2].split() == ["1", *ours, "6.2", "6.2", "0.0"]
    assert lines[3].split() == ["11", *ours]
    assert lines[4].split()[-3:] == ["630", "702", "11.4"]
    assert len({len(line) for line in (lines[1], lines[2], lines[4])}) == 1
    assert "nan" not in "".join(lines)


def test_the_interval_of_the_mean_overhead():
    records = timing_records({1: [(10.0, 10.1, 10.0), (10.0, 10.2, 10.0), (20.0, 20.6, 20.0)]})
    row = show(Timing(), records, OTHER).splitlines()[2]
    assert row.split()[4:] == ["10.00", "2.00", "±", "2.48", "0.00", "±", "0.00"]


def test_the_papers_ensembles_beside_ours():
    records = [EnsembleRecord(0, size, "mean", 190, 10_000) for size in (1, 2, 3)]
    lines = show(Ensemble(fanout=20), records, PAPERS).splitlines()
    assert lines[0].endswith("paper")
    assert [line.split()[-1] for line in lines[2:]] == ["2.08", "1.86", "1.90"]
    assert "paper" not in show(Ensemble(fanout=5), records, PAPERS)


@pytest.mark.parametrize("is_papers_data", [PAPERS, OTHER])
def test_sizes_are_shown_as_they_were_asked_for(is_papers_data):
    by_fanout = show(Sweep(), sweep_records([1, 2]), is_papers_data)
    by_units = show(Sweep(hidden="784,1568"), sweep_records([1, 2]), is_papers_data)
    assert by_fanout.splitlines()[1].split()[0] == "fan-out"
    assert [line.split()[0] for line in by_units.splitlines()] == ["hidden", "units", "784", "1,568"]


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
    assert all("%" in line or ", s" in line or "±" in line for line in lines[1:])
