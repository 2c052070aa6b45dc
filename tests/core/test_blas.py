"""Oracles: numpy's and scipy's own products, solves and factorisations, on whole arrays."""

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided

from elmlda.core import blas

DTYPES = (np.float32, np.float64)
LAYOUTS = ("C", "F", "block of C", "block of F")
RTOL = {np.float32: 1e-4, np.float64: 1e-11}

properties = settings(derandomize=True, deadline=None, max_examples=150)
sizes = st.integers(1, 9)


def draw(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


def place(array, layout, dtype):
    """The array in a layout, and the whole array that it is a block of, other numbers around it."""
    if "block" not in layout:
        whole = np.array(array, dtype, order=layout)
        return whole, whole
    rows, columns = array.shape
    whole = np.array(draw(123, rows + 5, columns + 3), dtype, order=layout[-1])
    block = whole[2 : 2 + rows, 1 : 1 + columns]
    block[...] = array
    return block, whole


def assert_nothing_else_changed(block, whole, before, written=np.s_[:, :]):
    """Forget what was to be written; all the rest must be as before, bit by bit."""
    block[written] = np.inf
    before[np.isinf(whole)] = np.inf
    np.testing.assert_array_equal(whole, before)


def positive_definite(n, seed=0):
    a = draw(seed, n, n + 10)
    return a @ a.T


@properties
@given(
    st.tuples(sizes, sizes, sizes),
    st.tuples(*[st.sampled_from(LAYOUTS)] * 3),
    st.sampled_from(DTYPES),
    st.booleans(),
    st.integers(0, 99),
)
def test_multiply(shape, layouts, dtype, add, seed):
    m, k, n = shape
    a, b, c = draw(seed, m, k), draw(seed + 1, k, n), draw(seed + 2, m, n)
    (left, _), (right, _), (out, whole) = (
        place(array, layout, dtype) for array, layout in zip((a, b, c), layouts, strict=True)
    )
    if not add:
        out[...] = np.nan  # What was there must not count, and 0 · NaN is NaN.
    before = whole.copy()
    blas.multiply(left, right, out, add=add)
    np.testing.assert_allclose(out, a @ b + add * c, rtol=RTOL[dtype], atol=RTOL[dtype])
    np.testing.assert_array_equal(left, a.astype(dtype))
    np.testing.assert_array_equal(right, b.astype(dtype))
    assert_nothing_else_changed(out, whole, before)


@properties
@given(
    sizes,
    sizes,
    st.sampled_from(LAYOUTS),
    st.sampled_from(["F", "block of F"]),
    st.sampled_from(DTYPES),
    st.sampled_from([1.0, -1.0, 0.5]),
    st.sampled_from([blas.SYRK_BYTES, 8, 24]),
    st.integers(0, 99),
)
def test_add_gram(n, k, batch_layout, gram_layout, dtype, alpha, in_one_call, seed):
    b, start = draw(seed, n, k), draw(seed + 1, n, n)
    batch, _ = place(b, batch_layout, dtype)
    gram, whole = place(start, gram_layout, dtype)
    before = whole.copy()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blas, "SYRK_BYTES", in_one_call)
        blas.add_gram(batch, gram, alpha)
    lower = np.tril_indices(n)
    expected = (start + alpha * b @ b.T)[lower]
    np.testing.assert_allclose(gram[lower], expected, rtol=RTOL[dtype], atol=RTOL[dtype])
    assert_nothing_else_changed(gram, whole, before, lower)


@pytest.mark.slow
def test_a_product_that_one_call_would_crash_on():
    """In float64, with OpenBLAS's kernels for AVX-512 and two threads; in a process that may crash."""
    script = """
import numpy as np
from elmlda.core.blas import add_gram
batch = np.asfortranarray(np.random.default_rng(0).normal(size=(15_680, 1_000)))
gram = np.zeros((len(batch), len(batch)), order="F")
add_gram(batch, gram)
some = [0, 5_000, 12_287, 12_288, len(batch) - 1]
expected = np.tril(batch[some] @ batch[some].T)
np.testing.assert_allclose(gram[np.ix_(some, some)], expected, atol=1e-9)
"""
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "2"}
    subprocess.run([sys.executable, "-c", script], env=environment, check=True)


