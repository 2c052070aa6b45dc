"""Each scheme is tested for what it claims, on weights that it has drawn."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from elmlda.core.hidden import InputSpace, draw_weights
from elmlda.errors import ElmldaError
from elmlda.options import NetworkOptions

SHAPED = ("constrained", "receptive-field", "receptive-field-constrained")
FIELDS = SHAPED[1:]
CONSTRAINED = "constrained", "receptive-field-constrained"


@pytest.fixture(scope="module")
def space():
    """Images of 9 × 7 without a blank pixel, no two samples alike."""
    rng = np.random.default_rng(8)
    samples = rng.integers(1, 256, (60, 63)).astype(np.uint8)
    return InputSpace(63, (9, 7), samples, np.arange(60) % 4)


def draw(space, scheme, n_hidden=200, seed=0, dtype=np.float64, **more):
    asked = NetworkOptions(input_weights=scheme, **more)
    return draw_weights(np.random.default_rng(seed), space, n_hidden, asked, dtype)


def rectangles(weights, shape):
    """Of each unit: the weights as an image, and the smallest rectangle around those not zero."""
    for image in weights.T.reshape(-1, *shape):
        rows, columns = (np.flatnonzero(image.any(axis=axis)) for axis in (1, 0))
        yield image, (rows[0], rows[-1] + 1), (columns[0], columns[-1] + 1)


def differences(space):
    """Of any two samples of different classes."""
    samples = space.samples.astype(float)
    for one in range(len(samples)):
        yield samples[one] - samples[space.labels != space.labels[one]]


@pytest.mark.parametrize("scheme", SHAPED)
@pytest.mark.parametrize("norm", [0.5, 2.0, 30.0])
def test_every_unit_has_the_norm(space, scheme, norm):
    weights = draw(space, scheme, weight_norm=norm)
    np.testing.assert_allclose(np.linalg.norm(weights, axis=0), norm, rtol=1e-12)


@pytest.mark.parametrize("scheme", FIELDS)
@pytest.mark.parametrize("min_field", [1, 10, 40, 50])
def test_fields_are_full_rectangles_of_the_least_size_or_more(space, scheme, min_field):
    areas = []
    for image, rows, columns in rectangles(draw(space, scheme, min_field=min_field), (9, 7)):
        inside = image[slice(*rows), slice(*columns)]
        if scheme == "receptive-field":  # two samples may have the same pixel
            assert (inside != 0).all()
        else:
            assert (inside != 0).mean() > 0.5
        areas.append(inside.size)
    if scheme == "receptive-field":
        assert min(areas) >= min_field
        assert len(set(areas)) > 5 or min_field > 30


def test_fields_have_every_place_height_and_width(space):
    found = list(rectangles(draw(space, "receptive-field", 3000, min_field=1), (9, 7)))
    spans = [{span[i] for span in found} for i in (1, 2)]
    for length, seen in zip((9, 7), spans, strict=True):
        assert seen == {(a, b) for a in range(length) for b in range(a + 1, length + 1)}


def test_fields_have_the_chances_of_two_random_pixels():
    chances = {}
    for one, other in itertools.product(itertools.product(range(4), range(3)), repeat=2):
        spans = tuple((min(pair), max(pair) + 1) for pair in zip(one, other, strict=True))
        if math.prod(last - first for first, last in spans) >= 4:
            chances[spans] = chances.get(spans, 0) + 1
    found = draw(InputSpace(12, (4, 3)), "receptive-field", 5000, min_field=4)
    counts = Counter((rows, columns) for _, rows, columns in rectangles(found, (4, 3)))
    assert counts.keys() == chances.keys()
    expected = np.array([chances[spans] for spans in counts])
    expected = expected * (5000 / expected.sum())
    assert stats.chisquare(list(counts.values()), expected).pvalue > 0.001


def test_weights_within_a_field_are_uniform(space):
    """Divided by the largest of their unit they are spread evenly over ±1, but for the largest."""
    weights = draw(space, "receptive-field", 500, min_field=40)
    relative = (weights / np.abs(weights).max(axis=0))[weights != 0]
    inner = relative[np.abs(relative) < 0.9]
    counts, _ = np.histogram(inner, bins=6, range=(-0.9, 0.9))
    assert counts.min() > 0.9 * counts.mean()
    assert counts.max() < 1.1 * counts.mean()


def test_samples_that_do_not_differ_are_passed_over():
    samples = np.zeros((40, 3))
    samples[39] = 1, 2, 2
    found = draw(InputSpace(3, None, samples, np.arange(40) % 2), "constrained", 5, weight_norm=3.0)
    np.testing.assert_allclose(np.abs(found.T), [[1, 2, 2]] * 5)


@pytest.mark.parametrize("scheme", CONSTRAINED)
def test_constrained_weights_are_differences_of_two_classes(space, scheme):
    """Each unit is parallel, where it sees, to the difference of two samples of different classes."""
    possible = np.concatenate(list(differences(space)))
    for weights in draw(space, scheme, 40).T:
        seen = np.flatnonzero(weights)
        there = possible[:, seen]
        cosines = there @ weights[seen] / np.linalg.norm(there, axis=1).clip(1e-300) / 2.0
        assert cosines.max() == pytest.approx(1.0, abs=1e-12)


def test_constrained_weights_take_every_class(space):
    labels = np.repeat([0, 1, 2], 20)
    one_hot = np.eye(3)[labels]
    units = draw(InputSpace(3, None, one_hot, labels), "constrained", 300, weight_norm=np.sqrt(2)).T
    expected = {(a, b) for a in range(3) for b in range(3) if a != b}
    assert {(int(unit.argmax()), int(unit.argmin())) for unit in units} == expected


@pytest.mark.parametrize("scheme", ["uniform", *SHAPED])
@settings(max_examples=20, deadline=None)
@given(st.integers(1, 60), st.integers(1, 60), st.integers(0, 2**32))
def test_a_smaller_network_is_the_larger_ones_first_units(space, scheme, some, more, seed):
    largest = draw(space, scheme, some + more, seed)
    np.testing.assert_array_equal(draw(space, scheme, some, seed), largest[:, :some])


@pytest.mark.parametrize("scheme", ["uniform", *SHAPED])
def test_the_precision_does_not_change_the_network(space, scheme):
    single, double = (draw(space, scheme, dtype=dtype) for dtype in (np.float32, np.float64))
    assert single.dtype == np.float32
    np.testing.assert_array_equal(single, double.astype(np.float32))
    assert single.T.flags.c_contiguous


def test_a_blank_field_is_drawn_again():
    """Two images differ in one pixel only, so only fields with that pixel count."""
    samples = np.zeros((2, 36), np.uint8)
    samples[1, 14] = 200
    space = InputSpace(36, (6, 6), samples, np.arange(2))
    weights = draw(space, "receptive-field-constrained", 50, min_field=1)
    np.testing.assert_array_equal(np.abs(weights), 2.0 * (np.arange(36) == 14)[:, None].repeat(50, 1))


@pytest.mark.parametrize(
    ("space", "asked", "expected"),
    [
        (
            InputSpace(4),
            {"input_weights": "receptive-field"},
            "need images",
        ),
        (
            InputSpace(4, (3, 2)),
            {"input_weights": "receptive-field"},
            "3 × 2 have 6 pixels",
        ),
        (
            InputSpace(4, (2, 2)),
            {"input_weights": "receptive-field", "min_field": 5},
            "5 pixels, but an image has 4",
        ),
        (InputSpace(4), {"input_weights": "constrained"}, "need all training samples"),
        (
            InputSpace(4, None, np.ones((5, 4)), np.zeros(5, int)),
            {"input_weights": "constrained"},
            "samples of at least two classes",
        ),
        (
            InputSpace(4, (2, 2), np.ones((6, 4)), np.arange(6)),
            {"input_weights": "receptive-field-constrained", "min_field": 1},
            "in which samples of different classes differ",
        ),
        (
            InputSpace(784, (28, 28)),
            {"input_weights": "receptive-field", "min_field": 784},
            "none was a field of 784 pixels",
        ),
    ],
)
def test_what_cannot_be_drawn(space, asked, expected):
    with pytest.raises(ElmldaError, match=expected):
        draw_weights(np.random.default_rng(0), space, 3, NetworkOptions(**asked), np.float64)


@pytest.mark.parametrize("scheme", ["uniform", *SHAPED])
def test_each_unit_draws_its_bias_after_its_weights(space, scheme):
    small, large = (draw(space, scheme, n_hidden, bias=True) for n_hidden in (5, 20))
    assert large.shape == (64, 20)
    np.testing.assert_array_equal(large[:, :5], small)
    np.testing.assert_array_equal(small[:-1, 0], draw(space, scheme, 1)[:, 0])
    biases = np.sqrt(63) * large[-1]
    assert len(set(biases)) == 20
    largest = np.sqrt(63) * 0.5 if scheme == "uniform" else 2.0
    assert np.abs(biases).max() <= largest
    assert np.abs(biases).max() > largest / 2
