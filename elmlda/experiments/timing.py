"""Table 2: the times of PI-ELM and LDA-ELM as the paper writes them, and of both in one pass.

All times are of one thread. Each network has two pairs: PI, LDA, LDA, PI on the first network, LDA, PI,
PI, LDA on the next, and so on. Either order cancels steady changes, for example of the processor's
speed. Both together cancel effects on the first run alone, for example of fresh memory for the
matrices. Versions up to 0.2.0 of August had the first order alone; the column `position` tells.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import replace
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

from elmlda.core import FloatArray
from elmlda.core.evaluate import posteriors
from elmlda.core.head import resolve_priors
from elmlda.core.literal import solve_lda_literally, solve_pi_literally
from elmlda.datasets.catalogue import load_dataset
from elmlda.datasets.split import Dataset
from elmlda.experiments.runner import Plan, Result, Stage
from elmlda.experiments.specs import Timing
from elmlda.experiments.sweep import NetworkJob, make_independent_key, plan_networks
from elmlda.networks.cost import HIDDEN_DTYPES
from elmlda.networks.train import Recipe
from elmlda.runs.folder import Run
from elmlda.runs.tables import TIMING, Key

ORDERS = ("pi", "lda", "lda", "pi"), ("lda", "pi", "pi", "lda")
"""The method at each position, on even and on odd networks."""
METHODS = ("pi", "lda", "both"), ("pi", "lda")
"""Methods of a network's first and second pair."""


def plan_timing(spec: Timing) -> Plan:
    """Return the networks to time, small sizes first."""
    data = load_dataset(spec.dataset, **spec.reading).split()
    sizes, _, options, cost = plan_networks(spec, data)
    keys: list[Key] = [
        (size, pair, method)
        for size in sizes
        for pair in range(spec.pairs)
        for method in METHODS[pair % 2]
    ]

    def find_jobs(missing: Collection[Key], _: Run) -> list[NetworkJob]:
        networks = dict.fromkeys((size, pair // 2) for size, pair, _ in missing)
        return [make_job(*network) for network in networks]

    def make_job(size: int, number: int) -> NetworkJob:
        key = make_independent_key(number, size, data.n_inputs)
        seed = np.random.SeedSequence(spec.seed, spawn_key=key)
        return NetworkJob({"pair": 2 * number}, seed, options, {spec.ridge: (size,)})

    # The hidden outputs of all training samples are held.
    held_bytes = np.dtype(HIDDEN_DTYPES[cost.precision]).itemsize * cost.n_train * sizes[-1]
    cost = replace(cost, sizes=sizes[-1:], input_bytes=cost.input_bytes + held_bytes)
    stage = Stage(TIMING, keys, find_jobs, partial(time_network, n_pairs=spec.pairs), cost)
    return Plan(spec, data, [stage], data, is_serial=True)


def time_network(data: Dataset, job: NetworkJob, threads: int, n_pairs: int) -> Result:  # noqa: ARG001
    """Time one or two of a size's `n_pairs` pairs on a network, then both methods in one pass.

    The network is drawn once, and hidden outputs of training and test samples are computed once and
    held. Each method's times are from the first random number to the last prediction. They include both
    common parts, but not allocating memory. With the Gram matrix and its factor the paper's largest
    network takes 7.5 GB.
    """
    assert data.test is not None
    train, test, first_pair, rows = data.train, data.test, job.place["pair"], []
    ((ridge, (size,)),) = job.sizes_by_ridge.items()
    recipe = Recipe.for_dataset(data, job.seed, size, job.options)
    priors = resolve_priors(job.options.priors, train.count_classes(data.n_classes))
    shared = {"fanout": size / data.n_inputs, "n_hidden": size, "precision": job.options.precision}
    with threadpool_limits(1, user_api="blas"):
        begin = _read_clocks()
        layer = recipe.draw_layer(train.inputs, train.labels, job.options.precision)
        drawn = _read_clocks()
        # Fresh memory can cost more than the computation, and both methods share this part: it would
        # hide the difference between the methods.
        dtype = layer.input_weights.dtype
        hidden, test_hidden = (np.ones((len(part.labels), size), dtype) for part in (train, test))
        filled = _read_clocks()
        layer.outputs(train.inputs, hidden)
        trained = _read_clocks()
        layer.outputs(test.inputs, test_hidden)
        test_common = _read_clocks() - trained
        common = (drawn - begin) + (trained - filled) + test_common
        for position, method in enumerate(ORDERS[first_pair // 2 % 2][: 2 * (n_pairs - first_pair)]):
            start = _read_clocks()
            if method == "pi":
                outputs = solve_pi_literally(hidden, train.labels, len(priors), float(ridge))
            else:
                outputs = solve_lda_literally(hidden, train.labels, priors, float(ridge))
            solved = _read_clocks()
            scores = outputs.scores(test_hidden)
            # Eq. (14)'s posteriors choose the same classes, but they are a part of LDA-ELM.
            (scores if method == "pi" else posteriors(scores)).argmax(axis=1)
            end = _read_clocks()
            cpu_seconds, seconds = (common + end - start).tolist()
            row = {"pair": first_pair + position // 2, "position": position, "method": method}
            row |= {"cpu_seconds": cpu_seconds, "seconds": seconds}
            row |= {"test_seconds": float((test_common + end - solved)[0])}
            rows.append({**shared, **row, "hidden_seconds": float(common[0])})
    del hidden, test_hidden
    start_seconds = time.process_time()
    both = job.train(data, threads=1)
    cpu_seconds = time.process_time() - start_seconds
    row = {"pair": first_pair, "position": -1, "method": "both", "cpu_seconds": cpu_seconds}
    rows.append({**shared, **row, "seconds": both.seconds, "precision": both.precision})
    return Result(rows)


def _read_clocks() -> FloatArray:
    """Return this process's processor time and the elapsed time in seconds."""
    return np.array([time.process_time(), time.perf_counter()])
