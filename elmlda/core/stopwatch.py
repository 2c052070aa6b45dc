"""Elapsed time by part."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager


class Stopwatch:
    """Adds up the seconds spent in named parts of a computation, to those `before` if there are any."""

    def __init__(self, before: Mapping[str, float] | None = None) -> None:
        self.parts: dict[str, float] = defaultdict(float, before or {})

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Time what happens inside and add it to the part."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.parts[name] += time.perf_counter() - start
