"""Measure classifiers and keep the rows: what scripts/panel and scripts/rocket share."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss


def measure(
    make: Callable[[], Any], inputs: Any, labels: Any, test_inputs: Any, test_labels: Any
) -> dict[str, float]:
    """Fit a classifier to training samples and measure it on test samples.

    `log_loss` is NaN for a classifier without probabilities.
    """
    start = time.perf_counter()
    classifier = make().fit(inputs, labels)
    seconds, loss = time.perf_counter() - start, np.nan
    if hasattr(classifier, "predict_proba"):
        posteriors = classifier.predict_proba(test_inputs)
        loss = log_loss(test_labels, posteriors, labels=classifier.classes_)
    results = {
        "accuracy": np.mean(classifier.predict(test_inputs) == test_labels),
        "log_loss": loss,
        "fit_seconds": seconds,
        "loo_log_loss": getattr(classifier, "loo_log_loss_", np.nan),
    }
    return {name: float(f"{value:.6g}") for name, value in results.items()}


def read_keys(table: Path, columns: list[str]) -> set[tuple[Any, ...]]:
    """Return the values of some columns in each row of a table, or nothing if there is no table."""
    if not table.exists():
        return set()
    return set(pd.read_csv(table)[columns].itertuples(index=False, name=None))


def append_rows(table: Path, rows: list[dict[str, Any]]) -> None:
    """Append rows to a CSV file; the first rows make the file and its header."""
    table.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(rows).to_csv(table, mode="a", header=not table.exists(), index=False)


def to_markdown(table: pd.DataFrame, digits: int = 3) -> str:
    """Format a table in Markdown; the name of the index heads the first column."""
    lines = [f"| {table.index.name} | {' | '.join(table)} |", f"|---|{'---:|' * table.shape[1]}"]
    for name, row in zip(table.index, table.itertuples(index=False), strict=True):
        cells = (f"{cell:.{digits}f}" if isinstance(cell, float) else str(cell) for cell in row)
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)
