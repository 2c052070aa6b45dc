"""Random records of a run once more, by the paper's equations, literally, in float64.

Nothing of `elmlda.core` or `elmlda.networks` is used: what this module and they have in common is the
paper, the data and the manifest. So it is plain and slow: samples go through it in blocks, every record
has its own hidden outputs, its own Gram matrix and its own covariance from centred outputs.

Counts of a run in mixed precision may differ from these by one or two: of 10,000 samples a few lie on
the border of two classes to within float32's rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit
from tqdm import tqdm

from elmlda.datasets import Dataset, Split, load_dataset
from elmlda.errors import ElmldaError
from elmlda.runs.folder import read_manifest, read_rows

Array: TypeAlias = NDArray[np.float64]

ROWS = 4000
"""Samples whose hidden outputs are held at a time."""
COLUMNS = 4096
"""Columns of a product at a time."""
SMALL = 1 << 24
"""Hidden outputs, samples times units, up to which PI-ELM is numpy's least squares."""
METHODS = ("pi", "pi_constant", "lda")
PLACE = ("repeat", "fold", "n_hidden", "fanout", "rule", "ridge", "precision", "n_test")
"""Columns of sweep.csv that say what a record is of."""
ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "tanh": np.tanh,
    "logistic": expit,
    "relu": lambda x: np.maximum(x, 0),
    "softsign": lambda x: x / (1 + np.abs(x)),
    "sine": np.sin,
}
KNOWN = {
    *("dataset", "sha256", "preparation", "seed", "design", "activation", "bias", "weight_range"),
    *("input_scale", "ridge", "priors", "precision", "input_weights"),
}
"""Settings of a run that are understood here; any other one is refused."""


def verify_run(
    folder: str | Path,
    n: int = 12,
    rng: np.random.Generator | None = None,
    *,
    fanout_up_to: float | None = None,
    data: Dataset | None = None,
    progress: bool = False,
) -> pd.DataFrame:
    """Recompute random records of a run's sweep.

    Parameters
    ----------
    folder : with manifest.json and sweep.csv
    n : how many records; all of them, if there are fewer
    rng : chooses them; the seed 0 unless given
    fanout_up_to : leave larger networks out. On MNIST a record of fan-out 3 takes half a minute of
        processor time; it grows with the square, and at fan-out 20 there are four matrices of 2 GB
    data : the run's data set; loaded by its name unless given
    progress : whether to show a bar, if stderr is a terminal

    Returns
    -------
    records : DataFrame
        What each record is of, then for every method `pi_errors` as recorded and `pi_recomputed`; both
        are missing where nothing was recorded.

    Raises
    ------
    ElmldaError
        If the run has settings that are not recomputed here, shaped input weights for one, or the data
        are not the run's.
    """
    settings, records = _read_settings(Path(folder)), read_rows(Path(folder) / "sweep.csv")
    label = settings.get("preparation", {}).get("label")
    data = data or load_dataset(settings["dataset"], label=label)
    expected = settings.get("sha256", {})
    if other := [name for name, digest in expected.items() if data.checksums.get(name) != digest]:
        raise ElmldaError(f"{data.name} is not the run's data: other content in {', '.join(other)}.")
    if fanout_up_to is not None and len(records):
        records = records[records["fanout"] <= fanout_up_to]
    if records.empty:
        most = "" if fanout_up_to is None else f" of fan-out up to {fanout_up_to}"
        raise ElmldaError(f"{folder}: no record{most} in sweep.csv to recompute.")
    rng = rng or np.random.default_rng(0)
    chosen = records.iloc[np.sort(rng.choice(len(records), min(n, len(records)), replace=False))]
    bar = tqdm(chosen.to_dict("records"), unit="record", disable=None if progress else True)
    rows = [_verify(record, settings, data) for record in bar]
    counts = [f"{method}_{what}" for method in METHODS for what in ("errors", "recomputed")]
    return pd.DataFrame(rows).astype(dict.fromkeys(["fold", *counts], "Int64"))


