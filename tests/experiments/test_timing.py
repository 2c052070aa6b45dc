"""Timing: what is timed is right and whole, and the order is balanced."""

import struct
import time
from collections import Counter
from itertools import pairwise, permutations, product

import numpy as np
import pytest
from plans import carry_out, make_unread
from plans import make_plan as plan_of

from elmlda.core.direct_lda import solve_lda
from elmlda.core.evaluate import posteriors
from elmlda.core.solve import LostPrecisionError, solve_pi
from elmlda.core.statistics import Statistics
from elmlda.core.stopwatch import Stopwatch
from elmlda.datasets import load_dataset
from elmlda.experiments import timing
from elmlda.experiments.timing import (
    COMMON_PARTS,
    METHODS,
    Timing,
    TimingRecord,
    order_methods,
)
from elmlda.networks import train
from elmlda.networks.jobs import run_job
from elmlda.networks.train import run_network
from elmlda.settings import DatasetRef

PARTS = (*COMMON_PARTS, "lda")
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
    experiment, data = (
        Timing(fanouts=fanouts, repeats=repeats, seed=SEED),
        make_unread(N_INPUTS),
    )
    return plan_of(experiment, data, DatasetRef(data_dir=data_dir), threads=1, chunk=250)


# What is timed


def test_each_method_counts_the_errors_that_the_sweep_counts(data_dir):
    dataset = load_dataset(data_dir=data_dir)
    plan = make_plan(data_dir)
    assert len(plan.jobs()) == 2 * 2 * 3
    for job in plan.jobs():
        result, (repeat, n_hidden, _, method) = timing._run(job), job.key
        weights = np.random.SeedSequence(SEED, spawn_key=(repeat, n_hidden // N_INPUTS))
        rng, sizes = np.random.default_rng(weights), (n_hidden,)
        expected = run_network(dataset, rng, sizes, plan.settings, plan.resources)
        assert 0 < expected.lda_errors[0] < expected.n_test
        assert result.pi_errors == (() if method == "lda" else expected.pi_errors)
        assert result.lda_errors == (() if method == "pi" else expected.lda_errors)
        assert result.pi_constant_errors == ()
        n_rows = 0 if method == "pi" else expected.n_test
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


def test_lda_is_trained_by_its_own_covariance_and_pi_and_both_are_not(data_dir, monkeypatch):
    solved = []

    def note(statistics, *arguments):
        solved.append(statistics.n_hidden)
        return solve_lda(statistics, *arguments)

    def refuse(*_):
        raise AssertionError("PI was solved")

    monkeypatch.setattr(train, "solve_lda", note)
    plan = make_plan(data_dir, (1,), 1)
    (pi, lda, both) = plan.jobs()
    assert [job.method for job in (pi, lda, both)] == ["pi", "lda", "both"]
    carry_out(plan, [pi, both])
    assert solved == []
    timing._run(lda)
    monkeypatch.setattr(train, "solve_pi", refuse)
    timing._run(lda)
    assert solved == [36, 36]


def test_what_no_part_accounts_for_is_charged_to_lda():
    """By hand: six parts of 2 s that PI has too, 0.3 s of LDA's and 0.3 s of nobody's."""
    record = TimingRecord(0, 1, 36, "lda", 2, 12.6, 2.0, 2.0, 2.0, 2.0, 2.0, 0.3, 2.0)
    assert record.overhead_percent == pytest.approx(5)


def test_ldas_part_is_all_that_pi_has_not(data_dir, monkeypatch):
    """A second in Eq. (14) is a second of LDA's."""

    def slow(scores):
        time.sleep(0.5)
        return posteriors(scores)

    monkeypatch.setattr(train, "posteriors", slow)
    for record in carry_out(make_plan(data_dir, (1,), 1)):
        assert (record.lda >= 0.5) == (record.method != "pi")
        unaccounted = record.seconds - record.lda - sum(getattr(record, part) for part in COMMON_PARTS)
        common = record.seconds - record.lda - unaccounted
        assert record.overhead_percent == pytest.approx(100 * (record.lda + unaccounted) / common)


@pytest.mark.parametrize("turn", [0, 2, 4])
def test_a_turn_that_is_not_the_methods_is_refused(turn):
    with pytest.raises(ValueError, match=f"turn is {turn}, expected 1"):
        TimingRecord(0, 1, 36, "pi", turn, 1.0, *[0.1] * 7)


def test_parts_are_no_more_than_the_whole(data_dir):
    for record in carry_out(make_plan(data_dir)):
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


def count_orders(repeats, fanouts):
    """How often each order comes, and each method has each turn, and one directly follows another."""
    jobs = make_plan(fanouts=fanouts, repeats=repeats).jobs()
    blocks = [jobs[start : start + 3] for start in range(0, len(jobs), 3)]
    assert len(blocks) == repeats * len(fanouts)
    assert all(len({job.key[:2] for job in block}) == 1 for block in blocks)
    assert all([job.turn for job in block] == [1, 2, 3] for block in blocks)
    return (
        Counter(tuple(job.method for job in block) for block in blocks),
        Counter((job.method, job.turn) for job in jobs),
        Counter((a.method, b.method) for block in blocks for a, b in pairwise(block)),
    )


def test_in_the_papers_table_every_order_comes_equally_often():
    orders, turns, followers = count_orders(3, range(1, 21))
    assert orders == dict.fromkeys(permutations(METHODS), 10)
    assert turns == dict.fromkeys(product(METHODS, (1, 2, 3)), 20)
    assert followers == dict.fromkeys(permutations(METHODS, 2), 20)


@pytest.mark.parametrize("fanout", range(1, 21))
def test_in_three_repeats_of_a_fanout_each_method_has_each_turn_once(fanout):
    _, turns, _ = count_orders(3, (fanout,))
    assert turns == dict.fromkeys(product(METHODS, (1, 2, 3)), 1)
    orders, _, _ = count_orders(6, (fanout,))
    assert orders == dict.fromkeys(permutations(METHODS), 1)


@pytest.mark.parametrize("repeats", [1, 2])
def test_fewer_repeats_are_balanced_as_far_as_they_can_be(repeats):
    for counts in count_orders(repeats, range(1, 21)):
        assert max(counts.values()) - min(counts.values()) <= 2 * repeats


def test_from_one_fanout_to_the_next_the_order_is_turned_round_or_moves_on():
    orders = [order_methods(0, fanout) for fanout in range(1, 21)]
    assert all(orders[i + 1] == orders[i][::-1] for i in range(0, 20, 2))
    assert all(order != following for order, following in pairwise(orders))


def test_a_run_that_grows_keeps_the_order():
    few = make_plan(fanouts=(2, 5), repeats=2).jobs()
    many = make_plan(fanouts=range(1, 8), repeats=4).jobs()
    assert [job for job in many if job.key in {job.key for job in few}] == few


def test_methods_share_weights_that_no_other_size_or_repeat_has():
    keys = {}
    for job in make_plan(fanouts=(1, 4), repeats=2).jobs():
        repeat, n_hidden, *_ = job.key
        keys.setdefault((repeat, n_hidden), set()).add(job.network.key)
    assert keys == {(r, N_INPUTS * fanout): {(r, fanout)} for r in (0, 1) for fanout in (1, 4)}


def test_recorded_networks_are_left_out_and_the_rest_keep_their_order():
    plan = make_plan()
    jobs = plan.jobs()
    recorded = {job.key for job in jobs[:4]} | {jobs[7].key}
    assert plan.jobs(recorded) == jobs[4:7] + jobs[8:]


def test_a_warm_up_at_the_smallest_size_comes_first_and_is_not_recorded(data_dir, monkeypatch):
    trained = []

    def note(job, methods, *, direct):
        trained.append((job.sizes, methods, direct))
        return run_job(job, methods, direct=direct)

    monkeypatch.setattr(timing, "run_job", note)
    plan = make_plan(data_dir)
    jobs = plan.jobs()[1:]
    records = carry_out(plan, jobs)
    assert [record.key for record in records] == [job.key for job in jobs]
    assert trained[0] == ((36,), ("pi", "lda"), False)
    expected = [(job.network.sizes, METHODS[job.method], job.method == "lda") for job in jobs]
    assert trained[1:] == expected


def test_nothing_to_time_trains_nothing(monkeypatch):
    monkeypatch.setattr(timing, "run_job", None)
    assert carry_out(make_plan(), []) == []
