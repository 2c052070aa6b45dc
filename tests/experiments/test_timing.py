"""Timing: what is timed is right, whole, in rotating order, and tabulated as by hand."""

import math
import struct
import time
from itertools import pairwise

import numpy as np
import pytest

from elmlda.core.solve import LostPrecisionError, solve_pi
from elmlda.core.statistics import Statistics
from elmlda.core.stopwatch import Stopwatch
from elmlda.datasets import load_dataset
from elmlda.experiments import timing
from elmlda.experiments.timing import METHODS, TimingPlan, TimingRecord, run_timing
from elmlda.networks import train
from elmlda.networks.jobs import run_job
from elmlda.networks.train import run_network
from elmlda.report.tables import tabulate_timing
from elmlda.settings import DatasetRef, NetworkSettings, Resources

PARTS = ("projection", "activation", "gram", "factorisation", "solve", "lda", "test")
N_INPUTS, SEED = 36, 7


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory):
    """Return a folder of IDX files: 600 + 200 images of 6 × 6, in 4 classes that overlap."""
    folder = tmp_path_factory.mktemp("tiny")
    rng = np.random.default_rng(1)
    centres = rng.uniform(60, 190, (4, N_INPUTS))
    for part, n_samples in (("train", 600), ("t10k", 200)):
        labels = rng.permutation(np.arange(n_samples) % 4).astype(np.uint8)
        images = rng.normal(centres[labels], 60).clip(0, 255).astype(np.uint8)
        head = struct.pack(">2xBB3I", 8, 3, n_samples, 6, 6)
        (folder / f"{part}-images-idx3-ubyte").write_bytes(head + images.tobytes())
        head = struct.pack(">2xBBI", 8, 1, n_samples)
        (folder / f"{part}-labels-idx1-ubyte").write_bytes(head + labels.tobytes())
    return folder


def make_plan(data_dir=None, fanouts=(1, 2), repeats=2):
    sizes = tuple(N_INPUTS * fanout for fanout in fanouts)
    ref = DatasetRef(data_dir=data_dir)
    return TimingPlan(ref, N_INPUTS, sizes, repeats, SEED, NetworkSettings(), Resources(chunk=250))


def make_record(repeat, fanout, method, seconds):
    parts = [seconds / 10] * len(PARTS)
    return TimingRecord(repeat, fanout, fanout * N_INPUTS, method, seconds, *parts)


# What is timed


def test_each_method_counts_the_errors_that_the_sweep_counts(data_dir):
    dataset = load_dataset(data_dir=data_dir)
    plan = make_plan(data_dir)
    timed = list(run_timing(plan.jobs(), N_INPUTS))
    assert len(timed) == 2 * 2 * 3
    for result, record in timed:
        weights = np.random.SeedSequence(SEED, spawn_key=(record.repeat, record.fanout))
        rng, sizes = np.random.default_rng(weights), (record.n_hidden,)
        expected = run_network(dataset, rng, sizes, plan.settings, plan.resources)
        assert 0 < expected.lda_errors[0] < expected.n_test
        assert result.pi_errors == (() if record.method == "lda" else expected.pi_errors)
        assert result.lda_errors == (() if record.method == "pi" else expected.lda_errors)
        assert result.pi_constant_errors == ()
        n_rows = 0 if record.method == "pi" else expected.n_test
        np.testing.assert_allclose(result.posteriors, expected.posteriors[:n_rows], atol=1e-4)


def test_pi_alone_needs_nothing_of_lda(data_dir, monkeypatch):
    def refuse(*_):
        raise AssertionError("LDA was derived")

    monkeypatch.setattr(train, "derive_lda", refuse)
    result = run_network(
        load_dataset(data_dir=data_dir), np.random.default_rng(0), (36,), methods=("pi",)
    )
    assert len(result.pi_errors) == 1


def test_unknown_methods_are_refused(data_dir):
    dataset = load_dataset(data_dir=data_dir)
    with pytest.raises(ValueError, match=r"methods are \('LDA',\): expected some of"):
        run_network(dataset, np.random.default_rng(0), (36,), methods=("LDA",))


def test_parts_are_no_more_than_the_whole(data_dir):
    for _, record in run_timing(make_plan(data_dir).jobs(), N_INPUTS):
        parts = [getattr(record, part) for part in PARTS]
        assert min(parts) == 0 if record.method == "pi" else min(parts) > 0
        assert (record.lda > 0) == (record.method != "pi")
        assert sum(parts) <= record.seconds


def test_time_lost_by_starting_again_in_double_counts(data_dir, monkeypatch):
    def fail_in_float32(statistics, *arguments):
        if statistics.gram.dtype == np.float32:
            time.sleep(0.2)
            raise LostPrecisionError("not enough")
        return solve_pi(statistics, *arguments)

    monkeypatch.setattr(train, "solve_pi", fail_in_float32)
    result = run_network(load_dataset(data_dir=data_dir), np.random.default_rng(0), (36,))
    assert result.precision == "double"
    assert result.seconds > 0.2
    assert sum(result.part_seconds.values()) <= result.seconds


