"""Ctrl-C and SIGTERM: print one line that says what is recorded, and exit with the shell's code.

The main thread cannot answer a signal inside BLAS, which may take seconds. A thread ends the process
instead, at any moment: what a run's folder has recorded is safe.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from threading import Thread

describe: Callable[[], str] = lambda: "run the same command again."  # noqa: E731
"""Returns the text after "Stopped: "; commands that record results replace it."""


def listen() -> None:
    """Let signals end the process from now on, unless they were ignored at the start (nohup)."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    Thread(target=_wait, args=(reading,), daemon=True).start()


def _wait(reading: int) -> None:
    number, stderr = os.read(reading, 1)[0], os.dup(2)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # for errors that the signal causes elsewhere
    try:
        os.write(stderr, f"\nStopped: {describe()}\n".encode())
        import psutil  # slow to import

        for child in psutil.Process().children(recursive=True):
            # The resource tracker removes shared memory when the others are gone.
            if "resource_tracker" not in " ".join(child.cmdline()):
                child.kill()
    finally:
        os._exit(128 + number)
