"""Output of the commands: escaped text, and errors in one line."""

from __future__ import annotations

import errno
import io
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import click

from elmlda.errors import ElmldaError, printable
from elmlda.options import OptionError


def say(text: object, *, err: bool = False) -> None:
    """Print lines with control characters escaped, which file names and labels may contain."""
    click.echo("\n".join(map(printable, str(text).split("\n"))), err=err)


def prepare_streams() -> None:
    """Make stdout and stderr accept any character."""
    for stream, errors in ((sys.stdout, "replace"), (sys.stderr, "backslashreplace")):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=errors)


@contextmanager
def in_one_line() -> Iterator[None]:
    """Turn warnings and errors, the library's and the system's, into lines on stderr."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = lambda message, *_: say_in_one_line(f"Warning: {message}")
            yield
    except (ElmldaError, MemoryError, OSError) as error:
        if isinstance(error, BrokenPipeError) and not error.filename:
            raise  # click ends quietly, as `| head` expects
        say_in_one_line(f"Error: {_explain(error)}")
        raise click.exceptions.Exit(2 if isinstance(error, OptionError) else 1) from error


def _explain(error: ElmldaError | MemoryError | OSError) -> str:
    if isinstance(error, ElmldaError):
        return error.for_command_line()
    if isinstance(error, MemoryError):
        reason = str(error).rstrip(".") or "none is left"
        advice = "Use fewer hidden units or fewer --jobs; recorded results are safe."
        return f"the memory is not enough: {reason}. {advice}"
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) and not error.filename:
        # The error names no file, so output failed. On exit Python would try again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return f"the output cannot be written: {error.strerror}. Recorded results are safe."
    where = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, str | bytes) else ""
    return f"{where}{error.strerror or error}."


def say_in_one_line(text: str) -> None:
    """Print a text on stderr as one line."""
    say(" ".join(text.split()), err=True)
