"""Ctrl-C and SIGTERM: one line that says what is recorded, and the exit code that shells expect.

The main thread may be inside BLAS for seconds and can't answer a signal there. So Python's own handler
interrupts it as usual, and a thread that is woken by the signal ends the process if that does not help.
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
"""Seconds to end in order; worker processes that are not waited for leave warnings behind."""

describe: Callable[[], str] = lambda: "run the same command again."  # noqa: E731
"""What is said after "Stopped: "; a command that has something to tell sets it."""
_exit_code = 128 + signal.SIGINT
_has_come = False
_is_told = Event()
"""Set once the line is printed."""


def listen() -> None:
    """From now on a signal ends the process, unless it was ignored at the start (nohup)."""
    heard = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    for number in heard:
        signal.signal(number, _interrupt)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    Thread(target=_wait, args=(reading,), daemon=True).start()


def is_asked_for() -> bool:
    """Whether a signal has come: errors after it are its consequences."""
    return _has_come


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    global _has_come
    _has_come = True
    for each in SIGNALS:
        signal.signal(each, lambda *_: None)  # once is enough
    raise KeyboardInterrupt


def _wait(reading: int) -> None:
    global _exit_code
    _exit_code = 128 + os.read(reading, 1)[0]
    os.write(2, f"\nStopped: {describe()}\n".encode())
    _is_told.set()
    time.sleep(PATIENCE)
    os._exit(_exit_code)


def wait_for_exit_code() -> int:
    """The exit code after a KeyboardInterrupt, once its line is printed."""
    _is_told.wait(PATIENCE)
    return _exit_code


def ignore() -> None:
    """All is done: a signal while Python ends would make a success look like a failure."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
