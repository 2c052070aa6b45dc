"""Verification: recompute random records of a run by the paper's equations, literally, in float64.

Nothing of `elmlda.core` or `elmlda.networks` is used: this module shares only the paper, the data and
the manifest with the code that it checks. It is plain and slow: samples pass in blocks, and every
record has its own hidden outputs, its own Gram matrix and its own covariance of centred outputs.

Counts of a run in mixed precision may differ by one or two: of 10,000 samples a few lie on the border
of two classes to within float32's rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
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

ROWS = 4000
"""Number of samples whose hidden outputs are held at a time."""
COLUMNS = 4096
"""Number of columns of a product that are computed at a time."""
SMALL = 1 << 24
"""Largest number of hidden outputs, samples times units, for numpy's least squares."""
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
    """Recompute random records of a run's sweep.

    Parameters
    ----------
    folder : the run's folder, with manifest.json and sweep.csv
    n : number of records; all of them, if there are fewer
    rng : chooses the records; default: a generator with seed 0
    fanout_up_to : largest fan-out. On MNIST a record of fan-out 3 takes half a minute of processor
        time, which grows with the square; at fan-out 20 there are four matrices of 2 GB
    data : the run's data, as `load_dataset` takes them, or a `Dataset`; default: the catalogue's set or
        the file in the current folder that the manifest names
    progress : whether to show a progress bar, if stderr is a terminal

    Returns
    -------
    records : DataFrame
        The columns `PLACE`, then for every method `pi_errors` as recorded and `pi_recomputed`; both
        are missing if nothing was recorded.

    Raises
    ------
    ElmldaError
        If the run has options that are not implemented here, such as shaped input weights, or if the
        data are not the run's.
    """
    folder = expand_path(folder)
    manifest, records = read_manifest(folder), read_rows(folder, SWEEP)
    if manifest is None:
        raise ElmldaError(f"{folder}: no manifest.json in it: expected the folder of a sweep.")
    options = RecordedOptions({**manifest["experiments"].get("sweep", {}), **manifest["run"]})
    data = _load_data(options, data)
    divide, draw = make_division(options, data), make_draw(options, data)
    priors = options["priors"]
    for name in ("ridge", "precision", "temperature"):  # in the rows, or no matter for counts
        options[name]
    if options.unread:
        names = ", ".join(f"{name} {options[name]}" for name in sorted(options.unread))
        raise ElmldaError(f"{folder} has options that are not recomputed: {names}.")
    if fanout_up_to is not None and len(records):
        records = records[records["fanout"] <= fanout_up_to]
    if records.empty:
        most = "" if fanout_up_to is None else f" of fan-out up to {fanout_up_to}"
        raise ElmldaError(f"{folder}: no record{most} in sweep.csv to recompute.")
    rng = rng or np.random.default_rng(0)
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
    if has_columns:
        sources = [f"{file}{packed}" for file in sums for packed in ("", ".gz") if is_table(Path(file))]
    else:
        sources = [f"{name}.npz", *([name] if PARTS[0] in sums else [])]
        if name in SETS:
            return name
    for source in sources:
        if Path(source).exists():
            return source
    fact = f"the run's data, {join_words(sums)}, are not in this folder."
    raise ElmldaError(fact, "Name their file with {dataset}.", dataset=None)


def _verify(record: Mapping[Any, Any], data: Dataset, network: Network, priors: Any) -> dict[str, Any]:
    """Recompute a record."""
    assert data.test is not None
    if record["n_test"] != len(data.test.labels):
        raise ElmldaError(
            f"{data.name}: {len(data.test.labels):,} test samples, the record of repeat "
            f"{record['repeat']} has {record['n_test']:,}."
        )
    row = {name: record[name] for name in PLACE}
    counts = dict(zip(METHODS, count_pi_errors(network, data), strict=False))
    if not pd.isna(record["lda_errors"]):  # otherwise Σ was singular
        counts["lda"] = count_lda_errors(network, data, priors)
    for method in METHODS:
        recorded = record[f"{method}_errors"]
        row[f"{method}_errors"] = recorded
        row[f"{method}_recomputed"] = None if pd.isna(recorded) else counts[method]
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
        """Yield A = g(X W1), n × n_hidden, and n labels, block by block."""
        n_inputs = samples.inputs.shape[1]
        for start in range(0, len(samples.labels), ROWS):
            inputs = samples.inputs[start : start + ROWS] * np.float64(self.input_scale)
            if self.input_weights.shape[1] > n_inputs:
                inputs = np.column_stack([inputs, np.full(len(inputs), np.sqrt(n_inputs))])
            outputs = ACTIVATIONS[self.activation](inputs @ self.input_weights.T)
            yield outputs, samples.labels[start : start + ROWS]


