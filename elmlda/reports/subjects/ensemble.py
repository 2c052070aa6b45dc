"""Fig. 2: combining networks, and what the best ensemble gets wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from elmlda import paper
from elmlda.core.arrays import IntArray, RealArray
from elmlda.datasets import Dataset
from elmlda.experiments.ensemble import EnsembleRecord, MistakeRecord
from elmlda.reports import plots
from elmlda.reports.estimates import estimate_mean
from elmlda.reports.model import Column, Drawing, Section, Table, make_table
from elmlda.reports.records import RunRecords
from elmlda.text import printable

MOST_DIGITS = 200
LONGEST_CLASS = 12


def tabulate_ensemble(records: Sequence[EnsembleRecord]) -> pd.DataFrame:
    """Fig. 2: a row for each ensemble size and scheme, error rates in per cent."""
    frame = pd.DataFrame([vars(record) for record in records])
    frame["percent"] = 100 * frame["errors"] / frame["n_test"]
    rows = []
    for (size, combine), rates in frame.groupby(["size", "combine"])["percent"]:
        row = {"size": size, "combine": combine, "repeats": len(rates)}
        row |= estimate_mean(rates.to_numpy()).columns("error_percent", "interval")
        rows.append({**row, "best_percent": rates.min()})
    return pd.DataFrame(rows)


def make_sections(run: RunRecords, table: pd.DataFrame) -> Iterator[Section]:
    """Table and figures."""
    title, shown = "Fig. 2: combining networks", show_table(table, run.is_papers_ensemble)
    yield Section("ensemble", title, figures=list(_draw(run, table)), tables=[shown])


def show_table(table: pd.DataFrame, beside_paper: bool) -> Table:
    """For display, a column for each scheme."""
    wide = pd.DataFrame({"size": sorted(table["size"].unique())}).set_index("size")
    columns = [Column("Networks", "size", ".0f")]
    for i, (scheme, rows) in enumerate(_group_schemes(table)):
        by_size = rows.set_index("size")
        wide[scheme], wide[f"{scheme} ±"] = by_size["error_percent"], by_size["interval"]
        wide[f"{scheme} n"] = by_size["repeats"]
        columns += [
            Column(f"{scheme}, %", scheme, ".2f", f"{scheme} ±", extra=i > 1),
            Column("repeats", f"{scheme} n", ".0f", extra=True),
        ]
    wide["paper_mean"] = pd.Series(paper.ENSEMBLE_ERROR_PERCENT)
    columns.append(Column("paper (mean)", "paper_mean", ".2f"))
    caption = "Error rates of ensembles in per cent, means over repeats"
    return make_table(caption, wide.reset_index(), columns, beside_paper)


def _group_schemes(table: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """The mean first, as the paper has it."""
    groups = [(str(scheme), rows) for scheme, rows in table.groupby("combine")]
    return sorted(groups, key=lambda group: (group[0] != "mean", group[0]))


def _draw(run: RunRecords, table: pd.DataFrame) -> Iterator[Drawing]:
    beside = run.is_papers_ensemble
    yield Drawing(
        "fig2",
        "Test error rate over the number of networks in the ensemble",
        "Networks are combined by their posteriors."
        + (" Hollow markers are the values that the paper states." if beside else ""),
        partial(plot_ensemble, table=table, beside_paper=beside),
    )
    mistakes, dataset = run.best_mistakes(), run.dataset
    if mistakes is None or dataset is None or run.best_ensemble is None:
        return
    _, size, scheme = run.best_ensemble
    n_test = len(dataset.test.labels)
    which = f"best ensemble of {size} ({scheme}): {len(mistakes)} errors of {n_test:,}"
    classes = [printable(label, LONGEST_CLASS) for label in dataset.classes]
    confusion = count_confusion(mistakes, dataset.test.labels, len(classes))
    yield Drawing(
        "confusion",
        f"Confusion matrix of the {which}",
        "Rows are true classes, columns what was chosen; the colour is of errors only.",
        partial(plot_confusion, confusion=confusion, classes=classes, title=f"The {which}"),
    )
    if dataset.image_shape and mistakes:
        yield _draw_mistakes(mistakes, dataset, classes)


def _draw_mistakes(
    mistakes: Sequence[MistakeRecord], dataset: Dataset, classes: Sequence[str]
) -> Drawing:
    shown = sorted(mistakes, key=lambda mistake: -mistake.posterior)[:MOST_DIGITS]
    images = dataset.test.inputs[[mistake.sample for mistake in shown]]
    all_or_some = "All" if len(shown) == len(mistakes) else f"{MOST_DIGITS} of the"
    return Drawing(
        "mistakes",
        f"Images of the {len(shown)} test samples that it gets wrong",
        "True class → the class that the best ensemble chose.",
        partial(
            plot_mistakes,
            labels=[f"{classes[one.label]}→{classes[one.chosen]}" for one in shown],
            images=images.reshape(-1, *(dataset.image_shape or ())),
            title=f"{all_or_some} {len(mistakes)} mistakes, the surest first",
        ),
    )


def count_confusion(mistakes: Sequence[MistakeRecord], labels: IntArray, n_classes: int) -> IntArray:
    """How often each class (a row) was taken for each: n_classes × n_classes."""
    confusion = np.diag(np.bincount(labels, minlength=n_classes))
    for mistake in mistakes:
        confusion[mistake.label, mistake.label] -= 1
        confusion[mistake.label, mistake.chosen] += 1
    return confusion


def plot_ensemble(figure: plots.Figure, table: pd.DataFrame, beside_paper: bool) -> None:
    """Fig. 2: error rate over ensemble number; `table` is `tabulate_ensemble`'s."""
    axes = figure.subplots()
    schemes = _group_schemes(table)
    for i, (scheme, rows) in enumerate(schemes):
        places = rows["size"] + 0.12 * (i - (len(schemes) - 1) / 2)  # beside each other
        look: dict[str, Any] = {"ls": "-", "ms": 3, "label": scheme, **plots.style(i)}
        plots.plot_points(axes, places, rows["error_percent"], rows["interval"], **look)
    if beside_paper:
        plots.mark_papers(axes, paper.ENSEMBLE_ERROR_PERCENT, "mean, the paper", "D")
    plots.integer_axis(axes.xaxis, "Networks in the ensemble")
    axes.set_ylabel(plots.RATE_LABEL)
    means = plots.name_means(table["repeats"], table["interval"])
    axes.set_title(f"Combining LDA-ELM networks, {means}")
    axes.legend(loc="upper right")


