import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elmlda.core import hidden
from elmlda.core.hidden import ACTIVATIONS, UNITS_PER_DRAW, HiddenLayer, draw_uniform_weights
from elmlda.options import NetworkOptions, declarations

properties = settings(derandomize=True, deadline=None, max_examples=60)

FORMULAS = {
    "tanh": math.tanh,
    "logistic": lambda x: (1 + math.tanh(x / 2)) / 2,
    "relu": lambda x: max(x, 0.0),
    "softsign": lambda x: x / (1 + abs(x)),
    "sine": math.sin,
}


@pytest.mark.parametrize("n_hidden", [1, UNITS_PER_DRAW, UNITS_PER_DRAW + 1, 2 * UNITS_PER_DRAW + 7])
def test_weights_are_one_draw_unit_by_unit(n_hidden):
    weights = draw_uniform_weights(np.random.default_rng(5), 3, n_hidden, 0.7)
    expected = np.random.default_rng(5).uniform(-0.7, 0.7, (n_hidden, 3)).T
    np.testing.assert_array_equal(weights, expected)
    assert weights.dtype == np.float64


def test_every_activation_that_settings_name_and_no_other():
    names = declarations(NetworkOptions)["activation"].constraint.metavar
    assert names == f"[{'|'.join(ACTIVATIONS)}]"
    assert set(FORMULAS) == set(ACTIVATIONS)


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@properties
@given(values=st.lists(st.floats(-1000, 1000, width=32), min_size=1, max_size=20))
def test_activations_work_in_place_by_their_formula(name, dtype, values):
    x = np.array(values, dtype)
    ACTIVATIONS[name](x)
    assert x.dtype == dtype
    np.testing.assert_allclose(
        x, [FORMULAS[name](value) for value in values], rtol=8 * np.finfo(dtype).eps, atol=1e-15
    )


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_hidden_outputs_of_bytes_with_a_scale(name, dtype):
    inputs = np.random.default_rng(1).integers(0, 256, (20, 7), np.uint8)
    weights = draw_uniform_weights(np.random.default_rng(2), 7, 9, dtype=dtype)
    outputs = HiddenLayer(weights, name, 1 / 255).outputs(inputs)
    projected = (inputs / 255) @ np.asarray(weights, np.float64)
    assert outputs.dtype == dtype
    assert outputs.shape == (20, 9)
    np.testing.assert_allclose(
        outputs, np.vectorize(FORMULAS[name])(projected), atol=20 * np.finfo(dtype).eps
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", [np.uint8, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_inputs_of_any_kind_and_order_stay_what_they_were(dtype, kind, order):
    inputs = np.array(np.random.default_rng(1).integers(0, 9, (11, 5)), kind, order=order)
    before = inputs.copy()
    weights = draw_uniform_weights(np.random.default_rng(2), 5, 4, dtype=dtype)
    layer = HiddenLayer(weights, input_scale=0.25)
    expected = np.tanh(before.astype(np.float64) / 4 @ weights.astype(np.float64))
    np.testing.assert_allclose(layer.outputs(inputs), expected, atol=20 * np.finfo(dtype).eps)
    np.testing.assert_allclose(layer.outputs(inputs[::2]), expected[::2], atol=20 * np.finfo(dtype).eps)
    np.testing.assert_array_equal(inputs, before)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_threads_do_not_change_a_bit(name, monkeypatch):
    monkeypatch.setattr(hidden, "ELEMENTS_PER_TASK", 50)
    rng = np.random.default_rng(3)
    inputs, weights = rng.normal(size=(101, 6)), rng.normal(size=(6, 13))
    one, three = (HiddenLayer(weights, name, threads=n).outputs(inputs) for n in (1, 3))
    np.testing.assert_array_equal(one, three)
    monkeypatch.undo()
    np.testing.assert_allclose(HiddenLayer(weights, name).outputs(inputs), one, rtol=1e-14)


def test_more_hidden_units_than_a_task_has_elements(monkeypatch):
    monkeypatch.setattr(hidden, "ELEMENTS_PER_TASK", 4)
    inputs, weights = np.ones((3, 2)), np.full((2, 9), 0.25)
    outputs = HiddenLayer(weights, threads=2).outputs(inputs)
    np.testing.assert_allclose(outputs, np.full((3, 9), math.tanh(0.5)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_bias_is_the_weight_of_a_constant_input(dtype):
    inputs = np.random.default_rng(0).normal(size=(6, 9)).astype(dtype)
    weights = draw_uniform_weights(np.random.default_rng(1), 10, 4, dtype=dtype)
    with_constant = np.hstack([inputs * dtype(0.5), np.full((6, 1), 3, dtype)])
    layer = HiddenLayer(weights, input_scale=0.5, has_bias=True)
    expected = np.tanh(with_constant @ weights)
    np.testing.assert_allclose(
        layer.outputs(inputs), expected, rtol=1e-5 if dtype is np.float32 else 1e-12
    )
