"""Verification: recompute random records of a run by the paper's equations, literally, in float64.

This module shares only the paper, the data and the manifest with the code that it checks: it imports
nothing of `elmlda.core` and `elmlda.networks`. Every record has hidden outputs, a Gram matrix and a
covariance of its own, so it is slow. Counts of a run in mixed precision may differ by one or two:
samples on the border of two classes, to within float32's rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.random import SeedSequence, default_rng
from numpy.typing import NDArray
from scipy.special import expit
from tqdm import tqdm

from elmlda.datasets import SETS, expand_path, is_table
from elmlda.datasets.arrays import MISSING_NOTES, PARTS
from elmlda.datasets.catalogue import load_dataset
from elmlda.datasets.split import Dataset, Split
from elmlda.datasets.tables import split_names
from elmlda.errors import ElmldaError, join_words
from elmlda.experiments.specs import list_options
from elmlda.runs.folder import read_manifest, read_rows
from elmlda.runs.tables import SWEEP

Array: TypeAlias = NDArray[np.float64]

BLOCK = 4096
"""Number of samples whose hidden outputs are held at a time, and of columns of a product."""
SMALL = 1 << 24
"""Most hidden outputs, samples times units, for numpy's least squares."""
METHODS = ("pi", "pi_constant", "lda")
PLACE = ("repeat", "fold", "n_hidden", "fanout", "rule", "ridge", "precision", "n_test")
"""Columns of sweep.csv that identify a record and its network."""
ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "tanh": np.tanh,
    "logistic": expit,
    "relu": lambda x: np.maximum(x, 0),
    "softsign": lambda x: x / (1 + np.abs(x)),
    "sine": np.sin,
}


def verify_run(
    folder: str | Path,
    n: int = 12,
    rng: np.random.Generator | None = None,
    *,
    fanout_up_to: float | None = None,
    data: Any = None,
    progress: bool = False,
) -> pd.DataFrame:
    """Recompute random records of a run's sweep; refuse options that are not implemented here.

    Parameters
    ----------
    folder : the run's folder, with manifest.json and sweep.csv
    n : number of records
    rng : chooses the records; default: a generator with seed 0
    fanout_up_to : largest fan-out. On MNIST a record of fan-out 3 takes half a minute of processor
        time, which grows with the square; fan-out 20 needs four matrices of 2 GB
    data : the run's data for `load_dataset`, or a `Dataset`; default: the data set of the catalogue, or
        the file in the current folder, that the manifest names
    progress : whether to show a progress bar, if stderr is a terminal

    Returns
    -------
    records : the columns `PLACE`, and for each method the recorded count, as in `pi_errors`, and the
        recomputed one, `pi_recomputed`; both are missing if nothing was recorded
    """
    folder = expand_path(folder)
    manifest, records = read_manifest(folder), read_rows(folder, SWEEP)
    if manifest is None:
        raise ElmldaError(f"{folder}: no manifest.json in it: expected the folder of a sweep.")
    options = RecordedOptions({**manifest["experiments"].get("sweep", {}), **manifest["run"]})
    data = _load_data(options, data)
    divide, draw = make_division(options, data), make_draw(options, data)
    priors = options["priors"]
    # Rows have their ridge and precision; the temperature changes no count.
    if unread := options.unread - {"ridge", "precision", "temperature"}:
        names = ", ".join(f"{name} {options[name]}" for name in sorted(unread))
        raise ElmldaError(f"{folder} has options that are not recomputed: {names}.")
    limit = ""
    if fanout_up_to is not None:
        records, limit = records[records["fanout"] <= fanout_up_to], f" of fan-out up to {fanout_up_to}"
    if records.empty:
        raise ElmldaError(f"{folder}: no record{limit} in sweep.csv to recompute.")
    rng = rng or default_rng(0)
    chosen = records.iloc[np.sort(rng.choice(len(records), min(n, len(records)), replace=False))]
    bar = tqdm(chosen.to_dict("records"), unit="record", disable=None if progress else True)
    rows = [_verify(record, divide(record), draw(record), priors) for record in bar]
    counts = [f"{method}_{kind}" for method in METHODS for kind in ("errors", "recomputed")]
    return pd.DataFrame(rows).astype(dict.fromkeys(["fold", *counts], "Int64"))


def find_differences(records: pd.DataFrame) -> NDArray[np.int64]:
    """Return by how much each recomputed count of `verify_run` differs from the recorded one."""
    pairs = [records[f"{method}_errors"] - records[f"{method}_recomputed"] for method in METHODS]
    return pd.concat(pairs).dropna().abs().to_numpy(np.int64)