def plot_confusion(
    figure: plots.Figure, confusion: IntArray, classes: Sequence[str], title: str
) -> None:
    """Which classes are taken for which.

    Parameters
    ----------
    confusion : n_classes × n_classes counts, a row for each true class
    """
    n = len(classes)
    figure.set_size_inches(plots.WIDTH, 4.8)
    axes = figure.subplots()
    wrong = np.where(np.eye(n, dtype=bool), 0, confusion)
    axes.imshow(wrong, cmap=plots.shade(plots.color(plots.PI)), vmin=0, vmax=max(wrong.max(), 1))
    for row, column in zip(*np.nonzero(confusion), strict=True):
        axes.text(
            column, row, f"{confusion[row, column]:,}", ha="center", va="center", fontsize=8,
            fontweight="bold" if row == column else "normal",
        )  # fmt: skip
    axes.set_xticks(range(n), classes)
    axes.set_yticks(range(n), classes)
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    axes.set(xlabel="Chosen", ylabel="True class", title=title)


def plot_mistakes(figure: plots.Figure, labels: Sequence[str], images: RealArray, title: str) -> None:
    """The images that were taken for something else.

    Parameters
    ----------
    images : n_mistakes × height × width
    """
    n_columns = min(10, len(images))
    n_rows = -(-len(images) // n_columns)
    height, width = images.shape[1:]
    label_height = height // 2
    # One picture for all: an axes for each image takes seconds.
    mosaic = np.full((n_rows * (height + label_height), n_columns * (width + 4)), np.nan)
    figure.set_size_inches(plots.WIDTH, 0.4 + plots.WIDTH * mosaic.shape[0] / mosaic.shape[1])
    axes = figure.subplots()
    for i, (image, label) in enumerate(zip(images, labels, strict=True)):
        top, left = i // n_columns * (height + label_height), i % n_columns * (width + 4) + 2
        mosaic[top + label_height : top + label_height + height, left : left + width] = image
        center = left + width / 2, top + label_height - 1
        axes.text(*center, label, fontsize=6.5, ha="center", va="bottom")
    axes.imshow(mosaic, cmap=plots.shade(plots.ink()), interpolation="nearest")
    axes.axis("off")
    figure.suptitle(title)
