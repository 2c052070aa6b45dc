"""Table 2: the times of PI-ELM and LDA-ELM as the paper writes them, and of both in one pass.

One thread, processor time. Each network has two pairs in the order PI, LDA, LDA, PI, so that a drift of
the machine's speed cancels out.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import replace
from functools import partial

import numpy as np

from elmlda.core.hidden import HiddenLayer
from elmlda.datasets.split import Dataset
from elmlda.experiments.plan import Plan, Result, Stage, identify, load, plan_networks
from elmlda.experiments.specs import Timing
from elmlda.experiments.sweep import NetworkJob, make_independent_key
from elmlda.networks.cost import HIDDEN_DTYPES
from elmlda.networks.time_pair import time_pair
from elmlda.networks.train import Recipe, resolve_priors
from elmlda.runs.folder import Run
from elmlda.runs.tables import TIMING, Key

METHODS = ("pi", "lda", "both"), ("pi", "lda")
"""Methods of a network's first and second pair."""


def plan_timing(spec: Timing, loaded: Dataset | None = None) -> Plan:
    """Return the networks to time, small sizes first."""
    data = (loaded or load(spec)).split()
    sizes, _, options, cost = plan_networks(spec, data)
    keys: list[Key] = [
        (size, pair, method)
        for size in sizes
        for pair in range(spec.pairs)
        for method in METHODS[pair % 2]
    ]

    def find_jobs(missing: Collection[Key], _: Run) -> list[NetworkJob]:
        places = dict.fromkeys((size, pair // 2) for size, pair, _ in missing)
        return [make_job(*place) for place in places]

    def make_job(size: int, number: int) -> NetworkJob:
        key = make_independent_key(number, size, data.n_inputs)
        seed = np.random.SeedSequence(spec.seed, spawn_key=key)
        return NetworkJob({"pair": 2 * number}, seed, options, {spec.ridge: (size,)})

    # The hidden outputs of all training samples are held.
    held_bytes = np.dtype(HIDDEN_DTYPES[cost.precision]).itemsize * cost.n_train * sizes[-1]
    cost = replace(cost, sizes=sizes[-1:], input_bytes=cost.input_bytes + held_bytes)
    compute = partial(time_network, n_pairs=spec.pairs)
    stage = Stage(TIMING, keys, find_jobs, compute, cost)
    return Plan(identify(spec, data), spec.words(), data, [stage], data, is_serial=True)


def time_network(data: Dataset, job: NetworkJob, threads: int, n_pairs: int) -> Result:  # noqa: ARG001
    """Time one or two pairs on a network, and both methods in one pass, all with one thread.

    Parameters
    ----------
    n_pairs : number of pairs of this size, on all networks together
    """
    assert data.test is not None
    train, options, first_pair = data.train, job.options, job.place["pair"]
    ((ridge, (size,)),) = job.sizes_by_ridge.items()
    recipe = Recipe.for_dataset(data, job.seed, size, options)
    priors = resolve_priors(options.priors, train.count_classes(data.n_classes))

    def draw_layer() -> HiddenLayer:
        return recipe.draw_layer(train.inputs, train.labels, options.precision)

    n_own = min(2, n_pairs - first_pair)
    times = time_pair(draw_layer, train, data.test, priors, float(ridge), n_own)
    start = time.process_time()
    both = job.train(data, threads=1)
    cpu_seconds = time.process_time() - start
    one_pass = {"cpu_seconds": cpu_seconds, "seconds": both.seconds, "precision": both.precision}
    rows = [{"precision": options.precision, **row} for row in times]
    rows.append({"position": -1, "method": "both", **one_pass})
    shared = {"fanout": size / data.n_inputs, "n_hidden": size}
    return Result(
        [{"pair": first_pair + max(0, row["position"]) // 2, **shared, **row} for row in rows]
    )