class RecordedOptions(dict[str, Any]):
    """Options of a run, with defaults; the code that implements an option reads it."""

    def __init__(self, recorded: Mapping[str, Any]) -> None:
        defaults = {name: declared.default for name, declared in list_options().items()}
        super().__init__({"sha256": {}, "preparation": {}, **defaults, **recorded})
        self.unread = set(recorded)

    def __getitem__(self, name: str) -> Any:
        self.unread.discard(name)
        return super().__getitem__(name)


def _load_data(options: RecordedOptions, source: Any) -> Dataset:
    """Load the run's data in the recorded way; refuse data with other checksums."""
    name, sums, recorded = options["dataset"], options["sha256"], options["preparation"]
    if isinstance(source, Dataset):
        data = source
    else:
        source = _find_data(name, sums, "label" in recorded) if source is None else source
        is_file = isinstance(source, str | Path)
        if is_file and is_table(Path(source)) != ("label" in recorded):
            raise ElmldaError(f"{source} is not the run's data, {join_words(sums)}.")
        notes = {note: how for how, note in MISSING_NOTES.items()}
        data = load_dataset(
            source,
            label=recorded.get("label"),
            drop=split_names(recorded.get("drop", "")),
            missing=notes.get(recorded.get("missing")),
            header="header" not in recorded if is_file and is_table(Path(source)) else None,
        )
    if other := [name for name, digest in sums.items() if data.checksums.get(name) != digest]:
        fact = f"{data.name} is not the run's data: other content in {join_words(other)}."
        raise ElmldaError(fact, "Name the run's data with {dataset}.", dataset=None)
    return data


def _find_data(name: str, sums: Collection[str], has_columns: bool) -> str:
    """Return the catalogue's name of the data, or their file or folder in the current folder."""
    if name in SETS and not has_columns:
        return name
    sources = [f"{name}.npz", *([name] if PARTS[0] in sums else [])]
    if has_columns:
        sources = [f"{file}{packed}" for file in sums for packed in ("", ".gz") if is_table(Path(file))]
    if not (existing := [source for source in sources if Path(source).exists()]):
        fact = f"the run's data, {join_words(sums)}, are not in this folder."
        raise ElmldaError(fact, "Name their file with {dataset}.", dataset=None)
    return existing[0]


def _verify(record: Mapping[Any, Any], data: Dataset, network: Network, priors: Any) -> dict[str, Any]:
    """Recompute a record."""
    row = {name: record[name] for name in PLACE}
    counts = [*count_pi_errors(network, data), None]
    if not pd.isna(record["lda_errors"]):  # otherwise Σ was singular
        counts[-1] = count_lda_errors(network, data, priors)
    for method, count in zip(METHODS, counts, strict=True):
        recorded = record[f"{method}_errors"]
        row[f"{method}_errors"] = recorded
        row[f"{method}_recomputed"] = None if pd.isna(recorded) else count
    return row


@dataclass(frozen=True, eq=False)
class Network:
    """A hidden layer, Eq. (2), and the ridge of the output weights."""

    input_weights: Array
    """n_hidden × n_inputs; with a bias one column more, for a constant input √n_inputs."""
    activation: str
    input_scale: float
    ridge: float

    def hidden(self, samples: Split) -> Iterator[tuple[Array, NDArray[np.int64]]]:
        """Yield A = g(X W1) with a constant unit as last column, and labels, block by block."""
        n_inputs = samples.inputs.shape[1]
        for start in range(0, len(samples.labels), BLOCK):
            rows = slice(start, start + BLOCK)
            inputs = samples.inputs[rows] * np.float64(self.input_scale)
            if self.input_weights.shape[1] > n_inputs:
                inputs = np.column_stack([inputs, np.full(len(inputs), np.sqrt(n_inputs))])
            outputs = ACTIVATIONS[self.activation](inputs @ self.input_weights.T)
            yield np.column_stack([outputs, np.ones(len(outputs))]), samples.labels[rows]


