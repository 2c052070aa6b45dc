"""Ctrl-C and SIGTERM: one line that says how to go on, and the exit code that shells expect.

Light, so that signals are handled from the first moment.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

SIGNALS = signal.SIGINT, signal.SIGTERM
Situation = Callable[[], tuple[str, Callable[[], object]]]
"""Advice on how to go on, and a function to call before it is printed."""


def _at_start() -> tuple[str, Callable[[], object]]:
    return "Run the same command again.", lambda: None


_situation: Situation = _at_start


class Stopped(BaseException):
    """A signal asked to stop. No Exception, so that `except Exception` does not catch it."""

    def __init__(self, number: int) -> None:
        self._advice, self._close = _situation()
        self._exit_code = 128 + number

    def end(self) -> NoReturn:
        """End without clean-up: a thread may be inside BLAS, and exit would wait for it."""
        try:
            self._close()
            _release_semaphores()
            os.write(2, f"Stopped. {self._advice}\n".encode())
        finally:
            os._exit(self._exit_code)


def _release_semaphores() -> None:
    """Remove worker processes' semaphores, or Python's resource tracker warns of each."""
    if "multiprocessing.util" in sys.modules:
        sys.modules["multiprocessing.util"]._run_finalizers(0)


def listen(situation: Situation = _at_start) -> None:
    """Raise `Stopped` when a signal comes, unless the signal was ignored at the start (nohup)."""
    global _situation
    _situation = situation
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _stop)


def ignore() -> None:
    """All is done: a signal while Python ends would make a success look like a failure."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _stop(number: int, frame: FrameType | None) -> None:
    stopped = Stopped(number)
    for each in SIGNALS:
        signal.signal(each, lambda *_: stopped.end())  # a second signal ends at once
    if _is_import(frame):
        stopped.end()  # an extension module that is being imported may print or lose an exception
    raise stopped


def _is_import(frame: FrameType | None) -> bool:
    while frame and not frame.f_code.co_filename.startswith("<frozen importlib"):
        frame = frame.f_back
    return frame is not None
