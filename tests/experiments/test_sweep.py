"""A sweep's plan: which networks it asks for, with which random numbers, and what it leaves out."""

import itertools
from dataclasses import astuple, replace

import numpy as np
import pytest
from plans import carry_out, make_plan, make_unread, work_of

from elmlda.experiments.sweep import Sweep, SweepRecord
from elmlda.networks import jobs
from elmlda.networks.jobs import run_job
from elmlda.networks.train import run_network
from elmlda.settings import DatasetRef, NetworkSettings, Resources

N_INPUTS = 9
UNREAD = make_unread(N_INPUTS)
MIXED, DOUBLE = (9, 18, 36), (100, 300)
"""Sizes that float32 is enough for, and that it is not enough for."""


def plan(sizes=(9, 18, 36), repeats=2, design="nested", seed=5, data=UNREAD, **options):
    sweep = Sweep(hidden=sizes, repeats=repeats, design=design, seed=seed, **options)
    return make_plan(sweep, data, threads=1)


def networks(jobs):
    return [(job.key, job.sizes) for job in jobs]


@pytest.fixture(scope="module")
def dataset(make_dataset):
    return make_dataset(600, 200, N_INPUTS, 4, np.uint8)


@pytest.fixture
def clouds(monkeypatch, dataset):
    """The small dataset by its name, for jobs of this process."""
    monkeypatch.setattr(jobs, "load_dataset", lambda name, *_: {"clouds": dataset}[name])
    return dataset


# Which networks


def test_nested_one_network_a_repeat():
    assert networks(plan().jobs()) == [((0,), (9, 18, 36)), ((1,), (9, 18, 36))]


def test_independent_one_network_a_size_known_by_its_fanout():
    assert networks(plan(design="independent").jobs()) == [
        ((0, 1), (9,)),
        ((0, 2), (18,)),
        ((0, 4), (36,)),
        ((1, 1), (9,)),
        ((1, 2), (18,)),
        ((1, 4), (36,)),
    ]


def test_independent_sizes_without_a_whole_fanout_have_keys_of_their_own():
    jobs = plan((4, 9, 13), 1, "independent").jobs()
    assert networks(jobs) == [((0, 0, 4), (4,)), ((0, 1), (9,)), ((0, 0, 13), (13,))]


@pytest.mark.parametrize("design", ["nested", "independent"])
def test_no_two_networks_share_their_random_numbers(design):
    keys = [job.key for job in plan(tuple(range(1, 60)), 3, design).jobs()]
    assert len(set(keys)) == len(keys)


def test_jobs_carry_the_plans_settings():
    sweep = Sweep(hidden=9, repeats=1, seed=7, ridge=0.5, activation="relu")
    (job,) = make_plan(sweep, UNREAD, DatasetRef("x"), threads=3, chunk=100).jobs()
    assert (job.dataset, job.seed) == (DatasetRef("x"), 7)
    assert job.settings == NetworkSettings(ridge=0.5, activation="relu")
    assert job.resources == Resources(3, 100)


# Only what is missing


@pytest.mark.parametrize("design", ["nested", "independent"])
def test_nothing_is_missing_from_a_whole_run(design):
    everything = {(repeat, size) for repeat in range(2) for size in (9, 18, 36)}
    assert plan(design=design).jobs(everything) == []


@pytest.mark.parametrize("design", ["nested", "independent"])
def test_more_than_the_plan_asks_for_may_be_recorded(design):
    more = {(repeat, size) for repeat in range(9) for size in range(1, 99)}
    assert plan(design=design).jobs(more) == []


def test_nested_a_gap_is_one_network_of_the_missing_sizes():
    recorded = {(0, 9), (0, 18), (0, 36), (1, 18)}
    assert networks(plan().jobs(recorded)) == [((1,), (9, 36))]


def test_independent_a_gap_is_its_own_network():
    recorded = {(0, 9), (0, 18), (0, 36), (1, 18)}
    jobs = plan(design="independent").jobs(recorded)
    assert networks(jobs) == [((1, 1), (9,)), ((1, 4), (36,))]


@pytest.mark.parametrize("design", ["nested", "independent"])
def test_growing_asks_for_what_is_new_only(design):
    small, large = plan((9, 18), 2, design), plan((9, 18, 27), 3, design)
    done = {(job.key[0], size) for job in small.jobs() for size in job.sizes}
    added = {(job.key[0], size) for job in large.jobs(done) for size in job.sizes}
    assert added == {(0, 27), (1, 27), (2, 9), (2, 18), (2, 27)}


