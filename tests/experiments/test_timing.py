"""Both methods timed on one network: the order, what is booked to which, and the errors."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from elmlda import Timing
from elmlda.core.hidden import HiddenLayer, draw_uniform_weights
from elmlda.experiments import timing
from elmlda.experiments.timing import ORDERS, time_pairs


@pytest.fixture
def dataset(make_dataset):
    return make_dataset(n_train=401, n_test=199, n_inputs=9, n_classes=4, dtype=np.uint8)


def draw(n_inputs, n_hidden, scale, seed=0, dtype=np.float32):
    weights = draw_uniform_weights(np.random.default_rng(seed), n_inputs, n_hidden, dtype=dtype)
    return HiddenLayer(weights, "tanh", scale)


def run(dataset, **settings):
    priors = np.full(dataset.n_classes, 1 / dataset.n_classes)
    make = settings.pop("make", lambda: draw(dataset.n_inputs, 9, dataset.input_scale))
    return time_pairs(make, dataset, priors, **{"order": ORDERS[0], **settings})


def test_methods_are_timed_in_the_order_that_is_asked_for(dataset):
    rows = run(dataset, order=("lda", "pi", "pi"))
    assert [(row["position"], row["method"]) for row in rows] == [(0, "lda"), (1, "pi"), (2, "pi")]


def test_networks_are_timed_in_opposite_orders(tmp_path):
    """Five pairs on three networks: the last network has one pair."""
    rows = Timing(dataset="iris", hidden=4, pairs=5).run(tmp_path / "run")
    timed = rows[rows["method"] != "both"].sort_values(["pair", "position"])
    orders = timed.groupby(timed["pair"] // 2)["method"].agg(tuple).tolist()
    assert orders == [("pi", "lda", "lda", "pi"), ("lda", "pi", "pi", "lda"), ("pi", "lda")]
    assert timed.groupby("pair")["method"].agg(set).tolist() == [{"pi", "lda"}] * 5


def test_the_common_part_is_booked_to_both_and_the_test_once(dataset, monkeypatch):
    """A clock that every look moves on by a second."""
    looks = iter(range(1000))
    monkeypatch.setattr(timing.time, "process_time", lambda: float(next(looks)))
    monkeypatch.setattr(timing.time, "perf_counter", lambda: 0.0)
    for row in run(dataset):
        # Drawing 1, training outputs 1, test outputs 1, solution 1, test 1; memory in between is not.
        assert (row["cpu_seconds"], row["test_seconds"], row["seconds"]) == (5, 2, 0)
        assert row["hidden_seconds"] == 3


def test_one_thread_whatever_was_set(dataset):
    threads = []

    def make():
        threads.extend(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
        return draw(9, 9, dataset.input_scale)

    with threadpool_limits(2, user_api="blas"):
        run(dataset, make=make)
    assert set(threads) == {1}
