"""Expected failures in one line that says what is wrong and what to do, without a traceback."""

from __future__ import annotations

import errno
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import click

from elmlda.cli.terminal import say
from elmlda.errors import ElmldaError
from elmlda.text import printable

LONGEST_MESSAGE = 2000
NO_ADDRESS_SPACE = "failed to map segment", "cannot allocate memory", "cannot map"
"""What the dynamic linker says of a library that finds no room (`ulimit -v`)."""
NO_ROOM = errno.ENOSPC, errno.EDQUOT, errno.EFBIG
BUG = "This is a bug in elmlda: please report it with the command and all of the lines above."


@contextmanager
def in_one_line() -> Iterator[None]:
    """Turn the library's errors and the system's refusals into click's one-line error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = _show_warning  # type: ignore[assignment]
            yield
    except click.ClickException as error:
        error.__dict__["message"] = "\n".join(map(printable, error.message.split("\n")))
        raise
    except ImportError as error:
        if not any(reason in str(error).lower() for reason in NO_ADDRESS_SPACE):
            raise
        fact = f"a library cannot be loaded: {_shorten(str(error)).rstrip('.')}"
        raise click.ClickException(f"{fact}. Raise ulimit -v, or free some memory.") from error
    except (ElmldaError, MemoryError, OverflowError, UnicodeError, OSError) as error:
        if isinstance(error, BrokenPipeError) and not error.filename:
            raise  # click ends quietly, as `| head` expects
        raise click.ClickException(_shorten(_explain(error))) from error


def _explain(error: Exception) -> str:
    if isinstance(error, ElmldaError):
        return error.for_command_line()
    if isinstance(error, MemoryError):
        return (
            f"the memory is not enough: {str(error).rstrip('.') or 'none is left'}. Use fewer hidden "
            "units, a smaller --chunk or fewer --jobs; what was recorded is safe."
        )
    if isinstance(error, OverflowError):
        return f"a number is too large: {error}. Use fewer hidden units, or smaller values."
    if isinstance(error, UnicodeError):
        return f"text that cannot be written or read: {error}."
    assert isinstance(error, OSError)
    if error.errno in NO_ROOM and not error.filename:
        # Files have names: this was output. Python would try to write the rest of it on exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return (
            f"the output cannot be written: {error.strerror}. Make room, or send it elsewhere; what "
            "was recorded is safe."
        )
    where = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, str | bytes) else ""
    return f"{where}{error.strerror or error}."


def report_bug() -> None:
    """Show the traceback of the exception that is being handled, and ask to report it."""
    sys.excepthook(*sys.exc_info())
    say(BUG, err=True)


def _show_warning(message: Warning | str, *_: object) -> None:
    say(f"Warning: {_shorten(str(message))}", err=True)


def _shorten(message: str) -> str:
    return printable(" ".join(message.split()), LONGEST_MESSAGE)
