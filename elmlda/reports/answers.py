"""A picture of what was classified: the photograph, the digit as the network has it, posteriors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from elmlda.networks.classify import Answers
from elmlda.reports.plots import color, draw
from elmlda.text import printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from elmlda.networks.model import Model


def draw_answers(answers: Sequence[Answers], model: Model) -> bytes:
    """Draw images that were classified, a row for each: the content of a PNG file."""
    names = [printable(each, 12) for each in model.classes]
    kind = "posterior" if model.has_posteriors else "score"

    def plot(figure: Figure) -> None:
        figure.set_size_inches(6.4, 0.4 + 1.5 * len(answers))
        for row, each in zip(figure.subplots(len(answers), 3, squeeze=False), answers, strict=True):
            _plot_row(row, each, names, kind)

    return draw(plot, ("png",))["png"]


def _plot_row(row: Any, answers: Answers, names: Sequence[str], kind: str) -> None:
    assert answers.digit is not None
    for axes, picture in zip(row, (answers.digit.grey, answers.digit.image), strict=False):
        axes.imshow(picture, cmap="gray", vmin=0, vmax=255)
        axes.set_axis_off()
    row[0].set_title(printable(answers.path.name, 30))
    (values,) = answers.values
    bars = row[2]
    colors = [color(int(i == values.argmax())) for i in range(len(names))]
    bars.bar(range(len(names)), values, color=colors)
    bars.set_xticks(range(len(names)), names)
    bars.set_title(f"{kind}: {names[values.argmax()]}")
    if kind == "posterior":
        bars.set_ylim(0, 1)
