"""BLAS and LAPACK on blocks of a matrix, in place.

scipy's own Python wrappers copy every array that is not contiguous, and a block of a matrix is not: a
triangular solve with the leading block of a large factor spends its time copying. Here the same
routines are called through the function pointers that scipy exports for Cython, with the block's
leading dimension, so nothing is copied. They are also the only BLAS that a network uses: numpy brings
another one, whose idle threads go on spinning for a while and take the cores from this one's.

All matrices are Fortran-ordered, or blocks of such, unless a function says otherwise; of symmetric and
triangular ones only the lower triangle is read or written.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cython_blas, cython_lapack

from elmlda.core import FloatArray

CHOLESKY_BLOCK = 1024
SYRK_BYTES = 96 * 1024
"""Of one column of a symmetric product that is left to one syrk call: 24,576 numbers in float32."""

_PREFIX = {np.dtype(np.float32): "s", np.dtype(np.float64): "d"}
_SCALAR = {np.dtype(np.float32): ctypes.c_float, np.dtype(np.float64): ctypes.c_double}


def add_gram(batch: FloatArray, gram: FloatArray, alpha: float = 1.0) -> None:
    """Add alpha · batch · batchᵀ to the lower triangle of `gram`.

    `batch` is n × k: Fortran-ordered, or the transpose of a Fortran-ordered k × n matrix.

    A large one is not left to one syrk call: OpenBLAS's threaded syrk overruns its buffers and crashes
    (seen with two threads and 15,680 rows in float64; numpy issue 19685).
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
    """Write alpha · a · b into `out`, or add it. Each may be C- or Fortran-ordered, or a block."""
    require_shapes(b=(b.shape, (a.shape[1], out.shape[1])), out=(out.shape, (len(a), out.shape[1])))
    if _is_c_ordered(out):
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

    Blocked here and not left to one potrf call: OpenBLAS's threaded potrf overruns its buffers and
    crashes with two threads and large matrices (seen with 15,680 rows; OpenBLAS issue 2562).

    Returns
    -------
    n_factored : the size of the leading block that is positive definite, and factored
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


def _is_c_ordered(block: FloatArray) -> bool:
    return block.strides[1] == block.itemsize and block.strides[0] != block.itemsize


def _as_stored(block: FloatArray) -> tuple[FloatArray, str]:
    """The block or its transpose, whichever is Fortran-ordered, and BLAS's transposition flag."""
    return (block.T, "T") if _is_c_ordered(block) else (block, "N")


def _call(module: ModuleType, routine: str, dtype: np.dtype[Any], *arguments: Any) -> None:
    """Call as Fortran does: all by reference, a matrix with its leading dimension after it."""
    if dtype not in _SCALAR:
        raise ValueError(f"expected float32 or float64, got {dtype}")
    scalar = _SCALAR[dtype]
    passed: list[object] = []
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            leading = ctypes.c_int(leading_dimension(argument, dtype))
            passed += [argument.ctypes.data, ctypes.byref(leading)]
            continue
        if isinstance(argument, str):
            argument = ctypes.c_char(argument.encode())
        elif isinstance(argument, int):
            argument = ctypes.c_int(argument)
        elif isinstance(argument, float):
            argument = scalar(argument)
        passed.append(ctypes.byref(argument))  # a ctypes.c_int that was passed as such gets a result
    _function(module, _PREFIX[dtype] + routine)(*passed)


def leading_dimension(block: NDArray[Any], dtype: np.dtype[Any]) -> int:
    """Leading dimension of a Fortran-ordered block; a wrong layout must never reach BLAS."""
    rows, columns = block.shape
    leading, odd = divmod(block.strides[1], dtype.itemsize)
    if (
        block.dtype != dtype
        or (rows > 1 and block.strides[0] != dtype.itemsize)
        or (columns > 1 and (odd or leading < rows))
    ):
        raise ValueError(f"expected a Fortran-ordered {dtype} block, got {block.dtype} {block.strides}")
    return int(max(1, rows, leading))


def require_shapes(**shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    """Wrong shapes must never reach BLAS either: it would read and write past the arrays."""
    for name, (found, expected) in shapes.items():
        if found != expected:
            raise ValueError(f"{name} is {found}, expected {expected}")


@cache
def _function(module: ModuleType, name: str) -> Callable[..., None]:
    """The routine behind scipy's Cython declaration `void name(char *, int *, …)`."""
    capsule = module.__pyx_capi__[name]
    get_name = ctypes.pythonapi.PyCapsule_GetName
    get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    signature: bytes = get_name(capsule)
    if b"int *" not in signature:
        raise ImportError(f"scipy's {name} has integers of another size than expected: {signature!r}")
    prototype = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (signature.count(b",") + 1))
    return prototype(get_pointer(capsule, signature))
