"""A bar on stderr while networks are trained."""

from __future__ import annotations

import sys
from collections.abc import Callable, MutableMapping
from contextlib import AbstractContextManager, nullcontext
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from tqdm import tqdm

if TYPE_CHECKING:
    from elmlda.experiments.conduct import Outlook


class Progress(Protocol):
    """Shows the progress of a run."""

    def update(self, n: int = 1, /) -> object:
        """Count n more networks as done."""

    def write(self, line: str, /) -> object:
        """Print a line above the bar."""


OpenProgress: TypeAlias = "Callable[[Outlook], AbstractContextManager[Progress]]"


class Silence:
    """No progress is shown."""

    def update(self, n: int = 1, /) -> None: ...

    def write(self, line: str, /) -> None: ...


class Bar(tqdm):  # type: ignore[type-arg]
    """A bar on stderr; a log file gets a line every minute.

    Parameters
    ----------
    total, done : networks in all, and those that were done before
    seconds : estimate for all that are left, shown until the first network is done
    """

    def __init__(self, total: int, done: int, seconds: float | None = None) -> None:
        self._seconds, self._ended = seconds, Event()
        is_terminal = sys.stderr.isatty()
        super().__init__(
            total=total,
            initial=done,
            file=sys.stderr,
            dynamic_ncols=True,
            mininterval=0.1 if is_terminal else 60,
            bar_format="{percentage:3.0f}%|{bar}| {n_fmt} of {total_fmt} networks, {elapsed}{left}",
        )
        if is_terminal:
            Thread(target=self._run_clock, daemon=True).start()

    @property
    def format_dict(self) -> MutableMapping[str, Any]:
        values = super().format_dict
        done, elapsed = self.n - self.initial, values["elapsed"]
        left = self._seconds and max(0.0, self._seconds - elapsed)
        if done:
            left = elapsed / done * ((self.total or 0) - self.n)
        values["left"] = "" if left is None else f", {self.format_interval(left)} left"
        return values

    def _run_clock(self) -> None:
        while not self._ended.wait(1):
            self.refresh()

    def close(self) -> None:
        ended = getattr(self, "_ended", None)  # tqdm also closes a bar whose __init__ failed
        if ended:
            ended.set()
        super().close()

    def write(self, line: str, /) -> None:  # type: ignore[override]
        """On stderr, above the bar."""
        tqdm.write(line, file=sys.stderr)


def open_bar(outlook: Outlook) -> Bar:
    """A bar over all networks of a run, with an estimate unless a cluster trains them."""
    total = outlook.plan.count_jobs()
    seconds = None if outlook.plan.share.cluster else outlook.seconds
    return Bar(total, total - outlook.n_networks, seconds)


def choose_progress(progress: bool | OpenProgress) -> OpenProgress:
    """A bar, silence, or the caller's own."""
    if callable(progress):
        return progress
    return open_bar if progress else lambda _: nullcontext(Silence())
