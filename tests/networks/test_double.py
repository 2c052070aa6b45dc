"""Float32 that is not enough: every caller goes on in double precision, if that fits into memory."""

from dataclasses import replace

import numpy as np
import pytest
from plans import carry_out, make_plan

from elmlda.datasets import Split, Table
from elmlda.errors import ElmldaError
from elmlda.experiments import compare, plan, tune
from elmlda.experiments.compare import CompareJob
from elmlda.experiments.sweep import Sweep
from elmlda.experiments.tune import TuneJob
from elmlda.networks import cost, jobs
from elmlda.networks.model import FEW_HIDDEN, Recipe, fit_network
from elmlda.settings import DatasetRef, NetworkJob, NetworkSettings, Resources

REF = DatasetRef("made-up")
NEARLY_LINEAR = NetworkSettings(input_scale=0.05)
"""Inputs so small that tanh is nearly linear: eight units of five inputs are nearly dependent."""
N_HIDDEN = 8


@pytest.fixture
def dataset(make_dataset, monkeypatch):
    """The data of this process's jobs."""
    monkeypatch.setattr(plan, "CHEAP_IN_DOUBLE", 0)
    made = make_dataset(n_inputs=5)
    table = Table("made-up", Split(made.train.inputs, made.train.labels), classes=made.classes)
    monkeypatch.setattr(jobs, "load_job_data", lambda _: made)
    monkeypatch.setattr(tune, "load_job_data", lambda _: made)
    monkeypatch.setattr(compare, "load_job_source", lambda _: table)
    tune.load_validation_data.cache_clear()
    yield made
    tune.load_validation_data.cache_clear()


def train_as_sweep(dataset):
    return jobs.run_job(NetworkJob(REF, 2, (0,), (3, N_HIDDEN), NEARLY_LINEAR)).precision


def train_as_split_sweep(dataset):
    scale = NEARLY_LINEAR.input_scale
    sweep = Sweep(hidden=(3, N_HIDDEN), repeats=1, seed=2, input_scale=scale, split_rows=3)
    return carry_out(make_plan(sweep, dataset, REF))[0].precision


def train_as_compare(dataset):
    return compare.run_job(make_compare_job({"none": (3, N_HIDDEN)}))[0].precision


def make_compare_job(sizes_by_rule):
    return CompareJob(
        REF, 2, (0, 1), (3, N_HIDDEN), NEARLY_LINEAR, n_folds=2, sizes_by_rule=sizes_by_rule
    )


def train_as_tune(dataset):
    job = TuneJob(REF, 2, (0,), (N_HIDDEN,), NEARLY_LINEAR, Resources(), ridges=(0.0,), n_validation=50)
    return tune.run_job(job)[0].precision


def train_as_model(dataset):
    n_hidden = FEW_HIDDEN + 1
    recipe = Recipe(np.random.SeedSequence(0), dataset.n_inputs, n_hidden, NEARLY_LINEAR)
    train, priors = dataset.train, np.full(3, 1 / 3)
    network = fit_network(recipe, train.inputs, train.labels, 1e-6, priors, 3)
    return network.recipe.settings.precision


CALLERS = [train_as_sweep, train_as_split_sweep, train_as_compare, train_as_tune, train_as_model]


@pytest.mark.parametrize("train", CALLERS)
def test_it_is_trained_in_double(dataset, train):
    assert train(dataset) == "double"


@pytest.mark.parametrize("train", CALLERS)
def test_double_that_does_not_fit_is_refused(dataset, train, monkeypatch):
    monkeypatch.setattr(cost, "available_memory", lambda: 10**6)
    monkeypatch.setattr(cost, "held_memory", lambda: 0)
    with pytest.raises(ElmldaError, match=r"^float32 is not enough for [\d,]+ hidden units here, and"):
        train(dataset)


def test_a_ridge_that_gcv_chooses_counts_in_the_memory(dataset, monkeypatch):
    """The eigenvectors of a large network take more than its factorisation."""
    seen = []
    monkeypatch.setattr(
        "elmlda.networks.train.predict_ridge_bytes", lambda *_: seen.append(1) or 10**15
    )
    monkeypatch.setattr(cost, "available_memory", lambda: 10**12)
    job = make_compare_job({"none": (8,), "gcv": (8,)})
    with pytest.raises(ElmldaError, match=r"need 1000000\.00 GB"):
        compare.run_job(job)
    assert seen


def test_held_out_samples_too_large_for_float32_are_scored_in_double(dataset, monkeypatch):
    far = dataset.train.inputs.copy()
    far[-50:] *= 1e39
    made = replace(dataset, train=replace(dataset.train, inputs=far))
    monkeypatch.setattr(tune, "load_job_data", lambda _: made)
    settings = NetworkSettings(activation="relu", ridge=1.0)
    job = TuneJob(REF, 2, (0,), (20,), settings, Resources(), ridges=(1.0, 10.0), n_validation=50)
    assert [record.precision for record in tune.run_job(job)] == ["double", "double"]
