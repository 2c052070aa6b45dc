"""Fig. 2: LDA-ELM networks that are combined by the mean of their posterior probabilities.

Member i of repeat r is network r·n + i of the run. Only networks that the folder does not keep at this
size are trained.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from scipy.special import softmax

from elmlda.core import FloatArray
from elmlda.core.evaluate import count_errors, measure_posteriors
from elmlda.core.subsets import draw_subsets
from elmlda.datasets.catalogue import load_dataset
from elmlda.datasets.split import Dataset
from elmlda.errors import ElmldaError
from elmlda.experiments.runner import Plan, Result, Stage
from elmlda.experiments.specs import Ensemble
from elmlda.experiments.sweep import NetworkJob, evaluate_network, plan_networks
from elmlda.options import LEAVE_ONE_OUT
from elmlda.runs.folder import Run
from elmlda.runs.kept import MEMBERS, read_at_size
from elmlda.runs.tables import DRAWS, ENSEMBLE, Key

Posteriors: TypeAlias = Mapping[str, Sequence[FloatArray]]
"""Prefix of the result columns -> posteriors of networks: the paper's, and tempered ones."""


def plan_ensemble(spec: Ensemble) -> Plan:
    """Return the networks to train, the ensembles to evaluate, and random subsets to draw."""
    data = load_dataset(spec.dataset, **spec.reading).split()
    (n_hidden,), _, options, cost = plan_networks(spec, data)
    tau = spec.temperature
    keys: list[Key] = list(product(range(spec.repeats), range(1, spec.n + 1)))
    members = [range(repeat * spec.n, (repeat + 1) * spec.n) for repeat in range(spec.repeats)]

    def find_members(missing: Collection[Key], run: Run) -> list[NetworkJob]:
        """Return the networks of incomplete ensembles that are not kept at this size."""
        numbers = [n for repeat in dict.fromkeys(r for r, _ in missing) for n in members[repeat]]
        kept = set(read_at_size(run.folder, "log_posteriors", numbers, n_hidden))
        if tau == LEAVE_ONE_OUT:
            kept &= read_at_size(run.folder, "loo_temperature", numbers, n_hidden).keys()
        elif tau == 1:  # posteriors that earlier versions rounded suffice
            kept |= read_at_size(run.folder, "posteriors", numbers, n_hidden).keys()
        seeds = {n: np.random.SeedSequence(spec.seed, spawn_key=(n,)) for n in numbers if n not in kept}
        settings = options, {spec.ridge: (n_hidden,)}, tau
        return [NetworkJob({"network": n}, seed, *settings) for n, seed in seeds.items()]

    def read_members(missing: Collection[Key], run: Run) -> Iterator[tuple[int, Posteriors]]:
        """Read the networks of one incomplete ensemble after the other."""
        for repeat in dict.fromkeys(repeat for repeat, _ in missing):
            numbers = members[repeat]
            kept = read_posteriors(run.folder, numbers, n_hidden)
            posteriors = {"": [kept[n] for n in numbers]}
            if tau != 1:
                logs = read_at_size(run.folder, "log_posteriors", numbers, n_hidden)
                chosen = read_at_size(run.folder, "loo_temperature", numbers, n_hidden)
                taus: list[Any] = [chosen[n] if tau == LEAVE_ONE_OUT else tau for n in numbers]
                posteriors["tempered_"] = [
                    softmax(tau * logs[n].astype(np.float64), axis=1)
                    for n, tau in zip(numbers, taus, strict=True)
                ]
            yield repeat, posteriors

    def read_all(_: Collection[Key], run: Run) -> Iterator[FloatArray]:
        """Read the posteriors of all networks of this size."""
        yield np.stack(list(read_posteriors(run.folder, None, n_hidden).values()))

    stages = [
        Stage(ENSEMBLE, keys, find_members, train_member, cost),
        Stage(ENSEMBLE, keys, read_members, average_members),
    ]
    if spec.draws:
        draw = partial(average_subsets, n_draws=spec.draws, size=spec.n)
        stages.append(Stage(DRAWS, [], read_all, draw, is_renewed=True))
    return Plan(spec, data, stages, data, own={"n": spec.n, "n_hidden": n_hidden})


def read_posteriors(
    folder: Path, networks: Iterable[int] | None, n_hidden: int
) -> dict[int, FloatArray]:
    """Read the posteriors of networks of one size; warn of those that were rounded to float16."""
    kept = read_at_size(folder, "log_posteriors", networks, n_hidden)
    rounded = read_at_size(folder, "posteriors", networks, n_hidden)
    if n_rounded := len(rounded.keys() - kept.keys()):
        warnings.warn(
            f"{folder}: {n_rounded} kept networks have posteriors rounded to float16, which makes some "
            "samples tie. Use another folder to train them again.",
            stacklevel=2,
        )
    exact = {number: np.exp(values.astype(np.float64)) for number, values in kept.items()}
    return dict(sorted({**rounded, **exact}.items()))


def train_member(data: Dataset, job: NetworkJob, threads: int) -> Result:
    """Train a network and keep its log-posteriors."""
    rows, kept = evaluate_network(data, job, threads)
    network = f"at {rows[-1]['n_hidden']:,} hidden units in network {job.place['network']}."
    advice = "Use fewer hidden units, or {} with another {out} for a new run."
    if kept is None:
        raise ElmldaError(f"LDA has no solution {network}", advice, ridge=0.001, out=None)
    if job.temperature == LEAVE_ONE_OUT and "loo_temperature" not in kept:
        fact = f"no temperature can be chosen {network}"
        raise ElmldaError(fact, advice, temperature=1, out=None)
    return Result([], job.place["network"], kept, MEMBERS)


def average_members(data: Dataset, job: tuple[int, Posteriors]) -> Result:
    """Evaluate the first 1, 2, … networks of an ensemble, from one pass over its networks."""
    assert data.test is not None
    (repeat, posteriors), labels, rows = job, data.test.labels, []
    sums: dict[str, Any] = dict.fromkeys(posteriors, 0.0)
    for size in range(1, 1 + len(posteriors[""])):
        row: dict[str, Any] = {"repeat": repeat, "size": size, "n_test": len(labels)}
        for prefix, members in posteriors.items():
            sums[prefix] = sums[prefix] + members[size - 1]
            mean = sums[prefix] / size
            row[f"{prefix}errors"] = int(count_errors(mean, labels))
            qualities = measure_posteriors(mean, labels)
            row |= {f"{prefix}{quality}": value for quality, value in qualities.items()}
        rows.append(row)
    return Result(rows)


def average_subsets(data: Dataset, posteriors: FloatArray, n_draws: int, size: int) -> Result:
    """Count the errors of random subsets of all networks."""
    assert data.test is not None
    rng = np.random.default_rng(0)
    columns = draw_subsets(posteriors, data.test.labels, n_draws, size, rng)
    rows = zip(*columns.values(), strict=True)
    return Result([dict(zip(columns, row, strict=True)) for row in rows])
