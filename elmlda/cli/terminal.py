"""What commands print: escaped, and expected failures in one line without a traceback."""

from __future__ import annotations

import errno
import io
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from elmlda.errors import ElmldaError
from elmlda.options import OptionError
from elmlda.text import printable

LONGEST_MESSAGE = 2000
NO_ROOM = errno.ENOSPC, errno.EDQUOT, errno.EFBIG


def say(text: object, *, err: bool = False) -> None:
    """Print lines; control characters in them, from a file's name or a class's label, are escaped."""
    click.echo(_escape(str(text)), err=err)


def _escape(text: str) -> str:
    return "\n".join(map(printable, text.split("\n")))


def prepare_streams() -> None:
    """Make stdout and stderr take any character."""
    for stream, errors in ((sys.stdout, "replace"), (sys.stderr, "backslashreplace")):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=errors)


class OneLineError(click.ClickException):
    """An expected failure."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code  # type: ignore[misc]

    def show(self, file: Any = None) -> None:  # noqa: ARG002
        say(f"Error: {self.message}", err=True)


@contextmanager
def in_one_line() -> Iterator[None]:
    """Turn the library's errors and the system's refusals into a line on stderr."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = _show_warning  # type: ignore[assignment]
            yield
    except (ElmldaError, MemoryError, UnicodeError, OSError, EOFError) as error:
        if isinstance(error, BrokenPipeError) and not error.filename:
            raise  # click ends quietly, as `| head` expects
        exit_code = 2 if isinstance(error, OptionError) else 1
        raise OneLineError(shorten(_explain(error)), exit_code) from error


def _explain(error: Exception) -> str:
    if isinstance(error, ElmldaError):
        return error.for_command_line()
    if isinstance(error, MemoryError):
        return (
            f"the memory is not enough: {str(error).rstrip('.') or 'none is left'}. Use fewer hidden "
            "units or fewer --jobs; what was recorded is safe."
        )
    if isinstance(error, UnicodeError):
        return f"text that cannot be written or read: {error}."
    if isinstance(error, EOFError):  # click would take it for Ctrl-D
        return f"a file ends too early: {error}."
    assert isinstance(error, OSError)
    if error.errno in NO_ROOM and not error.filename:
        # Files have names: this was output. Python would try to write the rest of it on exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return f"the output cannot be written: {error.strerror}. What was recorded is safe."
    where = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, str | bytes) else ""
    return f"{where}{error.strerror or error}."


def _show_warning(message: Warning | str, *_: object) -> None:
    say(f"Warning: {shorten(str(message))}", err=True)


def shorten(message: str) -> str:
    """In one line."""
    return printable(" ".join(message.split()), LONGEST_MESSAGE)
