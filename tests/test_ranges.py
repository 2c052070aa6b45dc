import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refusal_of

from elmlda.errors import ElmldaError
from elmlda.ranges import LARGEST_COUNT, MOST, format_ranges, parse_ranges

properties = settings(derandomize=True, deadline=None, max_examples=300)
few_numbers = st.sets(st.integers(1, 60) | st.integers(1, LARGEST_COUNT), min_size=1, max_size=50)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("7", [7]),
        ("1-20", [*range(1, 21)]),
        ("1-10,12,15,20", [*range(1, 11), 12, 15, 20]),
        ("1000-5000:1000", [1000, 2000, 3000, 4000, 5000]),
        ("1-10:4", [1, 5, 9]),
        ("3-3", [3]),
        ("3-4:9", [3]),
        ("5,1-3,2,5", [1, 2, 3, 5]),
        (" 1 , 2 ", [1, 2]),
        ("007", [7]),
        (str(LARGEST_COUNT), [LARGEST_COUNT]),
        (f"1-{MOST}", [*range(1, MOST + 1)]),
        (f"1-{LARGEST_COUNT}:{LARGEST_COUNT}", [1]),
    ],
)
def test_what_is_read(text, numbers):
    assert parse_ranges(text) == tuple(numbers)


@properties
@given(few_numbers)
def test_what_is_written_is_read_back(numbers):
    ascending = tuple(sorted(numbers))
    assert parse_ranges(format_ranges(ascending)) == ascending


@properties
@given(
    st.lists(
        st.tuples(st.integers(1, 3000), st.integers(0, 99), st.integers(1, 30)), min_size=1, max_size=6
    )
)
def test_ranges_are_those_of_python(ranges):
    text = ",".join(f"{first}-{first + more}:{step}" for first, more, step in ranges)
    expected = {n for first, more, step in ranges for n in range(first, first + more + 1, step)}
    assert parse_ranges(text) == tuple(sorted(expected))
    assert parse_ranges(format_ranges(parse_ranges(text))) == parse_ranges(text)


@pytest.mark.parametrize(
    ("numbers", "text"),
    [((5,), "5"), ((1, 2), "1,2"), ((1, 2, 3), "1-3"), ((1, 2, 3, 5, 7, 8, 9, 10), "1-3,5,7-10")],
)
def test_what_is_written(numbers, text):
    assert format_ranges(numbers) == text


NO_RANGES = (
    ", 1, ,1 1,,2 one 1.5 1e3 -1 +1 1- - 1--2 1-2-3 1:2 1-5: 1-5:-1 1-5:2:2 1;2 0x10 1_000 ² ٣ [1]"
)
BAD = {
    **dict.fromkeys(
        ["", "1 - 5", *NO_RANGES.split()],
        "is neither a number nor a range. Write 1-20, or 1-10,12,15,20, or 1000-5000:1000.",
    ),
    **dict.fromkeys(
        ["0", "0-5", "5-1", "1-5:0", str(LARGEST_COUNT + 1), "1" * 20, f"1-{LARGEST_COUNT + 1}"],
        "is not an ascending range of numbers from 1 to 10,000,000.",
    ),
    f"1-{MOST + 1}": "has more than 10,000 numbers.",
    f"1-{LARGEST_COUNT}": "has more than 10,000 numbers.",
    f"1-{MOST},{MOST + 1}": "10,001 numbers, expected at most 10,000.",
}


@pytest.mark.parametrize("text", BAD)
def test_what_is_refused_in_one_line(text):
    message = refusal_of(parse_ranges, text)
    assert message.startswith(f"'{text}': ")
    assert message.endswith(BAD[text])


@properties
@given(st.text(st.sampled_from("0123456789-:, +_.e٣²½x\n\x00")))
def test_any_text_is_read_or_refused_in_one_line(text):
    message = ""
    try:
        numbers = parse_ranges(text)
    except ElmldaError as error:
        numbers, message = (1,), str(error)
    assert len(message.splitlines()) <= 1
    assert len(message) < 400
    assert numbers == tuple(sorted(set(numbers)))
    assert 1 <= numbers[0] <= numbers[-1] <= LARGEST_COUNT
    assert len(numbers) <= MOST


@pytest.mark.parametrize("text", ["1\nx", "x\r", "\x85", "1-5\u20281", "1\x1b[31m"])
def test_line_ends_and_control_characters_are_not_shown_as_they_are(text):
    assert refusal_of(parse_ranges, text).isprintable()


def test_a_long_text_is_cut_in_the_message():
    text = ",".join(map(str, range(1, MOST + 2)))
    assert len(refusal_of(parse_ranges, text)) < 400
