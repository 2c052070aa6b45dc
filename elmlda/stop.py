"""Ctrl-C and SIGTERM: print one line that says what is recorded, and exit with the usual code.

The main thread cannot answer a signal inside BLAS, which may take seconds. Python's own handler
interrupts it as usual; a thread that the signal wakes ends the process if that takes too long.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from threading import Event, Thread
from types import FrameType

SIGNALS = signal.SIGINT, signal.SIGTERM
PATIENCE = 5.0
"""Seconds for an orderly end, in which worker processes stop without warnings."""

describe: Callable[[], str] = lambda: "run the same command again."  # noqa: E731
"""Returns the text after "Stopped: "; commands that record results replace it."""
_exit_code = 128 + signal.SIGINT
_has_come = False
_is_told = Event()
"""Set when the line is printed."""


def listen() -> None:
    """Let signals end the process from now on, unless they were ignored at the start (nohup)."""
    heard = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    for number in heard:
        signal.signal(number, _interrupt)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    Thread(target=_wait, args=(reading,), daemon=True).start()


def is_asked_for() -> bool:
    """Return whether a signal has come: it causes later errors."""
    return _has_come


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    global _has_come
    _has_come = True
    for number in SIGNALS:
        signal.signal(number, lambda *_: None)  # once is enough
    raise KeyboardInterrupt


def _wait(reading: int) -> None:
    global _exit_code
    _exit_code = 128 + os.read(reading, 1)[0]
    os.write(2, f"\nStopped: {describe()}\n".encode())
    _is_told.set()
    time.sleep(PATIENCE)
    os._exit(_exit_code)


def wait_for_exit_code() -> int:
    """Wait until the line is printed, and return the exit code after a KeyboardInterrupt."""
    _is_told.wait(PATIENCE)
    return _exit_code


def ignore() -> None:
    """Ignore signals from now on: a signal while Python exits would look like a failure."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
