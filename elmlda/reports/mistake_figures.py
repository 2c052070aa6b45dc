"""Figures of mistakes: which classes are taken for which, and the images themselves."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from elmlda.core.arrays import IntArray, RealArray
from elmlda.experiments.ensemble import MistakeRecord
from elmlda.reports.figures import COLORS, DARK_INK

MOST_DIGITS = 200


def plot_confusion(figure: Figure, confusion: IntArray, classes: Sequence[str], title: str) -> None:
    """Which classes are taken for which.

    Parameters
    ----------
    confusion : n_classes × n_classes counts, a row for each true class
    """
    n = len(classes)
    figure.set_size_inches(5.2, 4.8)
    axes = figure.subplots()
    wrong = np.where(np.eye(n, dtype=bool), 0, confusion)
    colors = mpl.colors.LinearSegmentedColormap.from_list("wrong", ["#ffffff", COLORS[1]])
    most = max(int(wrong.max()), 1)
    axes.imshow(wrong, cmap=colors, vmin=0, vmax=most)
    for row in range(n):
        for column in range(n):
            count = int(confusion[row, column])
            if count:
                weight = "normal" if row != column else "bold"
                axes.text(
                    column, row, f"{count:,}", ha="center", va="center", fontsize=8,
                    color=DARK_INK, fontweight=weight,
                )  # fmt: skip
    axes.set_xticks(range(n), classes)
    axes.set_yticks(range(n), classes)
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    axes.set(xlabel="Chosen", ylabel="True class", title=title)


def plot_mistakes(
    figure: Figure,
    mistakes: Sequence[MistakeRecord],
    images: RealArray,
    classes: Sequence[str],
    title: str,
) -> None:
    """The images that were taken for something else, true class → chosen class.

    Parameters
    ----------
    images : n_mistakes × height × width, in the order of `mistakes`
    """
    n_shown = min(len(mistakes), MOST_DIGITS)
    n_columns = min(14, n_shown)
    n_rows = -(-n_shown // n_columns)
    height, width = images.shape[1:]
    label_height = height // 2
    # One picture for all: an axes for each image takes seconds.
    mosaic = np.full((n_rows * (height + label_height), n_columns * (width + 4)), np.nan)
    figure.set_size_inches(6.8, 0.4 + 6.8 * mosaic.shape[0] / mosaic.shape[1])
    axes = figure.subplots()
    for i in range(n_shown):
        top, left = i // n_columns * (height + label_height), i % n_columns * (width + 4) + 2
        mosaic[top + label_height : top + label_height + height, left : left + width] = images[i]
        label = f"{classes[mistakes[i].label]}→{classes[mistakes[i].chosen]}"
        center = left + width / 2, top + label_height - 1
        axes.text(*center, label, fontsize=6.5, ha="center", va="bottom")
    axes.imshow(mosaic, cmap="gray_r", interpolation="nearest")
    axes.axis("off")
    figure.suptitle(title, fontsize=9)
