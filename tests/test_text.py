"""Text that is safe to show."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elmlda.text import format_number, printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain words", "plain words"),
        ("Größe π ± 数", "Größe π ± 数"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("two\nlines\tand\0", r"two\nlines\tand\x00"),
        ("not UTF-8: \udce9", r"not UTF-8: \udce9"),
        ("right\u202eto left", r"right\u202eto left"),
        ("\x9b31m", r"\x9b31m"),
        (3, "3"),
    ],
)
def test_what_a_terminal_would_obey_is_escaped(text, shown):
    assert printable(text) == shown


def test_long_text_is_shortened_in_the_middle():
    assert printable("abcdefghij", 5) == "ab…ij"
    assert printable("abcdefghij", 10) == "abcdefghij"
    assert printable("abc", 1) == "…"


@given(st.lists(st.integers(0, 0x10FFFF).map(chr)).map("".join), st.integers(1, 30))
def test_any_text_becomes_printable_utf8_within_the_limit(text, limit):
    shown = printable(text, limit)
    assert shown.isprintable()
    assert len(shown) <= limit
    shown.encode()


@pytest.mark.parametrize(
    ("value", "form", "shown"),
    [
        (-1.25, "+.2f", "−1.25"),
        (1.25, "+.2f", "+1.25"),
        (-0.001, ".2f", "0.00"),
        (6e-6, ".2g", "6e−06"),
    ],
)
def test_a_number_has_a_minus_sign(value, form, shown):
    assert format_number(value, form) == shown
