"""Table 1 and Fig. 1: PI-ELM and LDA-ELM on the same input weights, over fan-outs and repeats.

Several ridges share a Gram matrix. Held-out training samples may replace the test part. Data without a
test part may be divided by repeated stratified cross-validation, with a new network for each fold.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import fields, replace
from functools import partial
from itertools import islice, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from elmlda.core.evaluate import keep_choice, measure_posteriors, posteriors
from elmlda.core.head import resolve_priors
from elmlda.core.hidden import InputSpace
from elmlda.datasets import is_table
from elmlda.datasets.catalogue import load_dataset
from elmlda.datasets.split import Dataset
from elmlda.errors import ElmldaError
from elmlda.experiments.baselines import count_baseline_errors, list_baselines
from elmlda.experiments.runner import Plan, Result, Stage
from elmlda.experiments.specs import Compare, Sweep
from elmlda.networks.cost import Problem
from elmlda.networks.train import Recipe, TestedNetwork, choose_precision, train_and_test
from elmlda.options import LEAVE_ONE_OUT, Choice, NetworkOptions, declarations
from elmlda.runs.folder import Run
from elmlda.runs.tables import BASELINES, FIXED, SWEEP, Key

METHODS = ("pi", "pi_constant", "lda")


class NetworkJob(NamedTuple):
    """A network to train and test, and the columns that identify its rows."""

    place: Mapping[str, Any]
    """Columns that identify the network, and their values."""
    seed: np.random.SeedSequence
    options: NetworkOptions
    sizes_by_ridge: Mapping[Choice, tuple[int, ...]]
    """Ridge -> hidden sizes, ascending. A smaller network is the first part of the largest one."""
    temperature: Choice = 1.0
    is_kept: bool = False
    """Whether the network's posteriors and wrong answers are kept."""

    def train(self, data: Dataset, threads: int) -> TestedNetwork:
        """Train the network on the training part and test it on the test part."""
        n_hidden = max(max(sizes) for sizes in self.sizes_by_ridge.values())
        recipe = Recipe.for_dataset(data, self.seed, n_hidden, self.options)
        return train_and_test(data, recipe, self.sizes_by_ridge, threads, self.temperature)


def plan_networks(spec: Any, data: Dataset) -> tuple[tuple[int, ...], int, NetworkOptions, Problem]:
    """Return what the requested networks have in common; refuse networks that cannot be trained.

    Returns
    -------
    sizes : requested hidden sizes, ascending
    most : most hidden units of LDA without a ridge: the mean of each class takes a dimension of Σ
    options : options of the networks
    cost : what the largest network costs
    """
    sizes = _as_tuple(spec.hidden or tuple(fanout * data.n_inputs for fanout in _as_tuple(spec.fanout)))
    most = len(data.train.labels) - data.n_classes
    options = NetworkOptions(**{name: getattr(spec, name) for name in declarations(NetworkOptions)})
    resolve_priors(spec.priors, data.train.count_classes(data.n_classes))
    InputSpace(data.n_inputs, data.image_shape).require(options)
    if spec.ridge == 0 and sizes[-1] > most:
        fact = (
            f"{len(data.train.labels):,} training samples in {data.n_classes:,} classes allow at most "
            f"{max(0, most):,} hidden units without a ridge, {sizes[-1]:,} are requested."
        )
        advice = "Add {ridge}, or use at most {hidden}." if most > 0 else "Add {ridge}."
        raise ElmldaError(fact, advice, ridge=0.001, hidden=most)
    rules = _as_tuple(spec.ridge), getattr(spec, "temperature", 1.0)
    cost = Problem.for_dataset(data, sizes, choose_precision(spec.precision, sizes[-1]), *rules)
    return sizes, most, options, cost


def _as_tuple(value: Any) -> tuple[Any, ...]:
    """Return a tuple as it is, and any other value as a tuple of one."""
    return value if isinstance(value, tuple) else (value,)


