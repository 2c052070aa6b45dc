"""PI-ELM against LDA-ELM, each at its own setting: rates, differences, and how far chance goes.

Other networks and other test images would both give other rates. The two are told apart: Student's
interval over networks, and a bootstrap over test images, each of which counts with the share of the
networks that get it wrong.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from elmlda.core.arrays import FloatArray
from elmlda.experiments.selection import FEWEST, METHODS
from elmlda.experiments.shaped_networks import ShapedEnsembleRecord, ShapedRecord, Tested
from elmlda.reports.estimates import LEVEL, NAN, Estimate, estimate_mean
from elmlda.reports.model import Column, Table, make_table
from elmlda.reports.rates import METHOD_NAMES, adjust_holm, corrected_p, pivot_percents
from elmlda.settings import INPUT_WEIGHTS
from elmlda.text import format_number

ALPHA = 0.05
SOURCES = ("networks", "images")
"""Of chance."""
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
    rows = [
        {"input_weights": kind, "fanout": some[0].fanout, "n_hidden": size, **compare_networks(some)}
        for kind in INPUT_WEIGHTS
        for size in sorted({record.n_hidden for record in records})
        if (some := _select(records, input_weights=kind, n_hidden=size))
    ]
    table = pd.DataFrame(rows)
    corrected = table.groupby("input_weights", sort=False)["p_networks"].transform(adjust_holm)
    return table.assign(p_networks_holm=corrected)


def show_table(table: pd.DataFrame, beside_paper: bool = False) -> Table:
    """For display."""
    caption = "Test errors in per cent, means over networks"
    return make_table(caption, table, COLUMNS, beside_paper)


def tabulate_best(
    records: Sequence[ShapedRecord], ensembles: Sequence[ShapedEnsembleRecord]
) -> pd.DataFrame:
    """The largest networks of each kind, and whole ensembles; p corrected for their number."""
    largest = max(record.n_hidden for record in records)
    rows = [
        {"input_weights": kind, "networks": 1, **_compare(some)}
        for kind in INPUT_WEIGHTS
        if (some := _select(records, input_weights=kind, n_hidden=largest))
    ]
    whole = max((record.size for record in ensembles), default=0)
    some = _select(ensembles, size=whole)
    pi, lda = (_select(some, method=method) for method in METHODS)
    if pi and lda:
        kind, pi_kind = lda[0].input_weights, pi[0].input_weights
        name = kind if kind == pi_kind else f"{kind} (PI-ELM: {pi_kind})"
        rows.append({"input_weights": name, "networks": whole, **_compare(some)})
    table = pd.DataFrame(rows).assign(n_hidden=largest)
    for source in SOURCES:
        table[f"p_{source}_holm"] = adjust_holm(table[f"p_{source}"])
    return table


def tabulate_sizes(ensembles: Sequence[ShapedEnsembleRecord]) -> pd.DataFrame:
    """A row for each number of combined networks."""
    sizes = sorted({record.size for record in ensembles})
    rows = [{"networks": n, **compare_networks(_select(ensembles, size=n))} for n in sizes]
    return pd.DataFrame(rows)


def _select(records: Iterable[Any], **fields: Any) -> list[Any]:
    """Those whose fields have these values."""
    return [each for each in records if all(getattr(each, name) == fields[name] for name in fields)]


def _compare(records: Sequence[Tested]) -> dict[str, Any]:
    """By networks and by images, with the settings."""
    settings = {
        f"{method}_{name}": next((getattr(one, name) for one in _select(records, method=method)), NAN)
        for method in METHODS
        for name in ("weight_size", "ridge")
    }
    return {**settings, **compare_networks(records), **compare_images(records)}


def compare_networks(records: Sequence[Tested]) -> dict[str, Any]:
    """Mean rates, and the mean difference of repeats that both have, with intervals over networks."""
    rates = pivot_percents(records, "errors", "method").reindex(columns=list(METHODS))
    row: dict[str, Any] = {}
    for method in METHODS:
        row[f"{method}_repeats"] = rates[method].count()
        row |= _estimate(rates[method]).columns(f"{method}_error_percent", f"{method}_interval")
    differences = (rates["pi"] - rates["lda"]).dropna()
    row |= _estimate(differences).columns("difference", "difference_interval")
    p = corrected_p(differences.to_numpy()) if len(differences) >= FEWEST else NAN
    return row | {"p_networks": p}


def _estimate(values: pd.Series[float]) -> Estimate:
    """The mean with its interval, which needs three values."""
    estimate = estimate_mean(values.dropna().to_numpy())
    return estimate if estimate.repeats >= FEWEST else Estimate(estimate.value)


def compare_images(records: Sequence[Tested]) -> dict[str, Any]:
    """Intervals over test images, and p of the difference; NaN where the mistakes are not recorded."""
    pi, lda = (_select(records, method=method) for method in METHODS)
    both = {record.repeat for record in pi} & {record.repeat for record in lda}
    shares = [find_shares([each for each in one if each.repeat in both]) for one in (pi, lda)]
    difference = None if shares[0] is None or shares[1] is None else shares[0] - shares[1]
    row: dict[str, Any] = {}
    for name, values in (
        ("pi", find_shares(pi)), ("lda", find_shares(lda)), ("difference", difference),
    ):  # fmt: skip
        low, high = (NAN, NAN) if values is None else bootstrap_mean(values)
        row |= {f"{name}_images_low": 100 * low, f"{name}_images_high": 100 * high}
    return row | {"p_images": NAN if difference is None else mcnemar_p(difference)}


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


def describe_findings(best: pd.DataFrame) -> list[str]:
    """The best rate, and whether LDA-ELM beats PI-ELM, in sentences; `best` is `tabulate_best`'s."""
    known = best.dropna(subset=["difference"])
    rows = known.to_dict("records")
    if not rows:
        return ["No kind of input weights has networks of both methods yet."]
    top = min(rows, key=lambda row: min(row["pi_error_percent"], row["lda_error_percent"]))
    sentences = [f"{name_classifier(top)}: {_describe_rates(top)}.", f"There {_judge(top)}."]
    return [*sentences, *_describe_range(rows), _count_wins(known)]


