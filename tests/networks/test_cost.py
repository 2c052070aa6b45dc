import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elmlda.core import blas
from elmlda.networks.cost import Operations, Problem, Speeds, count_operations, measure_matmul_speed
from elmlda.networks.train import run_network
from elmlda.settings import NetworkSettings, Resources


def test_operations_counted_by_hand():
    """Two samples to train on, one to test on, 3 inputs, 2 classes, networks of 1 and of 3 units."""
    found = count_operations(Problem(n_train=2, n_test=1, n_inputs=3, n_classes=2, sizes=(1, 3)))
    projection = 3 * 3 * 3 * 2  # samples · units · inputs, each a product and a sum
    gram = 2 * 6 * 2  # samples · entries of a triangle of 3
    class_sums = 2 * 3 * 2 * 2  # samples · units · classes
    assert (found.hidden, found.gram) == (projection + class_sums, gram)
    factorisation = 27 / 3
    solves = 9 * 2 + 9 * 4  # L for two classes, Lᵀ for two classes at two sizes
    scores = (1 * 4 + 2 * 2) * 2  # the first unit is in both networks, two units in one
    assert found.solver == factorisation + solves + scores


@pytest.mark.parametrize("sizes", [(7,), (3, 7), (1, 2, 3, 7)])
@pytest.mark.parametrize("precision", ["mixed", "double"])
def test_operations_are_those_that_a_network_calls_blas_for(
    sizes, precision, make_dataset, monkeypatch
):
    dataset = make_dataset(n_train=50, n_test=20, n_inputs=9, n_classes=3)
    counts = {np.dtype(np.float32): 0.0, np.dtype(np.float64): 0.0, "solver": 0.0}
    call = blas._call

    def count(module, routine, dtype, *arguments):
        numbers = [a for a in arguments if isinstance(a, int)]
        if routine == "gemm":
            m, n, k = numbers
            in_solver = dtype == np.float64 and arguments[-2] == 1.0  # scores are added up
            operations = 2 * m * n * k
        elif routine == "syrk":
            n, k = numbers
            in_solver, operations = False, n * (n + 1) * k
        elif routine == "trsm":
            m, n = numbers
            in_solver, operations = True, m * m * n
        else:
            (n,) = numbers
            in_solver, operations = True, n**3 / 3
        counts["solver" if in_solver else dtype] += operations
        call(module, routine, dtype, *arguments)

    monkeypatch.setattr(blas, "_call", count)
    settings = NetworkSettings(precision=precision)
    result = run_network(dataset, np.random.default_rng(0), sizes, settings, Resources(chunk=16))
    assert result.precision == precision
    expected = count_operations(Problem(50, 20, 9, 3, sizes))
    hidden_dtype = np.dtype(np.float32 if precision == "mixed" else np.float64)
    assert counts[hidden_dtype] == expected.hidden + expected.gram
    # The look at how sound the factor is, one column solved both ways, is not part of the work.
    check = 2 * sizes[-1] ** 2
    assert counts["solver"] == pytest.approx(expected.solver + check)


@settings(derandomize=True, deadline=None)
@given(st.floats(0, 1e15), st.floats(0, 1e15), st.floats(0, 1e15))
def test_seconds_at_three_speeds(hidden, gram, solver):
    expected = hidden / 4e9 + gram / 8e9 + solver / 2e9
    assert Operations(hidden, gram, solver).seconds(Speeds(4e9, 8e9, 2e9)) == pytest.approx(expected)


def test_speed_is_a_speed():
    for dtype in (np.float32, np.float64):
        assert 1e8 < measure_matmul_speed(dtype, n=128, seconds=0.02) < 1e14