def plan_sweep(spec: Sweep, loaded: Dataset | None = None) -> Plan:
    """Return the networks to train and test; `loaded` is the data set, if it is loaded already."""
    loaded = loaded or load_dataset(spec.dataset, **spec.reading)
    folds, is_nested = (spec.folds, spec.seed) if spec.folds else None, spec.design == "nested"
    data = take_fold(loaded, *folds, 0, 0) if folds else loaded.split(spec.validation or 0)
    if folds:  # each fold has rows of its own
        shared = {name: text for name, text in data.preparation.items() if name != "rows"}
        data = replace(data, preparation=shared)
    (sizes, most, options, cost), ridges = plan_networks(spec, data), _as_tuple(spec.ridge)
    by_fold = range(spec.folds) if spec.folds else [None]
    # Without a ridge Σ of larger networks is singular.
    by_ridge = {r: tuple(size for size in sizes if r != 0 or size <= most) for r in ridges}
    # A ridge that leave-one-out chooses is unknown before the network is trained.
    rules = {r: (r, None) if isinstance(r, str) else (FIXED, r) for r in ridges}
    keys = [
        SWEEP.key_of(dict(zip(SWEEP.key, (repeat, fold, size, *rules[ridge]), strict=True)))
        for repeat in range(spec.repeats)
        for fold in by_fold
        for ridge in ridges
        for size in by_ridge[ridge]
    ]

    def find_jobs(missing: Collection[Key], _: Run) -> list[NetworkJob]:
        """Return a job for each repeat and fold; in the independent design also for each size."""
        largest: dict[Key, int] = {}
        for repeat, fold, size, *_rule in missing:
            network = repeat, fold, None if is_nested else size
            largest[network] = max(size, largest.get(network, 0))
        return [make_job(repeat, fold, size) for (repeat, fold, _), size in largest.items()]

    def make_job(repeat: int, fold: int | None, largest: int) -> NetworkJob:
        key: tuple[int, ...] = (repeat,) if fold is None else (repeat, 1 + fold)
        if not is_nested:
            key = make_independent_key(repeat, largest, data.n_inputs)
        smallest = 1 if is_nested else largest
        trained = {
            ridge: chosen
            for ridge, sizes in by_ridge.items()
            if (chosen := tuple(size for size in sizes if smallest <= size <= largest))
        }
        is_whole = is_nested and len(ridges) == 1 and largest == sizes[-1]
        # The folds of one repeat test every sample once.
        is_kept = spec.keep and is_whole and (fold is None or repeat == 0)
        seed, place = np.random.SeedSequence(spec.seed, spawn_key=key), {"repeat": repeat, "fold": fold}
        return NetworkJob(place, seed, options, trained, spec.temperature, is_kept)

    stages = [Stage(SWEEP, keys, find_jobs, partial(train_network, folds=folds), cost)]
    if methods := list_baselines(data):
        jobs, evaluate = [*product(by_fold, methods)], partial(evaluate_baseline, folds=folds)
        stages.append(Stage(BASELINES, jobs, lambda missing, _: missing, evaluate))
    return Plan(spec, data, stages, loaded if spec.folds else data)


def take_fold(loaded: Dataset, n_folds: int, seed: int, repeat: int, fold: int) -> Dataset:
    """Return the data with one fold as test part and the other folds as training part."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(repeat, 0)))
    return next(islice(loaded.folds(n_folds, rng), fold, None))


def make_independent_key(repeat: int, n_hidden: int, n_inputs: int) -> tuple[int, ...]:
    """Return an independent network's spawn key: the fan-out or, if it is not whole, hidden units."""
    fanout, rest = divmod(n_hidden, n_inputs)
    return (repeat, fanout) if rest == 0 else (repeat, 0, n_hidden)


def train_network(
    data: Dataset, job: NetworkJob, threads: int, folds: tuple[int, int] | None = None
) -> Result:
    """Train and test a network; `folds` are their number, and the root seed that divides samples."""
    repeat, fold = job.place["repeat"], job.place["fold"]
    if folds:
        data = take_fold(data, *folds, repeat, fold)
    rows, kept = evaluate_network(data, job, threads)
    if kept and folds:
        assert data.test is not None
        del kept["wrong"], kept["sizes"]  # folds have samples of their own
        kept["labels"] = data.test.labels
    rows = [{**job.place, **row} for row in rows]
    return Result(rows, fold if folds else repeat, kept if job.is_kept else None)


