"""Labels of any kind become class indices."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elmlda.datasets.labels import index_classes

properties = settings(derandomize=True, deadline=None)


@pytest.mark.parametrize(
    ("labels", "classes", "indices"),
    [
        (["b", "a", "b"], ("a", "b"), [1, 0, 1]),
        (["10", "9", "1"], ("1", "9", "10"), [2, 1, 0]),
        (["1", "1.0", "2"], ("1", "2"), [0, 0, 1]),
        (["1", "01", "2"], ("01", "1", "2"), [1, 0, 2]),  # codes: another label, another class
        (["1", "-01"], ("-01", "1"), [1, 0]),
        (["1", "٣"], ("1", "٣"), [0, 1]),
        (["-1", "+1", "1"], ("-1", "1"), [0, 1, 1]),
        (["0.5", "1e0", ".5"], ("0.5", "1"), [0, 1, 0]),
        (["1", "a", "01"], ("01", "1", "a"), [1, 2, 0]),
        (["1_0", "10"], ("10", "1_0"), [1, 0]),
        (["inf", "1"], ("1", "inf"), [1, 0]),
        (["9007199254740993", "9007199254740992"], None, [1, 0]),
        (["0", "1e-400"], None, [0, 1]),  # which float64 does not tell apart
        (["0.1", "0.10", "0.1000000000000000055"], None, [0, 0, 1]),
    ],
)
def test_classes_and_their_order(labels, classes, indices):
    found, numbers = index_classes(labels)
    assert numbers.tolist() == indices or sorted(numbers.tolist()) == sorted(indices)
    if classes:
        assert (found, numbers.tolist()) == (classes, indices)


@properties
@given(st.lists(st.text("01.e+-_aé٣ ", max_size=4), min_size=1))
def test_equal_labels_and_only_they_are_one_class_unless_all_are_numbers(labels):
    classes, indices = index_classes(labels)
    assert len(set(classes)) == len(classes)
    assert set(indices) == set(range(len(classes)))
    for label, index in zip(labels, indices, strict=True):
        assert classes[index] == label or float(classes[index]) == float(label)


@properties
@given(st.lists(st.integers(-(2**80), 2**80), min_size=1))
def test_whole_numbers_of_any_size_stay_apart(labels):
    classes, indices = index_classes([str(label) for label in labels])
    assert [int(classes[index]) for index in indices] == labels
