"""The evidence for claims: error rates and times as arrays, from a run's records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from elmlda import paper
from elmlda.core.arrays import FloatArray
from elmlda.experiments.ensemble import EnsembleRecord, PairRecord
from elmlda.experiments.sweep import SweepRecord
from elmlda.reports.estimates import NAN
from elmlda.reports.rates import METHOD_NAMES, pivot_by_repeat, pivot_percents

PI, PI_CONSTANT, LDA = range(len(METHOD_NAMES))
ALL_FANOUTS = tuple(range(1, paper.LARGEST_FANOUT + 1))
ALL_SIZES = tuple(range(1, paper.ENSEMBLE_SIZE + 1))


@dataclass(frozen=True)
class Evidence:
    """Error rates in per cent, NaN where there is no record, and times.

    Attributes
    ----------
    rates : n_networks × 20 fan-outs × 3 (PI-ELM, PI-ELM with a constant unit, LDA-ELM)
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
        return _drop_incomplete(self.rates[:, places][:, :, list(methods)])

    def combined(self, sizes: Sequence[int]) -> FloatArray:
        """Ensembles that have all these sizes: n × n_sizes."""
        return _drop_incomplete(self.ensembles[:, [size - 1 for size in sizes]])


def gather_evidence(
    sweep: Sequence[SweepRecord],
    pairs: Sequence[PairRecord],
    ensemble: Sequence[EnsembleRecord],
    overheads: Mapping[int, FloatArray],
) -> Evidence:
    """The records of a run on the paper's data; pairs and ensembles of fan-out 20, by the mean."""
    tables = [table.reindex(columns=ALL_FANOUTS) for table in pivot_by_repeat(sweep).values()]
    means = [record for record in ensemble if record.combine == "mean"]
    sizes = pivot_percents(means, "errors", "size").reindex(columns=ALL_SIZES)
    alone = tables[LDA][paper.LARGEST_FANOUT].to_dict()
    together = [
        (100 * one.errors / one.n_test, (alone.get(one.first, NAN) + alone.get(one.second, NAN)) / 2)
        for one in sorted(pairs, key=lambda one: one.pair)
    ]
    rates = np.stack([table.to_numpy(float) for table in tables], axis=-1)
    return Evidence(rates, np.array(together, float).reshape(-1, 2), sizes.to_numpy(float), overheads)


def _drop_incomplete(values: FloatArray) -> FloatArray:
    """The repeats without a missing value."""
    return values[~np.isnan(values).any(axis=tuple(range(1, values.ndim)))]
