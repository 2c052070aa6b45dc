"""Records that can't be are refused, whoever makes them."""

from dataclasses import dataclass, replace
from typing import ClassVar

import pytest

from elmlda.experiments.compare import CompareRecord
from elmlda.experiments.ensemble import MistakeRecord
from elmlda.runs.record import LARGEST_VALUE, Record

COMPARED = CompareRecord(
    0, 0, 2.0, 8, "none", 0.0, 3, 2, 1, 100, 50, "double", "1 2", "1 0", "20 30"
)  # fmt: skip
MISTAKE = MistakeRecord(0, 20, "mean", 7, 3, 5, 0.9, 0.05)


@dataclass(frozen=True)
class Row(Record):
    KEY = "kind", "n"
    POSITIVE = ("n",)
    AT_MOST: ClassVar = {"share": 1.0, "part": "n"}
    ONE_OF: ClassVar = {"kind": ("one", "two")}
    n: int = 1
    share: float = 0.5
    kind: str = "one"
    part: int = 0


@pytest.mark.parametrize(
    "changes", [{}, {"n": LARGEST_VALUE}, {"share": 0.0}, {"share": 1.0}, {"kind": "two"}, {"part": 1}]
)
def test_what_can_be(changes):
    replace(Row(), **changes)


def test_a_key_is_made_of_fields():
    assert Row().key == ("one", 1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n": 0}, "n is 0, expected more than 0 to 1,000,000,000,000"),
        ({"n": -1}, "n is -1, expected more than 0"),
        ({"n": LARGEST_VALUE + 1}, "n is 1000000000001"),
        ({"share": 1.1}, "share is 1.1, expected 0 to 1.0"),
        ({"share": -0.1}, "share is -0.1"),
        ({"share": float("nan")}, "share is nan"),
        ({"share": float("inf")}, "share is inf"),
        ({"n": 5, "part": 6}, "part is 6, expected 0 to 5"),
        ({"kind": "three"}, "kind is 'three', expected one or two"),
    ],
)
def test_what_cannot_be(changes, message):
    with pytest.raises(ValueError, match=message):
        replace(Row(), **changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"lda_class_errors": "21 0"}, "a class has more errors than samples"),
        ({"pi_class_errors": "-1 4"}, "a class has more errors than samples"),
        ({"lda_class_errors": "0 0"}, "do not sum to the counts of all"),
        ({"class_counts": "20 31"}, "do not sum to the counts of all"),
        ({"class_counts": "20 30 0"}, "zip"),
        ({"pi_constant_errors": 51}, "pi_constant_errors is 51, expected 0 to 50"),
    ],
)
def test_comparisons_that_contradict_themselves(changes, message):
    with pytest.raises(ValueError, match=message):
        replace(COMPARED, **changes)


def test_a_mistake_is_one():
    with pytest.raises(ValueError, match="label and chosen are both 5, expected a mistake"):
        replace(MISTAKE, label=5)
