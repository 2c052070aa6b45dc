"""Rounding to bfloat16, and Gram matrices of rounded values.

A bfloat16 number is a float32 without its lower 16 bits. The product of two is exact in float32, so a
Gram matrix of rounded outputs is the same by the float32 BLAS and by matrix units (Intel AMX), up to
the order of float32 sums: only the speed differs. The units are used through MKL, of the package mkl,
where the processor has them; it is loaded when it is first needed.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution

import numpy as np
from numpy.typing import NDArray

from elmlda.core.arrays import FloatArray
from elmlda.core.blas import leading_dimension, require_shapes
from elmlda.machine import read_cpu_flags

ELEMENTS_PER_BLOCK = 1 << 16
"""Rounded or packed at a time, so that temporary arrays stay in the cache."""
TILE_ROWS, TILE_COLUMNS = 4096, 1024
"""Of the Gram matrix: narrow, since a tile on the diagonal is computed in full."""

_COLUMN_MAJOR, _AS_STORED, _TRANSPOSED = 102, 111, 112
_LP64, _SEQUENTIAL = 0, 1


@dataclass(frozen=True)
class Mkl:
    """Routines of MKL."""

    gemm: Callable[..., None]
    """cblas_gemm_bf16bf16f32"""
    free_buffers: Callable[[], object]


@dataclass(frozen=True)
class Multiplier:
    """What multiplies bfloat16 matrices on this machine."""

    library: str
    reason: str
    mkl: Mkl | None = None
    """None where the float32 BLAS multiplies."""

    def __str__(self) -> str:
        return f"by {self.library}, {self.reason}"


@cache
def choose_multiplier() -> Multiplier:
    """MKL where the processor has matrix units and mkl is installed, else the float32 BLAS."""
    try:
        if "amx_bf16" in read_cpu_flags():
            return load_mkl()
        reason = "this processor has no matrix units (AMX)"
    except PackageNotFoundError:
        reason = "this processor's matrix units (AMX) need MKL: pip install 'elmlda[amx]'"
    except (OSError, AttributeError) as error:
        reason = f"MKL cannot be used ({error})"
    return Multiplier("float32 BLAS", f"at float32's speed: {reason}")


@cache
def load_mkl() -> Multiplier:
    """MKL without threads of its own, which would compete with OpenBLAS's for the cores."""
    package = distribution("mkl")
    paths = [path for path in package.files or () if path.name.startswith("libmkl_rt.")]
    if not paths:
        raise OSError(f"no libmkl_rt in mkl {package.version}")
    library = ctypes.CDLL(str(package.locate_file(paths[0])))
    library.MKL_Set_Interface_Layer(_LP64)
    library.MKL_Set_Threading_Layer(_SEQUENTIAL)
    gemm = library.cblas_gemm_bf16bf16f32
    number, scalar, pointer = ctypes.c_int, ctypes.c_float, ctypes.c_void_p
    a = b = c = (pointer, number)
    gemm.argtypes = (*[number] * 6, scalar, *a, *b, scalar, *c)
    gemm.restype = None
    mkl = Mkl(gemm, library.MKL_Free_Buffers)
    return Multiplier(f"MKL {package.version}", "on this processor's matrix units (AMX)", mkl)


def round_to_bfloat16(values: FloatArray) -> None:
    """Round float32 values (2-d, rows contiguous) in place to the nearest bfloat16, ties to even."""
    for rows in _row_blocks(values):
        bits = rows.view(np.uint32)
        bits += ((bits >> 16) & 1) + 0x7FFF
        bits &= 0xFFFF0000


def add_gram_bfloat16(batch: FloatArray, gram: FloatArray, mkl: Mkl, threads: int) -> None:
    """Add batch · batchᵀ to the lower triangle of the float32 `gram`, like `blas.add_gram`.

    `batch` is n × k, the transpose of a C-ordered matrix of rounded float32 values. It is overwritten:
    its bfloat16 numbers are packed into half of its own memory.
    """
    n = len(batch)
    require_shapes(gram=(gram.shape, (n, n)))
    leading_dimension(batch, np.dtype(np.float32))
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(_pack, _row_blocks(batch.T)))
        packed = batch.T.view(np.uint16)[:, :n].T

        def add_tile(rows: slice, columns: slice) -> None:
            add_product(packed[rows], packed[columns], gram[rows, columns], mkl)

        list(pool.map(add_tile, *zip(*_tiles_below(n), strict=True)))
    mkl.free_buffers()  # or they are still there when memory is needed for the factorisation


def add_product(a: NDArray[np.uint16], b: NDArray[np.uint16], out: FloatArray, mkl: Mkl) -> None:
    """Add a · bᵀ to `out`, all Fortran-ordered; `a` and `b` have the bits of bfloat16 numbers."""
    operands = [
        argument
        for block, dtype in ((a, np.uint16), (b, np.uint16), (out, np.float32))
        for argument in (block.ctypes.data, leading_dimension(block, np.dtype(dtype)))
    ]
    sizes = *out.shape, a.shape[1]
    require_shapes(a=(a.shape, (len(out), sizes[-1])), b=(b.shape, (out.shape[1], sizes[-1])))
    mkl.gemm(_COLUMN_MAJOR, _AS_STORED, _TRANSPOSED, *sizes, 1.0, *operands[:4], 1.0, *operands[4:])


def _row_blocks(matrix: FloatArray) -> Iterator[FloatArray]:
    step = max(1, ELEMENTS_PER_BLOCK // max(1, matrix.shape[1]))
    return (matrix[start : start + step] for start in range(0, len(matrix), step))


def _pack(rows: FloatArray) -> None:
    """Move each row's upper halves, which are its bfloat16 numbers, into the first half of the row."""
    halves = rows.view(np.uint16)
    halves[:, : rows.shape[1]] = halves[:, 1::2]


def _tiles_below(n: int) -> Iterator[tuple[slice, slice]]:
    """Rows and columns of tiles that cover the lower triangle of an n × n matrix."""
    for column in range(0, n, TILE_COLUMNS):
        for row in range(column, n, TILE_ROWS):
            yield slice(row, min(row + TILE_ROWS, n)), slice(column, min(column + TILE_COLUMNS, n))