def find_differences(records: pd.DataFrame) -> NDArray[np.int64]:
    """How far each recomputed count of `verify_run` is from the recorded one."""
    pairs = [records[f"{method}_errors"] - records[f"{method}_recomputed"] for method in METHODS]
    return pd.concat(pairs).dropna().abs().to_numpy(np.int64)


def _read_settings(folder: Path) -> dict[str, Any]:
    """The run's settings that are not the default, with `folds` and `validation` of its sweep."""
    manifest = read_manifest(folder)
    if manifest is None:
        raise ElmldaError(f"{folder}: no manifest.json in it: expected the folder of a sweep.")
    run = manifest["run"]
    if (scheme := run.get("input_weights", "uniform")) != "uniform":
        raise ElmldaError(f"{folder} has {scheme} input weights: only uniform ones are recomputed.")
    if unknown := sorted(set(run) - KNOWN):
        raise ElmldaError(f"{folder} has settings that are not recomputed: {', '.join(unknown)}.")
    return {**manifest["experiments"].get("sweep", {}), **run}


def _verify(record: Mapping[Any, Any], settings: Mapping[str, Any], data: Dataset) -> dict[str, Any]:
    """One row of `verify_run`'s answer."""
    data = _divide(record, settings, data)
    assert data.test is not None
    if record["n_test"] != len(data.test.labels):
        raise ElmldaError(
            f"{data.name}: {len(data.test.labels):,} test samples, the record of repeat "
            f"{record['repeat']} has {record['n_test']:,}."
        )
    network, row = _draw_network(record, settings, data), {name: record[name] for name in PLACE}
    found = dict(zip(METHODS, count_pi_errors(network, data), strict=False))
    if not pd.isna(record["lda_errors"]):  # otherwise it had no solution
        found["lda"] = count_lda_errors(network, data, settings.get("priors", "uniform"))
    for method in METHODS:
        recorded = record[f"{method}_errors"]
        row[f"{method}_errors"] = recorded
        row[f"{method}_recomputed"] = None if pd.isna(recorded) else found[method]
    return row


@dataclass(frozen=True, eq=False)
class Network:
    """A hidden layer, Eq. (2), and the ridge of the output weights."""

    input_weights: Array
    """n_hidden × n_inputs; with a bias one column more, of an input that is always √n_inputs."""
    activation: str
    input_scale: float
    ridge: float

    def hidden(self, samples: Split) -> Iterator[tuple[Array, NDArray[np.int64]]]:
        """A = g(X W1) and labels of some samples after the other: n × n_hidden, and n."""
        n_inputs = samples.inputs.shape[1]
        for start in range(0, len(samples.labels), ROWS):
            inputs = samples.inputs[start : start + ROWS] * np.float64(self.input_scale)
            if self.input_weights.shape[1] > n_inputs:
                inputs = np.column_stack([inputs, np.full(len(inputs), np.sqrt(n_inputs))])
            outputs = ACTIVATIONS[self.activation](inputs @ self.input_weights.T)
            yield outputs, samples.labels[start : start + ROWS]


def count_pi_errors(network: Network, data: Dataset) -> tuple[int, int]:
    """Test errors of PI-ELM, Eq. (5): without a constant hidden unit, and with one."""
    n_hidden, train, targets = len(network.input_weights), data.train, np.eye(data.n_classes)
    is_small = not network.ridge and len(train.labels) * n_hidden <= SMALL
    if is_small:  # W = T A⁺
        left = np.vstack([_add_ones(hidden) for hidden, _ in network.hidden(train)])
        right = targets[train.labels]
    else:  # W = T Aᵀ (A Aᵀ + ridge)⁻¹, the constant unit without ridge
        left, right = np.zeros((n_hidden + 1, n_hidden + 1)), np.zeros((n_hidden + 1, data.n_classes))
        for hidden, labels in network.hidden(train):
            units = _add_ones(hidden)
            _add_square(units, left)
            right += units.T @ targets[labels]
        left.flat[: -n_hidden - 2 : n_hidden + 2] += network.ridge

    def count(n: int) -> int:
        if is_small:
            weights = np.linalg.lstsq(left[:, :n], right, rcond=None)[0]
        else:
            weights = np.linalg.solve(left[:n, :n], right[:n])
        return _count_errors(network, data, lambda hidden: _add_ones(hidden)[:, :n] @ weights)

    return count(n_hidden), count(n_hidden + 1)


