"""How numbers are printed: rates in per cent with two decimals, blanks for what is not known."""

from __future__ import annotations


def with_interval(mean: float, half_width: float) -> str:
    """As in `  2.08 ± 0.03`; of a single repeat only the mean."""
    return f"{mean:6.2f} {or_blank(half_width, '±{:5.2f}', 6)}"


def or_blank(value: float, form: str, width: int) -> str:
    """The formatted value, or as many blanks if it is NaN."""
    return form.format(value) if value == value else " " * width


def format_seconds(seconds: float) -> str:
    """As in 40 s, 12 min, 3.5 h."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
