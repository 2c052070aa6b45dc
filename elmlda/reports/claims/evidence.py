"""What claims are judged by: error rates and times as arrays, from a run's records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from elmlda import paper
from elmlda.core.arrays import FloatArray
from elmlda.experiments.ensemble import EnsembleRecord
from elmlda.experiments.pairs import PairRecord
from elmlda.experiments.sweep import SweepRecord
from elmlda.reports.estimates import NAN

METHODS = ("pi", "pi_constant", "lda")
PI, PI_CONSTANT, LDA = range(len(METHODS))
ALL_FANOUTS = tuple(range(1, paper.LARGEST_FANOUT + 1))
ALL_SIZES = tuple(range(1, paper.ENSEMBLE_SIZE + 1))


@dataclass(frozen=True)
class Evidence:
    """Error rates in per cent, NaN where there is no record, and times.

    Attributes
    ----------
    rates : n_networks × 20 fan-outs × 3 (`METHODS`)
    pairs : n_pairs × 2: two networks combined, and the mean of each alone
    ensembles : n_ensembles × 20 sizes
    overheads : fan-out -> what LDA-ELM takes more than PI-ELM in per cent, one for each repeat
    """

    rates: FloatArray
    pairs: FloatArray
    ensembles: FloatArray
    overheads: Mapping[int, FloatArray]

    def at(self, fanouts: Sequence[int], methods: Sequence[int]) -> FloatArray:
        """Networks that have all these fan-outs: n × n_fanouts × n_methods."""
        places = [fanout - 1 for fanout in fanouts]
        return _complete(self.rates[:, places][:, :, list(methods)])

    def combined(self, sizes: Sequence[int]) -> FloatArray:
        """Ensembles that have all these sizes: n × n_sizes."""
        return _complete(self.ensembles[:, [size - 1 for size in sizes]])


def gather_evidence(
    sweep: Sequence[SweepRecord],
    pairs: Sequence[PairRecord],
    ensemble: Sequence[EnsembleRecord],
    overheads: Mapping[int, FloatArray],
) -> Evidence:
    """The records of a run on the paper's data; pairs and ensembles of fan-out 20, by the mean."""
    rates = _lay_out(
        ((record.repeat, record.fanout), [_rate(record, method) for method in METHODS])
        for record in sweep
    )
    sizes = _lay_out(
        ((record.repeat, record.size), [100 * record.errors / record.n_test])
        for record in ensemble
        if record.combine == "mean"
    )
    alone = {
        repeat: row[paper.LARGEST_FANOUT][LDA]
        for repeat, row in rates.items()
        if paper.LARGEST_FANOUT in row
    }
    together = [
        (
            100 * record.errors / record.n_test,
            (alone.get(record.first, NAN) + alone.get(record.second, NAN)) / 2,
        )
        for record in sorted(pairs, key=lambda record: record.pair)
    ]
    return Evidence(
        _stack(rates, ALL_FANOUTS, len(METHODS)),
        np.array(together, np.float64).reshape(-1, 2),
        _stack(sizes, ALL_SIZES, 1)[:, :, 0],
        overheads,
    )


def _rate(record: SweepRecord, method: str) -> float:
    errors: int = getattr(record, f"{method}_errors")
    return 100 * errors / record.n_test


Rows = dict[int, dict[float, list[float]]]


def _lay_out(cells: Iterable[tuple[tuple[int, float], list[float]]]) -> Rows:
    """Repeat -> column -> numbers."""
    rows: Rows = {}
    for (repeat, column), numbers in cells:
        rows.setdefault(repeat, {})[column] = numbers
    return rows


def _stack(rows: Rows, columns: Sequence[int], n_numbers: int) -> FloatArray:
    """n_repeats × n_columns × n_numbers, in the order of the repeats."""
    missing = [NAN] * n_numbers
    stacked = [[row.get(column, missing) for column in columns] for _, row in sorted(rows.items())]
    return np.array(stacked, np.float64).reshape(-1, len(columns), n_numbers)


def _complete(values: FloatArray) -> FloatArray:
    """The repeats that lack nothing."""
    return values[~np.isnan(values).any(axis=tuple(range(1, values.ndim)))]