def _describe_range(rows: Sequence[Mapping[Any, Any]]) -> Iterator[str]:
    """The smallest and the largest difference of single networks."""
    single = sorted((row for row in rows if row["networks"] == 1), key=lambda row: row["difference"])
    if len(single) > 1:
        low, high = (
            f"{_describe_difference(one)} ({one['input_weights']})" for one in (single[0], single[-1])
        )
        yield f"For single networks it is {low} to {high}."


def _count_wins(best: pd.DataFrame) -> str:
    """In how many comparisons which method is better, and in how many beyond chance."""
    parts = []
    for method, is_better in (("LDA-ELM", best["difference"] > 0), ("PI-ELM", best["difference"] < 0)):
        if not is_better.any():
            parts.append(f"{method} is better in none")
            continue
        networks, images = (
            (is_better & (best[f"p_{source}_holm"] < ALPHA)).sum() or "none" for source in SOURCES
        )
        parts.append(
            f"{method} is better in {is_better.sum()}, beyond chance over networks in {networks} and "
            f"over test images in {images}"
        )
    comparisons = "1 comparison" if len(best) == 1 else f"{len(best)} comparisons"
    return f"Of {comparisons} {'; '.join(parts)} (beyond chance: p < {ALPHA} after Holm's correction)."


def name_classifier(row: Mapping[Any, Any]) -> str:
    """As in: Ensembles of 10 networks with constrained input weights."""
    what = "Single networks" if row["networks"] == 1 else f"Ensembles of {row['networks']} networks"
    return f"{what} of {row['n_hidden']:,} hidden units with {row['input_weights']} input weights"


def _describe_rates(row: Mapping[Any, Any]) -> str:
    """Rates with both intervals."""
    parts = [
        f"{METHOD_NAMES[method]} {row[f'{method}_error_percent']:.2f} %"
        + _name_half(row[f"{method}_interval"], ".2f")
        + _name_in_brackets(name_images(row, method, ".2f"))
        for method in ("lda", "pi")
    ]
    return " and ".join(parts)


def _name_half(half: float, form: str) -> str:
    return "" if pd.isna(half) else f" ± {half:{form}}"


def name_images(row: Mapping[Any, Any], name: str, form: str) -> str:
    """The interval over test images; empty if it is not known."""
    bounds = [row[f"{name}_images_{end}"] for end in ("low", "high")]
    if pd.isna(bounds[0]):
        return ""
    low, high = (format_number(bound, form) for bound in bounds)
    return f"{low} to {high}"


def _name_in_brackets(images: str) -> str:
    return f" ({images} over images)" if images else ""


def _describe_difference(row: Mapping[Any, Any]) -> str:
    return format_number(row["difference"], "+.3f") + _name_half(row["difference_interval"], ".3f")


def _judge(row: Mapping[Any, Any]) -> str:
    """Whether the methods differ, by networks and by images."""
    images = _name_in_brackets(name_images(row, "difference", "+.3f"))
    text = f"PI − LDA is {_describe_difference(row)} points{images}"
    p_values = {source: row[f"p_{source}_holm"] for source in SOURCES}
    if all(map(pd.isna, p_values.values())):
        return f"{text}, from too few repeats to judge"
    beyond = [source for source, p in p_values.items() if p < ALPHA]
    over = " and ".join(f"over {source}" for source in beyond)
    return f"{text}, beyond chance {over}" if beyond else f"{text}, not beyond chance"