def count_pi_errors(network: Network, data: Dataset) -> tuple[int, int]:
    """Count test errors of PI-ELM, Eq. (5): without a constant hidden unit, and with one."""
    n_hidden, train, targets = len(network.input_weights), data.train, np.eye(data.n_classes)
    is_small = not network.ridge and len(train.labels) * n_hidden <= SMALL
    if is_small:  # W = T A⁺
        left = np.vstack([units for units, _ in network.hidden(train)])
        right = targets[train.labels]
    else:  # W = T Aᵀ (A Aᵀ + ridge)⁻¹; the constant unit has no ridge
        left, right = np.zeros((n_hidden + 1, n_hidden + 1)), np.zeros((n_hidden + 1, data.n_classes))
        for units, labels in network.hidden(train):
            _add_square(units, left)
            right += units.T @ targets[labels]
        left.flat[: -n_hidden - 2 : n_hidden + 2] += network.ridge

    def count(n: int) -> int:
        if is_small:
            weights = np.linalg.lstsq(left[:, :n], right, rcond=None)[0]
        else:
            weights = np.linalg.solve(left[:n, :n], right[:n])
        return _count_errors(network, data, lambda units: units[:, :n] @ weights)

    return count(n_hidden), count(n_hidden + 1)


def count_lda_errors(network: Network, data: Dataset, priors: Any) -> int:
    """Count test errors of LDA-ELM, Eqs (12) and (15); the ridge is added to KΣ."""
    n_hidden, train = len(network.input_weights), data.train
    counts = np.bincount(train.labels, minlength=data.n_classes)
    means = np.zeros((data.n_classes, n_hidden))
    for units, labels in network.hidden(train):
        means += np.eye(data.n_classes)[labels].T @ units[:, :-1]
    means /= counts[:, None]
    covariance = np.zeros((n_hidden, n_hidden))
    for units, labels in network.hidden(train):
        _add_square(units[:, :-1] - means[labels], covariance)
    covariance.flat[:: n_hidden + 1] += network.ridge
    directions = counts.sum() * np.linalg.solve(covariance, means.T)  # Σ⁻¹μ
    named = {"uniform": np.ones(len(counts)), "frequencies": counts}
    prior = np.asarray(named[priors] if isinstance(priors, str) else priors, np.float64)
    constants = np.log(prior / prior.sum()) - np.einsum("nm,mn->n", means, directions) / 2
    return _count_errors(network, data, lambda units: units[:, :-1] @ directions + constants)


def _count_errors(network: Network, data: Dataset, score: Callable[[Array], Array]) -> int:
    """Count test samples whose highest score belongs to another class."""
    assert data.test is not None
    batches = network.hidden(data.test)
    return sum(int((score(units).argmax(axis=1) != labels).sum()) for units, labels in batches)


def _add_square(units: Array, total: Array) -> None:
    """Add unitsᵀ · units to a matrix, some columns at a time.

    All columns at once crash OpenBLAS, whose threads overrun their buffers (numpy issue 19685): seen
    with 15,680 columns and the kernels for AVX-512.
    """
    for start in range(0, units.shape[1], BLOCK):
        columns = slice(start, start + BLOCK)
        total[columns, columns] += units[:, columns].T @ units[:, columns]
        below = units[:, columns.stop :].T @ units[:, columns]
        total[columns.stop :, columns] += below
        total[columns, columns.stop :] += below.T


def make_draw(options: RecordedOptions, data: Dataset) -> Callable[[Mapping[Any, Any]], Network]:
    """Return a function that draws a record's network: uniform weights from the seed and its key."""
    seed, is_independent = options["seed"], options["design"] == "independent"
    most, has_bias = options["weight_range"], options["bias"]
    activation, scale = options["activation"], options["input_scale"] or data.input_scale
    n_inputs = data.train.inputs.shape[1]

    def draw(record: Mapping[Any, Any]) -> Network:
        n_hidden, own = record["n_hidden"], tuple[int, ...]()
        if not pd.isna(record["fold"]):
            own = (1 + int(record["fold"]),)
        elif is_independent:
            own = (0, n_hidden) if n_hidden % n_inputs else (n_hidden // n_inputs,)
        rng = default_rng(SeedSequence(seed, spawn_key=(record["repeat"], *own)))
        weights = rng.uniform(-most, most, (n_hidden, n_inputs + has_bias))
        return Network(weights, activation, scale, record["ridge"])

    return draw


def make_division(options: RecordedOptions, data: Dataset) -> Callable[[Mapping[Any, Any]], Dataset]:
    """Return a function that divides the data into a record's training part and test part."""
    seed, n_folds, n_held_out = (options[name] for name in ("seed", "folds", "validation"))
    divided = None if n_folds else data.split(n_held_out or 0)
    if divided:
        return lambda _: divided

    def take_fold(record: Mapping[Any, Any]) -> Dataset:
        rng = default_rng(SeedSequence(seed, spawn_key=(record["repeat"], 0)))
        return next(islice(data.folds(n_folds, rng), int(record["fold"]), None))

    return take_fold
