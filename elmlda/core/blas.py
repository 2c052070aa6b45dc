"""BLAS and LAPACK on blocks of a matrix, in place.

scipy's Python wrappers copy every array that is not contiguous. A block of a matrix is not contiguous,
so a triangular solve with the leading block of a large factor would spend its time copying. This module
calls the same routines through the function pointers that scipy exports for Cython, and passes the
block's leading dimension. Networks use no other BLAS: numpy brings its own, and idle threads of one
BLAS spin for a while and slow down the other.

Matrices are Fortran-ordered, or blocks of Fortran-ordered matrices, unless a function says otherwise.
Only the lower triangle of symmetric and triangular matrices is read or written.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
from scipy.linalg import cython_blas, cython_lapack

from elmlda.core import FloatArray

CHOLESKY_BLOCK = 1024
SYRK_BYTES = 96 * 1024
"""Largest column of a symmetric product for one syrk call: 24,576 numbers in float32."""

_PREFIX = {np.dtype(np.float32): "s", np.dtype(np.float64): "d"}
_SCALAR = {np.dtype(np.float32): ctypes.c_float, np.dtype(np.float64): ctypes.c_double}


def add_gram(batch: FloatArray, gram: FloatArray, alpha: float = 1.0) -> None:
    """Add alpha · batch · batchᵀ to the lower triangle of `gram`.

    `batch` is n × k: Fortran-ordered, or the transpose of a Fortran-ordered k × n matrix.

    A large product is split into several syrk calls, because OpenBLAS's threaded syrk overruns its
    buffers and crashes (seen with two threads and 15,680 rows in float64; numpy issue 19685).
    """
    n, size = len(batch), SYRK_BYTES // gram.itemsize
    require_shapes(gram=(gram.shape, (n, n)))
    for start in range(0, n, size):
        stop = min(start + size, n)
        rows = batch[start:stop]
        stored, flag = _as_stored(rows)
        corner, below = gram[start:stop, start:stop], gram[stop:, start:stop]
        _call(cython_blas, "syrk", gram.dtype, "L", flag, *rows.shape, alpha, stored, 1.0, corner)
        if stop < n:
            multiply(batch[stop:], rows.T, below, add=True, alpha=alpha)


def multiply(
    a: FloatArray, b: FloatArray, out: FloatArray, *, add: bool = False, alpha: float = 1.0
) -> None:
    """Write alpha · a · b into `out`, or add it. All three may be C- or Fortran-ordered, or blocks."""
    require_shapes(b=(b.shape, (a.shape[1], out.shape[1])), out=(out.shape, (len(a), out.shape[1])))
    if _as_stored(out)[1] == "T":
        # outᵀ = bᵀ · aᵀ is Fortran-ordered.
        a, b, out = b.T, a.T, out.T
    (stored_a, flag_a), (stored_b, flag_b) = _as_stored(a), _as_stored(b)
    flags_and_sizes = flag_a, flag_b, *out.shape, a.shape[1]
    _call(cython_blas, "gemm", out.dtype, *flags_and_sizes, alpha, stored_a, stored_b, float(add), out)


def solve_lower(factor: FloatArray, right: FloatArray, *, transposed: bool = False) -> None:
    """Replace `right` by L⁻¹ · right, or L⁻ᵀ · right."""
    require_shapes(factor=(factor.shape, (len(right), len(right))))
    flags = "L", "L", "T" if transposed else "N", "N"
    _call(cython_blas, "trsm", factor.dtype, *flags, *right.shape, 1.0, factor, right)


def cholesky(matrix: FloatArray) -> int:
    """Replace the lower triangle of `matrix` by its Cholesky factor.

    The factorisation is split into blocks, because OpenBLAS's threaded potrf overruns its buffers and
    crashes with two threads and large matrices (seen with 15,680 rows; OpenBLAS issue 2562).

    Returns
    -------
    n_factored : size of the leading block that is positive definite and was factorised
    """
    n = len(matrix)
    require_shapes(matrix=(matrix.shape, (n, n)))
    for start in range(0, n, CHOLESKY_BLOCK):
        stop = min(start + CHOLESKY_BLOCK, n)
        corner, below = matrix[start:stop, start:stop], matrix[stop:, start:stop]
        info = ctypes.c_int(0)
        _call(cython_lapack, "potrf", matrix.dtype, "L", len(corner), corner, info)
        if info.value:
            return start + info.value - 1
        if stop < n:
            flags = "R", "L", "T", "N"
            _call(cython_blas, "trsm", matrix.dtype, *flags, *below.shape, 1.0, corner, below)
            add_gram(below, matrix[stop:, stop:], alpha=-1.0)
    return n


def _as_stored(block: FloatArray) -> tuple[FloatArray, str]:
    """Return the block or its transpose, whichever is Fortran-ordered, and the transposition flag."""
    is_c_ordered = block.strides[1] == block.itemsize and block.strides[0] != block.itemsize
    return (block.T, "T") if is_c_ordered else (block, "N")


def _call(module: ModuleType, routine: str, dtype: np.dtype[Any], *arguments: Any) -> None:
    """Call a Fortran routine: arguments by reference, each matrix followed by its leading dimension.

    Matrices in any other layout than Fortran-ordered blocks are refused.
    """
    if dtype not in _SCALAR:
        raise ValueError(f"expected float32 or float64, got {dtype}")
    scalar = _SCALAR[dtype]
    passed: list[object] = []
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            rows, columns = argument.shape
            leading, odd = divmod(argument.strides[1], dtype.itemsize)
            if (
                argument.dtype != dtype
                or (rows > 1 and argument.strides[0] != dtype.itemsize)
                or (columns > 1 and (odd or leading < rows))
            ):
                raise ValueError(
                    f"expected a Fortran-ordered {dtype} block, got {argument.dtype} {argument.strides}"
                )
            passed += [argument.ctypes.data, ctypes.byref(ctypes.c_int(max(1, rows, leading)))]
            continue
        if isinstance(argument, str):
            argument = ctypes.c_char(argument.encode())
        elif isinstance(argument, int):
            argument = ctypes.c_int(argument)
        elif isinstance(argument, float):
            argument = scalar(argument)
        passed.append(ctypes.byref(argument))  # a ctypes.c_int from the caller receives a result
    _function(module, _PREFIX[dtype] + routine)(*passed)


def require_shapes(**shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    """Refuse wrong shapes, with which BLAS would read and write past the arrays."""
    for name, (shape, expected) in shapes.items():
        if shape != expected:
            raise ValueError(f"{name} is {shape}, expected {expected}")


@cache
def _function(module: ModuleType, name: str) -> Callable[..., None]:
    """Return the routine behind scipy's Cython declaration `void name(char *, int *, …)`."""
    capsule = module.__pyx_capi__[name]
    get_name = ctypes.pythonapi.PyCapsule_GetName
    get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    signature: bytes = get_name(capsule)
    if b"int *" not in signature:
        raise ImportError(
            f"scipy's {name} has other integers than the expected 32-bit ones: {signature!r}"
        )
    prototype = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (signature.count(b",") + 1))
    return prototype(get_pointer(capsule, signature))
