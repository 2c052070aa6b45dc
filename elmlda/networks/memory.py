"""Whether a network fits into the memory that is free, before it is trained."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import TypeAlias

from elmlda.errors import ElmldaError
from elmlda.machine import available_memory, held_memory

CHUNK_STEP = 500
"""Of the smaller chunks that are advised: the smallest is not much slower."""

PeakBytes: TypeAlias = Callable[[int, int, int], int]
"""Bytes for so many hidden units, samples in a chunk and networks side by side."""


def free_memory() -> int | None:
    """Bytes that a run may take: what is free, and what this process holds already."""
    available = available_memory()
    return None if available is None else available + held_memory()


def require_room_for_double(n_hidden: int, needed: int, free: int | None) -> None:
    """Refuse to go on in double precision if that takes more memory than is free."""
    if free is not None and needed > free:
        raise ElmldaError(
            f"float32 is not enough for {n_hidden:,} hidden units here, and in double precision they "
            f"need {needed / 1e9:.2f} GB of memory, {free / 1e9:.2f} GB are free.",
            "Use a larger {ridge}, fewer hidden units or a smaller {chunk}; what was recorded is safe.",
            ridge=None,
            chunk=None,
        )


def require_room(n_hidden: int, n_inputs: int, chunk: int, jobs: int, peak_bytes: PeakBytes) -> None:
    """Refuse what takes more memory than is free, and say what would fit."""
    free = free_memory()
    needed = peak_bytes(n_hidden, chunk, jobs)
    if free is None or needed <= free:
        return
    fitting = _find_fitting(n_hidden, n_inputs, chunk, jobs, peak_bytes, free)
    at_a_time = f" for {jobs} networks at a time" if jobs > 1 else ""
    raise ElmldaError(
        f"{n_hidden:,} hidden units need {needed / 1e9:.2f} GB of memory{at_a_time}, "
        f"{free / 1e9:.2f} GB are free.",
        "At most {} would fit." if fitting else "Nothing smaller would fit: free some memory first.",
        **fitting,
    )


def _find_fitting(
    n_hidden: int, n_inputs: int, chunk: int, jobs: int, peak_bytes: PeakBytes, free: int
) -> dict[str, int]:
    """The most units, jobs and samples in a chunk that fit, with the others as they are."""
    is_fanout = n_hidden % n_inputs == 0
    unit = n_inputs if is_fanout else 1
    largest = {
        "fanout" if is_fanout else "hidden": bisect_right(
            range(1, n_hidden // unit), free, key=lambda n: peak_bytes(n * unit, chunk, jobs)
        ),
        "jobs": bisect_right(range(1, jobs), free, key=lambda n: peak_bytes(n_hidden, chunk, n)),
        "chunk": CHUNK_STEP
        * bisect_right(
            range(CHUNK_STEP, chunk, CHUNK_STEP), free, key=lambda n: peak_bytes(n_hidden, n, jobs)
        ),
    }
    return {setting: value for setting, value in largest.items() if value}
