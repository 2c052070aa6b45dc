"""What the commands print, and where to: escaped, and never a reason for a run to stop."""

from __future__ import annotations

import io
import os
import sys

import click

from elmlda.text import printable


def say(text: object, *, err: bool = False) -> None:
    """Print lines; control characters in them, from a file's name or a class's label, are escaped."""
    click.echo("\n".join(map(printable, str(text).split("\n"))), err=err)


class _Lossy(io.FileIO):
    """A stream that may be gone: what can't be written to it is lost, without an error."""

    def write(self, content: bytes, /) -> int:  # type: ignore[override]
        try:
            return super().write(content)
        except OSError:
            return len(content)


def prepare_streams() -> None:
    """Make stdout and stderr take any character, and stderr survive a terminal or pipe that is gone."""
    # A file that is opened while one of the three is closed would get its number, and its output.
    while (descriptor := os.open(os.devnull, os.O_RDWR)) < 3:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    if sys.stderr is None or isinstance(sys.stderr, io.TextIOWrapper):
        encoding = sys.stderr.encoding if sys.stderr else "utf-8"
        raw = io.BufferedWriter(_Lossy(2, "w", closefd=False))  # type: ignore[type-var]
        sys.stderr = io.TextIOWrapper(raw, encoding, "backslashreplace", line_buffering=True)