def evaluate_baseline(data: Dataset, job: Key, folds: tuple[int, int] | None = None) -> Result:
    """Train and test one of the simple methods, in cross-validation on a fold of the first repeat."""
    fold, method = job
    if folds:
        data = take_fold(data, *folds, 0, fold)
    assert data.test is not None
    errors = count_baseline_errors(data, method)
    return Result([{"fold": fold, "method": method, "errors": errors, "n_test": len(data.test.labels)}])


def evaluate_network(
    data: Dataset, job: NetworkJob, threads: int
) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
    """Train and test a network; return a row for each ridge and size, and arrays to keep.

    `elmlda.runs.kept` describes the arrays. None are kept if LDA has no solution at some size.
    """
    assert data.test is not None
    tested = job.train(data, threads)
    labels, last = data.test.labels, tested.scores[-1]
    rows, wrong = [], list[list[NDArray[np.bool_]]]()
    for scores in tested.scores:
        wrong.append([labels != getattr(scores, method).argmax(axis=-1).T for method in METHODS])
        for i, (size, tau) in enumerate(zip(scores.sizes, scores.temperatures, strict=True)):
            row: dict[str, Any] = {"n_hidden": size, "fanout": size / data.n_inputs}
            row |= {"rule": scores.rule, "ridge": scores.ridge, "n_test": len(labels)}
            row |= {"seconds": tested.seconds, "precision": tested.precision}
            for method, errors in zip(METHODS, wrong[-1], strict=True):
                # LDA has no solution at sizes with a singular covariance.
                row[f"{method}_errors"] = int(errors[i].sum()) if i < len(errors) else None
            if i < scores.lda.shape[1]:
                lda = scores.lda[:, i]
                row |= measure_posteriors(posteriors(lda), labels)
                if tau > 0 and tau != 1:  # NaN is unknown; 1 gives the paper's posteriors
                    tempered = measure_posteriors(posteriors(tau * lda), labels)
                    row |= {f"tempered_{name}": value for name, value in tempered.items()}
                    row["temperature"] = float(tau)
            rows.append(row)
    if any(row["lda_errors"] is None for row in rows):
        return rows, None
    logs = log_softmax(last.lda[:, -1], axis=1)
    kept = {
        "log_posteriors": keep_choice(logs.astype(np.float32), logs),
        "wrong": np.packbits([np.vstack(errors) for errors in zip(*wrong, strict=True)], axis=-1),
        "sizes": np.array([row["n_hidden"] for row in rows]),
    }
    if job.temperature == LEAVE_ONE_OUT and "temperature" in rows[-1]:
        kept["loo_temperature"] = rows[-1]["temperature"]
    return rows, kept


def plan_sweeps(spec: Compare, folder: Path) -> list[tuple[Path, Plan]]:
    """Return the folder and the plan of each data set's sweep; refuse what cannot work."""
    shared = {entry.name: getattr(spec, entry.name) for entry in fields(spec)}
    if spec.hidden:
        del shared["fanout"]
    plans = dict[Path, Plan]()
    names = _as_tuple(spec.dataset)
    tables = [name for name in names if is_table(Path(name))]
    for name in names:
        # Column options are for the tables, if there are any; other data sets refuse them.
        columns = {"label": None, "drop": (), "header": None} if tables and name not in tables else {}
        options = shared | columns | {"dataset": name, "keep": False, "folds": None}
        loaded = load_dataset(name, **Sweep(**options).reading)
        subfolder = folder / loaded.name
        if subfolder in plans:
            fact = f"{name} would share the folder {subfolder} with another data set."
            raise ElmldaError(fact, "Rename one of them, or give it another {out} by itself.", out=None)
        folds = spec.folds if loaded.test is None else None
        plans[subfolder] = plan_sweep(Sweep(**options | {"folds": folds}), loaded)
    return [*plans.items()]