@properties
@given(
    sizes,
    st.integers(0, 5),
    sizes,
    st.sampled_from(["F", "block of F"]),
    st.sampled_from(DTYPES),
    st.booleans(),
    st.integers(0, 99),
)
def test_solve_lower_with_a_leading_block(n, n_more, n_columns, layout, dtype, transposed, seed):
    factor = np.linalg.cholesky(positive_definite(n + n_more, seed))
    whole_factor = np.asfortranarray(factor, dtype)
    whole_factor[np.triu_indices(n + n_more, 1)] = np.nan
    b = draw(seed, n, n_columns)
    right, whole = place(b, layout, dtype)
    before = whole.copy()
    blas.solve_lower(whole_factor[:n, :n], right, transposed=transposed)
    expected = scipy.linalg.solve_triangular(factor[:n, :n], b, lower=True, trans=int(transposed))
    np.testing.assert_allclose(right, expected, rtol=100 * RTOL[dtype], atol=RTOL[dtype])
    assert_nothing_else_changed(right, whole, before)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", ["F", "block of F"])
@pytest.mark.parametrize("upper", [7.0, np.nan])
@pytest.mark.parametrize("n", [1, 6, 7, 8, 13, 14, 15, 30])
def test_cholesky_in_blocks_of_seven(n, upper, layout, dtype, monkeypatch):
    monkeypatch.setattr(blas, "CHOLESKY_BLOCK", 7)
    original = positive_definite(n)
    matrix, whole = place(original, layout, dtype)
    matrix[np.triu_indices(n, 1)] = upper
    before = whole.copy()
    assert blas.cholesky(matrix) == n
    lower = np.tril_indices(n)
    expected = scipy.linalg.cholesky(original, lower=True)[lower]
    np.testing.assert_allclose(matrix[lower], expected, rtol=RTOL[dtype], atol=RTOL[dtype])
    assert_nothing_else_changed(matrix, whole, before, lower)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [blas.CHOLESKY_BLOCK + extra for extra in (-1, 0, 1, 300)])
def test_cholesky_around_the_real_block(n, dtype):
    """Of min(i, j), counted from one, the factor is all ones, without any rounding."""
    numbers = np.arange(1, n + 1, dtype=dtype)
    matrix = np.asfortranarray(np.minimum.outer(numbers, numbers))
    assert blas.cholesky(matrix) == n
    np.testing.assert_array_equal(np.tril(matrix), np.tri(n))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("spoilt", [0, 1, 5, 6, 7, 8, 13, 14, 19])
def test_cholesky_counts_what_it_factored_as_lapack_does(spoilt, dtype, monkeypatch):
    monkeypatch.setattr(blas, "CHOLESKY_BLOCK", 7)
    original = positive_definite(20).astype(dtype)
    original[spoilt, spoilt] = -1
    matrix = np.asfortranarray(original)
    n_factored = blas.cholesky(matrix)
    (potrf,) = scipy.linalg.get_lapack_funcs(("potrf",), (original,))
    _, info = potrf(original, lower=1)
    assert n_factored == info - 1 == spoilt
    if spoilt:
        expected = scipy.linalg.cholesky(original[:spoilt, :spoilt], lower=True)
        found = np.tril(matrix[:spoilt, :spoilt])
        np.testing.assert_allclose(found, expected, rtol=RTOL[dtype], atol=RTOL[dtype])


