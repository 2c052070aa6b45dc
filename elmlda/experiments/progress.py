"""A bar on stderr while networks are trained."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol, TypeAlias

from tqdm import tqdm


class Progress(Protocol):
    """What is told of a run while it goes on."""

    def update(self, n: int = 1, /) -> object:
        """So many more networks are done."""

    def write(self, line: str, /) -> object:
        """Say something without disturbing the bar."""


OpenProgress: TypeAlias = Callable[[int, int], AbstractContextManager[Progress]]
"""Takes the number of networks in all, and of those that were done before."""


class Silence:
    """No progress is shown."""

    def update(self, n: int = 1, /) -> None: ...

    def write(self, line: str, /) -> None: ...


class Bar(tqdm):  # type: ignore[type-arg]
    """A line on stderr; a log file gets a line every minute."""

    def __init__(self, total: int, done: int) -> None:
        super().__init__(
            total=total,
            initial=done,
            unit="network",
            file=sys.stderr,
            dynamic_ncols=True,
            mininterval=0.1 if sys.stderr.isatty() else 60,
        )

    def write(self, line: str, /) -> None:  # type: ignore[override]
        """On stderr, above the bar."""
        tqdm.write(line, file=sys.stderr)


def choose_progress(progress: bool | OpenProgress) -> OpenProgress:
    """A bar, silence, or the caller's own."""
    if callable(progress):
        return progress
    return Bar if progress else lambda *_: nullcontext(Silence())
