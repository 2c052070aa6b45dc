"""PI-ELM against LDA-ELM, each at its own setting: rates, differences, and how far chance goes.

Other networks and other test images would both give other rates. The two are told apart: Student's
interval over networks, and a bootstrap over test images, each of which counts with the share of the
networks that get it wrong.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from elmlda.core.arrays import FloatArray
from elmlda.experiments.selection import FEWEST, METHODS
from elmlda.experiments.shaped_records import ShapedEnsembleRecord, ShapedRecord, Tested
from elmlda.reports.estimates import LEVEL, estimate_mean
from elmlda.reports.model import Column, Table, make_table
from elmlda.reports.subjects.compare import adjust_holm, corrected_p
from elmlda.settings import INPUT_WEIGHTS

NAN = float("nan")
N_BOOTSTRAPS = 10_000
RATE_COLUMNS = [
    Column("PI-ELM, %", "pi_error_percent", ".2f", "pi_interval"),
    Column("LDA-ELM, %", "lda_error_percent", ".2f", "lda_interval"),
    Column("PI − LDA, points", "difference", "+.3f", "difference_interval"),
]
COLUMNS = [
    Column("Input weights", "input_weights"),
    Column("Fan-out", "fanout", ".3g"),
    Column("Hidden units", "n_hidden", ",.0f", extra=True),
    Column("Repeats", "lda_repeats", ".0f", extra=True),
    *RATE_COLUMNS,
    Column("p, networks", "p_networks_holm", ".2g"),
]


def tabulate_shaped(records: Sequence[ShapedRecord]) -> pd.DataFrame:
    """Single networks: a row for each kind and hidden size; p corrected for the sizes of a kind."""
    rows = []
    for kind in INPUT_WEIGHTS:
        of_kind = [record for record in records if record.input_weights == kind]
        for size in sorted({record.n_hidden for record in of_kind}):
            at_size = [record for record in of_kind if record.n_hidden == size]
            start = {"input_weights": kind, "fanout": at_size[0].fanout, "n_hidden": size}
            rows.append({**start, **compare_networks(*_by_method(at_size))})
    table = pd.DataFrame(rows)
    p_values = table.groupby("input_weights", sort=False)["p_networks"]
    return table.assign(
        p_networks_holm=[p for _, found in p_values for p in adjust_holm(found.tolist())]
    )


def show_table(table: pd.DataFrame, beside_paper: bool = False) -> Table:
    """For display."""
    caption = "Test errors in per cent, means over networks"
    return make_table(caption, table, COLUMNS, beside_paper)


def tabulate_best(
    records: Sequence[ShapedRecord], ensembles: Sequence[ShapedEnsembleRecord]
) -> pd.DataFrame:
    """The largest networks of each kind, and whole ensembles; p corrected for their number."""
    largest = max(record.n_hidden for record in records)
    rows = []
    for kind in INPUT_WEIGHTS:
        found = [r for r in records if (r.input_weights, r.n_hidden) == (kind, largest)]
        if found:
            rows.append({"input_weights": kind, "networks": 1, **_compare(*_by_method(found))})
    whole = max((record.size for record in ensembles), default=0)
    pi, lda = _by_method([record for record in ensembles if record.size == whole])
    if pi and lda:
        kinds = [records[0].input_weights for records in (lda, pi)]
        name = kinds[0] if kinds[0] == kinds[1] else f"{kinds[0]} (PI-ELM: {kinds[1]})"
        rows.append({"input_weights": name, "networks": whole, **_compare(pi, lda)})
    table = pd.DataFrame(rows).assign(n_hidden=largest)
    for source in ("networks", "images"):
        table[f"p_{source}_holm"] = adjust_holm(table[f"p_{source}"].tolist())
    return table


def tabulate_sizes(ensembles: Sequence[ShapedEnsembleRecord]) -> pd.DataFrame:
    """A row for each number of combined networks."""
    rows = []
    for size in sorted({record.size for record in ensembles}):
        methods = _by_method([record for record in ensembles if record.size == size])
        rows.append({"networks": size, **compare_networks(*methods)})
    return pd.DataFrame(rows)


def _by_method(records: Sequence[Any]) -> Iterator[list[Any]]:
    return ([record for record in records if record.method == method] for method in METHODS)


def _compare(pi: Sequence[Tested], lda: Sequence[Tested]) -> dict[str, Any]:
    """By networks and by images, with the settings."""
    settings = {
        f"{method}_{name}": getattr(records[0], name) if records else NAN
        for method, records in zip(METHODS, (pi, lda), strict=True)
        for name in ("weight_size", "ridge")
    }
    return {**settings, **compare_networks(pi, lda), **compare_images(pi, lda)}


def compare_networks(pi: Sequence[Tested], lda: Sequence[Tested]) -> dict[str, Any]:
    """Mean rates, and the mean difference of repeats that both have, with intervals over networks."""
    rates = [{each.repeat: 100 * each.errors / each.n_test for each in one} for one in (pi, lda)]
    both = sorted(rates[0].keys() & rates[1].keys())
    differences = np.array([rates[0][repeat] - rates[1][repeat] for repeat in both])
    row: dict[str, Any] = {}
    for name, values in zip(METHODS, rates, strict=True):
        mean, half = _mean_and_half(np.array(list(values.values())))
        row |= {f"{name}_repeats": len(values), f"{name}_error_percent": mean, f"{name}_interval": half}
    mean, half = _mean_and_half(differences)
    p = corrected_p(differences, 0.0) if len(both) >= FEWEST else NAN
    return {**row, "difference": mean, "difference_interval": half, "p_networks": p}


def _mean_and_half(values: FloatArray) -> tuple[float, float]:
    """Mean and half its interval, which needs three values."""
    if not len(values):
        return NAN, NAN
    return float(values.mean()), estimate_mean(values).half if len(values) >= FEWEST else NAN


def compare_images(pi: Sequence[Tested], lda: Sequence[Tested]) -> dict[str, Any]:
    """Intervals over test images, and p of the difference; NaN where the mistakes are not recorded."""
    row: dict[str, Any] = {}
    for method, records in zip(METHODS, (pi, lda), strict=True):
        row |= _name_bounds(f"{method}_images", find_shares(records))
    both = {record.repeat for record in pi} & {record.repeat for record in lda}
    shares = [find_shares([each for each in one if each.repeat in both]) for one in (pi, lda)]
    difference = None if shares[0] is None or shares[1] is None else shares[0] - shares[1]
    row |= _name_bounds("difference_images", difference)
    return {**row, "p_images": NAN if difference is None else mcnemar_p(difference)}


def _name_bounds(name: str, values: FloatArray | None) -> dict[str, float]:
    low, high = (NAN, NAN) if values is None else bootstrap_mean(values)
    return {f"{name}_low": 100 * low, f"{name}_high": 100 * high}


def find_shares(records: Sequence[Tested]) -> FloatArray | None:
    """For each test image the share of the classifiers that get it wrong; None if that is not known."""
    if not records or not all(record.has_places for record in records):
        return None
    shares = np.zeros(records[0].n_test)
    for record in records:
        shares[list(record.places)] += 1 / len(records)
    return shares


def bootstrap_mean(values: FloatArray) -> tuple[float, float]:
    """The percentile interval of a mean; the same values give the same interval.

    Resampling n values with replacement is a multinomial draw over the different ones.
    """
    different, counts = np.unique(values.round(9), return_counts=True)
    rng, n = np.random.default_rng(0), len(values)
    means = rng.multinomial(n, counts / n, N_BOOTSTRAPS) @ different / n
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def mcnemar_p(differences: FloatArray) -> float:
    """Two-sided p of no difference, for one value a test image: PI-ELM's share wrong minus LDA-ELM's.

    z = Σd / √Σd². For two classifiers d is 1, 0 or -1, and z² is McNemar's statistic.
    """
    square = float((differences**2).sum())
    return float(2 * stats.norm.sf(abs(differences.sum()) / math.sqrt(square))) if square else 1.0
