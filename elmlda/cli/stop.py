"""Ctrl-C and SIGTERM: one line that says how to go on, and the exit code that shells expect."""

from __future__ import annotations

import os
import signal
from types import FrameType
from typing import NoReturn

import click

SIGNALS = signal.SIGINT, signal.SIGTERM
GOES_ON = "Every finished network is recorded; the same command goes on from there."
RESUMABLE = "sweep", "ensemble", "calibration", "timing", "compare", "tune", "shaped"
ADVICE = dict.fromkeys(RESUMABLE, GOES_ON) | {
    "train": "The model is written at the end; the same command starts anew.",
    "bench": "The same command starts anew; what it has written stays until then.",
}


class Stopped(BaseException):
    """A signal asked for the end. No Exception, so that nobody takes it for an error."""

    def __init__(self, number: int) -> None:
        self.context = click.get_current_context(silent=True)
        command = self.context.command.name if self.context else None
        self.line = f"Stopped. {ADVICE.get(command or '', 'Run the same command again.')}"
        self.exit_code = 128 + number

    def end(self) -> NoReturn:
        """End without clean-up: a thread may be inside BLAS, and exit would wait for it."""
        try:
            if self.context:
                self.context.close()
            click.echo(self.line, err=True)
        finally:
            os._exit(self.exit_code)


def listen() -> None:
    """Raise `Stopped` when a signal comes, unless whoever started this had it ignored (nohup)."""
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
        signal.signal(each, lambda *_: stopped.end())  # whoever asks twice need not wait
    if _is_import(frame):
        stopped.end()  # an extension module that is being imported may print or lose an exception
    raise stopped


def _is_import(frame: FrameType | None) -> bool:
    while frame and not frame.f_code.co_filename.startswith("<frozen importlib"):
        frame = frame.f_back
    return frame is not None