# What comes out


def test_records_of_a_network(clouds):
    both = plan((5, 9, 36), 2)
    first, second = (step.records for step in both.steps(work_of(both)))
    assert [record.repeat for record in (*first, *second)] == [0, 0, 0, 1, 1, 1]
    records, result = first, run_job(both.jobs()[0])
    assert records == [
        SweepRecord(
            repeat=0,
            fanout=size / N_INPUTS,
            n_hidden=size,
            pi_errors=result.pi_errors[i],
            pi_constant_errors=result.pi_constant_errors[i],
            lda_errors=result.lda_errors[i],
            n_test=200,
            seconds=records[0].seconds,
            precision=result.precision,
        )
        for i, size in enumerate((5, 9, 36))
    ]
    assert [record.key for record in records] == [(0, 5), (0, 9), (0, 36)]
    assert all(type(value) in (int, float, str) for record in records for value in astuple(record))
    assert 0 < records[0].pi_errors < 200


def test_a_network_is_its_seed_and_key(clouds):
    """Whoever draws from the documented generator gets the same network."""
    for design in ("nested", "independent"):
        sweep = plan((9, 18), 2, design)
        for job in sweep.jobs():
            rng = np.random.default_rng(np.random.SeedSequence(5, spawn_key=job.key))
            again = run_network(clouds, rng, job.sizes)
            records = carry_out(sweep, [job])
            assert again.pi_errors == tuple(record.pi_errors for record in records)
            assert again.lda_errors == tuple(record.lda_errors for record in records)


@pytest.mark.parametrize("precision", ["mixed", "double"])
def test_nested_and_independent_agree_on_the_same_weights(dataset, precision):
    sizes, settings = (9, 18, 20, 36), NetworkSettings(precision=precision)
    for seed in range(5):
        nested = run_network(dataset, np.random.default_rng(seed), sizes, settings)
        assert len(set(nested.pi_errors)) > 1
        for i, size in enumerate(sizes):
            alone = run_network(dataset, np.random.default_rng(seed), (size,), settings)
            assert alone.pi_errors == (nested.pi_errors[i],)
            assert alone.pi_constant_errors == (nested.pi_constant_errors[i],)
            assert alone.lda_errors == (nested.lda_errors[i],)


def counts(sweep, recorded=()):
    return {
        record.key: (record.pi_errors, record.pi_constant_errors, record.lda_errors)
        for record in carry_out(sweep, sweep.jobs(recorded))
    }


@pytest.mark.parametrize("design", ["nested", "independent"])
def test_a_run_that_grew_has_the_same_counts(clouds, design):
    whole = counts(plan((9, 18, 36), 3, design))
    grown = counts(plan((18,), 2, design))
    grown |= counts(plan((9, 18), 3, design), grown.keys())
    grown |= counts(plan((9, 18, 36), 3, design), grown.keys())
    assert grown == whole


def test_designs_and_seeds_give_other_networks(clouds):
    nested = counts(plan(repeats=3))
    assert nested != counts(plan(repeats=3, design="independent"))
    assert nested != counts(plan(repeats=3, seed=6))


# Rows in blocks


def test_no_jobs_need_no_workers():
    assert carry_out(plan(split_rows=2), []) == []


@pytest.mark.parametrize(
    ("sizes", "n_blocks"), [*itertools.product([MIXED, DOUBLE], [2, 3, 7]), (MIXED, 50)]
)
def test_blocks_of_rows_give_the_counts_of_all_rows(clouds, n_blocks, sizes):
    """Also where float32 is not enough, for the blocks together or for all rows at once."""

    def records(n_blocks):
        found = carry_out(plan(sizes, repeats=1, data=clouds, split_rows=n_blocks))
        return [astuple(replace(record, seconds=0.0)) for record in found]

    assert records(n_blocks) == records(1)


def test_wrong_answers_are_kept_for_every_size_and_method(tmp_path):
    table = Sweep(dataset="iris", hidden=[4, 8], repeats=2).run(tmp_path)
    for repeat, rows in table.groupby("repeat"):
        with np.load(tmp_path / "posteriors" / f"{repeat}-8.npz") as kept:
            wrong = np.unpackbits(kept["wrong"], axis=-1).sum(axis=-1)
        assert (
            wrong.tolist() == rows[["pi_errors", "pi_constant_errors", "lda_errors"]].T.values.tolist()
        )
