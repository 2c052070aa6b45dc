"""What `elmlda shaped` found, in sentences that follow from its table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from elmlda.reports.rates import METHOD_NAMES

ALPHA = 0.05
SOURCES = ("networks", "images")
"""Of chance."""


def describe_findings(best: pd.DataFrame) -> list[str]:
    """The best rate, and whether LDA-ELM beats PI-ELM, in sentences; `best` is `tabulate_best`'s."""
    known = best.dropna(subset=["difference"])
    rows = known.to_dict("records")
    if not rows:
        return ["No kind of input weights has networks of both methods yet."]
    top = min(rows, key=lambda row: min(row["pi_error_percent"], row["lda_error_percent"]))
    sentences = [f"{name_classifier(top)}: {_describe_rates(top)}.", f"There {_judge(top)}."]
    single = [row for row in rows if row["networks"] == 1]
    listed = ", ".join(f"{_describe_difference(row)} ({row['input_weights']})" for row in single)
    sentences.append(f"For single networks PI − LDA is {listed} points.")
    return [*sentences, _count_wins(known)]


def _count_wins(best: pd.DataFrame) -> str:
    """In how many comparisons which method is better, and in how many beyond chance."""
    sentences = []
    for method, is_better in (("LDA-ELM", best["difference"] > 0), ("PI-ELM", best["difference"] < 0)):
        networks, images = (
            (is_better & (best[f"p_{source}_holm"] < ALPHA)).sum() for source in SOURCES
        )
        sentences.append(
            f"{method} is better in {is_better.sum()}, beyond the chance of networks in {networks} and "
            f"of test images in {images}"
        )
    return f"Of {len(best)} comparisons {'; '.join(sentences)} (Holm's correction, p < {ALPHA})."


def name_classifier(row: Mapping[Any, Any]) -> str:
    """As in: Ensembles of 10 networks with constrained input weights."""
    what = "Single networks" if row["networks"] == 1 else f"Ensembles of {row['networks']} networks"
    return f"{what} of {row['n_hidden']:,} hidden units with {row['input_weights']} input weights"


def _describe_rates(row: Mapping[Any, Any]) -> str:
    """Rates with both intervals."""
    parts = [
        f"{METHOD_NAMES[method]} {row[f'{method}_error_percent']:.2f} %"
        + _name_half(row[f"{method}_interval"], ".2f")
        + name_images(row, method, ".2f")
        for method in ("lda", "pi")
    ]
    return " and ".join(parts)


def _name_half(half: float, form: str) -> str:
    return "" if pd.isna(half) else f" ± {half:{form}}"


def name_images(row: Mapping[Any, Any], name: str, form: str) -> str:
    """The interval over test images in brackets; empty if it is not known."""
    bounds = [row[f"{name}_images_{end}"] for end in ("low", "high")]
    if pd.isna(bounds[0]):
        return ""
    low, high = (format(bound, form).replace("-", "−") for bound in bounds)
    return f" ({low} to {high} over images)"


def _describe_difference(row: Mapping[Any, Any]) -> str:
    half = _name_half(row["difference_interval"], ".3f")
    return f"{row['difference']:+.3f}".replace("-", "−") + half


def _judge(row: Mapping[Any, Any]) -> str:
    """Whether the methods differ, by networks and by images."""
    images = name_images(row, "difference", "+.3f")
    text = f"PI − LDA is {_describe_difference(row)} points{images}"
    p_values = {source: row[f"p_{source}_holm"] for source in SOURCES}
    if all(map(pd.isna, p_values.values())):
        return f"{text}, from too few repeats to judge"
    beyond = [source for source, p in p_values.items() if p < ALPHA]
    over = " and ".join(f"over {source}" for source in beyond)
    return f"{text}, beyond chance {over}" if beyond else f"{text}, not beyond chance"
