"""Numbers as a table shows them."""

from __future__ import annotations

import math

from elmlda.reports.page import Cell


def show_number(value: float, form: str) -> Cell:
    """Empty if it is not known."""
    return Cell("", "") if math.isnan(value) else Cell(_write(value, form), float(value))


def show_interval(value: float, low: float, high: float, form: str) -> Cell:
    """A number with its interval, which need not be symmetric."""
    if math.isnan(low):
        return show_number(value, form)
    text = f"{_write(value, form)} ({_write(low, form)} to {_write(high, form)})"
    return Cell(text, float(value))


def show_half(value: float, half: float, form: str) -> Cell:
    """A number with half the width of its interval."""
    if math.isnan(half):
        return show_number(value, form)
    return Cell(f"{_write(value, form)} ± {form.format(half).lstrip('+')}", float(value))


def _write(value: float, form: str) -> str:
    return form.format(value).replace("-", "−")
