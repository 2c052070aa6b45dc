"""What commands print: escaped, and expected failures in one line without a traceback."""

from __future__ import annotations

import errno
import io
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import click

from elmlda.errors import ElmldaError
from elmlda.text import printable

LONGEST_MESSAGE = 2000
NO_ADDRESS_SPACE = "failed to map segment", "cannot allocate memory", "cannot map"
"""What the dynamic linker says of a library that finds no room (`ulimit -v`)."""
NO_ROOM = errno.ENOSPC, errno.EDQUOT, errno.EFBIG


def say(text: object, *, err: bool = False) -> None:
    """Print lines; control characters in them, from a file's name or a class's label, are escaped."""
    click.echo(_escape(str(text)), err=err)


def _escape(text: str) -> str:
    return "\n".join(map(printable, text.split("\n")))


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


@contextmanager
def in_one_line() -> Iterator[None]:
    """Turn the library's errors and the system's refusals into click's one-line error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = _show_warning  # type: ignore[assignment]
            yield
    except click.ClickException as error:
        error.__dict__["message"] = _escape(error.message)
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


def _show_warning(message: Warning | str, *_: object) -> None:
    say(f"Warning: {_shorten(str(message))}", err=True)


def _shorten(message: str) -> str:
    return printable(" ".join(message.split()), LONGEST_MESSAGE)