@pytest.mark.parametrize("dead_units", [0, 3])
@pytest.mark.filterwarnings("ignore::elmlda.core.solve.RankWarning")
def test_factorisation_and_solve_are_told_apart(dead_units):
    rng = np.random.default_rng(0)
    hidden, labels = rng.normal(size=(100, 20)), np.arange(100) % 4
    hidden[:, 20 - dead_units :] = 0
    statistics = Statistics.zeros(20, 4)
    statistics.add(hidden, labels)
    watch = Stopwatch()
    watched = solve_pi(statistics, (10, 20), watch=watch)
    assert set(watch.parts) == {"factorisation", "solve"}
    assert min(watch.parts.values()) > 0
    np.testing.assert_array_equal(watched.weights, solve_pi(statistics, (10, 20)).weights)


# In which order


@pytest.mark.parametrize("n_sizes", [1, 2, 3, 4, 20])
def test_order_rotates_from_network_to_network_and_from_repeat_to_repeat(n_sizes):
    plan = make_plan(fanouts=range(1, n_sizes + 1), repeats=3)
    methods = [job.method for job in plan.jobs()]
    orders = [methods[start : start + 3] for start in range(0, len(methods), 3)]
    assert len(orders) == 3 * n_sizes
    assert all(sorted(order) == sorted(METHODS) for order in orders)
    assert all(order != following for order, following in pairwise(orders))
    for place in range(n_sizes):
        assert {orders[repeat * n_sizes + place][0] for repeat in range(3)} == set(METHODS)


def test_methods_share_weights_that_no_other_size_or_repeat_has():
    keys = {}
    for job in make_plan(fanouts=(1, 4), repeats=2).jobs():
        repeat, n_hidden, _ = job.key
        keys.setdefault((repeat, n_hidden), set()).add(job.network.key)
    assert keys == {(r, N_INPUTS * fanout): {(r, fanout)} for r in (0, 1) for fanout in (1, 4)}


def test_recorded_networks_are_left_out_and_the_rest_keep_their_order():
    plan = make_plan()
    jobs = plan.jobs()
    recorded = {job.key for job in jobs[:4]} | {jobs[7].key}
    assert plan.jobs(recorded) == jobs[4:7] + jobs[8:]


def test_a_warm_up_at_the_smallest_size_comes_first_and_is_not_recorded(data_dir, monkeypatch):
    trained = []

    def note(job, methods):
        trained.append((job.sizes, methods))
        return run_job(job, methods)

    monkeypatch.setattr(timing, "run_job", note)
    jobs = make_plan(data_dir).jobs()[1:]
    records = [record for _, record in run_timing(jobs, N_INPUTS)]
    assert [record.key for record in records] == [job.key for job in jobs]
    assert trained[0] == ((36,), ("pi", "lda"))
    assert trained[1:] == [(job.network.sizes, METHODS[job.method]) for job in jobs]


def test_nothing_to_time_trains_nothing(monkeypatch):
    monkeypatch.setattr(timing, "run_job", None)
    assert list(run_timing([], N_INPUTS)) == []


# The table


def test_table_has_medians_and_the_median_of_paired_ratios():
    seconds = {
        "pi": (10.0, 20.0, 12.0),
        "lda": (11.0, 20.0, 15.0),
        "both": (13.0, 12.0, 40.0),
    }
    records = [
        make_record(repeat, 2, method, taken[repeat])
        for method, taken in seconds.items()
        for repeat in range(3)
    ]
    (row,) = tabulate_timing(records).to_dict("records")
    assert (row["fanout"], row["n_hidden"], row["repeats"]) == (2, 72, 3)
    assert (row["pi_seconds"], row["lda_seconds"], row["both_seconds"]) == (12, 15, 13)
    # The ratios are 1.1, 1 and 1.25; that of the medians would be 1.25.
    assert row["overhead_percent"] == pytest.approx(10)
    # make_record gives each part a tenth of the whole.
    assert row["lda_part_percent"] == pytest.approx(100 / 9)


def test_table_has_the_papers_seconds_where_there_are_any():
    records = [make_record(0, fanout, method, 1.0) for fanout in (20, 11, 1) for method in METHODS]
    table = tabulate_timing(records).set_index("fanout")
    assert list(table.index) == [1, 11, 20]
    assert table.loc[20, "paper_pi_seconds"] == 630
    assert table.loc[20, "paper_lda_seconds"] == 702
    assert table.loc[20, "paper_overhead_percent"] == pytest.approx(100 * 72 / 630)
    assert table.loc[1, "paper_overhead_percent"] == 0
    paper_columns = [column for column in table if column.startswith("paper_")]
    assert len(paper_columns) == 3
    assert all(math.isnan(table.loc[11, column]) for column in paper_columns)


def test_table_leaves_out_repeats_that_lack_a_method():
    records = [make_record(0, 1, method, 2.0) for method in METHODS]
    records += [make_record(1, 1, "pi", 100.0), make_record(0, 2, "both", 5.0)]
    (row,) = tabulate_timing(records).to_dict("records")
    assert (row["fanout"], row["repeats"], row["pi_seconds"]) == (1, 1, 2)
    assert tabulate_timing(records[-2:]).empty