def count_pi_errors(network: Network, data: Dataset) -> tuple[int, int]:
    """Count test errors of PI-ELM, Eq. (5): without a constant hidden unit, and with one."""
    n_hidden, train, targets = len(network.input_weights), data.train, np.eye(data.n_classes)
    is_small = not network.ridge and len(train.labels) * n_hidden <= SMALL
    if is_small:  # W = T A⁺
        left = np.vstack([_add_ones(hidden) for hidden, _ in network.hidden(train)])
        right = targets[train.labels]
    else:  # W = T Aᵀ (A Aᵀ + ridge)⁻¹; the constant unit has no ridge
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
    """Count test errors of LDA-ELM, Eqs (12) and (15); the ridge is added to KΣ."""
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
    """Count test samples whose highest score belongs to another class."""
    assert data.test is not None
    wrong = [score(hidden).argmax(axis=1) != labels for hidden, labels in network.hidden(data.test)]
    return int(np.concatenate(wrong).sum())


def _add_square(units: Array, total: Array) -> None:
    """Add unitsᵀ · units to a matrix, some columns at a time.

    All columns at once crash OpenBLAS, whose threads overrun their buffers (numpy issue 19685): seen
    with 15,680 columns and the kernels for AVX-512.
    """
    for start in range(0, units.shape[1], COLUMNS):
        columns = slice(start, start + COLUMNS)
        total[columns, columns] += units[:, columns].T @ units[:, columns]
        below = units[:, columns.stop :].T @ units[:, columns]
        total[columns.stop :, columns] += below
        total[columns, columns.stop :] += below.T


def _add_ones(hidden: Array) -> Array:
    return np.column_stack([hidden, np.ones(len(hidden))])


def make_draw(options: RecordedOptions, data: Dataset) -> Callable[[Mapping[Any, Any]], Network]:
    """Return a function that draws a record's network from the run's seed and the network's key."""
    if (scheme := options["input_weights"]) != "uniform":
        raise ElmldaError(f"the run has {scheme} input weights: only uniform ones are recomputed.")
    seed, is_independent = options["seed"], options["design"] == "independent"
    most, has_bias = options["weight_range"], options["bias"]
    activation, scale = options["activation"], options["input_scale"] or data.input_scale
    n_inputs = data.train.inputs.shape[1]

    def draw(record: Mapping[Any, Any]) -> Network:
        repeat, n_hidden = record["repeat"], record["n_hidden"]
        key: tuple[int, ...] = (repeat,)
        if not pd.isna(record["fold"]):
            key = (repeat, 1 + int(record["fold"]))
        elif is_independent:
            is_whole = n_hidden % n_inputs == 0
            key = (repeat, n_hidden // n_inputs) if is_whole else (repeat, 0, n_hidden)
        weights = _generator(seed, key).uniform(-most, most, (n_hidden, n_inputs + has_bias))
        return Network(weights, activation, scale, record["ridge"])

    return draw


def make_division(options: RecordedOptions, data: Dataset) -> Callable[[Mapping[Any, Any]], Dataset]:
    """Return a function that divides the data into a record's training part and test part."""
    seed, n_folds, n_held_out = (options[name] for name in ("seed", "folds", "validation"))
    if n_folds:

        def take_fold(record: Mapping[Any, Any]) -> Dataset:
            folds = data.folds(n_folds, _generator(seed, (record["repeat"], 0)))
            return next(islice(folds, int(record["fold"]), None))

        return take_fold
    divided = data.split(n_held_out or 0)
    return lambda _: divided


def _generator(seed: int, key: tuple[int, ...]) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))
