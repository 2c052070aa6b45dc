"""Answers of a model as lines of text or CSV."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from elmlda.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from elmlda.networks.classify import Answers
    from elmlda.networks.model import Model


def as_lines(answers: Answers, model: Model) -> Iterator[str]:
    """A line for each sample: its label, the second guess, and the true label if that is another."""
    kind = "posterior" if model.has_posteriors else "score"
    for i, (row, true) in enumerate(zip(answers.values, answers.truth, strict=True)):
        second, first = row.argsort(kind="stable")[-2:]
        label, other = (printable(model.classes[each]) for each in (first, second))
        show = _round if model.has_posteriors else "{:.4f}".format
        values = [show(row[each]) for each in (first, second)]
        line = f"{printable(answers.name(i))}  {label}  {kind} {values[0]}, second {other} {values[1]}"
        yield line if true in (None, label) else f"{line}, wrong: it is {printable(true)}"


def _round(posterior: float) -> str:
    """Four decimals; what is nearly 1 or 0 does not become 1 or 0."""
    if posterior >= 0.99995:
        return "> 0.9999"
    return f"{posterior:.4f}" if posterior >= 0.00005 else "< 0.0001"


def as_csv_lines(answers: Answers, model: Model, with_header: bool, with_truth: bool) -> Iterator[str]:
    """A line for each sample, with the values of every class."""
    kind = "posterior" if model.has_posteriors else "score"
    true = ["true"] if with_truth else []
    if with_header:
        yield _as_csv(
            ["file", "sample", "label", *true, *(f"{kind}_{label}" for label in model.classes)]
        )
    for i, row in enumerate(answers.values):
        true = [answers.truth[i] or ""] if with_truth else []
        yield _as_csv([answers.path, i, model.classes[row.argmax()], *true, *map(_shorten, row)])


def _shorten(value: float) -> str:
    """Six digits, but all of them where six would make it 1."""
    text = f"{value:.6g}"
    return repr(float(value)) if text == "1" else text


def _as_csv(values: list[object]) -> str:
    """One line, whatever the values have in them."""
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow(map(printable, values))
    return out.getvalue()