@pytest.mark.parametrize("block", [1, 2, 3])
def test_cholesky_stops_where_the_rank_ends(block, monkeypatch):
    """Whole numbers with whole roots: no rounding hides that the last unit repeats the first."""
    monkeypatch.setattr(blas, "CHOLESKY_BLOCK", block)
    assert blas.cholesky(np.array([[4.0, 2, 4], [2, 5, 2], [4, 2, 4]], order="F")) == 2
    assert blas.cholesky(np.zeros((3, 3), order="F")) == 0


F = np.asfortranarray(draw(0, 4, 4))
C = np.ascontiguousarray(F)
F32 = F.astype(np.float32)
EVERY_OTHER = np.asfortranarray(draw(0, 8, 8))[::2, ::2]


@pytest.mark.parametrize(
    "call",
    [
        lambda out: blas.multiply(EVERY_OTHER, F, out),
        lambda out: blas.multiply(F, EVERY_OTHER, out),
        lambda out: blas.multiply(F32, F, out),
        lambda out: blas.multiply(F, F32, out),
        lambda out: blas.multiply(F32, F32, out),
        lambda out: blas.add_gram(EVERY_OTHER, out),
        lambda out: blas.add_gram(F32, out),
        lambda out: blas.add_gram(F, out.T),
        lambda out: blas.solve_lower(C, out),
        lambda out: blas.solve_lower(F, out.T),
        lambda out: blas.solve_lower(F32, out),
        lambda out: blas.solve_lower(EVERY_OTHER, out),
        lambda out: blas.cholesky(out.T),
        lambda out: blas.cholesky(out[::2, ::2]),
    ],
)
def test_a_wrong_layout_or_precision_never_reaches_blas(call):
    whole = np.zeros((8, 8), order="F")
    whole[...] = np.eye(8)
    before = whole.copy()
    with pytest.raises(ValueError, match="expected a Fortran-ordered"):
        call(whole[:4, :4])
    np.testing.assert_array_equal(whole, before)


# All of these lie inside one large array, so that reading them wrongly reads nothing foreign.
WIDE = np.asfortranarray(draw(0, 8, 40))


@pytest.mark.parametrize(
    "block",
    [
        WIDE[:4, 8:12][:, ::-1],
        np.broadcast_to(WIDE[:4, 8:9], (4, 4)),
        as_strided(WIDE[:4, 8:12], (4, 4), (8, 8)),
    ],
    ids=["reversed", "broadcast", "overlapping"],
)
def test_columns_that_do_not_follow_each_other_never_reach_blas(block):
    out = np.zeros((4, 4), order="F")
    with pytest.raises(ValueError, match="Fortran-ordered"):
        blas.multiply(block, F, out)


@pytest.mark.parametrize(
    "call",
    [
        lambda block: blas.multiply(block[:4, :3], block[:4, :4], block[4:, 20:24]),
        lambda block: blas.multiply(block[:4, :4], block[:4, :4], block[4:7, 20:24]),
        lambda block: blas.multiply(block[:4, :4], block[:4, :4], block[4:, 20:23]),
        lambda block: blas.add_gram(block[:4, :4], block[4:, 20:23]),
        lambda block: blas.add_gram(block[:3, :4], block[4:, 20:24]),
        lambda block: blas.solve_lower(block[:4, :4], block[4:7, 20:24]),
        lambda block: blas.solve_lower(block[:4, :3], block[4:, 20:24]),
        lambda block: blas.cholesky(block[:4, :3]),
    ],
)
def test_shapes_that_do_not_fit_never_reach_blas(call):
    block = np.zeros_like(WIDE)
    np.fill_diagonal(block, 1)
    with pytest.raises(ValueError, match=r"\d"):
        call(block)


@pytest.mark.parametrize("dtype", [np.int64, np.float16, np.complex128])
def test_precisions_that_blas_has_not(dtype):
    a = np.eye(3, dtype=dtype)
    with pytest.raises(ValueError, match=np.dtype(dtype).name):
        blas.multiply(a, a, a.copy())