def count_lda_errors(network: Network, data: Dataset, priors: Any) -> int:
    """Test errors of LDA-ELM, Eqs (12) and (15); the ridge is added to KΣ."""
    n_hidden, train = len(network.input_weights), data.train
    counts = np.bincount(train.labels, minlength=data.n_classes)
    means = np.zeros((data.n_classes, n_hidden))
    for hidden, labels in network.hidden(train):
        for n in range(data.n_classes):
            means[n] += hidden[labels == n].sum(axis=0)
    means /= counts[:, None]
    covariance = np.zeros((n_hidden, n_hidden))
    for hidden, labels in network.hidden(train):
        centred = hidden - means[labels]
        _add_square(centred, covariance)
    covariance.flat[:: n_hidden + 1] += network.ridge
    covariance /= counts.sum()
    directions = np.linalg.solve(covariance, means.T)  # Σ⁻¹μ
    named = {"uniform": np.ones(len(counts)), "frequencies": counts}
    weights = np.asarray(named[priors] if isinstance(priors, str) else priors, np.float64)
    constants = np.log(weights / weights.sum()) - np.einsum("nm,mn->n", means, directions) / 2
    return _count_errors(network, data, lambda hidden: hidden @ directions + constants)


def _count_errors(network: Network, data: Dataset, score: Callable[[Array], Array]) -> int:
    """Test samples whose highest score is another class's."""
    assert data.test is not None
    wrong = [score(hidden).argmax(axis=1) != labels for hidden, labels in network.hidden(data.test)]
    return int(np.concatenate(wrong).sum())


def _add_square(units: Array, total: Array) -> None:
    """Add unitsᵀ · units, some columns after the other.

    In one piece OpenBLAS's threads overrun their buffers and crash (numpy issue 19685): seen with
    15,680 columns and its kernels for AVX-512.
    """
    for start in range(0, units.shape[1], COLUMNS):
        columns = slice(start, start + COLUMNS)
        total[columns, columns] += units[:, columns].T @ units[:, columns]
        below = units[:, columns.stop :].T @ units[:, columns]
        total[columns.stop :, columns] += below
        total[columns, columns.stop :] += below.T


def _add_ones(hidden: Array) -> Array:
    return np.column_stack([hidden, np.ones(len(hidden))])


def _draw_network(record: Mapping[str, Any], settings: Mapping[str, Any], data: Dataset) -> Network:
    """The record's network: its key in the run makes its random generator."""
    repeat, n_hidden, n_inputs = record["repeat"], record["n_hidden"], data.train.inputs.shape[1]
    key: tuple[int, ...] = (repeat,)
    if not pd.isna(record["fold"]):
        key = (repeat, 1 + int(record["fold"]))
    elif settings.get("design", "nested") == "independent":
        whole = n_hidden % n_inputs == 0
        key = (repeat, n_hidden // n_inputs) if whole else (repeat, 0, n_hidden)
    most = settings.get("weight_range", 0.5)
    shape = n_hidden, n_inputs + settings.get("bias", False)
    weights = _generator(settings, key).uniform(-most, most, shape)
    scale = settings.get("input_scale", data.input_scale)
    return Network(weights, settings.get("activation", "tanh"), scale, record["ridge"])


def _generator(settings: Mapping[str, Any], key: tuple[int, ...]) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(settings.get("seed", 0), spawn_key=key))


def _divide(record: Mapping[str, Any], settings: Mapping[str, Any], data: Dataset) -> Dataset:
    """The data with the training and the test part that the record's network had."""
    if not pd.isna(record["fold"]):
        folds = data.folds(settings["folds"], _generator(settings, (record["repeat"], 0)))
        return next(islice(folds, int(record["fold"]), None))
    data = data.split()
    return data.hold_out(settings["validation"]) if "validation" in settings else data
