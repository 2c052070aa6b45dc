"""Both methods timed on one network: the order, the threads, and what is booked to which."""

from threadpoolctl import threadpool_info, threadpool_limits

from elmlda import Timing
from elmlda.experiments import timing
from elmlda.networks.train import Recipe


def test_networks_are_timed_in_opposite_orders(tmp_path):
    """Five pairs on three networks: the last network has one pair."""
    rows = Timing(dataset="iris", hidden=4, pairs=5).run(tmp_path / "run")
    timed = rows[rows["method"] != "both"].sort_values(["pair", "position"])
    orders = timed.groupby(timed["pair"] // 2)["method"].agg(tuple).tolist()
    assert orders == [("pi", "lda", "lda", "pi"), ("lda", "pi", "pi", "lda"), ("pi", "lda")]
    assert timed.groupby("pair")["method"].agg(set).tolist() == [{"pi", "lda"}] * 5


def test_the_common_part_is_booked_to_both_and_the_test_once(tmp_path, monkeypatch):
    """A clock that every look moves on by a second."""
    looks = iter(range(1000))
    monkeypatch.setattr(timing.time, "process_time", lambda: float(next(looks)))
    monkeypatch.setattr(timing.time, "perf_counter", lambda: 0.0)
    rows = Timing(dataset="iris", hidden=4, pairs=2).run(tmp_path)
    for _, row in rows[rows["method"] != "both"].iterrows():
        # Drawing 1, training outputs 1, test outputs 1, solution 1, test 1; memory in between is not.
        assert (row["cpu_seconds"], row["test_seconds"], row["seconds"]) == (5, 2, 0)
        assert row["hidden_seconds"] == 3


def test_one_thread_whatever_was_set(tmp_path, monkeypatch):
    threads, draw_layer = [], Recipe.draw_layer

    def draw(*args):
        threads.extend(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
        return draw_layer(*args)

    monkeypatch.setattr(Recipe, "draw_layer", draw)
    with threadpool_limits(2, user_api="blas"):
        Timing(dataset="iris", hidden=4, pairs=1).run(tmp_path)
    assert set(threads) == {1}
